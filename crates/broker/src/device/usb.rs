//! The USB of an FTDI chip by `nusb`, which is Rust down to the kernel's files: vendor 0403, and a serial number.

use std::io;
use std::time::Duration;

use nusb::transfer::{Buffer, Bulk, Completion, ControlOut, ControlType, In, Out, Recipient, TransferError};
use nusb::{Endpoint, Interface, MaybeFuture};

use super::ftdi::{OpenUsb, PACKET_BYTES, Usb};
use crate::limits::TRANSACTION_MAX;

/// FTDI, and its chips that have a command processor and high-speed USB: FT2232H, FT4232H, FT232H.
const VENDOR: u16 = 0x0403;
const PRODUCTS: [u16; 3] = [0x6010, 0x6011, 0x6014];
/// Interface A and its endpoints.
const INTERFACE: u8 = 0;
const OUT: u8 = 0x02;
const IN: u8 = 0x81;
/// Transfers that wait for the chip, and how long each may be.
const WAITING: usize = 8;
const WAITING_BYTES: usize = 32 * PACKET_BYTES;

/// The chip of this serial number.
#[derive(Clone, Debug)]
pub struct UsbChip {
    /// As the chip's EEPROM says it.
    pub serial: String,
}

impl OpenUsb for UsbChip {
    fn open(&self) -> io::Result<Box<dyn Usb>> {
        let mut found = nusb::list_devices().wait()?.filter(|chip| {
            chip.vendor_id() == VENDOR
                && PRODUCTS.contains(&chip.product_id())
                && chip.serial_number() == Some(&self.serial)
        });
        let chip = found.next().ok_or(io::ErrorKind::NotFound)?.open().wait()?;
        // The kernel's driver makes a serial line of it.
        let interface = chip.detach_and_claim_interface(INTERFACE).wait()?;
        let (outgoing, incoming) = (interface.endpoint(OUT)?, interface.endpoint(IN)?);
        Ok(Box::new(Open { interface, outgoing, incoming }))
    }

    fn name(&self) -> String {
        format!("FTDI chip {}", self.serial)
    }
}

struct Open {
    interface: Interface,
    outgoing: Endpoint<Bulk, Out>,
    incoming: Endpoint<Bulk, In>,
}

fn of_transfer(error: TransferError) -> io::Error {
    match error {
        TransferError::Disconnected => io::ErrorKind::UnexpectedEof.into(),
        error => io::Error::from(error),
    }
}

fn done(completion: Completion) -> io::Result<Buffer> {
    completion.into_result().map_err(of_transfer)
}

impl Usb for Open {
    fn control(&mut self, request: u8, value: u16, index: u16) -> io::Result<()> {
        let (control_type, recipient) = (ControlType::Vendor, Recipient::Device);
        let control = ControlOut { control_type, recipient, request, value, index, data: &[] };
        self.interface.control_out(control, TRANSACTION_MAX).wait().map_err(of_transfer)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        // What was sent before is looked at here, so that a loss is not left to the answer that does not come.
        while self.outgoing.pending() > 0
            && let Some(completion) = self.outgoing.wait_next_complete(Duration::ZERO)
        {
            wiped(done(completion)?);
        }
        let mut buffer = Buffer::new(bytes.len());
        buffer.extend_from_slice(bytes);
        self.outgoing.submit(buffer);
        Ok(())
    }

    fn receive(&mut self, time_max: Duration, packets: &mut Vec<u8>) -> io::Result<()> {
        while self.incoming.pending() < WAITING {
            self.incoming.submit(Buffer::new(WAITING_BYTES));
        }
        if let Some(completion) = self.incoming.wait_next_complete(time_max) {
            let buffer = done(completion)?;
            packets.extend_from_slice(&buffer);
            wiped(buffer);
        }
        Ok(())
    }
}

/// USB's buffers are the library's, and are not wiped by it.
fn wiped(mut buffer: Buffer) {
    crate::wiped::wipe(&mut buffer);
}
