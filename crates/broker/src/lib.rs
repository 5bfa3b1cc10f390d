//! One crypto device, many applications.
//!
//! The broker of the MECHA paper (Derry, Laksmono, Iqbal, Kim: "Multithreaded and Efficient Cryptographic
//! Hardware Access"), which shares one serial crypto device without re-opening it for each application. This
//! file owns the decisions: [`Broker::step`] takes one event and says what to do. It has no socket, no clock
//! and no randomness, so a test replays it from a seed. `wire` is the bytes, `serve` the sockets,
//! `device` the host's side of the way to the device, `link` what carries pieces on a bus, `emulate` the device's
//! side, `client` what applications call, `simulation` all but the sockets in a time of its own.
//!
//! A request goes to the device in a *transfer*, in pieces if it is long. Whatever waits goes at once when the device is
//! idle; while it is busy, what comes gathers for the transfer after the next. So batches become as large as the device
//! is slow, and no timer decides.
//!
//! The paper's roles, by its names: the *server thread* is the loop in `serve`; a *client thread* is the task
//! of one connection; the *send queue* is [`queue`]; the *transceiver thread* is the task in `device` that
//! owns the open device, a thread only on a bus; a *receive queue* is the channel of answers to a client task.
//!
//! Invariant: each request is answered exactly once, or its connection is closed.
//! Invariant: an answer goes to the connection that asked, and a connection's number is never used again.
//! Invariant: all that waits is bounded, and a full queue is a status, not a wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "service")]
mod application;
mod begun;
#[cfg(feature = "service")]
mod bell;
pub mod client;
#[cfg(feature = "service")]
pub mod descriptors;
#[cfg(feature = "service")]
pub mod device;
#[cfg(feature = "service")]
pub mod emulate;
#[cfg(feature = "service")]
pub mod engine;
pub mod error;
mod event;
mod flight;
pub mod info;
#[cfg(feature = "service")]
pub mod journal;
pub mod limits;
#[cfg(feature = "service")]
pub mod link;
#[cfg(feature = "service")]
mod listen;
#[cfg(feature = "service")]
pub mod load;
#[cfg(feature = "service")]
mod memory;
mod notices;
mod opening;
#[cfg(feature = "service")]
mod orders;
#[cfg(feature = "service")]
mod outgoing;
pub mod parameters;
mod party;
#[cfg(feature = "service")]
mod peer;
pub mod queue;
pub mod quota;
pub mod rounds;
#[cfg(feature = "service")]
mod serve;
mod settings;
#[cfg(feature = "service")]
pub mod simulation;
mod stats;
pub mod stream;
pub mod template;
pub mod unfinished;
#[cfg(feature = "service")]
pub mod vectors;
#[cfg(feature = "service")]
mod watch;
mod wiped;
pub mod wire;

pub use error::{Error, Fault, LinkFault};
pub use event::{Action, Event, Link};
#[cfg(feature = "service")]
pub use listen::{Endpoint, Listener};
#[cfg(feature = "service")]
pub use orders::{Control, Orders, control};
#[cfg(feature = "service")]
pub use serve::{Config, serve, serve_operated};
pub use settings::{Fit, Settings, Weights};
pub use stats::{Gauges, Stats, Usage};

use begun::Begun;
use flight::{Flight, are_full_of_searches};
use notices::Notices;
use opening::Device;
use party::{Admitted, Peer};
use queue::{Piece, Place, Queue, Taken, Verdict};
use quota::{Charge, Quota};
use unfinished::Unfinished;
use wire::{Connection, Head, Operation, Pdu, Status};

/// The core: connections, requests and the device as a state machine over events.
pub struct Broker {
    /// What holds for the device that was opened last.
    settings: Settings,
    /// What holds for any.
    told: Settings,
    /// What suits each device, in the order in which they are tried.
    fits: Vec<Fit>,
    now: Duration,
    peers: BTreeMap<Connection, Peer>,
    connection_last: u64,
    queue: Queue,
    quota: Quota,
    unfinished: Unfinished,
    /// Since when there is no connection, if there is none.
    idle_since: Duration,
    in_flight: BTreeMap<(Connection, u32), Flight>,
    in_flight_bytes: usize,
    /// Transfers that are not on their way as a whole.
    transfers: usize,
    notices: Notices,
    /// Closed connections of which the device still has requests.
    departing: BTreeSet<Connection>,
    /// Requests that were at the device when it was lost, and are sent once more.
    again: BTreeSet<(Connection, u32)>,
    /// How often the device has been lost.
    epoch: u32,
    /// How long a request takes these days, from its admission to its answer.
    stay: Duration,
    unwritten: usize,
    /// Connections that may have left answers unread, each once, by a time before which they did not: so that those of
    /// whom it may be too long now are found without asking all.
    unread: BTreeSet<(Duration, Connection)>,
    /// Connections the rest of whose request is waited for.
    begun: Begun,
    device: Device,
    link: Link,
    /// What each device said when it was open last.
    boots: Vec<Option<u64>>,
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
        Broker::among(settings, vec![Fit::default()])
    }

    /// The same with a list of devices, of which the first that can be opened is served: what suits each.
    ///
    /// # Panics
    /// When a setting is 0 or over its limit, or there is no device.
    pub fn among(settings: Settings, fits: Vec<Fit>) -> Broker {
        settings.check();
        assert!(!fits.is_empty(), "a broker has a device");
        let mut queue = Queue::default();
        queue.age(settings.age_max);
        queue.weigh(settings.weights);
        Broker {
            settings,
            told: settings,
            boots: vec![None; fits.len()],
            fits,
            now: Duration::ZERO,
            peers: BTreeMap::new(),
            connection_last: 0,
            queue,
            quota: Quota::new(settings.bounds),
            unfinished: Unfinished::new(settings.bounds),
            idle_since: Duration::ZERO,
            in_flight: BTreeMap::new(),
            in_flight_bytes: 0,
            transfers: 0,
            notices: Notices::default(),
            departing: BTreeSet::new(),
            again: BTreeSet::new(),
            epoch: 0,
            stay: Duration::ZERO,
            unwritten: 0,
            unread: BTreeSet::new(),
            begun: Begun::default(),
            device: Device::Closed { retry_at: Duration::ZERO, failures: 0 },
            link: 0,
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
            Event::Connected { user, groups } => self.connected(user, groups, actions),
            Event::Requested { connection, request } => self.requested(connection, request, actions),
            Event::Garbled { connection, broken } => {
                self.break_off(connection, broken.head, broken.fault.into(), actions);
            }
            Event::Began { connection, waits } => {
                self.begun.set(
                    connection,
                    Some(self.now).filter(|_| waits && self.peers.contains_key(&connection)),
                );
            }
            Event::Disconnected { connection } => self.close(connection, false, actions),
            Event::Written { connection, answers } => self.written(connection, answers),
            Event::DeviceOpened { link, info } if link == self.link => self.opened(&info),
            Event::DeviceTook { link } if link == self.link => {
                self.transfers = self.transfers.saturating_sub(1)
            }
            Event::DeviceAnswered { link, answer } if link == self.link => self.answered(answer, actions),
            Event::DeviceLost { link, fault } if link == self.link => self.lost(fault, actions),
            Event::DeviceOpened { .. }
            | Event::DeviceTook { .. }
            | Event::DeviceAnswered { .. }
            | Event::DeviceLost { .. } => {}
            Event::TurnedAway => self.stats.connections_refused += 1,
            Event::Set { settings } => self.set(*settings),
            Event::Tick => self.tick(actions),
            Event::Stop => self.stop(actions),
        }
        self.transmit(actions);
        self.finish_stop(actions);
        self.stats.queued_max = self.stats.queued_max.max(self.queue.len());
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.in_flight.len());
    }

    /// Whether anything depends on time, so that [`Event::Tick`] must come every [`limits::TICK`].
    pub fn needs_ticks(&self) -> bool {
        let closed = matches!(self.device, Device::Closed { .. });
        !self.stopped
            && (closed
                || !self.in_flight.is_empty()
                || self.queue.is_timed()
                || self.unwritten > 0
                || !self.begun.is_empty()
                || self.stop_at.is_some())
    }

    /// When the broker ends if nobody connects until then; a tick must come at that time. Not before its device was open:
    /// until then nobody is told that it is there.
    pub fn ends_at(&self) -> Option<Duration> {
        let is_idle = self.peers.is_empty() && self.stop_at.is_none() && self.stats.device_opens > 0;
        self.settings.idle_max.filter(|_| is_idle).map(|idle_max| self.idle_since + idle_max)
    }

    /// How long the loop looks out before it sleeps.
    pub fn attention(&self) -> Duration {
        self.settings.attention
    }

    /// Whether the device is open.
    pub fn is_open(&self) -> bool {
        matches!(self.device, Device::Open { .. })
    }

    /// Whether the connection's user has as much waiting as may be, most of it for the user to read.
    pub fn is_stuck(&self, connection: Connection) -> bool {
        self.peers.get(&connection).is_some_and(|peer| self.quota.is_stuck(peer.user))
    }

    /// What connections hold that no event has told of.
    pub fn unfinished(&mut self) -> &mut Unfinished {
        &mut self.unfinished
    }

    /// What is in the broker now.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            connections: self.peers.len(),
            queued: self.queue.len(),
            in_flight: self.in_flight.len(),
            in_flight_bytes: self.in_flight_bytes,
            held: self.quota.total(),
            unfinished_bytes: self.unfinished.total_bytes(),
            epoch: self.epoch,
            device: match self.device {
                Device::Open { choice, .. } => choice + 1,
                Device::Opening { .. } | Device::Closed { .. } => 0,
            },
        }
    }

    /// What happened so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn connected(&mut self, user: u32, groups: Vec<u32>, actions: &mut Vec<Action>) {
        let is_other = self.settings.only_user.is_some_and(|only| only != user);
        let refusal = match self.stop_at {
            Some(_) => Some(Status::Stopping),
            None if is_other => Some(Status::NotPermitted),
            None if !self.quota.connect(user) => Some(Status::ConnectionsFull),
            None => None,
        };
        if let Some(status) = refusal {
            self.stats.connections_refused += 1;
            actions.push(Action::Refuse { notice: Pdu::empty(Head::default().answer(status)) });
            return;
        }
        self.connection_last = self.connection_last.checked_add(1).expect("2^64 connections were not made");
        let connection = Connection(self.connection_last);
        let peer = Peer::new(user, groups, self.now);
        self.peers.insert(connection, peer);
        self.stats.connections_admitted += 1;
        self.stats.tell_apart(user, |user| self.quota.has(user));
        self.stats.usage(user).connections += 1;
        actions.push(Action::Admit { connection, user });
    }

    fn requested(&mut self, connection: Connection, mut request: Pdu, actions: &mut Vec<Action>) {
        let Some(peer) = self.peers.get_mut(&connection) else {
            return; // it was closed while this was on its way
        };
        let head = request.head();
        if head.connection != Connection::BROKER || head.status != 0 || head.epoch != 0 {
            return self.break_off(connection, head, Status::Malformed, actions);
        }
        if peer.unanswered.contains_key(&head.request) {
            return self.break_off(connection, head, Status::DuplicateRequest, actions);
        }
        let Some(operation) = request.operation().ok().filter(|operation| !operation.is_brokers()) else {
            return self.refuse(connection, head, Status::UnknownOperation, actions);
        };
        if !operation.takes(&request) {
            return self.refuse(connection, head, Status::WrongParameters, actions);
        }
        if self.stop_at.is_some() {
            return self.refuse(connection, head, Status::Stopping, actions);
        }
        if operation == Operation::Status {
            return self.say_status(connection, request, actions);
        }
        // A device that was just lost is waited for once; one that stays away is not.
        if !matches!(self.device, Device::Open { .. } | Device::Opening { failures: 0, .. }) {
            return self.refuse(connection, head, Status::DeviceUnavailable, actions);
        }
        let answer_bytes_max = limits::HEADER_BYTES + operation.answer_bytes_max(&request);
        let charge = Charge { bytes: request.bytes().len().max(answer_bytes_max) };
        if !self.quota.charge(peer.user, &mut peer.share, charge) {
            return self.refuse(connection, head, Status::Busy, actions);
        }
        peer.unanswered.insert(head.request, Admitted { at: self.now, charge });
        self.stats.requests_admitted += 1;
        self.stats.usage(peer.user).requests += 1;
        let place = Place { lane: head.lane, user: peer.user, connection };
        let expires_at = (head.time_ms > 0).then(|| self.now + Duration::from_millis(head.time_ms.into()));
        request.assign(connection);
        self.introduce(connection);
        self.queue.push(place, Arc::new(request), charge.bytes, expires_at, self.now);
    }

    /// Says to the operator what the broker has done.
    fn say_status(&mut self, connection: Connection, request: Pdu, actions: &mut Vec<Action>) {
        let peer = self.peers.get_mut(&connection).expect("it has just asked");
        let head = Head { connection, ..request.head() };
        let Settings { operator, operator_group, .. } = self.settings;
        let is_member = operator_group.is_some_and(|group| peer.groups.contains(&group));
        if peer.user != 0 && Some(peer.user) != operator && !is_member {
            return self.refuse(connection, head, Status::NotPermitted, actions);
        }
        let charge = Charge { bytes: limits::HEADER_BYTES + limits::STATUS_BYTES_MAX };
        if !self.quota.charge(peer.user, &mut peer.share, charge) {
            return self.refuse(connection, head, Status::Busy, actions);
        }
        peer.unanswered.insert(head.request, Admitted { at: self.now, charge });
        let text = self.stats.exposition(&self.gauges());
        let answer = Pdu::new(head.answer(Status::Done), &[], text.as_bytes());
        self.answer(connection, answer.expect("it is within its limit"), actions);
    }

    fn set(&mut self, settings: Settings) {
        settings.check();
        self.quota.bound(settings.bounds);
        self.unfinished.bound(settings.bounds);
        self.queue.age(settings.age_max);
        self.queue.weigh(settings.weights);
        self.told = settings;
        match self.device {
            Device::Open { choice, .. } => self.settings = settings.fitting(self.fits[choice]),
            Device::Opening { .. } | Device::Closed { .. } => self.settings = settings,
        }
    }

    /// Sends as much of the queue to the device as may be under way.
    fn transmit(&mut self, actions: &mut Vec<Action>) {
        let Device::Open { in_flight_max, payload_bytes_max, .. } = self.device else { return };
        let in_flight_max = in_flight_max.min(self.settings.in_flight_max);
        while self.transfers < self.settings.transfers_max
            && !(self.queue.is_empty() && self.notices.is_empty())
        {
            let pieces = self.gather(in_flight_max, payload_bytes_max, actions);
            if pieces.is_empty() {
                return;
            }
            self.transfers += 1;
            let of_requests =
                |piece: &&Piece| piece.request.operation().is_ok_and(|asked| !asked.is_brokers());
            self.stats.count_transfer(pieces.iter().filter(of_requests).count());
            actions.push(Action::Transmit { pieces });
        }
    }

    /// The next transfer.
    fn gather(
        &mut self,
        in_flight_max: usize,
        payload_bytes_max: usize,
        actions: &mut Vec<Action>,
    ) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut room_bytes = self.settings.transfer_bytes_max;
        while room_bytes > 0
            && let Some(piece) = self.notices.piece(self.piece_bytes_max(room_bytes))
        {
            room_bytes = room_bytes.saturating_sub(piece.to - piece.from);
            pieces.push(piece);
        }
        let flights_max = in_flight_max.min(self.in_flight.len() + self.settings.transfer_requests_max);
        while room_bytes > 0 {
            let (flights, flight_bytes) = (self.in_flight.len(), self.in_flight_bytes);
            let (room_max, at_device, peers) =
                (self.settings.in_flight_bytes_max, &self.in_flight, &self.peers);
            let verdict = |request: &Pdu| {
                let operation = request.operation().expect("it was looked at when it was admitted");
                let answer_bytes_max = operation.answer_bytes_max(request);
                let bytes = request.bytes().len().max(limits::HEADER_BYTES + answer_bytes_max);
                // Large ones leave some room, so that a small one need not wait until one of them is answered.
                let is_small = bytes <= limits::SPARSE_BYTES as usize;
                let bytes_max = if is_small { room_max } else { room_max - room_max / limits::SMALL_SHARE };
                if request.payload().len().max(answer_bytes_max) > payload_bytes_max {
                    Verdict::Refuse(Status::Oversize)
                } else if flights >= flights_max || (flights > 0 && flight_bytes + bytes > bytes_max) {
                    Verdict::Wait
                } else if operation.looks_for_primes(request)
                    && are_full_of_searches(
                        at_device.values(),
                        peers[&request.head().connection].user,
                        in_flight_max,
                    )
                {
                    // It does not wait at the head of the queue, where what is quick would wait behind it.
                    Verdict::Refuse(Status::Busy)
                } else {
                    Verdict::Begin
                }
            };
            match self.queue.take(self.now, self.piece_bytes_max(room_bytes), verdict) {
                None => break,
                Some(Taken::Refused(request, status)) => {
                    let head = request.head();
                    let time_ms = if status == Status::Busy { self.stay_ms() } else { 0 };
                    let answer = Pdu::empty(Head { time_ms, ..head.answer(status) });
                    self.answer(head.connection, answer, actions);
                }
                Some(Taken::Piece(piece)) => {
                    room_bytes = room_bytes.saturating_sub(piece.to - piece.from);
                    self.take_off(&piece);
                    pieces.push(piece);
                }
            }
        }
        pieces
    }

    /// How much of something goes at once where there is so much room.
    fn piece_bytes_max(&self, room_bytes: usize) -> usize {
        if self.settings.is_cut { room_bytes } else { usize::MAX }
    }

    /// The open device is told whose a connection is, if it was not.
    fn introduce(&mut self, connection: Connection) {
        let (Some(peer), Device::Open { .. }) = (self.peers.get_mut(&connection), &self.device) else {
            return;
        };
        if peer.introduced.is_some_and(|(link, _)| link == self.link) {
            return;
        }
        let numbers = [peer.user].into_iter().chain(peer.groups.iter().copied().take(limits::GROUPS_MAX));
        let payload: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        peer.introduced = Some((self.link, self.notices.push(Operation::Introduce, connection, &payload)));
    }

    /// The open device is told that a connection was closed, once it has answered all of its requests; or of neither its
    /// coming nor its going, if it does not know of it yet, with this notice. So no more than two notices of each connection
    /// that the device knows or that is open ever wait, however fast they come and go.
    fn part(&mut self, connection: Connection, introduction: u64) {
        if self.notices.retract(introduction) {
            return;
        }
        if self.is_at_device(connection) {
            self.departing.insert(connection);
        } else {
            self.notices.push(Operation::Leave, connection, &[]);
        }
    }

    /// Whether the device has a request of a connection.
    fn is_at_device(&self, connection: Connection) -> bool {
        let numbers = (connection, 0)..=(connection, u32::MAX);
        self.in_flight.range(numbers).next().is_some()
    }

    /// A piece of a request goes to the device.
    fn take_off(&mut self, piece: &Piece) {
        let head = piece.request.head();
        let number = (head.connection, head.request);
        if piece.is_first() {
            let peer = &self.peers[&head.connection];
            let operation = piece.request.operation().expect("it was looked at when it was admitted");
            let flight = Flight {
                place: Place { lane: head.lane, user: peer.user, connection: head.connection },
                order: self.stats.requests_transmitted,
                sent_at: self.now,
                answer_bytes_max: operation.answer_bytes_max(&piece.request),
                bytes: peer.unanswered[&head.request].charge.bytes,
                request: piece.request.clone(),
                is_whole: false,
            };
            self.in_flight_bytes += flight.bytes;
            self.in_flight.insert(number, flight);
            self.stats.requests_transmitted += 1;
        }
        if piece.is_last() {
            let flight = self.in_flight.get_mut(&number).expect("it was taken in with its first piece");
            (flight.is_whole, flight.sent_at) = (true, self.now);
        }
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
        self.again.remove(&(head.connection, head.request));
        if self.peers.contains_key(&head.connection) {
            self.answer(head.connection, answer, actions);
        } else {
            self.stats.answers_late += 1;
            if !self.is_at_device(head.connection) && self.departing.remove(&head.connection) {
                self.notices.push(Operation::Leave, head.connection, &[]);
            }
        }
    }

    /// What the device had: requests that were not all sent wait on, what may be done twice is sent once more if
    /// `may_repeat`, and the rest is answered.
    fn fail_in_flight(&mut self, status: Status, may_repeat: bool, actions: &mut Vec<Action>) {
        self.in_flight_bytes = 0;
        self.notices.clear();
        self.departing.clear();
        self.queue.rewind();
        // The last one first, so that they wait in the order in which they were sent.
        let mut flights: Vec<_> = std::mem::take(&mut self.in_flight).into_iter().collect();
        flights.sort_by_key(|(_, flight)| std::cmp::Reverse(flight.order));
        for (number, flight) in flights {
            let head = flight.request.head();
            let is_open = self.peers.contains_key(&head.connection);
            if !is_open || !flight.is_whole {
                continue;
            }
            let operation = flight.request.operation().expect("it was looked at when it was admitted");
            if may_repeat && operation.row().may_repeat && self.again.insert(number) {
                self.stats.requests_repeated += 1;
                self.queue.push_again(flight.place, flight.request, flight.bytes, self.now);
            } else {
                self.answer(head.connection, Pdu::empty(head.answer(status)), actions);
            }
        }
    }

    /// What waits is answered; what the device had once, with that.
    fn fail_queued(&mut self, status: Status, actions: &mut Vec<Action>) {
        for request in self.queue.drain() {
            let head = request.head();
            let was_sent = self.again.contains(&(head.connection, head.request));
            let status = if was_sent { Status::DeviceLost } else { status };
            self.answer(head.connection, Pdu::empty(head.answer(status)), actions);
        }
    }

    fn tick(&mut self, actions: &mut Vec<Action>) {
        let now = self.now;
        for request in self.queue.expired(now) {
            let head = request.head();
            self.answer(head.connection, Pdu::empty(head.answer(Status::TooLate)), actions);
        }
        match self.device {
            Device::Closed { retry_at, failures } if retry_at <= now && self.stop_at.is_none() => {
                self.open(failures, 0, actions);
            }
            Device::Open { .. } => {
                let answer_max = self.settings.answer_max;
                if self.in_flight.values().any(|flight| flight.sent_at + answer_max <= now) {
                    self.lost(LinkFault::AnswerTimeout, actions);
                }
            }
            Device::Closed { .. } | Device::Opening { .. } => {}
        }
        if self.ends_at().is_some_and(|ends_at| ends_at <= now) {
            self.stop(actions);
        }
        self.close_stalled(actions);
        while let Some(connection) =
            now.checked_sub(self.settings.request_max).and_then(|at| self.begun.first(at))
        {
            self.break_off(connection, Head::default(), Status::Malformed, actions);
        }
    }

    /// Closes who has left answers unread for too long. Whoever read meanwhile is looked at again when it may be so.
    fn close_stalled(&mut self, actions: &mut Vec<Action>) {
        while let Some(&(noted_at, connection)) = self.unread.first()
            && noted_at + self.settings.unread_max <= self.now
        {
            self.unread.pop_first();
            let peer = self.peers.get_mut(&connection).expect("who is closed is not in the list");
            peer.noted_at = None;
            if peer.has_left_unread(self.settings.unread_max, self.now) {
                self.close_unread(connection, actions);
            } else {
                self.note_unread(connection);
            }
        }
    }

    fn note_unread(&mut self, connection: Connection) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        if peer.noted_at.is_none() && !peer.unwritten.is_empty() {
            peer.noted_at = Some(peer.moved_at);
            self.unread.insert((peer.moved_at, connection));
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
        self.fail_in_flight(Status::DeviceSilent, false, actions);
        // A request of which the device had a part.
        self.fail_queued(Status::Stopping, actions);
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
        let number = answer.head().request;
        // Invariant: who asks for the answer of a closed connection, or twice, is a bug of ours.
        let peer = self.peers.get_mut(&connection).expect("the connection of an admitted request is open");
        let admitted = peer.unanswered.remove(&number).expect("an admitted request is answered once");
        self.quota.answer(peer.user, &mut peer.share);
        self.again.remove(&(connection, number));
        let stay = self.now - admitted.at;
        self.stay = (7 * self.stay + stay) / 8;
        self.stats.count_stay(stay);
        self.deliver(connection, answer, Some(admitted.charge), actions);
    }

    /// There is room when one of those before is answered, about as soon as requests are these days.
    fn stay_ms(&self) -> u32 {
        (self.stay.as_millis() as u32).clamp(1, limits::BUSY_MS_MAX)
    }

    /// Answers a request that was not admitted.
    fn refuse(&mut self, connection: Connection, head: Head, status: Status, actions: &mut Vec<Action>) {
        let mut head = Head { connection, ..head.answer(status) };
        if status == Status::Busy {
            head.time_ms = if self.is_stuck(connection) { limits::BUSY_MS_MAX } else { self.stay_ms() };
        }
        self.deliver(connection, Pdu::empty(head), None, actions);
    }

    fn deliver(
        &mut self,
        connection: Connection,
        mut answer: Pdu,
        charge: Option<Charge>,
        actions: &mut Vec<Action>,
    ) {
        answer.stamp(self.epoch);
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        if peer.unwritten.is_empty() {
            peer.moved_at = self.now;
        }
        peer.unwritten.push_back(charge);
        self.unwritten += 1;
        let full = peer.unwritten.len() > limits::ANSWERS_PER_CONNECTION_MAX;
        self.stats.answers_by_status[usize::from(answer.head().status)] += 1;
        actions.push(Action::Answer { connection, answer });
        self.note_unread(connection);
        if full {
            self.close_unread(connection, actions);
        }
    }

    fn written(&mut self, connection: Connection, answers: usize) {
        let Some(peer) = self.peers.get_mut(&connection) else { return };
        assert!(answers <= peer.unwritten.len(), "more answers were written than given");
        for charge in peer.unwritten.drain(..answers).flatten() {
            self.quota.release(peer.user, &mut peer.share, charge);
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
        self.idle_since = self.now;
        self.begun.set(connection, None);
        self.unwritten -= peer.unwritten.len();
        if let Some(noted_at) = peer.noted_at {
            self.unread.remove(&(noted_at, connection));
        }
        self.quota.disconnect(peer.user, peer.share);
        self.queue.remove(peer.user, connection);
        if let Some((link, introduction)) = peer.introduced
            && link == self.link
            && self.is_open()
        {
            self.part(connection, introduction);
        }
        self.again.retain(|(other, _)| *other != connection);
    }
}
