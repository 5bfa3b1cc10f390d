//! Intel HEX, with addresses of 32 bits (Intel's specification of 1988, revision A).
//!
//! A record is `:`, then in hexadecimal digits its number of data bytes, 16 bits of address, its type, its data, and
//! the byte that makes the sum of all bytes zero. Types: 00 data, 01 the end, 04 the upper half of the addresses that
//! follow, 05 where the program begins.

use std::fmt::Write;

use crate::container::Container;

/// How much data a record has at most.
const RECORD_BYTES: usize = 16;

/// The text.
pub fn hex(container: &Container) -> String {
    let mut text = String::new();
    // Without a record of type 04 it is zero.
    let mut upper = 0;
    for span in container.spans() {
        let (mut address, mut rest) = (u64::from(span.first), span.bytes.as_slice());
        while !rest.is_empty() {
            if (address >> 16) as u16 != upper {
                upper = (address >> 16) as u16;
                record(&mut text, 0, 4, &upper.to_be_bytes());
            }
            // No record goes on past its upper half.
            let room = (1 << 16) - (address as usize & 0xffff);
            let (data, after) = rest.split_at(rest.len().min(RECORD_BYTES).min(room));
            record(&mut text, address as u16, 0, data);
            (address, rest) = (address + data.len() as u64, after);
        }
    }
    record(&mut text, 0, 5, &container.entry().to_be_bytes());
    record(&mut text, 0, 1, &[]);
    text
}

fn record(text: &mut String, address: u16, kind: u8, data: &[u8]) {
    let [high, low] = address.to_be_bytes();
    let bytes: Vec<u8> = [data.len() as u8, high, low, kind].iter().chain(data).copied().collect();
    let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    text.push(':');
    for byte in bytes.iter().chain([&sum.wrapping_neg()]) {
        write!(text, "{byte:02X}").expect("a string takes everything");
    }
    text.push('\n');
}
