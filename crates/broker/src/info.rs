//! What a device says about itself when it is opened.
//!
//! Owns the bytes of that answer; the core decides what follows from it.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::error::Fault;
use crate::limits::DEVICE_NAME_BYTES_MAX;
use crate::wire::check_bytes;

const FIXED_BYTES: usize = 16;

/// What a device says about itself, the payload of the answer to
/// [`Operation::Info`](crate::wire::Operation::Info):
///
/// ```text
///  0  4  payload_bytes_max   longest payload it takes
///  4  2  in_flight_max       requests it takes at a time
///  6  2  reserved            0
///  8  8  boot                random number of this start of the device
/// 16  n  name                UTF-8, at most 64 bytes
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Longest payload that the device takes.
    pub payload_bytes_max: u32,
    /// Requests that it takes at a time, at least 1.
    pub in_flight_max: u16,
    /// A random number of this start of the device.
    pub boot: u64,
    /// What it calls itself.
    pub name: String,
}

impl DeviceInfo {
    /// Longest payload that says what a device is.
    pub const BYTES_MAX: usize = FIXED_BYTES + DEVICE_NAME_BYTES_MAX;

    /// The payload that says this.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED_BYTES + self.name.len());
        bytes.extend(self.payload_bytes_max.to_le_bytes());
        bytes.extend(self.in_flight_max.to_le_bytes());
        bytes.extend([0; 2]);
        bytes.extend(self.boot.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes
    }

    /// What a payload says.
    ///
    /// # Errors
    /// [`Fault`], for each length and field that is not as drawn.
    pub fn parse(bytes: &[u8]) -> Result<DeviceInfo, Fault> {
        let short = Fault::Length { found_bytes: bytes.len(), expected_bytes: FIXED_BYTES };
        let (fixed, name) = bytes.split_at_checked(FIXED_BYTES).ok_or(short)?;
        check_bytes("name", name.len(), DEVICE_NAME_BYTES_MAX as u32)?;
        let (fixed, _) = Fixed::read_from_prefix(fixed).expect("the fixed part is whole");
        if fixed.reserved_6.get() != 0 {
            return Err(Fault::NotZero { field: "reserved" });
        }
        if fixed.in_flight_max.get() == 0 {
            return Err(Fault::Mismatch { field: "in_flight_max" });
        }
        Ok(DeviceInfo {
            payload_bytes_max: fixed.payload_bytes_max.get(),
            in_flight_max: fixed.in_flight_max.get(),
            boot: fixed.boot.get(),
            name: std::str::from_utf8(name).map_err(|_| Fault::Mismatch { field: "name" })?.to_owned(),
        })
    }
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Fixed {
    payload_bytes_max: U32,
    in_flight_max: U16,
    reserved_6: U16,
    boot: U64,
}

const _: () = assert!(size_of::<Fixed>() == FIXED_BYTES);
