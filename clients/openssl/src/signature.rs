//! Signatures by keys of the device: ECDSA, Ed25519, RSA. Checking one needs no device: OpenSSL does that with what is
//! public. Only ECDSA's over P-256 are checked here too, where a query prefers this provider: its keys come here because
//! they also agree, and OpenSSL takes no other provider then.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use broker::client::call::{Sign, Verify};
use broker::parameters::{Hash, Scheme, Signed};
use broker::template::Algorithm as Kind;
use broker::wire::{KeyHandle, Status};

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out,
    provider, trust,
};
use crate::digest::{Digest, What, named};
use crate::key::Key;
use crate::secret::Held;

/// `RSA_PKCS1_PADDING` and `RSA_PKCS1_PSS_PADDING`.
const PKCS1: i64 = 1;
const PSS: i64 = 6;
/// `RSA_PSS_SALTLEN_DIGEST`.
const SALT_AS_DIGEST: i64 = -1;

struct Signer {
    provider: Arc<Provider>,
    key: Option<(KeyHandle, Kind, usize)>,
    hash: Hash,
    is_pss: bool,
    digest: Option<Digest>,
    /// The public key that a signature is checked with.
    checking: Option<Arc<Held>>,
}

impl Signer {
    fn begin(&mut self, key: *mut Key) -> Done {
        // SAFETY: null, or of this provider's key management.
        if let Some(key) = unsafe { key.as_ref() } {
            self.key = Some((key.handle, key.algorithm, key.sizes()[2]));
        }
        self.digest = None;
        self.key.map(|_| ()).ok_or(Failed)
    }

    fn begin_check(&mut self, key: *mut Key) -> Done {
        // SAFETY: null, or of this provider's key management.
        if let Some(key) = unsafe { key.as_ref() } {
            self.checking = Some(Held::checking(&self.provider, key.algorithm, key.point()?)?);
        }
        self.digest = None;
        self.checking.as_ref().map(|_| ()).ok_or(Failed)
    }

    fn check(&self, digest: &[u8], signature: &[u8]) -> Done {
        let key = self.checking.as_ref().ok_or(Failed)?.handle;
        let scheme = Scheme::Ecdsa(self.hash);
        let numbers = numbers(signature).ok_or_else(|| self.provider.refuse(Status::Rejected))?;
        self.provider.call(&Verify { key, scheme, signed: Signed::Digest(digest), signature: &numbers })
    }

    fn begin_digest(&mut self, key: *mut Key, hash: Option<&[u8]>) -> Done {
        self.begin(key)?;
        self.begin_hash(hash)
    }

    fn begin_hash(&mut self, hash: Option<&[u8]>) -> Done {
        if let Some(hash) = hash.filter(|hash| !hash.is_empty()) {
            self.hash = named(hash)?;
        }
        self.digest = Some(Digest::new(self.provider.clone(), What::Hash(self.hash)));
        Ok(())
    }

    fn sign(&self, message: &[u8], is_digest: bool) -> Done<Vec<u8>> {
        let (key, kind, _) = self.key.ok_or(Failed)?;
        let signed = if is_digest { Signed::Digest(message) } else { Signed::Message(message) };
        let scheme = match (kind, self.is_pss) {
            (Kind::P256, _) => Scheme::Ecdsa(self.hash),
            (Kind::Ed25519, _) => Scheme::Ed25519,
            (_, true) => Scheme::RsaPss(self.hash),
            (_, false) => Scheme::RsaPkcs1(self.hash),
        };
        let signature = self.provider.call(&Sign { key, scheme, signed })?;
        Ok(if kind == Kind::P256 { sequence(&signature) } else { signature })
    }

    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match key {
            b"digest" => self.hash = named(param.get_text().ok_or(Failed)?)?,
            b"mgf1-digest" if param.get_text().and_then(|name| named(name).ok()) != Some(self.hash) => {
                return Err(Failed);
            }
            b"pad-mode" => {
                self.is_pss = match (param.get(), param.get_text()) {
                    (Some(PKCS1), _) | (_, Some(b"pkcs1")) => false,
                    (Some(PSS), _) | (_, Some(b"pss")) => true,
                    _ => return Err(Failed),
                }
            }
            b"saltlen" => {
                let number =
                    param.get().or_else(|| std::str::from_utf8(param.get_text()?).ok()?.parse().ok());
                let is_digests = number == Some(SALT_AS_DIGEST)
                    || number == Some(self.hash.digest_bytes() as i64)
                    || param.get_text() == Some(b"digest");
                if !is_digests {
                    return Err(Failed);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// r and s as DER's sequence of two numbers, which OpenSSL wants (RFC 3279 section 2.2.3).
fn sequence(signature: &[u8]) -> Vec<u8> {
    let mut numbers = Vec::new();
    for number in signature.chunks(32) {
        let start = number.iter().position(|byte| *byte != 0).unwrap_or(number.len() - 1);
        let number = &number[start..];
        let sign = usize::from(number[0] >= 0x80);
        numbers.extend([2, (number.len() + sign) as u8]);
        numbers.extend(&[0][..sign]);
        numbers.extend(number);
    }
    [&[0x30, numbers.len() as u8], &numbers[..]].concat()
}

/// The numbers of such a sequence; it has one form only.
fn numbers(der: &[u8]) -> Option<[u8; 64]> {
    let (&[0x30, length], mut rest) = der.split_first_chunk::<2>()? else { return None };
    let mut numbers = [0; 64];
    for place in numbers.chunks_mut(32) {
        let (&[2, number_bytes], behind) = rest.split_first_chunk::<2>()? else { return None };
        let (number, behind) = behind.split_at_checked(number_bytes.into())?;
        let number = number.strip_prefix(&[0]).unwrap_or(number);
        let start = place.len().checked_sub(number.len())?;
        place[start..].copy_from_slice(number);
        rest = behind;
    }
    (usize::from(length) == der.len() - 2 && sequence(&numbers) == der).then_some(numbers)
}

unsafe extern "C" fn new(context: *const Provider, _query: *const c_char) -> *mut Signer {
    make(|| {
        let provider = trust!(provider(context))?;
        Ok(Signer { provider, key: None, hash: Hash::Sha256, is_pss: false, digest: None, checking: None })
    })
}

unsafe extern "C" fn delete(this: *mut Signer) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Signer) -> *mut Signer {
    make(|| {
        let this = trust!(out(this))?;
        let digest = this.digest.as_ref().map(Digest::copy).transpose()?;
        let Signer { provider, key, hash, is_pss, checking, .. } = this;
        let (provider, checking) = (provider.clone(), checking.clone());
        Ok(Signer { provider, key: *key, hash: *hash, is_pss: *is_pss, digest, checking })
    })
}

/// # Safety
/// The list is null or ends.
unsafe fn set_all(this: &mut Signer, params: *mut Param) -> Done {
    // What the others are held against goes first.
    trust!(each(params, |key, param| if key == b"digest" { this.set(key, param) } else { Ok(()) }))?;
    trust!(each(params, |key, param| this.set(key, param)))
}

unsafe extern "C" fn begin(this: *mut Signer, key: *mut Key, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        this.begin(key)?;
        trust!(set_all(this, params))
    })
}

unsafe extern "C" fn begin_digest(
    this: *mut Signer,
    hash: *const c_char,
    key: *mut Key,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        this.begin_digest(key, trust!(text(hash)))?;
        trust!(set_all(this, params))
    })
}

unsafe extern "C" fn begin_check(this: *mut Signer, key: *mut Key, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        this.begin_check(key)?;
        trust!(set_all(this, params))
    })
}

unsafe extern "C" fn begin_digest_check(
    this: *mut Signer,
    hash: *const c_char,
    key: *mut Key,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        this.begin_check(key)?;
        this.begin_hash(trust!(text(hash)))?;
        trust!(set_all(this, params))
    })
}

/// # Safety
/// It is null or a text.
unsafe fn text<'a>(name: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the caller's promise.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// Says how long a signature is at most, or makes one.
///
/// # Safety
/// So much room is there.
unsafe fn answer(
    this: &mut Signer,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    make: impl FnOnce(&mut Signer) -> Done<Vec<u8>>,
) -> Done {
    if start.is_null() {
        *trust!(out(length))? = this.key.ok_or(Failed)?.2;
        return Ok(());
    }
    trust!(give(&make(this)?, start, length, room))
}

unsafe extern "C" fn sign(
    this: *mut Signer,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    guard(|| {
        let (this, message) = (trust!(out(this))?, trust!(bytes(message, message_bytes))?);
        trust!(answer(this, start, length, room, |this| this.sign(message, true)))
    })
}

unsafe extern "C" fn update(this: *mut Signer, part: *const u8, part_bytes: usize) -> c_int {
    guard(|| trust!(out(this))?.digest.as_mut().ok_or(Failed)?.update(trust!(bytes(part, part_bytes))?))
}

unsafe extern "C" fn finish(this: *mut Signer, start: *mut u8, length: *mut usize, room: usize) -> c_int {
    guard(|| {
        trust!(answer(trust!(out(this))?, start, length, room, |this| {
            let digest = this.digest.as_mut().ok_or(Failed)?.finish()?;
            this.sign(&digest, true)
        }))
    })
}

unsafe extern "C" fn check(
    this: *mut Signer,
    signature: *const u8,
    signature_bytes: usize,
    digest: *const u8,
    digest_bytes: usize,
) -> c_int {
    guard(|| {
        let signature = trust!(bytes(signature, signature_bytes))?;
        trust!(out(this))?.check(trust!(bytes(digest, digest_bytes))?, signature)
    })
}

unsafe extern "C" fn finish_check(this: *mut Signer, signature: *const u8, signature_bytes: usize) -> c_int {
    guard(|| {
        let (this, signature) = (trust!(out(this))?, trust!(bytes(signature, signature_bytes))?);
        let digest = this.digest.as_mut().ok_or(Failed)?.finish()?;
        this.check(&digest, signature)
    })
}

/// Ed25519 takes its message as a whole.
unsafe extern "C" fn sign_whole(
    this: *mut Signer,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    guard(|| {
        let (this, message) = (trust!(out(this))?, trust!(bytes(message, message_bytes))?);
        trust!(answer(this, start, length, room, |this| this.sign(message, false)))
    })
}

unsafe extern "C" fn set(this: *mut Signer, params: *mut Param) -> c_int {
    guard(|| trust!(set_all(trust!(out(this))?, params)))
}

/// `AlgorithmIdentifier`s of signatures that say their hash (RFC 5758 section 3.2, RFC 8410, RFC 8017 appendix A.2.4).
fn identifier(kind: Kind, hash: Hash) -> Option<Vec<u8>> {
    let last = match hash {
        Hash::Sha224 => 1,
        Hash::Sha256 => 2,
        Hash::Sha384 => 3,
        Hash::Sha512 => 4,
    };
    match kind {
        Kind::P256 => Some(vec![0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, last]),
        Kind::Ed25519 => Some(vec![0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70]),
        Kind::Rsa2048 | Kind::Rsa3072 => {
            let last = if last == 1 { 14 } else { 9 + last };
            Some(vec![0x30, 0x0d, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, last, 5, 0])
        }
        _ => None,
    }
}

unsafe extern "C" fn get(this: *mut Signer, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let (_, kind, _) = this.key.ok_or(Failed)?;
        trust!(each(params, |key, param| match key {
            b"algorithm-id" if this.is_pss => Err(Failed),
            b"algorithm-id" => param.set_octets(&identifier(kind, this.hash).ok_or(Failed)?),
            _ => Ok(()),
        }))
    })
}

static SETTABLE: [Param; 5] = [
    Param::text(c"digest"),
    Param::text(c"pad-mode"),
    Param::text(c"saltlen"),
    Param::text(c"mgf1-digest"),
    Param::END,
];
static GETTABLE: [Param; 2] = [Param::octets(c"algorithm-id"), Param::END];

extern "C" fn settable(_this: *const Signer, _context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

extern "C" fn gettable(_this: *const Signer, _context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

static CURVE: [Dispatch; 18] = [
    Dispatch(1, new as *const c_void),
    Dispatch(2, begin as *const c_void),
    Dispatch(3, sign as *const c_void),
    Dispatch(4, begin_check as *const c_void),
    Dispatch(5, check as *const c_void),
    Dispatch(8, begin_digest as *const c_void),
    Dispatch(9, update as *const c_void),
    Dispatch(10, finish as *const c_void),
    Dispatch(12, begin_digest_check as *const c_void),
    Dispatch(13, update as *const c_void),
    Dispatch(14, finish_check as *const c_void),
    Dispatch(16, delete as *const c_void),
    Dispatch(17, copy as *const c_void),
    Dispatch(18, get as *const c_void),
    Dispatch(19, gettable as *const c_void),
    Dispatch(20, set as *const c_void),
    Dispatch(21, settable as *const c_void),
    END,
];
static RSA: [Dispatch; 13] = [
    Dispatch(1, new as *const c_void),
    Dispatch(2, begin as *const c_void),
    Dispatch(3, sign as *const c_void),
    Dispatch(8, begin_digest as *const c_void),
    Dispatch(9, update as *const c_void),
    Dispatch(10, finish as *const c_void),
    Dispatch(16, delete as *const c_void),
    Dispatch(17, copy as *const c_void),
    Dispatch(18, get as *const c_void),
    Dispatch(19, gettable as *const c_void),
    Dispatch(20, set as *const c_void),
    Dispatch(21, settable as *const c_void),
    END,
];
static WHOLE: [Dispatch; 8] = [
    Dispatch(1, new as *const c_void),
    Dispatch(8, begin_digest as *const c_void),
    Dispatch(11, sign_whole as *const c_void),
    Dispatch(16, delete as *const c_void),
    Dispatch(17, copy as *const c_void),
    Dispatch(18, get as *const c_void),
    Dispatch(19, gettable as *const c_void),
    END,
];

/// The ways to sign, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 4] = [
    Algorithm::new(c"ECDSA", &CURVE),
    Algorithm::new(c"RSA:rsaEncryption:1.2.840.113549.1.1.1", &RSA),
    Algorithm::new(c"ED25519:1.3.101.112", &WHOLE),
    Algorithm::END,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_one_form_and_its_numbers_come_back() {
        let mut forms = vec![[0; 64], [0xff; 64], [0x7f; 64], [1; 64]];
        for zeros in 0..32 {
            let mut form = [0x80; 64];
            form[..zeros].fill(0);
            form[32..32 + (zeros * 7) % 32].fill(0);
            forms.push(form);
        }
        for form in forms {
            let der = sequence(&form);
            assert_eq!(numbers(&der), Some(form));
            for length in 0..der.len() {
                assert_eq!(numbers(&der[..length]), None);
            }
            assert_eq!(numbers(&[&der[..], &[0]].concat()), None);
            for (place, byte) in (0..der.len()).flat_map(|place| (0..=255).map(move |byte| (place, byte))) {
                let mut changed = der.clone();
                changed[place] = byte;
                // What is taken is what would be written.
                assert!(numbers(&changed).is_none_or(|numbers| sequence(&numbers) == changed));
            }
        }
    }
}
