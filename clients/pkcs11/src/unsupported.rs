//! The functions that are in the list because PKCS#11 wants all of them there, and that the device has nothing for.
#![allow(unsafe_code)]

use cryptoki_sys::*;

type Session = CK_SESSION_HANDLE;
type Bytes = *mut CK_BYTE;
type Length = *mut CK_ULONG;

/// Each refuses.
macro_rules! refused {
    ($($name:ident($($type:ty),*))*) => {
        $(pub unsafe extern "C" fn $name($(_: $type),*) -> CK_RV {
            crate::abi::guard(|| Err(CKR_FUNCTION_NOT_SUPPORTED))
        })*
    };
}

refused! {
    init_token(CK_SLOT_ID, Bytes, CK_ULONG, Bytes)
    init_pin(Session, Bytes, CK_ULONG)
    set_pin(Session, Bytes, CK_ULONG, Bytes, CK_ULONG)
    get_state(Session, Bytes, Length)
    set_state(Session, Bytes, CK_ULONG, CK_OBJECT_HANDLE, CK_OBJECT_HANDLE)
    copy(Session, CK_OBJECT_HANDLE, *mut CK_ATTRIBUTE, CK_ULONG, *mut CK_OBJECT_HANDLE)
    digest_key(Session, CK_OBJECT_HANDLE)
    recover_init(Session, *mut CK_MECHANISM, CK_OBJECT_HANDLE)
    both(Session, Bytes, CK_ULONG, Bytes, Length)
    wait_for_slot_event(CK_FLAGS, *mut CK_SLOT_ID, *mut ::std::os::raw::c_void)
}
