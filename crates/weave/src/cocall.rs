//! Weaving by cocalls: the host keeps one copy of its code and asks again and again whether the guest is due.
//!
//! A register holds the budget: the cycles that the host may still take before the guest's next segment. Before each
//! stretch of the host a check takes the stretch's cycles off it. When there are too few, the rest is waited, the
//! segment runs at its exact cycle, the budget is loaded with the next gap, and the host goes on with that stretch.
//! So the phase is in a register instead of in the place, and data-dependent loops, calls and irreducible flow are no
//! obstacle. When the guest is over, the budget is filled up again whenever it runs out; when the host is over, it
//! idles by the same checks. The idea is that of asynchronous software thread integration (Kumar, Shivshankar and
//! Dean, LCTES 2004).
//!
//! Owns: writing the checks, what they go to when the guest is due ([`Stub`]), and the guest's segments. Which checks
//! there are is `prepay`'s, what is written in which order `graph`'s, which gaps are the host's `segments`'s.
//!
//! Invariant: between two checks, the guest's next segment starts in so many cycles: the budget, what is prepaid, and
//! [`Times::overhead_cycles`].

mod graph;
mod prepay;
mod registers;
mod segments;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use isa::avr::{Instruction, Opcode, Set};

use crate::directive::Thread;
use crate::error::{Lack, Refusal};
use crate::guest::Guest;
use crate::item::Item;
use crate::product::{Setting, Weaver, Woven, call_opcode};
use crate::program::Point;
use crate::rename::{Over, lacking};
use graph::{Graph, Piece};
use prepay::{Costs, Plan, Planner};
pub use registers::Budget;
use write::Writer;

/// A gap of the guest that may be worth leaving to the host.
const GAP_CYCLES_MIN: u32 = 32;

/// What decides between time and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Cycles between two checks, about.
    pub stretch_cycles: u32,
    /// Short loops are written so often that a round of all copies takes about as many cycles.
    pub round_cycles: u32,
    /// Whether every check has the guest's segment to itself, which saves a call.
    pub inlined: bool,
}

/// Cycles around the guest.
#[derive(Clone, Copy, Debug)]
struct Times {
    costs: Costs,
    /// Cycles of a check that goes to the guest, the same for all of them.
    check_cycles: u32,
    /// From the beginning of a check that finds nothing left to the start of the segment, without finding out which
    /// one it is.
    overhead_cycles: u32,
    /// Cycles that are always left, since saving flags is not prepaid.
    lead_cycles: u32,
    /// The most that is ever prepaid.
    prepaid_max: u32,
}

/// Weaves by cocalls.
///
/// # Errors
/// When no gap of the guest is long enough, or the host has something that no host may have.
pub fn weave(setting: &Setting, budget: Budget, options: Options, entry: Point) -> Result<Woven, Refusal> {
    let mut functions = Vec::new();
    for (&entry_of, host) in setting.hosts {
        functions.push((entry_of, Graph::of(setting.program, host, options.round_cycles)?));
    }
    check_depth(setting, &functions, entry)?;
    // The host first: the guest's start falls into it.
    functions.sort_by_key(|&(entry_of, _)| entry_of != entry);
    let plans = plans(setting, options, &functions, entry);
    let options = Options { inlined: options.inlined && budget.segment.is_none(), ..options };
    if setting.homes.flags.is_none() && plans.iter().flat_map(Plan::checks).any(|check| check.wrapped) {
        return Err(lacking(&setting.guest.clock, "the host's flags", Lack::Any));
    }
    let times = Times::of(setting, &budget, options, &plans);
    if times.lead_cycles > 0 && setting.homes.flags.is_none() {
        return Err(lacking(&setting.guest.clock, "the host's flags, which checks change", Lack::Any));
    }
    let entries = functions.iter().map(|(entry_of, _)| *entry_of).collect();
    let mut writer = Writer::new(setting, budget, options, times, entries);
    let begins = writer.start()?;
    for ((entry_of, graph), plan) in functions.iter().zip(&plans) {
        writer.function(*entry_of, graph, plan)?;
    }
    let host_done = writer.ends()?;
    let items = writer.out.fragments.concat();
    let end = writer.out.end;
    Ok(Woven { items, aliases: BTreeMap::new(), begins, host_done, end, copies: 1 })
}

/// A host that calls itself has as many stacks as it has depths, and nobody proves them all.
fn check_depth(setting: &Setting, functions: &[(Point, Graph)], entry: Point) -> Result<(), Refusal> {
    let graph = |entry: Point| functions.iter().find(|(of, _)| *of == entry).map(|(_, graph)| graph);
    let mut calling: Vec<(Point, Vec<Piece>)> = vec![(entry, graph(entry).map_or(Vec::new(), Graph::calls))];
    let mut done = BTreeSet::new();
    while let Some((function, calls)) = calling.last_mut() {
        let Some(call) = calls.pop() else {
            done.insert(*function);
            calling.pop();
            continue;
        };
        let Some(callee) = call.callee.filter(|callee| !done.contains(callee)) else { continue };
        if calling.iter().any(|(function, _)| *function == callee) {
            return Err(Refusal::Recursion { at: setting.program.place_of(call.point) });
        }
        calling.push((callee, graph(callee).map_or(Vec::new(), Graph::calls)));
    }
    Ok(())
}

/// The plan of each function.
fn plans(setting: &Setting, options: Options, functions: &[(Point, Graph)], entry: Point) -> Vec<Plan> {
    let out = Weaver::new(setting);
    let planner = |(entry_of, graph): &(Point, Graph)| {
        let planner = Planner {
            graph,
            costs: costs(setting),
            stretch_cycles: options.stretch_cycles,
            live: &|point| out.live_at(point),
            reach: &|point| reach(setting, point),
            is_far_check: &|point| is_far_check(setting, point),
            changes: changed_flags(setting.guest),
            is_host: *entry_of == entry,
        };
        planner.plan()
    };
    functions.iter().map(planner).collect()
}

/// The flags that checks change, and T where the guest does.
fn changed_flags(guest: &Guest) -> Set {
    let flag_t = Set::status(6);
    let is_changed = guest.items().any(|item| match item {
        Item::Line(line) => line.instruction.writes().contains(flag_t),
        _ => false,
    });
    let checked = Set::SREG.without(flag_t | Set::status(7));
    if is_changed { checked | flag_t } else { checked }
}

/// How a branch of the host gets to where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// By itself.
    Branch,
    /// By a jump that stands behind the next one.
    Detour,
    /// By a jump behind it, around which it goes when it is not taken.
    Jump,
}

fn reach(setting: &Setting, point: Point) -> Reach {
    let branch = (Some(Thread::Host), setting.program.code[point].origin);
    match (setting.far.branches.contains(&branch), setting.far.farther.contains(&branch)) {
        (false, _) => Reach::Branch,
        (true, false) => Reach::Detour,
        (true, true) => Reach::Jump,
    }
}

/// Whether the guest of the check before a point stands in the host's way, which is branched around.
fn is_far_check(setting: &Setting, point: Point) -> bool {
    let origin = setting.program.code[point].origin;
    setting.far.branches.contains(&(None, origin))
}

fn costs(setting: &Setting) -> Costs {
    let cost = |opcode: Opcode| u32::from(opcode.cost(setting.program.core).cycles);
    let jump = if setting.far.jumps { Opcode::Jmp } else { Opcode::Rjmp };
    Costs {
        jump_cycles: cost(jump),
        jump_words: Instruction::new(jump).opcode.words(),
        call_cycles: cost(call_opcode(setting.far)),
        return_cycles: cost(Opcode::Ret),
    }
}

impl Times {
    fn of(setting: &Setting, budget: &Budget, options: Options, plans: &[Plan]) -> Times {
        let costs = costs(setting);
        let checks = || plans.iter().flat_map(Plan::checks);
        let refills = if budget.refills.is_some() { 3 } else { 0 };
        let check_cycles = if refills > 0 { 2 + costs.jump_cycles } else { 3 };
        let over = if setting.homes.over == Over::Flag { 1 } else { 2 };
        let call = if options.inlined { 0 } else { costs.call_cycles };
        Times {
            costs,
            check_cycles,
            overhead_cycles: check_cycles + refills + over + call + WAIT_CYCLES,
            lead_cycles: checks().any(|check| check.wrapped).into(),
            // The idle host prepays its jump and asking whether the guest is over.
            prepaid_max: checks().map(|check| check.prepaid).max().unwrap_or(0).max(costs.jump_cycles + 2),
        }
    }

    /// What must stay free above a budget that can be filled up, since what was prepaid may be given back.
    fn headroom_cycles(&self) -> u32 {
        self.prepaid_max + 4
    }

    /// What filling up costs the host: the check's branch, counting, and the way back.
    fn refill_cycles(&self) -> u32 {
        2 + 2 * self.costs.jump_cycles
    }
}

/// What waiting takes when nothing is left to wait for, the budget's correction included.
const WAIT_CYCLES: u32 = 6;
