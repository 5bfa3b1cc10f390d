//! What a status is called in other people's interfaces: PKCS#11's `CKR_` (PKCS#11 3.0, section 5.1) and a reason of
//! OpenSSL's error queue.
//!
//! Owns that table, for all clients. An interface that has more words for one status, such as PKCS#11 for a signature
//! that is none, chooses them where it knows what was asked.

use crate::wire::Status;

macro_rules! foreign {
    ($($status:ident $ckr:literal $name:literal)*) => {
        /// The status as a `CK_RV`.
        pub const fn ckr(status: Status) -> u32 {
            match status { $(Status::$status => $ckr,)* }
        }

        /// The name of that value in PKCS#11's header.
        pub const fn ckr_name(status: Status) -> &'static str {
            match status { $(Status::$status => $name,)* }
        }
    };
}

#[rustfmt::skip]
foreign! {
    Done               0x000  "CKR_OK"
    Malformed          0x030  "CKR_DEVICE_ERROR"
    Oversize           0x021  "CKR_DATA_LEN_RANGE"
    Version            0x0e1  "CKR_TOKEN_NOT_RECOGNIZED"
    UnknownOperation   0x054  "CKR_FUNCTION_NOT_SUPPORTED"
    WrongParameters    0x007  "CKR_ARGUMENTS_BAD"
    UnknownKey         0x060  "CKR_KEY_HANDLE_INVALID"
    Rejected           0x040  "CKR_ENCRYPTED_DATA_INVALID"
    DuplicateRequest   0x030  "CKR_DEVICE_ERROR"
    Busy               0x006  "CKR_FUNCTION_FAILED"
    ConnectionsFull    0x0b1  "CKR_SESSION_COUNT"
    Stopping           0x032  "CKR_DEVICE_REMOVED"
    DeviceUnavailable  0x0e0  "CKR_TOKEN_NOT_PRESENT"
    DeviceLost         0x032  "CKR_DEVICE_REMOVED"
    DeviceSilent       0x030  "CKR_DEVICE_ERROR"
    WireCorrupt        0x030  "CKR_DEVICE_ERROR"
    DeviceFault        0x030  "CKR_DEVICE_ERROR"
    WrongPurpose       0x068  "CKR_KEY_FUNCTION_NOT_PERMITTED"
    TooLate            0x050  "CKR_FUNCTION_CANCELED"
    NameTaken          0x0d1  "CKR_TEMPLATE_INCONSISTENT"
    DeviceFull         0x031  "CKR_DEVICE_MEMORY"
    UnknownContext     0x091  "CKR_OPERATION_NOT_INITIALIZED"
    WholeOnly          0x054  "CKR_FUNCTION_NOT_SUPPORTED"
    NotPermitted       0x101  "CKR_USER_NOT_LOGGED_IN"
    UnknownUser        0x103  "CKR_USER_TYPE_INVALID"
    StoreFull          0x031  "CKR_DEVICE_MEMORY"
}

/// The status as a reason of OpenSSL's error queue, and its text. A provider has reasons of its own, so this is the
/// status's number.
pub const fn openssl_reason(status: Status) -> (u32, &'static str) {
    (status.number() as u32, status.meaning())
}
