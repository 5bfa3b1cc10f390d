//! What this process keeps of the memory that it gave back to itself.
#![allow(unsafe_code)]

/// Memory at the end of the heap that is kept. To give it to the system and to have it back costs a page fault for each
/// 4 KiB, three times what it costs to bring 64 KiB through a socket.
#[cfg(target_env = "gnu")]
const KEPT_BYTES: libc::c_int = 16 * 1024 * 1024;

/// From now on this process keeps what it is likely to need again at once. Where the C library is not GNU's this does
/// nothing: it is that library's rule.
pub(crate) fn keep() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a number of the allocator's, under its lock, and touches no memory of ours.
    let is_set = unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES) };
    #[cfg(target_env = "gnu")]
    debug_assert_eq!(is_set, 1, "every glibc has this option");
}
