//! Plaintext on its way through memory: it is wiped when it is dropped.
//!
//! `zeroize` writes byte after byte, and more than once, which for a batch takes longer than opening it. Here memory is
//! filled as fast as the processor can.

use std::fmt;
use std::ops::Deref;

use zeroize::{Zeroizing, optimization_barrier};

/// Bytes that are wiped when they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext(Vec<u8>);

impl Plaintext {
    /// The bytes, to be changed where they lie: they never move to other memory, which nobody would wipe.
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// The vector must not have moved with plaintext in it.
impl From<Vec<u8>> for Plaintext {
    fn from(bytes: Vec<u8>) -> Plaintext {
        Plaintext(bytes)
    }
}

impl From<Zeroizing<Vec<u8>>> for Plaintext {
    fn from(mut bytes: Zeroizing<Vec<u8>>) -> Plaintext {
        Plaintext(std::mem::take(&mut bytes))
    }
}

impl Deref for Plaintext {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        self.0.fill(0);
        optimization_barrier(&*self.0);
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintext({} bytes, ..)", self.0.len())
    }
}
