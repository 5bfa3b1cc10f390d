//! The core under a seeded world: clients that pipeline, misbehave, read slowly and vanish; a device that is
//! slow, answers out of order, twice or nonsense, falls silent, is lost and cannot be opened; in every other world a second
//! one, with which other numbers hold.
//!
//! After each step the world checks what an application or an operator could see. `BROKER_SEED=n` replays one
//! world.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use broker::device::DeviceInfo;
use broker::limits::{
    ANSWERS_PER_CONNECTION_MAX, CONNECTIONS, IN_FLIGHT_BYTES_MAX, IN_FLIGHT_MAX, REQUEST_BYTES_MAX,
    REQUESTS_MAX, REQUESTS_PER_CONNECTION_MAX, TRANSFER_BYTES_MAX, TRANSFERS_MAX,
};
use broker::queue::Piece;
use broker::stream::Broken;
use broker::wire::{Connection, Head, KeyHandle, Lane, Operation, Pdu, Status};
use broker::{Action, Broker, Event, Fault, Fit, LinkFault, Settings, Stats};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const KEY: KeyHandle = KeyHandle(7);

/// What the world remembers of one connection.
#[derive(Default)]
struct Application {
    /// Payload tag of each request that has no answer yet.
    unanswered: BTreeMap<u32, u64>,
    /// Answers that its socket has not taken.
    unwritten: usize,
    next_request: u32,
    reads: bool,
    /// Since when a part of a request is there, and the rest is waited for.
    begun_at: Option<Duration>,
}

struct World {
    random: ChaCha8Rng,
    broker: Broker,
    /// What holds, as the device that is served narrows it.
    settings: Settings,
    told: Settings,
    fits: Vec<Fit>,
    /// Of each device, whether it cannot be opened now.
    away: Vec<bool>,
    /// Which was opened last, whether it has answered since, and when it was lost.
    last: Option<(usize, bool)>,
    lost_at: Duration,
    /// Times that the second one was opened.
    seconds: u64,
    now: Duration,
    applications: BTreeMap<Connection, Application>,
    numbers_seen: BTreeSet<Connection>,
    /// Answers given to applications; and requests that ended with their connection.
    answered: u64,
    orphaned: u64,
    asked: u64,
    /// What the device holds, in the order in which it came.
    at_device: VecDeque<Pdu>,
    /// What it has of requests that did not all come.
    in_parts: BTreeMap<(Connection, u32), usize>,
    /// Transfers that are under way.
    transfers: usize,
    /// Connections that it knows.
    introduced: BTreeSet<Connection>,
    /// Requests that it has answered wrongly or twice since it was opened.
    gave_up: usize,
    /// Connections that were closed because their request did not come as a whole.
    stalled: u64,
    link: Option<u64>,
    open: bool,
    stopped: bool,
    /// A running digest of all actions, to compare two runs of one seed.
    digest: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let settings = Settings {
            in_flight_max: 1 + below(&mut random, IN_FLIGHT_MAX),
            in_flight_bytes_max: 1 + below(&mut random, IN_FLIGHT_BYTES_MAX),
            transfers_max: 1 + below(&mut random, TRANSFERS_MAX),
            transfer_bytes_max: 1000 + below(&mut random, TRANSFER_BYTES_MAX - 1000),
            is_cut: below(&mut random, 2) == 0,
            answer_max: Duration::from_secs(1 + below(&mut random, 59) as u64),
            unread_max: Duration::from_secs(1 + below(&mut random, 9) as u64),
            request_max: Duration::from_secs(1 + below(&mut random, 9) as u64),
            ..Settings::default()
        };
        let second = Fit {
            is_cut: below(&mut random, 2) == 0,
            transfer_bytes_max: 1000 + below(&mut random, TRANSFER_BYTES_MAX - 1000),
            ..Fit::default()
        };
        let fits: Vec<_> = [Fit::default(), second].into_iter().take(1 + seed as usize % 2).collect();
        World {
            random,
            broker: Broker::among(settings, fits.clone()),
            settings,
            told: settings,
            away: vec![false; fits.len()],
            fits,
            last: None,
            lost_at: Duration::ZERO,
            seconds: 0,
            now: Duration::ZERO,
            applications: BTreeMap::new(),
            numbers_seen: BTreeSet::new(),
            answered: 0,
            orphaned: 0,
            asked: 0,
            at_device: VecDeque::new(),
            in_parts: BTreeMap::new(),
            transfers: 0,
            introduced: BTreeSet::new(),
            gave_up: 0,
            stalled: 0,
            link: None,
            open: false,
            stopped: false,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    fn chance(&mut self, one_in: usize) -> bool {
        below(&mut self.random, one_in) == 0
    }

    fn pick(&mut self) -> Option<Connection> {
        let count = self.applications.len();
        let index = below(&mut self.random, count.max(1));
        self.applications.keys().nth(index).copied()
    }

    /// Gives the core an event, does its actions, and checks both.
    fn step(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.broker.step(self.now, event, &mut actions);
        for action in actions {
            self.note(format!("{action:?}").as_bytes());
            self.perform(action);
        }
        self.check_bounds();
    }

    fn note(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Admit { connection, .. } => {
                assert!(self.numbers_seen.insert(connection), "{connection} was used before");
                assert_ne!(connection, Connection::BROKER);
                let application = Application { reads: true, ..Application::default() };
                self.applications.insert(connection, application);
            }
            Action::Refuse { notice } => {
                assert!(notice.status().is_ok_and(|status| status != Status::Done));
            }
            Action::Answer { connection, answer } => self.answer(connection, &answer),
            Action::Close { connection, .. } => {
                let gone = self.applications.remove(&connection).expect("only an open connection is closed");
                self.orphaned += gone.unanswered.len() as u64;
            }
            Action::OpenDevice { link, choice } => {
                assert_eq!(self.link, None, "a device is opened once at a time");
                self.link = Some(link);
                let (expected, is_at_once) = match self.last {
                    None => (0, true),
                    Some((_, true)) => (0, true),
                    Some((last, false)) if last + 1 < self.fits.len() => (last + 1, true),
                    Some((_, false)) => (0, false),
                };
                assert_eq!(
                    (choice, self.lost_at == self.now),
                    (expected, is_at_once),
                    "the list has its turns"
                );
                self.last = Some((choice, false));
            }
            Action::CloseDevice => {
                self.lost_at = self.now;
                self.link = None;
                self.open = false;
                self.at_device.clear();
                self.in_parts.clear();
                self.introduced.clear();
                self.gave_up = 0;
            }
            Action::Transmit { pieces } => {
                assert!(self.open, "a closed device is sent nothing");
                assert!(!pieces.is_empty());
                self.transfers += 1;
                assert!(self.transfers <= self.settings.transfers_max);
                let bytes: usize = pieces.iter().map(|piece| piece.to - piece.from).sum();
                assert!(!self.settings.is_cut || bytes <= self.settings.transfer_bytes_max);
                for piece in pieces {
                    self.put_together(piece);
                }
            }
            Action::Stopped => self.stopped = true,
        }
    }

    /// The device gets a piece.
    fn put_together(&mut self, piece: Piece) {
        let head = piece.request.head();
        assert_ne!(head.connection, Connection::BROKER);
        let operation = piece.request.operation().expect("the broker sends nothing else");
        let number = (head.connection, if operation.is_brokers() { u32::MAX } else { head.request });
        let got = if piece.is_first() { 0 } else { self.in_parts.remove(&number).expect("it has begun") };
        assert_eq!(piece.from, got, "pieces come in their order");
        assert!(self.settings.is_cut || piece.is_first() && piece.is_last());
        if piece.is_last() && operation.is_brokers() {
            let is_known = self.introduced.contains(&head.connection);
            assert_eq!(is_known, operation == Operation::Leave, "each is introduced once, and leaves once");
            let held = self.at_device.iter().any(|pdu| pdu.head().connection == head.connection);
            assert!(!held || !is_known || self.gave_up > 0, "it leaves when all is answered");
            if is_known {
                self.introduced.remove(&head.connection);
            } else {
                self.introduced.insert(head.connection);
            }
        } else if piece.is_last() {
            assert!(self.introduced.contains(&head.connection), "the device knows whose a request is");
            let copy = Pdu::new(head, piece.request.parameters(), piece.request.payload()).unwrap();
            self.at_device.push_back(copy);
        } else {
            self.in_parts.insert(number, piece.to);
        }
    }

    fn answer(&mut self, connection: Connection, answer: &Pdu) {
        let application = self.applications.get_mut(&connection).expect("only open connections are answered");
        let head = answer.head();
        assert_eq!(head.connection, connection, "an answer carries its connection's number");
        application.unwritten += 1;
        let status = answer.status().expect("the application knows each status");
        if let (Status::Malformed, Some(begun_at)) = (status, application.begun_at) {
            assert!(begun_at + self.settings.request_max <= self.now, "it has its time");
            self.stalled += 1;
        }
        if [Status::Malformed, Status::DuplicateRequest, Status::Version].contains(&status) {
            return; // about the connection; a close follows, and the world counts its requests there
        }
        let tag = application.unanswered.remove(&head.request).expect("each request is answered once");
        self.answered += 1;
        if status == Status::Done {
            assert_eq!(answer.payload()[..8], tag.to_le_bytes(), "the answer is another request's");
        } else {
            assert!(answer.payload().is_empty(), "a refusal holds no payload");
        }
    }

    fn check_bounds(&self) {
        let gauges = self.broker.gauges();
        assert_eq!(gauges.connections, self.applications.len());
        assert!(gauges.connections <= CONNECTIONS);
        assert!(gauges.held.requests <= REQUESTS_MAX && gauges.held.bytes <= REQUEST_BYTES_MAX);
        assert!(gauges.queued <= gauges.held.requests);
        assert!(gauges.in_flight <= self.settings.in_flight_max);
        assert_eq!(gauges.in_flight == 0, gauges.in_flight_bytes == 0);
        for application in self.applications.values() {
            assert!(application.unwritten <= ANSWERS_PER_CONNECTION_MAX);
            assert!(application.begun_at.is_none() || self.broker.needs_ticks());
        }
        // The device may hold requests that it answered wrongly and that the core gave up, never others.
        if self.open {
            let bytes: usize = self.at_device.iter().map(|pdu| pdu.bytes().len()).sum();
            assert!(self.at_device.len() <= self.settings.in_flight_max);
            assert!(self.at_device.len() <= 1 || bytes <= self.settings.in_flight_bytes_max);
        }
    }

    fn ask(&mut self, connection: Connection) {
        let wild = self.chance(400);
        let long = self.chance(50);
        let (tag, kind) = (self.random.next_u64(), below(&mut self.random, 40));
        let length = if long { 65_000 } else { below(&mut self.random, 64) };
        let application = self.applications.get_mut(&connection).expect("picked among the open");
        application.next_request = application.next_request.wrapping_add(1);
        let is_rest = application.begun_at.take().is_some();
        let number = match application.unanswered.first_key_value() {
            Some((&pending, _)) if wild => pending, // a duplicate
            _ => application.next_request,
        };
        let fresh = application.unanswered.insert(number, tag).is_none();
        self.asked += u64::from(fresh);
        let mut payload = tag.to_le_bytes().to_vec();
        payload.resize(8 + length, 0xAA);
        let mut head = Head::request(Operation::SealAes256Gcm, number, KEY);
        head.lane = Lane::ALL[below(&mut self.random, 3)];
        head.time_ms = if self.chance(4) { 1 + below(&mut self.random, 500) as u32 } else { 0 };
        match kind {
            0 => head.operation = 999,
            1 => head.key = KeyHandle::NONE,
            2 if wild => head.connection = connection,
            3 if wild => head.status = 1,
            _ => {}
        }
        let request = Pdu::new(head, &[1, 2, 3], &payload).unwrap();
        self.step(Event::Requested { connection, request });
        if is_rest {
            // Perhaps of a connection that was closed for what came.
            self.step(Event::Began { connection, waits: false });
        }
    }

    /// A part of a request comes; or there was one, and it is not waited for any more.
    fn begins(&mut self, connection: Connection) {
        let now = self.now;
        let application = self.applications.get_mut(&connection).expect("picked among the open");
        let waits = application.begun_at.is_none();
        application.begun_at = Some(now).filter(|_| waits);
        self.step(Event::Began { connection, waits });
    }

    fn tick(&mut self) {
        self.step(Event::Tick);
        let is_late = |begun_at: Duration| begun_at + self.settings.request_max <= self.now;
        let late = self.applications.values().filter(|one| one.begun_at.is_some_and(is_late)).count();
        assert_eq!(late, 0, "nobody keeps half a request for ever");
    }

    /// One honest answer, of any request that the device holds.
    fn device_answers(&mut self) {
        if self.at_device.is_empty() || !self.open {
            return;
        }
        let index = below(&mut self.random, self.at_device.len());
        let request = self.at_device.remove(index).expect("the index is within");
        let answer = Pdu::new(request.head().answer(Status::Done), &[], request.payload()).unwrap();
        let link = self.link.expect("an open device has a link");
        let strays = self.broker.stats().answers_stray;
        self.step(Event::DeviceAnswered { link, answer });
        if let Some((_, has_answered)) = &mut self.last {
            *has_answered |= self.broker.stats().answers_stray == strays;
        }
    }

    /// The oldest transfer is on its way.
    fn device_takes(&mut self) {
        let Some(link) = self.link.filter(|_| self.open && self.transfers > 0) else { return };
        self.transfers -= 1;
        self.step(Event::DeviceTook { link });
    }

    /// The device, or the wire, does what it should not.
    fn device_fails(&mut self) {
        let Some(link) = self.link else { return };
        let kind = below(&mut self.random, 6);
        self.gave_up += 1;
        let crc = LinkFault::Corrupt(Fault::Crc);
        match kind {
            0 => self.step(Event::DeviceLost { link, fault: LinkFault::HungUp }),
            1 => self.step(Event::DeviceLost { link, fault: crc }),
            2 => self.step(Event::DeviceLost { link: link.wrapping_sub(1), fault: LinkFault::HungUp }),
            _ if !self.open => {}
            3 => {
                let head = Head { connection: Connection(u64::MAX), ..Head::default() };
                self.step(Event::DeviceAnswered { link, answer: Pdu::empty(head) });
            }
            4 => {
                let Some(request) = self.at_device.pop_front() else { return };
                // An answer of another operation, with a payload that the right one could not have.
                let head = Head { operation: 1, ..request.head().answer(Status::Done) };
                let answer = Pdu::new(head, &[], &[9; 4000]).unwrap();
                self.step(Event::DeviceAnswered { link, answer });
            }
            _ => drop(self.at_device.pop_back()), // forgets a request: the core must give it up in time
        }
    }

    fn device_opens(&mut self) {
        let Some(link) = self.link.filter(|_| !self.open) else { return };
        let (choice, _) = self.last.expect("it is being opened");
        if self.chance(20) {
            let away = below(&mut self.random, self.away.len());
            self.away[away] ^= true;
        }
        if self.chance(3) || self.away[choice] {
            self.step(Event::DeviceLost { link, fault: LinkFault::OpenTimeout });
            return;
        }
        let fit = self.fits[choice];
        self.settings.is_cut = self.told.is_cut || fit.is_cut;
        self.settings.transfer_bytes_max = self.told.transfer_bytes_max.min(fit.transfer_bytes_max);
        self.seconds += choice as u64;
        (self.open, self.transfers) = (true, 0);
        let boot = self.random.next_u64() % 3;
        let info = DeviceInfo {
            payload_bytes_max: 65_564,
            in_flight_max: 1 + below(&mut self.random, 80) as u16,
            lanes: 1,
            boot,
            name: String::new(),
            store: String::new(),
        };
        self.step(Event::DeviceOpened { link, info });
        assert_eq!(self.broker.gauges().device, choice + 1);
    }

    fn writes(&mut self, connection: Connection) {
        let limit = below(&mut self.random, 20) + 1;
        let application = self.applications.get_mut(&connection).expect("picked among the open");
        let answers = application.unwritten.min(limit);
        if application.reads && answers > 0 {
            application.unwritten -= answers;
            self.step(Event::Written { connection, answers });
        }
    }

    /// One thing of the world's choice.
    fn live(&mut self) {
        let choice = below(&mut self.random, 100);
        let connection = self.pick();
        match (choice, connection) {
            (0..3, _) => {
                let user = 1000 + below(&mut self.random, 3) as u32;
                self.step(Event::Connected { user, groups: vec![100] });
            }
            (3..45, Some(connection)) => self.ask(connection),
            (45..70, Some(connection)) => self.writes(connection),
            (70..80, _) => self.device_answers(),
            (80..88, _) => self.device_takes(),
            (88..92, _) => self.device_opens(),
            (92..96, _) => {
                self.now += Duration::from_millis(below(&mut self.random, 120) as u64);
                self.tick();
            }
            (96, Some(connection)) => self.begins(connection),
            (97, Some(connection)) if self.chance(4) => self.step(Event::Disconnected { connection }),
            (98, Some(connection)) => {
                if self.chance(8) {
                    let broken = Broken { fault: Fault::Version { found: 9 }, head: Head::default() };
                    self.step(Event::Garbled { connection, broken });
                    assert!(!self.applications.contains_key(&connection), "a garbled stream is closed");
                } else if let Some(application) = self.applications.get_mut(&connection) {
                    application.reads = !application.reads;
                }
            }
            (99, _) if self.chance(5) => self.device_fails(),
            _ => {}
        }
    }

    /// Everybody behaves until nothing is left to do.
    fn settle(&mut self) {
        for application in self.applications.values_mut() {
            application.reads = true;
        }
        for _ in 0..100_000 {
            let gauges = self.broker.gauges();
            if gauges.held.requests == 0 && gauges.in_flight == 0 && self.open {
                return;
            }
            self.now += Duration::from_millis(50);
            self.tick();
            self.device_opens();
            self.device_takes();
            self.device_answers();
            for connection in self.applications.keys().copied().collect::<Vec<_>>() {
                self.writes(connection);
            }
        }
        panic!("the broker does not come to rest: {:?}", self.broker.gauges());
    }
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

/// Lives `steps` steps of a world, lets it settle, and returns its digest and counters.
fn run(seed: u64, steps: usize) -> (u64, Stats, [u64; 2]) {
    let mut world = World::new(seed);
    world.step(Event::Tick);
    for _ in 0..steps {
        world.live();
    }
    world.settle();
    assert!(world.applications.values().all(|application| application.unanswered.is_empty()));
    assert_eq!(world.asked, world.answered + world.orphaned, "each request has one end");
    let stats = world.broker.stats().clone();
    world.step(Event::Stop);
    assert!(world.stopped && world.applications.is_empty(), "an idle broker stops at once");
    (world.digest, stats, [world.seconds, world.stalled])
}

fn seeds() -> Vec<u64> {
    match std::env::var("BROKER_SEED") {
        Ok(seed) => vec![seed.parse().expect("BROKER_SEED is a number")],
        Err(_) => (1..=150).collect(),
    }
}

#[test]
fn each_request_has_one_answer_or_a_closed_connection() {
    let mut sum = BTreeMap::<&str, u64>::new();
    for seed in seeds() {
        println!("BROKER_SEED={seed}"); // shown when the test fails
        let (_, stats, [seconds, stalled]) = run(seed, 6000);
        for status in Status::ALL {
            *sum.entry(status.name()).or_default() += stats.answers(*status);
        }
        for (name, count) in [
            ("late", stats.answers_late),
            ("stray", stats.answers_stray),
            ("losses", stats.device_losses),
            ("open failures", stats.device_open_failures),
            ("restarts", stats.device_restarts),
            ("openings of a second device", seconds),
            ("closed with half a request", stalled),
            ("repeated", stats.requests_repeated),
            ("transfers of many", stats.transfers[3..].iter().sum()),
            ("closed malformed", stats.connections_closed_malformed),
            ("closed unread", stats.connections_closed_unread),
            ("full queues", u64::from(stats.queued_max >= REQUESTS_PER_CONNECTION_MAX)),
        ] {
            *sum.entry(name).or_default() += count;
        }
    }
    println!("{sum:#?}");
    if std::env::var_os("BROKER_SEED").is_none() {
        // The worlds are worth nothing if what they are for does not happen in them. What they never do is
        // listed.
        let broker = ["oversize", "connections-full", "stopping", "not-permitted", "unknown-user"];
        let keys = ["unknown-key", "wrong-purpose", "name-taken", "device-full"];
        let device = ["rejected", "device-fault", "unknown-context", "whole-only", "store-full"];
        let unseen: Vec<_> = sum.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
        let mut never = [&broker[..], &keys, &device].concat();
        never.sort_unstable();
        assert_eq!(unseen, never, "{sum:#?}");
    }
}

#[test]
fn equal_seeds_act_equally() {
    for seed in [1, 2, 3] {
        assert_eq!(run(seed, 3000).0, run(seed, 3000).0);
    }
    assert_ne!(run(1, 3000).0, run(2, 3000).0);
}
