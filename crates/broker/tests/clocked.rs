//! The core, the link and an emulated device on a clocked wire, in a world of its own time: what the wire's cycles carry,
//! how long a small request waits, and what is left of both when bytes are lost, damaged and out of order and the device
//! stands still or starts anew.
//!
//! `BROKER_SEED=n` replays one schedule of faults.

use std::collections::BTreeMap;
use std::time::Duration;

use broker::emulate::clocked::{Clocked, Clocks};
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::{PRESETS, Preset};
use broker::engine::SoftwareEngine;
use broker::limits::TICK;
use broker::link::HostEnd;
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use broker::{Action, Broker, Event, LinkFault, Stats};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How an application asks for echoes.
#[derive(Clone, Copy)]
struct Ask {
    user: u32,
    payload_bytes: usize,
    outstanding: usize,
    pause: Duration,
    total: u32,
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

struct World {
    random: ChaCha8Rng,
    now: Duration,
    tick_at: Duration,
    broker: Broker,
    preset: Preset,
    host: Option<HostEnd>,
    device: Clocked<SoftwareEngine>,
    /// Transactions that are not finished.
    begun: usize,
    is_ready: bool,
    applications: Vec<Application>,
    answers: BTreeMap<Status, u64>,
    is_stopped: bool,
}

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

impl World {
    fn new(seed: u64, preset: Preset, faults: Faults, asks: &[Ask]) -> World {
        let mut world = World {
            random: ChaCha8Rng::seed_from_u64(seed),
            now: Duration::ZERO,
            tick_at: TICK,
            broker: Broker::new(preset.settings()),
            preset,
            host: None,
            device: Clocked::new(SoftwareEngine::new(Vec::new()).unwrap(), preset, faults),
            begun: 0,
            is_ready: false,
            applications: Vec::new(),
            answers: BTreeMap::new(),
            is_stopped: false,
        };
        world.device.open();
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

    fn step(&mut self, event: Event) {
        let mut actions = Vec::new();
        if matches!(event, Event::DeviceLost { fault: LinkFault::OpenTimeout, .. }) {
            self.reopen();
        }
        self.broker.step(self.now, event, &mut actions);
        for action in actions {
            self.perform(action);
        }
    }

    /// The bus is opened anew, and what was under way is lost.
    fn reopen(&mut self) {
        self.device.open();
        (self.begun, self.is_ready) = (0, false);
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Admit { connection } => {
                let last = self.applications.last_mut().expect("it has just connected");
                last.connection = connection;
            }
            Action::Answer { connection, answer } => self.answer(connection, &answer),
            Action::OpenDevice { link } => {
                let session = self.random.next_u64();
                self.host = Some(HostEnd::open(link, session, self.now, self.preset.transfer_bytes_max));
            }
            Action::CloseDevice => {
                self.host = None;
                if below(&mut self.random, 4) == 0 {
                    self.reopen();
                }
                // What is under way is finished, and nobody listens to it.
                while self.begun > 0 {
                    self.now = self.device.next_at().expect("a transaction ends").max(self.now);
                    self.hear(&mut Vec::new());
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
        let status = answer.status().unwrap();
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

    /// Everything that happens at this instant; then the next one.
    fn pass(&mut self) {
        self.ask();
        self.clock();
        if self.tick_at <= self.now {
            self.tick_at = self.now + TICK;
            self.step(Event::Tick);
        }
        let asks = self.applications.iter().filter(|one| one.wants_to_ask()).map(|one| one.asks_at);
        let next = asks.chain(self.device.next_at()).chain([self.tick_at]).min();
        self.now = next.expect("a tick comes").max(self.now);
    }

    fn ask(&mut self) {
        for index in 0..self.applications.len() {
            loop {
                let application = &mut self.applications[index];
                if !application.wants_to_ask() || application.asks_at > self.now {
                    break;
                }
                let mut payload = vec![0; application.ask.payload_bytes];
                self.random.fill_bytes(&mut payload);
                application.asked += 1;
                application.asks_at = self.now + application.ask.pause;
                application.unanswered.insert(application.asked, (payload.clone(), self.now));
                let head = Head::request(Operation::Echo, application.asked, KeyHandle::NONE);
                let request = Pdu::new(head, &[], &payload).unwrap();
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
                while self.begun < self.preset.depth {
                    let mut wire = Vec::new();
                    host.begin(self.is_ready, self.preset.transaction_bytes_max, &mut wire);
                    if wire.is_empty() {
                        break;
                    }
                    self.device.begin(self.now, &wire);
                    (self.begun, begins) = (self.begun + 1, true);
                }
            }
            let heard = self.hear(&mut events);
            if !begins && !heard && events.is_empty() {
                return;
            }
            events.into_iter().for_each(|event| self.step(event));
        }
    }

    fn hear(&mut self, events: &mut Vec<Event>) -> bool {
        let mut heard = false;
        while let Some(reply) = self.device.advance(self.now) {
            (self.is_ready, heard) = (reply.is_ready, true);
            if !reply.bytes().is_empty() {
                self.begun -= 1;
                if let Some(host) = self.host.as_mut().filter(|host| host.is_busy()) {
                    host.finish(self.now, reply.bytes(), events);
                }
            }
        }
        heard
    }

    /// Lives until all is asked and answered.
    fn finish(&mut self) {
        let until = self.now + Duration::from_secs(3600);
        let is_done = |one: &Application| one.is_gone || !one.wants_to_ask() && one.unanswered.is_empty();
        while !self.applications.iter().all(is_done) {
            assert!(self.now < until, "the broker does not come to rest: {:?}", self.broker.gauges());
            self.pass();
        }
    }

    fn stats(&self) -> &Stats {
        self.broker.stats()
    }
}

fn preset(name: &str) -> Preset {
    Preset::named(name).expect("it is in the table")
}

fn without_faults() -> Faults {
    Faults::new(Rates::default(), 0)
}

/// What clocks did between two instants.
fn since(before: Clocks, after: Clocks) -> [f64; 3] {
    [
        after.cycles - before.cycles,
        after.request_cycles - before.request_cycles,
        after.answer_cycles - before.answer_cycles,
    ]
    .map(|cycles| cycles as f64)
}

#[test]
fn eighty_requests_of_64_kib_fill_the_clock_in_both_directions() {
    let ask = Ask { user: 1000, payload_bytes: 65_536, outstanding: 1, pause: Duration::ZERO, total: 1 };
    for name in ["ftdi-30MHz", "spidev"] {
        let mut world = World::new(1, preset(name), without_faults(), &[ask; 80]);
        let before = world.device.clocks();
        world.finish();
        let [cycles, requests, answers] = since(before, world.device.clocks());
        println!("{name}: requests {:.4}, answers {:.4} of the cycles", requests / cycles, answers / cycles);
        assert!(requests / cycles >= 0.97 && answers / cycles >= 0.97);
        assert_eq!(world.answers, BTreeMap::from([(Status::Done, 80)]));
    }
}

#[test]
fn a_light_application_waits_for_no_more_than_two_transfers_of_8_kib() {
    const LIGHT: Ask =
        Ask { user: 1000, payload_bytes: 24, outstanding: 1, pause: Duration::from_millis(10), total: 400 };
    let preset = preset("ftdi-30MHz");
    let transfer = preset.time(preset.cycles(8192));
    let p99 = |world: &World| {
        let mut latencies = world.applications[0].latencies.clone();
        latencies.sort_unstable();
        latencies[latencies.len() * 99 / 100]
    };
    let mut alone = World::new(1, preset, without_faults(), &[LIGHT]);
    alone.finish();
    for users in [1u32, 17] {
        let greedy = |number: u32| Ask {
            user: 1000 + number % users,
            payload_bytes: 65_536 - 40,
            outstanding: 8,
            pause: Duration::ZERO,
            total: u32::MAX,
        };
        let asks: Vec<Ask> = [LIGHT].into_iter().chain((1..=16).map(greedy)).collect();
        let mut world = World::new(1, preset, without_faults(), &asks);
        let (before, from) = (world.device.clocks(), world.now);
        while world.applications[0].latencies.len() < 400 {
            world.pass();
        }
        let [cycles, requests, answers] = since(before, world.device.clocks());
        let busy = cycles / (preset.clock_khz as f64 * 1000.0 * (world.now - from).as_secs_f64());
        println!(
            "{users} users: alone {:?}, beside 16 {:?}, link busy {busy:.3}, requests {:.3}, answers {:.3}",
            p99(&alone),
            p99(&world),
            requests / cycles,
            answers / cycles
        );
        assert!(p99(&world) <= p99(&alone) + 2 * transfer);
        assert!(busy >= 0.9);
    }
}

#[test]
fn each_preset_carries_requests() {
    for preset in PRESETS {
        let ask = Ask { user: 1, payload_bytes: 300, outstanding: 2, pause: Duration::ZERO, total: 5 };
        let mut world = World::new(1, *preset, without_faults(), &[ask; 2]);
        let (before, from) = (world.device.clocks(), world.now);
        world.finish();
        let clocks = world.device.clocks();
        assert_eq!(world.answers, BTreeMap::from([(Status::Done, 10)]), "{}", preset.name);
        assert_eq!(clocks.requests - before.requests, 10);
        // The wire cannot carry them faster than it is.
        let least = preset.time(10 * 340 * preset.byte_cycles);
        assert!(world.now - from >= least, "{}: {:?} for {least:?}", preset.name, world.now - from);
    }
}

/// A world of its seed's choice, in which things go wrong.
fn run(seed: u64) -> (Stats, BTreeMap<Status, u64>, Clocks) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let preset = preset(["loopback", "ftdi-30MHz", "spidev", "i2c-400k"][below(&mut random, 4)]);
    let mut rate = || below(&mut random, 2) as f64 * below(&mut random, 60) as f64 / 1000.0;
    let rates = Rates { drop: rate(), corrupt: rate(), stall: rate(), reset: rate(), reorder: rate() };
    let mut asks = Vec::new();
    for user in 0..1 + below(&mut random, 5) as u32 {
        asks.push(Ask {
            user,
            payload_bytes: [0, 10, 200, 3000, 20_000][below(&mut random, 5)],
            outstanding: 1 + below(&mut random, 6),
            pause: Duration::from_millis(below(&mut random, 8) as u64),
            total: 1 + below(&mut random, 30) as u32,
        });
    }
    let mut world = World::new(seed, preset, Faults::new(rates, seed), &asks);
    while below(&mut random, 200) > 0 {
        world.pass();
    }
    if below(&mut random, 2) == 0 {
        let leaves = &mut world.applications[0];
        leaves.is_gone = true;
        let connection = leaves.connection;
        world.step(Event::Disconnected { connection });
    }
    if below(&mut random, 4) == 0 {
        world.step(Event::Stop);
        while !world.is_stopped {
            world.pass();
        }
        assert!(world.applications.iter().all(|one| one.is_gone));
    }
    world.finish();
    (world.stats().clone(), world.answers.clone(), world.device.clocks())
}

#[test]
fn each_request_has_one_answer_whatever_goes_wrong_on_the_wire() {
    let seeds = match std::env::var("BROKER_SEED") {
        Ok(seed) => vec![seed.parse().expect("BROKER_SEED is a number")],
        Err(_) => (1..=3000).collect(),
    };
    let (mut answers, mut sum) = (BTreeMap::<Status, u64>::new(), BTreeMap::<&str, u64>::new());
    for seed in &seeds {
        println!("BROKER_SEED={seed}"); // shown when the test fails
        let (stats, answered, clocks) = run(*seed);
        for (status, count) in answered {
            *answers.entry(status).or_default() += count;
        }
        for (name, count) in [
            ("drops", clocks.struck.drops),
            ("corruptions", clocks.struck.corruptions),
            ("stalls", clocks.struck.stalls),
            ("resets", clocks.struck.resets),
            ("reorders", clocks.struck.reorders),
            ("openings of the bus", clocks.opens),
            ("losses", stats.device_losses),
            ("failed openings", stats.device_open_failures),
            ("repeated", stats.requests_repeated),
            ("late", stats.answers_late),
        ] {
            *sum.entry(name).or_default() += count;
        }
    }
    println!("{answers:?} {sum:#?}");
    if seeds.len() > 1 {
        // The worlds are worth nothing if what they are for does not happen in them.
        assert!(sum.values().all(|count| *count > 0), "{sum:#?}");
        assert!(answers.contains_key(&Status::WireCorrupt), "{answers:?}");
        assert!(answers[&Status::Done] > 10 * seeds.len() as u64);
    }
}
