//! Whether this process is still the one that it was: a child after `fork` has copies of locks, ids and sockets that
//! belong to its parent.
//!
//! Owns the page that the kernel wipes in a child (madvise(2), `MADV_WIPEONFORK`, since Linux 4.14), which one load asks.
//! Where there is none, the process's number says it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Zero in a child that has not asked yet.
static PAGE: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
/// The generation of the nearest ancestor that asked; a child's copy of it is its own.
static LAST: AtomicU64 = AtomicU64::new(0);

/// A number that a process and its parent do not share.
pub fn generation() -> u64 {
    let Some(page) = PAGE.get_or_init(map) else { return std::process::id().into() };
    match page.load(Ordering::Acquire) {
        0 => {
            let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            page.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire).map_or_else(|is| is, |_| next)
        }
        generation => generation,
    }
}

fn map() -> Option<&'static AtomicU64> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let bytes = size_of::<AtomicU64>();
    // SAFETY: a new mapping, anywhere, touches no memory that is in use.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping was made above, and is at least this long.
    if unsafe { libc::madvise(page, bytes, libc::MADV_WIPEONFORK) } != 0 {
        return None; // it stays mapped, once in a process's life
    }
    // SAFETY: the page is aligned, zero, which is an atomic's value, and never unmapped.
    Some(unsafe { &*page.cast::<AtomicU64>() })
}

/// What tells a socket from whatever else may have its number some time: its place in the kernel's own file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The socket in it.
    pub inode: u64,
}

impl Identity {
    /// What has this number now; none if nothing has.
    pub fn of(descriptor: RawFd) -> Option<Identity> {
        let mut stat = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: there is room for what is written, and a number that nothing has is an error.
        let result = unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) };
        // SAFETY: it was written.
        (result == 0)
            .then(|| unsafe { stat.assume_init() })
            .map(|stat| Identity { device: stat.st_dev, inode: stat.st_ino })
    }
}

/// Closes this process's copy of a socket that its parent goes on using, so that the broker notices when the parent ends.
/// The value that owned it here must never be dropped. A child that has closed whatever it found, as daemons do, may have
/// given the number to something of its own, which stays.
pub fn close_copy(socket: RawFd, identity: Identity) {
    if Identity::of(socket) == Some(identity) {
        // SAFETY: it is the socket, and the caller leaks its owner, so nothing here uses the number again.
        unsafe { libc::close(socket) };
    }
}
