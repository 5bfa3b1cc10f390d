//! One node and its gateway, ready to be powered as often as is wanted.
//!
//! They are the first of `deployments/ecg.toml`. Owns what of it is varied. The keys are fixed, and protect nothing: no
//! secret decides how long anything takes.

use std::path::Path;

use ::cell::beacon::Schedule;
use ::cell::gateway::Gateway;
use ::cell::inject::Disturbance;
use ::cell::{Cell, Pace};
use cipher::{CellMaster, NodeMaster, TrafficKey};
use selvedge::error::Error;
use selvedge::link::deployment::{self, Cell as Plan, Deployment};
use selvedge::link::{provision, simulation};
use selvedge::toolchain::{self, Compiler, Image};

use super::Case;

/// The node's clock.
pub const CLOCK_HZ: u32 = 8_000_000;
/// Its sample rate where that is not searched for.
pub const RATE_HZ: u64 = 360;
/// And its samples in a frame.
pub const SAMPLES: u8 = 90;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// How the node seals, and its divider.
    pub case: Case,
    /// Samples in a frame.
    pub samples: u8,
    /// From beacon to beacon.
    pub superframe_us: u32,
    /// Length of a slot.
    pub slot_us: u16,
    /// Silence at both ends of a slot.
    pub guard_us: u16,
    /// The node's slot.
    pub slot: u8,
}

impl Setting {
    /// The deployment's, with slots in which a frame fits at f/64, too.
    pub fn example(case: Case) -> Setting {
        Setting { case, samples: SAMPLES, superframe_us: 250_000, slot_us: 20_000, guard_us: 1_000, slot: 1 }
    }
}

/// The node and its gateway.
pub struct Bench<'a> {
    compiler: &'a Compiler,
    root: &'a Path,
    deployment: Deployment,
    cell_master: CellMaster,
    node_master: NodeMaster,
}

impl Bench<'_> {
    /// Reads the deployment from the source tree at `root`.
    ///
    /// # Errors
    /// When it is not there, or none.
    pub fn new<'a>(compiler: &'a Compiler, root: &'a Path) -> Result<Bench<'a>, Error> {
        let deployment = deployment::load(&root.join("deployments/ecg.toml"))?;
        let digits = |byte: &str| byte.repeat(32) + "\n";
        let cell_master = CellMaster::from_key_file(digits("ce").as_bytes()).expect("32 bytes in hex");
        let node_master = NodeMaster::from_key_file(digits("01").as_bytes()).expect("32 bytes in hex");
        Ok(Bench { compiler, root, deployment, cell_master, node_master })
    }

    /// The cell with a setting.
    pub fn plan(&self, setting: &Setting) -> Plan {
        let mut plan = self.deployment.cells[0].clone();
        plan.nodes.truncate(1);
        let Setting { case, samples, superframe_us, slot_us, guard_us, slot } = *setting;
        (plan.superframe_us, plan.slot_us, plan.guard_us) = (superframe_us, slot_us, guard_us);
        let node = &mut plan.nodes[0];
        (node.filters, node.divider, node.slot) = (case.filters, case.divider, slot);
        node.frame_bytes =
            node.frame_bytes + 2 * u16::from(samples) - 2 * u16::from(node.samples_per_superframe);
        node.samples_per_superframe = samples;
        // Rounded up: what is woven for a faster one is in time for this one.
        node.rate_hz = (u64::from(samples) * 1_000_000).div_ceil(superframe_us.into());
        plan
    }

    /// The node's image.
    ///
    /// # Errors
    /// Of the build.
    pub fn image(&self, plan: &Plan) -> Result<Image, Error> {
        let cache = toolchain::cache_folder();
        let images = simulation::images(self.compiler, self.root, plan, cache.as_deref())?;
        Ok(images.into_iter().next().expect("there is one node"))
    }

    /// The cell, its power just switched on.
    ///
    /// # Errors
    /// An image that does not fit the chip.
    pub fn cell(&self, plan: &Plan, image: &Image) -> Result<Cell, Error> {
        let node = &plan.nodes[0];
        let epoch = provision::FIRST_EPOCH;
        let eeprom = provision::eeprom(node, plan, epoch, &self.node_master, &self.cell_master);
        let node = simulation::node(&self.deployment, node, image, &eeprom[..])?;
        let schedule: Schedule = simulation::schedule(plan);
        let gap_bits = simulation::byte_gap_bits(plan);
        let key = self.cell_master.cell_key(plan.id);
        let gateway = Gateway::new(schedule, key, plan.bus_hz, gap_bits, 0);
        let quiet = Disturbance { bit_errors_ppb: 0, dropout_every_ps: 0, dropout_ps: 0 };
        Ok(Cell::new(gateway, vec![node], quiet, self.deployment.seed, Pace::RunAhead))
    }

    /// What the server opens the node's frames with.
    pub fn key(&self, plan: &Plan) -> TrafficKey {
        let node = &plan.nodes[0];
        self.node_master.traffic_key(node.id, provision::FIRST_EPOCH, node.suite)
    }
}
