//! A device on a bus with transactions, such as SPI by spidev or FTDI: what such a bus can do, and the one thread that
//! drives it.
//!
//! The system calls of a bus wait, so they are made by a thread of the device's own. It gets orders from the broker's loop
//! and gives events back, both without a wait. What is clocked and when is [`HostEnd`]'s.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cipher::{OsRandomness, Randomness};

use crate::bell::Bell;
use crate::error::LinkFault;
use crate::limits::{TICK, TRANSACTION_MAX};
use crate::link::HostEnd;
use crate::queue::Piece;
use crate::wiped::Wiped;
use crate::{Event, Link};

/// An open bus. Each transaction sends as many bytes as it receives.
pub trait Bus: Send {
    /// Longest transaction.
    fn transaction_bytes_max(&self) -> usize;

    /// Transactions that can be begun before the first is finished, at least 1. With 2, the wire need not rest between them.
    fn depth(&self) -> usize;

    /// What a transaction should be a multiple of, because a bus is slow with what is not.
    fn packet_bytes(&self) -> usize {
        1
    }

    /// Begins a transaction. A bus whose system call waits may carry it out here.
    ///
    /// # Errors
    /// The system's: the bus is opened anew.
    fn begin(&mut self, outgoing: &[u8]) -> io::Result<()>;

    /// Waits until the oldest transaction is finished, the device signals that it has something while none is begun, there
    /// is something to [hear](Self::hear), `bell` can be read, or the time is over; says whether a transaction is finished.
    /// A signal that can only be polled need not be when none is begun and `is_owed` is false: nothing will come.
    ///
    /// # Errors
    /// The system's: the bus is opened anew.
    fn wait(&mut self, bell: BorrowedFd<'_>, is_owed: bool, time_max: Option<Duration>) -> io::Result<bool>;

    /// Waits for the end of the oldest transaction, a bounded time, and appends what it received.
    ///
    /// # Errors
    /// The system's: the bus is opened anew.
    fn finish(&mut self, incoming: &mut Vec<u8>) -> io::Result<()>;

    /// Whether the device signalled that it has something, when the bus last looked.
    fn is_ready(&self) -> bool;

    /// Whether the device can send only while it is sent to. One that sends of itself signals nothing, its transactions
    /// receive nothing, and what it sends is [heard](Self::hear).
    fn is_clocked(&self) -> bool {
        true
    }

    /// Appends what came without a transaction, without a wait.
    ///
    /// # Errors
    /// The system's: the bus is opened anew.
    fn hear(&mut self, incoming: &mut Vec<u8>) -> io::Result<()> {
        // What is clocked comes in transactions.
        let _ = incoming;
        Ok(())
    }
}

/// A way to open a bus. It is used again after each failure.
pub trait OpenBus: Send + Sync {
    /// Opens it, in a bounded time. Dropping the bus closes it.
    ///
    /// # Errors
    /// What the system says. It is tried again later.
    fn open(&self) -> io::Result<Box<dyn Bus>>;

    /// What to call the device in an error: its path, for one.
    fn name(&self) -> String;
}

enum Order {
    Open(Link),
    Transmit(Vec<Piece>),
    Close,
    GiveUp,
}

/// The device's thread, as the loop sees it.
pub(crate) struct Driver {
    /// None when the thread is to end.
    orders: Option<Sender<Order>>,
    bell: Bell,
    events: Receiver<Event>,
    heard: Bell,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    /// Starts the thread. The bus is not opened yet.
    pub(crate) fn start(device: Arc<dyn OpenBus>, transfer_bytes_max: usize) -> io::Result<Driver> {
        let (bell, heard) = (Bell::new()?, Bell::new()?);
        let ((orders, ordered), (told, events)) = (channel(), channel());
        let worker = Worker {
            device,
            transfer_bytes_max,
            ordered,
            bell: bell.clone(),
            told,
            heard: heard.clone(),
            started: Instant::now(),
            bus: None,
            begun: 0,
            moved_at: Instant::now(),
            opening: None,
            wire: Wiped::default(),
        };
        let thread = thread::Builder::new().name("device".into()).spawn(move || worker.run())?;
        Ok(Driver { orders: Some(orders), bell, events, heard, thread: Some(thread) })
    }

    fn order(&self, order: Order) {
        let orders = self.orders.as_ref().expect("it has not ended");
        // A thread that has ended has panicked, which its end will tell.
        let _ = orders.send(order);
        self.bell.ring();
    }

    /// Opens the device; how that went is an event.
    pub(crate) fn open(&self, link: Link) {
        self.order(Order::Open(link));
    }

    /// Takes a transfer.
    pub(crate) fn transmit(&self, pieces: Vec<Piece>) {
        self.order(Order::Transmit(pieces));
    }

    /// Ends the opening.
    pub(crate) fn close(&self) {
        self.order(Order::Close);
    }

    /// Closes the bus, too: another device is served.
    pub(crate) fn give_up(&self) {
        self.order(Order::GiveUp);
    }

    /// Appends what happened.
    pub(crate) fn hear(&self, events: &mut Vec<Event>) {
        self.heard.quiet();
        events.extend(self.events.try_iter());
    }
}

impl AsFd for Driver {
    /// What can be read when something happened.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.heard.as_fd()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.orders = None;
        self.bell.ring();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// The thread.
struct Worker {
    device: Arc<dyn OpenBus>,
    transfer_bytes_max: usize,
    ordered: Receiver<Order>,
    bell: Bell,
    told: Sender<Event>,
    heard: Bell,
    started: Instant,
    /// The bus stays open when only bytes were damaged: the next session is opened on it.
    bus: Option<Box<dyn Bus>>,
    /// Transactions that are begun and not finished.
    begun: usize,
    /// When the oldest of them was first alone on the wire.
    moved_at: Instant,
    opening: Option<(Link, HostEnd)>,
    wire: Wiped,
}

impl Worker {
    fn run(mut self) {
        loop {
            // Without an opening there is nothing else to wait for.
            let order = match self.opening {
                Some(_) => self.ordered.try_recv(),
                None => self.ordered.recv().map_err(|_| TryRecvError::Disconnected),
            };
            match order {
                Ok(Order::Open(link)) => self.open(link),
                Ok(Order::Transmit(pieces)) => {
                    if let Some((_, end)) = &mut self.opening {
                        end.transmit(&pieces);
                    }
                }
                Ok(Order::Close) => self.close(),
                Ok(Order::GiveUp) => self.give_up(),
                Err(TryRecvError::Empty) => self.drive(),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn open(&mut self, link: Link) {
        let mut session = [0; 8];
        let opened = OsRandomness.fill(&mut session).and_then(|()| match self.bus {
            Some(_) => Ok(()),
            None => self.device.open().map(|bus| self.bus = Some(bus)),
        });
        match opened {
            Ok(()) => {
                let now = self.started.elapsed();
                let mut end = HostEnd::open(link, u64::from_le_bytes(session), now, self.transfer_bytes_max);
                end.fill_packets(self.bus.as_ref().map_or(1, |bus| bus.packet_bytes()));
                let is_clocked = self.bus.as_ref().is_some_and(|bus| bus.is_clocked());
                let end = if is_clocked { end } else { end.unclocked() };
                self.opening = Some((link, end));
            }
            Err(error) => self.tell([lost(link, &error)]),
        }
    }

    /// What is under way is finished, so that the bus can be used again.
    fn close(&mut self) {
        self.opening = None;
        while self.begun > 0 {
            self.begun -= 1;
            let finished = self.bus.as_mut().map(|bus| bus.finish(&mut self.wire));
            self.wire.wipe();
            if !matches!(finished, Some(Ok(()))) {
                self.give_up();
            }
        }
    }

    fn give_up(&mut self) {
        (self.bus, self.begun) = (None, 0);
        self.wire.wipe();
    }

    fn tell(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            // A loop that does not listen any more has ended.
            let _ = self.told.send(event);
        }
        self.heard.ring();
    }

    /// Begins what can be begun, and waits for one thing.
    fn drive(&mut self) {
        let mut events = Vec::new();
        if let Err(error) = self.turn(&mut events) {
            self.give_up();
            events.extend(self.opening.take().map(|(link, _)| lost(link, &error)));
        }
        // A device that does not open a session is opened as a bus, too, the next time.
        if events.iter().any(|event| matches!(event, Event::DeviceLost { fault: LinkFault::OpenTimeout, .. }))
        {
            self.give_up();
            self.opening = None;
        }
        if !events.is_empty() {
            self.tell(events);
        }
    }

    fn turn(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let (Some((_, end)), Some(bus)) = (&mut self.opening, &mut self.bus) else { return Ok(()) };
        end.pass_time(self.started.elapsed(), events);
        while self.begun < bus.depth() {
            end.begin(bus.is_ready(), bus.transaction_bytes_max(), &mut self.wire);
            if self.wire.is_empty() {
                break;
            }
            let begun = bus.begin(&self.wire);
            self.wire.wipe();
            begun?;
            if self.begun == 0 {
                self.moved_at = Instant::now();
            }
            self.begun += 1;
        }
        let is_busy = self.begun > 0;
        let time_max = (is_busy || end.is_owed()).then_some(TICK);
        let is_finished = bus.wait(self.bell.as_fd(), end.is_owed(), time_max)?;
        self.bell.quiet();
        if is_busy && self.moved_at.elapsed() > TRANSACTION_MAX {
            return Err(io::ErrorKind::TimedOut.into());
        }
        bus.hear(&mut self.wire)?;
        if !self.wire.is_empty() {
            end.hear(self.started.elapsed(), &self.wire, events);
            self.wire.wipe();
        }
        if is_finished {
            self.moved_at = Instant::now();
            let finished = bus.finish(&mut self.wire);
            self.begun -= 1;
            finished?;
            end.finish(self.started.elapsed(), &self.wire, events);
            self.wire.wipe();
        }
        Ok(())
    }
}

fn lost(link: Link, error: &io::Error) -> Event {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let fault = match error.kind() {
        UnexpectedEof | ConnectionReset | BrokenPipe => LinkFault::HungUp,
        kind => LinkFault::Io(kind),
    };
    Event::DeviceLost { link, fault }
}
