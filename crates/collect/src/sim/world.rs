//! The cells, their bridges and the judge of a simulated run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::{Arc, Mutex, PoisonError};

use cipher::{Aead, CellMaster, Key, NodeMaster, NonceSource, StoreMaster, Suite, TrafficKey};
use sha2::{Digest, Sha256};

use super::{Dice, Plan, SimDisk, Stop};
use crate::batch::{self, Answer, BatchId, Entry, Receipt, SealedBatch};
use crate::commit::Underway;
use crate::error::{Error, Refusal};
use crate::frame::{self, DIRECTION_BIT, Header, Samples, Setting};
use crate::keys::{Grid, KeyRing, Node};
use crate::limits::Limits;
use crate::read::{Filter, Records};
use crate::record::Record;
use crate::settings::{Planned, Settings};
use crate::shard::{Arrived, Now, Shard};
use crate::waveform::{Format, Waveform};
use crate::{Action, Collector};

const CELLS: u16 = 2;
const NODES_PER_CELL: u32 = 3;
/// Batches in underway on one connection.
const WINDOW: usize = 4;
/// A run that needs more steps than this will never end.
const STEPS_MAX: u32 = 10_000;
/// Nanoseconds of a step.
const STEP_NS: u64 = 1_000_000_000;
/// What a wall clock says that is right, when a run begins: nanoseconds since 1970.
const BEGIN_NS: u64 = 1_700_000_000 * STEP_NS;
const HOUR_NS: u64 = 3_600 * STEP_NS;
/// Stored frames of an epoch after which a node is told another.
const EPOCH_FRAMES: NonZeroU16 = NonZeroU16::new(6).expect("6");

/// What a node is told that never takes it, so that it is told in turn with changes of the epoch.
const SETTING: Setting = Setting { first: 40, channel: 7, stride: 1 };

/// Small enough that a short run meets every limit: segments rotate, groups fill, reservations run out.
fn limits() -> Limits {
    Limits {
        batch_frames_max: 8,
        batch_bytes_max: 2048,
        group_batches_max: 5,
        group_bytes_max: 2048,
        segment_bytes_max: 16 << 10,
        sector_bytes: 512,
        downlink_block: 3,
        // Longer than any run: nothing is ever so old, whatever a wall clock says.
        retain_ns_max: u64::from(STEPS_MAX) * STEP_NS,
        ..Limits::default()
    }
}

/// A promise that was broken.
#[derive(Debug)]
pub enum Violation {
    /// A frame that a receipt spoke of is not in the store.
    Lost {
        /// Its node.
        node: u32,
        /// Its epoch.
        epoch: u8,
        /// Its count.
        counter: u32,
    },
    /// A frame is in the store twice, or with other samples, or no node sent it.
    Invented(Box<Record>),
    /// A frame is in the store before one that arrived earlier.
    Reordered(Box<Record>),
    /// More frames were called stored than the store ever held.
    CalledStoredTwice,
    /// A segment key sealed two records under one index.
    NonceReused([u8; 32], u64),
    /// A downlink counter was used twice, or did not open.
    Downlink(Vec<u8>),
    /// A receipt did not open, or its numbers were wrong.
    Receipt(BatchId),
    /// A batch was refused for a reason that this run does not give.
    Refused(BatchId, u16),
    /// The server did not open its store again.
    Unreadable(Error),
    /// The server failed although nothing was done to its disk.
    Failed(Error),
    /// The run did not end.
    Stuck,
}

/// What a run went through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Frames that the bridges accepted and that were authentic.
    pub frames: u64,
    /// Frames in the store at the end.
    pub stored: u64,
    /// Times that the power was cut.
    pub power_cuts: u64,
    /// Times that the server was started again.
    pub restarts: u64,
    /// Batches refused because the disk was full.
    pub disk_full: u64,
    /// Batches that were sent more than once.
    pub repeated: u64,
    /// Segments at the end.
    pub segments: u64,
    /// Downlink frames that the server sealed.
    pub downlinks: u64,
    /// Changes of the epoch that nodes made because they were told to.
    pub changes: u64,
    /// Torn tails that were cut off.
    pub torn_tails: u64,
    /// Times that the wall clock jumped.
    pub clock_steps: u64,
    /// SHA-256 of every answer, in order.
    pub fingerprint: [u8; 32],
}

impl Report {
    /// Adds what another run went through, but for its answers.
    pub fn add(&mut self, other: &Report) {
        self.frames += other.frames;
        self.stored += other.stored;
        self.power_cuts += other.power_cuts;
        self.restarts += other.restarts;
        self.disk_full += other.disk_full;
        self.repeated += other.repeated;
        self.segments += other.segments;
        self.downlinks += other.downlinks;
        self.changes += other.changes;
        self.torn_tails += other.torn_tails;
        self.clock_steps += other.clock_steps;
    }
}

/// The free epochs of each node's key: the next one. They are kept where no power is cut.
#[derive(Clone, Default)]
struct Free(Arc<Mutex<BTreeMap<u32, u16>>>);

impl Free {
    fn take(&self, node: u32) -> Option<u8> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = free.entry(node).or_default();
        let taken = u8::try_from(*next).ok()?;
        *next += 1;
        Some(taken)
    }
}

/// A node of a cell: the next frame that it will send.
struct SimNode {
    id: u32,
    free: Free,
    suite: Suite,
    master: NodeMaster,
    epoch: u8,
    counter: u32,
    first: u64,
}

/// A cell and its bridge.
struct SimCell {
    id: u16,
    nodes: Vec<SimNode>,
    batch_key: Aead,
    receipt_key: Aead,
    nonces: NonceSource<Dice>,
    spool: u64,
    superframe: u32,
    /// Batches without a receipt: the sealed batch, its frames, and how often it was sent.
    waiting: VecDeque<Spooled>,
    /// Batches of `waiting` that are on the way.
    sent: usize,
    number: u64,
    /// Frames that were sent before; some are sent again under a new number.
    old: Vec<Vec<u8>>,
}

struct Spooled {
    batch: SealedBatch,
    frames: Vec<FrameKey>,
    count: usize,
    times_sent: u32,
}

/// Node, epoch, count.
type FrameKey = (u32, u8, u32);

/// A change: the node's place in its cell, the epoch before, the next one.
type Tells = (usize, u8, u8);

/// Runs one seed to its end.
///
/// # Errors
/// The first promise that was broken.
pub fn run(seed: u64, plan: &Plan) -> Result<Report, Box<Violation>> {
    let mut world = World::new(seed, plan);
    for _ in 0..STEPS_MAX {
        if world.calm() && world.cells.iter().all(|cell| cell.waiting.is_empty()) {
            return world.judge_end();
        }
        world.step()?;
    }
    Err(Violation::Stuck.into())
}

/// The server as it runs.
struct Server {
    shard: Shard,
    collector: Collector<SimDisk, Dice>,
    /// The group that is under way, and whether it is written already.
    underway: Option<(Underway<SimDisk>, bool)>,
}

struct World<'a> {
    plan: &'a Plan,
    dice: Dice,
    keys: Arc<KeyRing>,
    store: StoreMaster,
    disk: SimDisk,
    server: Option<Server>,
    cells: Vec<SimCell>,
    now: Now,
    /// What nodes sent, and a bridge accepted.
    sent: BTreeMap<FrameKey, Samples>,
    /// Authentic frames that came to the server, each as often as it did, in order.
    arrived: Vec<FrameKey>,
    /// What receipts promised.
    promised: BTreeSet<FrameKey>,
    called_stored: u64,
    downlinks: BTreeSet<FrameKey>,
    fingerprint: Sha256,
    report: Report,
}

impl Server {
    /// The next thing that its threads do, batches aside: the group that is under way is written, or lands and is answered
    /// when the next one has begun, or one begins.
    fn turn(&mut self, now: Now) -> Result<Vec<Action>, Error> {
        let Server { collector, underway, .. } = self;
        match underway.take() {
            Some((mut under_way, false)) => {
                under_way.run();
                *underway = Some((under_way, true));
                Ok(Vec::new())
            }
            Some((written, true)) => {
                let landed = collector.land(written, || ())?;
                self.begin(now)?;
                self.collector.answers(landed)
            }
            None => self.begin(now).map(|()| Vec::new()),
        }
    }

    fn begin(&mut self, now: Now) -> Result<(), Error> {
        if self.collector.has_group() {
            self.underway = Some((self.collector.begin(now)?, false));
        }
        Ok(())
    }
}

impl<'a> World<'a> {
    fn new(seed: u64, plan: &'a Plan) -> World<'a> {
        let mut dice = Dice::new(seed);
        let key = |dice: &mut Dice| Key::<32>::filled_by(|bytes| dice.fill_bytes(bytes));
        let store = StoreMaster::from(key(&mut dice));
        let mut keys = KeyRing::new(store.clone());
        let grid = Grid {
            superframe_ps: 250_000_000_000,
            samples_per_superframe: NonZeroU32::new(4).expect("4"),
            uncertainty_ns: 0,
        };
        let free = Free::default();
        let taker = free.clone();
        keys.take_epochs_by(move |node| Ok(taker.take(node)));
        let mut cells = Vec::new();
        for id in 0..CELLS {
            let master = CellMaster::from(key(&mut dice));
            keys.add_cell(id, &master);
            let aead = |key: Key<32>| Aead::new(Suite::Aes256Gcm, key.expose());
            let mut nodes = Vec::new();
            for node in 0..NODES_PER_CELL {
                let (id, master) = (u32::from(id) * 1000 + node, NodeMaster::from(key(&mut dice)));
                let suite = [Suite::AsconAead128, Suite::Aes128Ccm][node as usize % 2];
                // Every third one stays where it is.
                let epoch_frames = Some(EPOCH_FRAMES).filter(|_| node > 0);
                let settings = Settings::new(
                    vec![Planned { first: SETTING.first, channel: Some(SETTING.channel), stride: None }],
                    16,
                );
                let admitted =
                    Node { master: master.clone(), suite, epoch_from: 0, epoch_frames, settings, grid };
                keys.add_node(id, admitted);
                let (free, epoch) = (free.clone(), free.take(id).expect("the first one"));
                nodes.push(SimNode { id, free, suite, master, epoch, counter: 0, first: 0 });
            }
            cells.push(SimCell {
                id,
                nodes,
                batch_key: aead(master.batch_key(id)),
                receipt_key: aead(master.receipt_key(id)),
                nonces: NonceSource::new(dice.split()).expect("dice never fail"),
                spool: dice.next_u64(),
                superframe: 0,
                waiting: VecDeque::new(),
                sent: 0,
                number: 0,
                old: Vec::new(),
            });
        }
        World {
            plan,
            keys: Arc::new(keys),
            store,
            disk: SimDisk::new(dice.split(), plan.honesty),
            server: None,
            cells,
            now: Now { wall_ns: BEGIN_NS, monotonic_ns: 0 },
            sent: BTreeMap::new(),
            arrived: Vec::new(),
            promised: BTreeSet::new(),
            called_stored: 0,
            downlinks: BTreeSet::new(),
            fingerprint: Sha256::new(),
            report: Report::default(),
            dice,
        }
    }

    /// True when all cells have sent everything: from now on nothing is done to the server.
    fn calm(&self) -> bool {
        self.cells.iter().all(|cell| cell.superframe >= self.plan.superframes)
    }

    fn step(&mut self) -> Result<(), Box<Violation>> {
        self.pass_time();
        self.trouble();
        if self.server.is_none() {
            return self.start_server();
        }
        for cell in &mut self.cells {
            if cell.superframe < self.plan.superframes && self.dice.chance(1, 2) {
                cell.run_superframe(&mut self.dice, &mut self.sent);
            }
        }
        let arrived = self.arrivals();
        match self.serve(arrived) {
            Ok(actions) => actions.into_iter().try_for_each(|action| self.receive(action)),
            Err(error) => self.server_died(error),
        }
    }

    /// A step of both clocks; the wall clock may jump besides: to 1970, by up to a year, or to where it is right.
    fn pass_time(&mut self) {
        self.now.monotonic_ns += STEP_NS;
        self.now.wall_ns += STEP_NS;
        if self.plan.clock_jumps && self.dice.chance(1, 20) {
            let jump_ns = u64::from(1 + self.dice.below(365 * 24)) * HOUR_NS;
            self.now.wall_ns = match self.dice.below(4) {
                0 => 0,
                1 => self.now.wall_ns + jump_ns,
                2 => self.now.wall_ns.saturating_sub(jump_ns),
                _ => BEGIN_NS + self.now.monotonic_ns,
            };
            self.report.clock_steps += 1;
        }
    }

    /// Does something to the server, or lets it be.
    fn trouble(&mut self) {
        let calm = self.calm();
        let dice = &mut self.dice;
        if calm {
            self.disk.set_room(usize::MAX);
            self.disk.set_sync_errors(0);
            return;
        }
        self.disk.set_sync_errors(self.plan.sync_error_every);
        if self.plan.stop_every > 0 && dice.chance(1, 4) {
            let stop = if dice.chance(1, 2) { Stop::Kill } else { Stop::Power };
            self.disk.plan_stop(u64::from(1 + dice.below(2 * self.plan.stop_every)), stop);
        }
        if self.plan.disk_fills && dice.chance(1, 4) {
            let room = if dice.chance(1, 2) {
                usize::MAX
            } else {
                self.disk.used_bytes() + dice.below(4000) as usize
            };
            self.disk.set_room(room);
        }
    }

    fn kill(&mut self) {
        self.server = None;
        self.cells.iter_mut().for_each(|cell| cell.sent = 0);
    }

    fn start_server(&mut self) -> Result<(), Box<Violation>> {
        self.report.restarts += 1;
        let opened = Collector::open(self.disk.clone(), self.keys.clone(), limits(), self.dice.split());
        match opened {
            Ok(collector) => {
                self.report.torn_tails += collector.stats().torn_tails;
                self.server =
                    Some(Server { shard: Shard::new(self.keys.clone()), collector, underway: None });
                self.judge_store().map(drop)
            }
            Err(error) if error.is_environment() => self.server_died(error),
            Err(error) => Err(Violation::Unreadable(error).into()),
        }
    }

    /// The server met an error of its disk and ends.
    fn server_died(&mut self, error: Error) -> Result<(), Box<Violation>> {
        if !error.is_environment() {
            return Err(Violation::Failed(error).into());
        }
        self.kill();
        let cut = match self.disk.process_ended() {
            Some(stop) => stop == Stop::Power,
            // A sync failed: either may follow, the process starts again or the machine goes down.
            None => self.dice.chance(1, 2),
        };
        if cut {
            self.disk.cut_power();
        }
        Ok(())
    }

    /// What the network delivers now.
    fn arrivals(&mut self) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        for (connection, cell) in (0..).zip(&mut self.cells) {
            if self.dice.chance(1, 25) {
                // The connection breaks: what is on the way is sent again.
                cell.sent = 0;
            }
            while cell.sent < WINDOW.min(cell.waiting.len()) && !self.dice.chance(1, 3) {
                let spooled = &mut cell.waiting[cell.sent];
                spooled.times_sent += 1;
                self.report.repeated += u64::from(spooled.times_sent == 2);
                cell.sent += 1;
                self.arrived.extend_from_slice(&spooled.frames);
                arrived.push(Arrived { connection, at: self.now, batch: Ok(spooled.batch.clone()) });
            }
        }
        arrived
    }

    fn serve(&mut self, arrived: Vec<Arrived>) -> Result<Vec<Action>, Error> {
        let server = self.server.as_mut().expect("the server runs");
        let mut actions = Vec::new();
        for opened in server.shard.open(arrived) {
            server.collector.take(opened);
            // A full group takes no more.
            let mut turns = self.dice.below(3);
            while turns > 0 || server.collector.is_full() {
                actions.extend(server.turn(self.now)?);
                turns = turns.saturating_sub(1);
            }
        }
        // One may be under way over many steps.
        for _ in 0..self.dice.below(4) {
            actions.extend(server.turn(self.now)?);
        }
        Ok(actions)
    }

    /// An answer leaves the server; the network may still lose it.
    fn receive(&mut self, action: Action) -> Result<(), Box<Violation>> {
        let Action::Send { connection, answer, .. } = action;
        self.fingerprint.update(answer.to_message());
        let index = connection as usize;
        let id = answer.id();
        match answer {
            Answer::Refused { status, .. } if status == Refusal::DiskFull.number() => {
                self.report.disk_full += 1;
                self.cells[index].sent = 0;
                Ok(())
            }
            Answer::Refused { status, .. } => Err(Violation::Refused(id, status).into()),
            Answer::Receipt { sealed, .. } => {
                let receipt = self.cells[index].open_receipt(&id, sealed).ok_or(Violation::Receipt(id))?;
                self.judge_downlinks(index, &receipt)?;
                self.called_stored += u64::from(receipt.stored);
                if self.dice.chance(1, 20) {
                    self.cells[index].sent = 0;
                    return Ok(());
                }
                self.accept(index, id, &receipt)
            }
        }
    }

    fn judge_downlinks(&mut self, index: usize, receipt: &Receipt) -> Result<(), Box<Violation>> {
        for bytes in &receipt.downlinks {
            let opened = self.cells[index].open_downlink(bytes);
            let Some((_, next)) = opened.filter(|(key, _)| self.downlinks.insert(*key)) else {
                return Err(Violation::Downlink(bytes.clone()).into());
            };
            // Most are lost on the bus.
            if let Some((node, from, next)) = next.filter(|_| self.dice.chance(1, 3)) {
                self.report.changes += u64::from(self.cells[index].nodes[node].hear(from, next));
            }
        }
        Ok(())
    }

    /// The bridge has a receipt and frees the batch.
    fn accept(&mut self, index: usize, id: BatchId, receipt: &Receipt) -> Result<(), Box<Violation>> {
        let cell = &mut self.cells[index];
        let Some(place) = cell.waiting.iter().position(|spooled| spooled.batch.id == id) else {
            return Ok(()); // answered before, by a receipt that came after the connection broke
        };
        let spooled = cell.waiting.remove(place).expect("it was found");
        cell.sent = cell.sent.saturating_sub(usize::from(place < cell.sent));
        let counted =
            usize::from(receipt.stored) + usize::from(receipt.duplicate) + receipt.failed_total() as usize;
        let authentic = usize::from(receipt.stored) + usize::from(receipt.duplicate);
        if Some(receipt.batch) != spooled.batch.seal()
            || counted != spooled.count
            || authentic != spooled.frames.len()
        {
            return Err(Violation::Receipt(id).into());
        }
        self.promised.extend(spooled.frames);
        Ok(())
    }

    /// Compares the store with what was sent and promised; returns the number of its records.
    fn judge_store(&mut self) -> Result<u64, Box<Violation>> {
        if let Some((id, index)) = self.disk.nonce_reused() {
            return Err(Violation::NonceReused(id, index).into());
        }
        let mut missing = self.promised.clone();
        let mut found = BTreeSet::new();
        let records = Records::new(self.disk.clone(), self.store.clone(), Filter::default());
        let records = match records.and_then(Iterator::collect::<Result<Vec<Record>, Error>>) {
            Ok(records) => records,
            // The power went off while we were looking.
            Err(error) if error.is_environment() => return self.server_died(error).map(|()| 0),
            Err(error) => return Err(Violation::Unreadable(error).into()),
        };
        let mut arrived = self.arrived.iter();
        for record in records {
            let key = (record.node, record.epoch, record.counter);
            missing.remove(&key);
            let genuine = self.sent.get(&key).is_some_and(|sent| {
                sent.first == record.first
                    && sent.channel == record.channel
                    && sent.waveform == record.waveform
            });
            if !genuine || !found.insert(key) {
                return Err(Violation::Invented(Box::new(record)).into());
            }
            if !arrived.any(|arrived| *arrived == key) {
                return Err(Violation::Reordered(Box::new(record)).into());
            }
        }
        match missing.first() {
            Some(&(node, epoch, counter)) => Err(Violation::Lost { node, epoch, counter }.into()),
            None => Ok(found.len() as u64),
        }
    }

    /// The last power cut: with nothing on the way, everything accepted must be there.
    fn judge_end(mut self) -> Result<Report, Box<Violation>> {
        self.kill();
        self.disk.cut_power();
        let stored = self.judge_store()?;
        if let Some((&(node, epoch, counter), _)) =
            self.sent.iter().find(|(key, _)| !self.promised.contains(key))
        {
            return Err(Violation::Lost { node, epoch, counter }.into());
        }
        if self.called_stored > stored {
            return Err(Violation::CalledStoredTwice.into());
        }
        let verified = crate::read::verify_disk(&self.disk, self.store.clone()).map_err(Violation::Failed)?;
        Ok(Report {
            frames: self.sent.len() as u64,
            stored,
            power_cuts: self.disk.power_cuts(),
            segments: verified.segments,
            downlinks: self.downlinks.len() as u64,
            fingerprint: self.fingerprint.finalize().into(),
            ..self.report
        })
    }
}

/// Some samples of some format.
fn waveform(dice: &mut Dice) -> Waveform {
    let formats: Vec<Format> = Format::all().collect();
    let format = formats[dice.below(formats.len() as u32) as usize];
    let mut bytes = vec![0; 4 * format.sample_bytes()];
    dice.fill_bytes(&mut bytes);
    Waveform::new(format, bytes).expect("whole samples")
}

impl SimNode {
    fn key(&self) -> TrafficKey {
        self.master.traffic_key(self.id, self.epoch, self.suite)
    }

    /// Takes a change of the epoch, sealed under `from`; true when it is one.
    fn hear(&mut self, from: u8, next: u8) -> bool {
        let is_one = from == self.epoch && next > self.epoch;
        self.epoch = if is_one { next } else { self.epoch };
        is_one
    }

    /// The node's next frame.
    fn send(&mut self, dice: &mut Dice) -> (FrameKey, Samples, Vec<u8>) {
        if dice.chance(1, 30) {
            self.counter += dice.below(40); // it restarted and skips what it had reserved
        }
        if dice.chance(1, 60)
            && let Some(epoch) = self.free.take(self.id)
        {
            (self.epoch, self.counter) = (epoch, 0); // it was provisioned again
        }
        let channel = dice.below(u32::from(SETTING.channel)) as u8;
        let samples = Samples { first: self.first, channel, waveform: waveform(dice) };
        let header = Header { suite: self.suite, node: self.id, epoch: self.epoch, counter: self.counter };
        let frame = frame::seal(&self.key(), &header, &samples.to_bytes());
        let key = (self.id, self.epoch, self.counter);
        self.counter += 1;
        self.first += 4;
        (key, samples, frame)
    }
}

impl SimCell {
    /// All nodes send; what arrives becomes a batch in the spool.
    fn run_superframe(&mut self, dice: &mut Dice, sent: &mut BTreeMap<FrameKey, Samples>) {
        let mut frames: Vec<(u8, Vec<u8>)> = Vec::new();
        let mut authentic = Vec::new();
        for (slot, node) in (1..).zip(&mut self.nodes) {
            let (key, samples, mut bytes) = node.send(dice);
            if dice.chance(1, 12) {
                continue; // lost on the bus
            }
            if dice.chance(1, 12) {
                let bit = dice.below(8 * bytes.len() as u32) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
            } else {
                sent.insert(key, samples);
                authentic.push(key);
                self.old.push(bytes.clone());
            }
            frames.push((slot, bytes));
        }
        if !self.old.is_empty() && dice.chance(1, 6) {
            // Somebody sends an old frame again.
            let old = self.old[dice.below(self.old.len() as u32) as usize].clone();
            let header = frame::parse(&old).expect("it was sealed").header;
            authentic.push((header.node, header.epoch, header.counter));
            frames.push((9, old));
        }
        let entry = |(slot, frame): &(u8, Vec<u8>)| (*slot, frame.clone());
        self.spool_batch(&frames.iter().map(entry).collect::<Vec<_>>(), authentic);
        self.superframe += 1;
    }

    fn spool_batch(&mut self, frames: &[(u8, Vec<u8>)], authentic: Vec<FrameKey>) {
        let (superframe, received_ps) = (self.superframe, u64::from(self.superframe) * 250_000_000_000);
        let entries: Vec<_> = frames
            .iter()
            .map(|(slot, frame)| Entry { superframe, slot: *slot, received_ps, frame })
            .collect();
        let id = BatchId { cell: self.id, spool: self.spool, number: self.number };
        self.number += 1;
        let mut body = id.header().to_vec();
        let nonce = self.nonces.draw().expect("dice never fail");
        body.extend_from_slice(&nonce);
        let from = body.len();
        body.extend_from_slice(&batch::entries_to_bytes(&entries));
        self.batch_key.seal_tail(&nonce, &id.header(), &mut body, from);
        let batch = SealedBatch { id, body };
        self.waiting.push_back(Spooled { batch, frames: authentic, count: entries.len(), times_sent: 0 });
    }

    fn open_receipt(&self, id: &BatchId, mut sealed: Vec<u8>) -> Option<Receipt> {
        let (nonce, sealed) = sealed.split_at_mut_checked(batch::NONCE_BYTES)?;
        let plaintext = self.receipt_key.open_tail(nonce, &id.answer_header(), sealed).ok()?;
        Receipt::parse(plaintext).ok()
    }

    /// What a downlink frame is, and the change that it tells.
    fn open_downlink(&self, bytes: &[u8]) -> Option<(FrameKey, Option<Tells>)> {
        let frame = frame::parse(bytes).ok()?;
        let header = frame.header;
        let place = self.nodes.iter().position(|node| node.id == header.node)?;
        let node = &self.nodes[place];
        let key = node.master.traffic_key(node.id, header.epoch, header.suite);
        let plaintext = frame::open(&key, &frame).ok()?;
        let acknowledges = plaintext.len() == 5 && plaintext[0] == frame::KIND_ACKNOWLEDGE;
        let count = u32::from_le_bytes(plaintext[1..5].try_into().expect("four bytes"));
        let next = (plaintext[0] == frame::KIND_CHANGE).then(|| plaintext[5]);
        let tells = next.filter(|&next| {
            let key = node.master.traffic_key(node.id, next, node.suite);
            next > header.epoch && plaintext[..] == frame::change(count, &key)[..]
        });
        let sets = plaintext[0] == frame::KIND_SETTING && {
            let first = u32::from_le_bytes(plaintext[5..9].try_into().expect("four bytes"));
            plaintext[..] == frame::setting(count, Setting { first, ..SETTING }) && first >= SETTING.first
        };
        let is_sound = header.is_downlink() && (acknowledges || sets || tells.is_some());
        let key = (header.node, header.epoch, header.counter & !DIRECTION_BIT);
        is_sound.then_some((key, tells.map(|next| (place, header.epoch, next))))
    }
}
