//! A folder of secrets: how its files come to be, and what is checked before one is believed.
//!
//! Owns permissions, owners, durability. A file is written under another name, synced, and given its name,
//! a secret only if nobody else has: a crash leaves no half of one, and two processes agree on one; but for a file that is
//! written in place, whose bytes are `halves`'. Everything is opened relative to the folder's descriptor and without
//! following links, and what was opened is what is checked. Which secrets there are is `keys`' and `certificates'`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use zeroize::Zeroizing;

use crate::error::{Error, KeyFault};
use crate::limits::SECRET_BYTES_MAX;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
const NOT_FOLLOWED: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC);

/// An open folder that only its owner, who runs us, can enter.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl Folder {
    /// Opens the folder at `path`.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_at(CWD, path, path.into())
    }

    /// Opens the folder at `path`, which is made if it is not there. Its parent must be.
    pub fn create(path: &Path) -> Result<Self, Error> {
        Self::create_at(CWD, path, path.into())?;
        Self::open(path)
    }

    /// The same folder, for somebody else.
    pub fn try_clone(&self) -> Result<Self, Error> {
        let descriptor = self.descriptor.try_clone();
        let descriptor =
            descriptor.map_err(|source| Error::Io { action: "open", path: self.path.clone(), source })?;
        Ok(Folder { path: self.path.clone(), descriptor })
    }

    /// The folder `name` in this one, made if it is not there.
    pub fn create_below(&self, name: &str) -> Result<Self, Error> {
        let path = self.path.join(name);
        Self::create_at(&self.descriptor, Path::new(name), path.clone())?;
        Self::open_at(&self.descriptor, Path::new(name), path)
    }

    /// The folder `name` in this one.
    pub fn open_below(&self, name: &str) -> Result<Self, Error> {
        Self::open_at(&self.descriptor, Path::new(name), self.path.join(name))
    }

    fn create_at(parent: impl std::os::fd::AsFd + Copy, name: &Path, path: PathBuf) -> Result<(), Error> {
        match fs::mkdirat(parent, name, Mode::from_raw_mode(FOLDER_MODE)) {
            Ok(()) => {
                // A key that is used must not vanish with its folder in a power cut.
                let above =
                    name.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let above = fs::openat(parent, above, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
                above.and_then(fs::fsync).map_err(|errno| failed("sync the folder of", &path, errno))
            }
            Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(failed("create", &path, errno)),
        }
    }

    fn open_at(parent: impl std::os::fd::AsFd, name: &Path, path: PathBuf) -> Result<Self, Error> {
        let flags = NOT_FOLLOWED | OFlags::DIRECTORY | OFlags::RDONLY;
        let descriptor = fs::openat(parent, name, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOENT => fault(&path, KeyFault::Missing),
            // Linux answers NOTDIR for a link that is not followed where a folder is wanted.
            Errno::LOOP | Errno::NOTDIR => fault(&path, KeyFault::NotAFolder),
            errno => failed("open", &path, errno),
        })?;
        let stat = fs::fstat(&descriptor).map_err(|errno| failed("examine", &path, errno))?;
        owned(&stat, FOLDER_MODE).map_err(|key_fault| fault(&path, key_fault))?;
        Ok(Folder { path, descriptor })
    }

    /// Where a file of the folder lies, for messages and for other programs.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The content of the file `name`, after checking that nobody else can read or write it.
    pub fn read(&self, name: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let path = self.path(name);
        let descriptor = self.open_file(name, OFlags::RDONLY)?;
        // Room for everything at once: a vector that grows leaves copies behind.
        let mut content = Zeroizing::new(Vec::with_capacity(SECRET_BYTES_MAX + 1));
        let file = File::from(descriptor).take(SECRET_BYTES_MAX as u64 + 1);
        { file }.read_to_end(&mut content).map_err(|source| Error::Io {
            action: "read",
            path: path.clone(),
            source,
        })?;
        if content.len() > SECRET_BYTES_MAX {
            return Err(fault(&path, KeyFault::TooLong));
        }
        Ok(content)
    }

    /// The file `name`, to be written in place, after the same checks.
    pub fn open_in_place(&self, name: &str) -> Result<File, Error> {
        self.open_file(name, OFlags::RDWR).map(File::from)
    }

    fn open_file(&self, name: &str, access: OFlags) -> Result<OwnedFd, Error> {
        let path = self.path(name);
        // NONBLOCK: opening a pipe that somebody left here must not wait for its other end.
        let flags = NOT_FOLLOWED | access | OFlags::NONBLOCK;
        let descriptor =
            fs::openat(&self.descriptor, name, flags, Mode::empty()).map_err(|errno| match errno {
                Errno::NOENT => fault(&path, KeyFault::Missing),
                Errno::LOOP => fault(&path, KeyFault::Symlink),
                errno => failed("open", &path, errno),
            })?;
        let stat = fs::fstat(&descriptor).map_err(|errno| failed("examine", &path, errno))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(fault(&path, KeyFault::NotAFile));
        }
        owned(&stat, FILE_MODE).map_err(|key_fault| fault(&path, key_fault))?;
        Ok(descriptor)
    }

    /// The device and number of the file that has the name now; `None` when there is none.
    pub fn identity(&self, name: &str) -> Option<(u64, u64)> {
        let stat = fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some((stat.st_dev, stat.st_ino))
    }

    /// The content of the file `name`, which is written from `make` if it is not there.
    pub fn read_or_write(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Zeroizing<Vec<u8>>, Error>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self.read(name) {
            Err(Error::Key { fault: KeyFault::Missing, .. }) => {}
            found => return found,
        }
        self.write(name, &make()?, RenameFlags::NOREPLACE)?;
        // Read again: if another process was first, its content is the one.
        self.read(name)
    }

    /// Writes `content` in place of the file `name`, if there is one, in one step.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        self.write(name, content, RenameFlags::empty())
    }

    /// The names of what is in the folder, in any order; of those that are text.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let failed = |errno| failed("list", &self.path, errno);
        let entries = fs::Dir::read_from(&self.descriptor).map_err(failed)?;
        let name = |entry: Result<fs::DirEntry, Errno>| match entry {
            Ok(entry) => entry.file_name().to_str().ok().map(|name| Ok(name.to_owned())),
            Err(errno) => Some(Err(failed(errno))),
        };
        entries.filter_map(name).collect()
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let removed = fs::unlinkat(&self.descriptor, name, AtFlags::empty());
        removed
            .and_then(|()| fs::fsync(&self.descriptor))
            .map_err(|errno| failed("remove", &self.path(name), errno))
    }

    /// Makes durable which files have which names.
    pub fn sync(&self) -> Result<(), Error> {
        fs::fsync(&self.descriptor).map_err(|errno| failed("sync", &self.path, errno))
    }

    /// Waits until nobody else has the folder locked, and locks it until the descriptor is dropped.
    pub fn lock(&self) -> Result<OwnedFd, Error> {
        let locked = self.locked(".", FlockOperation::LockExclusive);
        locked.map_err(|errno| failed("lock", &self.path, errno))
    }

    /// Locks the folder until the descriptor is dropped; `None` when somebody else has.
    pub fn try_lock(&self) -> Result<Option<OwnedFd>, Error> {
        self.try_lock_file(".")
    }

    /// Locks the file `name` until the descriptor is dropped; `None` when somebody else has.
    pub fn try_lock_file(&self, name: &str) -> Result<Option<OwnedFd>, Error> {
        match self.locked(name, FlockOperation::NonBlockingLockExclusive) {
            Ok(descriptor) => Ok(Some(descriptor)),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(errno) => Err(failed("lock", &self.path(name), errno)),
        }
    }

    fn locked(&self, name: &str, operation: FlockOperation) -> Result<OwnedFd, Errno> {
        // Its own open file: a lock belongs to that, and two threads may share ours.
        let flags = NOT_FOLLOWED | OFlags::RDONLY | OFlags::NONBLOCK;
        let descriptor = fs::openat(&self.descriptor, name, flags, Mode::empty())?;
        fs::flock(&descriptor, operation)?;
        Ok(descriptor)
    }

    fn write(&self, name: &str, content: &[u8], rename: RenameFlags) -> Result<(), Error> {
        let path = self.path(name);
        let fresh = format!(".{name}.{}.new", std::process::id());
        let flags = NOT_FOLLOWED | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        // A file of that name is what a crashed process with our number left unfinished: nobody uses it.
        let _ = fs::unlinkat(&self.descriptor, &fresh, AtFlags::empty());
        let descriptor = fs::openat(&self.descriptor, &fresh, flags, Mode::from_raw_mode(FILE_MODE))
            .map_err(|errno| failed("create", &path, errno))?;
        let mut file = File::from(descriptor);
        let io = |source| Error::Io { action: "write", path: path.clone(), source };
        let written = file.write_all(content).and_then(|()| file.sync_all());
        let named = written.map_err(io).and_then(|()| {
            match fs::renameat_with(&self.descriptor, &fresh, &self.descriptor, name, rename) {
                Ok(()) => Ok(()),
                Err(Errno::EXIST) => fs::unlinkat(&self.descriptor, &fresh, AtFlags::empty())
                    .map_err(|errno| failed("remove a copy of", &path, errno)),
                Err(errno) => Err(failed("name", &path, errno)),
            }
        });
        if named.is_err() {
            // The first error is the one to tell.
            let _ = fs::unlinkat(&self.descriptor, &fresh, AtFlags::empty());
        }
        named?;
        fs::fsync(&self.descriptor).map_err(|errno| failed("sync the folder of", &path, errno))
    }
}

/// Whether the owner is the user who runs us and nobody else has a right.
fn owned(stat: &Stat, expected: u32) -> Result<(), KeyFault> {
    let (found, user) = (stat.st_uid, rustix::process::geteuid().as_raw());
    if found != user {
        return Err(KeyFault::Owner { found, expected: user });
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o077 != 0 { Err(KeyFault::Mode { found: mode, expected }) } else { Ok(()) }
}

fn fault(path: &Path, fault: KeyFault) -> Error {
    Error::Key { path: path.into(), fault }
}

fn failed(action: &'static str, path: &Path, errno: Errno) -> Error {
    Error::Io { action, path: path.into(), source: io::Error::from(errno) }
}
