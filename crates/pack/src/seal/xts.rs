//! XTS-AES-128 with a line as data unit: lines are tweaked by their addresses (IEEE 1619, clause 5).
//!
//! The key is 32 bytes: 16 for lines, then 16 for tweaks. The data unit's number is `address / 16`, and its tweak that
//! number as 16 bytes, *lowest byte first*, enciphered under the second key:
//!
//! ```text
//!   T = AES(key 2, address / 16 as 16 bytes, little-endian)
//!   sealed = AES(key 1, line ⊕ T) ⊕ T
//! ```
//!
//! A data unit of one block needs no multiplication by α, since α⁰ is 1 (clause 5.3.1, j = 0): what is left of XTS is
//! Rogaway's XEX. XEX itself forbids the multiplier 1 (Rogaway 2004, section 6): under one key, to open the line 0 of
//! unit N gives AES⁻¹(T) ⊕ T, and AES⁻¹(T) is N, so T is known. That needs T to be made under the key of the lines.
//! Here it is made under another (Liskov, Rivest and Wagner 2002, section 3.2), and keys whose halves are equal are
//! refused where they are made.
//!
//! The tweak depends on the address alone, so that it can be made while the line is fetched; deciphering has to wait
//! for the line. Whoever changes a sealed line garbles all 16 bytes of it, but is not found out.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt};
use aes::{Aes128, Aes128Enc};
use zeroize::Zeroizing;

use super::{BATCH_LINES, LINE_BYTES, Line, add, addresses};

/// The seal with its keys.
pub struct Xts {
    data: Box<Aes128>,
    tweak: Box<Aes128Enc>,
}

impl Xts {
    /// Of a key for lines and one for tweaks.
    pub fn new(data: Box<Aes128>, tweak: Box<Aes128Enc>) -> Xts {
        Xts { data, tweak }
    }

    /// Seals the line at an address.
    pub fn seal(&self, address: u32, line: &mut Line) {
        self.seal_unit(unit(address), line);
    }

    /// Opens the line at an address.
    pub fn open(&self, address: u32, line: &mut Line) {
        self.open_unit(unit(address), line);
    }

    /// Seals lines.
    pub fn seal_all(&self, first: u32, lines: &mut [Line]) {
        self.all(first, lines, |data, lines| data.encrypt_blocks(Array::cast_slice_from_core_mut(lines)));
    }

    /// Opens lines.
    pub fn open_all(&self, first: u32, lines: &mut [Line]) {
        self.all(first, lines, |data, lines| data.decrypt_blocks(Array::cast_slice_from_core_mut(lines)));
    }

    fn tweak(&self, unit: u128) -> Line {
        let mut block = unit.to_le_bytes();
        self.tweak.encrypt_block((&mut block).into());
        block
    }

    fn seal_unit(&self, unit: u128, line: &mut Line) {
        let tweak = self.tweak(unit);
        add(line, &tweak);
        self.data.encrypt_block((&mut *line).into());
        add(line, &tweak);
    }

    fn open_unit(&self, unit: u128, line: &mut Line) {
        let tweak = self.tweak(unit);
        add(line, &tweak);
        self.data.decrypt_block((&mut *line).into());
        add(line, &tweak);
    }

    fn all(&self, first: u32, lines: &mut [Line], step: impl FnOnce(&Aes128, &mut [Line])) {
        let mut tweaks = Zeroizing::new([[0; LINE_BYTES]; BATCH_LINES]);
        let tweaks = &mut tweaks[..lines.len()];
        for (tweak, address) in tweaks.iter_mut().zip(addresses(first)) {
            *tweak = unit(address).to_le_bytes();
        }
        self.tweak.encrypt_blocks(Array::cast_slice_from_core_mut(tweaks));
        lines.iter_mut().zip(&*tweaks).for_each(|(line, tweak)| add(line, tweak));
        step(&self.data, lines);
        lines.iter_mut().zip(&*tweaks).for_each(|(line, tweak)| add(line, tweak));
    }
}

/// The number of the data unit at an address.
fn unit(address: u32) -> u128 {
    u128::from(address) / LINE_BYTES as u128
}

#[cfg(test)]
mod tests {
    use super::super::expanded;
    use super::*;

    /// A line is the first block of a data unit of the standard's.
    #[test]
    fn the_standard_s_vectors_hold_for_units_of_one_block() {
        let mut found = 0;
        for vector in cipher::vectors::blocks(cipher::vectors::AES_128_XTS) {
            let (key, number) = (vector.bytes("Key"), vector.bytes("Unit"));
            let xts = Xts::new(expanded(&key[..16]), expanded(&key[16..]));
            let mut unit = [0; 16];
            unit[..number.len()].copy_from_slice(&number);
            let unit = u128::from_le_bytes(unit);
            let plain: Line = vector.bytes("PT")[..16].try_into().unwrap();
            let mut line = plain;
            xts.seal_unit(unit, &mut line);
            assert_eq!(line, vector.bytes("CT")[..16]);
            xts.open_unit(unit, &mut line);
            assert_eq!(line, plain);
            found += 1;
        }
        assert_eq!(found, 5);
    }
}
