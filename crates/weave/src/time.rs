//! Best and worst cycles: of blocks, of rounds of loops, of functions.
//!
//! Owns: the shortest and longest way through each level of the loop forest, where a loop inside it counts as one
//! step of as many rounds as `trips` says. Waits of the hardware (interrupts, sleep, external memory) are not in
//! it. Bounds are safe, not always reached: a path that no input takes is counted as well.

use crate::analysis::{Fault, Routine};
use crate::cfg::{BlockId, ExitKind, callees};
use crate::loops::LoopId;
use crate::program::{Callee, Point, Program};
use crate::registers::callees_first;
use crate::trips::Untold;

/// A span of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Bounds {
    /// At least.
    pub best: u64,
    /// At most.
    pub worst: u64,
}

impl Bounds {
    /// Exactly so many.
    pub fn exactly(cycles: u64) -> Bounds {
        Bounds { best: cycles, worst: cycles }
    }

    /// One after the other.
    pub fn then(self, next: Bounds) -> Bounds {
        Bounds { best: self.best.saturating_add(next.best), worst: self.worst.saturating_add(next.worst) }
    }

    /// One or the other.
    pub fn or(self, other: Bounds) -> Bounds {
        Bounds { best: self.best.min(other.best), worst: self.worst.max(other.worst) }
    }

    /// By how much two runs may differ.
    pub fn jitter_cycles(self) -> u64 {
        self.worst - self.best
    }
}

/// Adds a way to those that are known.
pub(crate) fn join(known: &mut Option<Bounds>, more: Bounds) {
    *known = Some(known.map_or(more, |known| known.or(more)));
}

/// How long a loop takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopTime {
    /// From header to header; `None` when it never comes back.
    pub round: Option<Bounds>,
    /// From the first execution of the header to behind each edge out of it: the block it leads to.
    pub ways_out: Vec<(BlockId, Bounds)>,
    /// From the first execution of the header to behind the function's end.
    pub leaving: Option<Bounds>,
}

impl LoopTime {
    /// From entry to wherever it goes; `None` when it runs for ever.
    pub fn total(&self) -> Option<Bounds> {
        self.ways_out.iter().map(|&(_, bounds)| bounds).chain(self.leaving).reduce(Bounds::or)
    }
}

/// How long a function takes, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Each block without its last instruction, whose cycles are those of its edges; callees included, also that
    /// of the last instruction.
    pub bodies: Vec<Result<Bounds, Fault>>,
    /// Each block with its last instruction.
    pub blocks: Vec<Result<Bounds, Fault>>,
    /// What is called, at each call of the function, in the order of the layout.
    pub calls: Vec<(Point, Result<Bounds, Fault>)>,
    /// Each loop.
    pub loops: Vec<Result<LoopTime, Fault>>,
    /// From the entry to behind the return, the call itself not counted; `None` when it never returns.
    pub total: Result<Option<Bounds>, Fault>,
}

/// The times of all functions, by their index.
pub fn times(program: &Program, routines: &[Result<Routine, Fault>]) -> Vec<Result<Time, Fault>> {
    let graphs: Vec<_> =
        routines.iter().map(|routine| routine.as_ref().map(|found| &found.cfg).ok()).collect();
    let mut done: Vec<Option<Result<Time, Fault>>> = vec![None; routines.len()];
    let entries: Vec<Point> = program.functions.iter().map(|function| function.entry).collect();
    for index in callees_first(program, &entries, &graphs) {
        let time = match &routines[index] {
            Ok(routine) => Ok(function(program, routine, &done)),
            Err(fault) => Err(fault.clone()),
        };
        done[index] = Some(time);
    }
    done.into_iter().map(|time| time.expect("the order names every function")).collect()
}

fn function(program: &Program, routine: &Routine, done: &[Option<Result<Time, Fault>>]) -> Time {
    let cfg = &routine.cfg;
    let called = |point: Point, callee: &Callee| callee_time(program, done, point, callee);
    let calls: Vec<(Point, Result<Bounds, Fault>)> = cfg
        .blocks
        .iter()
        .flat_map(|block| block.points())
        .filter_map(|point| {
            let each = callees(program, point);
            let times = each.iter().map(|callee| called(point, callee));
            let either = |a: Result<Bounds, Fault>, b: Result<Bounds, Fault>| Ok(a?.or(b?));
            times.reduce(either).map(|time| (point, time))
        })
        .collect();
    let mut bodies: Vec<Result<Bounds, Fault>> = cfg
        .blocks
        .iter()
        .map(|block| {
            let cycles = (block.first..block.last()).map(|point| u64::from(program.cycles(point)));
            Ok(Bounds::exactly(cycles.sum()))
        })
        .collect();
    for (point, time) in &calls {
        let body = &mut bodies[cfg.block_of(*point).expect("a block has been searched for calls")];
        *body = body.clone().and_then(|body| Ok(body.then(time.clone()?)));
    }
    let exits: Vec<Result<Option<Bounds>, Fault>> = cfg
        .blocks
        .iter()
        .map(|block| {
            let mut found = None;
            for exit in &block.exits {
                let own = Bounds::exactly(exit.cycles.into());
                match &exit.kind {
                    ExitKind::TailCall(callee) => join(&mut found, own.then(called(block.last(), callee)?)),
                    _ => join(&mut found, own),
                }
            }
            Ok(found)
        })
        .collect();
    let blocks = cfg.blocks.iter().zip(&bodies).zip(&exits);
    let blocks = blocks
        .map(|((block, body), exits)| {
            let edges = block.successors.iter().map(|edge| Bounds::exactly(edge.cycles.into()));
            let last = edges.chain(exits.clone()?).reduce(Bounds::or).unwrap_or_default();
            Ok(body.clone()?.then(last))
        })
        .collect();
    let mut levels =
        Levels { routine, bodies: &bodies, exits: &exits, loops: vec![None; routine.loops.all.len()] };
    // Inner loops have higher numbers.
    for id in (0..routine.loops.all.len()).rev() {
        levels.loops[id] = Some(levels.time_of(id));
    }
    let total = levels.spread(None, &[(0, Bounds::default())]).map(|found| found.gone);
    let loops = levels.loops.into_iter().map(|time| time.expect("every loop has been timed")).collect();
    Time { bodies, blocks, calls, loops, total }
}

/// What a callee takes.
fn callee_time(
    program: &Program,
    done: &[Option<Result<Time, Fault>>],
    point: Point,
    callee: &Callee,
) -> Result<Bounds, Fault> {
    let entry = match callee {
        Callee::Known(entry) => *entry,
        Callee::Unknown(name) => return Err(Fault::UnknownCallee { point, name: name.clone() }),
    };
    let Some(index) = program.functions.iter().position(|function| function.entry == entry) else {
        return Err(Fault::UnknownCallee { point, name: "the middle of a function".into() });
    };
    let in_callee = |fault: &Fault| Fault::InCallee { point, fault: Box::new(fault.clone()) };
    match &done[index] {
        None => Err(Fault::Recursion { point }),
        Some(Err(fault)) => Err(in_callee(fault)),
        Some(Ok(time)) => match &time.total {
            Ok(Some(total)) => Ok(*total),
            Ok(None) => Err(Fault::NeverReturns { point }),
            Err(fault) => Err(in_callee(fault)),
        },
    }
}

/// Where one gets to on one level of the loop forest, and after how long.
pub(crate) struct Arrivals {
    /// Before each block of the level.
    pub at: Vec<Option<Bounds>>,
    /// Back at the header of the level's loop.
    pub back: Option<Bounds>,
    /// Behind the edges out of it.
    pub out: Vec<(BlockId, Bounds)>,
    /// Behind the function's end.
    pub gone: Option<Bounds>,
}

struct Levels<'r> {
    routine: &'r Routine,
    bodies: &'r [Result<Bounds, Fault>],
    exits: &'r [Result<Option<Bounds>, Fault>],
    loops: Vec<Option<Result<LoopTime, Fault>>>,
}

impl Levels<'_> {
    fn time_of(&self, id: LoopId) -> Result<LoopTime, Fault> {
        let each = &self.routine.loops.all[id];
        let point = self.routine.cfg.blocks[each.header].first;
        let unbounded = |why| Fault::Unbounded { point, why };
        let once = self.spread(Some(id), &[(each.header, Bounds::default())])?;
        let trips = match &self.routine.trips[id] {
            Ok(trips) => trips,
            Err(Untold::Endless) => {
                return Ok(LoopTime { round: once.back, ways_out: Vec::new(), leaving: None });
            }
            Err(why) => return Err(unbounded(why.clone())),
        };
        let round = once.back.unwrap_or_default();
        let before = Bounds {
            best: round.best.saturating_mul(trips.rounds_min - 1),
            worst: round.worst.saturating_mul(trips.rounds_max - 1),
        };
        Ok(LoopTime {
            round: once.back,
            ways_out: once.out.into_iter().map(|(to, last)| (to, before.then(last))).collect(),
            leaving: once.gone.map(|last| before.then(last)),
        })
    }

    /// Goes from some blocks of a level along all ways, each loop inside it being one step.
    fn spread(&self, level: Option<LoopId>, from: &[(BlockId, Bounds)]) -> Result<Arrivals, Fault> {
        let (cfg, loops) = (&self.routine.cfg, &self.routine.loops);
        let mut found =
            Arrivals { at: vec![None; cfg.blocks.len()], back: None, out: Vec::new(), gone: None };
        for &(block, bounds) in from {
            join(&mut found.at[block], bounds);
        }
        let deliver = |found: &mut Arrivals, to: BlockId, bounds: Bounds| match level.map(|id| &loops.all[id])
        {
            Some(each) if each.header == to => join(&mut found.back, bounds),
            Some(each) if !each.contains(to) => match found.out.iter_mut().find(|(known, _)| *known == to) {
                Some((_, known)) => *known = known.or(bounds),
                None => found.out.push((to, bounds)),
            },
            _ => join(&mut found.at[to], bounds),
        };
        for &id in cfg.order() {
            let Some(arrived) = found.at[id] else { continue };
            let inner = loops.around(id).take_while(|&each| Some(each) != level).last();
            match inner {
                None => {
                    let body = arrived.then(self.bodies[id].clone()?);
                    for edge in &cfg.blocks[id].successors {
                        deliver(&mut found, edge.to, body.then(Bounds::exactly(edge.cycles.into())));
                    }
                    if let Some(exit) = self.exits[id].clone()? {
                        join(&mut found.gone, body.then(exit));
                    }
                }
                Some(inner) => {
                    let time = self.loops[inner].as_ref().expect("inner loops are timed first").clone()?;
                    for (to, bounds) in time.ways_out {
                        deliver(&mut found, to, arrived.then(bounds));
                    }
                    if let Some(leaving) = time.leaving {
                        join(&mut found.gone, arrived.then(leaving));
                    }
                }
            }
        }
        Ok(found)
    }
}
