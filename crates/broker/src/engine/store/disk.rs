//! The few things that a store asks of a disk, and the folder that does them.
//!
//! [`Disk`] is narrow so that a test can stand in for it and lose whatever was not synced. Leaves to `store` what the files
//! mean.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, fdatasync, flock, fsync, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::{Error, StoreFault};

/// A few files.
pub trait Disk: Send {
    /// A whole file; none if there is none. One that is longer than `bytes_max` is an error.
    ///
    /// # Errors
    /// The system's.
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>>;

    /// Writes into a file that is there, makes `bytes` its end, and returns when that is durable. After an error nobody
    /// knows what is behind `at`; that there is no room is one of writing, before anything is synced.
    ///
    /// # Errors
    /// The system's.
    fn write(&mut self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes a file that will be `name`, and returns when its contents are durable. After an error there is none.
    ///
    /// # Errors
    /// The system's.
    fn prepare(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Gives what was prepared its name, in one step, and returns when that is durable.
    ///
    /// # Errors
    /// The system's; the name may be the old file's or the new one's.
    fn place(&mut self, name: &str) -> io::Result<()>;

    /// Forgets what was prepared and did not get its name.
    ///
    /// # Errors
    /// The system's.
    fn discard(&mut self, name: &str) -> io::Result<()>;
}

/// A folder of the file system that only its owner, who runs us, can enter; locked against other processes.
/// Clones are the same folder, and it is locked while one of them is there.
#[derive(Clone, Debug)]
pub struct Folder {
    folder: Arc<File>,
}

impl Folder {
    /// Opens the folder at `path`, which is made if it is not there. Its parent must be.
    ///
    /// # Errors
    /// [`Error::Store`] when others can enter it or another process uses it; [`Error::Io`].
    pub fn lock(path: &Path) -> Result<Folder, Error> {
        let failed = |doing| move |source| Error::Io { doing, path: path.to_owned(), source };
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {
                // A new folder is a name in its parent, and no more durable than any other new name.
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = File::open(parent.unwrap_or(Path::new(".")));
                parent.and_then(|parent| Ok(fsync(parent)?)).map_err(failed("sync the folder of"))?;
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(failed("make")(cause)),
        }
        let folder = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path);
        let folder = folder.map_err(failed("open"))?;
        let metadata = folder.metadata().map_err(failed("examine"))?;
        let fault = |fault| Error::Store { path: path.to_owned(), fault };
        if metadata.mode() & 0o077 != 0 || metadata.uid() != geteuid().as_raw() {
            return Err(fault(StoreFault::Open { mode: metadata.mode() & 0o7777, owner: metadata.uid() }));
        }
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Folder { folder: Arc::new(folder) }),
            Err(Errno::WOULDBLOCK) => Err(fault(StoreFault::InUse)),
            Err(errno) => Err(failed("lock")(errno.into())),
        }
    }

    /// Opens a file of this folder, wherever the folder is by now.
    fn open(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mode = Mode::from_raw_mode(0o600);
        Ok(openat(&self.folder, name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode)?.into())
    }
}

impl Disk for Folder {
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.open(name, OFlags::RDONLY) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = Vec::new();
        if file.take(bytes_max + 1).read_to_end(&mut bytes)? as u64 > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(Some(bytes))
    }

    fn write(&mut self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.open(name, OFlags::WRONLY)?;
        file.write_all_at(bytes, at)?;
        file.set_len(at + bytes.len() as u64)?;
        // It also writes the length: the data could not be read back without it (fdatasync(2)). That there is no room on
        // the disk was said by the write; what only a sync finds out is a failed sync.
        fdatasync(&file).map_err(|errno| io::Error::other(io::Error::from(errno)))
    }

    fn prepare(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let fresh = fresh(name);
        let written = (|| {
            let file = self.open(&fresh, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
            file.write_all_at(bytes, 0)?;
            Ok(fdatasync(&file)?)
        })();
        if written.is_err() {
            // It is cut when it is written again.
            let _ = unlinkat(&self.folder, &fresh, AtFlags::empty());
        }
        written
    }

    fn place(&mut self, name: &str) -> io::Result<()> {
        renameat(&self.folder, fresh(name), &self.folder, name)?;
        Ok(fsync(&self.folder)?)
    }

    fn discard(&mut self, name: &str) -> io::Result<()> {
        match unlinkat(&self.folder, fresh(name), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// What a file is called until it gets its name.
fn fresh(name: &str) -> String {
    format!("{name}.new")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_is_moved_while_it_is_locked_stays_the_one_that_is_used() {
        let place = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| place.path().join(name));
        let mut folder = Folder::lock(&here).unwrap();
        folder.prepare("keys", b"one").unwrap();
        folder.place("keys").unwrap();
        fs::rename(&here, &there).unwrap();
        fs::create_dir(&here).unwrap();
        fs::write(here.join("keys"), b"another's").unwrap();
        assert_eq!(folder.read("keys", 100).unwrap().as_deref(), Some(&b"one"[..]));
        folder.write("keys", 3, b" two").unwrap();
        folder.prepare("anchor", b"here").unwrap();
        folder.place("anchor").unwrap();
        folder.prepare("other", b"").unwrap();
        folder.discard("other").unwrap();
        folder.discard("other").unwrap();
        assert_eq!(fs::read(there.join("keys")).unwrap(), b"one two");
        assert_eq!(fs::read(here.join("keys")).unwrap(), b"another's");
        assert_eq!((fs::read_dir(&there).unwrap().count(), fs::read_dir(&here).unwrap().count()), (2, 1));
    }

    #[test]
    fn a_link_is_no_file_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::lock(&place.path().join("keys")).unwrap();
        let outside = place.path().join("outside");
        fs::write(&outside, b"outside").unwrap();
        std::os::unix::fs::symlink(&outside, place.path().join("keys/keys")).unwrap();
        assert!(folder.read("keys", 100).is_err() && folder.write("keys", 0, b"x").is_err());
        assert_eq!(fs::read(&outside).unwrap(), b"outside");
    }
}
