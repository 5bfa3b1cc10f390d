//! A device on an I2C bus, by Linux's i2c-dev: half duplex, so a transaction is a write and, after a repeated start, a
//! read of as many bytes.
//!
//! A device that does not acknowledge is busy, and is asked again for a while. One that stretches the clock is slow, and
//! the controller waits. The bus may have other devices, so it is not locked; nobody else should use this address.

use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Instant;

use i2cdev::core::I2CMessage;
use i2cdev::core::I2CTransfer;
use i2cdev::linux::{LinuxI2CBus, LinuxI2CMessage};
use rustix::io::Errno;

use super::bus::{Bus, OpenBus};
use super::polled::{Exchange, Polled};
use crate::limits::{BUSY_MAX, I2C_BYTES_MAX, POLL_PAUSE_MAX, POLL_PAUSE_MIN};

/// The device of this address on the bus at this path.
#[derive(Clone, Debug)]
pub struct I2c {
    /// The bus: `/dev/i2c-1`, for one.
    pub path: PathBuf,
    /// Seven bits.
    pub address: u16,
}

impl OpenBus for I2c {
    fn open(&self) -> io::Result<Box<dyn Bus>> {
        let bus = LinuxI2CBus::new(&self.path)?;
        Ok(Box::new(Polled::new(Open { bus, address: self.address })))
    }

    fn name(&self) -> String {
        format!("{}, address {:#04x}", self.path.display(), self.address)
    }
}

struct Open {
    bus: LinuxI2CBus,
    address: u16,
}

impl Exchange for Open {
    fn bytes_max(&self) -> usize {
        I2C_BYTES_MAX
    }

    fn exchange(&mut self, outgoing: &[u8], incoming: &mut [u8]) -> io::Result<()> {
        let (until, mut pause) = (Instant::now() + BUSY_MAX, POLL_PAUSE_MIN);
        loop {
            let write = LinuxI2CMessage::write(outgoing).with_address(self.address);
            let read = LinuxI2CMessage::read(incoming).with_address(self.address);
            let error = match self.bus.transfer(&mut [write, read]) {
                Ok(_) => return Ok(()),
                Err(error) => io::Error::from(error),
            };
            // A device that took a part before it did not acknowledge finds out by the frame.
            if !is_busy(&error) || Instant::now() >= until {
                return Err(error);
            }
            sleep(pause);
            pause = (pause * 2).min(POLL_PAUSE_MAX);
        }
    }
}

/// Whether nobody acknowledged, or another master was faster (Documentation/i2c/fault-codes.rst of Linux).
fn is_busy(error: &io::Error) -> bool {
    Errno::from_io_error(error)
        .is_some_and(|errno| matches!(errno, Errno::NXIO | Errno::REMOTEIO | Errno::AGAIN))
}
