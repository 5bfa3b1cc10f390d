//! The paper's start rule: the first application creates the server, all others find it.
//!
//! Owns the folder in which a user's own broker is found, and the race for starting it; what the broker is told at its
//! start is the executable's. Needs neither a runtime nor a cipher, and may be called by any number of processes and
//! threads at once.
//!
//! Who finds a broker asks it something before it relies on it: an answer says that the connection was taken in, and a
//! broker with connections does not end. One that was just about to end gives no answer, and is looked for again.
//!
//! Invariant: nobody starts a broker without having the lock, so that of many who come at once one does.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, mkdirat, open, openat};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::environment::variable;
use crate::error::{Error, PrivateFault};
use crate::limits::{HEADER_BYTES, LOG_BYTES_MAX, OWN_START_MAX};
use crate::stream::{Decoder, Framing};
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};

/// In the folder that the system gives the user for what runs.
const FOLDER: &str = "selvedge";
/// Between two looks.
const LOOK: Duration = Duration::from_millis(5);

/// How an own broker is started.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The `selvedge` executable.
    pub executable: PathBuf,
    /// The broker's configuration, with the devices to try in their order; without one it is a device in software.
    pub config: Option<PathBuf>,
}

impl Starter {
    /// A connection to this user's own broker, which is started if there is none.
    ///
    /// # Errors
    /// [`Error::NotPrivate`] for a folder that others could have made, [`Error::NotStarted`] with what the broker said,
    /// [`Error::Refused`] when it refuses this connection, and the environment's.
    pub fn find_or_start(&self) -> Result<UnixStream, Error> {
        let folder = folder()?;
        let (path, ends) = (socket(&folder), Instant::now() + OWN_START_MAX);
        let mut failures = 0;
        loop {
            if let Some(stream) = find(&path)? {
                return Ok(stream);
            }
            let lock = lock(&folder, ends)?;
            // Whoever had it before may have started one.
            if let Some(stream) = find(&path)? {
                return Ok(stream);
            }
            match self.start(&folder, &path, ends)? {
                Started::Found(stream) => return Ok(stream),
                Started::Ended => {}
                Started::Failed => failures += 1,
            }
            drop(lock);
            // Once may be bad luck: it was killed, or another one was just ending.
            if failures > 1 || Instant::now() > ends {
                return Err(not_started(&folder));
            }
        }
    }

    /// Starts one and waits until it, or another one, is there.
    fn start(&self, folder: &Path, path: &Path, ends: Instant) -> Result<Started, Error> {
        let mut arguments: Vec<OsString> =
            ["broker", "serve", "--own", "--detach"].map(OsString::from).to_vec();
        if let Some(config) = &self.config {
            arguments.extend(["--config".into(), config.into()]);
        }
        let failed = |source| Error::Io { doing: "start", path: self.executable.clone(), source };
        // Nobody's child in the end, and so nobody has to wait for it: what is started here starts it and ends.
        let command = Command::new(&self.executable)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log(folder)?)
            // It is no service of whoever manages this process.
            .env_remove("NOTIFY_SOCKET")
            .spawn();
        let mut child = command.map_err(failed)?;
        let said = child.stdout.take().expect("it is piped");
        let has_started = match child.wait() {
            Ok(status) => status.success(),
            // The program has the system wait for its children (SIGCHLD is ignored), or has waited for all of them itself. What
            // was started says what came of it.
            Err(error) if error.raw_os_error() == Some(Errno::CHILD.raw_os_error()) => true,
            Err(source) => return Err(failed(source)),
        };
        if !has_started {
            return Err(not_started(folder));
        }
        loop {
            let look = Timespec { tv_sec: 0, tv_nsec: 10 * LOOK.as_nanos() as i64 };
            match poll(&mut [PollFd::new(&said, PollFlags::IN)], Some(&look)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(errno) => return Err(failed(errno.into())),
            }
            // One that somebody started who was killed meanwhile.
            if let Some(stream) = find(path)? {
                return Ok(Started::Found(stream));
            }
            if Instant::now() > ends {
                return Err(not_started(folder));
            }
        }
        let mut line = String::new();
        let read = BufReader::new(said).take(16).read_line(&mut line);
        if read.is_err() || line != "ready\n" {
            return Ok(Started::Failed);
        }
        Ok(find(path)?.map_or(Started::Ended, Started::Found))
    }
}

/// What became of a broker that was started.
enum Started {
    Found(UnixStream),
    /// It was ready, and has ended since.
    Ended,
    /// It has ended before.
    Failed,
}

/// The folder of this user's own broker: made if it is not there, and nobody else's.
///
/// # Errors
/// [`Error::NotPrivate`] and the environment's.
pub fn folder() -> Result<PathBuf, Error> {
    let named = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parent = named.filter(|path| path.is_absolute());
    let parent = parent.unwrap_or_else(|| format!("/run/user/{}", geteuid().as_raw()).into());
    folder_in(&parent)
}

fn folder_in(parent: &Path) -> Result<PathBuf, Error> {
    let path = parent.join(FOLDER);
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = open(parent, flags, Mode::empty()).map_err(cannot("open", parent))?;
    check(&opened, parent, Mode::WGRP | Mode::WOTH)?;
    match mkdirat(&opened, FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(cannot("make", &path)(errno)),
    }
    let own = match openat(&opened, FOLDER, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(Error::NotPrivate { path, fault: PrivateFault::NotAFolder });
        }
        own => own.map_err(cannot("open", &path))?,
    };
    check(&own, &path, Mode::RWXG | Mode::RWXO)?;
    Ok(path)
}

/// That nobody else can put something else in its place.
fn check(folder: &OwnedFd, path: &Path, forbidden: Mode) -> Result<(), Error> {
    let stat = fstat(folder).map_err(cannot("look at", path))?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    let fault = if stat.st_uid != geteuid().as_raw() {
        PrivateFault::Owner { found: stat.st_uid }
    } else if mode.intersects(forbidden) {
        PrivateFault::Mode { found: mode.bits() & 0o7777 }
    } else {
        return Ok(());
    };
    Err(Error::NotPrivate { path: path.to_owned(), fault })
}

/// The socket in the folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("broker.sock")
}

/// The log of the broker in the folder, begun again when it is long.
///
/// # Errors
/// The environment's.
pub fn log(folder: &Path) -> Result<File, Error> {
    let path = folder.join("broker.log");
    let file = private_file(&path, true).map_err(failed("open", &path))?;
    if file.metadata().map_err(failed("look at", &path))?.len() > LOG_BYTES_MAX {
        file.set_len(0).map_err(failed("begin again", &path))?;
    }
    Ok(file)
}

fn private_file(path: &Path, is_log: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(is_log).write(!is_log).create(true).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)
}

/// The right to start one. It is given back when it is dropped, and by the system when this process ends.
fn lock(folder: &Path, ends: Instant) -> Result<File, Error> {
    let path = folder.join("start.lock");
    let file = private_file(&path, false).map_err(failed("open", &path))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < ends => thread::sleep(LOOK),
            Err(errno) => return Err(cannot("lock", &path)(errno)),
        }
    }
}

/// A connection that the broker at this socket has taken in; none if there is no broker, or one that is ending.
fn find(path: &Path) -> Result<Option<UnixStream>, Error> {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    let is_gone = |kind| matches!(kind, BrokenPipe | ConnectionRefused | ConnectionReset | NotFound);
    match UnixStream::connect(path).and_then(asked) {
        Ok(Found::Gone) => Ok(None),
        Ok(Found::Taken(stream)) => Ok(Some(stream)),
        Ok(Found::Refused(status)) => Err(Error::Refused { operation: Operation::Info, status }),
        Err(error) if is_gone(error.kind()) => Ok(None),
        Err(error) => Err(failed("connect to", path)(error)),
    }
}

/// What became of a connection.
enum Found {
    Taken(UnixStream),
    Refused(Status),
    /// The broker is ending, or has ended.
    Gone,
}

fn asked(mut stream: UnixStream) -> io::Result<Found> {
    stream.set_read_timeout(Some(OWN_START_MAX))?;
    stream.write_all(Pdu::empty(Head::request(Operation::Info, 0, KeyHandle::NONE)).bytes())?;
    let (mut decoder, mut buffer) = (Decoder::new(Framing::Plain), [0; HEADER_BYTES]);
    let answer = loop {
        // Not more than its answer, which nothing follows.
        let read_bytes = stream.read(&mut buffer)?;
        if read_bytes == 0 {
            return Ok(Found::Gone);
        }
        let decoded = decoder.next(&mut &buffer[..read_bytes]);
        if let Some(answer) = decoded.map_err(|_| io::ErrorKind::InvalidData)? {
            break answer;
        }
    };
    let status = answer.status().map_err(|_| io::ErrorKind::InvalidData)?;
    if status == Status::Stopping {
        return Ok(Found::Gone);
    }
    if answer.head().connection == Connection::BROKER {
        return Ok(Found::Refused(status));
    }
    stream.set_read_timeout(None)?;
    Ok(Found::Taken(stream))
}

/// What the broker said last.
fn not_started(folder: &Path) -> Error {
    let log = std::fs::read_to_string(folder.join("broker.log")).unwrap_or_default();
    Error::NotStarted { said: log.lines().next_back().unwrap_or("nothing").to_owned() }
}

fn cannot(doing: &'static str, path: &Path) -> impl FnOnce(Errno) -> Error {
    move |errno| failed(doing, path)(errno.into())
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, create_dir, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_could_have_made_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = folder_in(parent.path()).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(folder_in(parent.path()).unwrap(), path, "it is found again");
        let fault = || match folder_in(parent.path()) {
            Err(Error::NotPrivate { fault, .. }) => fault,
            other => panic!("{other:?}"),
        };
        set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
        assert_eq!(fault(), PrivateFault::Mode { found: 0o750 });
        std::fs::remove_dir(&path).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), &path).unwrap();
        assert_eq!(fault(), PrivateFault::NotAFolder);
        std::fs::remove_file(&path).unwrap();
        File::create(&path).unwrap();
        assert_eq!(fault(), PrivateFault::NotAFolder);
        std::fs::remove_file(&path).unwrap();
        if geteuid().is_root() {
            create_dir(&path).unwrap();
            std::os::unix::fs::chown(&path, Some(65_533), None).unwrap();
            assert_eq!(fault(), PrivateFault::Owner { found: 65_533 });
            std::fs::remove_dir(&path).unwrap();
        }
        set_permissions(parent.path(), Permissions::from_mode(0o777)).unwrap();
        assert_eq!(fault(), PrivateFault::Mode { found: 0o777 });
    }

    #[test]
    fn a_lock_or_a_log_is_not_found_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let mine = folder.path().join("mine.txt");
        std::fs::write(&mine, "mine").unwrap();
        for name in ["start.lock", "broker.log"] {
            symlink(&mine, folder.path().join(name)).unwrap();
        }
        assert!(lock(folder.path(), Instant::now()).is_err() && log(folder.path()).is_err());
        assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
    }
}
