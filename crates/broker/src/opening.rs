//! Which device is served: opening one of the list, and what follows from its loss.
//!
//! Owns the turns. The list is tried from its first device on, one at once after the other, and then again after pauses that
//! grow. One that is lost after it has answered begins the list anew; one that answers nothing has failed like one that
//! cannot be opened, so that it never keeps the others from their turn. What the lost one had is the core's.

use std::time::Duration;

use crate::error::LinkFault;
use crate::info::DeviceInfo;
use crate::party::Peer;
use crate::wire::Status;
use crate::{Action, Broker, limits};

/// The device, as the core knows it. `failures` counts the times in a row that the list of devices was gone through, begun
/// ones included, without any answer of one; `choice` is the place in the list.
pub(crate) enum Device {
    Closed { retry_at: Duration, failures: u32 },
    Opening { failures: u32, choice: usize },
    Open { failures: u32, choice: usize, in_flight_max: usize, payload_bytes_max: usize },
}

impl Broker {
    /// The device is open, and said what it is.
    pub(crate) fn opened(&mut self, info: &DeviceInfo) {
        let Device::Opening { failures, choice } = self.device else { return };
        let in_flight_max = usize::from(info.in_flight_max);
        let payload_bytes_max = info.payload_bytes_max as usize;
        // Until it answers a request, this opening counts as a failed one: no re-opening in a circle.
        self.device = Device::Open { failures: failures + 1, choice, in_flight_max, payload_bytes_max };
        self.settings = self.told.fitting(self.fits[choice]);
        self.transfers = 0;
        if self.stats.device_opens == 0 {
            self.idle_since = self.now;
        }
        self.stats.device_opens += 1;
        let boot = self.boots[choice].replace(info.boot);
        self.stats.device_restarts += u64::from(boot.is_some_and(|boot| boot != info.boot));
        self.stats.device = Some(info.clone());
        let waits = |peer: &Peer| !peer.unanswered.is_empty();
        let waiting = self.peers.iter().filter(|(_, peer)| waits(peer)).map(|(connection, _)| *connection);
        for connection in waiting.collect::<Vec<_>>() {
            self.introduce(connection);
        }
    }

    /// The device could not be opened, or was lost. Where it had answered the list is begun anew; else its next one is tried.
    pub(crate) fn lost(&mut self, fault: LinkFault, actions: &mut Vec<Action>) {
        let status = match fault {
            LinkFault::Corrupt(_) => Status::WireCorrupt,
            LinkFault::AnswerTimeout => Status::DeviceSilent,
            LinkFault::Io(_) | LinkFault::HungUp | LinkFault::OpenTimeout | LinkFault::Protocol(_) => {
                Status::DeviceLost
            }
        };
        let (failures, choice, was_open) = match self.device {
            Device::Closed { .. } => return,
            Device::Opening { failures, choice } => {
                self.stats.device_open_failures += 1;
                (failures + 1, choice, false)
            }
            Device::Open { failures, choice, .. } => {
                self.stats.device_losses += 1;
                (failures, choice, true)
            }
        };
        actions.push(Action::CloseDevice);
        self.epoch = self.epoch.wrapping_add(u32::from(was_open));
        let goes_on = self.stop_at.is_none();
        // Who was silent for so long has had its time.
        let may_repeat = was_open && goes_on && fault != LinkFault::AnswerTimeout;
        self.fail_in_flight(status, may_repeat, actions);
        if failures == 0 && goes_on {
            return self.open(0, 0, actions);
        }
        if choice + 1 < self.fits.len() && goes_on {
            return self.open(failures - 1, choice + 1, actions);
        }
        let pause = limits::REOPEN_FIRST * 2u32.pow(failures.saturating_sub(1).min(16));
        self.device = Device::Closed { retry_at: self.now + pause.min(limits::REOPEN_MAX), failures };
        if !was_open {
            self.fail_queued(Status::DeviceUnavailable, actions);
        }
    }

    /// Opens a device of the list.
    pub(crate) fn open(&mut self, failures: u32, choice: usize, actions: &mut Vec<Action>) {
        self.link += 1;
        self.device = Device::Opening { failures, choice };
        actions.push(Action::OpenDevice { link: self.link, choice });
    }
}
