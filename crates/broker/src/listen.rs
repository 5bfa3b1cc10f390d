//! The listening socket of a daemon: private from its first moment, and only one for a path.
//!
//! Owns the socket file and its lock. Who connects, and what is said, is the daemons'.

use std::fs::{File, OpenOptions, Permissions, set_permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use tokio::net::{UnixListener, UnixStream};

use crate::error::Error;
use crate::limits::CONNECTIONS_MAX;

/// Where a daemon listens.
#[derive(Debug)]
pub enum Endpoint {
    /// On a socket that is made at this path, with mode 0600, and removed at the end. Beside it lies a lock
    /// file of the same name with `.lock` appended, which stays.
    Path(PathBuf),
    /// The same with mode 0666: whoever reaches the folder is served, and told apart by what the kernel says of it.
    Shared(PathBuf),
    /// The same with this mode, and of this group if one is named: for a service that some may use.
    Opened {
        /// The socket's path.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// Its group.
        group: Option<u32>,
    },
    /// On this socket, which somebody else made and will remove.
    Listener(StdUnixListener),
}

/// A listening socket that blocks nobody and, if it was made here, its file, which goes with it.
pub(crate) struct Bound {
    listener: StdUnixListener,
    file: Option<SocketFile>,
}

/// The same within a tokio runtime.
pub struct Listener {
    listener: UnixListener,
    _file: Option<SocketFile>,
}

struct SocketFile {
    path: PathBuf,
    /// Held until after the socket's file was removed.
    _lock: File,
}

impl Bound {
    /// Listens.
    ///
    /// # Errors
    /// [`Error::AlreadyServed`], [`Error::NotASocket`] or [`Error::Io`].
    pub(crate) fn open(endpoint: Endpoint) -> Result<Bound, Error> {
        let (listener, file) = match endpoint {
            Endpoint::Path(path) => {
                let (listener, file) = make(path)?;
                (listener, Some(file))
            }
            Endpoint::Shared(path) => {
                return Bound::open(Endpoint::Opened { path, mode: 0o666, group: None });
            }
            Endpoint::Opened { path, mode, group } => {
                let (listener, file) = make(path)?;
                // In this order: nobody of the old group ever has the new permissions.
                chown(&file.path, None, group).map_err(cannot("give to a group", &file.path))?;
                let opened = set_permissions(&file.path, Permissions::from_mode(mode));
                opened.map_err(cannot("open to others", &file.path))?;
                (listener, Some(file))
            }
            Endpoint::Listener(listener) => (listener, None),
        };
        let bound = Bound { listener, file };
        bound.listener.set_nonblocking(true).map_err(cannot("use the socket", bound.path()))?;
        Ok(bound)
    }

    /// The next connection, which blocks nobody either.
    ///
    /// # Errors
    /// What the system says; the next may be well.
    pub(crate) fn accept(&self) -> io::Result<StdUnixStream> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    fn path(&self) -> &Path {
        self.file.as_ref().map_or(Path::new("listener"), |file| &file.path)
    }
}

impl AsFd for Bound {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Listener {
    /// Listens. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`Error::AlreadyServed`], [`Error::NotASocket`] or [`Error::Io`].
    pub fn open(endpoint: Endpoint) -> Result<Listener, Error> {
        let bound = Bound::open(endpoint)?;
        let path = bound.path().to_owned();
        let listener = UnixListener::from_std(bound.listener).map_err(cannot("use the socket", &path))?;
        Ok(Listener { listener, _file: bound.file })
    }

    /// The next connection.
    ///
    /// # Errors
    /// What the system says; the next may be well.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // It may have been removed by hand; nothing is left to be done then.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn make(path: PathBuf) -> Result<(StdUnixListener, SocketFile), Error> {
    let mut lock_path = path.clone().into_os_string();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    // A link there would be somebody's who can write to the folder, and leads to any file.
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let lock = options.open(&lock_path);
    let lock = lock.map_err(cannot("create the lock", &lock_path))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::AlreadyServed { path }),
        Err(errno) => return Err(cannot("lock", &lock_path)(errno.into())),
    }
    remove_stale(&path)?;
    let listener = bind_private(&path).map_err(cannot("bind", &path))?;
    Ok((listener.into(), SocketFile { path, _lock: lock }))
}

/// Who has the lock is alone, so a socket that is there was left by a process that was killed.
fn remove_stale(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {
            std::fs::remove_file(path).map_err(cannot("remove the stale socket", path))
        }
        Ok(_) => Err(Error::NotASocket { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot("look at", path)(error)),
    }
}

/// Linux makes the file with the mode that the socket has when it is bound (`unix_bind_bsd` in
/// net/unix/af_unix.c), so that there is no moment in which others may connect.
fn bind_private(path: &Path) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, CONNECTIONS_MAX as i32)?;
    Ok(socket)
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[tokio::test]
    async fn the_socket_is_private_and_is_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broker.sock");
        let listener = Listener::open(Endpoint::Path(path.clone())).unwrap();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_for_some_has_their_group_and_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broker.sock");
        let own = rustix::process::getgid().as_raw();
        let endpoint = Endpoint::Opened { path: path.clone(), mode: 0o660, group: Some(own) };
        let _listener = Listener::open(endpoint).unwrap();
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        assert_eq!((metadata.permissions().mode() & 0o777, metadata.gid()), (0o660, own));
    }

    #[tokio::test]
    async fn a_path_has_one_server_and_a_stale_socket_is_no_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broker.sock");
        drop(StdUnixListener::bind(&path).unwrap()); // leaves its file, as a killed process does
        let first = Listener::open(Endpoint::Path(path.clone())).unwrap();
        let second = Listener::open(Endpoint::Path(path.clone()));
        assert!(matches!(second, Err(Error::AlreadyServed { .. })));
        assert!(path.exists(), "the refused server must not remove the socket");
        drop(first);
        Listener::open(Endpoint::Path(path)).unwrap();
    }

    #[tokio::test]
    async fn a_lock_is_not_made_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("broker.sock"), folder.path().join("elsewhere"));
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("broker.sock.lock")).unwrap();
        assert!(matches!(Listener::open(Endpoint::Path(path)), Err(Error::Io { .. })));
        assert!(!elsewhere.exists());
    }

    #[tokio::test]
    async fn a_file_in_the_way_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "mine").unwrap();
        let refused = Listener::open(Endpoint::Path(path.clone()));
        assert!(matches!(refused, Err(Error::NotASocket { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}
