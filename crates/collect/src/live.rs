//! What people see of a server while it runs: which nodes it heard, what came of their frames, and the last samples of those
//! that somebody looks at.
//!
//! A few numbers of each node are counted with every batch, and totals are kept once a second, so that somebody who comes
//! sees what was. Samples are kept only of nodes that somebody looks at, and only as long as somebody does: [`show`] asks the
//! thread that commits for a [`Snapshot`] between two groups, a few times a second however many look, and shows all of them
//! the same. What is drawn of a node is `trace`'s.
//!
//! Owns what a snapshot is, and when there is cause for alarm. How it is shown, and to whom, is the caller's.
//!
//! Invariant: nothing is in a snapshot that is not durable.

mod trace;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cipher::Randomness;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::disk::Disk;
use crate::epochs::Epochs;
use crate::keys::Grid;
use crate::limits::{
    LIVE_LOOKS_MAX, LIVE_MS_MIN, LIVE_NODES_MAX, LIVE_PAST_MAX, LIVE_TICK_MS, LIVE_WANTED_MS, SILENT_MS_MIN,
    SILENT_SUPERFRAMES,
};
use crate::record;
use crate::replay::Replay;
use crate::shard::Now;
use crate::stats::Stats;
use crate::{Collector, Heard};

pub use trace::Drawn;
use trace::Trace;

const NS_PER_MS: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
/// For so long what went wrong is cause for alarm.
const ALARM_MS: u64 = 60_000;

/// What a batch brought, that was not stored before, of a node in one row of epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brought {
    frames: u32,
    samples: u32,
    covered: Covered,
}

impl Brought {
    /// Adds a frame of so many samples, every `stride`th of the grid from `first` on. One that `is_late` covers nothing: see
    /// [`Live::is_late`].
    pub(crate) fn add(&mut self, first: u64, stride: u8, samples: usize, is_late: bool) {
        let samples = u32::try_from(samples).unwrap_or(u32::MAX);
        self.frames += 1;
        self.samples = self.samples.saturating_add(samples);
        if !is_late {
            let steps = u64::from(samples) * u64::from(stride);
            self.covered.join(Covered { first, end: first.saturating_add(steps), steps });
        }
    }
}

/// What stored samples cover of a node's grid; nothing where `steps` is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Covered {
    /// The first of them, and what follows the last.
    first: u64,
    end: u64,
    /// Instants between that they cover.
    steps: u64,
}

impl Covered {
    fn join(&mut self, other: Covered) {
        *self = match (self.steps, other.steps) {
            (_, 0) => return,
            (0, _) => other,
            (own, others) => Covered {
                first: self.first.min(other.first),
                end: self.end.max(other.end),
                steps: own.saturating_add(others),
            },
        };
    }

    /// Instants from the first to the last.
    fn span(self) -> u64 {
        self.end - self.first
    }

    /// Those of them that nothing covers.
    fn missing(self) -> u64 {
        self.span().saturating_sub(self.steps)
    }
}

/// What is known of a node since the server started.
#[derive(Clone, Debug)]
struct Known {
    cell: u16,
    heard_ms: u64,
    epoch: u8,
    frames: u64,
    samples: u64,
    /// Of each row of epochs, by its first one: in another row the node's grid may begin anew.
    covered: BTreeMap<u8, Covered>,
}

impl Known {
    /// The sum over its rows. A node's indexes have 64 bits, and are its own to say.
    fn over_rows(&self, instants: fn(Covered) -> u64) -> u64 {
        self.covered.values().fold(0, |sum, &covered| sum.saturating_add(instants(covered)))
    }
}

/// Totals since the server started, at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tick {
    /// Milliseconds since the server started.
    pub at_ms: u64,
    /// Frames stored.
    pub frames: u64,
    /// Samples in them.
    pub samples: u64,
    /// Frames that will never be stored.
    pub failed: u64,
    /// Batches that were refused, but for those that a transport refuses before it knows who sends.
    pub refused: u64,
    /// Batches that were not durable by their deadline.
    pub missed: u64,
}

/// What there is cause for alarm of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Alarms {
    /// Nodes that were not heard for too long.
    pub silent_nodes: usize,
    /// Frames that will never be stored, in the last minute.
    pub failed_frames: u64,
    /// Batches that were refused, in the last minute; see [`Tick::refused`].
    pub refused_batches: u64,
    /// Batches that were not durable by their deadline, in the last minute; `None` = there is none.
    pub missed_deadlines: Option<u64>,
}

/// A node, as far as the server knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    /// The node.
    pub node: u32,
    /// The cell that brought its latest frame; `None` = nothing was heard of it since the server started, and all that
    /// follows is nothing. What was stored before is not heard again: anybody can send a copy.
    pub cell: Option<u16>,
    /// Since when nothing was heard of it, in milliseconds; before it was heard, since the server started.
    pub silence_ms: u64,
    /// Whether that is too long.
    pub is_silent: bool,
    /// Whether nothing of it is taken any more.
    pub is_revoked: bool,
    /// Whether a tag says that its frames are its own.
    pub is_authenticated: bool,
    /// The epoch in which it was heard.
    pub epoch: u8,
    /// Stored frames.
    pub frames: u64,
    /// Samples in them.
    pub samples: u64,
    /// Instants of its grid from the first sample that was stored since the server started to the last. Where it went on to
    /// an epoch that it was told the grid goes on; where it began another one, those between count for nothing. Nor does
    /// what comes late, of before the latest that was stored when the server started.
    pub steps: u64,
    /// Those of them for which no sample is stored: lost, not sent, or still on their way.
    pub missing: u64,
    /// Its last samples, when somebody looks at it.
    pub drawn: Option<Drawn>,
}

/// What people see, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The moment.
    pub at: Now,
    /// What was counted.
    pub stats: Stats,
    /// Samples stored.
    pub samples: u64,
    /// Totals at the end of each second in which something was done, the oldest first; the last are those of the moment.
    pub past: Vec<Tick>,
    /// Every node that is provisioned, in order.
    pub nodes: Vec<NodeView>,
}

impl Snapshot {
    /// What there is cause for alarm of.
    pub fn alarms(&self) -> Alarms {
        let now_ms = self.at.monotonic_ns / NS_PER_MS;
        let is_before = |tick: &&Tick| tick.at_ms + ALARM_MS <= now_ms;
        let before = self.past.iter().rev().find(is_before).copied().unwrap_or_default();
        let present = self.past.last().copied().unwrap_or_default();
        Alarms {
            silent_nodes: self.nodes.iter().filter(|node| node.is_silent).count(),
            failed_frames: present.failed - before.failed,
            refused_batches: present.refused - before.refused,
            missed_deadlines: self.stats.deadline.map(|_| present.missed - before.missed),
        }
    }
}

/// What is counted for people, and the samples of nodes that somebody looks at.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// The highest counter of each node and row of epochs that was stored when the server started.
    stored: HashMap<(u32, u8), u32>,
    nodes: HashMap<u32, Known>,
    samples: u64,
    past: VecDeque<Tick>,
    traces: HashMap<u32, Trace>,
}

impl Live {
    /// What is seen of a server that begins with this stored.
    pub(crate) fn behind(replay: &Replay, epochs: &Epochs) -> Live {
        let mut stored: HashMap<(u32, u8), u32> = HashMap::new();
        for ((node, epoch), counters) in replay.sets() {
            if let Some(highest) = counters.highest() {
                let of_row = stored.entry((node, epochs.row(node, epoch))).or_default();
                *of_row = highest.max(*of_row);
            }
        }
        Live { stored, ..Live::default() }
    }

    /// True when a counter is below one that was stored when the server started. Nobody knows here which samples were stored
    /// between the two: what is missing is counted from the later one on.
    pub(crate) fn is_late(&self, node: u32, row: u8, counter: u32) -> bool {
        !self.stored.is_empty() && self.stored.get(&(node, row)).is_some_and(|&stored| counter <= stored)
    }

    /// A batch of `cell` that arrived then is durable; what it brought is by node and row of epochs.
    pub(crate) fn hear(
        &mut self,
        cell: u16,
        arrived: Now,
        heard: &BTreeMap<u32, Heard>,
        brought: &BTreeMap<(u32, u8), Brought>,
    ) {
        let heard_ms = arrived.monotonic_ns / NS_PER_MS;
        for (&(node, row), &Brought { frames, samples, covered }) in brought {
            let Heard { epoch, .. } = heard[&node];
            let nothing = Known { cell, heard_ms, epoch, frames: 0, samples: 0, covered: BTreeMap::new() };
            let known = self.nodes.entry(node).or_insert(nothing);
            (known.cell, known.epoch) = (cell, epoch);
            known.heard_ms = known.heard_ms.max(heard_ms);
            known.frames += u64::from(frames);
            known.samples += u64::from(samples);
            known.covered.entry(row).or_default().join(covered);
            self.samples += u64::from(samples);
        }
    }

    /// These records are durable.
    pub(crate) fn draw(&mut self, records: &[&[u8]]) {
        if self.traces.is_empty() {
            return;
        }
        for seen in records.iter().filter_map(|record| record::look(record)) {
            if let Some(trace) = self.traces.get_mut(&seen.node) {
                trace.draw(&seen);
            }
        }
    }

    /// Keeps the totals as those of this second so far: whatever is counted is to be in one before nothing happens for
    /// hours, and would count as new after them.
    pub(crate) fn tick(&mut self, monotonic_ns: u64, stats: &Stats) {
        let at_ms = monotonic_ns / NS_PER_MS;
        if self.past.back().is_some_and(|latest| latest.at_ms / LIVE_TICK_MS == at_ms / LIVE_TICK_MS) {
            self.past.pop_back();
        } else if self.past.len() == LIVE_PAST_MAX {
            self.past.pop_front();
        }
        self.past.push_back(Tick {
            at_ms,
            frames: stats.frames_stored,
            samples: self.samples,
            failed: stats.frames_failed_total(),
            refused: stats.refused.values().sum(),
            missed: stats.deadline.map_or(0, |deadline| deadline.missed),
        });
    }

    /// Somebody looks at these nodes, and at no others.
    fn watch(&mut self, nodes: impl Iterator<Item = u32>) {
        let nodes: BTreeSet<u32> = nodes.collect();
        self.traces.retain(|node, _| nodes.contains(node));
        for node in nodes {
            self.traces.entry(node).or_default();
        }
    }

    fn view(&self, node: u32, grid: Grid, is_revoked: bool, now_ms: u64) -> NodeView {
        let known = self.nodes.get(&node);
        let silence_ms = now_ms.saturating_sub(known.map_or(0, |known| known.heard_ms));
        let of = |value: fn(&Known) -> u64| known.map_or(0, value);
        NodeView {
            node,
            cell: known.map(|known| known.cell),
            silence_ms,
            is_silent: silence_ms > silent_ms(grid) && !is_revoked,
            is_revoked,
            // The key ring knows.
            is_authenticated: true,
            epoch: known.map_or(0, |known| known.epoch),
            frames: of(|known| known.frames),
            samples: of(|known| known.samples),
            steps: of(|known| known.over_rows(Covered::span)),
            missing: of(|known| known.over_rows(Covered::missing)),
            drawn: self.traces.get(&node).and_then(|trace| trace.columns(grid)),
        }
    }
}

/// After so long without a frame a node is silent: twice what the longest batch takes to fill.
fn silent_ms(grid: Grid) -> u64 {
    (SILENT_SUPERFRAMES * grid.superframe_ps / PS_PER_MS).max(SILENT_MS_MIN)
}

impl<D: Disk, R: Randomness + Clone> Collector<D, R> {
    /// What people see; somebody looks at these nodes from now on, and at no others.
    pub fn snapshot(&mut self, now: Now, watched: &BTreeSet<u32>) -> Snapshot {
        self.live.watch(watched.iter().copied().filter(|&id| self.keys.node(id).is_some()));
        self.live.tick(now.monotonic_ns, &self.counter.stats);
        let now_ms = now.monotonic_ns / NS_PER_MS;
        let view = |id| {
            let is_revoked = self.standings.get(&id).is_some_and(|standing| standing.is_revoked);
            let node = self.keys.node(id).expect("it is provisioned");
            let view = self.live.view(id, node.grid, is_revoked, now_ms);
            NodeView { is_authenticated: node.is_authenticated(), ..view }
        };
        let mut ids = self.keys.node_ids();
        ids.sort_unstable();
        Snapshot {
            at: now,
            stats: self.stats(),
            samples: self.live.samples,
            past: self.live.past.iter().copied().collect(),
            nodes: ids.into_iter().map(view).collect(),
        }
    }
}

/// Somebody looks, at these nodes.
struct Look {
    nodes: Vec<u32>,
    reply: oneshot::Sender<Arc<Snapshot>>,
}

/// Through which people look at a server.
#[derive(Clone, Debug)]
pub struct Glass(mpsc::Sender<Look>);

/// The server's side of it, for [`Config`](crate::Config).
#[derive(Debug)]
pub struct Looks(mpsc::Receiver<Look>);

/// A glass to look through.
pub fn glass() -> (Glass, Looks) {
    let (sender, receiver) = mpsc::channel(LIVE_LOOKS_MAX);
    (Glass(sender), Looks(receiver))
}

impl Glass {
    /// What there is to be seen, with the last samples of these nodes as far as they came while somebody looked; `None` when
    /// the server has ended.
    pub async fn look(&self, nodes: Vec<u32>) -> Option<Arc<Snapshot>> {
        let (reply, replied) = oneshot::channel();
        self.0.send(Look { nodes, reply }).await.ok()?;
        replied.await.ok()
    }
}

/// What the thread that commits is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) watched: BTreeSet<u32>,
    pub(crate) reply: oneshot::Sender<Snapshot>,
}

/// The nodes that somebody looks at.
#[derive(Default)]
struct Watched {
    /// Until when somebody is taken to look.
    until: BTreeMap<u32, Instant>,
    /// Those that there are, in order; `None` = not known yet. Others would take the places of these.
    provisioned: Option<Vec<u32>>,
}

impl Watched {
    fn is_provisioned(provisioned: Option<&Vec<u32>>, node: u32) -> bool {
        provisioned.is_none_or(|nodes| nodes.binary_search(&node).is_ok())
    }

    /// Somebody looks at this node, if there is a place for one more.
    fn add(&mut self, node: u32, until: Instant) {
        let has_place = self.until.len() < LIVE_NODES_MAX || self.until.contains_key(&node);
        if has_place && Watched::is_provisioned(self.provisioned.as_ref(), node) {
            self.until.insert(node, until);
        }
    }

    /// These nodes there are.
    fn learn(&mut self, snapshot: &Snapshot) {
        let provisioned = Some(snapshot.nodes.iter().map(|view| view.node).collect());
        self.until.retain(|&node, _| Watched::is_provisioned(provisioned.as_ref(), node));
        self.provisioned = provisioned;
    }
}

/// Shows it to whoever looks, until the server ends: `asked` takes what is asked of the thread that commits, and `count` adds
/// what that does not count.
pub(crate) async fn show<T>(
    looks: Looks,
    asked: mpsc::Sender<T>,
    wrap: fn(Asked) -> T,
    count: impl Fn(&mut Stats),
) {
    let Looks(mut looks) = looks;
    let pause = Duration::from_millis(LIVE_MS_MIN);
    let patience = Duration::from_millis(LIVE_WANTED_MS);
    let mut watched = Watched::default();
    let mut shown: Option<Instant> = None;
    loop {
        let look = match timeout(patience, looks.recv()).await {
            Ok(Some(look)) => look,
            Ok(None) => return,
            // Nobody looks any more: what was kept for them is wiped.
            Err(_) if !watched.until.is_empty() => {
                watched.until.clear();
                let _ = ask(&asked, wrap, BTreeSet::new()).await;
                continue;
            }
            Err(_) => continue,
        };
        if let Some(shown) = shown {
            sleep(pause.saturating_sub(shown.elapsed())).await;
        }
        let mut all = vec![look];
        while let Ok(look) = looks.try_recv() {
            all.push(look);
        }
        let now = Instant::now();
        watched.until.retain(|_, until| *until > now);
        all.iter().flat_map(|look| &look.nodes).for_each(|&node| watched.add(node, now + patience));
        let nodes = watched.until.keys().copied().collect();
        let Some(mut snapshot) = ask(&asked, wrap, nodes).await else { return };
        watched.learn(&snapshot);
        count(&mut snapshot.stats);
        let snapshot = Arc::new(snapshot);
        for look in all {
            // Whoever looked may be gone.
            let _ = look.reply.send(snapshot.clone());
        }
        shown = Some(Instant::now());
    }
}

async fn ask<T>(asked: &mpsc::Sender<T>, wrap: fn(Asked) -> T, watched: BTreeSet<u32>) -> Option<Snapshot> {
    let (reply, replied) = oneshot::channel();
    // The threads may be busy with batches before it.
    asked.send(wrap(Asked { watched, reply })).await.ok()?;
    replied.await.ok()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::ops::RangeInclusive;
    use std::sync::mpsc::{Receiver, channel};
    use std::thread;

    use tokio::task::spawn_blocking;

    use super::*;
    use crate::stats::Deadline;

    const GRID: Grid = Grid {
        superframe_ps: 250_000_000_000,
        samples_per_superframe: NonZeroU32::new(90).unwrap(),
        uncertainty_ns: 0,
    };

    /// A batch of `cell` with frames of one node, in a row of epochs that begins with 0.
    fn hear(live: &mut Live, cell: u16, ms: u64, epoch: u8, frames: &[(u64, u8, usize)]) {
        let heard = Heard { epoch, count: 0, setting: None, change: None, is_due: false };
        let mut brought: BTreeMap<(u32, u8), Brought> = BTreeMap::new();
        for &(first, stride, samples) in frames {
            brought.entry((1, 0)).or_default().add(first, stride, samples, false);
        }
        live.hear(cell, at(ms), &BTreeMap::from([(1, heard)]), &brought);
    }

    fn at(ms: u64) -> Now {
        Now { wall_ns: 0, monotonic_ns: ms * NS_PER_MS }
    }

    #[test]
    fn what_is_missing_of_a_grid_is_what_no_stored_sample_covers() {
        let mut live = Live::default();
        hear(&mut live, 7, 100, 0, &[(900, 1, 90), (990, 1, 90)]);
        // Every second sample, one frame too late; then the one between them comes.
        hear(&mut live, 7, 200, 1, &[(1170, 2, 45)]);
        let view = live.view(1, GRID, false, 250);
        assert_eq!((view.cell, view.epoch, view.frames, view.samples), (Some(7), 1, 3, 225));
        assert_eq!((view.steps, view.missing, view.silence_ms), (360, 90, 50));
        hear(&mut live, 7, 300, 1, &[(1080, 1, 90)]);
        assert_eq!(live.view(1, GRID, false, 300).missing, 0);
        assert_eq!(live.view(2, GRID, false, 400).cell, None);
    }

    #[test]
    fn what_was_stored_before_does_not_show_that_a_node_is_there() {
        let mut live = Live::default();
        hear(&mut live, 8, 400, 1, &[]);
        assert_eq!(live.view(1, GRID, false, 400).cell, None);
        hear(&mut live, 7, 500, 0, &[(900, 1, 90)]);
        hear(&mut live, 8, 600, 1, &[]);
        let view = live.view(1, GRID, false, 700);
        assert_eq!((view.cell, view.epoch, view.frames, view.silence_ms), (Some(7), 0, 1, 200));
    }

    #[test]
    fn a_node_is_silent_after_two_of_the_longest_batches_and_a_revoked_one_never() {
        let mut live = Live::default();
        hear(&mut live, 7, 1000, 0, &[(0, 1, 90)]);
        let is_silent = |now_ms, grid| live.view(1, grid, false, now_ms).is_silent;
        assert!(!is_silent(1000 + SILENT_MS_MIN, GRID) && is_silent(1001 + SILENT_MS_MIN, GRID));
        let slow = Grid { superframe_ps: 10 * GRID.superframe_ps, ..GRID };
        let slow_ms = SILENT_SUPERFRAMES * 2500;
        assert!(!is_silent(1000 + slow_ms, slow) && is_silent(1001 + slow_ms, slow));
        assert!(!live.view(1, GRID, true, u64::MAX).is_silent);
        assert!(live.view(2, GRID, false, SILENT_MS_MIN + 1).is_silent, "it was never heard");
    }

    /// What is seen then.
    fn seen(live: &Live, stats: &Stats, now_ms: u64) -> Snapshot {
        let mut live = Live { past: live.past.clone(), ..Live::default() };
        live.tick(now_ms * NS_PER_MS, stats);
        Snapshot { at: at(now_ms), stats: stats.clone(), samples: 0, past: live.past.into(), nodes: vec![] }
    }

    fn alarms(live: &Live, stats: &Stats, now_ms: u64) -> Alarms {
        seen(live, stats, now_ms).alarms()
    }

    #[test]
    fn what_went_wrong_is_cause_for_alarm_for_a_minute() {
        let (mut live, mut stats) = (Live::default(), Stats::default());
        stats.frames_failed.insert("rejected", 3);
        live.tick(5000 * NS_PER_MS, &stats);
        assert_eq!(alarms(&live, &stats, 5000).failed_frames, 3);
        assert_eq!(alarms(&live, &stats, 5000).missed_deadlines, None);
        stats.refused.insert("rejected", 2);
        stats.deadline = Some(Deadline { missed: 4, ..Deadline::default() });
        live.tick(6000 * NS_PER_MS, &stats);
        let now = alarms(&live, &stats, 65_000);
        assert_eq!((now.failed_frames, now.refused_batches, now.missed_deadlines), (0, 2, Some(4)));
        assert_eq!(alarms(&live, &stats, 66_000), Alarms { missed_deadlines: Some(0), ..Alarms::default() });
    }

    #[test]
    fn what_went_wrong_in_the_last_second_before_hours_of_nothing_is_no_cause_after_them() {
        let (mut live, mut stats) = (Live::default(), Stats::default());
        live.tick(5000 * NS_PER_MS, &stats);
        stats.frames_failed.insert("rejected", 3);
        live.tick(5100 * NS_PER_MS, &stats);
        assert_eq!(live.past.len(), 1);
        assert_eq!(alarms(&live, &stats, 65_099).failed_frames, 3);
        assert_eq!(alarms(&live, &stats, 7_200_000), Alarms::default());
    }

    #[test]
    fn what_a_transport_refuses_before_it_knows_who_sends_is_no_cause_for_alarm() {
        let mut snapshot = seen(&Live::default(), &Stats::default(), 5000);
        snapshot.stats.refused.insert("unknown", 9);
        assert_eq!(snapshot.alarms(), Alarms::default());
    }

    #[test]
    fn totals_are_kept_once_a_second_and_the_oldest_go() {
        let mut live = Live::default();
        let count = LIVE_PAST_MAX as u64 + 5;
        for ms in (0..count * LIVE_TICK_MS).step_by(LIVE_TICK_MS as usize / 4) {
            live.tick(ms * NS_PER_MS, &Stats::default());
        }
        assert_eq!(live.past.len(), LIVE_PAST_MAX);
        let at: Vec<u64> = live.past.iter().map(|tick| tick.at_ms / LIVE_TICK_MS).collect();
        assert_eq!(at, (5..count).collect::<Vec<_>>());
    }

    const PROVISIONED: RangeInclusive<u32> = 1..=10 + 2 * LIVE_NODES_MAX as u32;

    /// A thread in place of the one that commits: it says what it was asked to watch.
    fn committing(mut asked: mpsc::Receiver<Asked>) -> Receiver<Vec<u32>> {
        let (said, says) = channel();
        thread::spawn(move || {
            let mut samples = 0;
            while let Some(Asked { watched, reply }) = asked.blocking_recv() {
                samples += 1;
                let nodes = PROVISIONED.map(|node| Live::default().view(node, GRID, false, 0)).collect();
                let shown = Snapshot { at: at(0), stats: Stats::default(), samples, past: vec![], nodes };
                let _ = (said.send(watched.into_iter().collect()), reply.send(shown));
            }
        });
        says
    }

    #[tokio::test]
    async fn all_who_look_at_once_see_the_same_and_nothing_is_kept_when_nobody_does() {
        let (asked, asks) = mpsc::channel(2);
        let watched = committing(asks);
        // On a slow machine somebody who has looked may be taken not to look any more, meanwhile.
        let next = |is_empty: bool| {
            let mut all = watched.iter();
            all.find(|watched: &Vec<u32>| watched.is_empty() == is_empty).expect("it is asked")
        };
        let (glass, looks) = glass();
        let shown = tokio::spawn(show(looks, asked, |asked| asked, |stats| stats.connections = 9));
        let first = glass.look(vec![4]).await.unwrap();
        assert_eq!((first.samples, first.stats.connections, next(false)), (1, 9, vec![4]));
        // Both ask before the next is made.
        let (one, other) = tokio::join!(glass.look(vec![1, 2]), glass.look(vec![2, 3]));
        assert!(Arc::ptr_eq(&one.unwrap(), &other.unwrap()));
        let both = next(false);
        assert!([1, 2, 3].iter().all(|node| both.contains(node)), "{both:?}");
        // Others than there are take no place.
        let none = PROVISIONED.end() + 1;
        glass.look((none..none + LIVE_NODES_MAX as u32).chain([9]).collect()).await.unwrap();
        let there = next(false);
        assert!(there.contains(&9) && there.iter().all(|node| PROVISIONED.contains(node)), "{there:?}");
        // More than are watched at once.
        glass.look((10..10 + 2 * LIVE_NODES_MAX as u32).collect()).await.unwrap();
        assert_eq!(next(false).len(), LIVE_NODES_MAX);
        // Here the runtime must go on while it is waited for.
        let nothing = spawn_blocking(move || watched.iter().any(|watched| watched.is_empty()));
        assert!(timeout(Duration::from_secs(60), nothing).await.expect("it is asked").unwrap());
        drop(glass);
        shown.await.unwrap();
    }
}
