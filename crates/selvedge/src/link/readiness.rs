//! Whether the nodes of a deployment have the time that their firmware takes, and the smallest change that gives it.
//!
//! Owns the step from a deployment's text to a node's work and from what is too late to a problem. How long things
//! take is `sealing`'s, what else a superframe must hold is `schedule`'s.

use cipher::Suite;

use super::draft::{CellDraft, NodeDraft};
use super::problem::{InTime, Kind, Problem};
use super::quantity::up_to_us;
use super::schedule::{
    DEFAULT_SUITE, frame_bytes, gateway_byte_ps, sample_cycles, samples, slots_used, uplink_ps,
};
use super::sealing::Work;
use super::section::At;
use crate::limits::{self, PS_PER_SECOND};

/// A frame must be sealed when its slot comes, and the beacon be verified before the next superframe.
pub(super) fn check(node: &NodeDraft, cell: &CellDraft, problems: &mut Vec<Problem>) {
    let (Some(work), Some(slot)) = (work(node, cell), &node.slot) else { return };
    // What does not fit the superframe, or is sampled too fast, has been told.
    let step_cycles =
        u128::from(work.superframe_ps / work.samples) * u128::from(work.clock_hz) / u128::from(PS_PER_SECOND);
    if step_cycles < u128::from(sample_cycles(work.clock_hz))
        || (work.slots_used + 2) * work.slot_ps > work.superframe_ps
        || work.is_in_time()
    {
        return;
    }
    // A slot that is too short in itself has been told, too.
    let (ready_ps, Ok(latest_ps)) = (work.ready_ps(), u64::try_from(work.latest_start_ps())) else { return };
    if latest_ps < work.start_ps() {
        return;
    }
    let fix = in_time(work, node, cell);
    let kind = if ready_ps > latest_ps as i64 {
        let suite = work.suite.row().name;
        let bytes = frame_bytes(work.samples, work.suite);
        Kind::SealedTooLate { suite, bytes, slot: work.slot, latest_ps, ready_ps: ready_ps as u64, fix }
    } else if work.armed_ps() <= work.superframe_ps {
        let (free_ps, downlink_ps) = (work.free_after_ps(), work.downlink_ps());
        Kind::SealedPastDownlink { slot: work.slot, free_ps, downlink_ps, fix }
    } else {
        let (armed_ps, superframe_ps) = (work.armed_ps(), work.superframe_ps);
        Kind::VerifiedTooLate { slot: work.slot, armed_ps, superframe_ps, fix }
    };
    problems.push(Problem { span: slot.span.clone(), kind });
}

/// What the node has to do, where the deployment says everything that decides it.
fn work(node: &NodeDraft, cell: &CellDraft) -> Option<Work> {
    let value = |at: &Option<At<i64>>| at.as_ref().map(|at| at.value.unsigned_abs());
    let superframe_ps = value(&cell.superframe)?;
    let samples = samples(value(&node.rate)?, superframe_ps)?;
    (samples <= limits::SAMPLES_PER_SUPERFRAME_MAX).then_some(Work {
        suite: node.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value),
        samples,
        collect_cycles: node.chip.as_ref()?.value.collect_cycles,
        clock_hz: value(&node.clock)?,
        drift_ppb: node.drift.as_ref().map_or(0, |drift| drift.value),
        divider: node.divider.as_ref()?.value,
        filters: node.filters.as_ref().map(|filters| filters.value).unwrap_or_default(),
        slot: value(&node.slot)?,
        slots_used: slots_used(cell),
        superframe_ps,
        slot_ps: value(&cell.slot)?,
        guard_ps: value(&cell.guard)?,
        gateway_byte_ps: gateway_byte_ps(value(&cell.bus)?, value(&cell.byte_gap)?),
    })
}

/// The first slot that gives the node time, or else the shortest superframe in which there is one, or else the shortest
/// length of all slots.
fn in_time(work: Work, node: &NodeDraft, cell: &CellDraft) -> InTime {
    let others = || cell.nodes.iter().filter(|other| other.span != node.span);
    let slots = || others().filter_map(|other| other.slot.as_ref()).map(|slot| slot.value.unsigned_abs());
    let first = |work: Work| {
        (1..=u64::from(limits::SLOTS_MAX)).filter(|slot| slots().all(|taken| taken != *slot)).find(|slot| {
            let slots_used = slots().chain([*slot]).max().unwrap_or(*slot);
            let fits = (slots_used + 2) * work.slot_ps <= work.superframe_ps;
            fits && Work { slot: *slot, slots_used, ..work }.is_in_time()
        })
    };
    if let Some(slot) = first(work) {
        return InTime::Slot(slot);
    }
    let rate_hz = node.rate.as_ref().map_or(0, |rate| rate.value.unsigned_abs());
    for samples in work.samples + 1..=limits::SAMPLES_PER_SUPERFRAME_MAX {
        let superframe_ps = samples * PS_PER_SECOND / rate_hz;
        let bytes = frame_bytes(samples, work.suite);
        let air_ps = uplink_ps(bytes * work.filters.byte_cycles(work.divider), work.clock_hz, work.drift_ppb);
        let is_whole = superframe_ps.is_multiple_of(limits::PS_PER_US)
            && others().chain([node]).all(|node| {
                node.rate.as_ref().is_some_and(|rate| {
                    super::schedule::samples(rate.value.unsigned_abs(), superframe_ps).is_some()
                })
            });
        let fits = air_ps + 2 * work.guard_ps <= work.slot_ps
            && superframe_ps >> limits::DRIFT_SHIFT_UNMEASURED <= work.guard_ps;
        if is_whole
            && fits
            && let Some(slot) = first(Work { samples, superframe_ps, ..work })
        {
            return InTime::Superframe { superframe_ps, slot };
        }
    }
    // From its slot to the downlink's begin all of those in between, and its own.
    let busy_ps = work.free_after_ps() - work.slot * work.slot_ps;
    let slot_ps = up_to_us(busy_ps.div_ceil(work.slots_used + 1 - work.slot));
    let fits = slot_ps <= limits::SLOT_PS_MAX && (work.slots_used + 2) * slot_ps <= work.superframe_ps;
    if fits && (Work { slot_ps, ..work }).is_in_time() {
        return InTime::SlotLength { slot_ps };
    }
    InTime::Nothing { is_ascon: work.suite == Suite::AsconAead128 }
}
