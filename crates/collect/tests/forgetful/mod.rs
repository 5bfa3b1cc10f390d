//! A real file system (FUSE) that keeps what was not synced apart, and forgets it when it is told to crash.
//!
//! One folder, whole files in memory, no cache in the kernel (direct I/O, no time-to-live), so that every
//! call of the program under test arrives here. Tearing is the simulated disk's task; this one shows that the
//! right system calls are made. The link's own test of power cuts (`selvedge`) includes this file.
#![allow(dead_code)] // each program that includes it uses some of it

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BackgroundSession, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

const NO_CACHE: Duration = Duration::ZERO;

/// Which syncs do what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Honesty {
    pub fsync: bool,
    pub fsync_dir: bool,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    cached: Vec<u8>,
    durable: Vec<u8>,
}

#[derive(Debug)]
struct State {
    honesty: Honesty,
    inodes: Vec<Inode>,
    cached_names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    syncs: u64,
    /// Bytes that all files together may have.
    room_bytes: usize,
    /// So many syncs of files more fail.
    syncs_to_fail: u64,
}

/// The file system. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Forgetful(Arc<Mutex<State>>);

/// Why this machine cannot run a test, if it cannot.
pub fn skip() -> bool {
    let device = Path::new("/dev/fuse").exists();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mount = std::env::split_paths(&path).any(|folder| folder.join("fusermount3").exists());
    if device && mount {
        return false;
    }
    let reason =
        if device { "fusermount3 is not installed (package fuse3)" } else { "/dev/fuse is not there" };
    println!("skip: fuse: {reason}");
    let must_run = device && std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(!must_run, "in CI this test must run where there is a device: {reason}");
    true
}

/// A fork of one test holds the open files of the others for a moment, and a file system with open files
/// cannot be unmounted.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Forgetful {
    /// Makes it the folder at `path`, until the session ends.
    pub fn mount(&self, path: &Path) -> BackgroundSession {
        let mut config = fuser::Config::default();
        config.mount_options = vec![MountOption::FSName("forgetful".to_owned()), MountOption::NoAtime];
        fuser::spawn_mount(self.clone(), path, &config).expect("the file system can be mounted")
    }

    pub fn new(honesty: Honesty) -> Forgetful {
        let (inodes, cached_names, durable_names) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        let (syncs, room_bytes, syncs_to_fail) = (0, usize::MAX, 0);
        Forgetful(Arc::new(Mutex::new(State {
            honesty,
            inodes,
            cached_names,
            durable_names,
            syncs,
            room_bytes,
            syncs_to_fail,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Power is cut: only what was synced is left. Returns how many bytes were forgotten.
    pub fn crash(&self) -> usize {
        let mut state = self.state();
        let State { inodes, cached_names, durable_names, .. } = &mut *state;
        cached_names.clone_from(durable_names);
        let forgotten = inodes.iter().map(|inode| inode.cached.len().abs_diff(inode.durable.len())).sum();
        inodes.iter_mut().for_each(|inode| inode.cached.clone_from(&inode.durable));
        forgotten
    }

    /// Leaves room for so many bytes more; writes beyond are short, and then fail with ENOSPC.
    pub fn set_room_left(&self, bytes: usize) {
        let mut state = self.state();
        state.room_bytes = state.used_bytes().saturating_add(bytes);
    }

    /// The next `count` syncs of files fail with EIO.
    pub fn fail_syncs(&self, count: u64) {
        self.state().syncs_to_fail = count;
    }

    /// How often contents were synced.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }
}

/// File inodes begin behind the root's number.
const FIRST: u64 = 2;

impl State {
    fn index(&self, inode: INodeNo) -> Option<usize> {
        inode.0.checked_sub(FIRST).map(|index| index as usize).filter(|&index| index < self.inodes.len())
    }

    fn used_bytes(&self) -> usize {
        self.cached_names.values().map(|&index| self.inodes[index].cached.len()).sum()
    }

    fn named(&self, name: &OsStr) -> Option<usize> {
        self.cached_names.get(name.to_str()?).copied()
    }

    fn attr(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0),
            inode => (FileType::RegularFile, self.inodes[self.index(inode)?].cached.len() as u64),
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

fn number(index: usize) -> INodeNo {
    INodeNo(FIRST + index as u64)
}

impl Filesystem for Forgetful {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        match state.named(name).and_then(|index| state.attr(number(index))) {
            Some(attr) => reply.entry(&NO_CACHE, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.state().attr(inode) {
            Some(attr) => reply.attr(&NO_CACHE, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.state();
        if let (Some(index), Some(size)) = (state.index(inode), size) {
            state.inodes[index].cached.resize(size as usize, 0);
        }
        match state.attr(inode) {
            Some(attr) => reply.attr(&NO_CACHE, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        let mut state = self.state();
        let index = state.inodes.len();
        state.inodes.push(Inode::default());
        state.cached_names.insert(name.to_str().unwrap().to_owned(), index);
        let attr = state.attr(number(index)).unwrap();
        reply.created(&NO_CACHE, &attr, Generation(0), FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.state();
        let Some(index) = state.index(inode) else { return reply.error(Errno::ENOENT) };
        let contents = &state.inodes[index].cached;
        let from = contents.len().min(offset as usize);
        reply.data(&contents[from..contents.len().min(from + size as usize)]);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut state = self.state();
        let Some(index) = state.index(inode) else { return reply.error(Errno::ENOENT) };
        let room = state.room_bytes.saturating_sub(state.used_bytes());
        let contents = &mut state.inodes[index].cached;
        let from = offset as usize;
        let overwritten = contents.len().saturating_sub(from);
        let data = &data[..data.len().min(overwritten + room)];
        if data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let to = from + data.len();
        contents.resize(contents.len().max(to), 0);
        contents[from..to].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        let Some(index) = state.index(inode) else { return reply.error(Errno::ENOENT) };
        if state.syncs_to_fail > 0 {
            state.syncs_to_fail -= 1;
            return reply.error(Errno::EIO);
        }
        state.syncs += 1;
        if state.honesty.fsync {
            let inode = &mut state.inodes[index];
            inode.durable.clone_from(&inode.cached);
        }
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        if state.honesty.fsync_dir {
            state.durable_names = state.cached_names.clone();
        }
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.state();
        for (place, (name, &index)) in (1..).zip(&state.cached_names).skip(offset as usize) {
            if reply.add(number(index), place, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.state().cached_names.remove(name.to_str().unwrap()) {
            Some(_) => reply.ok(),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn rename(
        &self,
        _: &Request,
        _: INodeNo,
        name: &OsStr,
        _: INodeNo,
        to: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let mut state = self.state();
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && state.named(to).is_some() {
            return reply.error(Errno::EEXIST);
        }
        match state.cached_names.remove(name.to_str().unwrap()) {
            Some(index) => {
                state.cached_names.insert(to.to_str().unwrap().to_owned(), index);
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }
}
