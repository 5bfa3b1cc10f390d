//! A PKCS#11 module whose token is the device behind a broker.
//!
//! `C_GetFunctionList` is all that is exported; it leads to everything else. `abi` is where C calls in, `module` what is
//! initialised, `general` slots, token and sessions, `session` and `message` the work on messages, `mechanism` the table
//! of mechanisms, `keys`, `derive` and `object` the keys, `der` the bytes that PKCS#11 has some of them in. There is no cipher here,
//! no thread, and no key: what is asked for goes to the broker at `$SELVEDGE_BROKER`.
//!
//! Invariant: no panic crosses into C, and no pointer is used that is null or whose length is over a limit.
#![allow(unsafe_code)]

mod abi;
mod der;
mod derive;
mod general;
mod keys;
mod mechanism;
mod message;
mod module;
mod object;
mod session;
mod unsupported;

use cryptoki_sys::*;

/// What of PKCS#11 is spoken: EdDSA is 3.0's, the list of functions is as old as 2.40.
const CRYPTOKI: CK_VERSION = CK_VERSION { major: 2, minor: 40 };

abi::entries! {
    fn function_list(list: *mut *mut CK_FUNCTION_LIST) {
        *abi::trust!(abi::out(list))? = (&raw const FUNCTIONS).cast_mut();
        Ok(())
    }
}

/// Gives the list of functions.
///
/// # Safety
/// `list` is null or a place for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetFunctionList(list: *mut *mut CK_FUNCTION_LIST) -> CK_RV {
    // SAFETY: the caller's promise is the same.
    unsafe { function_list(list) }
}

static FUNCTIONS: CK_FUNCTION_LIST = CK_FUNCTION_LIST {
    version: CRYPTOKI,
    C_Initialize: Some(general::initialize),
    C_Finalize: Some(general::finalize),
    C_GetInfo: Some(general::info),
    C_GetFunctionList: Some(C_GetFunctionList),
    C_GetSlotList: Some(general::slot_list),
    C_GetSlotInfo: Some(general::slot_info),
    C_GetTokenInfo: Some(general::token_info),
    C_GetMechanismList: Some(general::mechanism_list),
    C_GetMechanismInfo: Some(general::mechanism_info),
    C_InitToken: Some(unsupported::init_token),
    C_InitPIN: Some(unsupported::init_pin),
    C_SetPIN: Some(unsupported::set_pin),
    C_OpenSession: Some(general::open_session),
    C_CloseSession: Some(general::close_session),
    C_CloseAllSessions: Some(general::close_all_sessions),
    C_GetSessionInfo: Some(general::session_info),
    C_GetOperationState: Some(unsupported::get_state),
    C_SetOperationState: Some(unsupported::set_state),
    C_Login: Some(general::login),
    C_Logout: Some(general::logout),
    C_CreateObject: Some(keys::create),
    C_CopyObject: Some(unsupported::copy),
    C_DestroyObject: Some(keys::destroy),
    C_GetObjectSize: Some(keys::size),
    C_GetAttributeValue: Some(keys::attributes),
    C_SetAttributeValue: Some(keys::set),
    C_FindObjectsInit: Some(keys::find_init),
    C_FindObjects: Some(keys::find),
    C_FindObjectsFinal: Some(keys::find_final),
    C_EncryptInit: Some(message::encrypt_init),
    C_Encrypt: Some(message::encrypt),
    C_EncryptUpdate: Some(message::encrypt_update),
    C_EncryptFinal: Some(message::encrypt_final),
    C_DecryptInit: Some(message::decrypt_init),
    C_Decrypt: Some(message::decrypt),
    C_DecryptUpdate: Some(message::decrypt_update),
    C_DecryptFinal: Some(message::decrypt_final),
    C_DigestInit: Some(message::digest_init),
    C_Digest: Some(message::digest),
    C_DigestUpdate: Some(message::digest_update),
    C_DigestKey: Some(unsupported::digest_key),
    C_DigestFinal: Some(message::digest_final),
    C_SignInit: Some(message::sign_init),
    C_Sign: Some(message::sign),
    C_SignUpdate: Some(message::sign_update),
    C_SignFinal: Some(message::sign_final),
    C_SignRecoverInit: Some(unsupported::recover_init),
    C_SignRecover: Some(unsupported::both),
    C_VerifyInit: Some(message::verify_init),
    C_Verify: Some(message::verify),
    C_VerifyUpdate: Some(message::verify_update),
    C_VerifyFinal: Some(message::verify_final),
    C_VerifyRecoverInit: Some(unsupported::recover_init),
    C_VerifyRecover: Some(unsupported::both),
    C_DigestEncryptUpdate: Some(unsupported::both),
    C_DecryptDigestUpdate: Some(unsupported::both),
    C_SignEncryptUpdate: Some(unsupported::both),
    C_DecryptVerifyUpdate: Some(unsupported::both),
    C_GenerateKey: Some(keys::generate),
    C_GenerateKeyPair: Some(keys::generate_pair),
    C_WrapKey: Some(keys::wrap),
    C_UnwrapKey: Some(keys::unwrap),
    C_DeriveKey: Some(derive::derive),
    C_SeedRandom: Some(message::seed),
    C_GenerateRandom: Some(message::random),
    C_GetFunctionStatus: Some(general::no_longer_parallel),
    C_CancelFunction: Some(general::no_longer_parallel),
    C_WaitForSlotEvent: Some(unsupported::wait_for_slot_event),
};
