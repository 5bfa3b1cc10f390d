//! How charts show what a node's processor does.
//!
//! Owns the kind and the tone of each phase, the same in every chart. When a node is in one, the simulator says.

use ::cell::log::Phase;
use report::chart::{Kind, Timeline, Tone};

/// Adds the kinds to a chart: each with the phase that it shows.
pub fn kinds(chart: &mut Timeline) -> [(Phase, Kind); 8] {
    let asleep = chart.kind(Phase::Asleep.name(), Tone::Quiet);
    let listening = chart.kind("waiting, receiving", Tone::Neutral);
    let mut own = |phase: Phase, tone| (phase, chart.kind(phase.name(), tone));
    [
        (Phase::Asleep, asleep),
        (Phase::Waiting, listening),
        (Phase::Receiving, listening),
        own(Phase::Sampling, Tone::Second),
        own(Phase::Sealing, Tone::Accent),
        own(Phase::Transmitting, Tone::Third),
        own(Phase::Weaving, Tone::Fifth),
        own(Phase::Verifying, Tone::Fourth),
    ]
}
