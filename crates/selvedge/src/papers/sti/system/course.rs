//! Some superframes of a node: when its frames begin and its samples are taken, what it draws, and what it does when.
//!
//! Owns what is taken of them. The first ones do not count: the node joins, and learns its crystal's error.

use ::cell::clock::Picoseconds;
use ::cell::energy::{Draw, SUPPLY_V};
use ::cell::log::Phase;
use ::cell::{Cell, Superframe, Transmission};
use isa::Cycles;
use selvedge::error::Error;
use selvedge::limits::{PS_PER_US, SAMPLES_HEADER_BYTES};
use selvedge::link::deployment::Cell as Plan;
use selvedge::toolchain::Image;

use super::bench::{Bench, CLOCK_HZ};
use super::slot::{Places, Slot};

/// The first that counts: before it the node joins, and learns its crystal's error.
pub const SETTLED: u32 = 6;
/// How many count.
const COUNTED: u32 = 8;
/// How long before its slot a node is looked at: it waits for the instant, awake.
const LOOK_PS: Picoseconds = 40 * PS_PER_US;

/// What was seen.
pub struct Course {
    /// How far a frame's SS fell from its slot's instant, at most.
    pub slot_off_ps: Picoseconds,
    /// How far a sample was from its own, at most.
    pub sample_off_ps: Picoseconds,
    /// Microjoules that the core took for each byte sealed and sent, asleep and awake.
    pub microjoules_per_byte: f64,
    /// Cycles that it was awake for each of them.
    pub awake_cycles_per_byte: f64,
    /// What the processor did in the last superframe, from its start on.
    pub spans: Vec<(Phase, Picoseconds, Picoseconds)>,
    /// Who held the bus in it: whether the node, from, until.
    pub bus: Vec<(bool, Picoseconds, Picoseconds)>,
    /// How long after its start the node's slot begins.
    pub slot_ps: Picoseconds,
}

/// Bytes of a frame's text.
pub fn text_bytes(plan: &Plan) -> f64 {
    f64::from(SAMPLES_HEADER_BYTES as u32 + 2 * u32::from(plan.nodes[0].samples_per_superframe))
}

/// The node's frame in a superframe.
pub fn sent(superframe: &Superframe) -> Option<Transmission> {
    superframe.transmissions.iter().find(|sent| sent.node.is_some()).copied()
}

/// When the node's frame begins in a superframe, by the gateway's clock.
pub fn slot_ps(plan: &Plan) -> Picoseconds {
    (u64::from(plan.nodes[0].slot) * u64::from(plan.slot_us) + u64::from(plan.guard_us)) * PS_PER_US
}

/// Microjoules of the node's core, and its cycles awake.
fn drawn(cell: &Cell) -> (f64, Cycles) {
    let chip = cell.nodes()[0].chip();
    let draw = Draw::of(chip.profile().name).expect("every chip's currents are known");
    (draw.microjoules(chip, SUPPLY_V, CLOCK_HZ.into()), chip.awake_cycles())
}

impl Course {
    /// Runs the cell, and looks at its frames.
    ///
    /// # Errors
    /// Of the simulated program.
    pub fn of(bench: &Bench, plan: &Plan, image: &Image) -> Result<(Course, Slot), Error> {
        let mut cell = bench.cell(plan, image)?;
        let filters = plan.nodes[0].filters;
        let places = Places::of(&image.elf, cell.nodes()[0].chip(), filters)?;
        let superframe_ps = u64::from(plan.superframe_us) * PS_PER_US;
        let (mut slots, mut slot_off_ps, mut begun) = (Vec::new(), 0, (0.0, 0));
        let mut last = None;
        for number in 0..SETTLED + COUNTED {
            let start_ps = u64::from(number) * superframe_ps;
            if number == SETTLED {
                begun = drawn(&cell);
                cell.nodes_mut()[0].log_mut().take_samples();
            }
            if number >= SETTLED {
                let before = cell.run_until(start_ps + slot_ps(plan) - LOOK_PS)?;
                assert!(before.is_none(), "a slot begins before its superframe ends");
                slots.push(places.look(&cell.nodes()[0], filters));
            }
            let superframe = cell.run_superframe()?;
            if number >= SETTLED {
                let frame = sent(&superframe).expect("a frame is in each slot");
                slot_off_ps = slot_off_ps.max(frame.start_ps.abs_diff(start_ps + slot_ps(plan)));
            }
            last = Some((start_ps, superframe));
        }
        let (start_ps, superframe) = last.expect("some superframes count");
        let (uj, awake_cycles) = drawn(&cell);
        let bytes = f64::from(COUNTED) * text_bytes(plan);
        let course = Course {
            slot_off_ps,
            sample_off_ps: samples_off_ps(&mut cell, plan),
            microjoules_per_byte: (uj - begun.0) / bytes,
            awake_cycles_per_byte: (awake_cycles - begun.1) as f64 / bytes,
            spans: spans(&cell, start_ps),
            bus: bus(&superframe, start_ps),
            slot_ps: slot_ps(plan),
        };
        Ok((course, Slot::mean(&slots)))
    }
}

/// How far samples are from the grid of their superframe, at most.
fn samples_off_ps(cell: &mut Cell, plan: &Plan) -> Picoseconds {
    let node = &mut cell.nodes_mut()[0];
    let (samples, clock) = (node.log_mut().take_samples(), node.clock);
    let period_ps = period_ps(plan);
    let off_ps = samples.iter().map(|sample| {
        let at_ps = clock.at(sample.cycle);
        at_ps.abs_diff(((at_ps as f64 / period_ps).round() * period_ps) as Picoseconds)
    });
    off_ps.max().expect("samples are taken")
}

fn spans(cell: &Cell, start_ps: Picoseconds) -> Vec<(Phase, Picoseconds, Picoseconds)> {
    let node = &cell.nodes()[0];
    let at = |cycle| node.clock.at(cycle).saturating_sub(start_ps);
    let spans = node.log().spans().iter().map(|span| (span.phase, at(span.start), at(span.end)));
    spans.filter(|&(_, _, end_ps)| end_ps > 0).collect()
}

fn bus(superframe: &Superframe, start_ps: Picoseconds) -> Vec<(bool, Picoseconds, Picoseconds)> {
    let held = superframe.transmissions.iter();
    held.map(|sent| (sent.node.is_some(), sent.start_ps - start_ps, sent.end_ps - start_ps)).collect()
}

/// A superframe's length over its samples.
pub fn period_ps(plan: &Plan) -> f64 {
    f64::from(plan.superframe_us) * PS_PER_US as f64 / f64::from(plan.nodes[0].samples_per_superframe)
}
