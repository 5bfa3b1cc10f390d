//! A clocked device behind a Unix socket: waits for the host, and for the instants at which things happen.
//!
//! The messages are drawn in `device/socket_bus.rs`.

use std::future::Future;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::oneshot;

use super::clocked::{Clocked, Clocks, Reply};
use super::faults::Faults;
use super::preset::Preset;
use crate::bell::{Bell, RingsAtEnd};
use crate::engine::store::Opened;
use crate::engine::{Engine, NamedKey, SoftwareEngine};
use crate::error::Error;
use crate::limits::{ACCEPT_PAUSE, READ_BYTES, TRANSACTION_MAX};
use crate::listen::{Bound, Endpoint};
use crate::wiped::{Wiped, wipe};

/// How long before an instant the thread stops sleeping: longer than a system takes to wake it.
const SPIN: Duration = Duration::from_micros(50);

/// What a clocked device is told at its start.
pub struct Config {
    /// Where the host connects.
    pub endpoint: Endpoint,
    /// The keys.
    pub keys: Vec<NamedKey>,
    /// Where persistent keys are kept; without one they end with the device.
    pub store: Option<Opened>,
    /// How long its wire and its computing take.
    pub preset: Preset,
    /// What goes wrong.
    pub faults: Faults,
    /// Called once, when the host can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The device ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Is a clocked device until `stop`. One host has it open at a time; another waits. Must be called within a tokio runtime;
/// the device has a thread of its own, since it keeps time.
///
/// # Errors
/// When the endpoint or the keys cannot be used, there is no randomness, or nothing to wait with.
pub async fn serve(config: Config) -> Result<Clocks, Error> {
    let Config { endpoint, keys, store, preset, faults, ready, stop } = config;
    let device = Clocked::new(SoftwareEngine::with(keys, store)?, preset, faults);
    let bound = Bound::open(endpoint)?;
    let bell = Bell::new().map_err(Error::Loop)?;
    let rings = RingsAtEnd(bell.clone());
    let mut served = Served { device, preset, bound, bell, started: Instant::now() };
    on_a_thread(ready, stop, rings, move || served.run().map(|()| served.device.clocks())).await
}

/// Lets a device that keeps time `run` on a thread of its own until `stop`, or until it ends.
pub(super) async fn on_a_thread(
    ready: Box<dyn FnOnce() + Send>,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    rings: RingsAtEnd,
    run: impl FnOnce() -> io::Result<Clocks> + Send + 'static,
) -> Result<Clocks, Error> {
    let (ended, end) = oneshot::channel();
    let thread = thread::Builder::new().name("device".into()).spawn(move || {
        // Who does not wait any more has dropped the bell.
        let _ = ended.send(run());
    });
    let thread = thread.map_err(Error::Loop)?;
    ready();
    stop.await;
    drop(rings);
    let result = end.await;
    // The thread sends unless it panics, and that is a bug of ours which ends the process.
    let result =
        result.unwrap_or_else(|_| std::panic::resume_unwind(thread.join().expect_err("it panicked")));
    result.map_err(Error::Loop)
}

struct Served<E> {
    device: Clocked<E>,
    preset: Preset,
    bound: Bound,
    bell: Bell,
    started: Instant,
}

/// What ended a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    Stopped,
    Readable,
    Over,
}

impl<E: Engine> Served<E> {
    /// Serves one host after another until the bell rings.
    fn run(&mut self) -> io::Result<()> {
        loop {
            if wait(&self.bell, Some(PollFd::new(&self.bound, PollFlags::IN)), None)? == Waited::Stopped {
                return Ok(());
            }
            let accepted = self.bound.accept();
            match accepted.and_then(|stream| self.serve_host(stream)) {
                Ok(Waited::Stopped) => return Ok(()),
                // The host has gone; the next one may come.
                Ok(_) => {}
                Err(_) => {
                    if wait(&self.bell, None, Some(ACCEPT_PAUSE))? == Waited::Stopped {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn serve_host(&mut self, mut stream: UnixStream) -> io::Result<Waited> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(TRANSACTION_MAX))?;
        self.device.open();
        if wait(&self.bell, None, Some(self.preset.open))? == Waited::Stopped {
            return Ok(Waited::Stopped);
        }
        let Preset { transaction_bytes_max, depth, .. } = self.preset;
        let greeting = [transaction_bytes_max, depth, self.preset.filled_bytes()];
        stream.write_all(&greeting.map(|number| (number as u32).to_le_bytes()).concat())?;
        let (mut incoming, mut buffer) = (Wiped::default(), Wiped::new(vec![0; READ_BYTES]));
        loop {
            let now = self.started.elapsed();
            while let Some(reply) = self.device.advance(now) {
                write(&mut stream, &reply)?;
            }
            let time = self.device.next_at().map(|at| at.saturating_sub(self.started.elapsed()));
            let socket = PollFd::new(&stream, PollFlags::IN);
            match wait(&self.bell, Some(socket), time)? {
                Waited::Stopped => return Ok(Waited::Stopped),
                Waited::Over => {}
                Waited::Readable => {
                    let read_bytes = stream.read(&mut buffer)?;
                    if read_bytes == 0 {
                        return Ok(Waited::Over);
                    }
                    incoming.extend_from_slice(&buffer[..read_bytes]);
                    wipe(&mut buffer[..read_bytes]);
                    self.begin_all(&mut incoming)?;
                }
            }
        }
    }

    /// Begins all transactions that have come as a whole.
    fn begin_all(&mut self, incoming: &mut Wiped) -> io::Result<()> {
        let now = self.started.elapsed();
        while let Some((length, rest)) = incoming.split_first_chunk() {
            let bytes = u32::from_le_bytes(*length) as usize;
            if !(1..=self.preset.transaction_bytes_max).contains(&bytes) {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let Some(transaction) = rest.get(..bytes) else { break };
            self.device.begin(now, transaction);
            let end = length.len() + bytes;
            wipe(&mut incoming[..end]);
            incoming.drain(..end);
        }
        Ok(())
    }
}

fn write(stream: &mut UnixStream, reply: &Reply) -> io::Result<()> {
    let mut head = (reply.bytes().len() as u32).to_le_bytes().to_vec();
    head.push(reply.is_ready.into());
    stream.write_all(&head)?;
    stream.write_all(reply.bytes())
}

/// Waits for the bell, for `other`, and for no longer than `time`. The end of that is met to a few microseconds: the last
/// of it is not slept through.
pub(super) fn wait(bell: &Bell, other: Option<PollFd<'_>>, time: Option<Duration>) -> io::Result<Waited> {
    let until = time.map(|time| Instant::now() + time);
    let mut watched = vec![PollFd::new(bell, PollFlags::IN)];
    watched.extend(other);
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let sleep = left
            .map(|left| left.saturating_sub(SPIN))
            .map(|sleep| Timespec { tv_sec: sleep.as_secs() as i64, tv_nsec: sleep.subsec_nanos().into() });
        match poll(&mut watched, sleep.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if !watched[0].revents().is_empty() {
            return Ok(Waited::Stopped);
        }
        if watched.get(1).is_some_and(|other| !other.revents().is_empty()) {
            return Ok(Waited::Readable);
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(Waited::Over);
        }
    }
}
