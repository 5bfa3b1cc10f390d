//! Keys of the device, found by their names: what OpenSSL may know of them is public. A key is asked for with the URI
//! `selvedge:NAME`; the private half is used where it is, and neither leaves nor comes this way.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use broker::client::call::{FindKey, KeyAttributes, KeyPublic};
use broker::template::{Algorithm as Kind, Usages};
use broker::wire::KeyHandle;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, Take, each, free, guard, make, out, provider,
    trust,
};

/// `OSSL_KEYMGMT_SELECT_PRIVATE_KEY`.
const PRIVATE: c_int = 1;
/// What of a key this provider tells: its public half and its domain.
const TOLD: c_int = 2 | 4 | 0x80;
/// `OSSL_OBJECT_PKEY`.
pub const OBJECT_KEY: c_int = 2;
/// `OSSL_OP_KEYEXCH` and `OSSL_OP_SIGNATURE`.
const EXCHANGE: c_int = 11;
const SIGNATURE: c_int = 12;
/// What a private half is for. Not all of it is done here; the device says so.
const WORK: Usages = Usages::SIGN.and(Usages::DECRYPT).and(Usages::AGREE.and(Usages::DERIVE));

/// A key of the device.
pub struct Key {
    /// Its handle.
    pub handle: KeyHandle,
    /// What it is a key of.
    pub algorithm: Kind,
    /// Modulus and exponent of RSA, least significant byte first; else the point, alone.
    public: Vec<Vec<u8>>,
    works: bool,
}

impl Key {
    /// The key of a name.
    pub fn find(provider: &Provider, name: &[u8]) -> Done<Key> {
        let handle = provider.call(&FindKey { name })?;
        let template = provider.call(&KeyAttributes { key: handle })?.template;
        let public = provider.call(&KeyPublic { key: handle })?;
        let public = match template.algorithm {
            Kind::Rsa2048 | Kind::Rsa3072 => numbers(&public)?.to_vec(),
            _ => vec![public],
        };
        let works = template.usages.0 & WORK.0 != 0;
        Ok(Key { handle, algorithm: template.algorithm, public, works })
    }

    /// What OpenSSL calls its kind.
    pub fn name(&self) -> Done<&'static CStr> {
        match self.algorithm {
            Kind::P256 => Ok(c"EC"),
            Kind::Ed25519 => Ok(c"ED25519"),
            Kind::X25519 => Ok(c"X25519"),
            Kind::Rsa2048 | Kind::Rsa3072 => Ok(c"RSA"),
            _ => Err(Failed),
        }
    }

    /// The point that is the public half of a key on a curve.
    pub fn point(&self) -> Done<&[u8]> {
        match &self.public[..] {
            [point] => Ok(point),
            _ => Err(Failed),
        }
    }

    /// Bits, bits of security, longest signature or secret.
    pub fn sizes(&self) -> [usize; 3] {
        match self.algorithm {
            Kind::Rsa2048 => [2048, 112, 256],
            Kind::Rsa3072 => [3072, 128, 384],
            Kind::Ed25519 => [256, 128, 64],
            Kind::X25519 => [253, 128, 32],
            _ => [256, 128, 72],
        }
    }

    /// Takes what is public of somebody's key, to be compared.
    fn import(&mut self, key: &[u8], param: &Param) -> Done {
        let place = match (key, self.algorithm) {
            (b"group", Kind::P256) => {
                let is_it = matches!(param.get_text(), Some(b"prime256v1" | b"P-256" | b"secp256r1"));
                return if is_it { Ok(()) } else { Err(Failed) };
            }
            (b"pub", Kind::P256 | Kind::Ed25519 | Kind::X25519) | (b"n", Kind::Rsa2048 | Kind::Rsa3072) => 0,
            (b"e", Kind::Rsa2048 | Kind::Rsa3072) => 1,
            (b"priv" | b"d", _) => return Err(Failed), // keys do not come this way
            _ => return Ok(()),
        };
        let bytes = param.bytes().ok_or(Failed)?;
        let used = if key == b"pub" { bytes.len() } else { significant(bytes) };
        self.public.resize(self.public.len().max(place + 1), Vec::new());
        self.public[place] = bytes[..used].to_vec();
        Ok(())
    }
}

/// Without the zeros above.
fn significant(number: &[u8]) -> usize {
    number.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Modulus and exponent of an `RSAPublicKey`, least significant byte first.
fn numbers(public: &[u8]) -> Done<[Vec<u8>; 2]> {
    let (sequence, _) = element(public)?;
    let (modulus, rest) = element(sequence)?;
    let (exponent, _) = element(rest)?;
    Ok([modulus, exponent].map(|number| {
        let mut number: Vec<u8> = number.iter().rev().copied().collect();
        number.truncate(significant(&number));
        number
    }))
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

/// The public half of somebody's key, which OpenSSL compares with one of the device's, or a key of the device agrees with.
/// It does nothing.
unsafe extern "C" fn new<const KIND: usize>(_context: *const Provider) -> *mut Key {
    let algorithm = [Kind::P256, Kind::Ed25519, Kind::Rsa2048, Kind::X25519][KIND];
    make(|| Ok(Key { handle: KeyHandle::NONE, algorithm, public: Vec::new(), works: false }))
}

/// OpenSSL asks for all of a key of which there is the public half only. Of the kinds that agree it gets that, since the
/// other side of an exchange comes so; the others are better used where they are.
unsafe extern "C" fn import(this: *mut Key, selection: c_int, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let agrees = matches!(this.algorithm, Kind::P256 | Kind::X25519);
        if this.handle != KeyHandle::NONE || (selection & PRIVATE != 0 && !agrees) {
            return Err(Failed);
        }
        trust!(each(params, |key, param| this.import(key, param)))?;
        if this.public.is_empty() { Err(Failed) } else { Ok(()) }
    })
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
        let lacks = (selection & PRIVATE != 0 && !this.works) || this.public.is_empty();
        if lacks { Err(Failed) } else { Ok(()) }
    })
}

unsafe extern "C" fn same(one: *const Key, other: *const Key, _selection: c_int) -> c_int {
    guard(|| {
        let (one, other) = (trust!(out(one.cast_mut()))?, trust!(out(other.cast_mut()))?);
        let same = one.name()? == other.name()? && one.public == other.public;
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
            (b"pub" | b"encoded-pub-key", Kind::P256 | Kind::Ed25519 | Kind::X25519) =>
                param.set_octets(this.point()?),
            (b"n", Kind::Rsa2048 | Kind::Rsa3072) => param.set_number(this.public.first().ok_or(Failed)?),
            (b"e", Kind::Rsa2048 | Kind::Rsa3072) => param.set_number(this.public.get(1).ok_or(Failed)?),
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
        let params = match (this.algorithm, &this.public[..]) {
            (Kind::P256, [point]) => {
                vec![Param::of_text(c"group", c"prime256v1"), Param::of_octets(c"pub", point), Param::END]
            }
            (_, [point]) => vec![Param::of_octets(c"pub", point), Param::END],
            (_, [modulus, exponent]) => {
                vec![Param::of_number(c"n", modulus), Param::of_number(c"e", exponent), Param::END]
            }
            _ => return Err(Failed),
        };
        if trust!(take(params.as_ptr(), argument)) == 1 { Ok(()) } else { Err(Failed) }
    })
}

static EXCHANGED: [Param; 5] =
    [Param::text(c"group"), Param::octets(c"pub"), Param::number(c"n"), Param::number(c"e"), Param::END];

extern "C" fn exchanged(selection: c_int) -> *const Param {
    if selection & !TOLD == 0 { EXCHANGED.as_ptr() } else { std::ptr::null() }
}

extern "C" fn work_of<const EC: bool>(operation: c_int) -> *const c_char {
    match (operation, EC) {
        (EXCHANGE, true) => c"ECDH".as_ptr(),
        (SIGNATURE, true) => c"ECDSA".as_ptr(),
        _ => std::ptr::null(), // the key's own name
    }
}

const fn functions<const KIND: usize, const EC: bool>() -> [Dispatch; 13] {
    [
        Dispatch(1, new::<KIND> as *const c_void),
        Dispatch(8, load as *const c_void),
        Dispatch(10, delete as *const c_void),
        Dispatch(11, get as *const c_void),
        Dispatch(12, gettable as *const c_void),
        Dispatch(20, work_of::<EC> as *const c_void),
        Dispatch(21, has as *const c_void),
        Dispatch(23, same as *const c_void),
        Dispatch(40, import as *const c_void),
        Dispatch(41, exchanged as *const c_void),
        Dispatch(42, export as *const c_void),
        Dispatch(43, exchanged as *const c_void),
        END,
    ]
}

static CURVE: [Dispatch; 13] = functions::<0, true>();
static EDWARDS: [Dispatch; 13] = functions::<1, false>();
static RSA: [Dispatch; 13] = functions::<2, false>();
static MONTGOMERY: [Dispatch; 13] = functions::<3, false>();

/// The kinds of keys, by OpenSSL's names. TLS makes keys of X25519 that live as long as a handshake, which are OpenSSL's own
/// whatever provider is preferred for the rest: so this one has no property that a query would prefer.
pub static ALGORITHMS: [Algorithm; 5] = [
    Algorithm::new(c"EC:id-ecPublicKey:1.2.840.10045.2.1", &CURVE),
    Algorithm::new(c"ED25519:1.3.101.112", &EDWARDS),
    Algorithm::new(c"RSA:rsaEncryption:1.2.840.113549.1.1.1", &RSA),
    Algorithm::with(c"X25519:1.3.101.110", c"", &MONTGOMERY),
    Algorithm::END,
];

/// A URI that is being loaded.
struct Store {
    provider: Arc<Provider>,
    name: Option<Vec<u8>>,
}

unsafe extern "C" fn open(context: *const Provider, uri: *const c_char) -> *mut Store {
    make(|| {
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
        tell(key, take, argument)
    })
}

/// Tells OpenSSL of a key, which it loads or not.
pub fn tell(key: Key, take: Take, argument: *mut c_void) -> Done {
    let kind = key.name()?;
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
