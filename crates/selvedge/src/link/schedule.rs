//! What the values of a deployment must be to each other: identities, slots, air time, sampling, signal.
//!
//! Owns the arithmetic of the superframe. Slot 0 is the beacon's, slot k the k-th node's, and the one after
//! the last node's is the downlink's. A transmission begins one guard after its slot does and must end one
//! guard before the slot ends. What a byte costs a node beyond its bits is the firmware's (`limits`).

use super::computers;
use super::deployment::Input;
use super::diagnostic::line;
use super::draft::{CellDraft, Draft, InputDraft, NodeDraft};
use super::filters;
use super::leads;
use super::problem::{Kind, Problem};
use super::quantity::Hertz;
use super::readiness;
use super::sealing::converter_divider;
use super::section::At;
use cipher::Suite;

use crate::limits::{self, PS_PER_SECOND};

/// Checks everything that takes more than one value. `inputs` are the recordings that could be read, beside
/// the drafts they belong to.
pub(super) fn check(draft: &Draft, inputs: &[Option<Input>], text: &str, problems: &mut Vec<Problem>) {
    if draft.cells.is_empty() {
        problems.push(Problem { span: 0..0, kind: Kind::Empty { what: "cell" } });
    }
    let cells = draft.cells.iter().filter_map(|cell| cell.id.as_ref());
    unique("cell id", cells, text, problems);
    let ids = |cell: &CellDraft| {
        let nodes = cell.nodes.iter().filter_map(|node| node.id.clone());
        nodes.chain(cell.computers.iter().filter_map(|computer| computer.id.clone())).collect::<Vec<_>>()
    };
    let ids: Vec<At<i64>> = draft.cells.iter().flat_map(ids).collect();
    unique("node id", ids.iter(), text, problems);
    computers::check(draft, problems);
    for cell in &draft.cells {
        slots(cell, text, problems);
        superframe(cell, problems);
        gateway(cell, problems);
        drop_outs(cell, problems);
        batch(cell, draft, problems);
        for node in &cell.nodes {
            clock(node, problems);
            converter(node, problems);
            uplink(node, cell, problems);
            filters::check(node, cell, problems);
            readiness::check(node, cell, problems);
            signal(node, draft, inputs, problems);
            let superframe_ps = cell.superframe.as_ref().map(|time| time.value.unsigned_abs());
            leads::check(node, draft, inputs, superframe_ps, text, problems);
        }
    }
}

/// What a node seals with when its deployment does not say.
pub(super) const DEFAULT_SUITE: Suite = Suite::AsconAead128;

/// Highest slot that a node of the cell owns.
pub(super) fn slots_used(cell: &CellDraft) -> u64 {
    cell.nodes
        .iter()
        .filter_map(|node| node.slot.as_ref())
        .map(|slot| slot.value.unsigned_abs())
        .max()
        .unwrap_or(0)
}

/// Bytes of a frame that carries `samples` samples under `suite`.
pub(super) fn frame_bytes(samples: u64, suite: Suite) -> u64 {
    limits::FRAME_HEADER_BYTES
        + limits::SAMPLES_HEADER_BYTES
        + samples * limits::SAMPLE_BYTES
        + suite.row().tag_bytes as u64
}

/// Samples in a superframe, if that is a whole number.
pub(super) fn samples(rate_hz: u64, superframe_ps: u64) -> Option<u64> {
    let product = u128::from(rate_hz) * u128::from(superframe_ps);
    let second = u128::from(PS_PER_SECOND);
    (product > 0 && product.is_multiple_of(second)).then(|| (product / second) as u64)
}

/// Which samples of its grid a node takes at a rate: every so manieth, in a frame a whole number of them.
///
/// # Errors
/// The rates that it has.
pub(super) fn stride(own_hz: u64, samples: u64, rate_hz: u64) -> Result<u8, Vec<u64>> {
    let is_whole = |stride: &u64| samples.is_multiple_of(*stride) && own_hz.is_multiple_of(*stride);
    let strides = || (1..=samples.min(u8::MAX.into())).filter(is_whole);
    let found = strides().find(|stride| own_hz == rate_hz * stride).and_then(|stride| stride.try_into().ok());
    found.ok_or_else(|| strides().map(|stride| own_hz / stride).collect())
}

/// Time of `cycles` cycles that a node sends, its crystal slow by |`drift_ppb`|.
pub(super) fn uplink_ps(cycles: u64, clock_hz: u64, drift_ppb: i64) -> u64 {
    let cycles = u128::from(cycles);
    let billion = 1_000_000_000_u128;
    let ps = cycles * u128::from(PS_PER_SECOND) * (billion + u128::from(drift_ppb.unsigned_abs()))
        / (u128::from(clock_hz) * billion);
    ps as u64
}

/// Time of one byte that the gateway sends: eight bits and the gap after them.
pub(super) fn gateway_byte_ps(bus_hz: u64, byte_gap_ps: u64) -> u64 {
    8 * PS_PER_SECOND / bus_hz + byte_gap_ps
}

pub(super) fn unique<'a>(
    what: &'static str,
    ids: impl Iterator<Item = &'a At<i64>>,
    text: &str,
    problems: &mut Vec<Problem>,
) {
    let mut seen: Vec<&At<i64>> = Vec::new();
    for id in ids {
        match seen.iter().find(|other| other.value == id.value) {
            Some(first) => {
                let (found, first_line) = (id.value.unsigned_abs(), line(text, first.span.start));
                problems.push(Problem {
                    span: id.span.clone(),
                    kind: Kind::Duplicate { what, found, first_line },
                });
            }
            None => seen.push(id),
        }
    }
}

fn slots(cell: &CellDraft, text: &str, problems: &mut Vec<Problem>) {
    if cell.nodes.is_empty() {
        problems
            .push(Problem { span: cell.name.span.clone(), kind: Kind::Empty { what: "node in this cell" } });
    }
    for (index, node) in cell.nodes.iter().enumerate() {
        let Some(slot) = &node.slot else { continue };
        let owner = |nodes: &'_ [NodeDraft], slot: i64| {
            nodes.iter().position(|node| node.slot.as_ref().is_some_and(|other| other.value == slot))
        };
        if let Some(first) = owner(&cell.nodes[..index], slot.value) {
            let first = &cell.nodes[first];
            let free = (1..=i64::from(limits::SLOTS_MAX)).find(|slot| owner(&cell.nodes, *slot).is_none());
            let kind = Kind::SlotTaken {
                slot: slot.value.unsigned_abs(),
                first: first.label(),
                first_line: line(text, first.span.start),
                free: free.map(i64::unsigned_abs),
            };
            problems.push(Problem { span: slot.span.clone(), kind });
        }
    }
}

fn superframe(cell: &CellDraft, problems: &mut Vec<Problem>) {
    let (Some(superframe), Some(slot)) = (&cell.superframe, &cell.slot) else { return };
    let (superframe_ps, slot_ps) = (superframe.value.unsigned_abs(), slot.value.unsigned_abs());
    let slots = slots_used(cell) + 2;
    if slots * slot_ps > superframe_ps {
        let kind =
            Kind::SuperframeOverfull { slots, slot_ps, superframe_ps, slots_fit: superframe_ps / slot_ps };
        problems.push(Problem { span: slot.span.clone(), kind });
    }
    let Some(guard) = &cell.guard else { return };
    let (guard_ps, needs_ps) = (guard.value.unsigned_abs(), superframe_ps >> limits::DRIFT_SHIFT_UNMEASURED);
    if needs_ps > guard_ps {
        problems.push(Problem { span: guard.span.clone(), kind: Kind::GuardTooShort { guard_ps, needs_ps } });
    }
}

/// The beacon and the longest downlink must fit into their slots, and every node must be able to follow.
fn gateway(cell: &CellDraft, problems: &mut Vec<Problem>) {
    let (Some(bus), Some(gap)) = (&cell.bus, &cell.byte_gap) else { return };
    let (bit_hz, byte_ps) =
        (bus.value.unsigned_abs(), gateway_byte_ps(bus.value.unsigned_abs(), gap.value.unsigned_abs()));
    let beacon_bytes = limits::BEACON_FIXED_BYTES + slots_used(cell) * limits::BEACON_ENTRY_BYTES;
    for (what, bytes) in
        [("the beacon", beacon_bytes), ("the longest downlink frame", limits::NODE_RECEIVE_BYTES_MAX)]
    {
        fits(cell, what.into(), bytes, bytes * byte_ps, problems);
    }
    let Some((node, listener_hz)) = slowest(cell.nodes.iter()) else { return };
    let fastest_hz = listener_hz / limits::SLAVE_DIVIDER_MIN;
    if bit_hz > fastest_hz {
        let kind = Kind::BusTooFast {
            bit_hz,
            listener: node.label(),
            listener_hz,
            fix: Hertz(fastest_hz).to_string(),
        };
        problems.push(Problem { span: bus.span.clone(), kind });
    }
    let needs_ps = limits::RECEIVE_BYTE_CYCLES_MIN * PS_PER_SECOND / listener_hz;
    if byte_ps < needs_ps {
        let kind = Kind::BytesTooFast { byte_ps, listener: node.label(), needs_ps };
        problems.push(Problem { span: bus.span.clone(), kind });
    }
}

/// The node that is the first to lose a fast transmission, with its clock.
fn slowest<'a>(nodes: impl Iterator<Item = &'a NodeDraft>) -> Option<(&'a NodeDraft, u64)> {
    nodes.filter_map(|node| Some((node, node.clock.as_ref()?.value.unsigned_abs()))).min_by_key(|(_, hz)| *hz)
}

fn fits(cell: &CellDraft, what: String, bytes: u64, air_ps: u64, problems: &mut Vec<Problem>) {
    let (Some(slot), Some(guard)) = (&cell.slot, &cell.guard) else { return };
    let (slot_ps, guard_ps) = (slot.value.unsigned_abs(), guard.value.unsigned_abs());
    if air_ps + 2 * guard_ps > slot_ps {
        let kind = Kind::SlotTooShort { what, bytes, air_ps, guard_ps, slot_ps };
        problems.push(Problem { span: slot.span.clone(), kind });
    }
}

/// The crypto device must be able to seal what all nodes send until a batch ends, and a datagram to hold it.
fn batch(cell: &CellDraft, draft: &Draft, problems: &mut Vec<Problem>) {
    let (Some(superframes), Some(superframe)) = (&draft.batch_superframes, &cell.superframe) else { return };
    let entry = |node: &NodeDraft| {
        let samples = samples(node.rate.as_ref()?.value.unsigned_abs(), superframe.value.unsigned_abs())?;
        let suite = node.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value);
        Some(limits::BATCH_ENTRY_BYTES + frame_bytes(samples, suite))
    };
    // What a node cannot send at all is a problem of its own.
    let superframe_bytes = cell.nodes.iter().filter_map(entry).sum::<u64>();
    let (found, most) = (superframes.value.unsigned_abs(), draft.transport.batch_bytes_max());
    let bytes = limits::BATCH_HEADER_BYTES + found * superframe_bytes;
    if bytes > most.0 {
        let fit = (most.0 - limits::BATCH_HEADER_BYTES) / superframe_bytes;
        let (cell, span) = (cell.name.value.clone(), superframes.span.clone());
        let kind = Kind::BatchTooLong { cell, superframes: found, bytes, most, fit };
        problems.push(Problem { span, kind });
    }
}

fn drop_outs(cell: &CellDraft, problems: &mut Vec<Problem>) {
    let (interval, duration) = ("drop_out_interval", "drop_out_duration");
    let alone = match (&cell.drop_out_interval, &cell.drop_out_duration) {
        (Some(found), None) => (found, interval, duration),
        (None, Some(found)) => (found, duration, interval),
        _ => return,
    };
    let kind = Kind::Alone { key: alone.1, other: alone.2 };
    problems.push(Problem { span: alone.0.span.clone(), kind });
}

fn clock(node: &NodeDraft, problems: &mut Vec<Problem>) {
    if let (Some(chip), Some(clock)) = (&node.chip, &node.clock)
        && clock.value.unsigned_abs() > chip.value.clock_hz_max
    {
        let kind = Kind::OutOfRange {
            what: "clock",
            found: Hertz(clock.value.unsigned_abs()).to_string(),
            min: limits::CLOCK[0].into(),
            max: format!("{} for {}", Hertz(chip.value.clock_hz_max), chip.value.name),
        };
        problems.push(Problem { span: clock.span.clone(), kind });
    }
}

fn converter(node: &NodeDraft, problems: &mut Vec<Problem>) {
    let (Some(chip), Some(reference)) = (&node.chip, &node.reference) else { return };
    let (min, max) = (chip.value.reference_nv_min, chip.value.reference_nv_max);
    if !(min..=max).contains(&reference.value.unsigned_abs()) {
        let millivolts = |nv: u64| format!("{} mV", nv / 1_000_000);
        let kind = Kind::OutOfRange {
            what: "reference",
            found: millivolts(reference.value.unsigned_abs()),
            min: millivolts(min),
            max: format!("{} for {}", millivolts(max), chip.value.name),
        };
        problems.push(Problem { span: reference.span.clone(), kind });
    }
}

/// A node's own transmission: sampling grid, frame, air time, and the slaves that must follow it.
fn uplink(node: &NodeDraft, cell: &CellDraft, problems: &mut Vec<Problem>) {
    // Every other node shares the wires as a slave; its hardware sees these bits too.
    let listener = slowest(cell.nodes.iter().filter(|other| other.span != node.span));
    if let (Some(divider), Some(clock), Some((listener, listener_hz))) =
        (&node.divider, &node.clock, listener)
    {
        let clock_hz = clock.value.unsigned_abs();
        let bit_hz = clock_hz / divider.value;
        if bit_hz * limits::SLAVE_DIVIDER_MIN > listener_hz {
            let needs = (clock_hz * limits::SLAVE_DIVIDER_MIN).div_ceil(listener_hz).next_power_of_two();
            let fix = format!("f/{needs}");
            let kind = Kind::BusTooFast { bit_hz, listener: listener.label(), listener_hz, fix };
            problems.push(Problem { span: divider.span.clone(), kind });
        }
    }
    pace(node, problems);
    let (Some(rate), Some(superframe)) = (&node.rate, &cell.superframe) else { return };
    let (rate_hz, superframe_ps) = (rate.value.unsigned_abs(), superframe.value.unsigned_abs());
    let Some(samples) = samples(rate_hz, superframe_ps) else {
        problems.push(Problem {
            span: rate.span.clone(),
            kind: Kind::SamplesNotWhole { rate_hz, superframe_ps },
        });
        return;
    };
    let suite = node.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value);
    let bytes = frame_bytes(samples, suite);
    if samples > limits::SAMPLES_PER_SUPERFRAME_MAX {
        let kind = Kind::FrameTooLong { samples, samples_max: limits::SAMPLES_PER_SUPERFRAME_MAX };
        problems.push(Problem { span: rate.span.clone(), kind });
        return;
    }
    if let (Some(divider), Some(clock)) = (&node.divider, &node.clock) {
        let drift_ppb = node.drift.as_ref().map_or(0, |drift| drift.value);
        let filters = node.filters.as_ref().map(|filters| filters.value).unwrap_or_default();
        let cycles = bytes * filters.byte_cycles(divider.value);
        let air_ps = uplink_ps(cycles, clock.value.unsigned_abs(), drift_ppb);
        fits(cell, format!("the frame of {}", node.label()), bytes, air_ps, problems);
    }
}

/// A conversion and what the firmware does around it must fit between two samples.
fn pace(node: &NodeDraft, problems: &mut Vec<Problem>) {
    let (Some(rate), Some(clock)) = (&node.rate, &node.clock) else { return };
    let (rate_hz, clock_hz) = (rate.value.unsigned_abs(), clock.value.unsigned_abs());
    let rate_hz_max = clock_hz / sample_cycles(clock_hz);
    if rate_hz > rate_hz_max {
        let kind = Kind::SamplesTooFast { rate_hz, clock_hz, rate_hz_max };
        problems.push(Problem { span: rate.span.clone(), kind });
    }
}

/// Cycles of a node between two samples, at the least: its converter's, and its interrupts'.
pub fn sample_cycles(clock_hz: u64) -> u64 {
    limits::CONVERSION_CLOCKS_MAX * converter_divider(clock_hz) + limits::SAMPLE_GAP_CYCLES_MIN
}

/// The node's input must exist, last as long as the run, and stay within the converter's range.
fn signal(node: &NodeDraft, draft: &Draft, inputs: &[Option<Input>], problems: &mut Vec<Problem>) {
    let Some(name) = &node.input else { return };
    let named = |input: &&InputDraft| input.name.value == name.value;
    if draft.inputs.iter().find(named).is_none() {
        let known = draft.inputs.iter().map(|input| input.name.value.clone()).collect();
        let kind = Kind::UnknownName { what: "input", found: name.value.clone(), known };
        problems.push(Problem { span: name.span.clone(), kind });
        return;
    }
    lasts(node, node.start.as_ref(), draft, inputs, problems);
    let Some(input) = inputs.iter().flatten().find(|input| input.name == name.value) else { return };
    let (Some(gain), Some(offset), Some(reference)) = (&node.gain, &node.offset, &node.reference) else {
        return;
    };
    let at_converter = |raw: i32| {
        let nanovolts =
            i128::from(i64::from(raw) - input.recording.zero) * i128::from(input.recording.scale_nv);
        i128::from(offset.value) + nanovolts * i128::from(gain.value) / 1_000
    };
    let (lowest, highest) = input.extremes();
    let (lowest_nv, highest_nv) = (at_converter(lowest), at_converter(highest));
    let reference_nv = reference.value.unsigned_abs();
    if lowest_nv < 0 || highest_nv >= i128::from(reference_nv) {
        let kind = Kind::Clipped { lowest_nv, highest_nv, reference_nv };
        problems.push(Problem { span: gain.span.clone(), kind });
    }
}

/// What a node's input plays from `start` on lasts as long as the run.
pub(super) fn lasts(
    node: &NodeDraft,
    start: Option<&At<i64>>,
    draft: &Draft,
    inputs: &[Option<Input>],
    problems: &mut Vec<Problem>,
) {
    let Some(name) = &node.input else { return };
    let Some(input) = inputs.iter().flatten().find(|input| input.name == name.value) else { return };
    if let (Some(duration), false) = (&draft.duration, input.recording.repeat) {
        let needs_ps = duration.value.unsigned_abs() + start.map_or(0, |start| start.value.unsigned_abs());
        let recording_ps = input.recording.duration_ps();
        if needs_ps > recording_ps {
            let span = start.map_or(name.span.clone(), |start| start.span.clone());
            problems.push(Problem { span, kind: Kind::RecordingTooShort { recording_ps, needs_ps } });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_8_n_plus_24_cycles() {
        // 100 bytes at f/16 and 8 MHz: 100 * 152 cycles of 125 ns.
        assert_eq!(uplink_ps(100 * 152, 8_000_000, 0), 100 * 152 * 125_000);
        assert_eq!(uplink_ps(100 * 152, 8_000_000, -100_000), 100 * 152 * 125_000 / 10_000 * 10_001);
        assert_eq!(gateway_byte_ps(500_000, 250_000), 16_250_000);
    }

    #[test]
    fn only_a_whole_number_of_samples_counts() {
        assert_eq!(samples(360, 250_000_000_000), Some(90));
        assert_eq!(samples(360, 251_000_000_000), None);
        assert_eq!(samples(1, 250_000_000_000), None);
    }
}
