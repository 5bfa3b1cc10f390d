//! The core, the link and an emulated device on a clocked wire, in a world of its own time: what a system of this device
//! and these applications does, exactly, and in far less time than it would take.
//!
//! Owns the applications of that world and the order of what happens at one instant. Sockets, processes and computing on
//! the host take no time in it; what they take is measured on real ones. `direct` has the applications that share a device
//! without a broker, `sharing` compares, `fairness` looks at one that asks for
//! little.
//!
//! Invariant: equal seeds give equal worlds.

use std::collections::BTreeMap;
use std::time::Duration;

pub mod direct;
pub mod fairness;
pub mod sharing;

use crate::device::Loopback;
use crate::emulate::clocked::{Clocked, Clocks};
use crate::emulate::draws::Draws;
use crate::emulate::faults::Faults;
use crate::emulate::preset::Preset;
use crate::limits::{HEADER_BYTES, TICK};
use crate::link::HostEnd;
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use crate::{Action, Broker, Event, LinkFault, Settings, Stats};

/// How an application asks for echoes.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Whose it is.
    pub user: u32,
    /// Length of each request, its header included.
    pub pdu_bytes: usize,
    /// Requests that are not answered, at a time.
    pub outstanding: usize,
    /// The least time between two requests.
    pub pause: Duration,
    /// How many it asks.
    pub total: u32,
}

struct Application {
    ask: Ask,
    connection: Connection,
    asked: u32,
    asks_at: Duration,
    /// What each request without an answer said, and when.
    unanswered: BTreeMap<u32, (Vec<u8>, Duration)>,
    latencies: Vec<Duration>,
    is_gone: bool,
}

impl Application {
    fn wants_to_ask(&self) -> bool {
        !self.is_gone && self.asked < self.ask.total && self.unanswered.len() < self.ask.outstanding
    }
}

/// The bus, as the thread sees it that drives it.
struct Wire {
    device: Clocked<Loopback>,
    preset: Preset,
    /// Transactions that are not finished.
    begun: usize,
    is_ready: bool,
}

impl Wire {
    fn new(preset: Preset, faults: Faults) -> Wire {
        let mut device = Clocked::new(Loopback::default(), preset, faults);
        device.open();
        Wire { device, preset, begun: 0, is_ready: false }
    }

    /// The bus is opened anew, and what was under way is lost.
    fn reopen(&mut self) {
        self.device.open();
        (self.begun, self.is_ready) = (0, false);
    }

    /// Begins what can be begun; whether there was anything.
    fn begin(&mut self, now: Duration, host: &mut HostEnd) -> bool {
        let before = self.begun;
        while self.begun < self.preset.depth {
            let mut bytes = Vec::new();
            host.begin(self.is_ready, self.preset.transaction_bytes_max, &mut bytes);
            if bytes.is_empty() {
                break;
            }
            self.device.begin(now, &bytes);
            self.begun += 1;
        }
        self.begun > before
    }

    /// Gives the host all that has come; whether there was anything.
    fn hear(&mut self, now: Duration, mut host: Option<&mut HostEnd>, events: &mut Vec<Event>) -> bool {
        let mut heard = false;
        while let Some(reply) = self.device.advance(now) {
            (self.is_ready, heard) = (reply.is_ready, true);
            if !reply.bytes().is_empty() {
                self.begun -= 1;
                if let Some(host) = host.as_mut().filter(|host| host.is_busy()) {
                    host.finish(now, reply.bytes(), events);
                }
            }
        }
        heard
    }
}

/// A world.
pub struct Simulation {
    draws: Draws,
    now: Duration,
    tick_at: Duration,
    broker: Broker,
    host: Option<HostEnd>,
    wire: Wire,
    fetch_bytes_max: usize,
    packet_bytes: usize,
    applications: Vec<Application>,
    answers: BTreeMap<Status, u64>,
    is_stopped: bool,
}

impl Simulation {
    /// A world in which the device is open, and the applications are connected and have not asked. `packet_bytes`: what
    /// each transaction fills a multiple of.
    pub fn new(
        seed: u64,
        preset: Preset,
        settings: Settings,
        packet_bytes: usize,
        faults: Faults,
        asks: &[Ask],
    ) -> Simulation {
        let mut world = Simulation {
            draws: Draws::new(seed),
            now: Duration::ZERO,
            tick_at: TICK,
            broker: Broker::new(settings),
            host: None,
            wire: Wire::new(preset, faults),
            fetch_bytes_max: settings.transfer_bytes_max,
            packet_bytes,
            applications: Vec::new(),
            answers: BTreeMap::new(),
            is_stopped: false,
        };
        world.step(Event::Tick);
        while !world.broker.is_open() {
            world.pass();
        }
        for ask in asks {
            world.applications.push(Application {
                ask: *ask,
                connection: Connection::BROKER,
                asked: 0,
                asks_at: world.now,
                unanswered: BTreeMap::new(),
                latencies: Vec::new(),
                is_gone: false,
            });
            world.step(Event::Connected { user: ask.user, groups: Vec::new() });
        }
        world
    }

    /// What time it is.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// What the device did.
    pub fn clocks(&self) -> Clocks {
        self.wire.device.clocks()
    }

    /// What the broker did.
    pub fn stats(&self) -> &Stats {
        self.broker.stats()
    }

    /// How many answers there were, by status.
    pub fn answers(&self) -> &BTreeMap<Status, u64> {
        &self.answers
    }

    /// How long each answer took that the application of this number got, oldest first.
    pub fn latencies(&self, application: usize) -> &[Duration] {
        &self.applications[application].latencies
    }

    /// An application hangs up.
    pub fn leave(&mut self, application: usize) {
        let leaves = &mut self.applications[application];
        leaves.is_gone = true;
        let connection = leaves.connection;
        self.step(Event::Disconnected { connection });
    }

    /// The broker ends.
    ///
    /// # Panics
    /// When somebody is connected still.
    pub fn stop(&mut self) {
        self.step(Event::Stop);
        while !self.is_stopped {
            self.pass();
        }
        assert!(self.applications.iter().all(|one| one.is_gone));
    }

    /// Everything that happens at this instant; then it is the next one.
    ///
    /// # Panics
    /// When the broker breaks its word: an answer that nobody waits for, or another one's.
    pub fn pass(&mut self) {
        self.happen();
        self.advance();
    }

    fn happen(&mut self) {
        self.ask();
        self.clock();
        if self.tick_at <= self.now {
            self.tick_at = self.now + TICK;
            self.step(Event::Tick);
        }
    }

    fn advance(&mut self) {
        let asks = self.applications.iter().filter(|one| one.wants_to_ask()).map(|one| one.asks_at);
        let next = asks.chain(self.wire.device.next_at()).chain([self.tick_at]).min();
        self.now = next.expect("a tick comes").max(self.now);
    }

    /// Lives until all is asked and answered, and no longer.
    ///
    /// # Panics
    /// As [`pass`](Self::pass), and when that does not come within an hour.
    pub fn finish(&mut self) {
        let until = self.now + Duration::from_secs(3600);
        self.happen();
        while !self.is_finished() {
            assert!(self.now < until, "the broker does not come to rest: {:?}", self.broker.gauges());
            self.advance();
            self.happen();
        }
    }

    fn is_finished(&self) -> bool {
        let is_done =
            |one: &Application| one.is_gone || one.asked == one.ask.total && one.unanswered.is_empty();
        self.applications.iter().all(is_done)
    }

    fn step(&mut self, event: Event) {
        let mut actions = Vec::new();
        if matches!(event, Event::DeviceLost { fault: LinkFault::OpenTimeout, .. }) {
            self.wire.reopen();
        }
        self.broker.step(self.now, event, &mut actions);
        for action in actions {
            self.perform(action);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Admit { connection, .. } => {
                let last = self.applications.last_mut().expect("it has just connected");
                last.connection = connection;
            }
            Action::Answer { connection, answer } => self.answer(connection, &answer),
            Action::OpenDevice { link, .. } => {
                let mut host = HostEnd::open(link, self.draws.draw(), self.now, self.fetch_bytes_max);
                host.fill_packets(self.packet_bytes);
                self.host = Some(host);
            }
            Action::CloseDevice => {
                self.host = None;
                if self.draws.below(4) == 0 {
                    self.wire.reopen();
                }
                // What is under way is finished, and nobody listens to it.
                while self.wire.begun > 0 {
                    self.now = self.wire.device.next_at().expect("a transaction ends").max(self.now);
                    self.wire.hear(self.now, None, &mut Vec::new());
                }
            }
            Action::Transmit { pieces } => {
                self.host.as_mut().expect("an open device has an end").transmit(&pieces);
            }
            Action::Close { connection, .. } => {
                let application = self.applications.iter_mut().find(|one| one.connection == connection);
                let application = application.expect("only an open connection is closed");
                assert!(application.is_gone || application.unanswered.is_empty(), "all were answered");
                application.is_gone = true;
            }
            Action::Stopped => self.is_stopped = true,
            Action::Refuse { .. } => panic!("nobody connects late"),
        }
    }

    fn answer(&mut self, connection: Connection, answer: &Pdu) {
        let application = self.applications.iter_mut().find(|one| one.connection == connection);
        let application = application.expect("an answer goes to who asked");
        assert!(!application.is_gone, "only open connections are answered");
        let unanswered = application.unanswered.remove(&answer.head().request);
        let (payload, at) = unanswered.expect("each request is answered once");
        let status = answer.status().expect("it is in the table");
        if status == Status::Done {
            assert!(answer.payload() == payload, "the answer is another request's");
            application.latencies.push(self.now - at);
        } else {
            assert!(status.may_repeat(), "{status:?}: the request was a good one");
        }
        application.asks_at = application.asks_at.max(self.now);
        *self.answers.entry(status).or_default() += 1;
        self.step(Event::Written { connection, answers: 1 });
    }

    fn ask(&mut self) {
        for index in 0..self.applications.len() {
            loop {
                let application = &mut self.applications[index];
                if !application.wants_to_ask() || application.asks_at > self.now {
                    break;
                }
                application.asked += 1;
                application.asks_at = self.now + application.ask.pause;
                let request = echo(&mut self.draws, application.asked, application.ask.pdu_bytes);
                let unanswered = (request.payload().to_vec(), self.now);
                application.unanswered.insert(application.asked, unanswered);
                let connection = application.connection;
                self.step(Event::Requested { connection, request });
            }
        }
    }

    /// What the device's thread does, until there is nothing to do at this instant.
    fn clock(&mut self) {
        loop {
            let (mut events, mut begins) = (Vec::new(), false);
            if let Some(host) = &mut self.host {
                host.pass_time(self.now, &mut events);
                begins = self.wire.begin(self.now, host);
            }
            let heard = self.wire.hear(self.now, self.host.as_mut(), &mut events);
            if !begins && !heard && events.is_empty() {
                return;
            }
            events.into_iter().for_each(|event| self.step(event));
        }
    }
}

/// A request of this number and length for an echo of what is drawn.
fn echo(draws: &mut Draws, number: u32, pdu_bytes: usize) -> Pdu {
    let payload = draws.bytes(pdu_bytes.saturating_sub(HEADER_BYTES));
    let head = Head::request(Operation::Echo, number, KeyHandle::NONE);
    Pdu::new(head, &[], &payload).expect("it is within its limits")
}
