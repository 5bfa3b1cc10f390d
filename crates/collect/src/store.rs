//! The store: a row of segment files in one folder, and the order of writes and syncs that makes it durable.
//!
//! A commit is one group of records, one append, one `fdatasync`. These two take long and need nothing of the store, so that
//! they can be another thread's: [`Store::begin`] seals a group, [`Writing::run`] appends and syncs it, [`Store::land`] says
//! what became of it; there is one at a time. A new segment is written under a temporary
//! name, synced, renamed, and its folder synced, all before its first group: a segment has a whole header or
//! no name. Behind the header, and there as surely, is what is known from the segments before it: the checkpoint, and what
//! the last of them holds of whom ([`Index`]). So a store is opened by its newest segment, and the oldest ones may go: the
//! new segment says which is the oldest that is kept, and those before are removed when it is durable.
//!
//! One of them stays as spare, and the next segment is written over it: to sync a file that becomes longer takes half as
//! long again, since where its bytes lie is written, too. What it held is told from a segment's own groups by their CRC,
//! which covers the segment's id, and by their tags.
//!
//! When the disk is full the group is cut off again and the store goes on, because nothing else in the log refers to it;
//! the indexes of its records stay spent. After any other error of a write, and after every failed sync,
//! nobody knows what the device holds: the segment is closed where it was last synced, nothing is ever appended to it or
//! synced again, and the group is written to a new segment, which says where the old one ended. When that fails too, the
//! store does nothing more.
//!
//! Opening settles the last segment first (see [`Disk::settle`]): what is read must be what the device holds,
//! because a frame found there is answered as a duplicate, and that is a promise too. A torn tail, of which nothing was
//! acknowledged, is cut off then, at the end of the sector in which the last group ends, and whoever opens the store is told
//! of it. What a removed segment left in a file that was written over is no torn tail, but nothing tells it from one.
//!
//! What is removed for its age is old by the store's own clock: how long somebody had it open, by the monotonic clock of
//! each process that did. A wall clock may jump, and what a machine's says after it was off nobody can check; this one stands
//! still meanwhile, so that what is kept is kept too long and never too short. It goes on where the log says that it was: at
//! the begin of the newest segment, or in a group of it, which notes it from time to time ([`CLOCK_NOTE_NS`]).
//!
//! Owns files and their order; `segment` owns their bytes, `record` what they mean.

use std::collections::BTreeMap;
use std::io;

use cipher::Randomness;
use zeroize::Zeroizing;

use crate::anchor::Anchor;
use crate::disk::{Disk, begin_direct, is_full};
use crate::error::{Corruption, Error};
use crate::index::Index;
use crate::keys::StoreKeys;
use crate::limits::{CLOCK_NOTE_NS, Limits, SEGMENT_FILE_BYTES_MAX};
use crate::record::Body;
use crate::segment::{self, Before, Chain, Header, Scan, Segment, Tail, align};

pub use crate::read::{Filter, Records, Verification, read, verify, verify_disk};

/// Ending of a segment that has no whole header yet.
const UNBORN: &str = ".new";
/// The name of a removed segment's file until the next segment is written over it.
const SPARE: &str = "spare.new";
/// So many segments must be kept before one more is kept as spare.
const SEGMENTS_WITH_SPARE_MIN: u64 = 4;

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// It is durable.
    Durable,
    /// There was no room; nothing of it is stored, and the store goes on.
    Full,
}

/// A store that is open for writing.
pub struct Store<D: Disk, R> {
    disk: D,
    randomness: R,
    keys: StoreKeys,
    limits: Limits,
    newest: Option<Newest>,
    /// The segments that are kept, and those that are still to be removed.
    kept: BTreeMap<u64, Kept>,
    current: Option<Current<D::File>>,
    clock: Clock,
    /// Bytes behind the last group that were there when it was opened.
    torn_bytes: u64,
    /// Whether there is a file under the name [`SPARE`].
    has_spare: bool,
    /// The last group as it was written: memory for the next one.
    group: Vec<u8>,
    /// It is dead, or a group has not landed.
    failed: bool,
}

/// What the next segment says of the newest one.
#[derive(Debug)]
struct Newest {
    number: u64,
    store: [u8; 16],
    before: Before,
    index: Index,
}

/// A segment file, for retention.
#[derive(Clone, Copy, Debug)]
struct Kept {
    bytes: u64,
    made_ns: u64,
}

/// The store's clock.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// What the log says that it was, in nanoseconds.
    noted_ns: u64,
    /// What it was at the first commit of this process, and what the monotonic clock was then.
    begun_ns: Option<(u64, u64)>,
}

impl Clock {
    fn now_ns(&mut self, monotonic_ns: u64) -> u64 {
        let (clock_ns, since_ns) = *self.begun_ns.get_or_insert((self.noted_ns, monotonic_ns));
        clock_ns.saturating_add(monotonic_ns.saturating_sub(since_ns))
    }
}

/// The segment that is appended to.
struct Current<F> {
    file: F,
    segment: Segment,
    /// Where its first group begins behind what it knows of the segments before.
    born: u64,
    /// Everything below is synced, and the next group begins here.
    synced: u64,
    /// No record has used this index or a higher one.
    next_index: u64,
}

/// A sealed group on its way to the disk, with the segment that it is appended to.
pub struct Writing<D: Disk> {
    disk: D,
    current: Current<D::File>,
    /// The group, from `first` on.
    group: Vec<u8>,
    first: usize,
    /// Where its records end in the file, and the chain behind them.
    end: u64,
    chain: Chain,
    /// What the store's clock was, and whether the group notes it.
    clock_ns: u64,
    is_noted: bool,
    became: Became,
}

/// What the disk made of a group.
#[derive(Clone, Copy, Debug)]
enum Became {
    Durable,
    /// There was no room, and what was written of it was cut off.
    Full,
    /// It was not written, or nobody knows what the device holds of it: it may still be written elsewhere.
    Unknown,
}

impl<D: Disk> Writing<D> {
    /// Appends the group and syncs it: all of a commit that takes long.
    pub fn run(&mut self) {
        let Writing { disk, current, group, first, .. } = self;
        self.became = match disk.append(&mut current.file, &group[*first..]) {
            Ok(()) if disk.sync(&mut current.file).is_ok() => Became::Durable,
            Err(cause) if is_full(&cause) && disk.truncate(&mut current.file, current.synced).is_ok() => {
                Became::Full
            }
            _ => Became::Unknown,
        };
    }
}

impl<D: Disk, R: Randomness> Store<D, R> {
    /// Opens a store, or begins one in an empty folder, and hands every record of its newest segment to `visit`, in the
    /// order in which they were stored, what is known from the segments before it first.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also when `visit` finds a body impossible, [`Error::SegmentMissing`],
    /// [`Error::Io`].
    pub fn open(
        mut disk: D,
        keys: StoreKeys,
        limits: &Limits,
        randomness: R,
        mut visit: impl FnMut(Body) -> Result<(), Corruption>,
    ) -> Result<Self, Error> {
        let names = disk.list().map_err(Error::io("list", "store"))?;
        for name in names.iter().filter(|name| name.ends_with(UNBORN)) {
            disk.remove(name).map_err(Error::io("remove", name))?;
        }
        // A name that is only cached must not become the predecessor of a durable one.
        disk.sync_dir().map_err(Error::io("sync folder", "store"))?;
        let mut numbers = numbers(&names);
        if let Some(&number) = numbers.last() {
            let name = segment::file_name(number);
            disk.settle(&name).map_err(Error::io("settle", name.clone()))?;
            let oldest = head(&disk, number, &keys)?.header().oldest;
            let first_kept = numbers.partition_point(|&number| number < oldest);
            for number in numbers.drain(..first_kept) {
                let name = segment::file_name(number);
                disk.remove(&name).map_err(Error::io("remove", name.clone()))?;
            }
        }
        let segments = row(&disk, &numbers, &keys)?;
        let (mut kept, mut clock, mut torn_bytes) = (BTreeMap::new(), Clock::default(), 0);
        for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
            let Header { number, made_ns, .. } = *segment.header();
            kept.insert(number, Kept { bytes: next.header().before.end, made_ns });
        }
        let newest = match segments.into_iter().next_back() {
            None => None,
            Some(segment) => {
                let Header { number, store, made_ns, id, .. } = *segment.header();
                let scan = load(&disk, &segment, None)?;
                let mut index = Index::default();
                clock.noted_ns = made_ns;
                for group in &scan.groups {
                    for bytes in &group.bodies {
                        let body = Body::parse(bytes).ok_or(Corruption::Body);
                        if let Ok(Body::Clock(noted_ns)) = body {
                            clock.noted_ns = clock.noted_ns.max(noted_ns);
                        }
                        let visited = body.and_then(&mut visit);
                        visited.map_err(|what| corrupt(number, group.at, what))?;
                    }
                    index.note(&group.bodies);
                }
                torn_bytes = cut_tail(&mut disk, segment.header(), &scan)?;
                kept.insert(number, Kept { bytes: scan.end, made_ns });
                let before = Before { id, end: scan.end, chain: scan.chain };
                Some(Newest { number, store, before, index })
            }
        };
        let (limits, mut group) = (limits.clone(), Vec::new());
        // Before anything is served.
        begin_direct(&mut group, limits.group_bytes_hard() as usize);
        Ok(Store {
            disk,
            randomness,
            keys,
            limits,
            newest,
            kept,
            current: None,
            clock,
            torn_bytes,
            has_spare: false,
            group,
            failed: false,
        })
    }

    /// The end of the last group that is durable; `None` when there is none.
    pub fn anchor(&self) -> Option<Anchor> {
        let Newest { number, store, before, .. } = self.newest.as_ref()?;
        Some(Anchor { store: *store, segment: *number, end: before.end, chain: before.chain })
    }

    /// Bytes behind the last whole group that were cut off when it was opened: nothing that can be read.
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// What is written from now on is sealed under the newest of these keys, in a new segment if that is another one.
    pub fn seal_under(&mut self, keys: StoreKeys) {
        if self.current.as_ref().is_some_and(|current| current.segment.header().key != keys.newest().0) {
            // What is in the segment is synced: it ends here.
            self.current = None;
        }
        self.keys = keys;
    }

    /// Makes `bodies` durable as one group, see [`begin`](Self::begin) and [`land`](Self::land).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    pub fn commit(
        &mut self,
        bodies: &[impl AsRef<[u8]>],
        monotonic_ns: u64,
        checkpoint: impl Fn() -> Vec<Body>,
    ) -> Result<Commit, Error> {
        let bodies: Vec<&[u8]> = bodies.iter().map(AsRef::as_ref).collect();
        let Some(mut writing) = self.begin(&bodies, monotonic_ns, &checkpoint)? else {
            return Ok(Commit::Full);
        };
        writing.run();
        self.land(writing, &bodies, &checkpoint)
    }

    /// Seals `bodies` as one group, to be written; `None` when there is no room for it. The store's clock follows
    /// `monotonic_ns`, a clock of this process that never goes back. A new segment begins with what `checkpoint` returns: all
    /// that is known from the groups that are durable.
    ///
    /// # Errors
    /// [`Error::Io`], and then the store is dead.
    ///
    /// # Panics
    /// When the store is dead, or a group has not landed, when there are no bodies, or too many for any segment.
    pub fn begin(
        &mut self,
        bodies: &[&[u8]],
        monotonic_ns: u64,
        checkpoint: impl Fn() -> Vec<Body>,
    ) -> Result<Option<Writing<D>>, Error> {
        assert!(!self.failed, "a store that failed, or whose group has not landed, is used again");
        // Dead until proved alive, so that no path out of here can forget to say so.
        self.failed = true;
        let clock_ns = self.clock.now_ns(monotonic_ns);
        let is_noted = clock_ns - self.clock.noted_ns >= CLOCK_NOTE_NS;
        let note = is_noted.then(|| Body::Clock(clock_ns).to_bytes());
        let bodies: Vec<&[u8]> = bodies.iter().copied().chain(note.as_deref().map(Vec::as_slice)).collect();
        let bytes = align(segment::group_bytes(&bodies), self.limits.sector_bytes);
        let segment_bytes_max = self.limits.segment_bytes_max;
        assert!(bytes <= segment_bytes_max, "a group that no segment can hold");
        let has_room = |current: &Current<_>| current.synced - current.born + bytes <= segment_bytes_max;
        // What is full is synced.
        let current = match self.current.take().filter(has_room) {
            Some(current) => current,
            None => match self.begin_segment(clock_ns, &checkpoint())? {
                Some(new) => new,
                None => {
                    self.failed = false;
                    return Ok(None);
                }
            },
        };
        Ok(Some(self.seal(current, &bodies, clock_ns, is_noted)))
    }

    /// What became of a group, whose `bodies` these are. When nobody knows what the device holds of it, it is written again
    /// here, to a new segment.
    ///
    /// # Errors
    /// [`Error::Io`], and then the store is dead: what of the group is durable shows when it is opened again.
    pub fn land(
        &mut self,
        writing: Writing<D>,
        bodies: &[&[u8]],
        checkpoint: impl Fn() -> Vec<Body>,
    ) -> Result<Commit, Error> {
        let clock_ns = writing.clock_ns;
        let mut commit = self.conclude(writing, bodies);
        if commit.is_none() {
            let Some(new) = self.begin_segment(clock_ns, &checkpoint())? else {
                self.failed = false;
                return Ok(Commit::Full);
            };
            let mut again = self.seal(new, bodies, clock_ns, false);
            again.run();
            commit = self.conclude(again, bodies);
        }
        let commit = commit.ok_or_else(|| {
            let name = segment::file_name(self.newest.as_ref().map_or(0, |newest| newest.number));
            Error::io("write", name)(io::Error::other(
                "two segments, one after the other, could not be written",
            ))
        })?;
        self.failed = false;
        Ok(commit)
    }

    /// A group that is to be appended to a segment; `is_noted` when it notes the clock.
    fn seal(
        &mut self,
        mut current: Current<D::File>,
        bodies: &[&[u8]],
        clock_ns: u64,
        is_noted: bool,
    ) -> Writing<D> {
        let newest = self.newest.as_ref().expect("the current segment is the newest");
        let bytes = align(segment::group_bytes(bodies), self.limits.sector_bytes);
        let mut group = std::mem::take(&mut self.group);
        let first = begin_direct(&mut group, bytes as usize);
        let Current { segment, next_index, synced, .. } = &mut current;
        let chain = segment.seal_group(*next_index, bodies, &newest.before.chain, &mut group);
        // Spent, whatever becomes of the group.
        *next_index += bodies.len() as u64;
        let end = *synced + segment::group_bytes(bodies);
        let (disk, became) = (self.disk.clone(), Became::Unknown);
        Writing { disk, current, group, first, end, chain, clock_ns, is_noted, became }
    }

    /// Takes note of what became of a group; `None` when nobody knows, and its segment is closed behind its last sync.
    fn conclude(&mut self, writing: Writing<D>, bodies: &[&[u8]]) -> Option<Commit> {
        let Writing { mut current, group, first, end, chain, clock_ns, is_noted, became, .. } = writing;
        let newest = self.newest.as_mut().expect("the current segment is the newest");
        let bytes = (group.len() - first) as u64;
        self.group = group;
        let commit = match became {
            Became::Unknown => return None,
            Became::Full => Commit::Full,
            Became::Durable => {
                (newest.before.end, newest.before.chain) = (end, chain);
                newest.index.note(bodies);
                current.synced += bytes;
                self.kept.entry(newest.number).and_modify(|kept| kept.bytes = current.synced);
                if is_noted {
                    self.clock.noted_ns = clock_ns;
                }
                Commit::Durable
            }
        };
        self.current = Some(current);
        Some(commit)
    }

    /// A new segment, durable up to what it knows of those before; `None` when there is no room for it.
    fn begin_segment(
        &mut self,
        made_ns: u64,
        checkpoint: &[Body],
    ) -> Result<Option<Current<D::File>>, Error> {
        let mut id = [0; 32];
        let mut draw = |bytes: &mut [u8]| {
            self.randomness.fill(bytes).map_err(Error::io("draw randomness for", "segment"))
        };
        draw(&mut id)?;
        let (number, store, before) = match &self.newest {
            Some(newest) => (newest.number + 1, newest.store, newest.before),
            None => {
                let mut store = [0; 16];
                draw(&mut store)?;
                (0, store, Before::default())
            }
        };
        let oldest = self.oldest_kept(number, made_ns);
        let (key, sector_bytes) = (self.keys.newest().0, self.limits.sector_bytes);
        let segment = Segment::new(
            Header { sector_bytes, key, id, store, number, oldest, before, made_ns },
            &self.keys,
        );
        let spans = self.newest.iter().flat_map(|newest| newest.index.bodies());
        let known: Vec<_> =
            checkpoint.iter().map(Body::to_bytes).chain(spans.map(|span| span.to_bytes())).collect();
        let Birth { bytes, end, chain, next_index } = birth(&segment, &known, self.limits.group_bytes_max);
        let Some(file) = self.begin_file(number, &bytes)? else { return Ok(None) };
        let before = Before { id, end, chain };
        self.newest = Some(Newest { number, store, before, index: Index::default() });
        let born = bytes.len() as u64;
        self.kept.insert(number, Kept { bytes: born, made_ns });
        self.clock.noted_ns = made_ns;
        self.remove_before(oldest);
        Ok(Some(Current { file, segment, born, synced: born, next_index }))
    }

    /// Ends the current segment's file where the segment ends, when it was written over a longer one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn end(&mut self) -> Result<(), Error> {
        let (Some(current), Some(newest)) = (&mut self.current, &self.newest) else { return Ok(()) };
        let name = segment::file_name(newest.number);
        let cut = self.disk.truncate(&mut current.file, current.synced);
        cut.and_then(|()| self.disk.sync(&mut current.file)).map_err(Error::io("end", name))
    }

    /// The oldest segment that is kept when segment `number` is begun at `now_ns` of the store's clock.
    fn oldest_kept(&self, number: u64, now_ns: u64) -> u64 {
        let new_bytes = self.limits.segment_bytes_max.saturating_mul(1 + u64::from(self.keeps_spare()));
        let mut bytes = self.kept.values().map(|kept| kept.bytes).sum::<u64>().saturating_add(new_bytes);
        let ends = self.kept.values().skip(1).map(|next| next.made_ns).chain([now_ns]);
        for ((&kept_number, kept), ended_ns) in self.kept.iter().zip(ends) {
            let is_old = now_ns.saturating_sub(ended_ns) > self.limits.retain_ns_max;
            if bytes <= self.limits.retain_bytes_max && !is_old {
                return kept_number;
            }
            bytes -= kept.bytes;
        }
        number
    }

    /// Whether one of the segments that are removed stays as spare.
    fn keeps_spare(&self) -> bool {
        self.limits.retain_bytes_max / self.limits.segment_bytes_max >= SEGMENTS_WITH_SPARE_MIN
    }

    /// Removes what is not kept, but for a spare. A file that cannot be removed is tried again with the next segment.
    fn remove_before(&mut self, oldest: u64) {
        while let Some((&number, _)) = self.kept.first_key_value().filter(|(number, _)| **number < oldest) {
            let (name, is_spare) = (segment::file_name(number), !self.has_spare && self.keeps_spare());
            let removed = if is_spare { self.disk.rename(&name, SPARE) } else { self.disk.remove(&name) };
            if removed.is_err() {
                return;
            }
            self.has_spare |= is_spare;
            self.kept.remove(&number);
        }
    }

    /// Writes and syncs a segment's begin under a temporary name, then gives it its own.
    fn begin_file(&mut self, number: u64, bytes: &[u8]) -> Result<Option<D::File>, Error> {
        let name = segment::file_name(number);
        let (unborn, begun) = match std::mem::take(&mut self.has_spare) {
            true => (SPARE.to_owned(), self.disk.reuse(SPARE)),
            false => {
                let unborn = name.replace(".seg", UNBORN);
                let created = self.disk.create(&unborn);
                (unborn, created)
            }
        };
        let mut file = match begun {
            Err(cause) if is_full(&cause) => return Ok(None),
            begun => begun.map_err(Error::io("create", unborn.clone()))?,
        };
        if let Err(cause) = self.disk.append(&mut file, bytes) {
            return self.give_up(unborn, "append to", cause);
        }
        self.disk.sync(&mut file).map_err(Error::io("sync", unborn.clone()))?;
        if let Err(cause) = self.disk.rename(&unborn, &name) {
            return self.give_up(unborn, "rename", cause);
        }
        self.disk.sync_dir().map_err(Error::io("sync folder", "store"))?;
        Ok(Some(file))
    }

    /// Removes what there is of a segment for which there was no room.
    fn give_up(
        &mut self,
        unborn: String,
        doing: &'static str,
        cause: io::Error,
    ) -> Result<Option<D::File>, Error> {
        if !is_full(&cause) {
            return Err(Error::io(doing, unborn)(cause));
        }
        self.disk.remove(&unborn).map_err(Error::io("remove", unborn))?;
        Ok(None)
    }
}

/// The bytes with which a segment begins.
struct Birth {
    bytes: Vec<u8>,
    /// Where the last group in them ends.
    end: u64,
    chain: Chain,
    next_index: u64,
}

/// A segment's header, and `known` in groups of about `group_bytes_max`.
fn birth(segment: &Segment, known: &[Zeroizing<Vec<u8>>], group_bytes_max: usize) -> Birth {
    let (end, chain) = (segment::HEADER_BYTES as u64, segment.chain());
    let mut birth = Birth { bytes: segment.header_sector(), end, chain, next_index: 0 };
    let mut rest = known;
    while !rest.is_empty() {
        let mut bytes = 0;
        let is_over = |body: &Zeroizing<Vec<u8>>| {
            bytes += body.len();
            bytes > group_bytes_max
        };
        let count = rest.iter().position(is_over).unwrap_or(rest.len()).max(1);
        let (bodies, behind) = rest.split_at(count);
        birth.end = birth.bytes.len() as u64 + segment::group_bytes(bodies);
        birth.chain = segment.seal_group(birth.next_index, bodies, &birth.chain, &mut birth.bytes);
        birth.next_index += count as u64;
        rest = behind;
    }
    birth
}

fn corrupt(number: u64, at: u64, what: Corruption) -> Error {
    Error::Corrupt { file: segment::file_name(number), at, what }
}

/// The numbers of the segments among `names`, in order.
pub(crate) fn numbers(names: &[String]) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::file_number(name)).collect();
    numbers.sort_unstable();
    numbers
}

/// The header of segment `number`.
pub(crate) fn head<D: Disk>(disk: &D, number: u64, keys: &StoreKeys) -> Result<Segment, Error> {
    let name = segment::file_name(number);
    let bytes = disk.read_at(&name, 0, segment::HEADER_BYTES as u64).map_err(Error::io("read", name))?;
    let segment = Segment::open(&bytes, keys).map_err(|what| corrupt(number, 0, what))?;
    let is_named = segment.header().number == number;
    if is_named { Ok(segment) } else { Err(corrupt(number, 0, Corruption::Chain)) }
}

/// The headers of the segments with these numbers: all that are kept, each behind the one before it, which is as long as it
/// was.
pub(crate) fn row<D: Disk>(disk: &D, numbers: &[u64], keys: &StoreKeys) -> Result<Vec<Segment>, Error> {
    let segments: Vec<Segment> =
        numbers.iter().map(|&number| head(disk, number, keys)).collect::<Result<_, Error>>()?;
    let oldest = segments.last().map_or(0, |newest| newest.header().oldest);
    if let Some((number, _)) = (oldest..).zip(numbers).find(|&(expected, &found)| expected != found) {
        return Err(Error::SegmentMissing { number });
    }
    let is_alone = |first: &Segment| first.header().number > 0 || first.header().before == Before::default();
    if !segments.first().is_none_or(is_alone) {
        return Err(corrupt(0, 0, Corruption::Chain));
    }
    for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
        if let Some((number, at, what)) = fault(segment.header(), next.header()) {
            return Err(corrupt(number, at, what));
        }
        let (name, end) = (segment::file_name(segment.header().number), next.header().before.end);
        let last = disk.read_at(&name, end.saturating_sub(1), 1).map_err(Error::io("read", name))?;
        if last.is_empty() {
            return Err(corrupt(segment.header().number, end, Corruption::Length));
        }
    }
    Ok(segments)
}

/// What is wrong when `next` follows `segment`: the segment, its byte, what.
pub(crate) fn fault(segment: &Header, next: &Header) -> Option<(u64, u64, Corruption)> {
    let follows =
        next.number == segment.number + 1 && next.before.id == segment.id && next.store == segment.store;
    (!follows).then_some((next.number, 0, Corruption::Chain))
}

/// Cuts a torn tail off; how many bytes.
fn cut_tail<D: Disk>(disk: &mut D, header: &Header, scan: &Scan) -> Result<u64, Error> {
    // No byte of a sector that was acknowledged is touched.
    let end = align(scan.end, header.sector_bytes);
    let torn_bytes = (scan.end + scan.torn_bytes).saturating_sub(end);
    if torn_bytes == 0 {
        return Ok(0);
    }
    let name = segment::file_name(header.number);
    let cut = disk.reuse(&name).and_then(|mut file| {
        disk.truncate(&mut file, end)?;
        disk.sync(&mut file)
    });
    cut.map_err(Error::io("cut the torn tail off", name))?;
    Ok(torn_bytes)
}

/// Reads a segment's groups: those before where `next` says that it ended, or all of them.
pub(crate) fn load<D: Disk>(disk: &D, segment: &Segment, next: Option<&Before>) -> Result<Scan, Error> {
    let number = segment.header().number;
    let name = segment::file_name(number);
    let file = disk.read(&name, SEGMENT_FILE_BYTES_MAX).map_err(Error::io("read", name))?;
    let scan = segment.scan(&file, next.map(|next| next.end));
    if scan.tail == Tail::Damaged || next.is_some_and(|next| next.chain != scan.chain) {
        return Err(corrupt(number, scan.end, Corruption::Group));
    }
    Ok(scan)
}

#[cfg(test)]
mod tests;
