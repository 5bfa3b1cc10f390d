//! The bridge's way down: listens for its cell, spools what comes, and tells it what is durable.
//!
//! However much waits in the spool, the way up is handed a few batches at a time, which it reads from the disk itself.
//!
//! A full spool, or one on a full disk, refuses everything from the cell, by a message of that name, and goes on when receipts have made room. Nothing
//! is discarded for that: what the cell sends meanwhile stays in the socket, unread and not counted, then with the cell. How
//! often it was full, and for how long, is counted. What of a superframe did not fit the disk is not counted either: the cell
//! is hung up on, and repeats it.

use super::contents::Pending;
use super::spool::{Capacity, Spool};
use super::uplink::{self, Answered, Faults, Route, Tally};
use super::way::Server;
use super::wire::{self, FromCell, ToCell};
use crate::error::{Error, SpoolFault};
use crate::limits::{BATCHES_IN_FLIGHT_MAX, SPOOL_LOOK_MS};
use crate::stderr;
use broker::{Endpoint, Listener};
use collect::disk::RealDisk;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::MissedTickBehavior;

/// What a bridge is told at its start.
pub struct Config {
    /// The cell that it serves.
    pub cell: u16,
    /// A batch ends with every superframe whose number plus 1 is a multiple of this.
    pub batch_superframes: u32,
    /// The socket on which the cell connects.
    pub socket: PathBuf,
    /// The folder of the spool.
    pub spool: PathBuf,
    /// The broker's socket.
    pub broker: PathBuf,
    /// The server, and who the bridge is to it.
    pub server: Server,
    /// How much the spool holds.
    pub capacity: Capacity,
    /// A random number, for a spool that is new.
    pub identity: u64,
    /// Called once, when the cell can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The bridge ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What a bridge did since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames that were counted.
    pub frames_counted: u64,
    /// Batches that have their receipt.
    pub batches_answered: u64,
    /// Frames that the server stored.
    pub frames_stored: u64,
    /// Frames that the server had before.
    pub frames_duplicate: u64,
    /// Frames that the server will never store, by the number of a [`Fault`](collect::error::Fault), or one that this
    /// version does not know.
    pub frames_failed: BTreeMap<u16, u64>,
    /// Batches that still wait for their receipt.
    pub batches_pending: u64,
    /// How often the spool was full.
    pub full_times: u64,
    /// For how long it was, in milliseconds, all times together.
    pub full_ms: u64,
    /// What went wrong on the way up.
    pub faults: Faults,
}

/// Serves one cell until `stop`.
///
/// # Errors
/// The environment's: the socket or the spool cannot be used. A lost broker or server is no error, but one that says
/// no for good is.
pub async fn serve(config: Config) -> Result<Stats, Error> {
    let Config {
        cell,
        batch_superframes,
        socket,
        spool,
        broker,
        server,
        capacity,
        identity,
        ready,
        mut stop,
    } = config;
    let disk = RealDisk::lock(&spool)?;
    let folder = spool.clone();
    let spool_error = |fault| Error::Spool { path: folder.clone(), fault };
    let spool = Spool::open(disk, identity, capacity).map_err(spool_error)?;
    let listener = Listener::open(Endpoint::Path(socket))?;
    let (batches, batches_up) = mpsc::channel(BATCHES_IN_FLIGHT_MAX);
    let (answers_down, mut answers) = mpsc::unbounded_channel();
    let route = Route { cell, spool: spool.identity(), folder: folder.clone(), broker, server };
    let faults = Tally::default();
    let mut uplink = tokio::spawn(uplink::run(route, batches_up, answers_down, faults.clone()));
    let (messages_in, mut messages) = mpsc::channel(64);
    let mut bridge = Bridge::new(cell, batch_superframes, spool);
    // One clock for all turns: a sleep that each turn begins again would never end beside receipts that keep coming.
    let mut looks = tokio::time::interval(Duration::from_millis(SPOOL_LOOK_MS));
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ready();
    loop {
        bridge.note_full(&folder).await;
        tokio::select! {
            () = &mut stop => break,
            stream = listener.accept() => {
                // One that is gone before it was accepted is its own loss.
                if let Ok(stream) = stream {
                    bridge.accepted(stream, &messages_in).await;
                }
            }
            // A full spool takes nothing in, and the cell waits: what was not read is not counted.
            Some((number, message)) = messages.recv(), if bridge.full.since.is_none() => {
                bridge.message(number, message).await.map_err(spool_error)?;
            }
            Ok(permit) = batches.reserve(), if bridge.next_up().is_some() => {
                permit.send(bridge.take_next_up().expect("nothing has come between"));
            }
            _ = looks.tick(), if bridge.spool.lacks_room() => {
                bridge.spool.look_for_room().map_err(spool_error)?;
            }
            ended = &mut uplink => {
                // It ends by itself only with an error.
                let ended = ended.unwrap_or_else(|panic| resume_unwind(panic.into_panic()));
                return Err(ended.expect_err("batches may come"));
            }
            Some(answered) = answers.recv() => bridge.answered(answered).await.map_err(spool_error)?,
        }
    }
    bridge.end_full();
    // What has no receipt stays in the spool for the next start.
    bridge.stats.batches_pending = bridge.spool.pending().len() as u64;
    drop(batches);
    uplink::leave(uplink, bridge.spool.is_drained()).await;
    bridge.stats.faults = faults.get();
    Ok(bridge.stats)
}

/// Hands messages on until the cell hangs up, which is `None`; one that cannot be understood is a hang-up.
async fn read_messages(
    mut reader: OwnedReadHalf,
    number: u64,
    messages: mpsc::Sender<(u64, Option<FromCell>)>,
) {
    loop {
        let message = match wire::next(&mut reader).await {
            Ok(Some(bytes)) => FromCell::parse(&bytes),
            Ok(None) | Err(_) => None,
        };
        let ended = message.is_none();
        if messages.send((number, message)).await.is_err() || ended {
            return;
        }
    }
}

/// The connection to the cell. A new one replaces the one before.
struct Link {
    number: u64,
    writer: OwnedWriteHalf,
    greeted: bool,
}

struct Bridge {
    cell: u16,
    batch_superframes: u32,
    spool: Spool<RealDisk>,
    link: Option<Link>,
    /// How many there were. No number is given to two: what an earlier one said may still be in the channel.
    links: u64,
    /// What reads the connection.
    reading: Option<AbortHandle>,
    /// Batches of this number and later ones were not handed to the way up.
    next_up: u64,
    stats: Stats,
    /// The cell has finished and waits for the last receipt.
    ending: bool,
    full: Full,
}

/// Whether the spool is full.
#[derive(Default)]
struct Full {
    /// Since when it is.
    since: Option<Instant>,
    /// Somebody was told since it was empty: a line for a trouble, however long it lasts.
    is_told: bool,
}

impl Bridge {
    fn new(cell: u16, batch_superframes: u32, spool: Spool<RealDisk>) -> Bridge {
        Bridge {
            cell,
            batch_superframes,
            spool,
            link: None,
            links: 0,
            reading: None,
            next_up: 0,
            stats: Stats::default(),
            ending: false,
            full: Full::default(),
        }
    }

    /// Nothing more is read of the connection before this one: what reads it would wait for room while the spool is full.
    async fn accepted(&mut self, stream: UnixStream, messages: &mpsc::Sender<(u64, Option<FromCell>)>) {
        let (reader, writer) = stream.into_split();
        let number = self.connected(writer).await;
        let reading = tokio::spawn(read_messages(reader, number, messages.clone()));
        if let Some(before) = self.reading.replace(reading.abort_handle()) {
            before.abort();
        }
    }

    async fn connected(&mut self, writer: OwnedWriteHalf) -> u64 {
        self.links += 1;
        let number = self.links;
        self.link = Some(Link { number, writer, greeted: false });
        if self.full.since.is_some() {
            self.refuse().await;
        }
        number
    }

    /// Looks whether the spool in `folder` is full now.
    async fn note_full(&mut self, folder: &Path) {
        if !self.spool.is_full() {
            self.end_full();
            self.full.is_told &= !self.spool.is_drained();
        } else if self.full.since.is_none() {
            self.full.since = Some(Instant::now());
            self.stats.full_times += 1;
            if !std::mem::replace(&mut self.full.is_told, true) {
                let (batches, bytes_max) = (self.spool.pending().len(), self.spool.bytes_max());
                let fault = match self.spool.lacks_room() {
                    true => SpoolFault::NoRoom { batches },
                    false => SpoolFault::Full { batches, bytes_max },
                };
                stderr::tell(Error::Spool { path: folder.to_owned(), fault }.lines());
            }
            self.refuse().await;
        }
    }

    /// It is full no longer, or nobody looks any more.
    fn end_full(&mut self) {
        let ms = self.full.since.take().map_or(0, |since| since.elapsed().as_millis());
        self.stats.full_ms += u64::try_from(ms).unwrap_or(u64::MAX);
    }

    /// Tells the cell that nothing more is taken, also one that has not said hello: its hello is not read either.
    async fn refuse(&mut self) {
        let is_greeted = self.link.as_ref().is_some_and(|link| link.greeted);
        let from = if is_greeted { self.spool.progress().0 } else { 0 };
        self.send(ToCell::Full(from)).await;
    }

    async fn message(&mut self, number: u64, message: Option<FromCell>) -> Result<(), SpoolFault> {
        match self.take(number, message).await {
            Err(SpoolFault::NoRoom { .. }) => {
                self.refuse().await;
                self.link = None;
                Ok(())
            }
            taken => taken,
        }
    }

    async fn take(&mut self, number: u64, message: Option<FromCell>) -> Result<(), SpoolFault> {
        let Some(link) = self.link.as_mut().filter(|link| link.number == number) else { return Ok(()) };
        match message {
            Some(FromCell::Hello { cell, session }) if cell == self.cell && !link.greeted => {
                link.greeted = true;
                self.ending = false;
                let left = self.spool.begin_session(session)?;
                self.count(left);
                self.tell_progress().await;
            }
            Some(FromCell::Frame(frame)) if link.greeted => self.spool.accept(frame)?,
            Some(FromCell::Close(superframe)) if link.greeted => {
                let ends_batch = (superframe + 1).is_multiple_of(self.batch_superframes);
                let batch = self.spool.close(superframe, ends_batch)?;
                self.count(batch);
                self.tell_progress().await;
            }
            Some(FromCell::End) if link.greeted => {
                self.ending = true;
                let rest = self.spool.end_batch()?;
                self.count(rest);
                self.tell_drained().await;
            }
            // A hang-up, or something that this cell has no business to say.
            _ => self.link = None,
        }
        Ok(())
    }

    fn count(&mut self, batch: Option<Pending>) {
        self.stats.frames_counted += batch.map_or(0, |batch| u64::from(batch.frames));
    }

    /// The next batch for the way up.
    fn next_up(&self) -> Option<Pending> {
        self.spool.pending_from(self.next_up)
    }

    fn take_next_up(&mut self) -> Option<Pending> {
        let batch = self.next_up()?;
        self.next_up = batch.number + 1;
        Some(batch)
    }

    async fn answered(&mut self, answered: Answered) -> Result<(), SpoolFault> {
        let Answered { batch, mut receipts } = answered;
        self.stats.batches_answered += 1;
        for receipt in &receipts {
            self.stats.frames_stored += u64::from(receipt.stored);
            self.stats.frames_duplicate += u64::from(receipt.duplicate);
            for (&status, &frames) in &receipt.failed {
                *self.stats.frames_failed.entry(status).or_default() += u64::from(frames);
            }
        }
        self.spool.free(batch.number)?;
        for frame in receipts.iter_mut().flat_map(|receipt| receipt.downlinks.drain(..)) {
            self.tell(ToCell::Downlink { superframe: batch.closed_by, frame }).await;
        }
        self.tell_progress().await;
        self.tell_drained().await;
        Ok(())
    }

    async fn tell_progress(&mut self) {
        let (counted, answered) = self.spool.progress();
        self.tell(ToCell::Counted(counted)).await;
        self.tell(ToCell::Answered(answered)).await;
    }

    async fn tell_drained(&mut self) {
        if self.ending && self.spool.is_drained() {
            self.tell(ToCell::Drained).await;
        }
    }

    async fn tell(&mut self, message: ToCell) {
        if self.link.as_ref().is_some_and(|link| link.greeted) {
            self.send(message).await;
        }
    }

    async fn send(&mut self, message: ToCell) {
        let Some(link) = self.link.as_mut() else { return };
        if link.writer.write_all(&message.encode()).await.is_err() {
            self.link = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_an_earlier_connection_said_is_never_taken_for_the_next_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = RealDisk::lock(&folder.path().join("spool")).expect("nobody has it");
        let spool = Spool::open(disk, 1, Capacity::default()).expect("the disk works");
        let mut bridge = Bridge::new(7, 1, spool);
        let [(first, _cell), (second, _next)] = [(); 2].map(|()| UnixStream::pair().expect("a socket"));
        let [(_first, first), (_second, second)] = [first, second].map(UnixStream::into_split);
        let hello = || Some(FromCell::Hello { cell: 7, session: 5 });
        let first = bridge.connected(first).await;
        bridge.message(first, hello()).await.expect("the disk works");
        // A hang-up, with more of it still in the channel.
        bridge.message(first, None).await.expect("the disk works");
        assert!(bridge.link.is_none());
        let second = bridge.connected(second).await;
        bridge.message(first, hello()).await.expect("the disk works");
        assert!(first != second && bridge.link.as_ref().is_some_and(|link| !link.greeted));
        bridge.message(second, hello()).await.expect("the disk works");
    }
}
