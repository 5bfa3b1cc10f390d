//! A guest's loops inside a round, written out one run behind another.
//!
//! Owns: which loops these are, how often they run, and which instants their events have in each run. What only
//! counted the runs, or passed time between two events, is left out then (`idle`): woven, the host passes the time.
//! How instructions are moved is `draft`'s; the rounds themselves stay a loop, which `guest` reads.

mod draft;
mod idle;

use std::collections::BTreeSet;

use crate::analysis::Fault;
use crate::cfg::Cfg;
use crate::directive::{Directive, Repeat};
use crate::error::{InnerLoop, Refusal};
use crate::guest::{self, Clock};
use crate::limits::UNROLLED_INSTRUCTIONS_MAX;
use crate::loops::{LoopId, Loops};
use crate::program::{Function, Point, Program, Step, Written};
use crate::registers::Registers;
use crate::trips;
use draft::Draft;

/// The guest by itself, as one function whose rounds have no loop inside.
///
/// # Errors
/// When a loop runs an unknown number of times or too often, or an event does not say how often it comes in it.
pub fn unrolled(program: &Program, function: &Function) -> Result<Program, Refusal> {
    let clock = guest::clock(program, function)?;
    let mut draft = Draft::of(program, function)?;
    loop {
        let program = draft.program();
        let function = &program.functions[0];
        let Some(inner) = Inner::find(&program, function, &clock)? else {
            once(&program)?;
            return idle::dropped(&program, &clock);
        };
        draft = inner.written_out(&program, &Draft::of(&program, function)?)?;
    }
}

/// A loop without loops inside a round.
struct Inner {
    header: Point,
    points: BTreeSet<Point>,
    runs: u32,
    /// Points with a `trip` that speaks of it.
    counted: BTreeSet<Point>,
}

impl Inner {
    fn find(program: &Program, function: &Function, clock: &Clock) -> Result<Option<Inner>, Refusal> {
        let refuse = |fault: Fault| {
            let at = program.place_of(fault.point().unwrap_or(function.entry));
            Refusal::Analysis { at, fault }
        };
        let cfg = Cfg::of(program, function).map_err(|fault| refuse(Fault::Flow(fault)))?;
        let loops = Loops::of(&cfg);
        let firsts = guest::firsts(program, function, clock);
        let first = firsts.first().and_then(|&first| cfg.block_of(first));
        let Some(round) = first.and_then(|block| loops.around(block).last()) else { return Ok(None) };
        let is_inside = |id: LoopId| std::iter::successors(loops.all[id].parent, |&id| loops.all[id].parent);
        let mut inner = (0..loops.all.len()).filter(|&id| loops.all[id].children.is_empty());
        let Some(id) = inner.find(|&id| is_inside(id).any(|around| around == round)) else { return Ok(None) };
        let trips = trips::of(program, &cfg, &loops, &Registers::of(program))
            .map_err(|fault| refuse(Fault::Trips(fault)))?;
        let blocks = &loops.all[id].blocks;
        let header = cfg.blocks[loops.all[id].header].first;
        let points: BTreeSet<Point> = blocks.iter().flat_map(|&block| cfg.blocks[block].points()).collect();
        let unbounded = |why| Err(Refusal::InnerLoop { at: program.place_of(header), why });
        let runs = match &trips[id] {
            Err(untold) => return unbounded(InnerLoop::Untold(untold.clone())),
            Ok(found) if found.rounds_min < found.rounds_max => {
                return unbounded(InnerLoop::Varies { min: found.rounds_min, max: found.rounds_max });
            }
            Ok(found) => found.rounds_max,
        };
        let instructions = runs.saturating_mul(points.len() as u64);
        if instructions > UNROLLED_INSTRUCTIONS_MAX {
            return unbounded(InnerLoop::TooLong { runs, instructions });
        }
        let speaks = |&point: &Point| trips::owner(&cfg, &loops, point) == Some(id);
        let counted = points.iter().copied().filter(speaks).collect();
        Ok(Some(Inner { header, points, runs: runs as u32, counted }))
    }

    /// The function with the loop's runs one behind another.
    fn written_out(&self, program: &Program, draft: &Draft) -> Result<Draft, Refusal> {
        let last = self.runs - 1;
        // A way back leads into the next run, and there is none behind the last; a way out leads there only.
        let way = |from: (Point, u32), to: Point| match (
            self.points.contains(&from.0),
            self.points.contains(&to),
        ) {
            (true, true) if to == self.header => (from.1 < last).then_some((to, from.1 + 1)),
            (true, true) => Some((to, from.1)),
            (true, false) => (from.1 == last).then_some((to, 0)),
            (false, _) => Some((to, 0)),
        };
        let mut order = Vec::new();
        for point in 0..draft.len() {
            if !self.points.contains(&point) {
                order.push((point, 0));
            } else if self.points.first() == Some(&point) {
                order.extend(
                    (0..self.runs).flat_map(|run| self.points.iter().map(move |&point| (point, run))),
                );
            }
        }
        let steps = order.iter().map(|&(point, run)| self.run(point, draft.step(point), run)).collect();
        let written_out = draft.rewired(&order, steps, way)?;
        let reached = written_out.reached();
        for &point in &self.points {
            // What is behind a test at the loop's head runs once less.
            let runs = reached.iter().filter(|&&node| order[node].0 == point).count() as u32;
            for Written { directive, origin } in &draft.step(point).directives {
                let Directive::Event { name, repeats, .. } = directive else { continue };
                let said = repeats.first().map_or(1, |repeat| repeat.times);
                if said != runs {
                    let why = InnerLoop::EventTimes { event: name.clone(), said, runs };
                    return Err(Refusal::InnerLoop { at: program.place(*origin), why });
                }
            }
        }
        Ok(written_out)
    }

    /// An instruction as it stands in one run.
    fn run(&self, point: Point, step: &Step, run: u32) -> Step {
        let mut step = step.clone();
        if !self.points.contains(&point) {
            return step;
        }
        step.directives.retain(|written| {
            !(matches!(written.directive, Directive::Trip { .. }) && self.counted.contains(&point))
        });
        for written in &mut step.directives {
            if let Directive::Event { at, repeats, .. } = &mut written.directive
                && !repeats.is_empty()
            {
                let Repeat { every_cycles, .. } = repeats.remove(0);
                *at = at.saturating_add(run.saturating_mul(every_cycles));
            }
        }
        step
    }
}

/// No event is left that comes several times.
fn once(program: &Program) -> Result<(), Refusal> {
    for written in program.code.iter().flat_map(|step| &step.directives) {
        if let Directive::Event { name, repeats, .. } = &written.directive
            && let Some(repeat) = repeats.first()
        {
            let why = InnerLoop::EventTimes { event: name.clone(), said: repeat.times, runs: 1 };
            return Err(Refusal::InnerLoop { at: program.place(written.origin), why });
        }
    }
    Ok(())
}
