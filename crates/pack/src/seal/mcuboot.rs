//! The counters of MCUboot's proposal for images that are executed in place, encrypted, behind Infineon's SMIF.
//!
//! From MCUboot's pull request 2685 (docs/encrypted_images.md, "XIP Encryption", as of 2026; not merged then), which
//! takes the format of Infineon's `edgeprotecttools` and of the peripheral:
//!
//! ```text
//!  byte 0        3 4                                   15
//!     ┌───────────┬────────────────────────────────────┐
//!     │ address   │ nonce, 12 bytes                    │  what is enciphered
//!     └───────────┴────────────────────────────────────┘
//! ```
//!
//! The address is the line's own, base address and offset together, *lowest byte first*, and so grows by 16 from line
//! to line. Byte 0 of the keystream is added to the byte at the lowest address. The proposal's first form, whose
//! counter was `(encryption address + offset) / 16`, is given up there and not made here: the peripheral cannot
//! decipher it.
//! The nonce is the first 12 of the 16 bytes that the peripheral is given; how MCUboot derives key and nonce from an
//! ECIES envelope is its own.

use super::{Line, START_BYTES};

/// An image's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McubootXip {
    /// The image's nonce.
    pub nonce: [u8; START_BYTES],
}

impl McubootXip {
    /// The block that is enciphered for the line at an address.
    pub fn counter(&self, address: u32) -> Line {
        let mut block = [0; 16];
        block[..4].copy_from_slice(&address.to_le_bytes());
        block[4..].copy_from_slice(&self.nonce);
        block
    }
}
