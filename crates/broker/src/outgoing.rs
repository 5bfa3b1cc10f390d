//! What waits to be written on a stream that may take none of it now.
//!
//! Owns the order and how far the writing has come; nothing is copied. Both sockets of the broker use it: the
//! application's and the device's.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::{Errno, writev};

use crate::limits::{BYTES_PER_WRITE, CRC_BYTES, PDUS_PER_WRITE};
use crate::stream::Framing;
use crate::wire::Pdu;

/// PDUs in the order in which they are written.
pub struct Outgoing {
    framing: Framing,
    parts: VecDeque<Part>,
    /// Of all of them, and their trailers.
    bytes: usize,
    /// What of the first one is written.
    written_bytes: usize,
}

struct Part {
    pdu: Arc<Pdu>,
    trailer: [u8; CRC_BYTES],
}

impl Outgoing {
    /// Nothing yet.
    pub fn new(framing: Framing) -> Outgoing {
        Outgoing { framing, parts: VecDeque::new(), bytes: 0, written_bytes: 0 }
    }

    /// Puts a PDU behind the others.
    pub fn push(&mut self, pdu: Arc<Pdu>) {
        let trailer = if self.framing == Framing::Checked { pdu.crc() } else { [0; CRC_BYTES] };
        self.bytes += pdu.bytes().len() + self.framing.trailer_bytes();
        self.parts.push_back(Part { pdu, trailer });
    }

    /// How much waits, what is written of the first one included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether all is written.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes what the stream takes, and says how many PDUs that completed.
    ///
    /// # Errors
    /// What the stream says, but not that it takes no more now.
    pub fn flush(&mut self, stream: impl AsFd) -> io::Result<usize> {
        let mut completed = 0;
        while !self.parts.is_empty() {
            match writev(&stream, &self.slices()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written_bytes) => completed += self.advance(written_bytes),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(completed)
    }

    fn slices(&self) -> Vec<IoSlice<'_>> {
        let trailer_bytes = self.framing.trailer_bytes();
        let (mut slices, mut bytes, mut skip) = (Vec::new(), 0, self.written_bytes);
        for part in self.parts.iter().take(PDUS_PER_WRITE) {
            for slice in [part.pdu.bytes(), &part.trailer[..trailer_bytes]] {
                let rest = &slice[skip.min(slice.len())..];
                skip = skip.saturating_sub(slice.len());
                if !rest.is_empty() {
                    slices.push(IoSlice::new(rest));
                }
                bytes += rest.len();
            }
            if bytes >= BYTES_PER_WRITE {
                break;
            }
        }
        slices
    }

    fn advance(&mut self, written_bytes: usize) -> usize {
        let (mut completed, trailer_bytes) = (0, self.framing.trailer_bytes());
        self.written_bytes += written_bytes;
        while let Some(first) = self.parts.front() {
            let part_bytes = first.pdu.bytes().len() + trailer_bytes;
            if self.written_bytes < part_bytes {
                break;
            }
            self.written_bytes -= part_bytes;
            self.bytes -= part_bytes;
            self.parts.pop_front();
            completed += 1;
        }
        completed
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::stream::Decoder;
    use crate::wire::Head;

    #[test]
    fn what_a_full_stream_does_not_take_is_written_later_and_once() {
        for framing in [Framing::Plain, Framing::Checked] {
            let (writer, mut reader) = UnixStream::pair().unwrap();
            writer.set_nonblocking(true).unwrap();
            let mut outgoing = Outgoing::new(framing);
            for number in 0..600 {
                let head = Head { request: number, ..Head::default() };
                let payload = vec![number as u8; 17 * number as usize % 9000];
                outgoing.push(Arc::new(Pdu::new(head, b"parameters", &payload).unwrap()));
            }
            let (mut decoder, mut completed, mut numbers) = (Decoder::new(framing), 0, Vec::new());
            let mut buffer = vec![0; 10_007];
            while !outgoing.is_empty() || numbers.len() < completed {
                completed += outgoing.flush(&writer).unwrap();
                let read_bytes = reader.read(&mut buffer).unwrap();
                let mut input = &buffer[..read_bytes];
                while let Some(pdu) = decoder.next(&mut input).unwrap() {
                    let number = pdu.head().request;
                    assert!(pdu.payload().iter().all(|byte| *byte == number as u8));
                    numbers.push(number);
                }
            }
            assert!(numbers.iter().copied().eq(0..600), "{framing:?}");
            assert_eq!(outgoing.bytes(), 0);
            drop(reader);
            outgoing.push(Arc::new(Pdu::empty(Head::default())));
            assert_eq!(outgoing.flush(&writer).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
