//! When a node of a deployment samples, and how exactly.

use std::num::NonZeroU32;

use collect::keys::Grid;

use super::computers::Computer;
use super::deployment::{Cell, Node};
use crate::limits::{DRIFT_PPB_MAX, PS_PER_SECOND, PS_PER_US, START_DELAY_CYCLES_MAX};

/// The sampling instants of `node`. As long as it hears its beacons, each is off by no more than what its crystal may
/// drift within a superframe, and what delays the start of a conversion.
pub fn grid(cell: &Cell, node: &Node) -> Grid {
    let samples = NonZeroU32::new(node.samples_per_superframe.into());
    let drift_ns = u64::from(cell.superframe_us) * u64::from(DRIFT_PPB_MAX) / 1_000_000;
    let delay_ns = START_DELAY_CYCLES_MAX * 1_000_000_000 / u64::from(node.clock_hz);
    Grid {
        superframe_ps: u64::from(cell.superframe_us) * PS_PER_US,
        samples_per_superframe: samples.expect("the parser lets no node be idle"),
        uncertainty_ns: u32::try_from(drift_ns + delay_ns).unwrap_or(u32::MAX),
    }
}

/// The sampling instants of a computer, whose clock nobody knows.
pub fn computer_grid(computer: &Computer) -> Grid {
    let samples = u32::try_from(computer.rate_hz).ok().and_then(NonZeroU32::new);
    Grid {
        superframe_ps: PS_PER_SECOND,
        samples_per_superframe: samples.expect("the parser takes no rate beyond its limits"),
        uncertainty_ns: u32::MAX,
    }
}
