//! The counters of ST's on-the-fly decryption, OTFDEC, in STM32H7, L5, U5 and H5.
//!
//! From ST's reference manual RM0456, section 52.3.4 ("AES in counter mode decryption"), which states both the formula
//! of the counter and the order of bytes. RM0455 section 41.3.4, RM0438 chapter 31 and RM0468 chapter 42 have the same
//! peripheral. The manuals write numbers of 128 bits with the highest bit first, and so does AES:
//!
//! ```text
//!  bit 127                      64 63     48 47         32 31 30 29  28 27                0
//!     ┌───────────────────────────┬─────────┬─────────────┬─────┬──────┬──────────────────┐
//!     │ RxNONCER1 ‖ RxNONCER0     │ 0       │ RxCFGR      │ 0   │ x-1  │ address[31:4]    │  what is enciphered
//!     │ nonce                     │         │ version     │     │region│                  │
//!     └───────────────────────────┴─────────┴─────────────┴─────┴──────┴──────────────────┘
//!   key = RxKEYR3 ‖ RxKEYR2 ‖ RxKEYR1 ‖ RxKEYR0
//! ```
//!
//! The first eight bytes of a container's start are the nonce, its highest byte first: the first four are RxNONCER1,
//! the next RxNONCER0. Of the image key, the first four bytes are RxKEYR3, highest byte first.
//!
//! Memory is little-endian where AES is big-endian: the block's *lowest* byte, the last that AES gives, is added to the
//! byte at the lowest address. So the 16 bytes of keystream are reversed before they are added to a line.
//!
//! A region of the peripheral begins and ends at a multiple of 4 KiB; all lines of an image are of one region. The
//! version is the low 16 bits of the image's, unless an image was sealed under a given start. Changing an image means
//! another nonce, version or key, or two images share their keystream. Not covered: the enhanced mode, whose cipher ST
//! does not publish.

use super::Line;
use crate::error::SealError;

/// How many regions the peripheral has.
const REGIONS: u8 = 4;

/// A region's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Otfdec {
    /// RxNONCER1 and RxNONCER0, highest byte first.
    pub nonce: [u8; 8],
    /// The firmware's version, RxCFGR[31:16].
    pub version: u16,
    /// The region, from 0 on.
    region: u8,
}

impl Otfdec {
    /// Of a nonce, a version of the firmware, and a region as the manual numbers them, from 1 on.
    ///
    /// # Errors
    /// [`SealError::Region`] for other regions than 1 to 4.
    pub fn new(nonce: [u8; 8], version: u16, region: u8) -> Result<Otfdec, SealError> {
        if !(1..=REGIONS).contains(&region) {
            return Err(SealError::Region { found: region });
        }
        Ok(Otfdec { nonce, version, region: region - 1 })
    }

    /// The region, from 0 on.
    pub fn region(&self) -> u8 {
        self.region
    }

    /// The block that is enciphered for the line at an address.
    pub fn counter(&self, address: u32) -> Line {
        let mut block = [0; 16];
        block[..8].copy_from_slice(&self.nonce);
        block[10..12].copy_from_slice(&self.version.to_be_bytes());
        block[12..].copy_from_slice(&(u32::from(self.region) << 28 | address >> 4).to_be_bytes());
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_counter_stand_where_the_manual_draws_them() {
        let otfdec = Otfdec::new([1, 2, 3, 4, 5, 6, 7, 8], 0xabcd, 4).unwrap();
        let number = u128::from_be_bytes(otfdec.counter(0x9123_4560));
        assert_eq!(number >> 64, 0x0102_0304_0506_0708);
        assert_eq!(number >> 48 & 0xffff, 0);
        assert_eq!(number >> 32 & 0xffff, 0xabcd);
        assert_eq!(number >> 28 & 0xf, 3);
        assert_eq!(number & 0xfff_ffff, 0x912_3456);
    }

    #[test]
    fn there_are_four_regions() {
        for region in [0, 5] {
            assert_eq!(Otfdec::new([0; 8], 0, region), Err(SealError::Region { found: region }));
        }
    }
}
