//! Sealing and opening: AES-GCM (SP 800-38D), AES-CCM (SP 800-38C) and Ascon-AEAD128 (SP 800-232).
//!
//! The parameters of `seal` and `open`:
//!
//! ```text
//! 0  1  suite        1 AES-GCM, 2 AES-CCM, 3 Ascon-AEAD128
//! 1  1  tag_bytes    16; of CCM also 4, 8 or 12 if the nonce is the caller's
//! 2  1  nonce_bytes  12; of CCM also 7 or 13, of Ascon 16; 0 = the nonce is the device's
//! 3  1  zero
//! 4  n  nonce
//!    m  associated data
//! ```
//!
//! What is sealed is the ciphertext and the tag. Under a nonce of the device's, 32 bytes of salt and the nonce go before
//! them, and `open` takes them from there. The key is then HKDF's, SHA-256, of the key, that salt and the suite. A salt
//! is drawn at random when a start of the device first seals under a key, and again before the counter would wrap. The
//! nonce is a counter of four bytes, least significant first, and behind it randomness that is fresh for each: the
//! counter keeps two nonces of one start apart, the salt those of two starts, and the randomness those of a machine that
//! is twice woken from one snapshot, as long as its system's randomness notices that.
//!
//! Invariant: a key that leaves its nonces to the device never meets one of a caller's.
//! Invariant: nothing is released before its tag was compared.

use std::sync::{Arc, Mutex, OnceLock};

use aes::{Aes128, Aes192, Aes256};
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use aws_lc_rs::aead::{AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ccm::Ccm;
use ccm::consts::{U4, U7, U8, U12, U13, U16};
use cipher::{OsRandomness, Randomness};

use super::digest::{Hash, hkdf};
use super::keys::Algorithm;
use super::material::Secret;
use crate::limits::{SALT_BYTES, TAG_BYTES};
pub use crate::parameters::Suite;
use crate::wiped::append;
use crate::wiped::wipe;
use crate::wire::Status;

const SALT: usize = SALT_BYTES as usize;
const TAG: usize = TAG_BYTES as usize;
/// Nonces under one salt: the counter's.
const NONCES_PER_SALT: u64 = 1 << 32;

impl Suite {
    /// Length of the nonces that the device makes.
    pub const fn nonce_bytes(self) -> usize {
        match self {
            Suite::Gcm | Suite::Ccm => 12,
            Suite::Ascon => 16,
        }
    }

    /// Whether keys of this algorithm are for it.
    fn takes(self, algorithm: Algorithm) -> bool {
        (self == Suite::Ascon) == (algorithm == Algorithm::Ascon128)
    }
}

/// The parameters, taken apart.
#[derive(Clone, Copy)]
pub struct Form<'a> {
    suite: Suite,
    tag_bytes: usize,
    nonce: &'a [u8],
    associated_data: &'a [u8],
}

impl<'a> Form<'a> {
    /// The parameters of a seal or an open under a key of this algorithm.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when they are not as drawn.
    pub fn parse(parameters: &'a [u8], algorithm: Algorithm) -> Result<Form<'a>, Status> {
        const WRONG: Status = Status::WrongParameters;
        let (&[suite, tag_bytes, nonce_bytes, 0], rest) = parameters.split_first_chunk::<4>().ok_or(WRONG)?
        else {
            return Err(WRONG);
        };
        let suite = match suite {
            1 => Suite::Gcm,
            2 => Suite::Ccm,
            3 => Suite::Ascon,
            _ => return Err(WRONG),
        };
        let (nonce, associated_data) = rest.split_at_checked(nonce_bytes.into()).ok_or(WRONG)?;
        let form = Form { suite, tag_bytes: tag_bytes.into(), nonce, associated_data };
        let whole_tag = form.tag_bytes == TAG;
        let is_possible = match suite {
            _ if nonce.is_empty() => whole_tag,
            Suite::Gcm => whole_tag && nonce.len() == 12,
            Suite::Ascon => whole_tag && nonce.len() == 16,
            Suite::Ccm => matches!(nonce.len(), 7 | 12 | 13) && matches!(form.tag_bytes, 4 | 8 | 12 | 16),
        };
        if is_possible && suite.takes(algorithm) { Ok(form) } else { Err(WRONG) }
    }

    /// AES-GCM with this nonce.
    pub fn gcm(nonce: &'a [u8; 12], associated_data: &'a [u8]) -> Form<'a> {
        Form { suite: Suite::Gcm, tag_bytes: TAG, nonce, associated_data }
    }

    /// The nonce and the associated data, if this is AES-GCM.
    pub fn as_gcm(&self) -> Option<(&'a [u8], &'a [u8])> {
        matches!(self.suite, Suite::Gcm).then_some((self.nonce, self.associated_data))
    }

    /// Whether the nonce is the device's.
    pub fn is_device_nonce(&self) -> bool {
        self.nonce.is_empty()
    }
}

/// A keyed AEAD.
trait Aead: Send + Sync {
    /// Encrypts what is behind `from` and appends the tag.
    fn seal(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status>;

    /// Decrypts what is behind `from`, tag included, and leaves the plaintext; or leaves nothing.
    fn open(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status>;
}

impl<A: AeadInOut + Send + Sync> Aead for A {
    fn seal(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status> {
        let nonce = nonce.try_into().map_err(|_| Status::WrongParameters)?;
        // Refused when the message is too long for CCM's length field.
        let tag = self.encrypt_inout_detached(nonce, associated_data, (&mut buffer[from..]).into());
        buffer.extend_from_slice(&tag.map_err(|_| Status::WrongParameters)?);
        Ok(())
    }

    fn open(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status> {
        let nonce = nonce.try_into().map_err(|_| Status::WrongParameters)?;
        let tag_bytes = ascon_aead::aead::Tag::<A>::default().len();
        let plain_end = buffer.len().checked_sub(tag_bytes).filter(|end| *end >= from);
        let (rest, tag) = buffer.split_at_mut(plain_end.ok_or(Status::Rejected)?);
        let tag = (&*tag).try_into().expect("it was cut to this length");
        let opened = self.decrypt_inout_detached(nonce, associated_data, (&mut rest[from..]).into(), tag);
        let plain_end = rest.len();
        leave(opened.is_ok(), plain_end, buffer, from)
    }
}

/// AWS-LC's AES-GCM.
struct Gcm(LessSafeKey);

impl Aead for Gcm {
    fn seal(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status> {
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Status::WrongParameters)?;
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(associated_data), &mut buffer[from..]);
        buffer.extend_from_slice(tag.map_err(|_| Status::DeviceFault)?.as_ref());
        Ok(())
    }

    fn open(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut Vec<u8>,
        from: usize,
    ) -> Result<(), Status> {
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Status::WrongParameters)?;
        let opened = self.0.open_in_place(nonce, Aad::from(associated_data), &mut buffer[from..]);
        let plain_bytes = opened.map(|plaintext| plaintext.len());
        leave(plain_bytes.is_ok(), from + plain_bytes.unwrap_or(0), buffer, from)
    }
}

/// Keeps the plaintext, or nothing.
fn leave(is_authentic: bool, plain_end: usize, buffer: &mut Vec<u8>, from: usize) -> Result<(), Status> {
    let end = if is_authentic { plain_end } else { from };
    wipe(&mut buffer[end..]);
    buffer.truncate(end);
    if is_authentic { Ok(()) } else { Err(Status::Rejected) }
}

fn keyed(suite: Suite, key: &[u8], nonce_bytes: usize, tag_bytes: usize) -> Result<Arc<dyn Aead>, Status> {
    let aead: Option<Arc<dyn Aead>> = match (suite, key.len()) {
        (Suite::Gcm, length) => {
            let algorithm = match length {
                16 => &AES_128_GCM,
                24 => &AES_192_GCM,
                _ => &AES_256_GCM,
            };
            UnboundKey::new(algorithm, key)
                .ok()
                .map(|key| Arc::new(Gcm(LessSafeKey::new(key))) as Arc<dyn Aead>)
        }
        (Suite::Ccm, 16) => ccm::<Aes128>(key, nonce_bytes, tag_bytes),
        (Suite::Ccm, 24) => ccm::<Aes192>(key, nonce_bytes, tag_bytes),
        (Suite::Ccm, _) => ccm::<Aes256>(key, nonce_bytes, tag_bytes),
        (Suite::Ascon, _) => {
            AsconAead128::new_from_slice(key).ok().map(|ascon| Arc::new(ascon) as Arc<dyn Aead>)
        }
    };
    aead.ok_or(Status::WrongParameters)
}

/// The library's CCM is a type for each pair of lengths: these are the ones of IEEE 802.15.4, Bluetooth, TLS and CMS.
fn ccm<C>(key: &[u8], nonce_bytes: usize, tag_bytes: usize) -> Option<Arc<dyn Aead>>
where
    C: KeyInit
        + aes::cipher::BlockSizeUser<BlockSize = U16>
        + aes::cipher::BlockCipherEncrypt
        + Send
        + Sync
        + 'static,
{
    macro_rules! pick {
        ($($tag_bytes:literal $nonce_bytes:literal $tag:ident $nonce:ident,)*) => {
            match (tag_bytes, nonce_bytes) {
                $(($tag_bytes, $nonce_bytes) => Arc::new(Ccm::<C, $tag, $nonce>::new_from_slice(key).ok()?),)*
                _ => return None,
            }
        };
    }
    #[rustfmt::skip]
    let aead: Arc<dyn Aead> = pick! {
        4 7 U4 U7,  4 12 U4 U12,  4 13 U4 U13,  8 7 U8 U7,  8 12 U8 U12,  8 13 U8 U13,
        12 7 U12 U7,  12 12 U12 U12,  12 13 U12 U13,  16 7 U16 U7,  16 12 U16 U12,  16 13 U16 U13,
    };
    Some(aead)
}

/// The subkey of a key for nonces of the device's.
fn subkey(key: &[u8], suite: Suite, salt: &[u8; SALT]) -> Result<Secret, Status> {
    let mut subkey = Secret::new(vec![0; key.len()]);
    hkdf(Hash::Sha256, salt, key, &[b"selvedge seal", &[suite as u8]], &mut subkey)?;
    Ok(subkey)
}

/// What this start of the device seals with under one key.
struct Sealer {
    suite: Suite,
    salt: [u8; SALT],
    aead: Arc<dyn Aead>,
    used: u64,
}

impl Sealer {
    fn new(key: &[u8], suite: Suite) -> Result<Sealer, Status> {
        let mut salt = [0; SALT];
        OsRandomness.fill(&mut salt).map_err(|_| Status::DeviceFault)?;
        let aead = keyed(suite, &subkey(key, suite, &salt)?, suite.nonce_bytes(), TAG)?;
        Ok(Sealer { suite, salt, aead, used: 0 })
    }

    fn draw(&mut self) -> Result<[u8; 16], Status> {
        let counter = u32::try_from(self.used).expect("a full sealer is replaced");
        let mut nonce = [0; 16];
        OsRandomness.fill(&mut nonce).map_err(|_| Status::DeviceFault)?;
        nonce[..4].copy_from_slice(&counter.to_le_bytes());
        self.used += 1;
        Ok(nonce)
    }
}

/// The ciphers of a key, set up when they are first needed and kept while the key is there.
#[derive(Default)]
pub struct Ciphers {
    sealer: Mutex<Option<Sealer>>,
    /// AES-GCM under the key itself, whose nonces and tags have one length.
    gcm: OnceLock<Arc<dyn Aead>>,
    opener: Mutex<Option<Opener>>,
}

/// The subkey that something was opened with last: whoever opens much opens what one start sealed.
struct Opener {
    suite: Suite,
    salt: [u8; SALT],
    aead: Arc<dyn Aead>,
}

const UNPOISONED: &str = "nothing panics while it holds this lock";

impl Ciphers {
    /// The cipher under the key itself.
    fn own(&self, key: &[u8], form: &Form<'_>) -> Result<Arc<dyn Aead>, Status> {
        match self.gcm.get() {
            Some(gcm) if form.suite == Suite::Gcm => Ok(gcm.clone()),
            _ => {
                let aead = keyed(form.suite, key, form.nonce.len(), form.tag_bytes)?;
                if form.suite == Suite::Gcm {
                    let _ = self.gcm.set(aead.clone()); // another lane's is as good
                }
                Ok(aead)
            }
        }
    }

    /// The cipher under the subkey of a salt.
    fn opener(&self, key: &[u8], suite: Suite, salt: &[u8; SALT]) -> Result<Arc<dyn Aead>, Status> {
        let mut opener = self.opener.lock().expect(UNPOISONED);
        match &*opener {
            // A salt is no secret.
            Some(known) if (known.suite, &known.salt) == (suite, salt) => Ok(known.aead.clone()),
            _ => {
                let aead = keyed(suite, &subkey(key, suite, salt)?, suite.nonce_bytes(), TAG)?;
                *opener = Some(Opener { suite, salt: *salt, aead: aead.clone() });
                Ok(aead)
            }
        }
    }
}

/// Appends salt, nonce, ciphertext and tag, under a nonce of the device's.
///
/// # Errors
/// [`Status::DeviceFault`].
pub fn seal(
    key: &[u8],
    ciphers: &Ciphers,
    form: Form<'_>,
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let (salt, nonce, aead) = {
        let mut held = ciphers.sealer.lock().expect(UNPOISONED);
        let sealer = match &mut *held {
            Some(sealer) if sealer.suite == form.suite && sealer.used < NONCES_PER_SALT => sealer,
            other => other.insert(Sealer::new(key, form.suite)?),
        };
        (sealer.salt, sealer.draw()?, sealer.aead.clone())
    };
    let nonce = &nonce[..form.suite.nonce_bytes()];
    out.extend_from_slice(&salt);
    out.extend_from_slice(nonce);
    let from = out.len();
    append(out, plaintext);
    aead.seal(nonce, form.associated_data, out, from)
}

/// Appends the plaintext of what [`seal`] gave.
///
/// # Errors
/// [`Status::Rejected`].
pub fn open(
    key: &[u8],
    ciphers: &Ciphers,
    form: Form<'_>,
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let (salt, rest) = sealed.split_first_chunk::<SALT>().ok_or(Status::Rejected)?;
    let (nonce, rest) = rest.split_at_checked(form.suite.nonce_bytes()).ok_or(Status::Rejected)?;
    let from = out.len();
    append(out, rest);
    ciphers.opener(key, form.suite, salt)?.open(nonce, form.associated_data, out, from)
}

/// Appends ciphertext and tag, under a nonce of the caller's.
///
/// # Errors
/// [`Status::WrongParameters`] when the message is too long for the nonce.
pub fn seal_with_nonce(
    key: &[u8],
    ciphers: &Ciphers,
    form: Form<'_>,
    plaintext: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let from = out.len();
    append(out, plaintext);
    ciphers.own(key, &form)?.seal(form.nonce, form.associated_data, out, from)
}

/// Appends the plaintext of what [`seal_with_nonce`] gave.
///
/// # Errors
/// [`Status::Rejected`].
pub fn open_with_nonce(
    key: &[u8],
    ciphers: &Ciphers,
    form: Form<'_>,
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let from = out.len();
    append(out, sealed);
    ciphers.own(key, &form)?.open(form.nonce, form.associated_data, out, from)
}
