//! What one thread rings so that another one, which waits for descriptors, wakes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// A bell, which rings until it is [quieted](Self::quiet). Clones are the same bell.
#[derive(Clone)]
pub(crate) struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A bell that does not ring.
    ///
    /// # Errors
    /// The system's, when descriptors are short.
    pub(crate) fn new() -> io::Result<Bell> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Bell(Arc::new(bell)))
    }

    pub(crate) fn ring(&self) {
        // A counter that is full rings as well.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    pub(crate) fn quiet(&self) {
        // One that does not ring is quiet.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Rings when it is dropped, for whoever would wait for ever.
pub(crate) struct RingsAtEnd(pub(crate) Bell);

impl Drop for RingsAtEnd {
    fn drop(&mut self) {
        self.0.ring();
    }
}
