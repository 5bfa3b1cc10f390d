//! The few things that the store, and the spool of a bridge, ask of a disk, and the real disk that does them.
//!
//! [`Disk`] is narrow so that `sim` can stand in for it and lose everything that was not synced. It promises
//! no more than POSIX and Linux do: an append may reach the device in any order, in part, or not at all until
//! [`Disk::sync`] returns; a name that was created or renamed may be lost until [`Disk::sync_dir`] returns;
//! and after a failed sync nobody knows (Rebello et al., "Can Applications Recover from fsync Failures?",
//! 2020). Leaves to `store` what the files mean and what to do about an error.
//!
//! What is appended in whole sectors goes to the device from where it lies, past the page cache (`O_DIRECT`, open(2)):
//! nobody reads it soon, a copy of each byte is saved, and a sync finds nothing left to write, so that its slowest in a
//! hundred is several times faster.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    Advice, FlockOperation, OFlags, fadvise, fcntl_getfl, fcntl_setfl, fdatasync, flock, fsync,
};

use crate::error::Error;
use crate::realtime::join_pages;

/// One folder of files that only grow, until they are written again from their begin. Clones are the same folder, for another
/// thread.
pub trait Disk: Clone {
    /// A file that was created or reused by this disk, open for appending.
    type File;

    /// Creates a file; it is an error when the name exists.
    fn create(&mut self, name: &str) -> io::Result<Self::File>;
    /// Opens a file to write it again from its begin: what is appended goes over what it holds, and what it has behind
    /// that stays, until it is cut.
    fn reuse(&mut self, name: &str) -> io::Result<Self::File>;
    /// Appends `bytes`. After an error any part of them may have been written.
    fn append(&mut self, file: &mut Self::File, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file to `bytes`, which is not more than its length.
    fn truncate(&mut self, file: &mut Self::File, bytes: u64) -> io::Result<()>;
    /// Returns when the file's contents and length are durable. After an error they may never be, and a
    /// second call that succeeds says nothing about them.
    fn sync(&mut self, file: &mut Self::File) -> io::Result<()>;
    /// Makes a file durable that an earlier process wrote, and forgets what is cached of it, so that
    /// [`read`](Self::read) returns what the device holds: pages whose writing failed count as clean, and
    /// would otherwise be read back as if they were stored.
    fn settle(&mut self, name: &str) -> io::Result<()>;
    /// Returns when all names are durable.
    fn sync_dir(&mut self) -> io::Result<()>;
    /// Reads a whole file; one longer than `bytes_max` is an error. One that has another name by then is not found: it may
    /// have been written over meanwhile.
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>>;
    /// Reads what a file holds from byte `at` on, at most `bytes_max` bytes; fewer only at its end. See
    /// [`read`](Self::read).
    fn read_at(&self, name: &str, at: u64, bytes_max: u64) -> io::Result<Vec<u8>>;
    /// All names, in any order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Removes a name.
    fn remove(&mut self, name: &str) -> io::Result<()>;
    /// Gives a file another name, in one step.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;
}

/// True when an error says that there is no room, so that the operation may succeed later.
pub fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A folder of the file system.
#[derive(Clone, Debug)]
pub struct RealDisk {
    path: PathBuf,
    /// The open folder: what `sync_dir` syncs, and what holds the lock.
    folder: Arc<File>,
}

/// A file of a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile {
    file: File,
    /// Appends go here, not to where the system believes the end is: after a failed append that is unknown.
    end: u64,
    cached: Cached,
}

/// Whether appends pass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cached {
    /// They go through it, and may do otherwise.
    Yes,
    /// They go past it.
    No,
    /// They go through it, because the file system has no other way.
    Always,
}

/// Where bytes and their place in memory and file begin and end that go past the page cache: at multiples of this. No
/// disk asks for more (open(2), `O_DIRECT`).
const DIRECT_BYTES: usize = 4096;
/// A large page of x86-64, and of others with pages of 4 KiB.
const LARGE_PAGE_BYTES: usize = 2 << 20;
/// From so many bytes on a buffer is of large pages: of small ones these are sixteen, each of them a piece for the device.
const LARGE_FROM_BYTES: usize = 64 << 10;

/// Empties a buffer for so many bytes that are to go past the page cache, and returns where in it they begin. Many bytes lie
/// in large pages, where the system has any: a device is handed memory by its pieces, and of small pages each is one
/// (`docs/collect.md` says what that saves). To make them takes milliseconds, once: a buffer that has room stays as it is.
pub fn begin_direct(buffer: &mut Vec<u8>, bytes: usize) -> usize {
    let is_large = bytes >= LARGE_FROM_BYTES || buffer.capacity() >= 2 * LARGE_PAGE_BYTES;
    let page_bytes = if is_large { LARGE_PAGE_BYTES } else { DIRECT_BYTES };
    let wanted_bytes = bytes.next_multiple_of(page_bytes) + page_bytes;
    if buffer.capacity() < wanted_bytes {
        *buffer = Vec::with_capacity(wanted_bytes);
        if is_large {
            join_pages(buffer.spare_capacity_mut());
        }
    }
    let first = buffer.as_ptr().align_offset(page_bytes);
    // Only new memory is filled up to there.
    buffer.resize(first, 0);
    first
}

impl RealFile {
    /// Sets whether the next append goes past the page cache: when it can.
    fn direct(&mut self, bytes: &[u8]) {
        let is_whole = |at: usize| at.is_multiple_of(DIRECT_BYTES);
        let wanted = is_whole(bytes.as_ptr().addr()) && is_whole(bytes.len()) && is_whole(self.end as usize);
        match (self.cached, wanted) {
            (Cached::Yes, true) => {
                let set =
                    fcntl_getfl(&self.file).and_then(|flags| fcntl_setfl(&self.file, flags | OFlags::DIRECT));
                self.cached = if set.is_ok() { Cached::No } else { Cached::Always };
            }
            (Cached::No, false) => self.through_cache(Cached::Yes),
            _ => {}
        }
    }

    fn through_cache(&mut self, cached: Cached) {
        let set = fcntl_getfl(&self.file).and_then(|flags| fcntl_setfl(&self.file, flags - OFlags::DIRECT));
        // Where it cannot be taken back, an append of other lengths fails, and that is told.
        if set.is_ok() {
            self.cached = cached;
        }
    }
}

impl RealDisk {
    /// Opens a folder for writing and locks it against other processes; makes it (0700) when it is missing.
    ///
    /// # Errors
    /// [`Error::StoreInUse`] or [`Error::Io`].
    pub fn lock(path: &Path) -> Result<RealDisk, Error> {
        let name = path.display().to_string();
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {
                // A new folder is a name in its parent, and no more durable than any other new name.
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = parent.unwrap_or(Path::new("."));
                let parent_name = parent.display().to_string();
                let synced = File::open(parent).and_then(|parent| Ok(fsync(parent)?));
                synced.map_err(Error::io("sync folder", parent_name))?;
            }
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(Error::io("make folder", name)(cause)),
        }
        let disk = RealDisk::open(path).map_err(Error::io("open folder", name.clone()))?;
        match flock(&disk.folder, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(disk),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::StoreInUse { path: path.to_owned() }),
            Err(cause) => Err(Error::io("lock folder", name)(cause.into())),
        }
    }

    /// Opens a folder for reading, locked or not: what is synced in it does not change.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<RealDisk> {
        Ok(RealDisk { path: path.to_owned(), folder: Arc::new(File::open(path)?) })
    }

    /// Not found, when a file does not have this name any more.
    fn check_name(&self, name: &str, file: &File) -> io::Result<()> {
        let (named, opened) = (fs::metadata(self.path.join(name))?, file.metadata()?);
        let is_same = (named.dev(), named.ino()) == (opened.dev(), opened.ino());
        if is_same { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn create(&mut self, name: &str) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(self.path.join(name))?;
        Ok(RealFile { file, end: 0, cached: Cached::Yes })
    }

    fn reuse(&mut self, name: &str) -> io::Result<RealFile> {
        let file = OpenOptions::new().write(true).open(self.path.join(name))?;
        Ok(RealFile { file, end: 0, cached: Cached::Yes })
    }

    fn append(&mut self, file: &mut RealFile, bytes: &[u8]) -> io::Result<()> {
        file.direct(bytes);
        let mut written = file.file.write_all_at(bytes, file.end);
        // Some file systems take the flag and then no write; and what is left of a short write is in no whole sectors.
        if file.cached == Cached::No
            && matches!(&written, Err(cause) if cause.kind() == io::ErrorKind::InvalidInput)
        {
            file.through_cache(Cached::Always);
            written = file.file.write_all_at(bytes, file.end);
        }
        written?;
        file.end += bytes.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, file: &mut RealFile, bytes: u64) -> io::Result<()> {
        file.file.set_len(bytes)?;
        file.end = bytes;
        Ok(())
    }

    fn sync(&mut self, file: &mut RealFile) -> io::Result<()> {
        // fdatasync also writes the length: the data could not be read back without it (fdatasync(2)).
        Ok(fdatasync(&file.file)?)
    }

    fn settle(&mut self, name: &str) -> io::Result<()> {
        let file = File::open(self.path.join(name))?;
        fdatasync(&file)?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        Ok(fsync(&self.folder)?)
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = File::open(self.path.join(name))?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::with_capacity(length.min(bytes_max) as usize);
        let read = (&file).take(bytes_max + 1).read_to_end(&mut bytes)? as u64;
        self.check_name(name, &file)?;
        if read > bytes_max {
            let words = format!("found more than {bytes_max} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
        Ok(bytes)
    }

    fn read_at(&self, name: &str, at: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.path.join(name))?;
        let length = file.metadata()?.len();
        let mut bytes = Vec::with_capacity(length.saturating_sub(at).min(bytes_max) as usize);
        file.seek(SeekFrom::Start(at))?;
        (&file).take(bytes_max).read_to_end(&mut bytes)?;
        self.check_name(name, &file)?;
        Ok(bytes)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        // A name that is no text is none of the store's.
        let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().into_string().ok());
        fs::read_dir(&self.path)?.filter_map(|entry| name(entry).transpose()).collect()
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let first = RealDisk::lock(&path).unwrap();
        assert!(matches!(RealDisk::lock(&path), Err(Error::StoreInUse { .. })));
        drop(first);
        RealDisk::lock(&path).unwrap();
    }

    #[test]
    fn appends_in_whole_sectors_and_in_others_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = RealDisk::lock(folder.path()).unwrap();
        let mut file = disk.create("a").unwrap();
        let pool: Vec<u8> = (0..5 * DIRECT_BYTES).map(|at| (at / 7) as u8).collect();
        let first = pool.as_ptr().align_offset(DIRECT_BYTES);
        let mut expected = Vec::new();
        // Whole sectors from whole sectors; from elsewhere in memory; a part of one, and then at no whole sector; and what
        // is left to one, and whole ones again.
        let (whole, other) = (first, first + 1);
        let lengths = [2 * DIRECT_BYTES, DIRECT_BYTES, 5, DIRECT_BYTES, DIRECT_BYTES - 5, 3 * DIRECT_BYTES];
        for (at, length) in [whole, other, whole, whole, other, whole].into_iter().zip(lengths) {
            disk.append(&mut file, &pool[at..at + length]).unwrap();
            expected.extend_from_slice(&pool[at..at + length]);
            assert_eq!(disk.read("a", 1 << 20).unwrap(), expected);
            disk.sync(&mut file).unwrap();
        }
        disk.settle("a").unwrap();
        assert_eq!(disk.read("a", 1 << 20).unwrap(), expected);
        if file.cached == Cached::Always {
            eprintln!("skip: appends past the page cache: the file system of temporary files has none");
        }
    }

    #[test]
    fn many_bytes_begin_with_a_large_page_and_stay_there() {
        let mut buffer = Vec::new();
        let mut begin = |bytes: usize| {
            let first = begin_direct(&mut buffer, bytes);
            assert_eq!(buffer.len(), first);
            let place = buffer.as_ptr().addr() + first;
            assert!(place.is_multiple_of(DIRECT_BYTES), "{place:#x}");
            buffer.resize(first + bytes, 7);
            assert_eq!(buffer.as_ptr().addr() + first, place, "{bytes} B had room");
            place
        };
        begin(5000);
        let small = begin(LARGE_FROM_BYTES - 1);
        assert_eq!(begin(1), small, "few bytes stay in small pages");
        let large = begin(LARGE_FROM_BYTES);
        assert!(large.is_multiple_of(LARGE_PAGE_BYTES), "{large:#x}");
        assert_eq!([1, LARGE_PAGE_BYTES].map(&mut begin), [large; 2], "nothing moves that has room");
        assert!(begin(LARGE_PAGE_BYTES + 1).is_multiple_of(LARGE_PAGE_BYTES));
    }

    #[test]
    fn appends_follow_a_truncation() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = RealDisk::lock(folder.path()).unwrap();
        let mut file = disk.create("a").unwrap();
        disk.append(&mut file, b"one two").unwrap();
        disk.truncate(&mut file, 3).unwrap();
        disk.append(&mut file, b" three").unwrap();
        disk.sync(&mut file).unwrap();
        disk.rename("a", "b").unwrap();
        disk.sync_dir().unwrap();
        disk.settle("b").unwrap();
        assert_eq!(disk.list().unwrap(), ["b"]);
        assert_eq!(disk.read("b", 9).unwrap(), b"one three");
        assert_eq!(disk.read("b", 8).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(disk.read_at("b", 4, 3).unwrap(), b"thr");
        assert_eq!(disk.read_at("b", 7, 9).unwrap(), b"ee");
        assert_eq!(disk.read_at("b", 10, 9).unwrap(), b"");
        assert_eq!(disk.create("b").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        disk.remove("b").unwrap();
        assert!(disk.list().unwrap().is_empty());
    }
}
