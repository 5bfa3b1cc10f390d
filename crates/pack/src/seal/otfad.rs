//! The counters of NXP's on-the-fly AES decryption, OTFAD, in i.MX RT and others.
//!
//! As NXP's own tool makes images for it, `spsdk` (`spsdk/image/otfad/otfad.py`, `KeyBlob.encrypt_image`). A context
//! has a key of 16 bytes and a counter of 8, `c0 … c7` in the order in which its key blob holds them:
//!
//! ```text
//!  byte 0            3 4            7 8                             11 12           15
//!     ┌───────────────┬──────────────┬────────────────────────────────┬──────────────┐
//!     │ c0 c1 c2 c3   │ c4 c5 c6 c7  │ c0⊕c4  c1⊕c5  c2⊕c6  c3⊕c7     │ address      │  what is enciphered
//!     └───────────────┴──────────────┴────────────────────────────────┴──────────────┘
//! ```
//!
//! The address is the line's own, with the four zeros at its end, highest byte first. (`spsdk` counts on from the
//! first address of the context, so that a flash can be remapped; an image that begins there has the same bytes.)
//!
//! `otfad`: byte 0 of the keystream is added to the byte at the lowest address. `otfad-swapped`: parts whose flash
//! controller hands over words of eight bytes with the highest first want the eight bytes of each half reversed;
//! `spsdk` calls that `byte_swap` and knows which parts do. A context begins and ends at a multiple of 1 KiB.

use super::Line;

/// A context's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Otfad {
    /// The counter of a key blob.
    pub counter: [u8; 8],
    /// Whether the halves of a line are reversed.
    pub swaps: bool,
}

impl Otfad {
    /// The block that is enciphered for the line at an address.
    pub fn counter(&self, address: u32) -> Line {
        let mut block = [0; 16];
        let (high, low) = self.counter.split_at(4);
        block[..8].copy_from_slice(&self.counter);
        for (byte, (high, low)) in block[8..12].iter_mut().zip(high.iter().zip(low)) {
            *byte = high ^ low;
        }
        block[12..].copy_from_slice(&address.to_be_bytes());
        block
    }
}
