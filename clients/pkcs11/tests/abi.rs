//! The module as C calls it: what it exports and contains, threads, `fork`, small buffers, and pointers that are nothing.
#![allow(unsafe_code)]

mod broker_thread;

use std::path::PathBuf;
use std::process::Command;
use std::ptr::null_mut;
use std::thread;

use broker_thread::{Running, built, has};
use cryptoki_sys::*;

fn module() -> PathBuf {
    built("libselvedge_pkcs11.so")
}

/// A function of the list; each takes only pointers that the test owns, or null.
macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        // SAFETY: the arguments are values, null, or places that outlive the call.
        unsafe { functions().$function.expect("the list is full")($($argument),*) }
    }};
}

fn functions() -> &'static CK_FUNCTION_LIST {
    let mut list = null_mut();
    // SAFETY: `list` is a place for a pointer.
    assert_eq!(unsafe { selvedge_pkcs11::C_GetFunctionList(&mut list) }, CKR_OK);
    // SAFETY: the list is a static.
    unsafe { &*list }
}

fn session() -> CK_SESSION_HANDLE {
    let mut session = 0;
    let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
    assert_eq!(call!(C_OpenSession(0, flags, null_mut(), None, &mut session)), CKR_OK);
    session
}

fn attribute<T>(type_: CK_ATTRIBUTE_TYPE, value: &T) -> CK_ATTRIBUTE {
    let value_bytes = size_of_val(value) as CK_ULONG;
    CK_ATTRIBUTE { type_, pValue: std::ptr::from_ref(value).cast_mut().cast(), ulValueLen: value_bytes }
}

fn mechanism<T>(mechanism: CK_MECHANISM_TYPE, parameter: Option<&mut T>) -> CK_MECHANISM {
    let bytes = if parameter.is_some() { size_of::<T>() as CK_ULONG } else { 0 };
    let parameter = parameter.map_or(null_mut(), |parameter| std::ptr::from_mut(parameter).cast());
    CK_MECHANISM { mechanism, pParameter: parameter, ulParameterLen: bytes }
}

fn generate(
    session: CK_SESSION_HANDLE,
    kind: CK_MECHANISM_TYPE,
    uses: &[CK_ATTRIBUTE_TYPE],
) -> CK_OBJECT_HANDLE {
    let length: CK_ULONG = 32;
    let mut template = vec![attribute(CKA_VALUE_LEN, &length)];
    template.extend(uses.iter().map(|usage| attribute(*usage, &CK_TRUE)));
    let mut key = 0;
    let count = template.len() as CK_ULONG;
    let mut kind = mechanism::<u8>(kind, None);
    assert_eq!(call!(C_GenerateKey(session, &mut kind, template.as_mut_ptr(), count, &mut key)), CKR_OK);
    key
}

#[test]
fn the_module_exports_one_function_and_depends_on_no_cipher() {
    if has("nm", "scripts/install.sh installs binutils") {
        let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(module()).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let names: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
        assert_eq!(names, ["C_GetFunctionList"]);
    }
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "-p", "selvedge-pkcs11", "-e", "normal", "--prefix", "none"])
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("cryptoki-sys"), "{tree}");
    for word in ["aes", "aws-lc", "ring ", "sha2", "cipher", "rsa", "tokio", "openssl"] {
        let found = tree.lines().find(|line| line.starts_with(word));
        assert_eq!(found, None, "the module has a cipher or a runtime in it");
    }
}

/// One test, since what is initialised is the process.
#[test]
fn the_module_keeps_its_word_to_c() {
    let running = Running::start();
    assert_eq!(call!(C_Finalize(null_mut())), CKR_CRYPTOKI_NOT_INITIALIZED);
    // SAFETY: the other test of this process reads no variable that is set here.
    unsafe { std::env::set_var("SELVEDGE_BROKER", &running.socket) };
    let mut arguments = CK_C_INITIALIZE_ARGS { flags: CKF_OS_LOCKING_OK, ..Default::default() };
    assert_eq!(call!(C_Initialize((&raw mut arguments).cast())), CKR_OK);
    assert_eq!(call!(C_Initialize(null_mut())), CKR_CRYPTOKI_ALREADY_INITIALIZED);
    nothing_is_where_null_points();
    a_buffer_that_is_too_small_loses_nothing();
    gcm_opens_what_it_sealed_and_nothing_else();
    keys_leave_only_wrapped();
    two_sides_derive_the_same_keys();
    a_key_that_is_not_the_tokens_dies_with_its_session();
    threads_have_sessions_of_their_own();
    a_child_is_not_initialised_and_can_be();
    assert_eq!(call!(C_CloseAllSessions(0)), CKR_OK);
    assert_eq!(call!(C_Finalize(null_mut())), CKR_OK);
    assert_eq!(call!(C_CloseAllSessions(0)), CKR_CRYPTOKI_NOT_INITIALIZED);
    drop(running);
    assert_eq!(call!(C_Initialize(null_mut())), CKR_OK);
    let (mut count, mut info) = (7, CK_TOKEN_INFO::default());
    assert_eq!(call!(C_GetSlotList(CK_TRUE, null_mut(), &mut count)), CKR_OK);
    assert_eq!(
        (count, call!(C_GetTokenInfo(0, &mut info))),
        (0, CKR_TOKEN_NOT_PRESENT),
        "no broker, no token"
    );
    assert_eq!(call!(C_Finalize(null_mut())), CKR_OK);
}

fn nothing_is_where_null_points() {
    let session = session();
    // SAFETY: null is no place.
    assert_eq!(unsafe { selvedge_pkcs11::C_GetFunctionList(null_mut()) }, CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_GetInfo(null_mut())), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_GetTokenInfo(0, null_mut())), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_OpenSession(0, CKF_SERIAL_SESSION, null_mut(), None, null_mut())), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_FindObjectsInit(session, null_mut(), 1)), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_GenerateRandom(session, null_mut(), 1)), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_GenerateRandom(session, null_mut(), CK_ULONG::MAX)), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_DigestUpdate(session, null_mut(), 0)), CKR_OPERATION_NOT_INITIALIZED);
    let mut sha = mechanism::<u8>(CKM_SHA256, None);
    assert_eq!(call!(C_DigestInit(session, &mut sha)), CKR_OK);
    assert_eq!(call!(C_DigestInit(session, &mut sha)), CKR_OPERATION_ACTIVE);
    assert_eq!(call!(C_DigestUpdate(session, null_mut(), 5)), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_DigestFinal(session, null_mut(), null_mut())), CKR_ARGUMENTS_BAD);
    let mut sha = CK_MECHANISM { ulParameterLen: CK_ULONG::MAX, ..mechanism::<u8>(CKM_SHA256, None) };
    assert_eq!(call!(C_SignInit(session, &mut sha, 1)), CKR_MECHANISM_INVALID);
    let mut cbc = CK_MECHANISM { ulParameterLen: CK_ULONG::MAX, ..mechanism::<u8>(CKM_AES_CBC, None) };
    assert_eq!(call!(C_EncryptInit(session, &mut cbc, 1)), CKR_ARGUMENTS_BAD);
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
    assert_eq!(call!(C_CloseSession(session)), CKR_SESSION_HANDLE_INVALID);
    assert_eq!(call!(C_GetSessionInfo(session, null_mut())), CKR_SESSION_HANDLE_INVALID);
}

fn a_buffer_that_is_too_small_loses_nothing() {
    let session = session();
    let key = generate(session, CKM_GENERIC_SECRET_KEY_GEN, &[CKA_SIGN, CKA_VERIFY]);
    let mut hmac = mechanism::<u8>(CKM_SHA256_HMAC, None);
    let mut message = *b"message";
    assert_eq!(call!(C_SignInit(session, &mut hmac, key)), CKR_OK);
    let (mut mac, mut length) = ([0; 32], 0);
    let (start, bytes) = (message.as_mut_ptr(), message.len() as CK_ULONG);
    assert_eq!(call!(C_Sign(session, start, bytes, null_mut(), &mut length)), CKR_OK);
    assert_eq!(length, 32);
    length = 31;
    assert_eq!(call!(C_Sign(session, start, bytes, mac.as_mut_ptr(), &mut length)), CKR_BUFFER_TOO_SMALL);
    assert_eq!((length, mac), (32, [0; 32]));
    assert_eq!(call!(C_Sign(session, start, bytes, mac.as_mut_ptr(), &mut length)), CKR_OK);
    assert_eq!(
        call!(C_Sign(session, start, bytes, mac.as_mut_ptr(), &mut length)),
        CKR_OPERATION_NOT_INITIALIZED
    );
    for (wrong, expected) in [(0, CKR_OK), (1, CKR_SIGNATURE_INVALID)] {
        mac[31] ^= wrong;
        assert_eq!(call!(C_VerifyInit(session, &mut hmac, key)), CKR_OK);
        assert_eq!(call!(C_VerifyUpdate(session, start, 3)), CKR_OK);
        assert_eq!(call!(C_VerifyUpdate(session, start.wrapping_add(3), bytes - 3)), CKR_OK);
        assert_eq!(call!(C_VerifyFinal(session, mac.as_mut_ptr(), 32)), expected);
    }
    assert_eq!(call!(C_SignInit(session, &mut hmac, key + 1000)), CKR_KEY_HANDLE_INVALID);
    let mut cmac = mechanism::<u8>(CKM_AES_CMAC, None);
    assert_eq!(call!(C_SignInit(session, &mut cmac, key)), CKR_KEY_TYPE_INCONSISTENT);
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
}

fn gcm_opens_what_it_sealed_and_nothing_else() {
    let session = session();
    let key = generate(session, CKM_AES_KEY_GEN, &[CKA_ENCRYPT, CKA_DECRYPT]);
    let (mut iv, mut beside, mut message) = ([9u8; 12], *b"beside", *b"the message");
    let mut parameter = CK_GCM_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: beside.as_mut_ptr(),
        ulAADLen: beside.len() as CK_ULONG,
        ulTagBits: 128,
    };
    let mut gcm = mechanism(CKM_AES_GCM, Some(&mut parameter));
    let (mut sealed, mut length) = ([0u8; 64], 64);
    assert_eq!(call!(C_EncryptInit(session, &mut gcm, key)), CKR_OK);
    let encrypted = call!(C_Encrypt(session, message.as_mut_ptr(), 11, sealed.as_mut_ptr(), &mut length));
    assert_eq!((encrypted, length), (CKR_OK, 27));
    for (wrong, expected) in [(0, CKR_OK), (1, CKR_ENCRYPTED_DATA_INVALID)] {
        sealed[0] ^= wrong;
        let (mut opened, mut parts, mut last) = ([0u8; 64], 64, 64);
        assert_eq!(call!(C_DecryptInit(session, &mut gcm, key)), CKR_OK);
        let updated =
            call!(C_DecryptUpdate(session, sealed.as_mut_ptr(), 27, opened.as_mut_ptr(), &mut parts));
        assert_eq!((updated, parts, opened), (CKR_OK, 0, [0; 64]), "nothing before the tag was compared");
        assert_eq!(call!(C_DecryptFinal(session, opened.as_mut_ptr(), &mut last)), expected);
        assert_eq!(&opened[..11] == b"the message", expected == CKR_OK);
    }
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
}

fn keys_leave_only_wrapped() {
    let session = session();
    let wrapping = generate(session, CKM_AES_KEY_GEN, &[CKA_WRAP, CKA_UNWRAP]);
    let key = generate(session, CKM_AES_KEY_GEN, &[CKA_ENCRYPT, CKA_EXTRACTABLE]);
    let kept = generate(session, CKM_AES_KEY_GEN, &[CKA_ENCRYPT]);
    let (mut value, mut length) = ([0u8; 64], 64);
    let mut asked = CK_ATTRIBUTE { type_: CKA_VALUE, pValue: value.as_mut_ptr().cast(), ulValueLen: 64 };
    assert_eq!(call!(C_GetAttributeValue(session, key, &mut asked, 1)), CKR_ATTRIBUTE_SENSITIVE);
    assert_eq!(asked.ulValueLen, CK_UNAVAILABLE_INFORMATION);
    let mut kwp = mechanism::<u8>(CKM_AES_KEY_WRAP_KWP, None);
    let wrapped = call!(C_WrapKey(session, &mut kwp, wrapping, kept, value.as_mut_ptr(), &mut length));
    assert_eq!((wrapped, value), (CKR_KEY_UNEXTRACTABLE, [0; 64]));
    let wrapped = call!(C_WrapKey(session, &mut kwp, wrapping, key, value.as_mut_ptr(), &mut length));
    assert_eq!((wrapped, length), (CKR_OK, 40));
    let (class, kind) = (CKO_SECRET_KEY, CKK_AES);
    let mut template = [attribute(CKA_CLASS, &class), attribute(CKA_KEY_TYPE, &kind)];
    for (wrong, expected) in [(1, CKR_WRAPPED_KEY_INVALID), (1, CKR_OK)] {
        value[3] ^= wrong;
        let (mut again, template) = (0, template.as_mut_ptr());
        let unwrapped =
            call!(C_UnwrapKey(session, &mut kwp, wrapping, value.as_mut_ptr(), 40, template, 2, &mut again));
        assert_eq!(unwrapped, expected);
    }
    assert_eq!(call!(C_DestroyObject(session, key)), CKR_OK);
    assert_eq!(call!(C_DestroyObject(session, key)), CKR_OBJECT_HANDLE_INVALID);
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
}

/// A pair's private half, and its point.
fn pair(session: CK_SESSION_HANDLE) -> (CK_OBJECT_HANDLE, [u8; 67]) {
    const P256: [u8; 10] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    let (mut public, mut private, mut point) = (0, 0, [0u8; 67]);
    let (mut curve, mut derives) = ([attribute(CKA_EC_PARAMS, &P256)], [attribute(CKA_DERIVE, &CK_TRUE)]);
    let mut kind = mechanism::<u8>(CKM_EC_KEY_PAIR_GEN, None);
    let (curve, derives) = (curve.as_mut_ptr(), derives.as_mut_ptr());
    let made = call!(C_GenerateKeyPair(session, &mut kind, curve, 1, derives, 1, &mut public, &mut private));
    assert_eq!(made, CKR_OK);
    let mut asked = CK_ATTRIBUTE { type_: CKA_EC_POINT, pValue: point.as_mut_ptr().cast(), ulValueLen: 67 };
    assert_eq!(call!(C_GetAttributeValue(session, public, &mut asked, 1)), CKR_OK);
    (private, point)
}

/// A key made with a mechanism from a base key, of this type and length.
fn derived<T>(
    session: CK_SESSION_HANDLE,
    (kind, parameter): (CK_MECHANISM_TYPE, &mut T),
    base: CK_OBJECT_HANDLE,
    key_type: CK_KEY_TYPE,
) -> Result<CK_OBJECT_HANDLE, CK_RV> {
    let length: CK_ULONG = 32;
    let mut template = [attribute(CKA_KEY_TYPE, &key_type), attribute(CKA_VALUE_LEN, &length)];
    let (mut kind, mut key) = (mechanism(kind, Some(parameter)), 0);
    match call!(C_DeriveKey(session, &mut kind, base, template.as_mut_ptr(), 2, &mut key)) {
        CKR_OK => Ok(key),
        rv => Err(rv),
    }
}

/// With the other's point, in an octet string or not, and HKDF; nobody sees what they share.
fn two_sides_derive_the_same_keys() {
    let session = session();
    let pairs = [pair(session), pair(session)];
    let mut macs = Vec::new();
    for (own, other, bare) in [(0, 1, 0), (1, 0, 2), (0, 0, 0)] {
        let mut point = pairs[other].1;
        let mut ecdh = CK_ECDH1_DERIVE_PARAMS {
            kdf: CKD_NULL,
            ulSharedDataLen: 0,
            pSharedData: null_mut(),
            ulPublicDataLen: (point.len() - bare) as CK_ULONG,
            pPublicData: point[bare..].as_mut_ptr(),
        };
        let private = pairs[own].0;
        // Without a word about it a secret is not told, and it is no key of a cipher.
        let told = derived(session, (CKM_ECDH1_DERIVE, &mut ecdh), private, CKK_GENERIC_SECRET);
        assert_eq!(told, Err(CKR_TEMPLATE_INCONSISTENT));
        let shared = derived(session, (CKM_ECDH1_DERIVE, &mut ecdh), private, CKK_HKDF).unwrap();
        let mut asked = CK_ATTRIBUTE { type_: CKA_VALUE, pValue: null_mut(), ulValueLen: 0 };
        assert_eq!(call!(C_GetAttributeValue(session, shared, &mut asked, 1)), CKR_ATTRIBUTE_SENSITIVE);
        let (mut salt, mut info) = (*b"salt", *b"info");
        let mut hkdf = CK_HKDF_PARAMS {
            bExtract: CK_TRUE,
            bExpand: CK_TRUE,
            prfHashMechanism: CKM_SHA256,
            ulSaltType: CKF_HKDF_SALT_DATA,
            pSalt: salt.as_mut_ptr(),
            ulSaltLen: 4,
            hSaltKey: 0,
            pInfo: info.as_mut_ptr(),
            ulInfoLen: 4,
        };
        let from_pair = derived(session, (CKM_HKDF_DERIVE, &mut hkdf), private, CKK_GENERIC_SECRET);
        assert_eq!(from_pair, Err(CKR_KEY_TYPE_INCONSISTENT));
        let key = derived(session, (CKM_HKDF_DERIVE, &mut hkdf), shared, CKK_GENERIC_SECRET).unwrap();
        let (mut hmac, mut mac, mut length) = (mechanism::<u8>(CKM_SHA256_HMAC, None), [0u8; 32], 32);
        assert_eq!(call!(C_SignInit(session, &mut hmac, key)), CKR_OK);
        assert_eq!(call!(C_Sign(session, info.as_mut_ptr(), 4, mac.as_mut_ptr(), &mut length)), CKR_OK);
        macs.push(mac);
        hkdf.bExtract = CK_FALSE;
        let halved = derived(session, (CKM_HKDF_DERIVE, &mut hkdf), shared, CKK_AES);
        assert_eq!(halved, Err(CKR_MECHANISM_PARAM_INVALID));
        hkdf.bExtract = CK_TRUE;
        derived(session, (CKM_HKDF_DERIVE, &mut hkdf), shared, CKK_AES).unwrap();
        point[66] ^= 1;
        ecdh.pPublicData = point[bare..].as_mut_ptr();
        let nowhere = derived(session, (CKM_ECDH1_DERIVE, &mut ecdh), private, CKK_HKDF);
        assert_eq!(nowhere, Err(CKR_MECHANISM_PARAM_INVALID), "this point is not on the curve");
    }
    assert!(macs[0] == macs[1] && macs[0] != macs[2]);
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
}

fn a_key_that_is_not_the_tokens_dies_with_its_session() {
    let (one, other) = (session(), session());
    let key = generate(one, CKM_GENERIC_SECRET_KEY_GEN, &[CKA_SIGN]);
    let mut hmac = mechanism::<u8>(CKM_SHA256_HMAC, None);
    assert_eq!(call!(C_SignInit(other, &mut hmac, key)), CKR_OK, "until then any session has it");
    assert_eq!(call!(C_CloseSession(one)), CKR_OK);
    let (mut message, mut mac, mut length) = (*b"message", [0; 32], 32);
    let signed = call!(C_Sign(other, message.as_mut_ptr(), 7, mac.as_mut_ptr(), &mut length));
    assert_eq!(signed, CKR_KEY_HANDLE_INVALID);
    assert_eq!(call!(C_SignInit(other, &mut hmac, key)), CKR_KEY_HANDLE_INVALID);
    assert_eq!(call!(C_CloseSession(other)), CKR_OK);
}

fn threads_have_sessions_of_their_own() {
    thread::scope(|scope| {
        for number in 0..16u8 {
            scope.spawn(move || {
                let session = session();
                let mut sha = mechanism::<u8>(CKM_SHA512, None);
                let mut message = [number; 1000];
                let mut digests = Vec::new();
                for cut in [1, 500, 999] {
                    let (mut digest, mut length, start) = ([0u8; 64], 64, message.as_mut_ptr());
                    assert_eq!(call!(C_DigestInit(session, &mut sha)), CKR_OK);
                    assert_eq!(call!(C_DigestUpdate(session, start, cut)), CKR_OK);
                    assert_eq!(
                        call!(C_DigestUpdate(session, start.wrapping_add(cut as usize), 1000 - cut)),
                        CKR_OK
                    );
                    assert_eq!(call!(C_DigestFinal(session, digest.as_mut_ptr(), &mut length)), CKR_OK);
                    digests.push(digest);
                }
                assert!(digests.iter().all(|digest| *digest == digests[0]));
                assert_eq!(call!(C_CloseSession(session)), CKR_OK);
            });
        }
    });
}

fn a_child_is_not_initialised_and_can_be() {
    let session = session();
    // SAFETY: the child calls the module alone, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut random = [0; 8];
        let first = call!(C_GenerateRandom(session, random.as_mut_ptr(), 8)) == CKR_CRYPTOKI_NOT_INITIALIZED
            && call!(C_Finalize(null_mut())) == CKR_CRYPTOKI_NOT_INITIALIZED;
        let mut own = 0;
        let second = call!(C_Initialize(null_mut())) == CKR_OK
            && call!(C_OpenSession(0, CKF_SERIAL_SESSION, null_mut(), None, &mut own)) == CKR_OK
            && call!(C_GenerateRandom(own, random.as_mut_ptr(), 8)) == CKR_OK;
        // SAFETY: no destructor of the parent's may run here.
        unsafe { libc::_exit(i32::from(!first) + 2 * i32::from(!second)) };
    }
    let mut ended = 0;
    // SAFETY: `ended` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
    assert_eq!(ended, 0, "the child was not told, or could not begin");
    let mut random = [0; 8];
    assert_eq!(call!(C_GenerateRandom(session, random.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(call!(C_CloseSession(session)), CKR_OK);
}
