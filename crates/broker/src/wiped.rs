//! Bytes that are wiped when they are dropped, as fast as `memset` is.
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

#[cfg(test)]
mod tests {
    use super::*;

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
