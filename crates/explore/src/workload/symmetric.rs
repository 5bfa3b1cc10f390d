//! What symmetric ciphers and hashes are asked.
//!
//! Owns which operands an operation of `symmetric.def` takes, which its name tells.

use std::ops::RangeInclusive;

use super::Draw;
use crate::native;
use crate::request::Request;

/// Of messages of as many octets, one piece is as much as a request holds.
const PIECE_OCTETS_MOST: usize = 1024;

/// Operations of symmetric ciphers and hashes.
pub fn operations() -> impl Iterator<Item = &'static str> {
    let names = native::operations();
    // All behind those of limbs.
    let first = names.iter().position(|name| name == "aes_bytes_init").expect("symmetric.def begins with it");
    names[first..].iter().map(String::as_str)
}

/// How many lengths keys of a cipher have.
pub const KEYS: usize = 3;

impl Draw {
    /// A call of one of [`operations`] for a message of so many octets, each piece of one, or a block where that is more.
    /// `key` is one of the lengths that keys of ciphers have, from 0.
    pub fn symmetric(
        &mut self,
        operation: &'static str,
        octets: RangeInclusive<usize>,
        key: usize,
    ) -> Request {
        let blocks = |draw: &mut Draw, bytes: usize| {
            let [least, most] = [octets.start(), octets.end()].map(|octets| (octets / bytes).max(1));
            let count = draw.within(least, most);
            draw.octets(count * bytes)
        };
        let operands = match operation {
            name if name.starts_with("rc4_c8") => {
                let length = self.within(5, 32);
                let key = self.octets(length);
                match name == "rc4_c8_init" {
                    true => vec![key],
                    false => vec![key, blocks(self, 1)],
                }
            }
            name if name.starts_with("aes_") || name.starts_with("des_") => {
                let (unit, block_bytes) =
                    if name.starts_with("aes_") { ([16, 24, 32], 16) } else { ([8, 16, 24], 8) };
                let key = self.octets(unit[key]);
                match name.contains("_init") {
                    true => vec![key],
                    false => vec![key, blocks(self, block_bytes)],
                }
            }
            name if name.ends_with("_compress") => {
                vec![blocks(self, if name.starts_with("sha512") { 128 } else { 64 })]
            }
            name => {
                let pieces = if *octets.end() > PIECE_OCTETS_MOST { 1 } else { self.within(1, 3) };
                let mut operands: Vec<Vec<u8>> = (0..pieces).map(|_| blocks(self, 1)).collect();
                if name.starts_with("hmac_") {
                    let length = self.within(1, 160);
                    operands.insert(0, self.octets(length));
                }
                operands
            }
        };
        Request::new(operation, None, operands)
    }

    /// The same with a key of `key_bytes` and a message of exactly so many octets, whole blocks.
    pub fn message(&mut self, operation: &'static str, key_bytes: usize, octets: usize) -> Request {
        let mut operands = vec![self.octets(octets)];
        if key_bytes > 0 {
            operands.insert(0, self.octets(key_bytes));
        }
        Request::new(operation, None, operands)
    }
}
