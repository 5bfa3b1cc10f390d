//! The host's side of the device: what a device is to the broker, and the transceiver that owns it.
//!
//! A device is a stream of bytes, a bus with transactions, or it computes where it is asked. A further one is another file
//! here that implements [`Connect`] or [`OpenBus`].

mod bus;
pub(crate) mod greeting;
mod loopback;
mod socket_bus;
mod transceiver;
mod unix;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub(crate) use bus::Driver;
pub use bus::{Bus, OpenBus};
pub use loopback::Loopback;
pub use socket_bus::SocketBus;
pub(crate) use transceiver::Transceiver;
pub use unix::UnixDevice;

use crate::engine::Engine;
pub use crate::info::DeviceInfo;

/// The device that a broker shares.
pub enum Device {
    /// Behind a stream of bytes.
    Stream(Box<dyn Connect>),
    /// On a bus with transactions.
    Bus(Arc<dyn OpenBus>),
    /// In this process: it answers at once, so that whoever reads a request drives it.
    Inline(Box<dyn Engine>),
}

impl Device {
    /// What to call it in an error.
    pub fn name(&self) -> String {
        match self {
            Device::Stream(device) => device.name(),
            Device::Bus(device) => device.name(),
            Device::Inline(device) => device.info().name,
        }
    }
}

/// A way to open a device. It is used again after each loss.
pub trait Connect: Send {
    /// Opens the bytes' way to the device, which must not block; the PDUs that follow are the transceiver's. Dropping
    /// it closes the device.
    ///
    /// # Errors
    /// What the system says. It is tried again later.
    fn connect(&self) -> io::Result<OwnedFd>;

    /// What to call the device in an error: its path, for one.
    fn name(&self) -> String;
}
