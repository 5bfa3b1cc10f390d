//! p11-kit, asked through its PKCS#11 module as a program in C asks: answers go into a buffer that is long enough, so that
//! each operation is two calls. (Libraries ask for the length first, and a module that passes calls on pays for that.)
#![allow(unsafe_code)]

use std::io;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use cryptoki_sys::*;

use super::{Ask, Work};

/// The token's PIN.
pub const PIN: &str = "271828";
/// Where the module lies, in a folder of `/usr/lib` that is named after the machine.
const MODULE: &str = "pkcs11/p11-kit-client.so";

/// The module that passes calls on to a server, if the distribution's is there.
pub fn client_module() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten();
    folders.map(|folder| folder.path().join(MODULE)).find(|path| path.exists())
}

/// A session that is logged in.
struct Session {
    functions: CK_FUNCTION_LIST,
    session: CK_SESSION_HANDLE,
}

/// P-256 as an object identifier in DER (RFC 5480 section 2.1.1.1).
const P256: [u8; 10] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
/// Longest secret key.
const SECRET_BYTES: CK_ULONG = 32;
/// What an answer may be longer than its question.
const ROOM_BYTES: usize = 256;

/// Calls a function of the list, which must be there.
macro_rules! call {
    ($session:expr, $function:ident $(, $argument:expr)*) => {{
        let function = $session.functions.$function.expect("PKCS#11 has this function");
        // SAFETY: the module is loaded, and what pointers point to lives, is as long as it is said to be, and is not
        // used by anybody else until the call returns.
        checked(stringify!($function), unsafe { function($($argument),*) })
    }};
}

fn checked(function: &str, result: CK_RV) -> io::Result<()> {
    if result == CKR_OK { Ok(()) } else { Err(io::Error::other(format!("{function}: {result:#x}"))) }
}

/// Logs in through the server at `socket` and makes a key, if there has to be one.
pub fn prepare(work: Work, socket: &Path) -> io::Result<Ask> {
    let address = format!("unix:path={}", socket.display());
    // SAFETY: this process has one thread until its work is done.
    unsafe { std::env::set_var("P11_KIT_SERVER_ADDRESS", address) };
    let mut session = Session::open(&client_module().ok_or(io::ErrorKind::NotFound)?)?;
    let (mut mechanism, key) = match work {
        Work::Sha256 => (plain(CKM_SHA256), 0),
        Work::HmacSha256 => (
            plain(CKM_SHA256_HMAC),
            session.secret(CKM_GENERIC_SECRET_KEY_GEN, CKK_GENERIC_SECRET, CKA_SIGN)?,
        ),
        Work::Aes256Ecb => (plain(CKM_AES_ECB), session.secret(CKM_AES_KEY_GEN, CKK_AES, CKA_ENCRYPT)?),
        Work::EcdsaP256 => (plain(CKM_ECDSA), session.p256()?),
        Work::Aes256Gcm => return Err(io::ErrorKind::Unsupported.into()),
    };
    let mut answer = Vec::new();
    Ok(Box::new(move |payload| {
        answer.resize(payload.len() + ROOM_BYTES, 0);
        let mut answer_bytes = answer.len() as CK_ULONG;
        let (handle, length) = (session.session, payload.len() as CK_ULONG);
        let (question, place) = (payload.as_ptr().cast_mut(), answer.as_mut_ptr());
        match work {
            Work::Sha256 => {
                call!(session, C_DigestInit, handle, &mut mechanism)?;
                call!(session, C_Digest, handle, question, length, place, &mut answer_bytes)?;
            }
            Work::Aes256Ecb => {
                call!(session, C_EncryptInit, handle, &mut mechanism, key)?;
                call!(session, C_Encrypt, handle, question, length, place, &mut answer_bytes)?;
            }
            _ => {
                call!(session, C_SignInit, handle, &mut mechanism, key)?;
                call!(session, C_Sign, handle, question, length, place, &mut answer_bytes)?;
            }
        }
        Ok(answer[..answer_bytes as usize].to_vec())
    }))
}

fn plain(mechanism: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM { mechanism, pParameter: null_mut(), ulParameterLen: 0 }
}

fn attribute<T: ?Sized>(kind: CK_ATTRIBUTE_TYPE, value: &T) -> CK_ATTRIBUTE {
    let length = size_of_val(value) as CK_ULONG;
    CK_ATTRIBUTE { type_: kind, pValue: std::ptr::from_ref(value).cast_mut().cast(), ulValueLen: length }
}

impl Session {
    /// With the server's token.
    fn open(path: &Path) -> io::Result<Session> {
        // SAFETY: it is a PKCS#11 module, whose loading runs what every user of it runs.
        let module = unsafe { Pkcs11::new(path) }.map_err(io::Error::other)?;
        let mut list = null_mut();
        let get = module.C_GetFunctionList.as_ref().map_err(|error| io::Error::other(error.to_string()))?;
        // SAFETY: it writes one pointer.
        checked("C_GetFunctionList", unsafe { get(&mut list) })?;
        // SAFETY: the standard says that the list is constant, and it succeeded.
        let functions = unsafe { *list };
        // It stays loaded: its functions are called until this process ends.
        std::mem::forget(module);
        let mut session = Session { functions, session: 0 };
        call!(session, C_Initialize, null_mut())?;
        let slot = session.slot()?;
        let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
        let mut handle = 0;
        call!(session, C_OpenSession, slot, flags, null_mut(), None, &mut handle)?;
        session.session = handle;
        let pin = PIN.as_ptr().cast_mut();
        call!(session, C_Login, handle, CKU_USER, pin, PIN.len() as CK_ULONG)?;
        Ok(session)
    }

    /// That of the one token that the server has.
    fn slot(&self) -> io::Result<CK_SLOT_ID> {
        let (mut slot, mut count) = (0, 1);
        call!(self, C_GetSlotList, CK_TRUE, &mut slot, &mut count)?;
        if count == 1 { Ok(slot) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// A key of this session.
    fn secret(
        &mut self,
        mechanism: CK_MECHANISM_TYPE,
        kind: CK_KEY_TYPE,
        usage: CK_ATTRIBUTE_TYPE,
    ) -> io::Result<CK_OBJECT_HANDLE> {
        let mut template = [
            attribute(CKA_KEY_TYPE, &kind),
            attribute(CKA_TOKEN, &CK_FALSE),
            attribute(CKA_SENSITIVE, &CK_TRUE),
            attribute(CKA_VALUE_LEN, &SECRET_BYTES),
            attribute(usage, &CK_TRUE),
        ];
        let (mut key, count) = (0, template.len() as CK_ULONG);
        let (mut mechanism, template) = (plain(mechanism), template.as_mut_ptr());
        call!(self, C_GenerateKey, self.session, &mut mechanism, template, count, &mut key)?;
        Ok(key)
    }

    /// A private key of this session.
    fn p256(&mut self) -> io::Result<CK_OBJECT_HANDLE> {
        let mut public = [attribute(CKA_TOKEN, &CK_FALSE), attribute(CKA_EC_PARAMS, &P256)];
        let mut private = [
            attribute(CKA_TOKEN, &CK_FALSE),
            attribute(CKA_SENSITIVE, &CK_TRUE),
            attribute(CKA_SIGN, &CK_TRUE),
        ];
        let (mut public_key, mut private_key) = (0, 0);
        call!(
            self,
            C_GenerateKeyPair,
            self.session,
            &mut plain(CKM_EC_KEY_PAIR_GEN),
            public.as_mut_ptr(),
            public.len() as CK_ULONG,
            private.as_mut_ptr(),
            private.len() as CK_ULONG,
            &mut public_key,
            &mut private_key
        )?;
        Ok(private_key)
    }
}
