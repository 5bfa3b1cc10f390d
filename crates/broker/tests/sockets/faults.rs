//! Applications and a system that do not behave: who is killed, who sends halves or crumbs, descriptors that run out, and a
//! device that forgets in the middle of a batch. Each request has one answer, and nobody else waits.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use broker::device::{Device, Loopback, SocketBus};
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::Preset;
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::limits::HEADER_BYTES;
use broker::quota::Bounds;
use broker::stream::{Decoder, Framing};
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use broker::{Config, Endpoint, Error, Settings, serve};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::clocked::start_clocked;
use super::{BATCH_KEY, PATIENCE, Running, open_elsewhere, start_device, unix};

fn loopback() -> Device {
    Device::Inline(Box::new(Loopback::default()))
}

fn echo(request: u32, payload: &[u8]) -> Pdu {
    Pdu::new(Head::request(Operation::Echo, request, KeyHandle::NONE), &[], payload).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applications_that_die_in_the_middle_of_requests_leave_nothing_and_harm_nobody() {
    const DEAD: u64 = 200;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let bystander = running.client().await;
    let key = bystander.find_key("batch/7").await.unwrap();
    for number in 0..DEAD {
        let socket = running.socket.clone();
        // What a process that is killed leaves is what one leaves that hangs up: here inside its third request.
        let died = tokio::task::spawn_blocking(move || {
            let mut stream = StdUnixStream::connect(socket).unwrap();
            for request in 0..2 {
                let head = Head::request(Operation::SealAes256Gcm, request, KeyHandle::of(b"batch/7"));
                stream.write_all(Pdu::new(head, b"ad", &[1; 60_000]).unwrap().bytes()).unwrap();
            }
            let third = echo(2, &[2; 1000]);
            stream.write_all(&third.bytes()[..1 + number as usize * 5 % 1000]).unwrap();
        });
        died.await.unwrap();
        if number % 10 == 0 {
            let sealed = bystander.seal(key, b"", b"beside the dead").await.unwrap();
            assert_eq!(open_elsewhere(&BATCH_KEY, b"", &sealed), b"beside the dead");
        }
    }
    let stats = running.stop().await;
    assert_eq!(stats.connections_admitted, 1 + DEAD);
    assert_eq!((stats.answers_stray, stats.connections_closed_malformed, stats.device_losses), (0, 0, 0));
    // Of each admitted request the answer was handed to its connection or dropped, or it was not sent any more.
    assert!(stats.answers(Status::Done) + stats.answers_late <= stats.requests_admitted, "{stats:#?}");
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_million_tiny_frames_each_has_one_answer() {
    const FRAMES: u32 = 1_000_000;
    const OUTSTANDING: u32 = 60;
    let running = Running::start(loopback(), Settings::default()).await;
    let socket = running.socket.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = StdUnixStream::connect(socket).unwrap();
        let (mut decoder, mut buffer) = (Decoder::new(Framing::Plain), vec![0; 64 * 1024]);
        let (mut sent, mut answered) = (0, 0);
        while answered < FRAMES {
            let mut batch = Vec::new();
            while sent < FRAMES && sent - answered < OUTSTANDING {
                batch.extend_from_slice(echo(sent, &[]).bytes());
                sent += 1;
            }
            // In crumbs: frames end anywhere in what is written.
            for crumb in batch.chunks(HEADER_BYTES * 7 + 13) {
                stream.write_all(crumb).unwrap();
            }
            let read_bytes = stream.read(&mut buffer).unwrap();
            assert!(read_bytes > 0, "the broker hung up");
            let mut input = &buffer[..read_bytes];
            while let Some(answer) = decoder.next(&mut input).unwrap() {
                assert_eq!(answer.status(), Ok(Status::Done));
                assert_eq!(
                    answer.head().request,
                    answered,
                    "of one connection they come in their order here"
                );
                answered += 1;
            }
        }
    });
    let bystander = running.client().await;
    let mut bystanders = 0;
    while !asked.is_finished() {
        assert!(bystander.info().await.is_ok(), "the loopback device says what it is");
        bystanders += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    asked.await.unwrap();
    let stats = running.stop().await;
    assert_eq!(stats.answers(Status::Done), u64::from(FRAMES) + bystanders);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_for_too_much_rests_and_is_served_again() {
    const ROOM: usize = 8;
    let bounds = Bounds { requests_per_connection: ROOM, ..Bounds::default() };
    let running = Running::start(loopback(), Settings { bounds, ..Settings::default() }).await;
    let (socket, asked) = (running.socket.clone(), 3 * 100);
    let asking = tokio::task::spawn_blocking(move || {
        let mut stream = StdUnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut decoder, mut buffer, mut statuses) =
            (Decoder::new(Framing::Plain), vec![0; 4096], Vec::new());
        for first in [0, 100, 200] {
            let batch: Vec<u8> =
                (first..first + 100).flat_map(|number| echo(number, &[]).bytes().to_vec()).collect();
            stream.write_all(&batch).unwrap();
            while statuses.len() < first as usize + 100 {
                let read_bytes = stream.read(&mut buffer).unwrap();
                let mut input = &buffer[..read_bytes];
                while let Some(answer) = decoder.next(&mut input).unwrap() {
                    statuses.push(answer.status().unwrap());
                }
            }
        }
        statuses
    });
    let statuses = asking.await.unwrap();
    let done = statuses.iter().filter(|status| **status == Status::Done).count();
    assert_eq!(statuses.len(), asked);
    assert!(statuses.iter().all(|status| matches!(status, Status::Done | Status::Busy)), "{statuses:?}");
    assert!((3 * ROOM..asked).contains(&done), "{done} of {asked} were done, and the others too much");
    assert!(statuses[200..].contains(&Status::Done), "it is served again");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_of_frames_hold_nobody_up_and_end_with_their_connections() {
    let running = Running::start(loopback(), Settings { request_max: PATIENCE, ..Settings::default() }).await;
    let whole = echo(1, &[3; 50_000]);
    let mut halves = Vec::new();
    for bytes in (0..100).map(|number| 1 + number * 499) {
        let mut stream = StdUnixStream::connect(&running.socket).unwrap();
        stream.write_all(&whole.bytes()[..bytes]).unwrap();
        halves.push((stream, bytes));
    }
    let ask = |mut stream: &StdUnixStream, bytes: &[u8]| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = vec![0; whole.bytes().len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer[HEADER_BYTES..], whole.bytes()[HEADER_BYTES..]);
    };
    let bystander = StdUnixStream::connect(&running.socket).unwrap();
    ask(&bystander, whole.bytes());
    // Half of them say the rest, and are answered; the others hang up.
    for (number, (stream, bytes)) in halves.into_iter().enumerate() {
        if number % 2 == 0 {
            ask(&stream, &whole.bytes()[bytes..]);
        }
    }
    ask(&bystander, whole.bytes());
    let stats = running.stop().await;
    assert_eq!((stats.answers(Status::Done), stats.requests_admitted), (52, 52));
}

/// The broker of the test below, with few descriptors. It ends with its standard input.
#[test]
#[ignore = "is the broker of another test, in a process of its own"]
fn broker_process() {
    let path = std::env::var_os("BROKER_TEST_SOCKET").expect("started by another test");
    let limit = Some(40);
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config {
        endpoint: Endpoint::Path(path.into()),
        devices: vec![loopback().into()],
        settings: Settings::default(),
        ready: Box::new(|| println!("ready")),
        stop: Box::pin(async {
            drop(tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await);
        }),
    };
    let stats = runtime.block_on(serve(config)).unwrap();
    println!("refused {}", stats.connections_refused);
}

#[test]
fn when_descriptors_run_out_who_comes_is_told_and_who_is_there_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "faults::broker_process"]);
    command.env("BROKER_TEST_SOCKET", &path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while StdUnixStream::connect(&path).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        thread::sleep(Duration::from_millis(5));
    }
    let asked = |mut stream: &StdUnixStream| {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // One that is refused is closed already.
        let _ = stream.write_all(echo(1, &[]).bytes());
        let mut answer = [0; HEADER_BYTES];
        stream.read_exact(&mut answer).unwrap();
        Decoder::new(Framing::Plain).next(&mut &answer[..]).unwrap().expect("a header is a whole answer")
    };
    let (mut taken, mut refused) = (Vec::new(), 0);
    for _ in 0..60 {
        let stream = StdUnixStream::connect(&path).unwrap();
        let answer = asked(&stream);
        if answer.head().connection == Connection::BROKER {
            assert_eq!(answer.status(), Ok(Status::ConnectionsFull));
            refused += 1;
        } else {
            taken.push(stream);
        }
    }
    assert!(taken.len() >= 20 && refused >= 20, "{} were taken, {refused} refused", taken.len());
    for stream in &taken {
        assert_eq!(asked(stream).status(), Ok(Status::Done));
    }
    // There is room again when somebody goes.
    taken.truncate(10);
    let begun = std::time::Instant::now();
    while asked(&StdUnixStream::connect(&path).unwrap()).status() != Ok(Status::Done) {
        assert!(begun.elapsed() < PATIENCE);
        refused += 1;
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(&format!("refused {refused}\n")), "{refused}: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_forgets_in_the_middle_of_a_batch_costs_only_what_must_not_be_done_twice() {
    let seed = 3;
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let preset = Preset::named("loopback").unwrap();
    let rates = Rates { reset: 0.02, ..Rates::default() };
    let device = start_clocked(&path, preset, Faults::new(rates, seed)).await;
    let bus = Device::Bus(Arc::new(SocketBus { path }));
    let running = Running::start(bus, preset.settings()).await;
    let socket = running.socket.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = StdUnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reading = (Decoder::new(Framing::Plain), stream.try_clone().unwrap());
        let (mut epoch, mut lost, mut done) = (0, 0, 0);
        for round in 0..60_u32 {
            let made = Template::new(Algorithm::Ed25519, Usages::SIGN).to_bytes();
            for number in 0..8 {
                let (operation, key, parameters, payload) = match number {
                    7 => (Operation::KeyGenerate, KeyHandle::NONE, &made[..], &[][..]),
                    _ => (Operation::SealAes256Gcm, KeyHandle::of(b"batch/7"), &b"ad"[..], &[5; 3000][..]),
                };
                let head = Head::request(operation, 8 * round + number, key);
                stream.write_all(Pdu::new(head, parameters, payload).unwrap().bytes()).unwrap();
            }
            let mut numbers = Vec::new();
            while numbers.len() < 8 {
                let answer = next(&mut reading);
                let head = answer.head();
                assert!(head.epoch >= epoch, "the epoch only grows");
                epoch = head.epoch;
                numbers.push(head.request - 8 * round);
                match (answer.status().unwrap(), head.request % 8) {
                    (Status::Done, 7) => done += 1,
                    (Status::Done, _) => {
                        assert_eq!(open_elsewhere(&BATCH_KEY, b"ad", answer.payload()), [5; 3000])
                    }
                    (Status::DeviceLost | Status::WireCorrupt | Status::DeviceUnavailable, _) => lost += 1,
                    (Status::DeviceFull, 7) => {}
                    other => panic!("{other:?}"),
                }
            }
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7], "each has one answer");
        }
        (epoch, lost, done)
    });
    let (epoch, lost, done) = asked.await.unwrap();
    let stats = running.stop().await;
    let clocks = device.stop().await;
    println!("{} resets, {epoch} losses seen, {lost} requests lost, {done} keys made", clocks.struck.resets);
    assert!(clocks.struck.resets > 0 && epoch > 0 && stats.requests_repeated > 0 && done > 0, "{stats:#?}");
}

fn next(reading: &mut (Decoder, StdUnixStream)) -> Pdu {
    let mut byte = [0; 1];
    loop {
        reading.1.read_exact(&mut byte).unwrap();
        if let Some(answer) = reading.0.next(&mut &byte[..]).unwrap() {
            return answer;
        }
    }
}

#[tokio::test]
async fn who_asks_a_broker_that_was_killed_is_told_so_and_finds_its_successor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "faults::broker_process"]).env("BROKER_TEST_SOCKET", &path);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    };
    let connected = async || loop {
        match broker::client::Client::connect(&path).await {
            Ok(client) => break client,
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let mut first = start();
    let client = connected().await;
    assert_eq!(client.info().await.unwrap().name, "loopback");
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(matches!(client.info().await, Err(Error::Disconnected)));
    assert!(path.exists(), "its socket is still there");
    let mut second = start();
    let client = connected().await;
    assert_eq!(client.info().await.unwrap().name, "loopback");
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert!(!path.exists());
}
