//! Plaintext on its way through memory: it is wiped when it is dropped; and what opening a forgery left on the stack.
//!
//! `zeroize` writes byte after byte, and more than once, which for a batch takes longer than opening it. Here memory is
//! filled as fast as the processor can.

use std::fmt;
use std::ops::Deref;

use zeroize::{Zeroizing, optimization_barrier};

/// Bytes of the stack that are wiped behind a forgery: more than any cipher here takes, its round keys side by side and
/// the copies of a build without optimization among them.
const STACK_BYTES: usize = 64 << 10;

/// Fills memory with zeroes that nobody reads any more, as far as the compiler can tell.
pub(crate) fn wipe<T: Copy + Default>(values: &mut [T]) {
    values.fill(T::default());
    optimization_barrier(values);
}

/// Wipes what the functions that the caller has called left on the stack: a forgery's plaintext and its right tag go
/// through it. Forgeries are rare, so it may take a while; what was authentic needs none of it.
///
/// What the caller keeps in its own frame it leaves; so whoever opens is not to be inlined there.
#[cold]
#[inline(never)]
pub(crate) fn wipe_stack() {
    let stack = [0_u8; STACK_BYTES];
    optimization_barrier(&stack);
}

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
        wipe(&mut self.0);
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintext({} bytes, ..)", self.0.len())
    }
}
