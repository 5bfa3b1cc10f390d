//! The host's side of the device: what a device is to the broker, and the transceiver that owns it.
//!
//! A device is a stream of bytes, a bus with transactions, or it computes where it is asked. A further one is another file
//! here that implements [`Connect`] or [`OpenBus`].

mod alone;
mod bus;
mod ftdi;
pub(crate) mod greeting;
mod i2c;
mod loopback;
mod module;
mod polled;
mod pool;
mod socket_bus;
mod spi;
pub mod tcp;
mod transceiver;
mod uart;
mod unix;
#[cfg(feature = "ftdi")]
mod usb;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

pub use alone::Alone;
pub(crate) use bus::Driver;
pub use bus::{Bus, OpenBus};
pub use ftdi::{CLOCK_HZ_MAX, Ftdi, OpenUsb, PACKET_BYTES, Usb};
pub use i2c::I2c;
pub use loopback::Loopback;
pub use module::ModuleDevice;
pub(crate) use pool::Pool;
pub use socket_bus::SocketBus;
pub use spi::Spi;
pub(crate) use transceiver::Transceiver;
pub use uart::Uart;
pub use unix::UnixDevice;
#[cfg(feature = "ftdi")]
pub use usb::UsbChip;

use crate::Fit;
use crate::engine::{Engine, SoftwareEngine};
pub use crate::info::DeviceInfo;

/// The device that a broker shares.
pub enum Device {
    /// Behind a stream of bytes.
    Stream(Box<dyn Connect>),
    /// On a bus with transactions.
    Bus(Arc<dyn OpenBus>),
    /// In this process: it answers at once, so that whoever reads a request drives it.
    Inline(Box<dyn Engine>),
    /// In this process, too, on threads.
    Lanes {
        /// What to call it in an error.
        name: String,
        /// What the loop computes with, and then a lane each. They hold the same keys.
        engines: Vec<Box<dyn Engine>>,
    },
}

impl Device {
    /// The software device, on so many threads, 1 to 255; as many as there are cores if none is named.
    pub fn soft(engine: SoftwareEngine, lanes: Option<usize>) -> Device {
        let lanes = lanes.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        let lanes = lanes.clamp(1, u8::MAX.into());
        let engine = engine.with_lanes(lanes as u8);
        let engines = (0..=lanes).map(|_| Box::new(engine.clone()) as Box<dyn Engine>).collect();
        Device::Lanes { name: engine.info().name, engines }
    }

    /// What to call it in an error.
    pub fn name(&self) -> String {
        match self {
            Device::Stream(device) => device.name(),
            Device::Bus(device) => device.name(),
            Device::Inline(device) => device.info().name,
            Device::Lanes { name, .. } => name.clone(),
        }
    }
}

/// A device of a list, and what suits it.
pub struct Choice {
    /// The device.
    pub device: Device,
    /// What suits it.
    pub fit: Fit,
}

impl From<Device> for Choice {
    /// Whatever the settings say suits it.
    fn from(device: Device) -> Choice {
        Choice { device, fit: Fit::default() }
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
