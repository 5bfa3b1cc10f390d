//! Both ends of the link: as drawn, cut anywhere, damaged anywhere, and whatever else may come over a wire.

use std::sync::Arc;
use std::time::Duration;

use broker::device::DeviceInfo;
use broker::limits::{FETCH_BYTES, FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES, PROBE_PAUSE};
use broker::link::{DeviceEnd, HostEnd};
use broker::queue::Piece;
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use broker::{Event, Fault, LinkFault};
use proptest::collection::vec;
use proptest::prelude::*;

const SESSION: u64 = 0x0807_0605_0403_0201;
const PIECE_BYTES: usize = 500;
/// Longest transaction.
const WIRE_BYTES: usize = 1000;

/// A host and a device, and all that went between them.
struct Pair {
    host: HostEnd,
    device: DeviceEnd,
    now: Duration,
    there: Vec<u8>,
    back: Vec<u8>,
    events: Vec<Event>,
    requests: Vec<Pdu>,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            host: HostEnd::open(1, SESSION, Duration::ZERO, 4096),
            device: DeviceEnd::new(PIECE_BYTES),
            now: Duration::ZERO,
            there: Vec::new(),
            back: Vec::new(),
            events: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// A pair of which the device said what it is.
    fn open() -> Pair {
        let mut pair = Pair::new();
        while pair.exchange(WIRE_BYTES) {}
        let [question] = &pair.requests[..] else { panic!("{:?}", pair.requests) };
        assert_eq!(question.head(), Head::request(Operation::Info, 0, KeyHandle::NONE));
        pair.answer_all();
        while pair.exchange(WIRE_BYTES) {}
        assert!(matches!(pair.events[..], [Event::DeviceOpened { link: 1, .. }]), "{:?}", pair.events);
        pair
    }

    /// One transaction, if there is a reason for one.
    fn exchange(&mut self, bytes_max: usize) -> bool {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        self.host.begin(self.device.is_ready(), bytes_max, &mut there);
        if there.is_empty() {
            return false;
        }
        self.device.fill(there.len(), &mut back);
        self.device.take(&there, &mut self.requests);
        self.host.finish(self.now, &back, &mut self.events);
        assert_eq!(there.len(), back.len());
        self.there.extend(there);
        self.back.extend(back);
        true
    }

    fn answer_all(&mut self) {
        let session = self.device.session().expect("it is open");
        for request in self.requests.drain(..) {
            self.device.answer(session, answer_to(&request));
        }
    }
}

fn answer_to(request: &Pdu) -> Pdu {
    let head = request.head().answer(Status::Done);
    let info = DeviceInfo {
        payload_bytes_max: 65_564,
        in_flight_max: 64,
        lanes: 1,
        boot: 9,
        name: "a pair's".to_owned(),
        store: String::new(),
    };
    match request.operation() {
        Ok(Operation::Info) => Pdu::new(head, &[], &info.to_bytes()).unwrap(),
        _ => Pdu::new(head, &[], request.payload()).unwrap(),
    }
}

fn echo(connection: u64, request: u32, payload_bytes: usize) -> Arc<Pdu> {
    let head = Head::request(Operation::Echo, request, KeyHandle::NONE);
    let head = Head { connection: Connection(connection), ..head };
    let payload: Vec<u8> = (0..payload_bytes).map(|at| (at as u32 * 31 + request * 7) as u8).collect();
    Arc::new(Pdu::new(head, &[], &payload).unwrap())
}

/// The pieces of a request, cut so.
fn cut(request: &Arc<Pdu>, bytes: usize) -> Vec<Piece> {
    let all = request.bytes().len();
    let piece = |from| Piece { request: request.clone(), from, to: all.min(from + bytes) };
    (0..all).step_by(bytes).map(piece).collect()
}

fn numbers(pdus: &[Pdu]) -> Vec<(u64, u32)> {
    pdus.iter().map(|pdu| (pdu.head().connection.0, pdu.head().request)).collect()
}

fn answers(events: &[Event]) -> Vec<&Pdu> {
    fn answer(event: &Event) -> Option<&Pdu> {
        match event {
            Event::DeviceAnswered { answer, .. } => Some(answer),
            _ => None,
        }
    }
    events.iter().filter_map(answer).collect()
}

/// CRC-32C a bit at a time (RFC 3720, appendix B.4): another one than the link's.
fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    (!crc).to_le_bytes()
}

/// The frame of the drawing in `link`, written down by hand.
fn drawn(kind: u8, session: Option<u64>, sequence: u16, waiting_bytes: u16, payload: &[u8]) -> Vec<u8> {
    let mut covered = session.map_or(Vec::new(), |session| session.to_le_bytes().to_vec());
    let begun = covered.len();
    covered.extend([0xA5, kind]);
    covered.extend(sequence.to_le_bytes());
    covered.extend((payload.len() as u16).to_le_bytes());
    covered.extend(waiting_bytes.to_le_bytes());
    let header_crc = crc(&covered);
    // The checksum of the payload leaves out the header's own.
    let frame_crc = crc(&[&covered[..], payload].concat());
    [&covered[begun..], &header_crc, payload, &frame_crc].concat()
}

#[test]
fn frames_are_as_drawn() {
    let pair = Pair::open();
    let filler_bytes = FRAME_BYTES_MAX + FRAME_OVERHEAD_BYTES;
    let open = drawn(0x4F, None, 0, 0, &SESSION.to_le_bytes());
    let question = Pdu::empty(Head::request(Operation::Info, 0, KeyHandle::NONE));
    let ask = drawn(0, Some(SESSION), 0, 0, question.bytes());
    let said = |stream: &[u8], frame: &[u8]| stream.windows(frame.len()).filter(|at| *at == frame).count();
    assert!(pair.there[..filler_bytes].iter().all(|byte| *byte == 0));
    assert_eq!(pair.there[filler_bytes..][..open.len()], open);
    assert_eq!((said(&pair.there, &ask), said(&pair.back, &open)), (1, 1));
    let info = drawn(0, Some(SESSION), 0, 0, answer_to(&question).bytes());
    assert_eq!(said(&pair.back, &info), 1);
    let others = pair.there.len() - filler_bytes - open.len() - ask.len();
    assert!(others <= 2 * FETCH_BYTES, "{others} bytes were clocked for {} bytes", open.len() + info.len());
}

#[test]
fn a_small_answer_goes_before_the_rest_of_a_large_one() {
    let mut pair = Pair::open();
    for request in [echo(1, 1, 60_000), echo(2, 1, 60_000)] {
        pair.host.transmit(&cut(&request, 4096));
    }
    while pair.exchange(WIRE_BYTES) {}
    pair.answer_all();
    for _ in 0..20 {
        assert!(pair.exchange(WIRE_BYTES));
    }
    pair.host.transmit(&cut(&echo(3, 1, 64), 4096));
    while answers(&pair.events).is_empty() {
        assert!(pair.exchange(WIRE_BYTES));
        pair.answer_all();
    }
    while pair.exchange(WIRE_BYTES) {}
    let order: Vec<u64> = answers(&pair.events).iter().map(|answer| answer.head().connection.0).collect();
    assert_eq!(order, [3, 1, 2]);
    let (requested, answered) = pair.device.pdu_bytes();
    assert_eq!((requested, answered), (40 + 120_080 + 104, 40 + 24 + 120_080 + 104));
}

#[test]
fn what_is_fetched_is_what_there_is() {
    let mut pair = Pair::open();
    pair.host.transmit(&cut(&echo(1, 1, 60_000), 4096));
    while pair.requests.is_empty() {
        pair.exchange(WIRE_BYTES);
    }
    let before = pair.back.len();
    assert!(pair.host.is_owed() && !pair.device.is_ready());
    assert!(!pair.exchange(WIRE_BYTES), "nothing is clocked while there is nothing to fetch");
    pair.answer_all();
    while pair.exchange(WIRE_BYTES) {}
    assert!(!pair.host.is_owed());
    let frames = 60_040usize.div_ceil(PIECE_BYTES) * FRAME_OVERHEAD_BYTES;
    let clocked = pair.back.len() - before;
    assert!((60_040 + frames..=60_040 + frames + FETCH_BYTES).contains(&clocked), "{clocked}");
}

#[test]
fn a_loss_that_nothing_follows_shows_when_the_device_is_asked() {
    for is_request_lost in [true, false] {
        let mut pair = Pair::open();
        pair.host.transmit(&cut(&echo(1, 1, 300), 4096));
        let mut wire = Vec::new();
        pair.host.begin(false, WIRE_BYTES, &mut wire);
        if !is_request_lost {
            pair.device.take(&wire, &mut pair.requests);
            pair.answer_all();
            pair.device.fill(1000, &mut Vec::new());
        }
        pair.host.finish(pair.now, &[], &mut pair.events);
        assert!(!pair.exchange(WIRE_BYTES));
        pair.now += PROBE_PAUSE;
        pair.host.pass_time(pair.now, &mut pair.events);
        while pair.exchange(WIRE_BYTES) {}
        let Some(Event::DeviceLost { link: 1, fault: LinkFault::Corrupt(fault) }) = pair.events.last() else {
            panic!("{:?}", pair.events);
        };
        let expected = if is_request_lost { Fault::Crc } else { Fault::Frame { field: "sequence" } };
        assert_eq!(*fault, expected);
    }
}

#[test]
fn a_device_that_is_polled_and_lost_all_shows_when_it_is_asked() {
    let mut pair = Pair::open();
    pair.host.transmit(&cut(&echo(1, 1, 300), 4096));
    while pair.exchange(WIRE_BYTES) {}
    pair.device.reset();
    let mut polls = 0;
    while pair.events.len() < 3 {
        assert!(polls < 100, "{:?}", pair.events);
        (polls, pair.now) = (polls + 1, pair.now + PROBE_PAUSE / 10);
        pair.host.pass_time(pair.now, &mut pair.events);
        let (mut there, mut back) = (Vec::new(), Vec::new());
        // There is no signal, so it is looked at as if there were.
        pair.host.begin(true, 10_000, &mut there);
        pair.device.fill(there.len(), &mut back);
        pair.device.take(&there, &mut pair.requests);
        pair.host.finish(pair.now, &back, &mut pair.events);
    }
    assert!(polls > 10, "it was given time");
    assert!(matches!(pair.events[2], Event::DeviceLost { fault: LinkFault::Corrupt(Fault::Crc), .. }));
}

#[test]
fn nothing_is_clocked_for_a_device_that_sends_of_itself() {
    let mut host = HostEnd::open(1, SESSION, Duration::ZERO, 4096).unclocked();
    let mut device = DeviceEnd::new(PIECE_BYTES);
    let (mut wire, mut back, mut events, mut requests) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut go = |host: &mut HostEnd, events: &mut Vec<Event>| {
        loop {
            host.begin(true, WIRE_BYTES, &mut wire);
            if wire.is_empty() {
                break;
            }
            device.take(&wire, &mut requests);
            host.finish(Duration::ZERO, &[], events);
            wire.clear();
        }
        let session = device.session().expect("it is open");
        requests.drain(..).for_each(|request| device.answer(session, answer_to(&request)));
        device.say(usize::MAX >> 1, &mut back);
        let said = !back.is_empty();
        // A byte at a time.
        back.drain(..).for_each(|byte| host.hear(Duration::ZERO, &[byte], events));
        said
    };
    while go(&mut host, &mut events) {}
    host.transmit(&cut(&echo(1, 1, 5000), 4096));
    while go(&mut host, &mut events) {}
    assert!(!host.is_owed());
    assert_eq!(answers(&events).len(), 1);
    assert_eq!(answers(&events)[0].payload().len(), 5000);
}

#[test]
fn a_device_that_stays_silent_is_given_up_and_one_that_wakes_is_not() {
    let mut pair = Pair::new();
    let lose = |pair: &mut Pair, times| {
        for _ in 0..times {
            pair.now += PROBE_PAUSE;
            pair.host.pass_time(pair.now, &mut pair.events);
            let mut wire = Vec::new();
            pair.host.begin(false, 10_000, &mut wire);
            if !wire.is_empty() {
                pair.host.finish(pair.now, &vec![0xFF; wire.len()], &mut pair.events);
            }
        }
    };
    lose(&mut pair, 3);
    assert!(pair.events.is_empty());
    pair.now += PROBE_PAUSE;
    pair.host.pass_time(pair.now, &mut pair.events);
    while pair.exchange(WIRE_BYTES) {}
    pair.answer_all();
    while pair.exchange(WIRE_BYTES) {}
    assert!(matches!(pair.events[..], [Event::DeviceOpened { .. }]), "{:?}", pair.events);
    let mut pair = Pair::new();
    lose(&mut pair, 20);
    let timeout = LinkFault::OpenTimeout;
    assert!(matches!(pair.events[..], [Event::DeviceLost { fault, .. }] if fault == timeout));
}

#[test]
fn a_device_that_started_anew_says_so() {
    let mut pair = Pair::open();
    pair.host.transmit(&cut(&echo(1, 1, 3000), 4096));
    pair.exchange(WIRE_BYTES);
    pair.device.reset();
    while pair.exchange(WIRE_BYTES) {}
    assert!(matches!(pair.events.last(), Some(Event::DeviceLost { fault: LinkFault::Corrupt(_), .. })));
    assert!(pair.requests.is_empty());
}

#[test]
fn who_sends_more_than_there_are_slots_for_is_not_believed() {
    let mut pair = Pair::open();
    for request in 0..66 {
        pair.host.transmit(&cut(&echo(1, request, 0), 4096));
    }
    while pair.exchange(WIRE_BYTES) {}
    assert!(matches!(pair.events.last(), Some(Event::DeviceLost { .. })), "{:?}", pair.events.last());
    assert!(pair.device.session().is_none());
}

/// What a wire does to bytes.
#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    Repeat(prop::sample::Index, usize, prop::sample::Index),
}

impl Damage {
    fn apply(&self, stream: &mut Vec<u8>) {
        if stream.is_empty() {
            return;
        }
        let end = |from: usize, bytes: usize, all: usize| all.min(from + bytes);
        match self {
            Damage::Flip(at, bit) => {
                let at = at.index(stream.len());
                stream[at] ^= 1 << bit;
            }
            Damage::Delete(at, bytes) => {
                let from = at.index(stream.len());
                drop(stream.drain(from..end(from, *bytes, stream.len())));
            }
            Damage::Insert(at, bytes) => {
                let at = at.index(stream.len());
                stream.splice(at..at, bytes.iter().copied());
            }
            Damage::Repeat(from, bytes, at) => {
                let (from, at) = (from.index(stream.len()), at.index(stream.len()));
                let copy = stream[from..end(from, *bytes, stream.len())].to_vec();
                stream.splice(at..at, copy);
            }
        }
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), 0u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (at(), 1usize..700).prop_map(|(at, bytes)| Damage::Delete(at, bytes)),
        (at(), vec(prop_oneof![Just(0u8), Just(0xA5), any::<u8>()], 1..60))
            .prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at(), 1usize..700, at()).prop_map(|(from, bytes, to)| Damage::Repeat(from, bytes, to)),
    ]
}

/// Payload lengths of requests, and how each is cut.
fn load() -> impl Strategy<Value = Vec<(u64, usize, usize)>> {
    vec((1u64..5, prop_oneof![0usize..200, 0usize..9000], 41usize..3000), 1..12)
}

/// An undamaged conversation about these requests, in transactions of these lengths.
fn converse(load: &[(u64, usize, usize)], lengths: &[usize]) -> (Pair, Vec<Arc<Pdu>>, Vec<(u64, u32)>) {
    let (mut pair, mut lengths) = (Pair::open(), lengths.iter().cycle());
    let (mut sent, mut came) = (Vec::new(), vec![(0, 0)]);
    // Pieces of two requests of different connections alternate.
    let requests: Vec<_> =
        (0u32..).zip(load).map(|(number, row)| (echo(row.0, number, row.1), row.2)).collect();
    for two in requests.chunks(2) {
        let [mut first, mut second] = [0, 1]
            .map(|at| two.get(at).map_or(Vec::new(), |(request, bytes)| cut(request, *bytes)).into_iter());
        loop {
            let pieces: Vec<Piece> = first.next().into_iter().chain(second.next()).collect();
            if pieces.is_empty() {
                break;
            }
            pair.host.transmit(&pieces);
        }
        sent.extend(two.iter().map(|(request, _)| request.clone()));
        loop {
            if !pair.exchange(*lengths.next().expect("it is a cycle")) {
                if pair.requests.is_empty() {
                    break;
                }
                came.extend(numbers(&pair.requests));
                pair.answer_all();
            }
        }
    }
    (pair, sent, came)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn all_comes_as_it_was_sent_however_it_is_cut(load in load(), lengths in vec(1usize..3000, 1..8)) {
        let (pair, sent, _) = converse(&load, &lengths);
        let answers = answers(&pair.events);
        prop_assert_eq!(answers.len(), sent.len());
        for answer in answers {
            let request = sent.iter().find(|request| request.head().request == answer.head().request);
            prop_assert_eq!(answer.payload(), request.unwrap().payload());
        }
        let took = pair.events.iter().filter(|event| matches!(event, Event::DeviceTook { .. })).count();
        let lost = pair.events.iter().any(|event| matches!(event, Event::DeviceLost { .. }));
        prop_assert!(took > 0 && !lost);
    }

    #[test]
    fn whatever_a_wire_does_the_device_gets_a_beginning_of_what_was_sent(
        load in load(), damages in vec(damage(), 0..4), lengths in vec(1usize..3000, 1..8)
    ) {
        let (pair, _, came) = converse(&load, &[WIRE_BYTES]);
        let mut there = pair.there.clone();
        damages.iter().for_each(|damage| damage.apply(&mut there));
        let (mut device, mut got) = (DeviceEnd::new(PIECE_BYTES), Vec::new());
        let mut rest = &there[..];
        for length in lengths.iter().cycle() {
            let (chunk, later) = rest.split_at(rest.len().min(*length));
            let (mut requests, mut wire) = (Vec::new(), Vec::new());
            device.fill(*length, &mut wire);
            prop_assert_eq!(wire.len(), *length);
            device.take(chunk, &mut requests);
            got.extend(numbers(&requests));
            let session = device.session().unwrap_or_default();
            requests.iter().for_each(|request| device.answer(session, answer_to(request)));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert!(came.starts_with(&got), "{:?} is no beginning of {:?}", got, came);
        prop_assert!(!damages.is_empty() || got == came);

        // Whatever state that left, the next session is understood.
        let mut next = Pair { device, ..Pair::new() };
        next.host = HostEnd::open(2, SESSION ^ 1, Duration::ZERO, 4096);
        while next.exchange(WIRE_BYTES) {}
        prop_assert_eq!(numbers(&next.requests), [(0, 0)]);
        next.answer_all();
        while next.exchange(WIRE_BYTES) {}
        let is_open = matches!(next.events[..], [Event::DeviceOpened { link: 2, .. }]);
        prop_assert!(is_open, "{:?}", next.events);
    }

    #[test]
    fn whatever_a_wire_does_the_host_gets_a_beginning_of_what_was_answered(
        load in load(), damages in vec(damage(), 0..4), lengths in vec(1usize..3000, 1..8)
    ) {
        let (pair, _, _) = converse(&load, &[WIRE_BYTES]);
        let sent: Vec<&[u8]> = answers(&pair.events).iter().map(|answer| answer.bytes()).collect();
        let mut back = pair.back.clone();
        damages.iter().for_each(|damage| damage.apply(&mut back));
        let mut host = HostEnd::open(1, SESSION, Duration::ZERO, 4096);
        let (mut events, mut rest) = (Vec::new(), &back[..]);
        for length in lengths.iter().cycle() {
            let (chunk, later) = rest.split_at(rest.len().min(*length));
            host.begin(true, *length, &mut Vec::new());
            if !host.is_busy() {
                break; // it is lost
            }
            host.finish(Duration::ZERO, chunk, &mut events);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let got: Vec<&[u8]> = answers(&events).iter().map(|answer| answer.bytes()).collect();
        prop_assert!(sent.starts_with(&got));
        prop_assert!(!damages.is_empty() || got == sent);
        let losses = events.iter().filter(|event| matches!(event, Event::DeviceLost { .. })).count();
        prop_assert!(losses <= 1);
    }

    #[test]
    fn no_bytes_make_an_end_panic_or_open_it_at_the_host(
        chunks in vec(prop_oneof![
            vec(any::<u8>(), 0..400),
            vec(prop_oneof![Just(0u8), Just(0xA5), Just(0x4F), Just(8u8)], 0..60),
            (any::<u64>()).prop_map(|session| drawn(0x4F, None, 0, 0, &session.to_le_bytes())),
            (0u8..=255, prop_oneof![Just(None), Just(Some(7u64))], 0u16..3, any::<u16>(), vec(any::<u8>(), 0..80))
                .prop_map(|(kind, session, sequence, waiting, payload)| {
                    drawn(kind, session, sequence, waiting, &payload)
                }),
            Just(drawn(0x4F, None, 0, 0, &7u64.to_le_bytes())),
        ], 0..30)
    ) {
        let mut device = DeviceEnd::new(PIECE_BYTES);
        let mut host = HostEnd::open(1, SESSION, Duration::ZERO, 4096);
        let (mut requests, mut events) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            device.take(chunk, &mut requests);
            device.fill(100, &mut Vec::new());
            host.begin(true, 100, &mut Vec::new());
            if host.is_busy() {
                host.finish(Duration::ZERO, chunk, &mut events);
            }
        }
        prop_assert!(events.is_empty(), "{:?}", events);
    }
}
