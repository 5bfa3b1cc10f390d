//! The weaving: the host's control flow times the guest's clock.
//!
//! Owns: the walk over the host that knows at every point in which [`State`] the guest is. Host code is emitted
//! until an element is due, then the element. Where ways meet in different states the shorter wait is padded; a
//! loop is unrolled until its end meets a state in which it began, or the wait is worth the code that it saves.
//! What the paper calls padding, moving code into conditionals and loops, replication, peeling, splitting, fusion
//! with unrolling, and clean-up loops (section 2.2) are this one rule at different places.
//! Leaves out which options are best (`plan`), and text (`emit`). Knows nothing of the proof.
//!
//! Invariant: a label of host code has one state, and every way to it arrives in that state.

mod blocks;
mod calls;
mod couple;
mod ends;
mod islands;
mod meet;
mod rounds;

pub(crate) use blocks::whole_ends;

use std::collections::{BTreeMap, BTreeSet};

use isa::avr::{Instruction, Opcode, Set};

use crate::cfg::BlockId;
use crate::directive::Thread;
use crate::error::Refusal;
use crate::guest::{Guest, LEAVE};
use crate::host::Host;
use crate::item::{Item, Label, Line};
use crate::loops::LoopId;
use crate::padding::{self, Sled};
use crate::phase::{Late, Rhythm, State};
use crate::program::{Origin, Point, Program};
use crate::rename::Homes;

/// What decides between time and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// A loop is closed when the wait for it is at most this share of the time since its copy began.
    pub loss: f64,
    /// Copies of a loop's body, at most.
    pub copies: usize,
    /// States in which one block may exist besides loop copies, at most.
    pub states: usize,
    /// Whether rounds of a loop between two elements share one copy, with a counter.
    pub counted: bool,
    /// Rounds of the guest that are written as one.
    pub rounds: u32,
    /// Of these, so many get what they send at once.
    pub together: u32,
}

/// What the walk needs to know and does not change.
pub struct Setting<'a> {
    /// Host and callees.
    pub program: &'a Program,
    /// By entry; the host that is woven and every function it reaches.
    pub hosts: &'a BTreeMap<Point, Host<'a>>,
    /// The guest in its homes.
    pub guest: &'a Guest,
    /// Where it is written.
    pub guest_program: &'a Program,
    /// The homes.
    pub homes: &'a Homes,
    /// Host branches, and exits of the guest, that need a jump to reach their target.
    pub far: &'a Far,
    /// Words of flash, at most.
    pub words_max: u32,
}

/// What is too far away for its short form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// Conditional branches, by their thread and where the original is written.
    pub branches: BTreeSet<(Option<Thread>, Origin)>,
    /// Those of them that are also too far from what stands nearest behind a jump.
    pub farther: BTreeSet<(Option<Thread>, Origin)>,
    /// Whether jumps need two words.
    pub jumps: bool,
}

impl Far {
    /// Whether this line is one of the branches.
    pub(crate) fn has(&self, line: &Line) -> bool {
        let is_branch = line.instruction.opcode.is_branch();
        is_branch && line.origin.is_some_and(|origin| self.branches.contains(&(line.thread, origin)))
    }
}

/// Woven code, fragment after fragment.
pub struct Woven {
    /// The code, without the frame around it.
    pub items: Vec<Item>,
    /// Labels that stand for others.
    pub aliases: BTreeMap<Label, Label>,
    /// Where the first event is about to happen.
    pub begins: Label,
    /// Where the host is done and the guest goes on by itself.
    pub host_done: Label,
    /// The end: both threads are done.
    pub end: Label,
    /// The most copies of one loop's body.
    pub copies: usize,
}

/// Code that is being written, where it ends open.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    fragment: usize,
    state: State,
    /// Cycles since the woven code began, on an average way.
    time: f64,
    /// How often this way is gone, in comparison.
    weight: f64,
}

/// Where an arrival goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    Block(BlockId),
    Return,
}

/// Arrivals on their way.
type Ways = Vec<(Goal, Arrival)>;

/// Where the host goes on when the guest is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resume {
    /// At this instruction of the plain host.
    Host(Point),
    /// Nowhere: it is done.
    End,
}

/// A woven copy of a callee.
#[derive(Clone)]
struct CalleeCopy {
    label: Label,
    enters: State,
    leaves: State,
    cycles: f64,
}

/// Code that is being written.
#[derive(Clone)]
pub(crate) struct Weaver<'a> {
    pub(crate) setting: &'a Setting<'a>,
    options: Options,
    rhythm: Rhythm<'a>,
    pub(crate) fragments: Vec<Vec<Item>>,
    /// By the label before them, the jumps of each island: their own labels, and where they go.
    islands: BTreeMap<Label, Vec<(Label, Label)>>,
    labels: usize,
    aliases: BTreeMap<Label, Label>,
    plain: BTreeMap<Point, Label>,
    copies: BTreeMap<Point, Vec<CalleeCopy>>,
    calling: Vec<Point>,
    most_copies: usize,
    pub(crate) end: Label,
    /// Where the guest's ends go, and the part of it that switches interrupts on again.
    pub(crate) finish: [Label; 2],
    sled: Sled,
}

/// Weaves; the first fragment begins where the first event is about to happen.
///
/// # Errors
/// When an element cannot be placed, or the host calls what is not known.
pub fn weave(setting: &Setting, options: Options, entry: Point) -> Result<Woven, Refusal> {
    for host in setting.hosts.values() {
        if let Some(found) = host.loops.irreducible().next() {
            let entry = host.cfg.blocks[found.header].first;
            return Err(Refusal::Irreducible { at: setting.program.place_of(entry) });
        }
    }
    let mut weaver = Weaver { options, ..Weaver::new(setting) };
    let mut begins = weaver.frame(|weaver| weaver.plain_label(entry));
    if let Some(batch) = &setting.guest.batch {
        begins = weaver.first_rounds(entry, batch)?;
    } else if let Some(preamble) = &setting.guest.preamble {
        weaver.preamble(preamble)?;
        begins = weaver.label();
        weaver.fragments[0].push(Item::Label(begins));
    }
    let is_coupled = setting.guest.is_coupled;
    let state = if is_coupled { weaver.rhythm.stopped() } else { weaver.rhythm.first() };
    let start = Arrival { fragment: 0, state, time: 0.0, weight: 1.0 };
    let returns = weaver.function(entry, start)?;
    let host_done = if is_coupled { weaver.both_end(returns) } else { weaver.guest_alone(entry, returns)? };
    weaver.finish();
    weaver.plain_host(entry);
    let items = weaver.written();
    Ok(Woven {
        items,
        aliases: weaver.aliases,
        begins,
        host_done,
        end: weaver.end,
        copies: weaver.most_copies,
    })
}

impl<'a> Weaver<'a> {
    /// With nothing written yet.
    pub(crate) fn new(setting: &'a Setting<'a>) -> Weaver<'a> {
        Weaver {
            setting,
            options: Options { loss: 1.0, copies: 1, states: 1, counted: false, rounds: 1, together: 1 },
            rhythm: Rhythm::of(setting.guest, setting.homes, setting.program.core),
            fragments: vec![Vec::new()],
            islands: BTreeMap::new(),
            labels: 3 + padding::LABELS,
            aliases: BTreeMap::new(),
            plain: BTreeMap::new(),
            copies: BTreeMap::new(),
            calling: Vec::new(),
            most_copies: 0,
            end: 0,
            finish: [1, 2],
            sled: Sled::new(setting.program.core, 3, call_opcode(setting.far)),
        }
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        self.labels - 1
    }

    pub(crate) fn push(&mut self, fragment: usize, line: Line) {
        self.fragments[fragment].push(Item::Line(line));
    }

    fn new_fragment(&mut self, label: Label) -> usize {
        self.fragments.push(vec![Item::Label(label)]);
        self.fragments.len() - 1
    }

    fn plain_label(&mut self, point: Point) -> Label {
        if let Some(&label) = self.plain.get(&point) {
            return label;
        }
        let label = self.label();
        self.plain.insert(point, label);
        label
    }

    pub(crate) fn jump(&self, label: Label) -> Line {
        let opcode = if self.setting.far.jumps { Opcode::Jmp } else { Opcode::Rjmp };
        Line { target: Some(label), ..Line::added(Instruction::new(opcode)) }
    }

    fn jump_cycles(&self) -> u32 {
        if self.setting.far.jumps { 3 } else { 2 }
    }

    /// Items with labels of their own, and named targets replaced.
    pub(crate) fn own_labels(&mut self, items: &[Item], named: &[(Label, Label)]) -> Vec<Item> {
        let first = self.labels;
        let replaced = |label: Label| {
            named.iter().find(|(from, _)| *from == label).map_or_else(|| label + first, |&(_, to)| to)
        };
        let mut most = first;
        let renumbered: Vec<Item> = items
            .iter()
            .cloned()
            .map(|item| match item {
                Item::Label(label) => {
                    most = most.max(label + first + 1);
                    Item::Label(label + first)
                }
                Item::Line(line) => Item::Line(Line { target: line.target.map(replaced), ..line }),
                says => says,
            })
            .collect();
        self.labels = most;
        renumbered
    }

    pub(crate) fn pad(&mut self, fragment: usize, cycles: u32) {
        let mut labels = self.labels;
        let items = self.sled.pass(cycles, &mut || {
            labels += 1;
            labels - 1
        });
        self.labels = labels;
        self.fragments[fragment].extend(items);
    }

    /// Passes time in which the guest is not due.
    fn idle(&mut self, at: &mut Arrival, cycles: u32) {
        self.pad(at.fragment, cycles);
        at.state = self.rhythm.later(at.state, cycles);
        at.time += f64::from(cycles);
    }

    /// Runs the next element at its time.
    ///
    /// # Errors
    /// When it, or the next event, comes too late.
    fn element(&mut self, at: &mut Arrival, live: Set, resume: Resume) -> Result<(), Refusal> {
        let waits = self.rhythm.start_cycles(at.state, live).map_err(|late| self.late(late))?;
        self.idle(at, waits);
        let index = at.state.next;
        let element = &self.rhythm.elements()[index];
        let wraps = self.rhythm.wraps(index, live);
        let homes = self.setting.homes;
        if wraps {
            self.fragments[at.fragment].extend(homes.save_flags());
        }
        let mut named = Vec::new();
        if element.leaves {
            named.push((LEAVE, self.leave(live, wraps, resume)));
        }
        for item in self.own_labels(element.code(live), &named) {
            let leaves = is_jump(&item) && !self.fragments[at.fragment].last().is_some_and(is_skip);
            self.fragments[at.fragment].push(item);
            if leaves {
                self.island(at.fragment);
            }
        }
        if wraps {
            self.fragments[at.fragment].extend(homes.restore_flags());
        }
        at.time += f64::from(self.rhythm.cost_cycles(index, live));
        at.state = self.rhythm.after_element(at.state, live);
        Ok(())
    }

    /// Why no wait leads on from a state: the guest by itself is late.
    fn late_from(&self, mut state: State, live: Set) -> Option<Refusal> {
        for _ in 0..self.rhythm.elements().len() {
            match self.rhythm.start_cycles(state, live) {
                Ok(waits) => state = self.rhythm.after_element(self.rhythm.later(state, waits), live),
                Err(late) => return Some(self.late(late)),
            }
        }
        None
    }

    /// Why an event cannot be in time.
    fn late(&self, late: Late) -> Refusal {
        let Setting { guest, guest_program, .. } = self.setting;
        let elements = self.rhythm.elements();
        let is_pinned = |index: &usize| elements[*index].start.is_some();
        let before = (0..late.element).rev().chain((late.element..elements.len()).rev()).find(is_pinned);
        let first = before.expect("the first element is pinned");
        guest.too_close([&elements[first], &elements[late.element]], late.cycles, guest_program)
    }

    /// Runs elements until the host may take `cycles`.
    fn make_room(&mut self, at: &mut Arrival, cycles: u32, point: Point, after: Set) -> Result<(), Refusal> {
        let live = self.live_at(point);
        let count = self.rhythm.elements().len();
        if self.setting.guest.is_coupled {
            return self.check_in_time(at, cycles, point);
        }
        for _ in 0..=2 * count {
            if self.rhythm.is_cheap_now(at.state, live) {
                self.element(at, live, Resume::Host(point))?;
                continue;
            }
            if i64::from(cycles) <= self.rhythm.slack_cycles(at.state, after) {
                return Ok(());
            }
            self.element(at, live, Resume::Host(point))?;
        }
        Err(Refusal::NoRoom {
            at: self.setting.program.place_of(point),
            mnemonic: self.setting.program.mnemonic(point),
            cycles,
            period_cycles: self.setting.guest.round_cycles(),
            events: self.setting.guest.event_count(),
            smallest_cycles: None,
        })
    }

    fn host(&self, point: Point) -> &'a Host<'a> {
        let hosts = &self.setting.hosts;
        hosts.range(..=point).next_back().expect("every host point is in a function").1
    }

    pub(crate) fn live_at(&self, point: Point) -> Set {
        let host = self.host(point);
        host.live.get(point - host.function.entry).copied().unwrap_or(Set::EMPTY)
    }

    pub(crate) fn host_line(&self, point: Point) -> Line {
        let step = &self.setting.program.code[point];
        Line {
            instruction: step.instruction,
            expression: step.expression.clone(),
            target: None,
            thread: Some(Thread::Host),
            origin: Some(step.origin),
            point: Some(point),
        }
    }

    fn spend(&self, at: &mut Arrival, cycles: u32) {
        at.state = self.rhythm.later(at.state, cycles);
        at.time += f64::from(cycles);
    }

    /// A whole function, from its entry to all of its returns.
    fn function(&mut self, entry: Point, start: Arrival) -> Result<Vec<Arrival>, Refusal> {
        let host = &self.setting.hosts[&entry];
        let outs = self.region(host, None, 0, vec![start])?;
        Ok(outs.into_iter().map(|(_, arrival)| arrival).collect())
    }

    /// The blocks of a loop's body, or of a function, without going round: each loop inside is one thing.
    fn region(
        &mut self,
        host: &'a Host<'a>,
        scope: Option<LoopId>,
        entry: BlockId,
        arrivals: Vec<Arrival>,
    ) -> Result<Ways, Refusal> {
        let within = |block: BlockId| scope.is_none_or(|id| host.loops.all[id].contains(block));
        let mut pending: BTreeMap<BlockId, Vec<Arrival>> = BTreeMap::from([(entry, arrivals)]);
        let mut outs = Vec::new();
        for &block in host.cfg.order().iter().filter(|&&block| within(block)) {
            let Some(arrivals) = pending.remove(&block) else { continue };
            let live = self.live_at(host.cfg.blocks[block].first);
            let first = host.cfg.blocks[block].first;
            let merged = self.merge(arrivals, live, Resume::Host(first), self.options.states)?;
            let inner = host.loops.innermost(block).and_then(|id| {
                let around = host.loops.around(block).take_while(|&outer| Some(outer) != scope);
                around.last().filter(|&outer| host.loops.all[outer].header == block && Some(id) != scope)
            });
            let ways = match inner {
                Some(id) => self.rounds(host, id, merged)?,
                None => {
                    let mut ways = Vec::new();
                    for arrival in merged {
                        ways.extend(self.block(host, scope, block, arrival)?);
                    }
                    ways
                }
            };
            for (goal, arrival) in ways {
                match goal {
                    Goal::Block(to) if within(to) && to != entry => {
                        pending.entry(to).or_default().push(arrival)
                    }
                    _ => outs.push((goal, arrival)),
                }
            }
        }
        Ok(outs)
    }

    fn check_size(&self) -> Result<(), Refusal> {
        let words: u32 = self.fragments.iter().map(|items| crate::item::words(items)).sum();
        let words_max = self.setting.words_max;
        if words > words_max { Err(Refusal::TooLarge { words_max }) } else { Ok(()) }
    }

    fn no_way(&self, point: Point) -> Refusal {
        Refusal::NoRoom {
            at: self.setting.program.place_of(point),
            mnemonic: self.setting.program.mnemonic(point),
            cycles: self.jump_cycles(),
            period_cycles: self.setting.guest.round_cycles(),
            events: self.setting.guest.event_count(),
            smallest_cycles: None,
        }
    }
}

fn is_jump(item: &Item) -> bool {
    matches!(item, Item::Line(line) if line.instruction.opcode.is_jump())
}

fn is_skip(item: &Item) -> bool {
    matches!(item, Item::Line(line) if line.instruction.opcode.is_skip())
}

pub(crate) fn call_opcode(far: &Far) -> Opcode {
    if far.jumps { Opcode::Call } else { Opcode::Rcall }
}
