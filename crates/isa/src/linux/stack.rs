//! The stack that a program finds when it begins: its arguments.
//!
//! Owns: how Linux lays it out. Which register points to it is for the room of the processor.

use crate::elf::Order;
use crate::error::ImageError;
use crate::limits::ARGUMENT_BYTES_MAX;
use crate::region::Region;

/// Where a stack is, and what the processor wants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First address behind it.
    pub end: u32,
    /// How far it can grow.
    pub bytes: u32,
    /// What is free between the stack pointer and the number of arguments.
    pub window_bytes: u32,
    /// What the stack pointer is a multiple of, and so `end`.
    pub alignment: u32,
    /// How words are stored.
    pub order: Order,
}

/// The stack as Linux leaves it, and the stack pointer: argc, argv, no environment, no auxiliary vector, the strings.
/// Behind those stand the program's name once more and eight bytes, so that every string is aligned as under QEMU.
///
/// # Errors
/// Arguments that are too long.
pub fn stack(arguments: &[&str], place: Place) -> Result<(Region, u32), ImageError> {
    let name = arguments.first().copied().unwrap_or_default();
    let strings: Vec<u8> =
        arguments.iter().chain([&name]).flat_map(|string| string.bytes().chain([0])).chain([0; 8]).collect();
    let words = arguments.len() + 5;
    let found_bytes =
        (strings.len() + words * 4 + place.window_bytes as usize).next_multiple_of(place.alignment as usize);
    let limit_bytes = ARGUMENT_BYTES_MAX.min(place.bytes.into());
    if found_bytes as u64 > limit_bytes {
        return Err(ImageError::Arguments { found_bytes: found_bytes as u64, limit_bytes });
    }
    let mut found = vec![0; place.window_bytes as usize];
    found.extend(place.order.word(arguments.len() as u32));
    let mut at = place.end - strings.len() as u32;
    for argument in arguments {
        found.extend(place.order.word(at));
        at += argument.len() as u32 + 1;
    }
    found.resize(found_bytes - strings.len(), 0);
    found.extend(strings);
    let mut bytes = vec![0; place.bytes as usize];
    let begin = bytes.len() - found_bytes;
    bytes[begin..].copy_from_slice(&found);
    let region = Region { first: place.end - place.bytes, bytes, writable: true };
    Ok((region, place.end - found_bytes as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_counted_and_pointed_to_in_the_order_of_the_processor() {
        for order in [Order::Big, Order::Little] {
            let place = Place { end: 0x1000, bytes: 0x800, window_bytes: 64, alignment: 16, order };
            let (region, pointer) = stack(&["ab", "c"], place).expect("it fits");
            assert_eq!((region.first, region.bytes.len(), pointer % 16), (0x800, 0x800, 0));
            let word = |address: u32| {
                let at = (address - region.first) as usize;
                let bytes = region.bytes[at..at + 4].try_into().expect("four bytes");
                if order == Order::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
            };
            let string = |address: u32| {
                let bytes = &region.bytes[(address - region.first) as usize..];
                String::from_utf8(bytes.split(|&byte| byte == 0).next().expect("it ends").to_vec())
            };
            assert_eq!((word(pointer + 64), word(pointer + 76)), (2, 0));
            assert_eq!(string(word(pointer + 68)), Ok("ab".to_owned()));
            assert_eq!(string(word(pointer + 72)), Ok("c".to_owned()));
            // Eight bytes and the name's three are behind the last one.
            assert_eq!(word(pointer + 72), 0x1000 - 8 - 3 - 2);
        }
    }

    #[test]
    fn what_is_longer_than_the_stack_is_refused() {
        let place = Place { end: 0x1000, bytes: 0x40, window_bytes: 0, alignment: 16, order: Order::Little };
        let error = stack(&[&"x".repeat(20)], place).expect_err("it does not fit");
        assert_eq!(error, ImageError::Arguments { found_bytes: 80, limit_bytes: 64 });
    }
}
