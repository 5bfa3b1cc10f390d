//! How a node seals beside its line: one after the other, or both at once, by handlers or by functions that the build
//! weaves.
//!
//! Owns their names in a deployment, what the image has for them and what a byte takes, and how long a woven filter may
//! keep interrupts off: what samples and turns of the timer its guest and server can make up for
//! (`firmware/node/sampler.h`). What is woven is `toolchain`'s.

use serde::{Serialize, Serializer};

use super::draft::{CellDraft, NodeDraft};
use super::problem::{Kind, Problem};
pub use super::schedule::sample_cycles;
use super::schedule::{DEFAULT_SUITE, frame_bytes, samples};
use super::section::At;
use crate::limits::{
    HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES, HANDLED_BYTE_OVERHEAD_CYCLES, HANDLED_STATIC_BYTES_MAX,
    POLLED_BYTE_OVERHEAD_CYCLES, WOVEN_STATIC_BYTES_MAX,
};

/// How a node's filters are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filters {
    /// Each does one thing: a frame is sealed, and then it is sent.
    #[default]
    Discrete,
    /// A frame is sealed while the one before it goes out by interrupts, the handler as avr-gcc compiles it.
    Handler,
    /// The same, the handler by hand.
    HandlerByHand,
    /// A frame is sealed while another one goes out or comes in, and so is one opened, by a function that is woven of both.
    Woven,
}

/// What is known of filters by their kind alone.
struct Row {
    name: &'static str,
    /// What the image has for them besides, from the root of the source tree.
    list: Option<&'static str>,
    /// Cycles of a byte that is sent beyond its bits, where samples are taken meanwhile.
    byte_overhead_cycles: u64,
}

impl Filters {
    /// All of them.
    pub const ALL: [Filters; 4] =
        [Filters::Discrete, Filters::Handler, Filters::HandlerByHand, Filters::Woven];

    #[rustfmt::skip]
    fn row(self) -> Row {
        let row = |name, list, byte_overhead_cycles| Row { name, list, byte_overhead_cycles };
        let [handler, by_hand] = ["firmware/node/filters_handler.txt", "firmware/node/filters_handler_by_hand.txt"];
        match self {
            Filters::Discrete      => row("discrete",        None,          POLLED_BYTE_OVERHEAD_CYCLES),
            Filters::Handler       => row("handler",         Some(handler), HANDLED_BYTE_OVERHEAD_CYCLES),
            Filters::HandlerByHand => row("handler-by-hand", Some(by_hand), HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES),
            Filters::Woven         => row("woven",           None,          POLLED_BYTE_OVERHEAD_CYCLES),
        }
    }

    /// As a deployment names them.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What the image has for them besides, from the root of the source tree; that of woven ones is their suite's.
    pub fn list(self) -> Option<&'static str> {
        self.row().list
    }

    /// Bytes of SRAM that the node has static at most, where filters are two at once.
    fn static_bytes_max(self) -> u64 {
        if self == Filters::Woven { WOVEN_STATIC_BYTES_MAX } else { HANDLED_STATIC_BYTES_MAX }
    }

    /// Whether a frame is sealed while the one before it goes out, and so sent a superframe later.
    pub fn are_beside(self) -> bool {
        self != Filters::Discrete
    }

    /// Cycles from a byte that is sent to the next at SPI clock divider `divider`, at most, on an average over a frame.
    pub fn byte_cycles(self, divider: u64) -> u64 {
        8 * divider + self.row().byte_overhead_cycles
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

/// Cycles of a woven frame that is sent at SPI clock divider `divider`: no byte waits for anything.
pub fn woven_cycles(bytes: u64, divider: u64) -> u64 {
    bytes * (8 * divider + 2)
}

/// Cycles from the end of a conversion to the next sample's start, at the least.
pub fn next_sample_cycles(step_cycles: u64, clock_hz: u64) -> u64 {
    step_cycles.saturating_sub(sample_cycles(clock_hz))
}

/// Cycles that a woven frame may take where a sample is taken every `step_cycles`: one may be in the converter when it
/// begins, another one at its end, and no third one may be due by then.
pub fn woven_cycles_max(step_cycles: u64, clock_hz: u64) -> u64 {
    (step_cycles + next_sample_cycles(step_cycles, clock_hz)).min(TURN_CYCLES_MAX)
}

/// A chip must have room for filters that are two at once, and sampling and the clock must outlast a frame of woven ones.
pub(super) fn check(node: &NodeDraft, cell: &CellDraft, problems: &mut Vec<Problem>) {
    let Some(filters) = node.filters.as_ref().filter(|filters| filters.value.are_beside()) else {
        return;
    };
    let mut problem = |kind| problems.push(Problem { span: filters.span.clone(), kind });
    if let Some(chip) = node.chip.as_ref().filter(|chip| !chip.value.has_pipes) {
        return problem(Kind::NoRoomForFilters {
            chip: chip.value.name,
            filters: filters.value.name(),
            sram_bytes: chip.value.sram_bytes,
            static_bytes: filters.value.static_bytes_max(),
        });
    }
    if filters.value != Filters::Woven {
        return;
    }
    let value = |at: &Option<At<i64>>| at.as_ref().map(|at| at.value.unsigned_abs());
    let (Some(rate_hz), Some(clock_hz)) = (value(&node.rate), value(&node.clock)) else { return };
    let (Some(divider), Some(superframe_ps)) = (&node.divider, value(&cell.superframe)) else { return };
    let Some(samples) = samples(rate_hz, superframe_ps) else { return };
    let suite = node.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value);
    let bytes = frame_bytes(samples, suite);
    let cycles = woven_cycles(bytes, divider.value);
    let cycles_max = woven_cycles_max(clock_hz / rate_hz, clock_hz);
    if cycles > cycles_max {
        problem(Kind::WovenTooLong { bytes, divider: divider.value, cycles, cycles_max });
    }
}
