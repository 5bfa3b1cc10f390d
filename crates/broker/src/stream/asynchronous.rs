//! Reading and writing many PDUs with few system calls, within a tokio runtime.

use std::io::{self, IoSlice};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Broken, Decoder, End, Framing, write_group};
use crate::limits::{CRC_BYTES, READ_BYTES};
use crate::wiped::{Wiped, wipe};
use crate::wire::Pdu;

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
