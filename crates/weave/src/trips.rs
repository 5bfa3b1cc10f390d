//! How often loops run.
//!
//! Owns: counting the rounds of a loop whose counter is known when it is entered, by carrying what is known round
//! after round until the way back is impossible (`values`): counters in registers of any width, on the stack as
//! -O0 keeps them, or pointers compared with an end, all count the same way. A counter of which only bounds are known,
//! since it was masked, shifted or compared, is counted with each number between them. `trip` directives tell the rest,
//! and may not contradict. Leaves out loops whose bound depends on data: those stay unknown, with the reason.
//!
//! Weaving only plans with these numbers: a loop that runs more often than they say is woven right all the same, since
//! its last copy leads back, and the proof counts for itself.

use std::fmt;

use crate::cfg::{BlockId, Cfg};
use crate::directive::Directive;
use crate::limits::COUNTED_STEPS_MAX;
use crate::loops::{Loop, LoopId, Loops};
use crate::program::{Point, Program};
use crate::registers::Registers;
use crate::values::{Context, State, Value, Values, carry};

/// Rounds after which a loop none of whose exits has ever been decided is given up.
const UNDECIDED_ROUNDS_MAX: u64 = 3;

/// How often a loop runs each time it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trips {
    /// The fewest executions of its header.
    pub rounds_min: u64,
    /// The most.
    pub rounds_max: u64,
    /// Whether any number between them is possible.
    pub between: bool,
    /// Whether a directive was needed to know it.
    pub declared: bool,
}

/// Why it is not known how often a loop runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Untold {
    /// What decides these exits is not known when the loop is entered.
    Undecided {
        /// The last instructions of the blocks that the exits leave.
        exits: Vec<Point>,
    },
    /// It runs on for more rounds than are counted.
    TooLong {
        /// The rounds that were counted.
        rounds: u64,
    },
    /// It has no way out.
    Endless,
    /// It has several entries.
    Irreducible {
        /// The first instructions of the blocks by which it is entered.
        points: Vec<Point>,
    },
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Untold::Undecided { .. } => write!(f, "what ends it is not known when it is entered"),
            Untold::TooLong { rounds } => write!(f, "it runs for more than {rounds} rounds"),
            Untold::Endless => write!(f, "it has no way out"),
            Untold::Irreducible { points } => write!(f, "it has {} entries", points.len()),
        }
    }
}

/// A directive that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `trip` says something else than the code does.
    Contradiction {
        /// Where the directive stands.
        point: Point,
        /// What it says.
        declared: (u64, u64),
        /// What the code does, in the same units.
        found: (u64, u64),
    },
    /// `trip` where there is no loop.
    NoLoop {
        /// Where the directive stands.
        point: Point,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times =
            |(min, max): (u64, u64)| if min == max { format!("{min}") } else { format!("{min}..{max}") };
        match self {
            Fault::Contradiction { declared, found, .. } => {
                write!(f, "`trip` says {}, but the loop runs {} times", times(*declared), times(*found))
            }
            Fault::NoLoop { .. } => {
                write!(f, "`trip` stands outside any loop\nhelp: write it on the branch back")
            }
        }
    }
}

/// The trips of every loop, by its number.
pub type All = Vec<Result<Trips, Untold>>;

/// Counts the rounds of every loop of a function, and reads its directives.
pub fn of(program: &Program, cfg: &Cfg, loops: &Loops, registers: &Registers) -> Result<All, Fault> {
    let mut all: All = registers.with_context(program, |context| {
        let values = Values::of(context, cfg);
        loops.all.iter().map(|each| count(context, cfg, each, &values)).collect()
    });
    for point in cfg.entry..cfg.end {
        for written in &program.code[point].directives {
            if let Directive::Trip { min, max, between } = written.directive {
                let id = owner(cfg, loops, point).ok_or(Fault::NoLoop { point })?;
                let declared = (min.into(), max.into());
                all[id] = Ok(declare(&loops.all[id], point, declared, between, &all[id])?);
            }
        }
    }
    Ok(all)
}

impl Trips {
    /// Whether the last round may be this one.
    pub fn may_end(&self, round: u64) -> bool {
        let is_inside = (self.rounds_min..=self.rounds_max).contains(&round);
        is_inside && (self.between || round == self.rounds_min || round == self.rounds_max)
    }

    /// How often the branch back is reached, which is what `trip` says: a loop that tests at its end does so in
    /// every round, one that tests at its head not in the last.
    pub fn passes(&self, each: &Loop) -> (u64, u64) {
        let (least, most) = tests_at_end(each);
        (self.rounds_min - u64::from(!least), self.rounds_max - u64::from(!most))
    }
}

/// Whether the last round reaches a latch: for certain, and possibly.
fn tests_at_end(each: &Loop) -> (bool, bool) {
    let at_latch = |block: BlockId| each.latches.contains(&block);
    let sources: Vec<BlockId> =
        each.exits.iter().map(|&(block, _)| block).chain(each.leaving.iter().copied()).collect();
    (sources.iter().all(|&block| at_latch(block)), sources.iter().any(|&block| at_latch(block)))
}

/// Joins what a directive says with what was counted.
fn declare(
    each: &Loop,
    point: Point,
    declared: (u64, u64),
    between: bool,
    found: &Result<Trips, Untold>,
) -> Result<Trips, Fault> {
    let (least, most) = tests_at_end(each);
    let rounds_min = (declared.0 + u64::from(!most)).max(1);
    let rounds_max = (declared.1 + u64::from(!least)).max(1);
    // Where some ways out lead past the branch back, two numbers of its passes are more of rounds.
    let between = between || least != most;
    let Ok(found) = found else { return Ok(Trips { rounds_min, rounds_max, between, declared: true }) };
    let both = Trips {
        rounds_min: rounds_min.max(found.rounds_min),
        rounds_max: rounds_max.min(found.rounds_max),
        between: between || (rounds_min, rounds_max) != (found.rounds_min, found.rounds_max),
        declared: found.declared || (found.rounds_min, found.rounds_max) != (rounds_min, rounds_max),
    };
    if declared.0 > declared.1 || both.rounds_min > both.rounds_max {
        return Err(Fault::Contradiction { point, declared, found: found.passes(each) });
    }
    Ok(both)
}

/// The loop that a directive on an instruction speaks of: the innermost around it, unless it is the header or a
/// branch back of one farther out.
pub(crate) fn owner(cfg: &Cfg, loops: &Loops, point: Point) -> Option<LoopId> {
    let block = cfg.block_of(point)?;
    let is_mark = |id: &LoopId| {
        let each = &loops.all[*id];
        let is_end = point == cfg.blocks[block].last();
        let goes_back = cfg.blocks[block].successors.iter().any(|edge| {
            cfg.blocks[edge.to].first <= point
                && each.contains(edge.to)
                && loops.innermost(edge.to) == Some(*id)
        });
        each.header == block || is_end && (each.latches.contains(&block) || goes_back)
    };
    loops.around(block).find(is_mark).or_else(|| loops.innermost(block))
}

/// One round of a loop: whether it may end, and what is known if it goes on.
struct Round {
    again: Option<State>,
    exits: bool,
    decided: bool,
    steps: u64,
}

/// Goes round a loop until it cannot go on.
fn count(context: Context<'_>, cfg: &Cfg, each: &Loop, values: &Values) -> Result<Trips, Untold> {
    if each.is_irreducible() {
        let points = each.entries.iter().map(|&block| cfg.blocks[block].first).collect();
        return Err(Untold::Irreducible { points });
    }
    if each.exits.is_empty() && each.leaving.is_empty() {
        return Err(Untold::Endless);
    }
    let state = on_entry(context, cfg, each, values);
    let found = count_from(context, cfg, each, state.clone());
    if !matches!(found, Err(Untold::Undecided { .. })) {
        return found;
    }
    (0..32).find_map(|register| count_among(context, cfg, each, &state, register)).map_or(found, Ok)
}

/// The same where bounds of a register are known: with each number between them.
fn count_among(
    context: Context<'_>,
    cfg: &Cfg,
    each: &Loop,
    state: &State,
    register: usize,
) -> Option<Trips> {
    let Value::Among { least, most } = state.registers[register] else { return None };
    let with = |number| {
        let mut state = state.clone();
        state.registers[register] = Value::Known(number);
        count_from(context, cfg, each, state).ok()
    };
    let mut all = with(least)?;
    for number in least + 1..=most {
        let found = with(number)?;
        all.rounds_min = all.rounds_min.min(found.rounds_min);
        all.rounds_max = all.rounds_max.max(found.rounds_max);
    }
    Some(all)
}

/// Goes round from a state at the header.
fn count_from(context: Context<'_>, cfg: &Cfg, each: &Loop, mut state: State) -> Result<Trips, Untold> {
    let undecided = || {
        let blocks = each.exits.iter().map(|&(block, _)| block).chain(each.leaving.iter().copied());
        let mut exits: Vec<Point> = blocks.map(|block| cfg.blocks[block].last()).collect();
        exits.sort_unstable();
        exits.dedup();
        Untold::Undecided { exits }
    };
    let (mut steps, mut rounds_min, mut decided) = (0, None, false);
    for rounds in 1.. {
        let round = go_round(context, cfg, each, state.clone());
        steps += round.steps;
        decided |= round.decided;
        if round.exits {
            rounds_min.get_or_insert(rounds);
        }
        match round.again {
            None => {
                // Neither out nor round again: it stays in a loop inside it.
                let rounds_min = rounds_min.ok_or(Untold::Endless)?;
                return Ok(Trips { rounds_min, rounds_max: rounds, between: true, declared: false });
            }
            Some(next) if next == state && rounds_min.is_none() => return Err(Untold::Endless),
            Some(next) if next == state => return Err(undecided()),
            Some(_) if !decided && rounds >= UNDECIDED_ROUNDS_MAX => return Err(undecided()),
            Some(_) if steps > COUNTED_STEPS_MAX => return Err(Untold::TooLong { rounds }),
            Some(next) => state = next,
        }
    }
    unreachable!("rounds are counted without end")
}

/// What is known when the loop is entered.
fn on_entry(context: Context<'_>, cfg: &Cfg, each: &Loop, values: &Values) -> State {
    let outside = cfg.blocks[each.header].predecessors.iter().filter(|&&before| !each.contains(before));
    let states = outside.flat_map(|&before| {
        let state = values.walk(context, cfg, before, |_, _| {});
        let block = &cfg.blocks[before];
        let edges = block.successors.iter().filter(|edge| edge.to == each.header);
        edges.map(|edge| state.narrowed(context, block, edge.way).into_owned()).collect::<Vec<_>>()
    });
    let joined = states.reduce(|mut a, b| {
        a.join(&b);
        a
    });
    match joined {
        // The function begins with the loop.
        None => values.at_entry().clone(),
        Some(mut state) if each.header == 0 => {
            state.join(values.at_entry());
            state
        }
        Some(state) => state,
    }
}

fn go_round(context: Context<'_>, cfg: &Cfg, each: &Loop, state: State) -> Round {
    if let [block] = each.blocks[..] {
        return go_round_block(context, cfg, block, state);
    }
    let mut round = Round { again: None, exits: false, decided: false, steps: 0 };
    let reached = carry(context, cfg, vec![(each.header, state)], |block, (deciding, after, edge)| {
        let way = deciding.decided(context, cfg.blocks[block].last());
        round.steps += (cfg.blocks[block].end - cfg.blocks[block].first) as u64;
        round.decided |= way.is_some() && each.exits.iter().any(|&(from, _)| from == block);
        if way.is_some_and(|way| way != edge.way) {
            return false;
        }
        if edge.to == each.header {
            match &mut round.again {
                Some(known) => _ = known.join(after),
                unknown => *unknown = Some(after.clone()),
            }
            return false;
        }
        let inside = each.contains(edge.to);
        round.exits |= !inside;
        inside
    });
    // A way out of the function is no edge; whether it is decided is not looked at, so it may be taken.
    round.exits |= each.leaving.iter().any(|&block| reached[block].is_some());
    round
}

/// The same for a loop of one block, as delays are: nothing joins there.
fn go_round_block(context: Context<'_>, cfg: &Cfg, id: BlockId, mut state: State) -> Round {
    let block = &cfg.blocks[id];
    for point in block.first..block.last() {
        state.step(context, point);
    }
    let way = state.decided(context, block.last());
    state.step(context, block.last());
    let goes = |way_of_edge| way.is_none_or(|way| way == way_of_edge);
    let back = block.successors.iter().any(|edge| edge.to == id && goes(edge.way));
    let out = block.successors.iter().any(|edge| edge.to != id && goes(edge.way));
    Round {
        again: back.then_some(state),
        exits: out || !block.exits.is_empty(),
        decided: way.is_some(),
        steps: (block.end - block.first) as u64,
    }
}
