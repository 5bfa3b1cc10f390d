//! The functions around the work: the module, its one slot, its token, sessions, logging in.
//!
//! There is one slot, number 0; a token is in it while the broker answers. Any PIN is right, since whose the keys are says
//! the kernel, which tells the broker who connected.
#![allow(unsafe_code)]

use broker::client::call::Info;
use cryptoki_sys::*;

use crate::abi::{Done, entries, items, out, trust};
use crate::mechanism::{TABLE, row};
use crate::module::{self, Module, lock};

const SLOT: CK_SLOT_ID = 0;
const MAKER: &str = "Selvedge";
/// The library's version, the crate's.
const VERSION: CK_VERSION = CK_VERSION { major: 0, minor: 1 };

/// Text as PKCS#11 has it: padded with blanks, not ended.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [b' '; N];
    let length = text.len().min(N);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

fn slot(slot: CK_SLOT_ID) -> Done<&'static Module> {
    let module = Module::get()?;
    if slot == SLOT { Ok(module) } else { Err(CKR_SLOT_ID_INVALID) }
}

entries! {
    fn initialize(arguments: *mut ::std::os::raw::c_void) {
        if !arguments.is_null() {
            let arguments = &trust!(items(arguments.cast::<CK_C_INITIALIZE_ARGS>().cast_const(), 1))?[0];
            let given = [
                arguments.CreateMutex.is_some(), arguments.DestroyMutex.is_some(), arguments.LockMutex.is_some(),
                arguments.UnlockMutex.is_some(),
            ];
            let is_locking_ours = arguments.flags & CKF_OS_LOCKING_OK != 0;
            if !arguments.pReserved.is_null() || given.iter().any(|one| *one != given[0]) {
                return Err(CKR_ARGUMENTS_BAD);
            }
            if given[0] && !is_locking_ours {
                return Err(CKR_CANT_LOCK);
            }
        }
        module::initialise()
    }

    fn finalize(reserved: *mut ::std::os::raw::c_void) {
        if !reserved.is_null() {
            return Err(CKR_ARGUMENTS_BAD);
        }
        module::finalise()
    }

    fn info(info: *mut CK_INFO) {
        Module::get()?;
        *trust!(out(info))? = CK_INFO {
            cryptokiVersion: crate::CRYPTOKI,
            manufacturerID: padded(MAKER),
            flags: 0,
            libraryDescription: padded("a device behind a broker"),
            libraryVersion: VERSION,
        };
        Ok(())
    }

    fn slot_list(is_present: CK_BBOOL, slots: *mut CK_SLOT_ID, count: *mut CK_ULONG) {
        let module = Module::get()?;
        let count = trust!(out(count))?;
        let found = CK_ULONG::from(is_present == CK_FALSE || module.call(&Info {}).is_ok());
        let room = std::mem::replace(count, found);
        if slots.is_null() || found == 0 {
            return Ok(());
        }
        if room < found {
            return Err(CKR_BUFFER_TOO_SMALL);
        }
        *trust!(out(slots))? = SLOT;
        Ok(())
    }

    fn slot_info(number: CK_SLOT_ID, info: *mut CK_SLOT_INFO) {
        let module = slot(number)?;
        let present = if module.call(&Info {}).is_ok() { CKF_TOKEN_PRESENT } else { 0 };
        *trust!(out(info))? = CK_SLOT_INFO {
            slotDescription: padded("Selvedge broker"),
            manufacturerID: padded(MAKER),
            flags: present | CKF_REMOVABLE_DEVICE,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
        };
        Ok(())
    }

    fn token_info(number: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) {
        let module = slot(number)?;
        let device = module.call(&Info {})?;
        let (sessions, _) = module.sessions()?;
        *trust!(out(info))? = CK_TOKEN_INFO {
            label: padded("selvedge"),
            manufacturerID: padded(MAKER),
            model: padded(device.name.strip_prefix("selvedge ").unwrap_or(&device.name)),
            serialNumber: padded("1"),
            flags: CKF_RNG | CKF_TOKEN_INITIALIZED | CKF_USER_PIN_INITIALIZED,
            ulMaxSessionCount: CK_EFFECTIVELY_INFINITE,
            ulSessionCount: sessions as CK_ULONG,
            ulMaxRwSessionCount: CK_EFFECTIVELY_INFINITE,
            ulRwSessionCount: CK_UNAVAILABLE_INFORMATION,
            ulMaxPinLen: 255,
            ulMinPinLen: 0,
            ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
            utcTime: [b'0'; 16],
        };
        Ok(())
    }

    fn mechanism_list(number: CK_SLOT_ID, list: *mut CK_MECHANISM_TYPE, count: *mut CK_ULONG) {
        slot(number)?;
        let count = trust!(out(count))?;
        let room = std::mem::replace(count, TABLE.len() as CK_ULONG);
        if list.is_null() {
            return Ok(());
        }
        if room < *count {
            return Err(CKR_BUFFER_TOO_SMALL);
        }
        for (index, row) in TABLE.iter().enumerate() {
            *trust!(out(list.wrapping_add(index)))? = row.0;
        }
        Ok(())
    }

    fn mechanism_info(number: CK_SLOT_ID, mechanism: CK_MECHANISM_TYPE, info: *mut CK_MECHANISM_INFO) {
        slot(number)?;
        let row = row(mechanism, 0)?;
        *trust!(out(info))? = CK_MECHANISM_INFO { ulMinKeySize: row.2, ulMaxKeySize: row.3, flags: CKF_HW | row.1 };
        Ok(())
    }

    fn open_session(
        number: CK_SLOT_ID, flags: CK_FLAGS, _application: *mut ::std::os::raw::c_void, _notify: CK_NOTIFY,
        session: *mut CK_SESSION_HANDLE,
    ) {
        let module = slot(number)?;
        if flags & CKF_SERIAL_SESSION == 0 {
            return Err(CKR_SESSION_PARALLEL_NOT_SUPPORTED);
        }
        let session = trust!(out(session))?;
        module.call(&Info {})?; // is there a token?
        *session = module.open(flags)?;
        Ok(())
    }

    fn close_session(session: CK_SESSION_HANDLE) {
        Module::get()?.close(Some(session))
    }

    fn close_all_sessions(number: CK_SLOT_ID) {
        slot(number)?.close(None)
    }

    fn session_info(session: CK_SESSION_HANDLE, info: *mut CK_SESSION_INFO) {
        let module = Module::get()?;
        let session = module.session(session)?;
        let flags = lock(&session).flags;
        let (_, is_logged_in) = module.sessions()?;
        let state = match (flags & CKF_RW_SESSION != 0, is_logged_in) {
            (true, true) => CKS_RW_USER_FUNCTIONS,
            (true, false) => CKS_RW_PUBLIC_SESSION,
            (false, true) => CKS_RO_USER_FUNCTIONS,
            (false, false) => CKS_RO_PUBLIC_SESSION,
        };
        *trust!(out(info))? = CK_SESSION_INFO { slotID: SLOT, state, flags, ulDeviceError: 0 };
        Ok(())
    }

    fn login(session: CK_SESSION_HANDLE, user: CK_USER_TYPE, _pin: *mut CK_BYTE, _length: CK_ULONG) {
        let module = Module::get()?;
        module.session(session)?;
        match user {
            CKU_USER => module.log(true),
            CKU_CONTEXT_SPECIFIC => Err(CKR_OPERATION_NOT_INITIALIZED),
            _ => Err(CKR_USER_TYPE_INVALID), // the operator is not told from others here
        }
    }

    fn logout(session: CK_SESSION_HANDLE) {
        let module = Module::get()?;
        module.session(session)?;
        module.log(false)
    }

    fn no_longer_parallel(_session: CK_SESSION_HANDLE) {
        Err(CKR_FUNCTION_NOT_PARALLEL)
    }
}
