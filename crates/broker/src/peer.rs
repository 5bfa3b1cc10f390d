//! Who is at the other end of a Unix socket, by the kernel's word.
//!
//! Owns the one call for which no library has a safe form: the groups that a peer had when it connected.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::OnceLock;

use rustix::net::sockopt::socket_peercred;

use crate::limits::GROUPS_MAX;

/// Of include/uapi/asm-generic/socket.h in Linux; since 4.13.
const SO_PEERGROUPS: libc::c_int = 59;
/// What stands for users that a namespace has no number for, where the kernel does not say: DEFAULT_OVERFLOWUID.
const OVERFLOW_USER: u32 = 65_534;

/// An application, as far as the kernel vouches for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) user: u32,
    /// Its own first, and each once. Who is in more than are told apart is in its own alone.
    pub(crate) groups: Vec<u32>,
}

impl Peer {
    /// Who connected this socket. None when its user has no number here, and so cannot be told from others.
    pub(crate) fn of(socket: impl AsFd) -> io::Result<Option<Peer>> {
        let credentials = socket_peercred(&socket)?;
        let user = credentials.uid.as_raw();
        let own = credentials.gid.as_raw();
        let further = groups(&socket)?.into_iter().filter(|group| *group != own);
        let groups = [own].into_iter().chain(further).take(GROUPS_MAX).collect();
        Ok((user != overflow_user()).then_some(Peer { user, groups }))
    }
}

/// The further groups of the peer; none when they are more than are told apart.
fn groups(socket: impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = [0_u32; GROUPS_MAX];
    let mut bytes = size_of_val(&groups) as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed, and the kernel writes at most `bytes` bytes, the length
    // of the array, and how many it wrote.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &mut bytes,
        )
    };
    if result == 0 {
        return Ok(groups[..bytes as usize / size_of::<u32>()].to_vec());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ERANGE) => Ok(Vec::new()),
        error => Err(error),
    }
}

fn overflow_user() -> u32 {
    static USER: OnceLock<u32> = OnceLock::new();
    *USER.get_or_init(|| {
        let said = fs::read_to_string("/proc/sys/kernel/overflowuid");
        said.ok().and_then(|said| said.trim().parse().ok()).unwrap_or(OVERFLOW_USER)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use rustix::process::{getgid, getgroups, getuid};

    use super::*;

    #[test]
    fn a_peer_is_who_this_process_is_when_it_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap().expect("its user has a number");
        assert_eq!(peer.user, getuid().as_raw());
        let mut own: Vec<u32> = getgroups().unwrap().iter().map(|group| group.as_raw()).collect();
        own.push(getgid().as_raw());
        own.sort_unstable();
        own.dedup();
        let mut groups = peer.groups.clone();
        groups.sort_unstable();
        assert_eq!(groups, own);
        assert_eq!(peer.groups[0], getgid().as_raw());
        assert!(Peer::of(std::fs::File::open("/dev/null").unwrap()).is_err(), "it is no socket");
    }
}
