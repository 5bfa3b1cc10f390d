//! PDUs over a stream of bytes, in both directions.
//!
//! Owns the cutting of bytes into PDUs, the checksum of the device wire, and reading and writing many PDUs
//! with few system calls. All four ends use it: client, client task, transceiver, device.

use std::io::{self, IoSlice};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::Fault;
use crate::limits::{BYTES_PER_WRITE, CRC_BYTES, HEADER_BYTES, PDUS_PER_WRITE, READ_BYTES};
use crate::wiped::{Wiped, wipe};
use crate::wire::{Head, Pdu, announced_bytes};

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

    /// Whether the stream stopped inside a PDU.
    pub fn is_inside(&self) -> bool {
        !self.bytes.is_empty()
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
                // Once, to the exact size: a buffer that grows leaves copies behind.
                self.bytes.reserve_exact(pdu_bytes + self.framing.trailer_bytes() - HEADER_BYTES);
                self.pdu_bytes = Some(pdu_bytes);
                pdu_bytes
            }
        };
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
        self.bytes.extend_from_slice(taken);
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

/// PDUs as they come in. The bytes that were read are wiped once they are PDUs.
pub struct Incoming<R> {
    reader: R,
    decoder: Decoder,
    buffer: Wiped,
    /// What was read and not decoded: from, to.
    pending: (usize, usize),
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Reads from the start of a stream.
    pub fn new(reader: R, framing: Framing) -> Incoming<R> {
        let buffer = Wiped::new(vec![0; READ_BYTES]);
        Incoming { reader, decoder: Decoder::new(framing), buffer, pending: (0, 0) }
    }

    /// The next PDU. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// Why none came.
    pub async fn next(&mut self) -> Result<Pdu, End> {
        loop {
            if let Some(pdu) = self.buffered().map_err(End::Broken)? {
                return Ok(pdu);
            }
            match self.reader.read(&mut self.buffer).await {
                Ok(0) if self.decoder.is_inside() => {
                    return Err(End::Io(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(0) => return Err(End::HungUp),
                Ok(read_bytes) => self.pending = (0, read_bytes),
                Err(error) => return Err(End::Io(error)),
            }
        }
    }

    /// The next PDU, if all of it was read already.
    ///
    /// # Errors
    /// [`Broken`], now and at every later call.
    pub fn buffered(&mut self) -> Result<Option<Pdu>, Broken> {
        let (from, to) = self.pending;
        let mut input = &self.buffer[from..to];
        let decoded = self.decoder.next(&mut input);
        let next = to - input.len();
        wipe(&mut self.buffer[from..next]);
        self.pending = (next, to);
        decoded
    }
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

/// Writes all of `pdus`, of which there may be any number, without copying them.
///
/// # Errors
/// What the stream says; how much of the PDUs was written is unknown then.
pub async fn write<W: AsyncWrite + Unpin>(writer: &mut W, pdus: &[Pdu], framing: Framing) -> io::Result<()> {
    let mut rest = pdus;
    while !rest.is_empty() {
        let (group, later) = rest.split_at(write_group(rest));
        let trailers: Vec<[u8; CRC_BYTES]> = match framing {
            Framing::Plain => Vec::new(),
            Framing::Checked => group.iter().map(Pdu::crc).collect(),
        };
        let mut slices = Vec::with_capacity(2 * group.len());
        for (index, pdu) in group.iter().enumerate() {
            slices.push(IoSlice::new(pdu.bytes()));
            slices.extend(trailers.get(index).map(|trailer| IoSlice::new(trailer)));
        }
        let mut unwritten = &mut slices[..];
        while !unwritten.is_empty() {
            match writer.write_vectored(unwritten).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written_bytes => IoSlice::advance_slices(&mut unwritten, written_bytes),
            }
        }
        rest = later;
    }
    writer.flush().await
}
