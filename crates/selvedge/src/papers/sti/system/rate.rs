//! The highest sample rate that a node sustains: every sample is taken, and its frame sent in its slot.
//!
//! Owns the search. Superframes get shorter, for frames of some lengths, down to what the converter takes for a sample;
//! or, woven, down to where a frame takes as long as a code may wait, since servers that take one meanwhile are not tried.
//! The node's slot is the first one, one in the middle, or the last one of those that fit: what is sealed before needs
//! time before, what is sealed beside needs it behind.

use ::cell::clock::Picoseconds;
use ::cell::{Cell, Superframe};
use collect::frame::{self, Samples};
use isa::avr::Image as Program;
use selvedge::error::Error;
use selvedge::limits::{PS_PER_US, SLOTS_MAX};
use selvedge::link::deployment::Cell as Plan;
use selvedge::link::filters::{Filters, sample_cycles, woven_cycles};
use selvedge::toolchain::Image;

use super::Case;
use super::bench::{Bench, CLOCK_HZ, RATE_HZ, Setting};
use super::course::{SETTLED, period_ps, sent};

/// Samples in a frame.
const SAMPLES: [u8; 4] = [15, 30, 60, 90];
/// Superframes behind [`SETTLED`] that all have to be whole.
const COUNTED: u32 = 12;
/// Silence at both ends of a slot.
const GUARD_US: u16 = 250;
/// The longest of what the gateway sends, a beacon of sixteen slots, and what a slot has to spare.
const BEACON_US: u16 = 1_700;
/// How often the range of superframes is halved.
const HALVINGS: u32 = 5;
/// Of a step, for the node's crystal and for rates of whole hertz: neither makes it shorter than what is allowed.
const SPARE: f64 = 1.003;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// Samples a second.
    pub hz: f64,
    /// Samples in each of its frames.
    pub samples: u8,
    /// What is in the way of more.
    pub limit: String,
}

/// Where it is searched for.
pub fn searched() -> String {
    let [samples @ .., last] = SAMPLES.map(|samples| samples.to_string());
    let samples = samples.join(", ");
    format!(
        "from {RATE_HZ} Hz to what the converter takes, {HALVINGS} halvings, {COUNTED} superframes each, with {samples} or {last} samples \
         a frame and the node's slot first, in the middle and last"
    )
}

/// The highest rate of any length of frame; none when not even that of the example is sustained.
///
/// # Errors
/// Of the build, and of a simulated program that does what its chip does not define.
pub fn highest(bench: &Bench, case: Case) -> Result<Option<Rate>, Error> {
    let mut best: Option<Rate> = None;
    for samples in SAMPLES {
        let found = with_samples(bench, case, samples)?;
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.hz > best.hz)) {
            best = Some(found);
        }
    }
    Ok(best)
}

/// Microseconds of `samples` steps.
fn superframe_us(samples: u8, step_cycles: f64) -> f64 {
    f64::from(samples) * step_cycles * 1e6 / f64::from(CLOCK_HZ)
}

fn slowest_us(samples: u8) -> f64 {
    superframe_us(samples, f64::from(CLOCK_HZ) / RATE_HZ as f64)
}

/// How frames of some samples are sent, and sampled, as fast as can be tried.
struct Fastest {
    setting: Setting,
    image: Image,
    /// What is in the way of more.
    limit: &'static str,
}

impl Fastest {
    /// Where the converter is in the way, or the slots, or that nobody takes a code while a woven frame is sent.
    /// None where that is slower than the slowest.
    fn of(bench: &Bench, case: Case, samples: u8) -> Result<Option<Fastest>, Error> {
        let (divider, clock_hz) = (case.divider.into(), CLOCK_HZ.into());
        let slot_us = slot_us(bench, case, samples);
        let setting = |superframe_us: f64| setting(case, samples, superframe_us, slot_us, 1);
        let bytes = u64::from(bench.plan(&setting(1e6)).nodes[0].frame_bytes);
        let (step_cycles, limit) = match case.filters {
            Filters::Woven => {
                (woven_cycles(bytes, divider) + sample_cycles(clock_hz), "interrupts are off for a frame")
            }
            _ => (sample_cycles(clock_hz), "the converter and its interrupts"),
        };
        let sampled_us = superframe_us(samples, step_cycles as f64 * SPARE);
        // The beacon's slot, the node's, and the one in which it hears.
        let slots_us = 3.0 * f64::from(slot_us);
        let limit = if slots_us > sampled_us { "three slots" } else { limit };
        let fastest_us = sampled_us.max(slots_us);
        if fastest_us > slowest_us(samples) {
            return Ok(None);
        }
        let setting = setting(fastest_us);
        let image = bench.image(&bench.plan(&setting))?;
        Ok(Some(Fastest { setting, image, limit }))
    }

    /// What is broken in superframes of such a length, wherever the node's slot is.
    fn broken(&self, bench: &Bench, superframe_us: f64) -> Result<Option<&'static str>, Error> {
        let Setting { case, samples, slot_us, .. } = self.setting;
        let last = (superframe_us / f64::from(slot_us)) as u8 - 2;
        let last = last.min(SLOTS_MAX);
        let mut why = None;
        for slot in [1, last.div_ceil(2), last] {
            let setting = setting(case, samples, superframe_us, slot_us, slot);
            why = broken(bench, &bench.plan(&setting), &self.image)?;
            if why.is_none() {
                break;
            }
        }
        Ok(why)
    }
}

fn setting(case: Case, samples: u8, superframe_us: f64, slot_us: u16, slot: u8) -> Setting {
    let superframe_us = superframe_us.ceil() as u32;
    Setting { case, samples, superframe_us, slot_us, guard_us: GUARD_US, slot }
}

fn with_samples(bench: &Bench, case: Case, samples: u8) -> Result<Option<Rate>, Error> {
    let Some(fastest) = Fastest::of(bench, case, samples)? else { return Ok(None) };
    let rate = |superframe_us: f64, limit: &str| Rate {
        hz: f64::from(samples) * 1e6 / superframe_us.ceil(),
        samples,
        limit: limit.to_owned(),
    };
    let (fastest_us, slowest_us) = (f64::from(fastest.setting.superframe_us), slowest_us(samples));
    let Some(mut limit) = fastest.broken(bench, fastest_us)? else {
        return Ok(Some(rate(fastest_us, fastest.limit)));
    };
    if fastest.broken(bench, slowest_us)?.is_some() {
        return Ok(None);
    }
    let (mut not_us, mut is_us) = (fastest_us, slowest_us);
    for _ in 0..HALVINGS {
        let middle_us = (not_us * is_us).sqrt();
        match fastest.broken(bench, middle_us)? {
            Some(why) => (not_us, limit) = (middle_us, why),
            None => is_us = middle_us,
        }
    }
    Ok(Some(rate(is_us, limit)))
}

/// The shortest slot in which the node's frame and the gateway's fit.
fn slot_us(bench: &Bench, case: Case, samples: u8) -> u16 {
    let plan = bench.plan(&Setting { samples, ..Setting::example(case) });
    let cycles = u64::from(plan.nodes[0].frame_bytes) * case.filters.byte_cycles(case.divider.into());
    let frame_us = (cycles * 1_000_000).div_ceil(CLOCK_HZ.into()) as u16;
    frame_us.max(BEACON_US) + 2 * GUARD_US + 100
}

/// What is not as it has to be, if anything.
fn broken(bench: &Bench, plan: &Plan, image: &Image) -> Result<Option<&'static str>, Error> {
    let mut cell = bench.cell(plan, image)?;
    let key = bench.key(plan);
    let node = &plan.nodes[0];
    let (mut first, mut refused) = (None, Vec::new());
    for number in 0..SETTLED + COUNTED {
        let superframe = cell.run_superframe()?;
        if number < SETTLED {
            continue;
        }
        if number == SETTLED {
            cell.nodes_mut()[0].log_mut().take_samples();
            refused = losses(&cell, image)?;
        }
        if !is_in_slot(plan, number, &superframe) {
            return Ok(Some("a slot has no frame"));
        }
        let [received] = &superframe.received[..] else { return Ok(Some("a frame is not received")) };
        let text = frame::parse(&received.bytes).and_then(|frame| frame::open(&key, &frame));
        let Some(samples) = text.ok().and_then(|text| Samples::parse(&text).ok()) else {
            return Ok(Some("a frame is not opened"));
        };
        let expected = first.map(|first| first + u64::from(node.samples_per_superframe));
        if expected.is_some_and(|expected| expected != samples.first) {
            return Ok(Some("samples are not sent"));
        }
        first = Some(samples.first);
    }
    if losses(&cell, image)? != refused {
        return Ok(Some("a frame is refused"));
    }
    let node = &mut cell.nodes_mut()[0];
    let (clock, samples) = (node.clock, node.log_mut().take_samples());
    let place = |at_ps: Picoseconds| (at_ps as f64 / period_ps(plan)).round() as u64;
    let places: Vec<u64> = samples.iter().map(|sample| place(clock.at(sample.cycle))).collect();
    let is_whole = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
    Ok((!is_whole).then_some("a sample is missing"))
}

/// Whether the node's frame is between its slot's guards, the crystal's error aside.
fn is_in_slot(plan: &Plan, number: u32, superframe: &Superframe) -> bool {
    let slot_us = u64::from(number) * u64::from(plan.superframe_us)
        + u64::from(plan.nodes[0].slot) * u64::from(plan.slot_us);
    let (from_ps, until_ps) = (slot_us * PS_PER_US, (slot_us + u64::from(plan.slot_us)) * PS_PER_US);
    sent(superframe).is_some_and(|frame| frame.start_ps > from_ps && frame.end_ps < until_ps)
}

/// What the controller has refused, dropped or not sent (`firmware/node/controller.h`): not what it did not hear, since nobody
/// speaks.
fn losses(cell: &Cell, image: &Image) -> Result<Vec<Option<u8>>, Error> {
    let program = Program::parse(&image.elf)?;
    let at = program.symbol("controller_losses").expect("it counts").address as u16;
    Ok((0..12).map(|byte| cell.nodes()[0].chip().memory(at + byte)).collect())
}
