//! What a deployment's schedule looks like to a person: slots, frames, times.

use std::fmt::Write as _;

use selvedge::link::deployment::{Cell, Deployment};

/// The schedule of every cell, for a person.
pub fn text(deployment: &Deployment) -> String {
    let mut text = String::new();
    let duration_s = deployment.duration_ps / 1_000_000_000_000;
    let _ = writeln!(text, "{}: {duration_s} s of cell time, seed {}", deployment.name, deployment.seed);
    for cell in &deployment.cells {
        schedule(cell, &mut text);
    }
    text
}

fn schedule(cell: &Cell, text: &mut String) {
    let used_us = (u32::from(cell.slots_used()) + 2) * u32::from(cell.slot_us);
    let _ = writeln!(
        text,
        "cell {} ({}): superframe {} us, {used_us} us of it in slots of {} us with guards of {} us",
        cell.name, cell.id, cell.superframe_us, cell.slot_us, cell.guard_us
    );
    let _ = writeln!(
        text,
        "  slot        node  chip        clock_hz  drift_ppb  samples  frame_bytes  frame_us  suite"
    );
    let mut nodes: Vec<_> = cell.nodes.iter().collect();
    nodes.sort_by_key(|node| node.slot);
    for node in nodes {
        let _ = writeln!(
            text,
            "  {:4}  {:10}  {:10}  {:8}  {:9}  {:7}  {:11}  {:8}  {}",
            node.slot,
            node.id,
            node.chip.name,
            node.clock_hz,
            node.drift_ppb,
            node.samples_per_superframe,
            node.frame_bytes,
            node.frame_ps / 1_000_000,
            node.suite
        );
    }
}
