//! What a device says about itself when it is opened.
//!
//! Owns the bytes of that answer; the core decides what follows from it.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::error::Fault;
use crate::limits::{DEVICE_NAME_BYTES_MAX, STORE_SOURCE_BYTES_MAX};
use crate::wire::check_bytes;

const FIXED_BYTES: usize = 16;

/// What a device says about itself, the payload of the answer to
/// [`Operation::Info`](crate::wire::Operation::Info):
///
/// ```text
///  0  4  payload_bytes_max   longest payload it takes
///  4  2  in_flight_max       requests it takes at a time
///  6  1  lanes               requests that it computes at a time
///  7  1  name_bytes          at most 64
///  8  8  boot                random number of this start of the device
/// 16  n  name                UTF-8
///     m  store               what the key of its key store comes from, UTF-8, at most 128 bytes; empty without a store
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Longest payload that the device takes.
    pub payload_bytes_max: u32,
    /// Requests that it takes at a time, at least 1.
    pub in_flight_max: u16,
    /// Requests that it computes at a time, at least 1.
    pub lanes: u8,
    /// A random number of this start of the device.
    pub boot: u64,
    /// What it calls itself.
    pub name: String,
    /// What the key of its key store comes from; empty when it has none, and persistent keys end with it.
    pub store: String,
}

impl DeviceInfo {
    /// Longest payload that says what a device is.
    pub const BYTES_MAX: usize = FIXED_BYTES + DEVICE_NAME_BYTES_MAX + STORE_SOURCE_BYTES_MAX;

    /// The payload that says this.
    ///
    /// # Panics
    /// When the name is over its limit.
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(self.name.len() <= DEVICE_NAME_BYTES_MAX);
        let mut bytes = Vec::with_capacity(FIXED_BYTES + self.name.len() + self.store.len());
        bytes.extend(self.payload_bytes_max.to_le_bytes());
        bytes.extend(self.in_flight_max.to_le_bytes());
        bytes.extend([self.lanes, self.name.len() as u8]);
        bytes.extend(self.boot.to_le_bytes());
        bytes.extend(self.name.as_bytes());
        bytes.extend(self.store.as_bytes());
        bytes
    }

    /// What a payload says.
    ///
    /// # Errors
    /// [`Fault`], for each length and field that is not as drawn.
    pub fn parse(bytes: &[u8]) -> Result<DeviceInfo, Fault> {
        let short = Fault::Length { found_bytes: bytes.len(), expected_bytes: FIXED_BYTES };
        let (fixed, texts) = bytes.split_at_checked(FIXED_BYTES).ok_or(short)?;
        let (fixed, _) = Fixed::read_from_prefix(fixed).expect("the fixed part is whole");
        let name_bytes = usize::from(fixed.name_bytes);
        check_bytes("name", name_bytes, DEVICE_NAME_BYTES_MAX as u32)?;
        let expected_bytes = FIXED_BYTES + name_bytes;
        let short = Fault::Length { found_bytes: bytes.len(), expected_bytes };
        let (name, store) = texts.split_at_checked(name_bytes).ok_or(short)?;
        check_bytes("store", store.len(), STORE_SOURCE_BYTES_MAX as u32)?;
        if fixed.in_flight_max.get() == 0 {
            return Err(Fault::Mismatch { field: "in_flight_max" });
        }
        if fixed.lanes == 0 {
            return Err(Fault::Mismatch { field: "lanes" });
        }
        let text = |bytes: &[u8], field| match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Fault::Mismatch { field }),
        };
        Ok(DeviceInfo {
            payload_bytes_max: fixed.payload_bytes_max.get(),
            in_flight_max: fixed.in_flight_max.get(),
            lanes: fixed.lanes,
            boot: fixed.boot.get(),
            name: text(name, "name")?,
            store: text(store, "store")?,
        })
    }
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Fixed {
    payload_bytes_max: U32,
    in_flight_max: U16,
    lanes: u8,
    name_bytes: u8,
    boot: U64,
}

const _: () = assert!(size_of::<Fixed>() == FIXED_BYTES);
