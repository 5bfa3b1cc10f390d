//! A device on an SPI bus, by Linux's spidev: full duplex, a message of one transfer a transaction, chip select for as
//! long as it lasts.
//!
//! spidev has no line by which a device could say that it has something, so it is [polled](super::polled).

use std::fs::{self, OpenOptions};
use std::io;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use spidev::{SpiModeFlags, Spidev, SpidevOptions, SpidevTransfer};

use super::bus::{Bus, OpenBus};
use super::polled::{Exchange, Polled};
use crate::limits::{SPIDEV_BYTES_MAX, TRANSACTION_BYTES_MAX};

/// Where the driver says how many bytes a message may have.
const LIMIT: &str = "/sys/module/spidev/parameters/bufsiz";

/// The device that spidev has at this path.
#[derive(Clone, Debug)]
pub struct Spi {
    /// The device: `/dev/spidev0.0`, for one.
    pub path: PathBuf,
    /// Fastest clock. The controller may choose a slower one.
    pub clock_hz: u32,
    /// 0 to 3: the clock's polarity and phase.
    pub mode: u8,
}

impl OpenBus for Spi {
    fn open(&self) -> io::Result<Box<dyn Bus>> {
        let mode = SpiModeFlags::from_bits(u32::from(self.mode) & 3).ok_or(io::ErrorKind::InvalidInput)?;
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        // Two hosts of one device damage each other's frames.
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let mut spidev = Spidev::new(file);
        spidev.configure(SpidevOptions::new().bits_per_word(8).max_speed_hz(self.clock_hz).mode(mode))?;
        Ok(Box::new(Polled::new(Open { spidev, bytes_max: bytes_max() })))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// What the driver was loaded with; a driver that does not say so has its default.
fn bytes_max() -> usize {
    let told = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse().ok());
    told.unwrap_or(SPIDEV_BYTES_MAX).clamp(1, TRANSACTION_BYTES_MAX)
}

struct Open {
    spidev: Spidev,
    bytes_max: usize,
}

impl Exchange for Open {
    fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    fn exchange(&mut self, outgoing: &[u8], incoming: &mut [u8]) -> io::Result<()> {
        self.spidev.transfer(&mut SpidevTransfer::read_write(outgoing, incoming))
    }
}
