//! Secret keys as objects of their own, which OpenSSL has since 3.5 (EVP_SKEY(3)) and older ones do not ask for: a key of
//! the device, by its name or made anew, or bytes, which what is done under them gives the device. Neither is told again.
//! A key that is made with a name stays; one without ends with its object.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use broker::client::call::Secret;
use broker::template::{Algorithm as Kind, Template, Usages};

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, Take, each, free, make, out, provider, trust,
};
use crate::secret::{self, Held};

/// Length of a key that is made when nobody says another.
const KEY_BYTES: usize = 32;

/// One of them.
pub enum Skey {
    /// A key of the device, and its name, if it has one.
    Held(Arc<Held>, Option<CString>),
    /// Bytes.
    Given(Secret),
}

/// The key that something begins with.
///
/// # Errors
/// That there is none.
///
/// # Safety
/// It is null or of [`import`].
pub unsafe fn taken<'a>(key: *mut Skey) -> Done<&'a Skey> {
    Ok(&*trust!(out(key))?)
}

unsafe extern "C" fn import(context: *const Provider, _selection: c_int, params: *mut Param) -> *mut Skey {
    make(|| {
        let (provider, mut key) = (trust!(provider(context))?, None);
        trust!(each(params, |name, param| {
            match name {
                b"selvedge-key" => key = Some(Skey::Held(Held::named(&provider, param)?, Some(text(param)?))),
                b"raw-bytes" => key = Some(Skey::Given(Secret::new(param.bytes().ok_or(Failed)?.to_vec()))),
                _ => {}
            }
            Ok(())
        }))?;
        key.ok_or(Failed)
    })
}

fn text(param: &Param) -> Done<CString> {
    CString::new(param.get_text().ok_or(Failed)?).map_err(|_| Failed)
}

/// What a key is made for that nobody says more of, as the PKCS#11 module has it.
fn template(is_aes: bool, key_bytes: usize) -> Done<Template> {
    if !is_aes {
        let secret_bytes = u16::try_from(key_bytes).map_err(|_| Failed)?;
        let macs = Usages::MAC.and(Usages::MAC_VERIFY);
        return Ok(Template { secret_bytes, ..Template::new(Kind::Hmac, macs) });
    }
    let algorithm = secret::aes(key_bytes).ok_or(Failed)?;
    let usages = Usages::ENCRYPT.and(Usages::DECRYPT).and(Usages::SEAL.and(Usages::OPEN));
    Ok(Template { is_caller_nonce: true, ..Template::new(algorithm, usages) })
}

unsafe extern "C" fn generate<const AES: bool>(context: *const Provider, params: *mut Param) -> *mut Skey {
    make(|| {
        let (provider, mut name, mut key_bytes) = (trust!(provider(context))?, None, KEY_BYTES);
        trust!(each(params, |key, param| {
            match key {
                b"selvedge-key" => name = Some(text(param)?),
                b"key-length" => {
                    key_bytes = usize::try_from(param.get().ok_or(Failed)?).map_err(|_| Failed)?
                }
                _ => {}
            }
            Ok(())
        }))?;
        let template = Template {
            is_persistent: name.is_some(),
            name: name.as_ref().map(|name| name.to_bytes().to_vec()).unwrap_or_default(),
            ..template(AES, key_bytes)?
        };
        Ok(Skey::Held(Held::generated(&provider, &template)?, name))
    })
}

unsafe extern "C" fn delete(this: *mut Skey) {
    trust!(free(this));
}

extern "C" fn export(
    _this: *mut Skey,
    _selection: c_int,
    _take: Option<Take>,
    _argument: *mut c_void,
) -> c_int {
    0
}

unsafe extern "C" fn name(this: *mut Skey) -> *const c_char {
    match trust!(taken(this)) {
        Ok(Skey::Held(_, Some(name))) => name.as_ptr(),
        _ => std::ptr::null(),
    }
}

static SETTABLE: [Param; 3] = [Param::text(secret::NAME), Param::octets(c"raw-bytes"), Param::END];

extern "C" fn settable(_context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

static SETTABLE_NEW: [Param; 3] = [Param::text(secret::NAME), Param::number(c"key-length"), Param::END];

extern "C" fn settable_new(_context: *const Provider) -> *const Param {
    SETTABLE_NEW.as_ptr()
}

const fn functions<const AES: bool>() -> [Dispatch; 8] {
    [
        Dispatch(1, delete as *const c_void),
        Dispatch(2, import as *const c_void),
        Dispatch(3, export as *const c_void),
        Dispatch(4, generate::<AES> as *const c_void),
        Dispatch(5, name as *const c_void),
        Dispatch(6, settable as *const c_void),
        Dispatch(7, settable_new as *const c_void),
        END,
    ]
}

static AES: [Dispatch; 8] = functions::<true>();
static GENERIC: [Dispatch; 8] = functions::<false>();

/// The kinds of secret keys, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 3] =
    [Algorithm::new(c"AES", &AES), Algorithm::new(c"GENERIC-SECRET", &GENERIC), Algorithm::END];
