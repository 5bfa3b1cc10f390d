//! A cell as a deployment describes it, ready to run: chips with their program, EEPROM, clock and input.

use super::deployment::{Cell as Plan, Deployment, Node as NodePlan};
use super::eeproms::Eeproms;
use super::filters::{Filters, TURN_CYCLES_MAX, next_sample_cycles};
use super::keys::Keys;
use super::sealing::heard_bytes;
use crate::error::Error;
use crate::toolchain::{Besides, Compiler, Fault, Image as Built, Line, Sealer};
use cell::beacon::Schedule;
use cell::clock::{Clock, PS_PER_S};
use cell::feed::Feed;
use cell::gateway::Gateway;
use cell::inject::Disturbance;
use cell::log::Marks;
use cell::node::Node;
use cell::{Cell, Pace};
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Profile, Settings};
use std::collections::BTreeMap;
use std::path::Path;

/// The simulator's description of a chip that a deployment may name.
///
/// # Panics
/// When there is none: the two lists are held together by a test.
pub fn profile(name: &str) -> &'static Profile {
    [&ATMEGA128, &ATMEGA328P]
        .into_iter()
        .find(|profile| profile.name.eq_ignore_ascii_case(name))
        .unwrap_or_else(|| panic!("no simulator for {name}"))
}

/// What the node's converter sees on the input that it begins with.
pub fn feed(deployment: &Deployment, node: &NodePlan) -> Feed {
    let recording = &deployment.inputs[node.input].recording;
    let nanovolts = |raw: &i32| (i64::from(*raw) - recording.zero) * recording.scale_nv as i64;
    Feed {
        recording_nv: recording.samples.iter().map(nanovolts).collect::<Vec<_>>().into(),
        rate_hz: recording.rate_hz,
        start_ps: node.start_ps,
        gain_thousandths: node.gain_thousandths,
        offset_nv: node.offset_nv,
        reference_nv: node.reference_nv,
    }
}

/// What its converter sees on each of its inputs; nothing hangs on those that are missing.
pub fn feeds(deployment: &Deployment, node: &NodePlan) -> BTreeMap<u8, Feed> {
    let own = feed(deployment, node);
    let leads =
        node.wiring.leads.iter().map(|lead| (lead.channel, Feed { start_ps: lead.start_ps, ..own.clone() }));
    leads.chain([(node.channel, own.clone())]).collect()
}

/// The node's clock.
pub fn clock(node: &NodePlan) -> Clock {
    Clock::new(node.clock_hz.into(), node.drift_ppb.into(), 0)
}

/// The image of each node of a cell, in the order of the plan, from the source tree at `root`; what was built before is in
/// `cache`.
///
/// # Errors
/// Those of [`line`] and of [`Compiler::node_image`].
pub fn images(
    compiler: &Compiler,
    root: &Path,
    plan: &Plan,
    cache: Option<&Path>,
) -> Result<Vec<Built>, Error> {
    let mut images = Vec::<(_, Built)>::new();
    for node in &plan.nodes {
        let besides = match (node.filters, node.filters.list()) {
            (Filters::Woven, _) => Besides::Woven(line(plan, node)?),
            (_, Some(list)) => Besides::List(list),
            (_, None) => Besides::Nothing,
        };
        let alike = images.iter().find(|((chip, other), _)| (*chip, *other) == (node.chip, besides));
        let image = match alike {
            Some((_, image)) => image.clone(),
            None => compiler.node_image(root, node.chip, besides, cache)?,
        };
        images.push(((node.chip, besides), image));
    }
    Ok(images.into_iter().map(|(_, image)| image).collect())
}

/// The node's line: its own bytes, and the gateway's as [`cell`] makes it send them.
///
/// # Errors
/// [`Fault::PartCycles`] when the gateway's bytes are not whole cycles of the node apart.
pub fn line(plan: &Plan, node: &NodePlan) -> Result<Line, Error> {
    let cycles = u64::from(node.clock_hz) * (8 + byte_gap_bits(plan));
    let heard = (cycles.is_multiple_of(plan.bus_hz)).then_some(cycles / plan.bus_hz);
    let fault = Fault::PartCycles { node: node.id, clock_hz: node.clock_hz.into(), bus_hz: plan.bus_hz };
    let heard = heard.and_then(|cycles| u32::try_from(cycles).ok()).ok_or(Error::Toolchain(fault))?;
    let next_sample = next_sample_cycles(node.step_cycles(), node.clock_hz.into()).min(TURN_CYCLES_MAX);
    Ok(Line {
        sealer: Sealer::of(node.suite)?,
        divider_log2: node.divider_log2(),
        sent_bytes: node.frame_bytes,
        heard_bytes: heard_bytes(node.suite) as u16,
        heard_byte_cycles: heard,
        next_sample_cycles: next_sample as u32,
    })
}

/// Bits that the gateway waits between two bytes.
pub fn byte_gap_bits(plan: &Plan) -> u64 {
    plan.byte_gap_ps.div_ceil(PS_PER_S / plan.bus_hz)
}

/// The order of the slots that a cell's beacon hands out; a slot without an owner is node 0.
pub fn schedule(plan: &Plan) -> Schedule {
    let mut nodes = vec![0; usize::from(plan.slots_used())];
    plan.nodes.iter().for_each(|node| nodes[usize::from(node.slot) - 1] = node.id);
    Schedule {
        cell: plan.id,
        superframe_us: plan.superframe_us,
        slot_us: plan.slot_us,
        guard_us: plan.guard_us,
        nodes,
    }
}

/// The cell `plan`, with one built image for each of its nodes. `only` leaves the other nodes without power.
///
/// # Errors
/// A key that cannot be read, or an image that is none.
pub fn cell(
    deployment: &Deployment,
    plan: &Plan,
    keys: &Keys,
    images: &[Built],
    eeproms: &Eeproms,
    only: Option<u32>,
    pace: Pace,
) -> Result<Cell, Error> {
    let master = keys.cell(plan.id)?;
    let mut nodes = Vec::with_capacity(plan.nodes.len());
    for (node, built) in plan.nodes.iter().zip(images) {
        if only.is_none_or(|id| id == node.id) {
            nodes.push(self::node(deployment, node, built, eeproms.of(node.id))?);
        }
    }
    let gateway = Gateway::new(schedule(plan), master.cell_key(plan.id), plan.bus_hz, byte_gap_bits(plan), 0);
    let drop_outs = plan.noise.drop_outs;
    let disturbance = Disturbance {
        bit_errors_ppb: plan.noise.bit_errors_ppb,
        dropout_every_ps: drop_outs.map_or(0, |times| times.interval_ps),
        dropout_ps: drop_outs.map_or(0, |times| times.duration_ps),
    };
    Ok(Cell::new(gateway, nodes, disturbance, deployment.seed ^ u64::from(plan.id), pace))
}

/// One node with its program and EEPROM.
///
/// # Errors
/// An image that is none, or does not fit the chip.
pub fn node(deployment: &Deployment, plan: &NodePlan, built: &Built, eeprom: &[u8]) -> Result<Node, Error> {
    let settings = Settings {
        clock_hz: plan.clock_hz.into(),
        avcc_volts: plan.reference_nv as f64 * 1e-9,
        ..Settings::default()
    };
    let image = Image::parse(&built.elf)?;
    let mut chip = Chip::with_settings(profile(plan.chip.name), settings);
    chip.load(&image)?;
    chip.set_eeprom(eeprom)?;
    Ok(Node::new(plan.id, chip, clock(plan), feeds(deployment, plan), Marks::of(&image)))
}
