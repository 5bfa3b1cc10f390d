//! PDUs over a stream of bytes, in both directions.
//!
//! Owns the cutting of bytes into PDUs, the checksum of the device wire, and, in `asynchronous`, reading and writing
//! many PDUs with few system calls. All four ends use it: client, client task, transceiver, device.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read};

use crate::error::Fault;
use crate::limits::{BYTES_PER_WRITE, CRC_BYTES, HEADER_BYTES, PDUS_PER_WRITE, REST_BYTES_MIN};
use crate::wiped::{Wiped, append};
use crate::wire::{Head, Pdu, announced_bytes};

#[cfg(feature = "service")]
mod asynchronous;
#[cfg(feature = "service")]
pub use asynchronous::{Incoming, write};

/// Whether a checksum follows each PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// The socket between application and broker, which loses nothing.
    Plain,
    /// The wire to the device.
    Checked,
}

impl Framing {
    /// Bytes that follow a PDU.
    pub const fn trailer_bytes(self) -> usize {
        match self {
            Framing::Plain => 0,
            Framing::Checked => CRC_BYTES,
        }
    }
}

/// A stream of bytes that is no stream of PDUs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What is wrong.
    pub fault: Fault,
    /// The header in which it was found, as far as it can be trusted.
    pub head: Head,
}

/// Cuts a stream of bytes into PDUs.
///
/// Invariant: the PDUs depend on the bytes only, not on the pieces in which they come. After a fault the
/// position of the next header is unknown, so the decoder stays broken.
pub struct Decoder {
    framing: Framing,
    bytes: Wiped,
    /// Length of the PDU without trailer, once its header was read.
    pdu_bytes: Option<usize>,
    broken: Option<Broken>,
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(framing: Framing) -> Decoder {
        Decoder { framing, bytes: Wiped::default(), pdu_bytes: None, broken: None }
    }

    /// Takes bytes from `input` until a PDU is whole or none are left (`Ok(None)`).
    ///
    /// # Errors
    /// [`Broken`], now and at every later call.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<Pdu>, Broken> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let decoded = self.fill(input);
        if let Err(broken) = decoded {
            self.bytes.wipe();
            self.broken = Some(broken);
        }
        decoded
    }

    /// Whether what comes next is the rest of a long PDU.
    pub fn wants_rest(&self) -> bool {
        self.pdu_bytes.is_some_and(|pdu_bytes| {
            let whole_bytes = pdu_bytes + self.framing.trailer_bytes();
            // One with more room would take what belongs to the next one.
            whole_bytes - self.bytes.len() >= REST_BYTES_MIN && self.bytes.capacity() == whole_bytes
        })
    }

    /// Reads once: the rest of a long PDU to where it stays, anything else into `buffer`. Gives how many bytes came, and
    /// how many of them are in the buffer, for [`next`](Self::next).
    ///
    /// # Errors
    /// The stream's.
    pub fn read(&mut self, stream: impl AsFd, buffer: &mut [u8]) -> Result<(usize, usize), Errno> {
        if self.wants_rest() {
            return Ok((read(stream, spare_capacity(&mut *self.bytes))?, 0));
        }
        let read_bytes = read(stream, buffer)?;
        Ok((read_bytes, read_bytes))
    }

    /// Whether the stream stopped inside a PDU.
    pub fn is_inside(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Length of the PDU whose header was taken.
    #[cfg(feature = "service")]
    pub(crate) fn announced_bytes(&self) -> Option<usize> {
        self.pdu_bytes
    }

    /// How many bytes are missing of the header or, once it was taken, of what it announces.
    #[cfg(feature = "service")]
    pub(crate) fn missing_bytes(&self) -> usize {
        let whole_bytes = self.pdu_bytes.map_or(HEADER_BYTES, |bytes| bytes + self.framing.trailer_bytes());
        whole_bytes - self.bytes.len()
    }

    fn fill(&mut self, input: &mut &[u8]) -> Result<Option<Pdu>, Broken> {
        let pdu_bytes = match self.pdu_bytes {
            Some(pdu_bytes) => pdu_bytes,
            None => {
                if !self.take(input, HEADER_BYTES) {
                    return Ok(None);
                }
                let (head, pdu_bytes) = announced_bytes(&self.bytes);
                let pdu_bytes = pdu_bytes.map_err(|fault| Broken { fault, head })?;
                self.pdu_bytes = Some(pdu_bytes);
                pdu_bytes
            }
        };
        if !input.is_empty() {
            // Once, to the exact size: a buffer that grows leaves copies behind. What is only announced takes nothing.
            let missing_bytes = pdu_bytes + self.framing.trailer_bytes() - self.bytes.len();
            self.bytes.reserve_exact(missing_bytes);
        }
        if !self.take(input, pdu_bytes + self.framing.trailer_bytes()) {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        self.pdu_bytes = None;
        let trailer: [u8; CRC_BYTES] = match self.framing {
            Framing::Plain => return Ok(Some(Pdu::of_announced(bytes))),
            Framing::Checked => bytes[pdu_bytes..].try_into().expect("the trailer was taken"),
        };
        bytes.truncate(pdu_bytes);
        let pdu = Pdu::of_announced(bytes);
        if pdu.crc() != trailer {
            return Err(Broken { fault: Fault::Crc, head: pdu.head() });
        }
        Ok(Some(pdu))
    }

    /// Moves bytes from `input` until there are `want_bytes`; whether there are.
    fn take(&mut self, input: &mut &[u8], want_bytes: usize) -> bool {
        let (taken, rest) = input.split_at(input.len().min(want_bytes - self.bytes.len()));
        append(&mut self.bytes, taken);
        *input = rest;
        self.bytes.len() == want_bytes
    }
}

/// Why no PDU came.
#[derive(Debug)]
pub enum End {
    /// The other end closed the stream between two PDUs.
    HungUp,
    /// The stream broke, perhaps inside a PDU.
    Io(io::Error),
    /// What came is no PDU.
    Broken(Broken),
}

/// How many of the first PDUs one write takes.
pub fn write_group(pdus: &[Pdu]) -> usize {
    let mut bytes = 0;
    let fits = |pdu: &&Pdu| {
        let fits = bytes < BYTES_PER_WRITE;
        bytes += pdu.bytes().len();
        fits
    };
    pdus.iter().take(PDUS_PER_WRITE).take_while(fits).count()
}
