//! One crypto device, many applications.
//!
//! The broker of the MECHA paper (Derry, Laksmono, Iqbal, Kim: "Multithreaded and Efficient Cryptographic
//! Hardware Access"), which shares one serial crypto device without re-opening it for each application. This
//! file owns the decisions: [`Broker::step`] takes one event and says what to do. It has no socket, no clock
//! and no randomness, so a test replays it from a seed. `wire` is the bytes, `serve` the sockets and tasks,
//! `device` the host's side of the link to the device, `emulate` the device's side, `client` what
//! applications call.
//!
//! The paper's roles, by its names: the *server thread* is the loop in `serve`; a *client thread* is the task
//! of one connection; the *send queue* is [`queue`]; the *transceiver thread* is the task in `device` that
//! owns the open device; a *receive queue* is the channel of answers to a client task.
//!
//! Invariant: each request is answered exactly once, or its connection is closed.
//! Invariant: an answer goes to the connection that asked, and a connection's number is never used again.
//! Invariant: all that waits is bounded, and a full queue is a status, not a wait.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub mod client;
pub mod device;
pub mod emulate;
pub mod error;
pub mod limits;
mod listen;
pub mod queue;
pub mod quota;
mod serve;
mod stats;
pub mod stream;
mod wiped;
pub mod wire;

pub use error::{Error, Fault, LinkFault};
pub use listen::{Endpoint, Listener};
pub use serve::{Config, serve};
pub use stats::{Stats, Usage};

use device::DeviceInfo;
use queue::Queue;
use quota::{Charge, Quota, Share};
use stream::Broken;
use wire::{Connection, Head, Operation, Pdu, Status};

/// Numbers that a deployment or a slow device may lower.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests at the device at a time. 1 makes a broker that waits for each answer.
    pub in_flight_max: usize,
    /// Their bytes; the first request is always let through.
    pub in_flight_bytes_max: usize,
    /// How long the device may take for a request.
    pub answer_max: Duration,
    /// How long a connection may leave its answers unread.
    pub unread_max: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            in_flight_max: limits::IN_FLIGHT_MAX,
            in_flight_bytes_max: limits::IN_FLIGHT_BYTES_MAX,
            answer_max: limits::ANSWER_MAX,
            unread_max: limits::UNREAD_MAX,
        }
    }
}

/// A number of one opening of the device; events of an earlier one are stale.
pub type Link = u64;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// An application of this user connected.
    Connected {
        /// The uid that the kernel vouches for.
        user: u32,
    },
    /// An application sent a request.
    Requested {
        /// Who.
        connection: Connection,
        /// What, as it was sent.
        request: Pdu,
    },
    /// An application sent what is no request.
    Garbled {
        /// Who.
        connection: Connection,
        /// What was wrong.
        broken: Broken,
    },
    /// An application hung up, or its socket broke.
    Disconnected {
        /// Who.
        connection: Connection,
    },
    /// Answers went into the application's socket.
    Written {
        /// Whose.
        connection: Connection,
        /// How many of the oldest.
        answers: usize,
    },
    /// The device is open and said what it is.
    DeviceOpened {
        /// Which opening.
        link: Link,
        /// What it said.
        info: DeviceInfo,
    },
    /// The device answered.
    DeviceAnswered {
        /// Which opening.
        link: Link,
        /// The answer.
        answer: Pdu,
    },
    /// The device could not be opened, or was lost.
    DeviceLost {
        /// Which opening.
        link: Link,
        /// How.
        fault: LinkFault,
    },
    /// Time passed.
    Tick,
    /// The broker is to end.
    Stop,
}

/// Something to do.
#[derive(Debug)]
pub enum Action {
    /// The connection of this step's event is taken and has this number.
    Admit {
        /// The number.
        connection: Connection,
    },
    /// The connection of this step's event is refused: send it this and close it.
    Refuse {
        /// A PDU with a status only.
        notice: Pdu,
    },
    /// Give this to the connection's client task.
    Answer {
        /// Whose.
        connection: Connection,
        /// What.
        answer: Pdu,
    },
    /// Close the connection.
    Close {
        /// Which.
        connection: Connection,
        /// Whether what was answered before is still written.
        flush: bool,
    },
    /// Open the device.
    OpenDevice {
        /// The number for the events of this opening.
        link: Link,
    },
    /// Close the device, which may be half open.
    CloseDevice,
    /// Give this to the transceiver.
    Transmit {
        /// The request, with its connection's number.
        request: Pdu,
    },
    /// All is answered and closed.
    Stopped,
}

/// What is in the broker now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauges {
    /// Connections.
    pub connections: usize,
    /// Requests that wait for the device.
    pub queued: usize,
    /// Requests at the device, those of closed connections included.
    pub in_flight: usize,
    /// Their bytes, each counted as the larger of itself and its longest answer.
    pub in_flight_bytes: usize,
    /// What the requests of open connections hold.
    pub held: Share,
}

/// An application's connection.
struct Peer {
    user: u32,
    /// Requests that are not answered, by their ids, and what each holds.
    unanswered: BTreeMap<u32, Charge>,
    /// Answers that are not written, oldest first; a refused request holds nothing.
    unwritten: VecDeque<Option<Charge>>,
    /// When the oldest unwritten answer became the oldest.
    moved_at: Duration,
    share: Share,
}

/// A request at the device. It takes the device's time also when its connection is closed.
struct Flight {
    sent_at: Duration,
    head: Head,
    answer_bytes_max: usize,
    bytes: usize,
}

/// The device, as the core knows it. `failures` counts attempts and openings in a row without any answer.
enum Device {
    Closed { retry_at: Duration, failures: u32 },
    Opening { failures: u32 },
    Open { failures: u32, in_flight_max: usize, payload_bytes_max: usize },
}

/// The core: connections, requests and the device as a state machine over events.
pub struct Broker {
    settings: Settings,
    now: Duration,
    peers: BTreeMap<Connection, Peer>,
    connection_last: u64,
    queue: Queue,
    quota: Quota,
    in_flight: BTreeMap<(Connection, u32), Flight>,
    in_flight_bytes: usize,
    unwritten: usize,
    device: Device,
    link: Link,
    boot: Option<u64>,
    stop_at: Option<Duration>,
    stopped: bool,
    stats: Stats,
}

impl Broker {
    /// A broker without connections, whose device is closed until the first [`Event::Tick`].
    ///
    /// # Panics
    /// When a setting is 0 or over its limit.
    pub fn new(settings: Settings) -> Broker {
        assert!((1..=limits::IN_FLIGHT_MAX).contains(&settings.in_flight_max));
        assert!((1..=limits::IN_FLIGHT_BYTES_MAX).contains(&settings.in_flight_bytes_max));
        assert!(!settings.answer_max.is_zero() && settings.answer_max <= limits::ANSWER_MAX);
        assert!(!settings.unread_max.is_zero() && settings.unread_max <= limits::UNREAD_MAX);
        Broker {
            settings,
            now: Duration::ZERO,
            peers: BTreeMap::new(),
            connection_last: 0,
            queue: Queue::default(),
            quota: Quota::default(),
            in_flight: BTreeMap::new(),
            in_flight_bytes: 0,
            unwritten: 0,
            device: Device::Closed { retry_at: Duration::ZERO, failures: 0 },
            link: 0,
            boot: None,
            stop_at: None,
            stopped: false,
            stats: Stats::default(),
        }
    }

    /// Takes one event at `now`, the time since the broker's start, and appends what to do to `actions`,
    /// which must be done in their order.
    ///
    /// # Panics
    /// When `now` is before that of the last step.
    pub fn step(&mut self, now: Duration, event: Event, actions: &mut Vec<Action>) {
        assert!(now >= self.now, "time went back");
        self.now = now;
        match event {
            Event::Connected { user } => self.connected(user, actions),
            Event::Requested { connection, request } => self.requested(connection, request, actions),
            Event::Garbled { connection, broken } => {
                self.break_off(connection, broken.head, broken.fault.into(), actions);
            }
            Event::Disconnected { connection } => self.close(connection, false, actions),
            Event::Written { connection, answers } => self.written(connection, answers),
            Event::DeviceOpened { link, info } if link == self.link => self.opened(&info),
            Event::DeviceAnswered { link, answer } if link == self.link => self.answered(answer, actions),
            Event::DeviceLost { link, fault } if link == self.link => self.lost(fault, actions),
            Event::DeviceOpened { .. } | Event::DeviceAnswered { .. } | Event::DeviceLost { .. } => {}
            Event::Tick => self.tick(actions),
            Event::Stop => self.stop(actions),
        }
        self.fill_window(actions);
        self.finish_stop(actions);
        self.stats.queued_max = self.stats.queued_max.max(self.queue.len());
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.in_flight.len());
    }

    /// Whether anything depends on time, so that [`Event::Tick`] must come every [`limits::TICK`].
    pub fn needs_ticks(&self) -> bool {
        let closed = matches!(self.device, Device::Closed { .. });
        !self.stopped
            && (closed || !self.in_flight.is_empty() || self.unwritten > 0 || self.stop_at.is_some())
    }

    /// Whether the device is open.
    pub fn is_open(&self) -> bool {
        matches!(self.device, Device::Open { .. })
    }

    /// What is in the broker now.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            connections: self.peers.len(),
            queued: self.queue.len(),
            in_flight: self.in_flight.len(),
            in_flight_bytes: self.in_flight_bytes,
            held: self.quota.total(),
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn connected(&mut self, user: u32, actions: &mut Vec<Action>) {
        let known = self.stats.users.contains_key(&user);
        let full = self.peers.len() >= limits::CONNECTIONS_MAX
            || (!known && self.stats.users.len() >= limits::USERS_MAX);
        let refusal = match self.stop_at {
            Some(_) => Some(Status::Stopping),
            None => full.then_some(Status::ConnectionsFull),
        };
        if let Some(status) = refusal {
            self.stats.connections_refused += 1;
            actions.push(Action::Refuse { notice: Pdu::empty(Head::default().answer(status)) });
            return;
        }
        self.connection_last = self.connection_last.checked_add(1).expect("2^64 connections were not made");
        let connection = Connection(self.connection_last);
        let peer = Peer {
            user,
            unanswered: BTreeMap::new(),
            unwritten: VecDeque::new(),
            moved_at: self.now,
            share: Share::default(),
        };
        self.peers.insert(connection, peer);
        self.stats.connections_admitted += 1;
        self.stats.users.entry(user).or_default().connections += 1;
        actions.push(Action::Admit { connection });
    }

    fn requested(&mut self, connection: Connection, mut request: Pdu, actions: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return; // it was closed while this was on its way
        };
        let head = request.head();
        if head.connection != Connection::BROKER || head.status != 0 {
            return self.break_off(connection, head, Status::Malformed, actions);
        }
        if peer.unanswered.contains_key(&head.request) {
            return self.break_off(connection, head, Status::DuplicateRequest, actions);
        }
        let Ok(operation) = request.operation() else {
            return self.refuse(connection, head, Status::UnknownOperation, actions);
        };
        if !operation.takes(&request) {
            return self.refuse(connection, head, Status::WrongParameters, actions);
        }
        if self.stop_at.is_some() {
            return self.refuse(connection, head, Status::Stopping, actions);
        }
        // A device that was just lost is waited for once; one that stays away is not.
        if !matches!(self.device, Device::Open { .. } | Device::Opening { failures: 0 }) {
            return self.refuse(connection, head, Status::DeviceUnavailable, actions);
        }
        let answer_bytes_max = limits::HEADER_BYTES + operation.answer_bytes_max(&request);
        let charge = Charge { bytes: request.bytes().len().max(answer_bytes_max) };
        if !self.quota.charge(&mut peer.share, charge) {
            return self.refuse(connection, head, Status::Busy, actions);
        }
        peer.unanswered.insert(head.request, charge);
        self.stats.requests_admitted += 1;
        self.stats.users.entry(peer.user).or_default().requests += 1;
        request.assign(connection);
        self.queue.push(connection, request);
    }

    /// Sends as much of the queue to the device as may be there at a time.
    fn fill_window(&mut self, actions: &mut Vec<Action>) {
        let Device::Open { in_flight_max, payload_bytes_max, .. } = self.device else { return };
        while let Some(request) = self.queue.peek() {
            let head = request.head();
            let operation = request.operation().expect("it was looked at when it was admitted");
            let answer_bytes_max = operation.answer_bytes_max(request);
            let payload_bytes = request.payload().len().max(answer_bytes_max);
            let bytes = self.peers[&head.connection].unanswered[&head.request].bytes;
            if payload_bytes > payload_bytes_max {
                self.queue.pop();
                self.answer(head.connection, Pdu::empty(head.answer(Status::Oversize)), actions);
                continue;
            }
            let full = self.in_flight.len() >= in_flight_max
                || (!self.in_flight.is_empty()
                    && self.in_flight_bytes + bytes > self.settings.in_flight_bytes_max);
            if full {
                break;
            }
            let (connection, request) = self.queue.pop().expect("it was peeked at");
            let flight = Flight { sent_at: self.now, head, answer_bytes_max, bytes };
            self.in_flight.insert((connection, head.request), flight);
            self.in_flight_bytes += bytes;
            self.stats.requests_transmitted += 1;
            actions.push(Action::Transmit { request });
        }
    }

    fn opened(&mut self, info: &DeviceInfo) {
        let Device::Opening { failures } = self.device else { return };
        let in_flight_max = self.settings.in_flight_max.min(usize::from(info.in_flight_max));
        let payload_bytes_max = info.payload_bytes_max as usize;
        // Until it answers a request, this opening counts as a failed one: no re-opening in a circle.
        self.device = Device::Open { failures: failures + 1, in_flight_max, payload_bytes_max };
        self.stats.device_opens += 1;
        self.stats.device_restarts += u64::from(self.boot.is_some_and(|boot| boot != info.boot));
        self.boot = Some(info.boot);
    }

    fn answered(&mut self, answer: Pdu, actions: &mut Vec<Action>) {
        let Device::Open { failures, .. } = &mut self.device else { return };
        let head = answer.head();
        let Some(flight) = self.in_flight.get(&(head.connection, head.request)) else {
            self.stats.answers_stray += 1;
            return;
        };
        if let Err(fault) = flight.check(&answer) {
            return self.lost(LinkFault::Protocol(fault), actions);
        }
        *failures = 0;
        self.in_flight_bytes -= flight.bytes;
        self.in_flight.remove(&(head.connection, head.request));
        if self.peers.contains_key(&head.connection) {
            self.answer(head.connection, answer, actions);
        } else {
            self.stats.answers_late += 1;
        }
    }

    fn lost(&mut self, fault: LinkFault, actions: &mut Vec<Action>) {
        let status = match fault {
            LinkFault::Corrupt(_) => Status::WireCorrupt,
            LinkFault::AnswerTimeout => Status::DeviceSilent,
            LinkFault::Io(_) | LinkFault::HungUp | LinkFault::OpenTimeout | LinkFault::Protocol(_) => {
                Status::DeviceLost
            }
        };
        let failures = match self.device {
            Device::Closed { .. } => return,
            Device::Opening { failures } => {
                self.stats.device_open_failures += 1;
                failures + 1
            }
            Device::Open { failures, .. } => {
                self.stats.device_losses += 1;
                failures
            }
        };
        actions.push(Action::CloseDevice);
        self.fail_in_flight(status, actions);
        if failures == 0 && self.stop_at.is_none() {
            return self.open(0, actions);
        }
        let pause = limits::REOPEN_FIRST * 2u32.pow(failures.saturating_sub(1).min(16));
        self.device = Device::Closed { retry_at: self.now + pause.min(limits::REOPEN_MAX), failures };
        self.fail_queued(Status::DeviceUnavailable, actions);
    }

    fn open(&mut self, failures: u32, actions: &mut Vec<Action>) {
        self.link += 1;
        self.device = Device::Opening { failures };
        actions.push(Action::OpenDevice { link: self.link });
    }

    fn fail_in_flight(&mut self, status: Status, actions: &mut Vec<Action>) {
        self.in_flight_bytes = 0;
        for (_, flight) in std::mem::take(&mut self.in_flight) {
            if self.peers.contains_key(&flight.head.connection) {
                self.answer(flight.head.connection, Pdu::empty(flight.head.answer(status)), actions);
            }
        }
    }

    fn fail_queued(&mut self, status: Status, actions: &mut Vec<Action>) {
        while let Some((connection, request)) = self.queue.pop() {
            self.answer(connection, Pdu::empty(request.head().answer(status)), actions);
        }
    }

    fn tick(&mut self, actions: &mut Vec<Action>) {
        let now = self.now;
        match self.device {
            Device::Closed { retry_at, failures } if retry_at <= now && self.stop_at.is_none() => {
                self.open(failures, actions);
            }
            Device::Open { .. } => {
                let answer_max = self.settings.answer_max;
                if self.in_flight.values().any(|flight| flight.sent_at + answer_max <= now) {
                    self.lost(LinkFault::AnswerTimeout, actions);
                }
            }
            Device::Closed { .. } | Device::Opening { .. } => {}
        }
        let unread_max = self.settings.unread_max;
        let stalled = |peer: &Peer| !peer.unwritten.is_empty() && peer.moved_at + unread_max <= now;
        let stalled: Vec<Connection> =
            self.peers.iter().filter(|(_, peer)| stalled(peer)).map(|(connection, _)| *connection).collect();
        for connection in stalled {
            self.close_unread(connection, actions);
        }
    }

    fn stop(&mut self, actions: &mut Vec<Action>) {
        if self.stop_at.is_none() {
            self.stop_at = Some(self.now + limits::STOP_MAX);
            self.fail_queued(Status::Stopping, actions);
        }
    }

    /// Ends when nobody waits for the device any more, or has waited long enough.
    fn finish_stop(&mut self, actions: &mut Vec<Action>) {
        let Some(stop_at) = self.stop_at else { return };
        let awaited = self.in_flight.keys().any(|(connection, _)| self.peers.contains_key(connection));
        if self.stopped || (awaited && self.now < stop_at) {
            return;
        }
        self.fail_in_flight(Status::DeviceSilent, actions);
        actions.push(Action::CloseDevice);
        while let Some((&connection, _)) = self.peers.first_key_value() {
            self.close(connection, true, actions);
        }
        self.device = Device::Closed { retry_at: Duration::MAX, failures: 0 };
        self.stopped = true;
        actions.push(Action::Stopped);
    }

    /// Answers an admitted request: what it holds goes from the unanswered to the unwritten.
    fn answer(&mut self, connection: Connection, answer: Pdu, actions: &mut Vec<Action>) {
        let peer = self.peers.get_mut(&connection);
        let charge = peer.and_then(|peer| peer.unanswered.remove(&answer.head().request));
        // Invariant: who asks for the answer of a closed connection, or twice, is a bug of ours.
        let charge = charge.expect("an admitted request of an open connection is unanswered");
        self.deliver(connection, answer, Some(charge), actions);
    }

    /// Answers a request that was not admitted.
    fn refuse(&mut self, connection: Connection, head: Head, status: Status, actions: &mut Vec<Action>) {
        let answer = Pdu::empty(Head { connection, ..head.answer(status) });
        self.deliver(connection, answer, None, actions);
    }

    fn deliver(
        &mut self,
        connection: Connection,
        answer: Pdu,
        charge: Option<Charge>,
        actions: &mut Vec<Action>,
    ) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        if peer.unwritten.is_empty() {
            peer.moved_at = self.now;
        }
        peer.unwritten.push_back(charge);
        self.unwritten += 1;
        let full = peer.unwritten.len() > limits::ANSWERS_PER_CONNECTION_MAX;
        self.stats.answers_by_status[usize::from(answer.head().status)] += 1;
        actions.push(Action::Answer { connection, answer });
        if full {
            self.close_unread(connection, actions);
        }
    }

    fn written(&mut self, connection: Connection, answers: usize) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        assert!(answers <= peer.unwritten.len(), "more answers were written than given");
        for charge in peer.unwritten.drain(..answers).flatten() {
            self.quota.release(&mut peer.share, charge);
        }
        self.unwritten -= answers;
        peer.moved_at = self.now;
    }

    /// Tells an application that it is not understood, and closes its connection.
    fn break_off(&mut self, connection: Connection, head: Head, status: Status, actions: &mut Vec<Action>) {
        if self.peers.contains_key(&connection) {
            self.stats.connections_closed_malformed += 1;
            self.refuse(connection, head, status, actions);
            self.close(connection, true, actions);
        }
    }

    fn close_unread(&mut self, connection: Connection, actions: &mut Vec<Action>) {
        self.stats.connections_closed_unread += 1;
        self.close(connection, false, actions);
    }

    fn close(&mut self, connection: Connection, flush: bool, actions: &mut Vec<Action>) {
        if self.peers.contains_key(&connection) {
            self.forget(connection);
            actions.push(Action::Close { connection, flush });
        }
    }

    /// Drops all of a connection but its requests at the device, whose answers will be dropped.
    fn forget(&mut self, connection: Connection) {
        let Some(peer) = self.peers.remove(&connection) else { return };
        self.unwritten -= peer.unwritten.len();
        self.quota.release_all(peer.share);
        self.queue.remove(connection);
    }
}

impl Flight {
    /// Whether `answer`, which has this request's number, can be its answer.
    fn check(&self, answer: &Pdu) -> Result<(), Fault> {
        let head = answer.head();
        let payload_bytes_max = if answer.status()? == Status::Done { self.answer_bytes_max } else { 0 };
        if head.operation != self.head.operation {
            return Err(Fault::Mismatch { field: "operation" });
        }
        if !answer.parameters().is_empty() {
            return Err(Fault::Mismatch { field: "parameters" });
        }
        if answer.payload().len() > payload_bytes_max {
            return Err(Fault::Mismatch { field: "payload" });
        }
        let key_is_news = Operation::from_number(head.operation) == Some(Operation::FindKey);
        if !key_is_news && head.key != self.head.key {
            return Err(Fault::Mismatch { field: "key" });
        }
        Ok(())
    }
}
