//! Ways in which applications share one device, each as good as it can be, and what the same work takes by each.

use std::time::Duration;

use super::direct::{self, Turns};
use super::{Ask, Simulation};
use crate::Settings;
use crate::emulate::clocked::Clocks;
use crate::emulate::faults::{Faults, Rates};
use crate::emulate::preset::Preset;
use crate::limits::{TRANSACTION_BYTES_MAX, TRANSFER_BYTES_MAX};
use crate::wire::Status;

/// A way to share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    /// Whoever has the lock opens the device, has all its requests answered, and closes it: the MECHA paper's
    /// "conventional" interface.
    Reopened,
    /// Whoever has the lock uses a handle that stays open.
    Locked,
    /// A broker that sends one request in each transfer, and waits for its answer.
    OneByOne,
    /// This broker.
    Gathered,
}

/// What is to be done: by each of so many applications at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Applications.
    pub count: usize,
    /// Requests of each.
    pub requests: usize,
    /// Length of each, its header included.
    pub pdu_bytes: usize,
    /// Requests of one application that are not answered, at a time, where there is a broker. A library waits for each.
    pub outstanding: usize,
}

/// What it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Until the last answer came.
    pub time: Duration,
    /// What the device did meanwhile.
    pub clocks: Clocks,
}

impl Sharing {
    /// All ways.
    pub const ALL: [Sharing; 4] = [Sharing::Reopened, Sharing::Locked, Sharing::OneByOne, Sharing::Gathered];

    /// The device, as it suits this way. Without a small request that waits, nothing is cut.
    pub fn preset(self, preset: Preset) -> Preset {
        match self {
            Sharing::Gathered => preset,
            _ => Preset { transfer_bytes_max: TRANSACTION_BYTES_MAX, ..preset },
        }
    }

    /// What a broker is told that shares in this way; `None` where there is none.
    pub fn settings(self, preset: &Preset) -> Option<Settings> {
        match self {
            Sharing::Reopened | Sharing::Locked => None,
            Sharing::OneByOne => Some(Settings {
                in_flight_max: 1,
                transfers_max: 1,
                transfer_bytes_max: TRANSFER_BYTES_MAX,
                ..Settings::default()
            }),
            Sharing::Gathered => Some(preset.settings()),
        }
    }

    /// Does the work in a simulated world, in which only the device takes time.
    ///
    /// # Panics
    /// When a request is not answered as it should be.
    pub fn simulate(self, preset: Preset, work: Work) -> Took {
        let preset = self.preset(preset);
        let Work { count, requests, pdu_bytes, outstanding } = work;
        let Some(settings) = self.settings(&preset) else {
            let turns = Turns { count, requests, pdu_bytes, is_reopened: self == Sharing::Reopened };
            let (time, clocks) = direct::run(SEED, preset, turns);
            return Took { time, clocks };
        };
        let (user, pause) = (USER, Duration::ZERO);
        let ask = Ask { user, pdu_bytes, outstanding, pause, total: requests as u32 };
        let packet_bytes = if self == Sharing::Gathered { preset.filled_bytes() } else { 1 };
        let faults = Faults::new(Rates::default(), SEED);
        let asks = vec![ask; count];
        let mut world = Simulation::new(SEED, preset, settings, packet_bytes, faults, &asks);
        let (from, before) = (world.now(), world.clocks());
        world.finish();
        assert_eq!(world.answers().get(&Status::Done), Some(&((count * requests) as u64)));
        assert_eq!(world.answers().len(), 1, "{:?}", world.answers());
        Took { time: world.now() - from, clocks: world.clocks().since(&before) }
    }
}

/// Without faults only the bytes of the echoes follow from it.
const SEED: u64 = 1;
/// All applications are one user's.
const USER: u32 = 1000;
