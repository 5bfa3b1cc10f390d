//! Electronic code book: a line is a block of AES, its address does not count (SP 800-38A section 6.1).
//!
//! This is what the paper does. Whoever watches the bus sees which lines are equal, and may put any line of the image
//! in place of any other; it is here to measure by, and refused unless legacy seals are allowed.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt};

use super::Line;

/// The seal with its key.
pub struct Ecb(Box<Aes128>);

impl Ecb {
    /// Of a key.
    pub fn new(aes: Box<Aes128>) -> Ecb {
        Ecb(aes)
    }

    /// Seals a line.
    pub fn seal(&self, line: &mut Line) {
        self.0.encrypt_block(line.into());
    }

    /// Opens a line.
    pub fn open(&self, line: &mut Line) {
        self.0.decrypt_block(line.into());
    }

    /// Seals lines.
    pub fn seal_all(&self, lines: &mut [Line]) {
        self.0.encrypt_blocks(Array::cast_slice_from_core_mut(lines));
    }

    /// Opens lines.
    pub fn open_all(&self, lines: &mut [Line]) {
        self.0.decrypt_blocks(Array::cast_slice_from_core_mut(lines));
    }
}
