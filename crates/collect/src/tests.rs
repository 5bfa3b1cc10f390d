//! What a collector says to batches: duplicates, acknowledgements, changes of the epoch, settings, limits.

use super::*;
use crate::batch::{Receipt, SEAL_BYTES};
use crate::frame::DIRECTION_BIT;
use crate::keys::{Grid, Node, Standing, StoreKeys};
use crate::limits::COUNT_MAX;
use crate::orders::{Order, Reason, Reply, Request, Told};
use crate::record::NodeEpoch;
use crate::settings::{Planned, Settings};
use crate::sim::{Dice, Honesty, SimDisk};
use crate::store::{Commit, Filter, Records};
use crate::waveform::Waveform;
use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

mod anchored;
mod overlapped;

const CELL: u16 = 7;
const NODE: u32 = 5;

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn node_master() -> NodeMaster {
    NodeMaster::from(Key::copied_from(&[2; 32]))
}

fn ring() -> Arc<KeyRing> {
    ring_with(None, Settings::default(), |_| Ok(None))
}

/// A ring that tells the node these settings, and to go on after `epoch_frames`, to the epochs that `take` says.
fn ring_with(
    epoch_frames: Option<u16>,
    settings: Settings,
    take: impl Fn(u32) -> std::io::Result<Option<u8>> + Send + Sync + 'static,
) -> Arc<KeyRing> {
    let epoch_frames = epoch_frames.and_then(NonZeroU16::new);
    let mut keys = KeyRing::new(StoreMaster::from(Key::copied_from(&[3; 32])));
    keys.add_cell(CELL, &cell_master());
    let grid = Grid { superframe_ps: 8, samples_per_superframe: NonZeroU32::MIN, uncertainty_ns: 0 };
    let (master, suite) = (node_master(), Suite::Aes128Ccm);
    keys.add_node(NODE, Node { master, suite, epoch_from: 0, epoch_frames, settings, grid });
    keys.take_epochs_by(take);
    Arc::new(keys)
}

fn disk() -> SimDisk {
    SimDisk::new(Dice::new(1), Honesty::FULL)
}

fn collector(disk: &SimDisk, limits: Limits) -> Collector<SimDisk, Dice> {
    Collector::open(disk.clone(), ring(), limits, Dice::new(2)).unwrap()
}

/// Batch `number` with authentic frames of these epochs and counters; the first sample of each is its counter.
fn opened(number: u64, frames: &[(u8, u32)]) -> Event {
    opened_from(0, number, frames)
}

/// The same, all samples from `channel`.
fn opened_from(channel: u8, number: u64, frames: &[(u8, u32)]) -> Event {
    let batch = BatchId { cell: CELL, spool: 1, number };
    let mut records = Vec::new();
    let outcome = |&(epoch, counter): &(u8, u32)| {
        let record = Record {
            node: NODE,
            epoch,
            counter,
            suite: Suite::Aes128Ccm,
            batch,
            superframe: 0,
            slot: 0,
            received_ps: 0,
            arrived_ns: 0,
            first: counter.into(),
            sample_ps: 0,
            uncertainty_ns: 0,
            channel,
            stride: 1,
            waveform: Waveform::of_codes(&[1]),
        };
        let (first, stride, from) = (record.first, record.stride, records.len());
        records.extend_from_slice(&Body::Frame(record).to_bytes());
        Ok(Authentic { node: NODE, epoch, counter, first, channel, stride, record: from..records.len() })
    };
    let outcomes = frames.iter().map(outcome).collect();
    let frames = Frames { seal: Seal([9; SEAL_BYTES]), bytes: 0, outcomes, records: records.into() };
    let (at, opening) = (Now::default(), Opening::default());
    Event::Opened(Opened { connection: 3, at, opening, id: batch, frames: Ok(frames) })
}

/// More than any count here.
const TOLD: u32 = 1 << 16;
/// More than any epoch here.
const SET: u32 = 1 << 24;

/// What a receipt says: stored, duplicate, failed, and its downlinks as (epoch, downlink count,
/// acknowledged count, and `TOLD` times the next epoch or `SET` times the channel that it is told).
type Said = (u16, u16, u16, Vec<(u8, u32, u32)>);

fn said(action: &Action) -> Said {
    let Action::Send { answer: Answer::Receipt { id, sealed }, connection: 3, .. } = action else {
        panic!("found {action:?}");
    };
    let key = Aead::new(Suite::Aes256Gcm, cell_master().receipt_key(CELL).expose());
    let mut sealed = sealed.clone();
    let (nonce, sealed) = sealed.split_at_mut(12);
    let receipt = Receipt::parse(key.open_tail(nonce, &id.answer_header(), sealed).unwrap()).unwrap();
    let downlink = |bytes: &Vec<u8>| {
        let frame = frame::parse(bytes).unwrap();
        let key = node_master().traffic_key(NODE, frame.header.epoch, frame.header.suite);
        let plaintext = frame::open(&key, &frame).unwrap();
        let count = u32::from_le_bytes(plaintext[1..5].try_into().unwrap());
        let told = match plaintext[0] {
            frame::KIND_CHANGE => {
                let next = node_master().traffic_key(NODE, plaintext[5], Suite::Aes128Ccm);
                assert_eq!(plaintext[..], frame::change(count, &next)[..]);
                TOLD * u32::from(plaintext[5])
            }
            frame::KIND_SETTING => {
                let first = u32::from_le_bytes(plaintext[5..9].try_into().unwrap());
                let setting = Setting { first, channel: plaintext[9], stride: plaintext[10] };
                assert_eq!(plaintext[..], frame::setting(count, setting));
                assert_eq!(first % 10, 0, "no other sample is set here");
                SET * u32::from(setting.channel)
            }
            _ => 0,
        };
        (frame.header.epoch, frame.header.counter & !DIRECTION_BIT, count + told)
    };
    let downlinks = receipt.downlinks.iter().map(downlink).collect();
    (receipt.stored, receipt.duplicate, receipt.failed_total() as u16, downlinks)
}

/// Steps through `events`, which end with a commit, and returns all answers.
fn run(collector: &mut Collector<SimDisk, Dice>, events: Vec<Event>) -> Vec<Said> {
    let actions = events.into_iter().flat_map(|event| collector.step(Now::default(), event).unwrap());
    actions.collect::<Vec<_>>().iter().map(said).collect()
}

#[test]
fn a_frame_that_comes_twice_in_one_group_is_stored_once() {
    let mut collector = collector(&disk(), Limits::default());
    let events = vec![opened(0, &[(0, 4), (0, 4)]), opened(1, &[(0, 4), (0, 3)]), Event::Commit];
    let said = run(&mut collector, events);
    assert_eq!(said, [(1, 1, 0, vec![(0, 0, 5)]), (1, 1, 0, vec![(0, 1, 5)])]);
    assert_eq!(collector.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [3, 4]);
    assert_eq!(collector.stats().records, 3, "two frames and a reservation");
}

#[test]
fn an_acknowledgement_follows_from_its_batch_alone() {
    let disk = disk();
    let mut first = collector(&disk, Limits::default());
    run(&mut first, vec![opened(0, &[(0, 0)]), opened(1, &[(0, 1)]), Event::Commit]);
    let mut second = collector(&disk, Limits::default());
    let said = run(&mut second, vec![opened(0, &[(0, 0)]), Event::Commit]);
    assert_eq!(said[0].2, 0);
    let (epoch, count, acknowledged) = said[0].3[0];
    assert_eq!((epoch, acknowledged), (0, 1), "not 2, though count 1 is stored");
    assert!(count >= 256, "the restart went on behind what was reserved");
}

#[test]
fn a_node_that_changed_its_epoch_is_answered_in_the_new_one() {
    let mut collector = collector(&disk(), Limits::default());
    let said = run(&mut collector, vec![opened(0, &[(1, 0), (0, 900)]), Event::Commit]);
    assert_eq!(said, [(2, 0, 0, vec![(1, 0, 1)])]);
}

/// A collector on `disk` that tells another epoch after three frames, and the number of epochs taken so far.
fn changing(disk: &SimDisk, taken: &Arc<AtomicU16>) -> Collector<SimDisk, Dice> {
    let taken = taken.clone();
    let take = move |_| Ok(u8::try_from(taken.fetch_add(1, Ordering::Relaxed)).ok());
    Collector::open(
        disk.clone(),
        ring_with(Some(3), Settings::default(), take),
        Limits::default(),
        Dice::new(2),
    )
    .unwrap()
}

/// Batch `number` with these frames in a group of its own: stored, failed, and what its node is told.
fn tell(collector: &mut Collector<SimDisk, Dice>, number: u64, frames: &[(u8, u32)]) -> (u16, u16, u8, u32) {
    let said = run(collector, vec![opened(number, frames), Event::Commit]).remove(0);
    assert_eq!(said.3.len(), 1);
    (said.0, said.2, said.3[0].0, said.3[0].2)
}

#[test]
fn a_change_is_told_over_restarts_until_a_frame_of_the_new_epoch_is_stored() {
    let (disk, taken) = (disk(), Arc::new(AtomicU16::new(4)));
    let mut collector = changing(&disk, &taken);
    assert_eq!(tell(&mut collector, 0, &[(3, 10), (3, 11)]), (2, 0, 3, 12));
    assert_eq!(tell(&mut collector, 1, &[(3, 12)]), (1, 0, 3, 13 + 4 * TOLD));
    for (number, count) in (2..).zip(13..40) {
        if number % 3 == 0 {
            collector = changing(&disk, &taken);
        }
        let told = (1, 0, 3, count + 1 + 4 * TOLD);
        assert_eq!(tell(&mut collector, number, &[(3, count)]), told, "lost on the bus");
    }
    assert_eq!(taken.load(Ordering::Relaxed), 5, "one epoch was taken");
    collector = changing(&disk, &taken);
    // What was sealed before comes late, and beside what was sealed behind.
    assert_eq!(tell(&mut collector, 30, &[(4, 43), (3, 41)]), (2, 0, 4, 44));
    assert_eq!(tell(&mut collector, 31, &[(3, 42)]), (1, 0, 4, 43), "it listens in the new one");
    collector = changing(&disk, &taken);
    assert_eq!(tell(&mut collector, 32, &[(3, 44), (4, 45)]), (1, 1, 4, 46), "the old epoch is over");
    assert_eq!(collector.stats().frames_failed["epoch-over"], 1);
    assert_eq!(tell(&mut collector, 33, &[(3, 41), (4, 46)]), (1, 0, 4, 47 + 5 * TOLD), "the next one");
}

#[test]
fn what_a_node_is_told_does_not_depend_on_how_batches_are_grouped() {
    let batches: [&[(u8, u32)]; 6] =
        [&[(0, 0), (0, 1)], &[(0, 2)], &[(0, 3)], &[(1, 4), (0, 5)], &[(1, 6)], &[(1, 7)]];
    let says = |cuts: u32| {
        let mut collector = changing(&disk(), &Arc::new(AtomicU16::new(1)));
        let mut events = Vec::new();
        for (number, frames) in (0..).zip(batches) {
            events.push(opened(number, frames));
            // A node does not hear of a change before the group ends in which it began.
            if cuts & 1 << number != 0 || number == 2 || number == 5 {
                events.push(Event::Commit);
            }
        }
        run(&mut collector, events)
    };
    let expected = says(0);
    let told: Vec<u32> = expected.iter().map(|said| said.3[0].2).collect();
    assert_eq!(told, [2, 3 + TOLD, 4 + TOLD, 5, 7, 8 + 2 * TOLD]);
    for cuts in 1..64 {
        assert_eq!(says(cuts), expected, "{cuts:#b}");
    }
}

/// A collector on `disk` that sets channel 3 from sample 20 on, told 10 ahead, and tells other epochs, too.
fn setting(disk: &SimDisk, epoch_frames: Option<u16>) -> Collector<SimDisk, Dice> {
    let settings = Settings::new(vec![Planned { first: 20, channel: Some(3), stride: None }], 10);
    let keys = ring_with(epoch_frames, settings, |_| Ok(Some(1)));
    Collector::open(disk.clone(), keys, Limits::default(), Dice::new(2)).unwrap()
}

#[test]
fn a_setting_is_told_beside_acknowledgements_until_a_frame_is_of_its_channel() {
    let disk = disk();
    let mut collector = setting(&disk, None);
    assert_eq!(tell(&mut collector, 0, &[(0, 9)]), (1, 0, 0, 10));
    for count in 10..40 {
        if count % 7 == 0 {
            collector = setting(&disk, None);
        }
        assert_eq!(tell(&mut collector, count.into(), &[(0, count)]), (1, 0, 0, count + 1 + 3 * SET), "lost");
    }
    let stored = run(&mut collector, vec![opened_from(3, 40, &[(0, 40)]), Event::Commit]);
    assert_eq!(stored[0].3[0].2, 41, "it took it");
    assert_eq!(tell(&mut collector, 41, &[(0, 41)]), (1, 0, 0, 42 + 3 * SET), "it was reset");
    // What is answered follows from the batch, whatever was stored since.
    assert_eq!(run(&mut collector, vec![opened(9, &[(0, 9)]), Event::Commit])[0].3[0].2, 10);
    assert_eq!(collector.stats().settings_told, 6, "since the latest restart");
}

#[test]
fn a_setting_and_a_change_of_the_epoch_are_told_in_turn() {
    let mut collector = setting(&disk(), Some(1));
    let told: Vec<u32> = (20..26).map(|count| tell(&mut collector, count.into(), &[(0, count)]).3).collect();
    let [set, change] = [3 * SET, TOLD];
    assert_eq!(told, [21 + set, 22 + change, 23 + change, 24 + set, 25 + change, 26 + set]);
}

#[test]
fn a_node_that_hears_one_answer_of_several_hears_both_a_setting_and_a_change() {
    let mut collector = setting(&disk(), Some(1));
    let told: Vec<u32> =
        (20..340).map(|count| tell(&mut collector, count.into(), &[(0, count)]).3 / TOLD).collect();
    // A gateway with 16 nodes and an answer to each in every superframe sends a node one of 16.
    for (one_of, from) in (1..=16).flat_map(|one_of| (0..one_of).map(move |from| (one_of, from))) {
        let heard: Vec<u32> = told.iter().copied().skip(from).step_by(one_of).take(20).collect();
        let [set, change] = [3 * SET / TOLD, 1];
        assert!(heard.contains(&set) && heard.contains(&change), "one of {one_of} from {from}: {heard:?}");
    }
}

#[test]
fn a_node_whose_epochs_are_used_up_is_acknowledged_for_ever() {
    let taken = Arc::new(AtomicU16::new(256));
    let mut collector = changing(&disk(), &taken);
    for count in 0..8 {
        assert_eq!(tell(&mut collector, count.into(), &[(255, count)]), (1, 0, 255, count + 1));
    }
    assert_eq!(taken.load(Ordering::Relaxed), 257, "it was asked for once");
}

#[test]
fn a_counter_that_is_too_old_to_be_judged_fails_by_name() {
    let limits = Limits { counter_ranges_max: 2, ..Limits::default() };
    let mut collector = collector(&disk(), limits);
    let said = run(&mut collector, vec![opened(0, &[(0, 0), (0, 2), (0, 4), (0, 6)]), Event::Commit]);
    assert_eq!((said[0].0, said[0].2), (4, 0));
    let said = run(&mut collector, vec![opened(1, &[(0, 1), (0, 4)]), Event::Commit]);
    assert_eq!(said[0], (0, 1, 1, vec![(0, 1, 5)]));
    assert_eq!(collector.stats().frames_failed["too-old"], 1);
}

#[test]
fn a_used_up_downlink_counter_is_never_used_again() {
    let disk = disk();
    let mut first = collector(&disk, Limits::default());
    let last = Body::Reservation(Reservation { node: NODE, epoch: 0, limit: COUNT_MAX });
    assert_eq!(first.store.commit(&[last.to_bytes()], 0, Vec::new).unwrap(), Commit::Durable);
    for restart in 0..2 {
        let mut collector = collector(&disk, Limits::default());
        let events = vec![opened(0, &[(0, 0)]), opened(1, &[(0, 1)]), Event::Commit];
        let downlinks: Vec<_> = run(&mut collector, events).into_iter().map(|said| said.3).collect();
        let last = if restart == 0 { vec![(0, COUNT_MAX, 1)] } else { vec![] };
        assert_eq!(downlinks, [last, vec![]]);
        assert_eq!(collector.stats().downlinks_exhausted, 1 + restart);
    }
}

#[test]
fn a_full_group_is_committed_without_being_asked() {
    let limits = Limits { group_batches_max: 2, ..Limits::default() };
    let mut collector = collector(&disk(), limits);
    assert!(collector.step(Now::default(), opened(0, &[(0, 0)])).unwrap().is_empty());
    assert_eq!(collector.step(Now::default(), opened(1, &[(0, 1)])).unwrap().len(), 2);
    assert!(collector.step(Now::default(), Event::Commit).unwrap().is_empty());
    assert_eq!(collector.stats().groups, 1);
}

#[test]
fn a_store_with_a_counter_twice_is_not_opened() {
    let disk = disk();
    let mut first = collector(&disk, Limits::default());
    let Event::Opened(batch) = opened(0, &[(0, 0)]) else { unreachable!() };
    let record = batch.frames.unwrap().records;
    assert_eq!(first.store.commit(&[&*record, &*record], 0, Vec::new).unwrap(), Commit::Durable);
    let opened = Collector::open(disk, ring(), Limits::default(), Dice::new(2));
    assert!(matches!(opened.map(drop), Err(Error::Corrupt { what: Corruption::Repeated, .. })));
}

/// What a cluster gives out, to as many servers as ask.
#[derive(Clone, Default)]
struct Shelf {
    next: Arc<AtomicU32>,
    told: Arc<AtomicU16>,
    /// The lowest count of the epoch that was told.
    entered: Arc<Mutex<Option<u32>>>,
    is_away: Arc<AtomicBool>,
    /// How often it was asked anything.
    asked: Arc<AtomicU32>,
    /// The node is of another partition.
    is_elsewhere: bool,
}

impl Shelf {
    fn ask(&self) -> std::io::Result<()> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        if self.is_away.load(Ordering::Relaxed) { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Fence for Shelf {
    fn is_ours(&self, _: u32) -> bool {
        !self.is_elsewhere
    }

    fn take_downlinks(&mut self, _: u32, epoch: u8, count: u32) -> std::io::Result<std::ops::Range<u32>> {
        self.ask()?;
        assert!(epoch == 0 || self.entered.lock().unwrap().is_some(), "the node has not gone on");
        let start = self.next.fetch_add(count, Ordering::Relaxed);
        Ok(start..start + count)
    }

    fn change(
        &mut self,
        _: u32,
        _: u8,
        take: &mut dyn FnMut() -> std::io::Result<Option<u8>>,
    ) -> std::io::Result<Option<u8>> {
        self.ask()?;
        if self.told.load(Ordering::Relaxed) == 0 {
            let taken = take()?.expect("there are epochs");
            self.told.store(taken.into(), Ordering::Relaxed);
        }
        Ok(u8::try_from(self.told.load(Ordering::Relaxed)).ok())
    }

    fn enter(&mut self, node: u32, epoch: u8, count: u32) -> std::io::Result<()> {
        assert_eq!((node, u16::from(epoch)), (NODE, self.told.load(Ordering::Relaxed)), "what was told");
        self.ask()?;
        let mut entered = self.entered.lock().unwrap();
        *entered = Some(entered.map_or(count, |first| first.min(count)));
        Ok(())
    }

    fn epochs(&mut self) -> std::io::Result<Vec<NodeEpoch>> {
        self.ask()?;
        let to = u8::try_from(self.told.load(Ordering::Relaxed)).unwrap();
        let first = *self.entered.lock().unwrap();
        let changes = vec![record::Told { from: 0, to, first }];
        let epoch = first.map_or(0, |_| to);
        Ok(if to == 0 { vec![] } else { vec![NodeEpoch { node: NODE, epoch, frames: 0, changes }] })
    }
}

/// A collector under a lease, whose key folder gives the epochs from `epoch` on.
fn owner(disk: &SimDisk, fencing: u64, shelf: &Shelf, epoch: u8) -> Collector<SimDisk, Dice> {
    try_owner(disk, fencing, shelf, epoch).unwrap()
}

fn try_owner(disk: &SimDisk, fencing: u64, shelf: &Shelf, epoch: u8) -> io::Result<Collector<SimDisk, Dice>> {
    let ring = ring_with(Some(3), Settings::default(), move |_| Ok(Some(epoch)));
    let limits = Limits { downlink_block: 2, ..Limits::default() };
    let collector = Collector::open(disk.clone(), ring, limits, Dice::new(fencing)).unwrap();
    collector.under(Lease { partition: 3, fencing }, Box::new(shelf.clone()))
}

#[test]
fn two_owners_of_a_node_use_no_downlink_counter_twice_and_tell_it_the_same_epoch() {
    let shelf = Shelf::default();
    // Each with a key folder of its own, which knows nothing of the other's.
    let mut owners = [owner(&disk(), 8, &shelf, 40), owner(&disk(), 9, &shelf, 50)];
    let mut used = std::collections::BTreeSet::new();
    for number in 0..20 {
        let events = vec![opened(number, &[(0, number as u32)]), Event::Commit];
        for (_, count, _) in run(&mut owners[(number / 3 % 2) as usize], events).remove(0).3 {
            assert!(used.insert(count), "{count} was used twice");
        }
    }
    assert_eq!(used.len(), 20);
    let told = owners.each_ref().map(|owner| owner.epochs.pending(NODE));
    assert_eq!(told, [Some(40), Some(40)]);
}

#[test]
fn who_cannot_ask_for_a_counter_stores_and_sends_no_downlink() {
    let (shelf, disk) = (Shelf::default(), disk());
    let mut owner = owner(&disk, 8, &shelf, 40);
    shelf.is_away.store(true, Ordering::Relaxed);
    let said = run(&mut owner, vec![opened(0, &[(0, 0), (0, 1), (0, 2)]), Event::Commit]);
    assert_eq!(said[0], (3, 0, 0, vec![]));
    assert_eq!((owner.stats().downlinks_unfenced, owner.epochs.pending(NODE)), (1, None));
    shelf.is_away.store(false, Ordering::Relaxed);
    let said = run(&mut owner, vec![opened(1, &[(0, 3)]), Event::Commit]);
    assert_eq!(said[0].3.len(), 1);
    assert_eq!(owner.epochs.pending(NODE), Some(40), "it is told later");
}

#[test]
fn who_cannot_be_asked_is_asked_once_for_a_group() {
    let (shelf, disk) = (Shelf::default(), disk());
    let mut owner = owner(&disk, 8, &shelf, 40);
    shelf.is_away.store(true, Ordering::Relaxed);
    let before = shelf.asked.load(Ordering::Relaxed);
    // A change is due, and downlink counters are needed.
    let said =
        run(&mut owner, vec![opened(0, &[(0, 0), (0, 1), (0, 2)]), opened(1, &[(0, 3)]), Event::Commit]);
    assert_eq!(said.iter().map(|said| said.0).sum::<u16>(), 4);
    assert_eq!(shelf.asked.load(Ordering::Relaxed) - before, 1, "each of them would have waited");
}

#[test]
fn a_copy_of_a_batch_in_another_partition_is_refused_and_nothing_of_it_is_stored() {
    let shelf = Shelf { is_elsewhere: true, ..Shelf::default() };
    let mut owner = owner(&disk(), 8, &shelf, 40);
    let mut actions = owner.step(Now::default(), opened(0, &[(0, 0)])).unwrap();
    actions.extend(owner.step(Now::default(), Event::Commit).unwrap());
    let refused = Answer::Refused {
        id: BatchId { cell: CELL, spool: 1, number: 0 },
        status: Refusal::Partition.number(),
    };
    assert!(matches!(&actions[..], [Action::Send { answer, .. }] if *answer == refused), "{actions:?}");
    assert_eq!((owner.stored(NODE, 0).is_none(), owner.stats().records), (true, 0));
}

#[test]
fn an_owner_takes_no_more_of_an_epoch_that_the_node_left_than_the_one_before_it() {
    let shelf = Shelf::default();
    let mut before = owner(&disk(), 8, &shelf, 40);
    run(&mut before, vec![opened(0, &[(0, 0), (0, 1), (0, 2)]), Event::Commit]);
    assert_eq!(before.epochs.pending(NODE), Some(40));
    // Who comes now tells the node the same, though it heard nothing of it yet.
    assert_eq!(owner(&disk(), 9, &shelf, 50).epochs.pending(NODE), Some(40));
    // The node has gone on. Nobody can be told now; it is made up for.
    shelf.is_away.store(true, Ordering::Relaxed);
    run(&mut before, vec![opened(1, &[(40, 5)]), Event::Commit]);
    assert_eq!(*shelf.entered.lock().unwrap(), None);
    assert!(try_owner(&disk(), 10, &shelf, 50).is_err(), "who cannot ask is no owner");
    shelf.is_away.store(false, Ordering::Relaxed);
    run(&mut before, vec![opened(2, &[(40, 6)]), Event::Commit]);
    assert_eq!(*shelf.entered.lock().unwrap(), Some(5));
    let late = [(0, 3), (0, 5), (0, 9)];
    let expected = |said: Said| assert_eq!((said.0, said.1, said.2), (1, 0, 2));
    let disk = disk();
    let mut after = owner(&disk, 11, &shelf, 50);
    expected(run(&mut after, vec![opened(3, &late), Event::Commit]).remove(0));
    expected(run(&mut before, vec![opened(3, &late), Event::Commit]).remove(0));
    assert_eq!(after.stats().frames_failed, [(Fault::Over.name(), 2)].into());
    assert_eq!(after.epochs.pending(NODE), None);
    // It is in the log, too.
    drop(after);
    let again = Collector::open(disk, ring(), Limits::default(), Dice::new(2)).unwrap();
    assert!(again.epochs.is_over(NODE, 0, 5) && !again.epochs.is_over(NODE, 0, 4));
}

#[test]
fn every_segment_of_a_log_begins_with_the_lease_under_which_it_is_written() {
    let (shelf, disk) = (Shelf::default(), disk());
    for restart in 0..3 {
        let mut owner = owner(&disk, 8, &shelf, 40);
        run(&mut owner, vec![opened(restart, &[(0, restart as u32)]), Event::Commit]);
    }
    let keys = ring().present().unwrap().store;
    let numbers = store::numbers(&disk.list().unwrap());
    assert_eq!(numbers.len(), 3);
    for number in numbers {
        let segment = store::head(&disk, number, &keys).unwrap();
        let scan = store::load(&disk, &segment, None).unwrap();
        let lease = Body::Lease(Lease { partition: 3, fencing: 8 });
        assert_eq!(Body::parse(&scan.groups[0].bodies[0]), Some(lease));
    }
}

/// A collector on `disk` of keys that may change, and what they are now.
fn changeable(disk: &SimDisk, present: &Arc<Mutex<Present>>) -> Collector<SimDisk, Dice> {
    let settings = Settings::new(Vec::new(), 10);
    let mut keys = Arc::into_inner(ring_with(None, settings, |_| Ok(Some(4)))).unwrap();
    let present = present.clone();
    keys.read_present_by(move || Ok(present.lock().unwrap().clone()));
    Collector::open(disk.clone(), Arc::new(keys), Limits::default(), Dice::new(2)).unwrap()
}

fn store_key(number: u8) -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[3 + number; 32]))
}

fn present() -> Arc<Mutex<Present>> {
    Arc::new(Mutex::new(Present { store: store_key(0).into(), standings: HashMap::new() }))
}

fn ask(collector: &mut Collector<SimDisk, Dice>, request: Request) -> Reply {
    collector.ask(Now::default(), &request).unwrap()
}

fn set(channel: Option<u8>, stride: Option<u8>) -> Request {
    Request::Tell { orders: vec![(NODE, Order::Set { channel, stride })], leaves_out: false }
}

#[test]
fn a_closed_epoch_takes_nothing_new_and_a_revoked_node_nothing() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    assert_eq!(tell(&mut collector, 0, &[(0, 0), (1, 1)]), (2, 0, 1, 2));
    present.lock().unwrap().standings.entry(NODE).or_default().closed.insert(0);
    assert_eq!(tell(&mut collector, 1, &[(0, 2), (1, 3)]), (2, 0, 1, 4), "nobody has said so");
    for _ in 0..2 {
        assert_eq!(ask(&mut collector, Request::ReadKeys), Reply::Done(vec![]));
        let said = run(&mut collector, vec![opened(2, &[(0, 0), (0, 7), (1, 3)]), Event::Commit]).remove(0);
        assert_eq!((said.0, said.1, said.2), (0, 2, 1), "what is stored is acknowledged again");
        assert_eq!(collector.stats().frames_failed["epoch-closed"], 1);
        // A server that starts again reads the same.
        collector = changeable(&disk, &present);
    }
    present.lock().unwrap().standings.entry(NODE).or_default().is_revoked = true;
    assert_eq!(ask(&mut collector, Request::ReadKeys), Reply::Done(vec![]));
    let said = run(&mut collector, vec![opened(3, &[(1, 3), (1, 4)]), Event::Commit]).remove(0);
    assert_eq!(said, (0, 0, 2, vec![]), "it is told nothing");
    assert_eq!(collector.stats().frames_failed["revoked"], 2);
    assert_eq!(ask(&mut collector, set(Some(1), None)), Reply::Refused(Reason::Revoked(NODE)));
    let all = Request::Tell { orders: vec![(NODE, Order::ChangeEpoch)], leaves_out: true };
    assert_eq!(ask(&mut collector, all), Reply::Done(vec![]));
}

#[test]
fn who_is_admitted_again_is_heard_when_its_new_key_is_read() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    for (number, is_revoked) in [(0, true), (1, false)] {
        present.lock().unwrap().standings.insert(NODE, Standing { is_revoked, ..Standing::default() });
        assert_eq!(ask(&mut collector, Request::ReadKeys), Reply::Done(vec![]));
        let said = run(&mut collector, vec![opened(number, &[(0, 0)]), Event::Commit]).remove(0);
        assert_eq!(said, (0, 0, 1, vec![]), "under the key that was revoked");
    }
    collector = changeable(&disk, &present);
    assert_eq!(tell(&mut collector, 2, &[(0, 0)]), (1, 0, 0, 1));
}

#[test]
fn an_order_is_told_over_restarts_until_a_frame_does_it() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    let told = |channel, is_acknowledged| {
        let what = Order::Set { channel, stride: None };
        Reply::Done(vec![Told { node: NODE, what, epoch: None, is_acknowledged }])
    };
    assert_eq!(ask(&mut collector, Request::Status), Reply::Done(vec![]));
    assert_eq!(ask(&mut collector, set(Some(3), None)), told(Some(3), false), "before it was ever heard");
    for count in 0..30 {
        if count % 7 == 0 {
            disk.cut_power();
            collector = changeable(&disk, &present);
        }
        assert_eq!(tell(&mut collector, count.into(), &[(0, count)]), (1, 0, 0, count + 1 + 3 * SET), "lost");
        assert_eq!(ask(&mut collector, Request::Status), told(Some(3), false));
    }
    let stored = run(&mut collector, vec![opened_from(3, 30, &[(0, 30)]), Event::Commit]);
    assert_eq!(stored[0].3[0].2, 31, "it does it");
    collector = changeable(&disk, &present);
    assert_eq!(ask(&mut collector, Request::Status), told(Some(3), true));
    assert_eq!(tell(&mut collector, 31, &[(0, 31)]), (1, 0, 0, 32 + 3 * SET), "it was reset");
}

#[test]
fn an_order_that_a_batch_changes_is_stored_behind_all_frames_of_the_batch() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    ask(&mut collector, set(Some(3), None));
    let said = run(&mut collector, vec![opened_from(3, 0, &[(0, 0), (0, 1), (0, 2)]), Event::Commit]);
    assert_eq!(said[0].0, 3);
    let records = Records::new(disk.clone(), store_key(0), Filter::default()).unwrap();
    let counters: Vec<u32> = records.map(|record| record.unwrap().counter).collect();
    assert_eq!(counters, [0, 1, 2]);
    let Reply::Done(told) = ask(&mut changeable(&disk, &present), Request::Status) else { panic!("refused") };
    assert!(told[0].is_acknowledged);
}

#[test]
fn an_epoch_that_is_asked_for_is_told_and_asked_for_once() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    let change = || Request::Tell { orders: vec![(NODE, Order::ChangeEpoch)], leaves_out: false };
    assert_eq!(ask(&mut collector, change()), Reply::Refused(Reason::NeverHeard(NODE)));
    assert_eq!(tell(&mut collector, 0, &[(3, 0)]), (1, 0, 3, 1));
    let told = |is_acknowledged| {
        Reply::Done(vec![Told { node: NODE, what: Order::ChangeEpoch, epoch: Some(4), is_acknowledged }])
    };
    assert_eq!(ask(&mut collector, change()), told(false));
    disk.cut_power();
    collector = changeable(&disk, &present);
    assert_eq!(ask(&mut collector, change()), told(false));
    assert_eq!(tell(&mut collector, 1, &[(3, 1)]), (1, 0, 3, 2 + 4 * TOLD));
    assert_eq!(tell(&mut collector, 2, &[(4, 2)]), (1, 0, 4, 3));
    assert_eq!(ask(&mut collector, Request::Status), told(true));
}

#[test]
fn what_no_node_can_do_is_refused_by_name() {
    let mut collector = changeable(&disk(), &present());
    let input = Order::Set { channel: Some(1), stride: None };
    let unknown = Request::Tell { orders: vec![(NODE, input), (77, input)], leaves_out: true };
    assert_eq!(ask(&mut collector, unknown), Reply::Refused(Reason::UnknownNode(77)));
    // The grid here has one sample in a superframe.
    for wrong in [set(Some(8), None), set(None, Some(0)), set(None, Some(2)), set(None, None)] {
        assert_eq!(ask(&mut collector, wrong), Reply::Refused(Reason::Setting(NODE)));
    }
    assert_eq!(ask(&mut collector, Request::Status), Reply::Done(vec![]), "nothing of it was begun");
}

#[test]
fn of_a_request_that_is_refused_nothing_is_done_with_the_next_group_either() {
    let ring = ring_with(None, Settings::new(Vec::new(), 10), |_| Ok(None));
    let mut collector = Collector::open(disk(), ring, Limits::default(), Dice::new(2)).unwrap();
    assert_eq!(tell(&mut collector, 0, &[(3, 0)]), (1, 0, 3, 1));
    let input = Order::Set { channel: Some(3), stride: None };
    let both = Request::Tell { orders: vec![(NODE, input), (NODE, Order::ChangeEpoch)], leaves_out: false };
    assert_eq!(ask(&mut collector, both), Reply::Refused(Reason::EpochsUsedUp(NODE)));
    assert_eq!(tell(&mut collector, 1, &[(3, 1)]), (1, 0, 3, 2), "it is told no input");
    assert_eq!(ask(&mut collector, Request::Status), Reply::Done(vec![]));
}

#[test]
fn another_key_of_the_store_seals_what_is_new_from_when_it_is_read() {
    let (disk, present) = (disk(), present());
    let mut collector = changeable(&disk, &present);
    tell(&mut collector, 0, &[(0, 0)]);
    present.lock().unwrap().store.add(1, store_key(1));
    tell(&mut collector, 1, &[(0, 1)]);
    assert_eq!(disk.list().unwrap().len(), 1);
    for number in 2..4 {
        assert_eq!(ask(&mut collector, Request::ReadKeys), Reply::Done(vec![]));
        tell(&mut collector, number, &[(0, number as u32)]);
        assert_eq!(disk.list().unwrap().len(), 2, "an own segment, and one only");
    }
    let read = |keys: StoreKeys| {
        Records::new(disk.clone(), keys, Filter::default())
            .and_then(|mut records| records.try_fold(0, |n, record| record.map(|_| n + 1)))
    };
    assert_eq!(read(present.lock().unwrap().store.clone()).unwrap(), 4);
    for keys in [StoreKeys::from(store_key(0)), StoreKeys::new(1, store_key(1))] {
        assert!(matches!(read(keys), Err(Error::Corrupt { what: Corruption::Key, .. })));
    }
}

#[test]
fn people_see_what_is_durable_and_samples_only_while_they_look() {
    let mut collector = collector(&disk(), Limits::default());
    let see = |collector: &mut Collector<SimDisk, Dice>, watched: &[u32]| {
        let snapshot = collector.snapshot(Now::default(), &watched.iter().copied().collect());
        let node = snapshot.nodes.into_iter().next().expect("one is provisioned");
        assert_eq!(
            (node.node, snapshot.stats.frames_stored, snapshot.samples),
            (NODE, node.frames, node.samples)
        );
        let columns = node.drawn.map(|drawn| drawn.columns.iter().map(|column| column[0]).collect());
        (node.frames, node.missing, columns.unwrap_or_default())
    };
    assert_eq!(see(&mut collector, &[]), (0, 0, vec![]));
    run(&mut collector, vec![opened(0, &[(0, 0), (0, 1)]), Event::Commit]);
    assert_eq!(see(&mut collector, &[NODE]), (2, 0, vec![]), "nobody looked when they came");
    let open = collector.step(Now::default(), opened(1, &[(0, 2), (0, 4), (0, 1)])).unwrap();
    assert_eq!((open, see(&mut collector, &[NODE])), (vec![], (2, 0, vec![])), "they are not durable");
    run(&mut collector, vec![Event::Commit]);
    let (frames, missing, columns) = see(&mut collector, &[NODE]);
    assert_eq!((frames, missing, &columns[..1], columns.len()), (4, 1, &[1.0][..], 3));
    assert!(columns[1].is_nan() && columns[2] == 1.0);
    assert!(see(&mut collector, &[]).2.is_empty());
    assert!(see(&mut collector, &[NODE]).2.is_empty(), "nothing was kept");
}

/// What people see of the node: stored frames, instants of its grid, those without a sample.
fn seen(collector: &mut Collector<SimDisk, Dice>) -> (u64, u64, u64) {
    let view = collector.snapshot(Now::default(), &Default::default()).nodes.remove(0);
    (view.frames, view.steps, view.missing)
}

#[test]
fn what_comes_late_after_a_start_makes_nothing_missing_that_was_stored_before() {
    let disk = disk();
    let before = [(0, 0), (0, 1), (0, 2), (0, 4), (0, 5)];
    run(&mut collector(&disk, Limits::default()), vec![opened(0, &before), Event::Commit]);
    let mut collector = collector(&disk, Limits::default());
    run(&mut collector, vec![opened(1, &[(0, 3)]), Event::Commit]);
    assert_eq!(seen(&mut collector), (1, 0, 0));
    run(&mut collector, vec![opened(2, &[(0, 9), (0, 7)]), Event::Commit]);
    assert_eq!(seen(&mut collector), (3, 3, 1), "from the first that is stored now, though it comes late");
}

#[test]
fn what_lies_between_two_lives_of_a_node_is_not_missing_and_what_lies_between_its_epochs_is() {
    let mut collector = collector(&disk(), Limits::default());
    // Provisioned anew, it has an epoch that it was not told, and begins again.
    run(&mut collector, vec![opened(0, &[(0, 10), (0, 11), (0, 13), (1, 0), (1, 1)]), Event::Commit]);
    assert_eq!(seen(&mut collector), (5, 6, 1));
    let free = AtomicU16::new(4);
    let take = move |_| Ok(u8::try_from(free.fetch_add(1, Ordering::Relaxed)).ok());
    let ring = ring_with(Some(2), Settings::default(), take);
    let mut collector = Collector::open(disk(), ring, Limits::default(), Dice::new(2)).unwrap();
    run(&mut collector, vec![opened(0, &[(0, 10), (0, 11)]), Event::Commit]);
    run(&mut collector, vec![opened(1, &[(4, 14), (4, 15)]), Event::Commit]);
    assert_eq!(seen(&mut collector), (4, 6, 2));
}
