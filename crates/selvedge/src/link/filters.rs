//! How a node seals beside its line: one after the other, or both at once by functions that the build weaves.
//!
//! Owns their names in a deployment, and how long a woven filter may keep interrupts off: what samples and turns of the
//! timer its guest and server can make up for (`firmware/node/sampler.h`). What is woven is `toolchain`'s.

use serde::{Serialize, Serializer};

use super::draft::{CellDraft, NodeDraft};
use super::problem::{Kind, Problem};
use super::schedule::{DEFAULT_SUITE, frame_bytes, sample_cycles, samples};
use super::section::At;

/// How a node's filters are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// Each does one thing: a frame is sealed, and then it is sent.
    #[default]
    Discrete,
    /// A frame is sealed while another one goes out or comes in, and so is one opened.
    Woven,
}

impl Filters {
    /// All of them.
    pub const ALL: [Filters; 2] = [Filters::Discrete, Filters::Woven];

    /// As a deployment names them.
    pub fn name(self) -> &'static str {
        match self {
            Filters::Discrete => "discrete",
            Filters::Woven => "woven",
        }
    }

    /// Those of that name.
    pub fn find(name: &str) -> Option<Filters> {
        Filters::ALL.into_iter().find(|filters| filters.name() == name)
    }
}

impl Serialize for Filters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Cycles of a woven frame with which no turn of the 16-bit timer is lost: of two, the first would be.
pub const TURN_CYCLES_MAX: u64 = 65_000;

/// Cycles from a byte that is sent to the next when nothing is waited for, at SPI clock divider `divider`.
fn sent_byte_cycles(divider: u64) -> u64 {
    8 * divider + 2
}

/// Cycles from the end of a conversion to the next sample's start, at the least.
pub fn next_sample_cycles(step_cycles: u64, clock_hz: u64) -> u64 {
    step_cycles.saturating_sub(sample_cycles(clock_hz))
}

/// Cycles that a woven frame may take where a sample is taken every `step_cycles`: one may be in the converter when it
/// begins, another one at its end, and no third one may be due by then.
fn woven_cycles_max(step_cycles: u64, clock_hz: u64) -> u64 {
    (step_cycles + next_sample_cycles(step_cycles, clock_hz)).min(TURN_CYCLES_MAX)
}

/// A chip must have room for woven filters, and sampling and the clock must outlast a frame of theirs.
pub(super) fn check(node: &NodeDraft, cell: &CellDraft, problems: &mut Vec<Problem>) {
    let Some(filters) = node.filters.as_ref().filter(|filters| filters.value == Filters::Woven) else {
        return;
    };
    let mut problem = |kind| problems.push(Problem { span: filters.span.clone(), kind });
    if let Some(chip) = node.chip.as_ref().filter(|chip| !chip.value.has_pipes) {
        return problem(Kind::NoRoomToWeave { chip: chip.value.name, sram_bytes: chip.value.sram_bytes });
    }
    let value = |at: &Option<At<i64>>| at.as_ref().map(|at| at.value.unsigned_abs());
    let (Some(rate_hz), Some(clock_hz)) = (value(&node.rate), value(&node.clock)) else { return };
    let (Some(divider), Some(superframe_ps)) = (&node.divider, value(&cell.superframe)) else { return };
    let Some(samples) = samples(rate_hz, superframe_ps) else { return };
    let suite = node.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value);
    let bytes = frame_bytes(samples, suite);
    let cycles = bytes * sent_byte_cycles(divider.value);
    let cycles_max = woven_cycles_max(clock_hz / rate_hz, clock_hz);
    if cycles > cycles_max {
        problem(Kind::WovenTooLong { bytes, divider: divider.value, cycles, cycles_max });
    }
}
