//! The daemon over datagrams: what is answered to whom, what is counted, and that nothing is lost on a path that loses,
//! repeats and reorders.

mod bridge;
mod service;

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bridge::{Bridge, CELL, NODES, node_frame, store_master};
use collect::Transport;
use collect::batch::{Answer, BatchId, batch_message};
use collect::client::udp::Link;
use collect::error::{Fault, Refusal};
use collect::limits::Limits;
use collect::store::{Filter, read};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use service::{HELLO, Server};

/// A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(store: &Path, limits: Limits) -> Server {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    Server::start_with(Transport::Udp(socket), store, limits)
}

fn stranger() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// A batch as a datagram that is filled up to `bytes`.
fn datagram(id: &BatchId, sealed: &[u8], bytes: usize) -> Vec<u8> {
    let mut datagram = batch_message(id, sealed);
    datagram.resize(datagram.len().max(bytes), 0);
    datagram
}

fn receive(socket: &UdpSocket) -> (Answer, usize) {
    let mut buffer = vec![0; 65_536];
    let bytes = socket.recv(&mut buffer).expect("an answer comes");
    (Answer::parse(&buffer[4..bytes]).expect("it is an answer"), bytes)
}

#[test]
fn rubbish_is_counted_and_never_answered_and_no_answer_is_longer_than_what_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { batch_frames_max: 8, ..Limits::default() };
    let server = start(&folder.path().join("store"), limits);
    let (socket, mut bridge) = (stranger(), Bridge::new());
    let mut forged = bridge.superframe(1);
    forged[30] ^= 1;
    let stranger_cell = BatchId { cell: CELL + 1, ..Bridge::id(2) };
    let mut version = datagram(&Bridge::id(3), &bridge.superframe(3), 0);
    version[5] = 9;
    let short = bridge.seal(4, &[vec![1]]);
    let rubbish = [
        vec![],
        vec![7; 3],
        vec![255; 100],
        HELLO.to_message(),
        version,
        datagram(&Bridge::id(1), &forged, 2000),
        datagram(&stranger_cell, &bridge.superframe(2), 2000),
        // Authentic; but its receipt would be longer, and so nobody gets it.
        batch_message(&Bridge::id(4), &short),
    ];
    for datagram in &rubbish {
        socket.send_to(datagram, server.address).unwrap();
    }
    let layout = bridge.seal_plaintext(5, &[7; 5]);
    socket.send_to(&datagram(&Bridge::id(5), &layout, 0), server.address).unwrap();
    let many: Vec<_> = (0..9).map(|counter| node_frame(1, 50 + counter)).collect();
    socket.send_to(&datagram(&Bridge::id(6), &bridge.seal(6, &many), 0), server.address).unwrap();
    let last = datagram(&Bridge::id(7), &bridge.superframe(7), 0);
    socket.send_to(&last, server.address).unwrap();
    // Datagrams on one machine come in order, so these are the answers to all.
    for (number, refusal) in [(5, Refusal::Layout), (6, Refusal::Frames)] {
        let refused = Answer::Refused { id: Bridge::id(number), status: refusal.number() };
        assert_eq!(receive(&socket).0, refused);
    }
    let (answer, bytes) = receive(&socket);
    assert!(bytes <= last.len(), "{bytes} bytes for {}", last.len());
    let Answer::Receipt { id, sealed } = answer else { panic!("found {answer:?}") };
    assert_eq!((id, bridge.open(7, sealed).stored), (Bridge::id(7), NODES as u16));
    let stats = server.stop();
    let refused: Vec<_> = stats.refused.iter().map(|(&name, &count)| (name, count)).collect();
    let expected = [
        ("hello", 1),
        ("layout", 1),
        ("malformed", 3),
        ("rejected", 1),
        ("too-many-frames", 1),
        ("unknown-cell", 1),
        ("version", 1),
    ];
    assert_eq!(refused, expected);
    assert_eq!((stats.answers_withheld, stats.datagrams_dropped), (8, 0));
    assert_eq!((stats.frames_stored, stats.frames_failed_total()), (u64::from(NODES), 1));
}

#[test]
fn a_receipt_that_names_another_reason_for_each_frame_still_fits_what_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("store"), Limits::default());
    let mut bridge = Bridge::new();
    let changed = |at: usize, byte: u8| {
        let mut frame = node_frame(0, 1);
        frame[at] = byte;
        frame
    };
    // No frame, one of another suite, of a strange node, on its way down, and with another tag.
    let ciphertext = node_frame(0, 1)[20];
    let frames = [vec![], changed(0, 0x12), changed(1, 99), changed(9, 0x80), changed(20, !ciphertext)];
    let reasons = [Fault::Layout, Fault::Suite, Fault::Node, Fault::Direction, Fault::Rejected];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for count in 0..=frames.len() {
        let (number, frames) = (count as u64, &frames[..count]);
        let answer = runtime.block_on(async {
            let mut link = Link::open(server.address, (1_000, 30_000)).await.unwrap();
            link.send(&Bridge::id(number), &bridge.seal(number, frames), count).await.unwrap();
            tokio::time::timeout(PATIENCE, link.next()).await.expect("an answer comes").unwrap()
        });
        let Answer::Receipt { sealed, .. } = answer else { panic!("found {answer:?}") };
        let expected = reasons[..count].iter().map(|fault| (fault.number(), 1)).collect();
        assert_eq!(bridge.open(number, sealed).failed, expected);
    }
    assert_eq!(server.stop().answers_withheld, 0);
}

#[test]
fn a_batch_that_is_sent_from_elsewhere_is_answered_there_and_stored_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(&folder.path().join("store"), Limits::default());
    let mut bridge = Bridge::new();
    let sent = datagram(&Bridge::id(1), &bridge.superframe(1), 0);
    for (round, socket) in [stranger(), stranger()].iter().enumerate() {
        socket.send_to(&sent, server.address).unwrap();
        let (Answer::Receipt { sealed, .. }, _) = receive(socket) else { panic!("no receipt") };
        let receipt = bridge.open(1, sealed);
        let counts = (receipt.stored, receipt.duplicate);
        assert_eq!(counts, [(NODES as u16, 0), (0, NODES as u16)][round]);
    }
    assert_eq!(server.stop().frames_stored, u64::from(NODES));
}

/// Between a bridge and a server: loses, repeats and holds back datagrams in both directions, by a seed.
fn bad_path(server: SocketAddr, seed: u64, is_over: Arc<AtomicBool>) -> SocketAddr {
    let (front, back) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    back.connect(server).unwrap();
    for socket in [&front, &back] {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    let address = front.local_addr().unwrap();
    thread::spawn(move || {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (mut client, mut held) = (None, [None, None]);
        let mut buffer = vec![0; 65_536];
        while !is_over.load(Ordering::Relaxed) {
            for up in [true, false] {
                let received = if up { front.recv_from(&mut buffer) } else { back.recv_from(&mut buffer) };
                let Ok((bytes, from)) = received else { continue };
                client = if up { Some(from) } else { client };
                let pass = |datagram: &[u8]| {
                    let sent = match client {
                        _ if up => back.send(datagram),
                        Some(client) => front.send_to(datagram, client),
                        None => return,
                    };
                    assert_eq!(sent.unwrap_or(datagram.len()), datagram.len());
                };
                let datagram = buffer[..bytes].to_vec();
                match random.next_u32() % 8 {
                    0 | 1 => {}
                    2 => held[usize::from(up)] = Some(datagram),
                    3 => (0..2).for_each(|_| pass(&datagram)),
                    _ => pass(&datagram),
                }
                if let Some(late) = held[usize::from(up)].take_if(|_| random.next_u32() % 4 == 0) {
                    pass(&late);
                }
            }
        }
    });
    address
}

#[test]
fn nothing_is_lost_or_stored_twice_on_a_path_that_loses_repeats_and_reorders() {
    let seed = getrandom::u64().unwrap();
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let server = start(&store, Limits::default());
    let is_over = Arc::new(AtomicBool::new(false));
    let path = bad_path(server.address, seed, is_over.clone());
    let mut bridge = Bridge::new();
    const BATCHES: u64 = 64;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let resent = runtime.block_on(async {
        let mut link = Link::open(path, (20, 200)).await.unwrap();
        let mut waiting = std::collections::BTreeSet::new();
        for number in 0..BATCHES {
            waiting.insert(number);
            link.send(&Bridge::id(number), &bridge.superframe(number), NODES as usize).await.unwrap();
        }
        while !waiting.is_empty() {
            let answer = tokio::time::timeout(PATIENCE, link.next()).await.expect("answers go on").unwrap();
            let Answer::Receipt { id, sealed } = answer else { panic!("refused") };
            let receipt = bridge.open(id.number, sealed);
            assert_eq!(receipt.stored + receipt.duplicate, NODES as u16);
            link.settle(&receipt.batch);
            waiting.remove(&id.number);
        }
        link.resent()
    });
    is_over.store(true, Ordering::Relaxed);
    let stats = server.stop();
    assert!(resent > 0, "the path lost nothing: the test tests nothing");
    assert_eq!(stats.frames_stored, BATCHES * u64::from(NODES));
    let stored = read(&store, store_master(), Filter::default()).unwrap().map(Result::unwrap);
    let mut counters: Vec<_> = stored.map(|record| (record.node, record.counter)).collect();
    counters.sort_unstable();
    let expected: Vec<_> =
        (0..NODES).flat_map(|node| (0..BATCHES as u32).map(move |counter| (node, counter))).collect();
    assert_eq!(counters, expected);
}

#[test]
fn a_full_queue_drops_datagrams_counts_them_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        queue_batches_max: 1,
        group_batches_max: 1,
        connection_batches_max: 1,
        shards: 1,
        ..Limits::default()
    };
    let server = start(&folder.path().join("store"), limits);
    let (socket, mut bridge) = (stranger(), Bridge::new());
    let sent: Vec<_> =
        (0..200).map(|number| datagram(&Bridge::id(number), &bridge.superframe(number), 0)).collect();
    for datagram in &sent {
        socket.send_to(datagram, server.address).unwrap();
    }
    // However many of those came through, one that is sent until it is answered does.
    let last = datagram(&Bridge::id(999), &bridge.superframe(999), 0);
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let mut buffer = vec![0; 65_536];
    let answered = (0..300).any(|_| {
        socket.send_to(&last, server.address).unwrap();
        std::iter::from_fn(|| {
            socket.recv(&mut buffer).ok().map(|bytes| Answer::parse(&buffer[4..bytes]).unwrap())
        })
        .any(|answer| answer.id() == Bridge::id(999))
    });
    assert!(answered, "the service goes on");
    let stats = server.stop();
    assert!(stats.datagrams_dropped > 0 && stats.batches > 0, "{stats:?}");
}
