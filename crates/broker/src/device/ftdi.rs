//! A device on an FT232H, FT2232H or FT4232H: SPI by the chip's command processor (MPSSE), over USB, without a library of
//! FTDI's.
//!
//! Owns the commands of a transaction (AN_108) and the way into them (AN_135); the chip's USB is behind [`Usb`], so that
//! `emulate`'s interpreter of the same commands can be the chip. Pins: ADBUS0 clock, 1 data to the device, 2 data from
//! it, 3 chip select (low), 4 the device's signal that it has something (high).
//!
//! Each answer is asked for with SEND_IMMEDIATE, so that its end does not wait for the latency timer.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::bus::{Bus, OpenBus};
use crate::limits::{POLL_PAUSE_MAX, POLL_PAUSE_MIN, TRANSACTION_BYTES_MAX, TRANSACTION_MAX};
use crate::wiped::{Wiped, wipe};

/// The USB of a chip that is open.
pub trait Usb: Send {
    /// A vendor's request without data, which the chip is waited for to take.
    ///
    /// # Errors
    /// The system's.
    fn control(&mut self, request: u8, value: u16, index: u16) -> io::Result<()>;

    /// Begins to send bytes to the command processor. The chip takes them as it can, while answers are received.
    ///
    /// # Errors
    /// The system's.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits until something came, or the time is over, and appends one transfer: packets of [`PACKET_BYTES`], of which
    /// the last may be shorter.
    ///
    /// # Errors
    /// The system's.
    fn receive(&mut self, time_max: Duration, packets: &mut Vec<u8>) -> io::Result<()>;
}

/// A way to open a chip's USB. It is used again after each failure.
pub trait OpenUsb: Send + Sync {
    /// Opens it, in a bounded time.
    ///
    /// # Errors
    /// What the system says.
    fn open(&self) -> io::Result<Box<dyn Usb>>;

    /// What to call the chip in an error.
    fn name(&self) -> String;
}

/// The device on this chip.
#[derive(Clone)]
pub struct Ftdi {
    /// The chip.
    pub usb: Arc<dyn OpenUsb>,
    /// Fastest clock, at most [`CLOCK_HZ_MAX`].
    pub clock_hz: u32,
    /// How long the end of a packet may wait in the chip, 1 to 255.
    pub timer_ms: u8,
}

/// A packet of high-speed USB. It begins with two bytes of the chip's status.
pub const PACKET_BYTES: usize = 512;
/// Half of the processor's 60 MHz.
pub const CLOCK_HZ_MAX: u32 = 30_000_000;
const STATUS_BYTES: usize = 2;
/// So that the wire need not rest between two transactions.
const DEPTH: usize = 2;
/// While another transaction could be begun, orders are looked for this often.
const LOOK: Duration = Duration::from_micros(200);
/// How long the processor may take to answer what is no command.
const SYNCHRONISE_MAX: Duration = Duration::from_millis(500);

// Requests (the numbers are also in Linux's ftdi_sio.h), and the interface A that they are about.
const RESET: u8 = 0x00;
const SET_LATENCY_TIMER: u8 = 0x09;
const SET_BIT_MODE: u8 = 0x0B;
const INTERFACE: u16 = 1;
/// What RESET does: all, what waits for the host, what waits for the chip.
const RESET_ALL: u16 = 0;
const PURGE_IN: u16 = 1;
const PURGE_OUT: u16 = 2;
/// Bit modes: none, and the command processor.
const NO_MODE: u16 = 0x0000;
const MPSSE: u16 = 0x0200;

// Commands, AN_108 sections 3 to 6.
const CLOCK_BYTES_IN_AND_OUT: u8 = 0x31;
const SET_LOW_PINS: u8 = 0x80;
const GET_LOW_PINS: u8 = 0x81;
const LOOPBACK_OFF: u8 = 0x85;
const SET_DIVISOR: u8 = 0x86;
const SEND_IMMEDIATE: u8 = 0x87;
const DIVIDE_BY_5_OFF: u8 = 0x8A;
const THREE_PHASES_OFF: u8 = 0x8D;
const ADAPTIVE_OFF: u8 = 0x97;
const NO_COMMAND: u8 = 0xAA;
/// The answer to what is no command, before a copy of it.
const BAD_COMMAND: u8 = 0xFA;

/// Pins that are driven: clock, data to the device, chip select.
const DRIVEN: u8 = 0b0000_1011;
/// Chip select is high, and the clock low, which is mode 0.
const RESTING: u8 = 0b0000_1000;
const SELECTED: u8 = 0b0000_0000;
const SIGNAL: u8 = 0b0001_0000;

/// The commands that a transaction is.
fn transaction(outgoing: &[u8], commands: &mut Vec<u8>) {
    let [low, high] =
        u16::try_from(outgoing.len() - 1).expect("it is no longer than the longest").to_le_bytes();
    commands.extend([SET_LOW_PINS, SELECTED, DRIVEN, CLOCK_BYTES_IN_AND_OUT, low, high]);
    commands.extend_from_slice(outgoing);
    commands.extend([SET_LOW_PINS, RESTING, DRIVEN, GET_LOW_PINS, SEND_IMMEDIATE]);
}

/// What a transaction is answered with beside its bytes: the pins.
const PINS_BYTES: usize = 1;
/// What a transaction's commands are beside its bytes.
const COMMANDS_BYTES: usize = 11;

/// Appends what packets hold beside the chip's status.
fn unpack(packets: &[u8], bytes: &mut Vec<u8>) {
    packets
        .chunks(PACKET_BYTES)
        .for_each(|packet| bytes.extend(packet.get(STATUS_BYTES..).unwrap_or_default()));
}

impl OpenBus for Ftdi {
    fn open(&self) -> io::Result<Box<dyn Bus>> {
        let mut usb = self.usb.open()?;
        for value in [RESET_ALL, PURGE_IN, PURGE_OUT] {
            usb.control(RESET, value, INTERFACE)?;
        }
        usb.control(SET_LATENCY_TIMER, u16::from(self.timer_ms), INTERFACE)?;
        usb.control(SET_BIT_MODE, NO_MODE, INTERFACE)?;
        usb.control(SET_BIT_MODE, MPSSE, INTERFACE)?;
        let room = |bytes| Wiped::new(Vec::with_capacity(bytes));
        let mut open = Open {
            usb,
            commands: room(TRANSACTION_BYTES_MAX + COMMANDS_BYTES),
            packets: room(2 * TRANSACTION_BYTES_MAX),
            received: room(4 * TRANSACTION_BYTES_MAX),
            begun: VecDeque::new(),
            is_ready: false,
            pause: POLL_PAUSE_MIN,
        };
        open.synchronise()?;
        let divisor = CLOCK_HZ_MAX.div_ceil(self.clock_hz.clamp(1, CLOCK_HZ_MAX)) - 1;
        let [low, high] = u16::try_from(divisor).unwrap_or(u16::MAX).to_le_bytes();
        open.usb.send(&[
            DIVIDE_BY_5_OFF,
            ADAPTIVE_OFF,
            THREE_PHASES_OFF,
            LOOPBACK_OFF,
            SET_DIVISOR,
            low,
            high,
        ])?;
        open.usb.send(&[SET_LOW_PINS, RESTING, DRIVEN])?;
        Ok(Box::new(open))
    }

    fn name(&self) -> String {
        self.usb.name()
    }
}

struct Open {
    usb: Box<dyn Usb>,
    commands: Wiped,
    packets: Wiped,
    /// What came, without the chip's status.
    received: Wiped,
    /// Lengths of the transactions that are not finished.
    begun: VecDeque<usize>,
    is_ready: bool,
    pause: Duration,
}

impl Open {
    /// Receives for at most so long.
    fn receive(&mut self, time_max: Duration) -> io::Result<()> {
        let received = self.usb.receive(time_max, &mut self.packets);
        unpack(&self.packets, &mut self.received);
        wipe(&mut self.packets);
        self.packets.clear();
        received
    }

    /// Receives until there are so many bytes.
    fn receive_all(&mut self, bytes: usize, time_max: Duration) -> io::Result<()> {
        let until = Instant::now() + time_max;
        while self.received.len() < bytes {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.receive(left)?;
        }
        Ok(())
    }

    /// Finds where answers begin, by the answer to what is no command (AN_135 section 4.2). What came before is dropped.
    fn synchronise(&mut self) -> io::Result<()> {
        self.usb.send(&[NO_COMMAND, SEND_IMMEDIATE])?;
        let until = Instant::now() + SYNCHRONISE_MAX;
        while !self.received.ends_with(&[BAD_COMMAND, NO_COMMAND]) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.receive(left)?;
        }
        self.received.clear();
        Ok(())
    }

    fn look(&mut self) -> io::Result<()> {
        self.usb.send(&[GET_LOW_PINS, SEND_IMMEDIATE])?;
        self.receive_all(PINS_BYTES, TRANSACTION_MAX)?;
        self.is_ready = self.received[0] & SIGNAL != 0;
        self.received.clear();
        Ok(())
    }

    /// Whether all of the oldest transaction came.
    fn is_finished(&self) -> bool {
        self.begun.front().is_some_and(|bytes| self.received.len() >= bytes + PINS_BYTES)
    }
}

impl Bus for Open {
    fn transaction_bytes_max(&self) -> usize {
        TRANSACTION_BYTES_MAX
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn begin(&mut self, outgoing: &[u8]) -> io::Result<()> {
        transaction(outgoing, &mut self.commands);
        let sent = self.usb.send(&self.commands);
        wipe(&mut self.commands);
        self.commands.clear();
        self.begun.push_back(outgoing.len());
        (self.is_ready, self.pause) = (false, POLL_PAUSE_MIN);
        sent
    }

    fn wait(&mut self, bell: BorrowedFd<'_>, is_owed: bool, time_max: Option<Duration>) -> io::Result<bool> {
        if !self.begun.is_empty() {
            if !self.is_finished() {
                let time = time_max.unwrap_or(TRANSACTION_MAX);
                self.receive(if self.begun.len() < DEPTH { time.min(LOOK) } else { time })?;
            }
            return Ok(self.is_finished());
        }
        if self.is_ready {
            return Ok(false);
        }
        let pause = is_owed.then_some(self.pause);
        let time = pause.into_iter().chain(time_max).min();
        let time =
            time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        match poll(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], time.as_ref()) {
            Ok(0) if is_owed => {
                self.look()?;
                self.pause = (self.pause * 2).min(POLL_PAUSE_MAX);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(false)
    }

    fn finish(&mut self, incoming: &mut Vec<u8>) -> io::Result<()> {
        let Some(bytes) = self.begun.front().copied() else { return Ok(()) };
        self.receive_all(bytes + PINS_BYTES, TRANSACTION_MAX)?;
        self.begun.pop_front();
        incoming.extend_from_slice(&self.received[..bytes]);
        self.is_ready = self.received[bytes] & SIGNAL != 0;
        wipe(&mut self.received[..bytes]);
        self.received.drain(..bytes + PINS_BYTES);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_the_commands_of_an_108() {
        let mut commands = Vec::new();
        transaction(&[0xC0, 0xC1, 0xC2], &mut commands);
        let expected = [0x80, 0x00, 0x0B, 0x31, 0x02, 0x00, 0xC0, 0xC1, 0xC2, 0x80, 0x08, 0x0B, 0x81, 0x87];
        assert_eq!(commands, expected);
        assert_eq!(commands.len(), 3 + COMMANDS_BYTES);
        commands.clear();
        transaction(&[0; TRANSACTION_BYTES_MAX], &mut commands);
        assert_eq!(commands[3..6], [0x31, 0xFF, 0xFF]);
    }

    #[test]
    fn each_packet_is_without_its_status() {
        let mut packets = Vec::new();
        for (number, bytes) in [(1, 510), (2, 510), (3, 7), (4, 0)] {
            packets.extend([0x32, 0x60]);
            packets.extend(vec![number; bytes]);
        }
        let mut bytes = Vec::new();
        // Two transfers: a short packet ends the first.
        unpack(&packets[..2 * PACKET_BYTES + 9], &mut bytes);
        unpack(&packets[2 * PACKET_BYTES + 9..], &mut bytes);
        unpack(&[], &mut bytes);
        assert_eq!(bytes, [vec![1; 510], vec![2; 510], vec![3; 7]].concat());
    }
}
