//! A disk that loses whatever was not synced, and tears it.
//!
//! Each file has what the device holds and a list of changes that are only cached. When power is cut, every
//! sector of 512 bytes that was being written keeps any of its versions, or becomes noise; the length is any
//! that the file has had since its last sync, or one in between; and any subset of the name changes happens.
//! A sync that fails leaves the cache as it was and marks it clean, as Linux does, so that later syncs skip
//! it.
//!
//! The disk is also a witness: it reads what is appended to segments (any other file is only bytes) and
//! remembers which record was sealed under which segment id and index, so that it sees a nonce that is used
//! twice even when neither record survives.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::Disk;
use crate::segment::{GROUP_HEAD_BYTES, HEADER_BYTES};
use crate::sim::Dice;

const SECTOR_BYTES: usize = 512;

/// What of a disk works. The default is an honest disk; each `false` is a bug that a test must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Honesty {
    /// `sync` makes contents durable.
    pub sync: bool,
    /// `sync_dir` makes names durable.
    pub sync_dir: bool,
    /// `settle` makes contents durable and forgets what is cached.
    pub settle: bool,
}

impl Honesty {
    /// A disk that does what it says.
    pub const FULL: Honesty = Honesty { sync: true, sync_dir: true, settle: true };
}

/// A simulated folder. Clones are the same folder, so that it outlives the process that uses it.
#[derive(Clone, Debug)]
pub struct SimDisk(Arc<Mutex<State>>);

/// An open file of a [`SimDisk`].
#[derive(Debug)]
pub struct SimFile {
    inode: usize,
    /// Where the next append goes.
    end: usize,
}

#[derive(Debug)]
struct State {
    dice: Dice,
    honesty: Honesty,
    inodes: Vec<Inode>,
    cached_names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    name_changes: Vec<NameChange>,
    /// Operations until the process stops, and why; `None` = not planned.
    stop: Option<(u64, Stop)>,
    /// Bytes that all files together may have.
    room_bytes: usize,
    /// A sync fails once in so many times; 0 = never.
    sync_error_every: u32,
    /// So many syncs more fail, whatever else.
    syncs_to_fail: u64,
    /// Whole files that were read.
    reads: u64,
    sealed: HashMap<([u8; 32], u64), Vec<u8>>,
    nonce_reused: Option<([u8; 32], u64)>,
    power_cuts: u64,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    durable: Vec<u8>,
    cached: Vec<u8>,
    /// The contents after each change since the last sync; the last one equals `cached` unless a sync failed.
    versions: Vec<Vec<u8>>,
    /// The segment id, once the header is written.
    segment: Option<[u8; 32]>,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, usize),
    Remove(String),
    Rename(String, String, usize),
}

/// Why a process stops in the middle of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is killed. What is cached stays cached, and the next process reads it.
    Kill,
    /// The power is cut.
    Power,
}

fn stopped() -> io::Error {
    io::Error::other("the process was stopped")
}

impl SimDisk {
    /// An empty folder.
    pub fn new(dice: Dice, honesty: Honesty) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(State {
            dice,
            honesty,
            inodes: Vec::new(),
            cached_names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            name_changes: Vec::new(),
            stop: None,
            room_bytes: usize::MAX,
            sync_error_every: 0,
            syncs_to_fail: 0,
            reads: 0,
            sealed: HashMap::new(),
            nonce_reused: None,
            power_cuts: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no operation of the disk panics")
    }

    /// Stops the process in the middle of its operation number `operations`, counted from now and from 1,
    /// unless a stop is planned already.
    pub fn plan_stop(&self, operations: u64, stop: Stop) {
        self.state().stop.get_or_insert((operations, stop));
    }

    /// The process that used the disk is gone. Says what stopped it, if that was planned and has happened;
    /// the caller then cuts the power, or not.
    pub fn process_ended(&self) -> Option<Stop> {
        self.state().stop.take().filter(|&(left, _)| left == 0).map(|(_, stop)| stop)
    }

    /// Limits the bytes of all files together.
    pub fn set_room(&self, room_bytes: usize) {
        self.state().room_bytes = room_bytes;
    }

    /// Bytes of all files together, cached or not.
    pub fn used_bytes(&self) -> usize {
        self.state().used_bytes()
    }

    /// Lets one sync in `every` fail; 0 = none.
    pub fn set_sync_errors(&self, every: u32) {
        self.state().sync_error_every = every;
    }

    /// Lets the next `count` syncs fail.
    pub fn fail_syncs(&self, count: u64) {
        self.state().syncs_to_fail = count;
    }

    /// Files that were created.
    pub fn files_made(&self) -> usize {
        self.state().inodes.len()
    }

    /// How often a whole file was read.
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// The machine loses power: only what is durable remains, and parts of what was being written.
    pub fn cut_power(&self) {
        self.state().cut_power();
    }

    /// The segment id and index under which two different records were sealed, if that ever happened.
    pub fn nonce_reused(&self) -> Option<([u8; 32], u64)> {
        self.state().nonce_reused
    }

    /// How often the power was cut.
    pub fn power_cuts(&self) -> u64 {
        self.state().power_cuts
    }

    /// Changes one byte of a file, on the device too: damage that no write explains.
    pub fn damage(&self, name: &str, at: usize, mask: u8) {
        let mut state = self.state();
        let inode = state.cached_names[name];
        let inode = &mut state.inodes[inode];
        inode.durable[at] ^= mask;
        inode.cached[at] ^= mask;
    }

    /// Cuts a file, on the device too.
    pub fn cut(&self, name: &str, bytes: usize) {
        let mut state = self.state();
        let inode = state.cached_names[name];
        let inode = &mut state.inodes[inode];
        inode.durable.truncate(bytes);
        inode.cached.truncate(bytes);
    }
}

impl State {
    /// One operation passes; false when the process stops in the middle of it.
    fn tick(&mut self) -> io::Result<bool> {
        match &mut self.stop {
            None => Ok(true),
            Some((0, _)) => Err(stopped()),
            Some((left, _)) => {
                *left -= 1;
                Ok(*left > 0)
            }
        }
    }

    fn used_bytes(&self) -> usize {
        self.cached_names.values().map(|&inode| self.inodes[inode].cached.len()).sum()
    }

    fn inode(&self, name: &str) -> io::Result<usize> {
        self.cached_names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_name(&mut self, change: NameChange) -> io::Result<()> {
        let whole = self.tick()?;
        change.apply(&mut self.cached_names);
        self.name_changes.push(change);
        if whole { Ok(()) } else { Err(stopped()) }
    }

    fn change(&mut self, inode: usize, contents: Vec<u8>) {
        let inode = &mut self.inodes[inode];
        inode.cached.clone_from(&contents);
        inode.versions.push(contents);
    }

    fn sync_inode(&mut self, inode: usize, whole: bool) -> io::Result<()> {
        if !whole {
            // Stopped in the middle: what the device has got by then is drawn by `cut_power`.
            return Err(stopped());
        }
        let is_to_fail = self.syncs_to_fail > 0;
        self.syncs_to_fail -= u64::from(is_to_fail);
        if is_to_fail || self.sync_error_every > 0 && self.dice.below(self.sync_error_every) == 0 {
            let torn = self.inodes[inode].torn(&mut self.dice);
            let inode = &mut self.inodes[inode];
            inode.durable = torn;
            inode.versions.clear();
            return Err(io::Error::other("input/output error"));
        }
        let inode = &mut self.inodes[inode];
        // What a failed sync marked clean is skipped. (A write after a failed sync would bring it back here,
        // but the store makes none.)
        if let Some(last) = inode.versions.last() {
            inode.durable.clone_from(last);
        }
        inode.versions.clear();
        Ok(())
    }

    fn cut_power(&mut self) {
        self.power_cuts += 1;
        self.stop = None;
        for change in std::mem::take(&mut self.name_changes) {
            if self.dice.chance(1, 2) {
                change.apply(&mut self.durable_names);
            }
        }
        self.cached_names = self.durable_names.clone();
        let Self { inodes, dice, .. } = self;
        for inode in inodes {
            inode.durable = inode.torn(dice);
            inode.cached.clone_from(&inode.durable);
            inode.versions.clear();
        }
    }

    /// Remembers what is sealed in `bytes`, which are appended to `file`, when that is a segment.
    fn witness(&mut self, file: &SimFile, bytes: &[u8]) {
        let inode = file.inode;
        if file.end == 0 && bytes.len() >= HEADER_BYTES && bytes.starts_with(b"SELVEDGE") {
            let id = bytes[16..48].try_into().expect("32 bytes");
            self.inodes[inode].segment = Some(id);
            self.remember((id, u64::MAX), &bytes[..HEADER_BYTES]);
            // What is known from the segments before it.
            let mut groups = &bytes[1 << bytes[10]..];
            while !groups.is_empty() {
                let group_bytes =
                    GROUP_HEAD_BYTES + u32::from_le_bytes(groups[4..8].try_into().expect("4")) as usize;
                self.witness_group(id, groups);
                groups = &groups[group_bytes.next_multiple_of(1 << bytes[10])..];
            }
            return;
        }
        if let Some(id) = self.inodes[inode].segment {
            self.witness_group(id, bytes);
        }
    }

    /// Remembers what is sealed in a group of the segment with this id.
    fn witness_group(&mut self, id: [u8; 32], bytes: &[u8]) {
        assert!(bytes.starts_with(b"SvGr"), "what is appended to a segment is a group");
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let mut index = u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes"));
        let mut at = GROUP_HEAD_BYTES;
        for _ in 0..four(16) {
            let end = at + 4 + four(at) as usize + 16;
            // The head is part of what is authenticated under the nonce.
            let sealed = [&bytes[..GROUP_HEAD_BYTES], &bytes[at..end]].concat();
            self.remember((id, index), &sealed);
            (at, index) = (end, index + 1);
        }
    }

    fn remember(&mut self, nonce: ([u8; 32], u64), sealed: &[u8]) {
        let before = self.sealed.entry(nonce).or_insert_with(|| sealed.to_vec());
        if before != sealed {
            self.nonce_reused = Some(nonce);
        }
    }
}

impl Inode {
    /// What the device holds when power is cut now.
    fn torn(&self, dice: &mut Dice) -> Vec<u8> {
        let versions: Vec<&Vec<u8>> = std::iter::once(&self.durable).chain(&self.versions).collect();
        if versions.len() == 1 {
            return self.durable.clone();
        }
        if dice.chance(1, 8) {
            return versions[versions.len() - 1].clone(); // it just made it
        }
        let longest = versions.iter().map(|version| version.len()).max().unwrap_or(0);
        let shortest = versions.iter().map(|version| version.len()).min().unwrap_or(0);
        // Eager devices write nearly everything, lazy ones nearly nothing.
        let eagerness = dice.below(5);
        let mut contents = vec![0; longest];
        for (index, sector) in contents.chunks_mut(SECTOR_BYTES).enumerate() {
            let at = index * SECTOR_BYTES;
            let part =
                |version: &Vec<u8>| version.get(at..version.len().min(at + SECTOR_BYTES)).map(<[u8]>::to_vec);
            let parts: Vec<Option<Vec<u8>>> = versions.iter().map(|version| part(version)).collect();
            let changed = parts.iter().any(|part| *part != parts[0]);
            let chosen = if !changed || dice.chance(4 - eagerness, 4) {
                0
            } else if dice.chance(1, 2) {
                parts.len() - 1
            } else {
                dice.below(parts.len() as u32) as usize
            };
            if changed && dice.chance(1, 20) {
                dice.fill_bytes(sector);
            } else if let Some(part) = &parts[chosen] {
                sector[..part.len()].copy_from_slice(part);
            }
        }
        let lengths = [shortest, versions[versions.len() - 1].len(), longest];
        let mut length = lengths[dice.below(3) as usize];
        if dice.chance(1, 3) {
            length = shortest + dice.below((longest - shortest + 1) as u32) as usize;
        }
        contents.truncate(length);
        contents
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            NameChange::Add(name, inode) => {
                names.insert(name.clone(), *inode);
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
            NameChange::Rename(from, to, inode) => {
                if names.get(from) == Some(inode) {
                    names.remove(from);
                }
                names.insert(to.clone(), *inode);
            }
        }
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn create(&mut self, name: &str) -> io::Result<SimFile> {
        let mut state = self.state();
        if state.cached_names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = state.inodes.len();
        state.inodes.push(Inode::default());
        state.change_name(NameChange::Add(name.to_owned(), inode))?;
        Ok(SimFile { inode, end: 0 })
    }

    fn reuse(&mut self, name: &str) -> io::Result<SimFile> {
        let mut state = self.state();
        let inode = state.inode(name)?;
        let whole = state.tick()?;
        state.inodes[inode].segment = None;
        if whole { Ok(SimFile { inode, end: 0 }) } else { Err(stopped()) }
    }

    fn append(&mut self, file: &mut SimFile, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let whole = state.tick()?;
        state.witness(file, bytes);
        let mut contents = state.inodes[file.inode].cached.clone();
        let room = state.room_bytes.saturating_sub(state.used_bytes()) + (contents.len() - file.end);
        let wanted = if whole { bytes.len() } else { state.dice.below(bytes.len() as u32 + 1) as usize };
        let written = wanted.min(room);
        contents.resize(contents.len().max(file.end + written), 0);
        contents[file.end..][..written].copy_from_slice(&bytes[..written]);
        state.change(file.inode, contents);
        match (whole, written == bytes.len()) {
            (false, _) => Err(stopped()),
            (true, true) => {
                file.end += written;
                Ok(())
            }
            (true, false) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn truncate(&mut self, file: &mut SimFile, bytes: u64) -> io::Result<()> {
        let mut state = self.state();
        let whole = state.tick()?;
        let mut contents = state.inodes[file.inode].cached.clone();
        assert!(contents.len() as u64 >= bytes, "a file is cut, not grown");
        contents.truncate(bytes as usize);
        file.end = bytes as usize;
        state.change(file.inode, contents);
        if whole { Ok(()) } else { Err(stopped()) }
    }

    fn sync(&mut self, file: &mut SimFile) -> io::Result<()> {
        let mut state = self.state();
        let whole = state.tick()?;
        if !state.honesty.sync {
            return if whole { Ok(()) } else { Err(stopped()) };
        }
        state.sync_inode(file.inode, whole)
    }

    fn settle(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.inode(name)?;
        let whole = state.tick()?;
        if !state.honesty.settle {
            return if whole { Ok(()) } else { Err(stopped()) };
        }
        state.sync_inode(inode, whole)?;
        let inode = &mut state.inodes[inode];
        inode.cached.clone_from(&inode.durable);
        Ok(())
    }

    fn sync_dir(&mut self) -> io::Result<()> {
        let mut state = self.state();
        if !state.tick()? {
            return Err(stopped());
        }
        if state.honesty.sync_dir {
            state.name_changes.clear();
            state.durable_names = state.cached_names.clone();
        }
        Ok(())
    }

    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        let inode = state.inode(name)?;
        if !state.tick()? {
            return Err(stopped());
        }
        if state.inodes[inode].cached.len() as u64 > bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        state.reads += 1;
        Ok(state.inodes[inode].cached.clone())
    }

    fn read_at(&self, name: &str, at: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut state = self.state();
        let inode = state.inode(name)?;
        if !state.tick()? {
            return Err(stopped());
        }
        let contents = &state.inodes[inode].cached;
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(contents.len());
        let until = from.saturating_add(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        Ok(contents[from..until.min(contents.len())].to_vec())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.state();
        if !state.tick()? {
            return Err(stopped());
        }
        Ok(state.cached_names.keys().cloned().collect())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.inode(name)?;
        state.change_name(NameChange::Remove(name.to_owned()))
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.state();
        let inode = state.inode(from)?;
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned(), inode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends to one file as a program would that syncs only its first part, and cuts the power.
    fn after_cut(seed: u64) -> Vec<u8> {
        let mut disk = SimDisk::new(Dice::new(seed), Honesty::FULL);
        let mut file = disk.create("any").unwrap();
        disk.append(&mut file, &[1; 1000]).unwrap();
        disk.sync(&mut file).unwrap();
        disk.sync_dir().unwrap();
        disk.append(&mut file, &[2; 3000]).unwrap();
        assert_eq!(disk.read("any", 4000).unwrap().len(), 4000, "what is cached can be read");
        disk.cut_power();
        disk.read("any", 4000).unwrap()
    }

    /// The disk itself is a test tool, so this is the test that it is as hard as it claims to be.
    #[test]
    fn a_power_cut_keeps_synced_sectors_and_tears_the_others() {
        let (mut lost, mut kept, mut torn) = (0, 0, 0);
        for seed in 0..200 {
            let found = after_cut(seed);
            // Sector 1 holds synced and unsynced bytes: it may be lost. Sector 0 may not.
            assert_eq!(found[..512], [1; 512]);
            match &found[1000..] {
                [] => lost += 1,
                rest if rest == [2; 3000] => kept += 1,
                _ => torn += 1,
            }
        }
        assert!(lost > 10 && kept > 3 && torn > 50, "lost {lost}, kept {kept}, torn {torn}");
    }

    #[test]
    fn a_name_may_be_lost_until_the_folder_is_synced() {
        let lost = (0..100).filter(|&seed| {
            let mut disk = SimDisk::new(Dice::new(seed), Honesty::FULL);
            let mut file = disk.create("old").unwrap();
            disk.append(&mut file, &[1]).unwrap();
            disk.sync(&mut file).unwrap();
            disk.sync_dir().unwrap();
            disk.rename("old", "new").unwrap();
            disk.cut_power();
            let names = disk.list().unwrap();
            assert!(names == ["old"] || names == ["new"], "a rename is one step: {names:?}");
            names == ["old"]
        });
        assert!((20..80).contains(&lost.count()));
    }
}
