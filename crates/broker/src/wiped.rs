//! Bytes that are wiped when they are dropped, as fast as `memset` is, and copied as fast as they can be.
//!
//! Every PDU is wiped at every hop, so how fast is part of the cost that this tool is about: `zeroize`'s own
//! loop is volatile and stores one byte at a time. Its `optimization_barrier` lets the compiler store many at
//! once and still not leave them out.

use std::ops::{Deref, DerefMut};

/// A vector of bytes that may be secrets.
#[derive(Default)]
pub(crate) struct Wiped(Vec<u8>);

impl Wiped {
    pub(crate) fn new(bytes: Vec<u8>) -> Wiped {
        Wiped(bytes)
    }

    /// Overwrites all that was allocated; the length is then the capacity.
    fn overwrite(&mut self) {
        self.0.fill(0);
        self.0.resize(self.0.capacity(), 0);
        zeroize::optimization_barrier(self.0.as_slice());
    }

    /// Forgets the contents.
    pub(crate) fn wipe(&mut self) {
        self.overwrite();
        self.0.clear();
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        self.overwrite();
    }
}

impl Deref for Wiped {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Wiped {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

/// Overwrites a part of a buffer that goes on being used.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// Longest piece of a copy. glibc copies what is longer than 2112 bytes with `rep movsb`, and that takes AMD's Zen 3 up to
/// 17 times as long where the copy begins less than 32 bytes behind the original, counted modulo a page.
const COPY_BYTES: usize = 2048;

/// Appends these bytes, many of them as fast wherever they lie.
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    for piece in bytes.chunks(COPY_BYTES) {
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_a_copy_whatever_its_length() {
        for length in [0, 1, COPY_BYTES - 1, COPY_BYTES, COPY_BYTES + 1, 65_536] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut out = vec![7; 3];
            append(&mut out, &bytes);
            assert!(out[..3] == [7; 3] && out[3..] == bytes, "{length} bytes");
        }
    }

    #[test]
    fn what_is_behind_the_end_is_overwritten_too() {
        let mut wiped = Wiped::new(Vec::with_capacity(100));
        wiped.extend_from_slice(&[7; 90]);
        wiped.truncate(3);
        let (start, capacity) = (wiped.as_ptr(), wiped.capacity());
        wiped.overwrite();
        assert_eq!((wiped.as_ptr(), wiped.len()), (start, capacity), "nothing was moved and left behind");
        assert!(wiped.iter().all(|byte| *byte == 0));
    }
}
