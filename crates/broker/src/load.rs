//! Load: one application that asks as fast as it is answered, and what it saw; and a server that does nothing but
//! give bytes back, to compare with.
//!
//! The application sends echo PDUs. Since the bytes of an echo's answer are those of its request but for the broker's
//! own fields, both servers are asked in the same way and by the same code.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;

use crate::limits::{EVENTS_PER_TURN, HEADER_BYTES, READ_BYTES};
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
}

/// What it saw.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Requests answered.
    pub answered: u64,
    /// The time that it took to count them.
    pub duration: Duration,
    /// From request to answer, in nanoseconds.
    pub latency_ns: Histogram<u64>,
}

/// A histogram of latencies without any.
pub fn no_latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid")
}

/// Asks the server at `socket`.
///
/// # Errors
/// The socket's.
///
/// # Panics
/// When the load is none: a PDU shorter than its header, or nothing outstanding.
pub fn run(socket: &Path, load: &Load) -> io::Result<Seen> {
    assert!(load.pdu_bytes >= HEADER_BYTES && load.outstanding > 0);
    let mut stream = UnixStream::connect(socket)?;
    let payload = vec![0x5E; load.pdu_bytes - HEADER_BYTES];
    let head = Head::request(Operation::Echo, 0, KeyHandle::NONE);
    let pdu = Pdu::new(head, &[], &payload).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut requests = pdu.bytes().repeat(load.outstanding);
    let mut sent_at = vec![Instant::now(); load.outstanding];
    let begins = Instant::now() + load.warm_up;
    let ends = begins + load.duration;
    let mut seen = Seen { answered: 0, duration: load.duration, latency_ns: no_latencies() };
    let mut buffer = vec![0; READ_BYTES.max(load.pdu_bytes)];
    // Ids are the places in `sent_at`, so that no two unanswered ones are equal.
    let mut free: Vec<usize> = (0..load.outstanding).collect();
    let mut kept_bytes = 0;
    loop {
        let now = Instant::now();
        if now >= ends {
            return Ok(seen);
        }
        let asked = free.len();
        for (request, place) in requests.chunks_mut(load.pdu_bytes).zip(free.drain(..)) {
            request[REQUEST_AT..REQUEST_AT + 4].copy_from_slice(&(place as u32).to_le_bytes());
            sent_at[place] = now;
        }
        stream.write_all(&requests[..asked * load.pdu_bytes])?;
        while free.is_empty() {
            let read_bytes = stream.read(&mut buffer[kept_bytes..])?;
            if read_bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let (now, all) = (Instant::now(), kept_bytes + read_bytes);
            let answers = buffer[..all].chunks_exact(load.pdu_bytes);
            for answer in answers {
                let number = answer[REQUEST_AT..REQUEST_AT + 4].try_into().expect("four bytes");
                let place = u32::from_le_bytes(number) as usize;
                free.push(place);
                if now >= begins {
                    seen.answered += 1;
                    let latency = now.duration_since(sent_at[place]);
                    seen.latency_ns.saturating_record(latency.as_nanos() as u64);
                }
            }
            kept_bytes = all % load.pdu_bytes;
            buffer.copy_within(all - kept_bytes..all, 0);
        }
        if !load.pause.is_zero() {
            std::thread::sleep(load.pause);
        }
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
