//! An application that asks for little, beside those that ask for much.

use std::time::Duration;

use super::{Ask, Simulation};
use crate::emulate::faults::{Faults, Rates};
use crate::emulate::preset::Preset;

/// Asks for 64 B every 10 ms.
const LIGHT: Ask =
    Ask { user: 0, pdu_bytes: 64, outstanding: 1, pause: Duration::from_millis(10), total: 1000 };
/// Asks for 64 KiB, eight times at once, for as long as it is looked at.
const GREEDY: Ask =
    Ask { user: 0, pdu_bytes: 64 * 1024, outstanding: 8, pause: Duration::ZERO, total: u32::MAX };
/// How many of these there are.
pub const GREEDY_COUNT: u32 = 16;
/// Without faults only the bytes of the echoes follow from it.
const SEED: u64 = 1;

/// What the one that asks for little saw, and what the wire did meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Fairness {
    /// The 99th of 100 latencies when nobody else asks.
    pub alone_p99: Duration,
    /// And beside the others.
    pub p99: Duration,
    /// What part of the time the wire was clocked.
    pub busy: f64,
    /// What part of its cycles had bytes of PDUs, to the device and from it.
    pub shares: [f64; 2],
}

/// What [`Fairness`] says when all applications belong to so many users.
///
/// # Panics
/// When the broker breaks its word, or there is no user.
pub fn fairness(preset: Preset, users: u32) -> Fairness {
    let world = |asks: &[Ask]| {
        let faults = Faults::new(Rates::default(), SEED);
        Simulation::new(SEED, preset, preset.settings(), preset.filled_bytes(), faults, asks)
    };
    let mut alone = world(&[LIGHT]);
    alone.finish();
    let greedy = (1..=GREEDY_COUNT).map(|number| Ask { user: number % users, ..GREEDY });
    let asks: Vec<Ask> = [LIGHT].into_iter().chain(greedy).collect();
    let mut beside = world(&asks);
    let (from, before) = (beside.now(), beside.clocks());
    while beside.latencies(0).len() < LIGHT.total as usize {
        beside.pass();
    }
    let clocks = beside.clocks().since(&before);
    Fairness {
        alone_p99: p99(alone.latencies(0)),
        p99: p99(beside.latencies(0)),
        busy: preset.time(clocks.cycles).div_duration_f64(beside.now() - from),
        shares: clocks.shares(),
    }
}

fn p99(latencies: &[Duration]) -> Duration {
    let mut latencies = latencies.to_vec();
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}
