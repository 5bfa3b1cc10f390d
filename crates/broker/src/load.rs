//! Load: one application that asks as fast as it is answered, and what it saw; and a server that does nothing but
//! give bytes back, to compare with.
//!
//! The application sends echo PDUs. Since the bytes of an echo's answer are those of its request but for the broker's
//! own fields, both servers are asked in the same way and by the same code.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, writev};

use crate::limits::{EVENTS_PER_TURN, HEADER_BYTES, PDUS_PER_WRITE, READ_BYTES};
use crate::wire::{Head, KeyHandle, Operation, Pdu};

/// Longest latency that is told apart; a longer one counts as that.
const LATENCY_NS_MAX: u64 = 600_000_000_000;
/// Where a PDU has its request id.
const REQUEST_AT: usize = 4;

/// How an application asks.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Length of each PDU, its header included.
    pub pdu_bytes: usize,
    /// Requests that are not answered, at a time.
    pub outstanding: usize,
    /// The time between an answer and the next request.
    pub pause: Duration,
    /// What goes before what is counted.
    pub warm_up: Duration,
    /// For how long it is counted.
    pub duration: Duration,
    /// How many requests there are at most.
    pub total: u64,
}

/// What it saw.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Requests answered.
    pub answered: u64,
    /// From request to answer, in nanoseconds.
    pub latency_ns: Histogram<u64>,
}

/// A histogram of latencies without any.
pub fn no_latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid")
}

/// An application that is connected and has not asked.
pub struct Prepared {
    stream: UnixStream,
    load: Load,
}

/// Connects to the server at `socket`.
///
/// # Errors
/// The socket's.
///
/// # Panics
/// When the load is none: a PDU shorter than its header, or nothing outstanding.
pub fn prepare(socket: &Path, load: &Load) -> io::Result<Prepared> {
    assert!(load.pdu_bytes >= HEADER_BYTES && load.outstanding > 0);
    Ok(Prepared { stream: UnixStream::connect(socket)?, load: *load })
}

impl Prepared {
    /// Asks.
    ///
    /// # Errors
    /// The socket's.
    pub fn run(self) -> io::Result<Seen> {
        let Prepared { stream, load } = self;
        stream.set_nonblocking(true)?;
        let mut asking = Asking::new(&load, stream)?;
        while asking.ask()? {
            while asking.free.is_empty() {
                asking.wait()?;
            }
            if asking.left == 0 {
                // The last answers are waited for.
                while asking.free.len() < load.outstanding {
                    asking.wait()?;
                }
                break;
            }
            if !load.pause.is_zero() {
                std::thread::sleep(load.pause);
            }
        }
        Ok(asking.seen)
    }
}

/// So many requests for echoes of this length, the header included.
///
/// # Errors
/// That there is no PDU so short, or so long.
pub fn echoes(pdu_bytes: usize, count: u32) -> io::Result<Vec<Pdu>> {
    let payload_bytes = pdu_bytes.checked_sub(HEADER_BYTES).ok_or(io::ErrorKind::InvalidInput)?;
    let payload = vec![0x5E; payload_bytes];
    let head = |number| Head::request(Operation::Echo, number, KeyHandle::NONE);
    let pdu = |number| Pdu::new(head(number), &[], &payload).map_err(|_| io::ErrorKind::InvalidInput.into());
    (0..count).map(pdu).collect()
}

/// An application in the middle of it. It reads while it writes: a server that answers at once must not wait for it.
struct Asking {
    stream: UnixStream,
    /// Those that may be unanswered at a time, each with its own id, one behind another.
    requests: Vec<u8>,
    pdu_bytes: usize,
    sent_at: Vec<Instant>,
    /// Which of them are answered.
    free: Vec<usize>,
    /// Which are to be written, and what of the first one is.
    sending: VecDeque<usize>,
    /// How many are still to be asked.
    left: u64,
    written_bytes: usize,
    begins: Instant,
    ends: Instant,
    buffer: Vec<u8>,
    /// Bytes in it of an answer that is not whole.
    kept_bytes: usize,
    seen: Seen,
}

impl Asking {
    fn new(load: &Load, stream: UnixStream) -> io::Result<Asking> {
        let mut requests = Vec::new();
        for pdu in echoes(load.pdu_bytes, load.outstanding as u32)? {
            requests.extend_from_slice(pdu.bytes());
        }
        let begins = Instant::now() + load.warm_up;
        Ok(Asking {
            stream,
            requests,
            pdu_bytes: load.pdu_bytes,
            sent_at: vec![Instant::now(); load.outstanding],
            free: (0..load.outstanding).collect(),
            sending: VecDeque::new(),
            left: load.total,
            written_bytes: 0,
            begins,
            ends: begins + load.duration,
            buffer: vec![0; READ_BYTES.max(load.pdu_bytes)],
            kept_bytes: 0,
            seen: Seen { answered: 0, latency_ns: no_latencies() },
        })
    }

    /// Asks for as much as may be unanswered; `false` when the time is over.
    fn ask(&mut self) -> io::Result<bool> {
        let now = Instant::now();
        if now >= self.ends {
            return Ok(false);
        }
        let count = self.free.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        for place in self.free.drain(..count) {
            self.sent_at[place] = now;
            self.sending.push_back(place);
        }
        self.left -= count as u64;
        self.write()?;
        Ok(true)
    }

    /// Waits until something can be read or written, and does that.
    fn wait(&mut self) -> io::Result<()> {
        let mut wants = PollFlags::IN;
        wants.set(PollFlags::OUT, !self.sending.is_empty());
        let mut watched = [PollFd::new(&self.stream, wants)];
        match poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let happened = watched[0].revents();
        if happened.contains(PollFlags::OUT) {
            self.write()?;
        }
        if happened.intersects(!PollFlags::OUT) { self.read() } else { Ok(()) }
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.sending.is_empty() {
            let mut skip = self.written_bytes;
            let slices = self.sending.iter().take(PDUS_PER_WRITE).map(|place| {
                let from = place * self.pdu_bytes + std::mem::take(&mut skip);
                IoSlice::new(&self.requests[from..(place + 1) * self.pdu_bytes])
            });
            match writev(&self.stream, &slices.collect::<Vec<_>>()) {
                Ok(written_bytes) => {
                    self.written_bytes += written_bytes;
                    self.sending.drain(..self.written_bytes / self.pdu_bytes);
                    self.written_bytes %= self.pdu_bytes;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn read(&mut self) -> io::Result<()> {
        let read_bytes = match self.stream.read(&mut self.buffer[self.kept_bytes..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read_bytes) => read_bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let (now, all_bytes) = (Instant::now(), self.kept_bytes + read_bytes);
        for answer in self.buffer[..all_bytes].chunks_exact(self.pdu_bytes) {
            let number = answer[REQUEST_AT..REQUEST_AT + 4].try_into().expect("four bytes");
            let place = u32::from_le_bytes(number) as usize;
            self.free.push(place);
            if (self.begins..self.ends).contains(&now) {
                self.seen.answered += 1;
                let latency = now.duration_since(self.sent_at[place]);
                self.seen.latency_ns.saturating_record(latency.as_nanos() as u64);
            }
        }
        self.kept_bytes = all_bytes % self.pdu_bytes;
        self.buffer.copy_within(all_bytes - self.kept_bytes..all_bytes, 0);
        Ok(())
    }
}

/// Gives every connection its bytes back, in one thread, until it is asked to end by a connection that says nothing
/// before it hangs up.
///
/// # Errors
/// The socket's.
pub fn echo(listener: &UnixListener) -> io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(u64::MAX), EventFlags::IN)?;
    let mut streams: Vec<Option<(OwnedFd, bool)>> = Vec::new();
    let (mut happened, mut buffer) = (Vec::with_capacity(EVENTS_PER_TURN), vec![0; READ_BYTES]);
    loop {
        happened.clear();
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut happened), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        for event in &happened {
            let about = event.data.u64();
            let Some((stream, has_spoken)) = streams.get_mut(about as usize).and_then(Option::as_mut) else {
                let (stream, _) = listener.accept()?;
                let (stream, at) = (OwnedFd::from(stream), streams.len() as u64);
                epoll::add(&epoll, &stream, EventData::new_u64(at), EventFlags::IN)?;
                streams.push(Some((stream, false)));
                continue;
            };
            match rustix::io::read(&*stream, &mut buffer) {
                Ok(0) | Err(_) if !*has_spoken => return Ok(()),
                Ok(0) | Err(_) => streams[about as usize] = None,
                Ok(read_bytes) => {
                    *has_spoken = true;
                    // It blocks when the other end does not read, which no load does.
                    let mut rest = &buffer[..read_bytes];
                    while let Ok(written_bytes @ 1..) = rustix::io::write(&*stream, rest) {
                        rest = &rest[written_bytes..];
                    }
                }
            }
        }
    }
}
