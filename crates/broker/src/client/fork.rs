//! Whether this process is still the one that it was: a child after `fork` has copies of locks, ids and sockets that
//! belong to its parent.
//!
//! Owns the page that the kernel wipes in a child (madvise(2), `MADV_WIPEONFORK`, since Linux 4.14), which one load asks.
//! Where there is none, the process's number says it.
#![allow(unsafe_code)]

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

/// Closes this process's copy of a socket that its parent goes on using, so that the broker notices when the parent ends.
/// The value that owned it here must never be dropped.
pub fn close_copy(socket: RawFd) {
    // SAFETY: the caller leaks the owner, so nothing here uses the number again.
    unsafe { libc::close(socket) };
}
