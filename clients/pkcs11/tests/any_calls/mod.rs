//! Any calls of the PKCS#11 module, in any order, as bytes say: with any numbers, and with buffers that are what they say or
//! null. It must answer each, and write nothing behind a buffer's end. A seeded test and a fuzz target bring the bytes.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr::null_mut;

use cryptoki_sys::*;

/// What lies behind every buffer.
const GUARD: [u8; 16] = [0xa5; 16];
const KINDS: [CK_MECHANISM_TYPE; 13] = [
    CKM_HKDF_KEY_GEN,
    CKM_SHA256,
    CKM_AES_KEY_GEN,
    CKM_AES_ECB,
    CKM_AES_CBC_PAD,
    CKM_AES_CTR,
    CKM_AES_CMAC,
    CKM_SHA256_HMAC,
    CKM_GENERIC_SECRET_KEY_GEN,
    CKM_EC_KEY_PAIR_GEN,
    CKM_ECDSA,
    CKM_EDDSA,
    CKM_AES_KEY_WRAP_KWP,
];
const ATTRIBUTES: [CK_ATTRIBUTE_TYPE; 12] = [
    CKA_CLASS,
    CKA_KEY_TYPE,
    CKA_VALUE_LEN,
    CKA_VALUE,
    CKA_LABEL,
    CKA_ID,
    CKA_ENCRYPT,
    CKA_SIGN,
    CKA_EC_PARAMS,
    CKA_TOKEN,
    CKA_MODULUS,
    CKA_EC_POINT,
];
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];

/// The module's functions. It finds its broker by the environment.
fn functions() -> &'static CK_FUNCTION_LIST {
    let mut list = null_mut();
    // SAFETY: `list` is a place for a pointer, and what it leads to is a static.
    unsafe {
        assert_eq!(selvedge_pkcs11::C_GetFunctionList(&mut list), CKR_OK);
        &*list
    }
}

/// What the input says next.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A small number that is often one of a session or an object.
    fn handle(&mut self) -> CK_ULONG {
        (self.byte() % 8).into()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let count = usize::from(self.byte() % 70).min(self.0.len());
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken.to_vec()
    }

    fn mechanism(&mut self, parameter: &mut Vec<u8>) -> CK_MECHANISM {
        *parameter = self.bytes();
        CK_MECHANISM {
            mechanism: KINDS[usize::from(self.byte()) % KINDS.len()],
            pParameter: parameter.as_mut_ptr().cast(),
            ulParameterLen: parameter.len() as CK_ULONG,
        }
    }

    /// Attributes, often such as make sense.
    fn template(&mut self, values: &mut Vec<Vec<u8>>) -> Vec<CK_ATTRIBUTE> {
        let kinds: Vec<_> =
            (0..self.byte() % 6).map(|_| ATTRIBUTES[usize::from(self.byte()) % ATTRIBUTES.len()]).collect();
        *values = kinds
            .iter()
            .map(|kind| match (*kind, self.byte() % 4) {
                (_, 0) => self.bytes(),
                (CKA_CLASS | CKA_KEY_TYPE | CKA_VALUE_LEN, _) => {
                    CK_ULONG::from(self.byte() % 70).to_ne_bytes().to_vec()
                }
                (CKA_EC_PARAMS, _) => P256.to_vec(),
                (CKA_ENCRYPT | CKA_SIGN | CKA_TOKEN, truth) => vec![truth % 2],
                _ => vec![7; 32],
            })
            .collect();
        let attribute = |(kind, value): (&CK_ATTRIBUTE_TYPE, &mut Vec<u8>)| CK_ATTRIBUTE {
            type_: *kind,
            pValue: value.as_mut_ptr().cast(),
            ulValueLen: value.len() as CK_ULONG,
        };
        kinds.iter().zip(values).map(attribute).collect()
    }
}

/// A buffer with a guard behind it, and its length.
struct Place(Vec<u8>, CK_ULONG);

impl Place {
    fn new(input: &mut Input<'_>) -> Place {
        let room = usize::from(input.byte());
        Place([&vec![0; room][..], &GUARD].concat(), room as CK_ULONG)
    }

    fn start(&mut self) -> *mut u8 {
        if self.0.len() == GUARD.len() { null_mut() } else { self.0.as_mut_ptr() }
    }

    fn check(&self) {
        assert!(self.0.ends_with(&GUARD), "it wrote behind the end");
    }
}

macro_rules! call {
    ($function:ident($($argument:expr),*)) => {{
        // SAFETY: every pointer is null, or to what the input's value owns, with its length.
        let rv: CK_RV = unsafe { functions().$function.expect("the list is full")($($argument),*) };
        assert_ne!(rv, CKR_GENERAL_ERROR, "a panic was stopped");
    }};
}

fn step(input: &mut Input<'_>) {
    let (mut values, mut parameter, mut object, mut other) = (Vec::new(), Vec::new(), 0, 0);
    let (which, session, key) = (input.byte() % 24, input.handle(), input.handle());
    let mut message = input.bytes();
    let mut place = Place::new(input);
    let (start, bytes) = (message.as_mut_ptr(), message.len() as CK_ULONG);
    let mut mechanism = input.mechanism(&mut parameter);
    let mut template = input.template(&mut values);
    let (attributes, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
    match which {
        0 => call!(C_OpenSession(0, CKF_SERIAL_SESSION, null_mut::<c_void>(), None, &mut object)),
        1 => call!(C_CloseSession(session)),
        2 => call!(C_GenerateKey(session, &mut mechanism, attributes, count, &mut object)),
        3 => call!(C_GenerateKeyPair(
            session,
            &mut mechanism,
            attributes,
            count,
            attributes,
            count,
            &mut object,
            &mut other
        )),
        4 => call!(C_CreateObject(session, attributes, count, &mut object)),
        5 => call!(C_FindObjectsInit(session, attributes, count)),
        6 => call!(C_FindObjects(session, &mut object, 1, &mut other)),
        7 => call!(C_FindObjectsFinal(session)),
        8 => call!(C_GetAttributeValue(session, key, attributes, count)),
        9 => call!(C_EncryptInit(session, &mut mechanism, key)),
        10 => call!(C_Encrypt(session, start, bytes, place.start(), &mut place.1)),
        11 => call!(C_EncryptUpdate(session, start, bytes, place.start(), &mut place.1)),
        12 => call!(C_EncryptFinal(session, place.start(), &mut place.1)),
        13 => call!(C_DecryptInit(session, &mut mechanism, key)),
        14 => call!(C_Decrypt(session, start, bytes, place.start(), &mut place.1)),
        15 => call!(C_DigestInit(session, &mut mechanism)),
        16 => call!(C_DigestUpdate(session, start, bytes)),
        17 => call!(C_DigestFinal(session, place.start(), &mut place.1)),
        18 => call!(C_SignInit(session, &mut mechanism, key)),
        19 => call!(C_Sign(session, start, bytes, place.start(), &mut place.1)),
        20 => call!(C_WrapKey(session, &mut mechanism, key, key, place.start(), &mut place.1)),
        21 | 22 => derive(input.byte(), session, key, &mut message, (attributes, count)),
        _ => call!(C_UnwrapKey(session, &mut mechanism, key, start, bytes, attributes, count, &mut object)),
    }
    place.check();
}

/// A derivation, whose parameter points to what it says.
fn derive(
    choice: u8,
    session: CK_SESSION_HANDLE,
    base: CK_OBJECT_HANDLE,
    message: &mut [u8],
    (attributes, count): (*mut CK_ATTRIBUTE, CK_ULONG),
) {
    let (start, bytes) = (message.as_mut_ptr(), message.len() as CK_ULONG);
    let mut ecdh = CK_ECDH1_DERIVE_PARAMS {
        kdf: CK_ULONG::from(choice >> 4 & 1) + CKD_NULL,
        ulSharedDataLen: 0,
        pSharedData: null_mut(),
        ulPublicDataLen: bytes,
        pPublicData: start,
    };
    let mut hkdf = CK_HKDF_PARAMS {
        bExtract: CK_TRUE,
        bExpand: choice >> 4 & 1,
        prfHashMechanism: CKM_SHA256,
        ulSaltType: CK_ULONG::from(choice >> 5),
        pSalt: start,
        ulSaltLen: bytes,
        hSaltKey: base,
        pInfo: start,
        ulInfoLen: bytes,
    };
    let (mechanism, parameter, bytes) = match choice % 2 {
        0 => (CKM_ECDH1_DERIVE, (&raw mut ecdh).cast::<c_void>(), size_of_val(&ecdh)),
        _ => (CKM_HKDF_DERIVE, (&raw mut hkdf).cast(), size_of_val(&hkdf)),
    };
    let mut mechanism = CK_MECHANISM { mechanism, pParameter: parameter, ulParameterLen: bytes as CK_ULONG };
    call!(C_DeriveKey(session, &mut mechanism, base, attributes, count, &mut 0));
}

/// Everything that the bytes say.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    call!(C_Initialize(null_mut::<c_void>()));
    call!(C_OpenSession(0, CKF_SERIAL_SESSION | CKF_RW_SESSION, null_mut::<c_void>(), None, &mut 0));
    while !input.0.is_empty() {
        step(&mut input);
    }
    call!(C_Finalize(null_mut::<c_void>()));
}
