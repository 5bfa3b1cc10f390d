//! Keys of the device, found by their names: what OpenSSL may know of them is public. A key is asked for with the URI
//! `selvedge:NAME`; the private half is used where it is, and neither leaves nor comes this way.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use broker::client::call::{FindKey, KeyAttributes, KeyPublic};
use broker::template::{Algorithm as Kind, Usages};
use broker::wire::KeyHandle;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, each, free, guard, out, provider, trust,
};

/// `OSSL_KEYMGMT_SELECT_PRIVATE_KEY`.
const PRIVATE: c_int = 1;
/// What of a key this provider tells: its public half and its domain.
const TOLD: c_int = 2 | 4 | 0x80;
/// `OSSL_OBJECT_PKEY`.
const OBJECT_KEY: c_int = 2;
/// `OSSL_OP_SIGNATURE`.
const SIGNATURE: c_int = 12;

/// A key of the device.
pub struct Key {
    /// Its handle.
    pub handle: KeyHandle,
    /// What it is a key of.
    pub algorithm: Kind,
    public: Vec<u8>,
    signs: bool,
}

impl Key {
    fn find(provider: &Provider, name: &[u8]) -> Done<Key> {
        let handle = provider.call(&FindKey { name })?;
        let template = provider.call(&KeyAttributes { key: handle })?.template;
        let public = provider.call(&KeyPublic { key: handle })?;
        let signs = Usages::SIGN.within(template.usages);
        Ok(Key { handle, algorithm: template.algorithm, public, signs })
    }

    fn names(&self) -> Done<(&'static CStr, &'static CStr)> {
        match self.algorithm {
            Kind::P256 => Ok((c"EC", c"ECDSA")),
            Kind::Ed25519 => Ok((c"ED25519", c"ED25519")),
            Kind::Rsa2048 | Kind::Rsa3072 => Ok((c"RSA", c"RSA")),
            _ => Err(Failed),
        }
    }

    /// Bits, bits of security, longest signature.
    pub fn sizes(&self) -> [usize; 3] {
        match self.algorithm {
            Kind::Rsa2048 => [2048, 112, 256],
            Kind::Rsa3072 => [3072, 128, 384],
            Kind::Ed25519 => [256, 128, 64],
            _ => [256, 128, 72],
        }
    }

    /// Modulus and exponent, least significant byte first. The device gives an `RSAPublicKey` of DER.
    fn numbers(&self) -> Done<[Vec<u8>; 2]> {
        let (sequence, _) = element(&self.public)?;
        let (modulus, rest) = element(sequence)?;
        let (exponent, _) = element(rest)?;
        Ok([modulus, exponent].map(|number| number.iter().rev().copied().collect()))
    }
}

/// What is in the element of DER at the start, and what follows it.
fn element(bytes: &[u8]) -> Done<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<2>().ok_or(Failed)?;
    let (length, rest) = match head[1] {
        ..=0x7f => (usize::from(head[1]), rest),
        0x81 => (usize::from(*rest.first().ok_or(Failed)?), &rest[1..]),
        0x82 => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or(Failed)?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        _ => return Err(Failed),
    };
    rest.split_at_checked(length).ok_or(Failed)
}

unsafe extern "C" fn nothing(_context: *const Provider) -> *mut Key {
    std::ptr::null_mut() // keys are in the device, and are not put together here
}

/// Takes the key that the store told of.
unsafe extern "C" fn load(reference: *const *mut Key, length: usize) -> *mut Key {
    if reference.is_null() || length != size_of::<*mut Key>() {
        return std::ptr::null_mut();
    }
    // SAFETY: a reference of the store's, of this length; it is taken once.
    unsafe { std::mem::replace(&mut *reference.cast_mut(), std::ptr::null_mut()) }
}

unsafe extern "C" fn delete(this: *mut Key) {
    trust!(free(this));
}

unsafe extern "C" fn has(this: *const Key, selection: c_int) -> c_int {
    guard(|| {
        let this = trust!(out(this.cast_mut()))?;
        if selection & PRIVATE != 0 && !this.signs { Err(Failed) } else { Ok(()) }
    })
}

unsafe extern "C" fn same(one: *const Key, other: *const Key, _selection: c_int) -> c_int {
    guard(|| {
        let (one, other) = (trust!(out(one.cast_mut()))?, trust!(out(other.cast_mut()))?);
        let same = one.algorithm == other.algorithm && one.public == other.public;
        if same { Ok(()) } else { Err(Failed) }
    })
}

unsafe extern "C" fn get(this: *mut Key, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let [bits, security, signature] = this.sizes();
        trust!(each(params, |key, param| match (key, this.algorithm) {
            (b"bits", _) => param.set(bits),
            (b"security-bits", _) => param.set(security),
            (b"max-size", _) => param.set(signature),
            (b"mandatory-digest", Kind::Ed25519) => param.set_text(c""),
            (b"default-digest", Kind::P256 | Kind::Rsa2048 | Kind::Rsa3072) => param.set_text(c"SHA256"),
            (b"group", Kind::P256) => param.set_text(c"prime256v1"),
            (b"pub" | b"encoded-pub-key", Kind::P256 | Kind::Ed25519) => param.set_octets(&this.public),
            (b"n", Kind::Rsa2048 | Kind::Rsa3072) => param.set_number(&this.numbers()?[0]),
            (b"e", Kind::Rsa2048 | Kind::Rsa3072) => param.set_number(&this.numbers()?[1]),
            _ => Ok(()),
        }))
    })
}

static GETTABLE: [Param; 11] = [
    Param::number(c"bits"),
    Param::number(c"security-bits"),
    Param::number(c"max-size"),
    Param::text(c"mandatory-digest"),
    Param::text(c"default-digest"),
    Param::text(c"group"),
    Param::octets(c"pub"),
    Param::octets(c"encoded-pub-key"),
    Param::number(c"n"),
    Param::number(c"e"),
    Param::END,
];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

type Take = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

unsafe extern "C" fn export(
    this: *mut Key,
    selection: c_int,
    take: Option<Take>,
    argument: *mut c_void,
) -> c_int {
    guard(|| {
        let (this, take) = (trust!(out(this))?, take.ok_or(Failed)?);
        if selection & PRIVATE != 0 {
            return Err(Failed); // it does not leave the device
        }
        let numbers = if this.names()?.0 == c"RSA" { this.numbers()? } else { Default::default() };
        let public = Param::of_octets(c"pub", &this.public);
        let params = match this.algorithm {
            Kind::P256 => vec![Param::of_text(c"group", c"prime256v1"), public, Param::END],
            Kind::Ed25519 => vec![public, Param::END],
            _ => vec![Param::of_number(c"n", &numbers[0]), Param::of_number(c"e", &numbers[1]), Param::END],
        };
        if trust!(take(params.as_ptr(), argument)) == 1 { Ok(()) } else { Err(Failed) }
    })
}

static EXPORTED: [Param; 5] =
    [Param::text(c"group"), Param::octets(c"pub"), Param::number(c"n"), Param::number(c"e"), Param::END];

extern "C" fn export_types(selection: c_int) -> *const Param {
    if selection & !TOLD == 0 { EXPORTED.as_ptr() } else { std::ptr::null() }
}

extern "C" fn signature_of<const EC: bool>(operation: c_int) -> *const c_char {
    match (operation, EC) {
        (SIGNATURE, true) => c"ECDSA".as_ptr(),
        _ => std::ptr::null(), // the key's own name
    }
}

const fn functions<const EC: bool>() -> [Dispatch; 11] {
    [
        Dispatch(1, nothing as *const c_void),
        Dispatch(8, load as *const c_void),
        Dispatch(10, delete as *const c_void),
        Dispatch(11, get as *const c_void),
        Dispatch(12, gettable as *const c_void),
        Dispatch(20, signature_of::<EC> as *const c_void),
        Dispatch(21, has as *const c_void),
        Dispatch(23, same as *const c_void),
        Dispatch(42, export as *const c_void),
        Dispatch(43, export_types as *const c_void),
        END,
    ]
}

static CURVE: [Dispatch; 11] = functions::<true>();
static OTHER: [Dispatch; 11] = functions::<false>();

/// The kinds of keys, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 4] = [
    Algorithm::new(c"EC:id-ecPublicKey:1.2.840.10045.2.1", &CURVE),
    Algorithm::new(c"ED25519:1.3.101.112", &OTHER),
    Algorithm::new(c"RSA:rsaEncryption:1.2.840.113549.1.1.1", &OTHER),
    Algorithm::END,
];

/// A URI that is being loaded.
struct Store {
    provider: Arc<Provider>,
    name: Option<Vec<u8>>,
}

unsafe extern "C" fn open(context: *const Provider, uri: *const c_char) -> *mut Store {
    crate::abi::make(|| {
        if uri.is_null() {
            return Err(Failed);
        }
        // SAFETY: a URI is a text.
        let uri = unsafe { CStr::from_ptr(uri) }.to_bytes();
        let name = uri.strip_prefix(b"selvedge:").ok_or(Failed)?.to_vec();
        Ok(Store { provider: trust!(provider(context))?, name: Some(name) })
    })
}

static SETTABLE: [Param; 2] = [Param::number(c"expect"), Param::END];

extern "C" fn settable(_context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

/// What is expected is decided by what there is.
extern "C" fn set(_this: *mut Store, _params: *const Param) -> c_int {
    1
}

unsafe extern "C" fn load_next(
    this: *mut Store,
    take: Option<Take>,
    argument: *mut c_void,
    _ask: *const c_void,
    _asked: *mut c_void,
) -> c_int {
    guard(|| {
        let (this, take) = (trust!(out(this))?, take.ok_or(Failed)?);
        let key = Key::find(&this.provider, &this.name.take().ok_or(Failed)?)?;
        let (kind, _) = key.names()?;
        let mut reference = Box::into_raw(Box::new(key));
        let place = &raw mut reference;
        let params = [
            Param::of_int(c"type", &OBJECT_KEY),
            Param::of_text(c"data-type", kind),
            Param::of_place(c"reference", place),
            Param::END,
        ];
        let taken = trust!(take(params.as_ptr(), argument));
        // Who took it left null there.
        trust!(free(place.read()));
        if taken == 1 { Ok(()) } else { Err(Failed) }
    })
}

unsafe extern "C" fn is_over(this: *mut Store) -> c_int {
    guard(|| if trust!(out(this))?.name.is_none() { Ok(()) } else { Err(Failed) })
}

unsafe extern "C" fn close(this: *mut Store) -> c_int {
    trust!(free(this));
    1
}

static STORE: [Dispatch; 7] = [
    Dispatch(1, open as *const c_void),
    Dispatch(3, settable as *const c_void),
    Dispatch(4, set as *const c_void),
    Dispatch(5, load_next as *const c_void),
    Dispatch(6, is_over as *const c_void),
    Dispatch(7, close as *const c_void),
    END,
];

/// The scheme of the URIs.
pub static STORES: [Algorithm; 2] = [Algorithm::new(c"selvedge", &STORE), Algorithm::END];
