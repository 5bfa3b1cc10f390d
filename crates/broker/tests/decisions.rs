//! Single decisions of the core, each a fact that its name states. Random sequences are in `simulation.rs`.

use std::time::Duration;

use broker::device::DeviceInfo;
use broker::limits::{
    ANSWERS_PER_CONNECTION_MAX, BUSY_MS_MAX, CONNECTIONS, CONNECTIONS_PER_USER, REOPEN_MAX,
    SEARCHES_PER_USER_MAX, STOP_MAX,
};
use broker::queue::Piece;
use broker::quota::Bounds;
use broker::template::{Algorithm, Template, Usages};
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use broker::{Action, Broker, Event, Fault, Fit, LinkFault, Settings};

const KEY: KeyHandle = KeyHandle(7);

struct Bench {
    broker: Broker,
    now: Duration,
    link: u64,
    /// Whether a transfer is on its way as soon as it is transmitted.
    is_fast: bool,
}

impl Bench {
    fn new(settings: Settings) -> Bench {
        Bench::of(Broker::new(settings))
    }

    fn of(broker: Broker) -> Bench {
        let mut bench = Bench { broker, now: Duration::ZERO, link: 0, is_fast: true };
        bench.step(Event::Tick);
        bench
    }

    /// A broker with its device open.
    fn open() -> Bench {
        let mut bench = Bench::new(Settings::default());
        bench.device_opens(65_564, 1);
        bench
    }

    fn device_opens(&mut self, payload_bytes_max: u32, boot: u64) -> Vec<Action> {
        let info = DeviceInfo {
            payload_bytes_max,
            in_flight_max: 64,
            lanes: 1,
            boot,
            name: String::new(),
            store: String::new(),
        };
        self.step(Event::DeviceOpened { link: self.link, info })
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.broker.step(self.now, event, &mut actions);
        let mut done = 0;
        while let Some(action) = actions.get(done) {
            done += 1;
            match action {
                Action::OpenDevice { link, .. } => self.link = *link,
                Action::Transmit { .. } if self.is_fast => {
                    self.broker.step(self.now, Event::DeviceTook { link: self.link }, &mut actions);
                }
                _ => {}
            }
        }
        actions
    }

    fn wait(&mut self, time: Duration) -> Vec<Action> {
        self.now += time;
        self.step(Event::Tick)
    }

    fn connect(&mut self) -> Connection {
        match self.step(Event::Connected { user: 1000, groups: vec![100] })[..] {
            [Action::Admit { connection, .. }] => connection,
            ref other => panic!("not admitted: {other:?}"),
        }
    }

    fn ask(&mut self, connection: Connection, number: u32) -> Vec<Action> {
        let head = Head::request(Operation::SealAes256Gcm, number, KEY);
        self.step(Event::Requested { connection, request: Pdu::new(head, &[], b"plain").unwrap() })
    }

    fn device_answers(&mut self, connection: Connection, number: u32) -> Vec<Action> {
        let head = Head { connection, ..Head::request(Operation::SealAes256Gcm, number, KEY) };
        let answer = Pdu::new(head.answer(Status::Done), &[], b"sealed").unwrap();
        self.step(Event::DeviceAnswered { link: self.link, answer })
    }

    fn lose(&mut self, fault: LinkFault) -> Vec<Action> {
        self.step(Event::DeviceLost { link: self.link, fault })
    }
}

/// Which connection is told what about which request.
fn answers(actions: &[Action]) -> Vec<(u64, u32, Status)> {
    let answer = |action: &Action| match action {
        Action::Answer { connection, answer } => {
            Some((connection.0, answer.head().request, answer.status().unwrap()))
        }
        _ => None,
    };
    actions.iter().filter_map(answer).collect()
}

/// What the device is told of connections: whether one comes, and which.
fn told(actions: &[Action]) -> Vec<(bool, u64)> {
    let sent = |action: &Action| match action {
        Action::Transmit { pieces } => pieces.clone(),
        _ => Vec::new(),
    };
    let notice = |piece: Piece| {
        let operation = piece.request.operation().ok().filter(|operation| operation.is_brokers())?;
        Some((operation == Operation::Introduce, piece.request.head().connection.0))
    };
    actions.iter().flat_map(sent).filter_map(notice).collect()
}

fn transmitted(actions: &[Action]) -> Vec<(u64, u32)> {
    let sent = |action: &Action| match action {
        Action::Transmit { pieces } => pieces.clone(),
        _ => Vec::new(),
    };
    let is_told = |piece: &Piece| piece.request.operation().is_ok_and(Operation::is_brokers);
    let number = |piece: Piece| (piece.request.head().connection.0, piece.request.head().request);
    actions.iter().flat_map(sent).filter(|piece| !is_told(piece)).map(number).collect()
}

#[test]
fn answers_find_their_askers_in_any_order() {
    let mut bench = Bench::open();
    let (a, b) = (bench.connect(), bench.connect());
    for (connection, number) in [(a, 1), (b, 1), (a, 2)] {
        assert_eq!(transmitted(&bench.ask(connection, number)), [(connection.0, number)]);
    }
    for (connection, number) in [(a, 2), (b, 1), (a, 1)] {
        let actions = bench.device_answers(connection, number);
        assert_eq!(answers(&actions), [(connection.0, number, Status::Done)]);
    }
}

#[test]
fn a_late_answer_of_a_closed_connection_is_dropped_and_counted() {
    let mut bench = Bench::open();
    let a = bench.connect();
    bench.ask(a, 1);
    bench.step(Event::Disconnected { connection: a });
    let b = bench.connect();
    assert_ne!(a, b, "the number is not used again");
    assert!(answers(&bench.device_answers(a, 1)).is_empty());
    assert_eq!((bench.broker.stats().answers_late, bench.broker.stats().answers_stray), (1, 0));
    assert!(bench.device_answers(a, 1).is_empty());
    assert_eq!((bench.broker.stats().answers_late, bench.broker.stats().answers_stray), (1, 1));
}

#[test]
fn a_closed_connections_request_keeps_its_place_at_the_device() {
    let mut bench = Bench::new(Settings { in_flight_max: 1, ..Settings::default() });
    bench.device_opens(65_564, 1);
    let (a, b) = (bench.connect(), bench.connect());
    bench.ask(a, 1);
    bench.step(Event::Disconnected { connection: a });
    assert!(transmitted(&bench.ask(b, 1)).is_empty(), "the device is still at it");
    assert_eq!(transmitted(&bench.device_answers(a, 1)), [(b.0, 1)]);
}

#[test]
fn the_65th_request_is_busy_and_the_first_64_are_not_harmed() {
    let mut bench = Bench::open();
    let a = bench.connect();
    for number in 0..64 {
        assert!(answers(&bench.ask(a, number)).is_empty());
    }
    assert_eq!(answers(&bench.ask(a, 64)), [(a.0, 64, Status::Busy)]);
    // An answer makes room only once it was written: until then its bytes are held.
    bench.device_answers(a, 0);
    assert_eq!(answers(&bench.ask(a, 65)), [(a.0, 65, Status::Busy)]);
    bench.step(Event::Written { connection: a, answers: 2 });
    assert!(answers(&bench.ask(a, 66)).is_empty());
    let b = bench.connect();
    assert!(answers(&bench.ask(b, 0)).is_empty(), "one connection's queue is not another's");
}

#[test]
fn who_does_not_read_is_told_to_come_much_later_than_who_asks_too_much() {
    let pause_ms = |actions: &[Action]| match actions {
        [Action::Answer { answer, .. }] => (answer.status(), answer.head().time_ms),
        other => panic!("{other:?}"),
    };
    let bounds = Bounds { requests_per_user: 8, ..Bounds::default() };
    let mut bench = Bench::new(Settings { bounds, ..Settings::default() });
    bench.device_opens(65_564, 1);
    let (a, b) = (bench.connect(), bench.connect());
    for number in 0..8 {
        bench.ask(a, number);
    }
    assert_eq!(pause_ms(&bench.ask(b, 1)), (Ok(Status::Busy), 1));
    for number in 0..5 {
        assert!(!bench.broker.is_stuck(b));
        bench.device_answers(a, number);
    }
    assert_eq!(pause_ms(&bench.ask(b, 2)), (Ok(Status::Busy), BUSY_MS_MAX));
    assert!(bench.broker.is_stuck(b), "it is one user's");
    bench.step(Event::Written { connection: a, answers: 5 });
    assert!(!bench.broker.is_stuck(b) && answers(&bench.ask(b, 3)).is_empty());
}

#[test]
fn a_request_that_is_not_understood_is_named_and_closes_its_connection() {
    let request = |head| Pdu::new(head, &[], b"plain").unwrap();
    let head = Head::request(Operation::SealAes256Gcm, 1, KEY);
    for (bad, expected) in [
        (Head { connection: Connection(1), ..head }, Status::Malformed),
        (Head { status: 3, ..head }, Status::Malformed),
        (head, Status::DuplicateRequest),
    ] {
        let mut bench = Bench::open();
        let a = bench.connect();
        bench.ask(a, 1);
        let actions = bench.step(Event::Requested { connection: a, request: request(bad) });
        assert_eq!(answers(&actions), [(a.0, 1, expected)]);
        assert!(matches!(actions[..], [_, Action::Close { flush: true, .. }]));
        assert_eq!(bench.broker.stats().connections_closed_malformed, 1);
    }
}

#[test]
fn a_request_of_the_wrong_shape_is_named_and_keeps_its_connection() {
    let head = Head::request(Operation::SealAes256Gcm, 1, KEY);
    for (head, parameters, payload, expected) in [
        (Head { operation: 999, ..head }, 0, 0, Status::UnknownOperation),
        (Head { operation: 0, ..head }, 0, 0, Status::UnknownOperation),
        (Head { key: KeyHandle::NONE, ..head }, 0, 0, Status::WrongParameters),
        (head, 0, 65_537, Status::WrongParameters),
        (Head::request(Operation::Info, 1, KEY), 0, 0, Status::WrongParameters),
        (Head::request(Operation::OpenAes256Gcm, 1, KEY), 0, 27, Status::WrongParameters),
        (Head::request(Operation::FindKey, 1, KeyHandle::NONE), 0, 65, Status::WrongParameters),
        (Head::request(Operation::Random, 1, KeyHandle::NONE), 3, 0, Status::WrongParameters),
    ] {
        let mut bench = Bench::open();
        let a = bench.connect();
        let request = Pdu::new(head, &vec![0; parameters], &vec![0; payload]).unwrap();
        let actions = bench.step(Event::Requested { connection: a, request });
        assert_eq!(answers(&actions), [(a.0, 1, expected)]);
        assert_eq!(actions.len(), 1, "{actions:?}");
    }
    let mut bench = Bench::open();
    let a = bench.connect();
    let head = Head::request(Operation::Random, 1, KeyHandle::NONE);
    let request = Pdu::new(head, &65_537u32.to_le_bytes(), &[]).unwrap();
    let actions = bench.step(Event::Requested { connection: a, request });
    assert_eq!(answers(&actions), [(a.0, 1, Status::WrongParameters)]);
}

#[test]
fn a_small_device_is_not_sent_what_it_cannot_hold() {
    let mut bench = Bench::new(Settings::default());
    let a = bench.connect();
    bench.ask(a, 1); // waits: the device is being opened
    let actions = bench.device_opens(4, 1);
    assert_eq!(answers(&actions), [(a.0, 1, Status::Oversize)]);
    assert!(transmitted(&actions).is_empty());
}

#[test]
fn a_lost_device_is_asked_again_once_and_then_fails_what_it_had() {
    let losses = [
        (LinkFault::HungUp, Status::DeviceLost),
        (LinkFault::Corrupt(Fault::Crc), Status::WireCorrupt),
        (LinkFault::Protocol(Fault::Crc), Status::DeviceLost),
    ];
    for (fault, expected) in losses {
        let mut bench = Bench::new(Settings { in_flight_max: 2, ..Settings::default() });
        bench.device_opens(65_564, 1);
        let a = bench.connect();
        for number in 1..=4 {
            bench.ask(a, number);
        }
        bench.device_answers(a, 1);
        let actions = bench.lose(fault);
        assert!(matches!(actions[0], Action::CloseDevice));
        assert!(answers(&actions).is_empty(), "to seal twice does no harm");
        assert!(matches!(actions.last(), Some(Action::OpenDevice { .. })), "it is opened again at once");
        assert_eq!(transmitted(&bench.device_opens(65_564, 2)), [(a.0, 2), (a.0, 3)]);
        assert_eq!(transmitted(&bench.device_answers(a, 3)), [(a.0, 4)]);
        assert_eq!(answers(&bench.lose(fault)), [(a.0, 2, expected)]);
        assert_eq!(transmitted(&bench.device_opens(65_564, 3)), [(a.0, 4)]);
        let stats = bench.broker.stats();
        assert_eq!((stats.device_losses, stats.device_opens, stats.device_restarts), (2, 3, 2));
        assert_eq!(stats.requests_repeated, 3);
        let Action::Answer { answer, .. } = &bench.device_answers(a, 4)[0] else { panic!("it is answered") };
        assert_eq!(answer.head().epoch, 2);
    }
}

#[test]
fn who_looks_for_many_primes_leaves_places_at_the_device_and_is_told_to_ask_again() {
    let mut bench = Bench::open();
    let [hog, again, other] = [bench.connect(), bench.connect(), bench.connect()];
    let search = |bench: &mut Bench, connection, number| {
        let head = Head::request(Operation::KeyGenerate, number, KeyHandle::NONE);
        let rsa = Template::new(Algorithm::Rsa3072, Usages::SIGN).to_bytes();
        bench.step(Event::Requested { connection, request: Pdu::new(head, &rsa, &[]).unwrap() })
    };
    for number in 0..SEARCHES_PER_USER_MAX as u32 {
        assert_eq!(transmitted(&search(&mut bench, hog, number)), [(hog.0, number)]);
    }
    let refused = search(&mut bench, hog, 60);
    assert_eq!(answers(&refused), [(hog.0, 60, Status::Busy)]);
    assert!(matches!(&refused[0], Action::Answer { answer, .. } if answer.head().time_ms > 0), "{refused:?}");
    // Another connection of that user is no way round, nor is it to hang up: the device goes on.
    bench.step(Event::Disconnected { connection: hog });
    assert_eq!(answers(&search(&mut bench, again, 1)), [(again.0, 1, Status::Busy)]);
    assert_eq!(transmitted(&bench.ask(other, 1)), [(other.0, 1)]);
    let head = Head { connection: hog, ..Head::request(Operation::KeyGenerate, 0, KeyHandle::NONE) };
    let late = Pdu::empty(Head { key: KEY, ..head.answer(Status::Done) });
    bench.step(Event::DeviceAnswered { link: bench.link, answer: late });
    assert_eq!(transmitted(&search(&mut bench, again, 2)), [(again.0, 2)]);
}

#[test]
fn what_comes_while_the_device_is_busy_goes_in_one_transfer() {
    let mut bench = Bench { is_fast: false, ..Bench::open() };
    let connections = [(); 3].map(|()| bench.connect());
    assert_eq!(transmitted(&bench.ask(connections[0], 1)).len(), 1, "the device is idle");
    assert_eq!(transmitted(&bench.ask(connections[0], 2)).len(), 1, "one follows without a pause");
    for connection in connections {
        assert!(transmitted(&bench.ask(connection, 3)).is_empty());
    }
    let took = bench.step(Event::DeviceTook { link: bench.link });
    assert_eq!(took.iter().filter(|action| matches!(action, Action::Transmit { .. })).count(), 1);
    assert_eq!(transmitted(&took), connections.map(|connection| (connection.0, 3)));
    assert_eq!(bench.broker.stats().transfers[..3], [2, 1, 0]);
}

#[test]
fn a_request_is_cut_and_a_small_one_does_not_wait_for_all_of_it() {
    let settings = Settings { transfer_bytes_max: 8192, is_cut: true, ..Settings::default() };
    let mut bench = Bench { is_fast: false, ..Bench::new(settings) };
    bench.device_opens(65_564, 1);
    let (hog, other) = (bench.connect(), bench.connect());
    let head = Head::request(Operation::SealAes256Gcm, 1, KEY);
    bench.step(Event::Requested { connection: hog, request: Pdu::new(head, &[], &[0; 65_536]).unwrap() });
    bench.ask(other, 1);
    let took = bench.step(Event::DeviceTook { link: bench.link });
    let [Action::Transmit { pieces }] = &took[..] else { panic!("{took:?}") };
    assert_eq!(pieces[0].request.head().connection, other);
    assert_eq!(pieces.iter().map(|piece| piece.to - piece.from).sum::<usize>(), 8192);
    // The device answers what it does not have whole.
    let head = Head { connection: hog, ..head };
    let answer = Pdu::new(head.answer(Status::Done), &[], b"sealed").unwrap();
    let actions = bench.step(Event::DeviceAnswered { link: bench.link, answer });
    assert!(matches!(actions[0], Action::CloseDevice), "{actions:?}");
}

#[test]
fn a_request_whose_time_is_over_is_not_sent() {
    let mut bench = Bench::new(Settings { in_flight_max: 1, ..Settings::default() });
    bench.device_opens(65_564, 1);
    let a = bench.connect();
    bench.ask(a, 1);
    let head = Head { time_ms: 30, ..Head::request(Operation::SealAes256Gcm, 2, KEY) };
    bench.step(Event::Requested { connection: a, request: Pdu::new(head, &[], &[]).unwrap() });
    assert!(answers(&bench.wait(Duration::from_millis(29))).is_empty());
    assert_eq!(answers(&bench.wait(Duration::from_millis(1))), [(a.0, 2, Status::TooLate)]);
    assert!(transmitted(&bench.device_answers(a, 1)).is_empty());
}

#[test]
fn events_of_an_earlier_opening_are_stale() {
    let mut bench = Bench::open();
    let a = bench.connect();
    bench.ask(a, 1);
    let stale = bench.link;
    bench.device_answers(a, 1);
    bench.lose(LinkFault::HungUp);
    assert_ne!(bench.link, stale);
    let info = DeviceInfo {
        payload_bytes_max: 1,
        in_flight_max: 1,
        lanes: 1,
        boot: 9,
        name: String::new(),
        store: String::new(),
    };
    assert!(bench.step(Event::DeviceOpened { link: stale, info }).is_empty());
    assert!(!bench.broker.is_open());
    bench.device_opens(65_564, 1);
    bench.ask(a, 2);
    assert!(bench.step(Event::DeviceLost { link: stale, fault: LinkFault::HungUp }).is_empty());
    let head = Head { connection: a, ..Head::request(Operation::SealAes256Gcm, 2, KEY).answer(Status::Done) };
    let answer = Pdu::new(head, &[], b"from before").unwrap();
    assert!(bench.step(Event::DeviceAnswered { link: stale, answer }).is_empty());
    assert_eq!(answers(&bench.device_answers(a, 2)), [(a.0, 2, Status::Done)]);
}

#[test]
fn a_device_that_stays_away_is_named_at_once_and_tried_again_ever_more_slowly() {
    let mut bench = Bench::new(Settings::default());
    let a = bench.connect();
    bench.ask(a, 1);
    assert_eq!(answers(&bench.lose(LinkFault::OpenTimeout)), [(a.0, 1, Status::DeviceUnavailable)]);
    assert_eq!(answers(&bench.ask(a, 2)), [(a.0, 2, Status::DeviceUnavailable)]);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        let mut pause = Duration::ZERO;
        while bench.wait(Duration::from_millis(1)).is_empty() {
            pause += Duration::from_millis(1);
            assert!(pause <= REOPEN_MAX, "it is tried again in time");
        }
        assert_eq!(
            answers(&bench.ask(a, 3)),
            [(a.0, 3, Status::DeviceUnavailable)],
            "also while it is tried"
        );
        pauses.push(pause);
        bench.lose(LinkFault::HungUp);
    }
    assert!(pauses.is_sorted() && pauses[0] < pauses[9], "{pauses:?}");
    bench.wait(REOPEN_MAX);
    bench.device_opens(65_564, 1);
    assert!(answers(&bench.ask(a, 4)).is_empty());
}

/// Which device is opened by one of these actions.
fn opens(actions: &[Action]) -> Option<usize> {
    actions.iter().find_map(|action| match action {
        Action::OpenDevice { choice, .. } => Some(*choice),
        _ => None,
    })
}

#[test]
fn after_a_loss_the_list_of_devices_is_tried_from_its_top_in_turn_with_growing_pauses() {
    let cut = Fit { is_cut: true, transfer_bytes_max: 1000, ..Fit::default() };
    let settings = Settings::default();
    let mut bench = Bench::of(Broker::among(settings, vec![Fit::default(), cut, Fit::default()]));
    let a = bench.connect();
    assert_eq!(bench.broker.gauges().device, 0);
    assert!(answers(&bench.ask(a, 1)).is_empty(), "the first turn of the list is waited for");
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(1), "at once");
    let sent = bench.device_opens(65_564, 1);
    assert_eq!((transmitted(&sent), bench.broker.gauges().device), (vec![(a.0, 1)], 2));
    bench.device_answers(a, 1);
    // The first is there again, and nobody minds until the second is lost.
    assert_eq!(opens(&bench.wait(REOPEN_MAX)), None);
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(0));
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(1));
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(2));
    let mut pauses = Vec::new();
    for _ in 0..10 {
        assert_eq!(opens(&bench.lose(LinkFault::HungUp)), None, "all were tried");
        let mut pause = Duration::ZERO;
        while opens(&bench.wait(Duration::from_millis(1))).inspect(|choice| assert_eq!(*choice, 0)).is_none()
        {
            pause += Duration::from_millis(1);
        }
        pauses.push(pause);
        assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(1));
        assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(2));
    }
    assert!(pauses.is_sorted() && pauses[0] < pauses[9] && pauses[9] <= REOPEN_MAX, "{pauses:?}");
    bench.device_opens(65_564, 2);
    assert_eq!((bench.broker.gauges().device, bench.broker.gauges().epoch), (3, 1));
    assert_eq!(bench.broker.stats().device_restarts, 0, "another device is none that started anew");
}

#[test]
fn a_device_that_opens_and_answers_nothing_does_not_keep_the_next_from_its_turn() {
    let mut bench = Bench::of(Broker::among(Settings::default(), vec![Fit::default(); 2]));
    bench.device_opens(65_564, 1);
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), Some(1));
    bench.device_opens(65_564, 1);
    assert_eq!(opens(&bench.lose(LinkFault::HungUp)), None, "and not in a circle");
    assert_eq!(opens(&bench.wait(REOPEN_MAX)), Some(0));
}

#[test]
fn a_device_that_answers_nothing_is_not_opened_in_a_circle() {
    let mut bench = Bench::open();
    let actions = bench.lose(LinkFault::HungUp);
    assert!(!actions.iter().any(|action| matches!(action, Action::OpenDevice { .. })), "{actions:?}");
    assert!(bench.broker.needs_ticks());
}

#[test]
fn a_silent_device_is_given_up_in_time() {
    let settings = Settings { answer_max: Duration::from_secs(3), ..Settings::default() };
    let mut bench = Bench::new(settings);
    bench.device_opens(65_564, 1);
    let a = bench.connect();
    bench.ask(a, 1);
    assert!(bench.wait(Duration::from_millis(2999)).is_empty());
    let actions = bench.wait(Duration::from_millis(1));
    assert_eq!(answers(&actions), [(a.0, 1, Status::DeviceSilent)]);
    assert!(matches!(actions[0], Action::CloseDevice));
}

#[test]
fn an_answer_that_does_not_fit_its_request_loses_the_device() {
    let good = Head::request(Operation::SealAes256Gcm, 1, KEY).answer(Status::Done);
    let cases = [
        (Head { operation: 5, ..good }, 0, 33),
        (Head { status: 999, ..good }, 0, 33),
        (Head { key: KeyHandle(8), ..good }, 0, 33),
        (good, 1, 33),
        (good, 0, 34),
        (good.answer(Status::Rejected), 0, 1),
    ];
    for (head, parameter_bytes, payload_bytes) in cases {
        let mut bench = Bench::open();
        let a = bench.connect();
        bench.ask(a, 1); // 5 bytes: sealed they are 33
        let head = Head { connection: a, ..head };
        let answer = Pdu::new(head, &vec![0; parameter_bytes], &vec![0; payload_bytes]).unwrap();
        let actions = bench.step(Event::DeviceAnswered { link: bench.link, answer });
        assert!(matches!(actions[0], Action::CloseDevice), "{head:?}: {actions:?}");
        assert_eq!(bench.broker.stats().device_losses, 1);
    }
}

#[test]
fn unread_answers_close_a_connection_by_number_and_by_time() {
    let mut bench = Bench::open();
    let (hog, other) = (bench.connect(), bench.connect());
    let mut closed = false;
    for number in 0..1000 {
        let actions = bench.ask(hog, number);
        closed |= actions.iter().any(|action| matches!(action, Action::Close { flush: false, .. }));
        assert!(closed || number <= (64 + ANSWERS_PER_CONNECTION_MAX) as u32);
    }
    assert!(closed);
    assert_eq!(bench.broker.stats().connections_closed_unread, 1);
    bench.ask(other, 1);
    for number in 0..64 {
        bench.device_answers(hog, number);
    }
    assert_eq!(answers(&bench.device_answers(other, 1)), [(other.0, 1, Status::Done)]);
    let actions = bench.wait(Settings::default().unread_max);
    assert!(matches!(actions[0], Action::Close { connection, flush: false } if connection == other));
    assert_eq!(bench.broker.stats().connections_closed_unread, 2);
    assert_eq!(bench.broker.gauges().held, Default::default());
}

#[test]
fn who_reads_has_its_time_anew_and_who_has_read_all_has_no_end() {
    let mut bench = Bench::open();
    let (a, b) = (bench.connect(), bench.connect());
    for connection in [a, b] {
        for number in 1..=2 {
            bench.ask(connection, number);
            bench.device_answers(connection, number);
        }
    }
    let unread_max = Settings::default().unread_max;
    assert!(bench.wait(unread_max / 2).is_empty());
    bench.step(Event::Written { connection: a, answers: 1 });
    bench.step(Event::Written { connection: b, answers: 2 });
    assert!(bench.wait(unread_max / 2).is_empty(), "half of the time has passed since they read");
    let actions = bench.wait(unread_max / 2);
    assert!(matches!(actions[0], Action::Close { connection, .. } if connection == a), "{actions:?}");
    bench.ask(b, 3);
    bench.device_answers(b, 3);
    assert!(bench.wait(unread_max / 2).is_empty(), "it has nothing from before");
    let actions = bench.wait(unread_max / 2);
    assert!(matches!(actions[0], Action::Close { connection, .. } if connection == b), "{actions:?}");
}

#[test]
fn who_ends_no_request_is_closed_in_time_and_who_is_not_read_from_is_not() {
    let mut bench = Bench::open();
    let [never, slow, unread] = [bench.connect(), bench.connect(), bench.connect()];
    let began = |bench: &mut Bench, connection, waits| bench.step(Event::Began { connection, waits });
    for connection in [never, slow, unread] {
        began(&mut bench, connection, true);
    }
    let request_max = Settings::default().request_max;
    assert!(bench.wait(request_max / 2).is_empty());
    began(&mut bench, slow, true); // another request
    began(&mut bench, unread, false);
    let actions = bench.wait(request_max / 2);
    assert_eq!(answers(&actions), [(never.0, 0, Status::Malformed)]);
    assert!(matches!(actions[1], Action::Close { connection, flush: true } if connection == never));
    assert_eq!(answers(&bench.wait(request_max / 2)), [(slow.0, 0, Status::Malformed)]);
    assert!(!bench.broker.needs_ticks(), "nobody is waited for");
    assert!(bench.wait(2 * request_max).is_empty());
    assert_eq!(bench.broker.stats().connections_closed_malformed, 2);
    // What the loop saw before it knew of the end is no error.
    assert!(began(&mut bench, never, true).is_empty() && !bench.broker.needs_ticks());
    bench.ask(unread, 1);
    assert_eq!(answers(&bench.device_answers(unread, 1)), [(unread.0, 1, Status::Done)]);
}

#[test]
fn the_connection_after_the_last_is_refused_by_name() {
    let mut bench = Bench::open();
    for user in 0..CONNECTIONS as u32 {
        bench.step(Event::Connected { user: user % 4, groups: vec![100] });
    }
    let actions = bench.step(Event::Connected { user: 1, groups: vec![100] });
    let [Action::Refuse { notice }] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(notice.status(), Ok(Status::ConnectionsFull));
    bench.step(Event::Disconnected { connection: Connection(5) });
    assert_eq!(bench.connect(), Connection(CONNECTIONS as u64 + 1));
    let mut bench = Bench::open();
    for _ in 0..CONNECTIONS_PER_USER {
        bench.connect();
    }
    let actions = bench.step(Event::Connected { user: 1000, groups: vec![100] });
    assert!(matches!(actions[..], [Action::Refuse { .. }]), "one user may have no more");
}

#[test]
fn the_operator_alone_is_told_what_the_broker_has_done() {
    let mut bench = Bench::new(Settings { operator: Some(7), ..Settings::default() });
    bench.device_opens(65_564, 1);
    for (user, expected) in [(7, Status::Done), (0, Status::Done), (1000, Status::NotPermitted)] {
        let [Action::Admit { connection, .. }] = bench.step(Event::Connected { user, groups: vec![100] })[..]
        else {
            panic!()
        };
        let head = Head::request(Operation::Status, 1, KeyHandle::NONE);
        let actions = bench.step(Event::Requested { connection, request: Pdu::empty(head) });
        assert_eq!(answers(&actions), [(connection.0, 1, expected)]);
        let [Action::Answer { answer, .. }] = &actions[..] else { panic!("{actions:?}") };
        let text = String::from_utf8(answer.payload().to_vec()).unwrap();
        assert_eq!(text.contains("selvedge_broker_connections "), expected == Status::Done, "{text}");
    }
}

#[test]
fn the_device_is_told_whose_a_connection_is_before_its_requests_and_when_it_is_over() {
    let mut bench = Bench::open();
    let (a, b) = (bench.connect(), bench.connect());
    assert_eq!(told(&bench.ask(a, 1)), [(true, a.0)]);
    assert_eq!(told(&bench.ask(a, 2)), []);
    assert_eq!(told(&bench.step(Event::Disconnected { connection: a })), [], "the device has requests of it");
    assert_eq!(told(&bench.device_answers(a, 2)), []);
    assert_eq!(told(&bench.device_answers(a, 1)), [(false, a.0)]);
    assert_eq!(told(&bench.ask(b, 1)), [(true, b.0)]);
    bench.lose(LinkFault::HungUp);
    let opened = bench.device_opens(65_564, 2);
    assert_eq!((told(&opened), transmitted(&opened)), (vec![(true, b.0)], vec![(b.0, 1)]));
    bench.device_answers(b, 1);
    assert_eq!(told(&bench.step(Event::Disconnected { connection: b })), [(false, b.0)]);
    let never = bench.connect();
    assert_eq!(told(&bench.step(Event::Disconnected { connection: never })), [], "it asked nothing");
    for operation in [Operation::Introduce, Operation::Leave] {
        let c = bench.connect();
        let head = Head::request(operation, 1, KeyHandle::NONE);
        let request =
            Pdu::new(head, &[], &[0; 4][..if operation == Operation::Leave { 0 } else { 4 }]).unwrap();
        let actions = bench.step(Event::Requested { connection: c, request });
        assert_eq!(answers(&actions), [(c.0, 1, Status::UnknownOperation)], "an application cannot say that");
    }
}

#[test]
fn of_connections_that_come_and_go_before_the_device_hears_of_them_it_is_told_nothing() {
    let mut bench = Bench { is_fast: false, ..Bench::open() };
    let stays = bench.connect();
    for number in 1..=2 {
        bench.ask(stays, number); // both transfers are under way
    }
    for _ in 0..10_000 {
        let comes = bench.connect();
        bench.ask(comes, 1);
        bench.step(Event::Disconnected { connection: comes });
    }
    let (last, number) = (bench.connect(), 3);
    bench.ask(last, number);
    let took = bench.step(Event::DeviceTook { link: bench.link });
    assert_eq!((told(&took), transmitted(&took)), (vec![(true, last.0)], vec![(last.0, number)]));
}

#[test]
fn stopping_refuses_what_waits_and_waits_for_what_is_at_the_device() {
    let mut bench = Bench::new(Settings { in_flight_max: 1, ..Settings::default() });
    bench.device_opens(65_564, 1);
    let a = bench.connect();
    bench.ask(a, 1);
    bench.ask(a, 2);
    assert_eq!(answers(&bench.step(Event::Stop)), [(a.0, 2, Status::Stopping)]);
    assert_eq!(answers(&bench.ask(a, 3)), [(a.0, 3, Status::Stopping)]);
    let actions = bench.device_answers(a, 1);
    assert_eq!(answers(&actions), [(a.0, 1, Status::Done)]);
    assert!(matches!(actions.last(), Some(Action::Stopped)));
    assert!(!bench.broker.needs_ticks());
    let actions = bench.step(Event::Connected { user: 1000, groups: vec![100] });
    assert!(matches!(&actions[..], [Action::Refuse { notice }] if notice.status() == Ok(Status::Stopping)));
}

#[test]
fn stopping_does_not_wait_for_ever() {
    let mut bench = Bench::open();
    let a = bench.connect();
    bench.ask(a, 1);
    assert!(bench.step(Event::Stop).is_empty());
    let actions = bench.wait(STOP_MAX);
    assert_eq!(answers(&actions), [(a.0, 1, Status::DeviceSilent)]);
    assert!(matches!(actions.last(), Some(Action::Stopped)));
}

#[test]
fn an_idle_broker_needs_no_clock() {
    let mut bench = Bench::open();
    let a = bench.connect();
    assert!(!bench.broker.needs_ticks());
    bench.ask(a, 1);
    assert!(bench.broker.needs_ticks());
    bench.device_answers(a, 1);
    bench.step(Event::Written { connection: a, answers: 1 });
    assert!(!bench.broker.needs_ticks());
}

#[test]
fn the_65th_user_is_served_and_counted() {
    let mut bench = Bench::open();
    for user in 0..200 {
        let actions = bench.step(Event::Connected { user, groups: vec![100] });
        let [Action::Admit { connection, .. }] = actions[..] else { panic!("user {user}: {actions:?}") };
        bench.ask(connection, 1);
        bench.step(Event::Disconnected { connection });
    }
    let stats = bench.broker.stats();
    assert_eq!((stats.users.len(), stats.others.connections, stats.others.requests), (64, 136, 136));
    assert!(stats.users.contains_key(&199));
}

#[test]
fn a_broker_of_one_user_refuses_all_others() {
    let mut bench = Bench::new(Settings { only_user: Some(1000), ..Settings::default() });
    bench.connect();
    for user in [0, 1001] {
        let actions = bench.step(Event::Connected { user, groups: vec![100] });
        let [Action::Refuse { notice }] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!(notice.status(), Ok(Status::NotPermitted));
    }
}

#[test]
fn a_broker_without_connections_ends_in_time_and_not_before() {
    let idle_max = Duration::from_secs(5);
    let mut bench = Bench::new(Settings { idle_max: Some(idle_max), ..Settings::default() });
    assert_eq!(bench.broker.ends_at(), None, "nobody can have come");
    bench.now = Duration::from_secs(7);
    bench.device_opens(65_564, 1);
    assert_eq!(bench.broker.ends_at(), Some(bench.now + idle_max));
    bench.now += Duration::from_secs(4);
    let connection = bench.connect();
    assert_eq!(bench.broker.ends_at(), None);
    assert!(bench.wait(Duration::from_secs(100)).is_empty(), "somebody is there");
    bench.step(Event::Disconnected { connection });
    let ends_at = bench.broker.ends_at().expect("nobody is there");
    assert_eq!(ends_at, bench.now + idle_max);
    assert!(bench.wait(idle_max - Duration::from_millis(1)).is_empty());
    let actions = bench.wait(Duration::from_millis(1));
    assert!(matches!(actions[..], [Action::CloseDevice, Action::Stopped]), "{actions:?}");
}

#[test]
fn other_settings_hold_from_the_next_request_on() {
    let mut bench = Bench::open();
    let (a, b) = (bench.connect(), bench.connect());
    bench.ask(a, 1);
    bench.ask(a, 2);
    let bounds = Bounds { requests_per_connection: 2, connections: 2, ..Bounds::default() };
    let settings = Settings { bounds, in_flight_max: 3, ..Settings::default() };
    bench.step(Event::Set { settings: Box::new(settings) });
    assert_eq!(answers(&bench.ask(a, 3)), [(a.0, 3, Status::Busy)]);
    assert_eq!(transmitted(&bench.ask(b, 1)), [(b.0, 1)]);
    assert_eq!(transmitted(&bench.ask(b, 2)), [], "three are at the device");
    let actions = bench.step(Event::Connected { user: 1, groups: vec![] });
    assert!(matches!(actions[..], [Action::Refuse { .. }]));
    bench.step(Event::Set { settings: Box::default() });
    assert!(matches!(
        bench.step(Event::Connected { user: 1, groups: vec![] })[..],
        [Action::Admit { .. }, ..]
    ));
}

#[test]
fn the_operators_group_may_ask_what_was_done() {
    let mut bench = Bench::new(Settings { operator_group: Some(100), ..Settings::default() });
    for (group, expected) in [(100, Status::Done), (101, Status::NotPermitted)] {
        let actions = bench.step(Event::Connected { user: 1000, groups: vec![7, group] });
        let [Action::Admit { connection, .. }] = actions[..] else { panic!("{actions:?}") };
        let request = Pdu::empty(Head::request(Operation::Status, 1, KeyHandle::NONE));
        let answered = answers(&bench.step(Event::Requested { connection, request }));
        assert_eq!(answered, [(connection.0, 1, expected)]);
    }
}
