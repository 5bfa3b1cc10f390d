//! Every number of this crate that bounds something.

use crate::suites::SUITES;

/// Longest tag of any suite, in bytes.
pub const TAG_BYTES_MAX: usize = 16;

/// Longest nonce of any suite, in bytes; also what the node link derives before a suite takes its part.
pub const NONCE_BYTES_MAX: usize = 16;

/// A key file: this many hex digits, then one newline.
pub const KEY_FILE_DIGITS: usize = 64;

/// Nonces under one prefix of a [`NonceSource`](crate::NonceSource): the counter is 32 bits.
pub const NONCES_PER_PREFIX: u64 = 1 << 32;

const _: () = {
    let mut index = 0;
    while index < SUITES.len() {
        let row = &SUITES[index];
        assert!(row.suite as usize == index, "the suite table must be in the order of the enum");
        assert!(row.tag_bytes <= TAG_BYTES_MAX && row.nonce_bytes <= NONCE_BYTES_MAX);
        index += 1;
    }
};
