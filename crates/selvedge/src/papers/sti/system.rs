//! What the schemes are worth in a whole node: one node and its gateway, simulated, a cell of the table for each kind of
//! filters and divider of the node's SPI.
//!
//! Owns which cells there are. `bench` makes the cell, `slot` looks at one frame on the line, `course` at some superframes,
//! `rate` searches for the highest sample rate; `shown` has the rows, the table and figure 6.

use selvedge::error::Error;
use selvedge::link::filters::{Filters, woven_cycles, woven_cycles_max};

use super::cells::Scheme;
use bench::{Bench, CLOCK_HZ, RATE_HZ, SAMPLES, Setting};
use course::{Course, text_bytes};
use rate::Rate;
use slot::Slot;

pub mod bench;
mod course;
mod rate;
pub mod shown;
mod slot;

/// Dividers of the node's SPI clock.
const DIVIDERS: [u8; 3] = [8, 16, 64];

/// A cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// How the node seals beside its line.
    pub filters: Filters,
    /// Divider of its SPI clock.
    pub divider: u8,
}

impl Case {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Case> {
        let cases = |divider| Filters::ALL.map(|filters| Case { filters, divider });
        DIVIDERS.into_iter().flat_map(cases)
    }

    /// Its way of sharing the processor.
    pub fn scheme(&self) -> Scheme {
        match self.filters {
            Filters::Discrete => Scheme::BusyWait,
            Filters::Handler => Scheme::Compiled,
            Filters::HandlerByHand => Scheme::Reserved,
            Filters::Woven => Scheme::Woven,
        }
    }

    /// Its name in rows.
    pub fn name(&self) -> String {
        format!("node, {}, f/{}", self.scheme().name(), self.divider)
    }
}

/// What came of a cell.
pub enum Found {
    /// Numbers.
    Measured(Box<Measured>),
    /// Why there are none.
    Not(String),
}

/// What was measured.
pub struct Measured {
    /// Of its frames on the line.
    pub slot: Slot,
    /// Of the superframes around them.
    pub course: Course,
    /// Bytes of a frame's text.
    pub text_bytes: f64,
    /// The highest sample rate; none when the search found none.
    pub rate: Option<Rate>,
}

impl Measured {
    /// Bytes a second within a frame.
    pub fn bus_rate(&self) -> f64 {
        f64::from(CLOCK_HZ) / self.slot.byte_cycles
    }

    /// Bytes of the other frame's text that are sealed while a frame is on the line.
    pub fn sealed_bytes(&self) -> f64 {
        if self.slot.work_cycles > 0.0 { self.slot.sealed_bytes(self.text_bytes) } else { 0.0 }
    }
}

/// Measures a cell.
///
/// # Errors
/// Of the build, and of a simulated program that does what its chip does not define.
pub fn measure(bench: &Bench, case: Case) -> Result<Found, Error> {
    let setting = Setting::example(case);
    let plan = bench.plan(&setting);
    let bytes = plan.nodes[0].frame_bytes;
    let cycles_max = woven_cycles_max(u64::from(CLOCK_HZ) / RATE_HZ, CLOCK_HZ.into());
    if case.filters == Filters::Woven && woven_cycles(bytes.into(), case.divider.into()) > cycles_max {
        let words = format!("interrupts would be off for {bytes} bytes, too long for {RATE_HZ} Hz");
        return Ok(Found::Not(words));
    }
    let image = bench.image(&plan)?;
    let (course, slot) = Course::of(bench, &plan, &image)?;
    let rate = rate::highest(bench, case)?;
    Ok(Found::Measured(Box::new(Measured { slot, course, text_bytes: text_bytes(&plan), rate })))
}

/// What a row says of how it was measured.
fn conditions() -> String {
    format!("{SAMPLES} samples a frame at {RATE_HZ} Hz, {} MHz", CLOCK_HZ / 1_000_000)
}
