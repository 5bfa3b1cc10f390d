//! Kryoptic's functions as a module exports them: those that lead to all others.

use kryoptic_lib::fns::general;
use kryoptic_lib::pkcs11::{
    CK_FLAGS, CK_FUNCTION_LIST_PTR_PTR, CK_INTERFACE_PTR, CK_INTERFACE_PTR_PTR, CK_RV, CK_ULONG_PTR,
    CK_UTF8CHAR_PTR, CK_VERSION_PTR,
};

/// The functions of PKCS#11 2.40.
#[unsafe(no_mangle)]
pub extern "C" fn C_GetFunctionList(list: CK_FUNCTION_LIST_PTR_PTR) -> CK_RV {
    general::fn_get_function_list(list)
}

/// The functions of one version.
#[unsafe(no_mangle)]
pub extern "C" fn C_GetInterface(
    name: CK_UTF8CHAR_PTR,
    version: CK_VERSION_PTR,
    interface: CK_INTERFACE_PTR_PTR,
    flags: CK_FLAGS,
) -> CK_RV {
    general::fn_get_interface(name, version, interface, flags)
}

/// All versions.
#[unsafe(no_mangle)]
pub extern "C" fn C_GetInterfaceList(interfaces: CK_INTERFACE_PTR, count: CK_ULONG_PTR) -> CK_RV {
    general::fn_get_interface_list(interfaces, count)
}
