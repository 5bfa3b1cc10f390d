//! The few things that a store asks of a disk, and the folder that does them.
//!
//! [`Disk`] is narrow so that a test can stand in for it and lose whatever was not synced. Leaves to `store` what the files
//! mean.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, fdatasync, flock, fsync};
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
    path: PathBuf,
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
            Ok(()) => Ok(Folder { path: path.to_owned(), folder: Arc::new(folder) }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(fault(StoreFault::InUse)),
            Err(errno) => Err(failed("lock")(errno.into())),
        }
    }

    fn fresh(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.new"))
    }
}

impl Disk for Folder {
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path.join(name)) {
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
        let file = OpenOptions::new().write(true).open(self.path.join(name))?;
        file.write_all_at(bytes, at)?;
        file.set_len(at + bytes.len() as u64)?;
        // It also writes the length: the data could not be read back without it (fdatasync(2)). That there is no room on
        // the disk was said by the write; what only a sync finds out is a failed sync.
        fdatasync(&file).map_err(|errno| io::Error::other(io::Error::from(errno)))
    }

    fn prepare(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.fresh(name);
        let written = (|| {
            let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all_at(bytes, 0)?;
            Ok(fdatasync(&file)?)
        })();
        if written.is_err() {
            // It is cut when it is written again.
            let _ = fs::remove_file(&path);
        }
        written
    }

    fn place(&mut self, name: &str) -> io::Result<()> {
        fs::rename(self.fresh(name), self.path.join(name))?;
        Ok(fsync(&self.folder)?)
    }

    fn discard(&mut self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.fresh(name)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => Ok(()),
        }
    }
}
