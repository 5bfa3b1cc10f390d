//! The daemons over real sockets, and the device in a process of its own where it is killed.
//!
//! What the device sealed is opened with another AES-GCM (RustCrypto's; the device's is AWS-LC's), and the
//! other way round.

mod blocking;
mod chip;
mod clocked;
mod faults;
mod lanes;
mod lines;
mod users;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use broker::client::Client;
use broker::device::{Connect, UnixDevice};
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::engine::store::{SealingKey, Store};
use broker::engine::{NamedKey, Purpose};
use broker::stream::{End, Framing, Incoming};
use broker::wire::{Head, KeyHandle, Operation, Pdu, Status};
use broker::{Config, Endpoint, Error, LinkFault, Settings, Stats, emulate, serve};
use cipher::Key;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

/// Only for a test that hangs; no test that passes waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
const BATCH_KEY: [u8; 32] = [7; 32];
const RECEIPT_KEY: [u8; 32] = [8; 32];

fn keys() -> Vec<NamedKey> {
    let key = |name: &str, purpose, bytes| NamedKey {
        name: name.to_owned(),
        purpose,
        key: Key::copied_from(bytes),
    };
    vec![key("batch/7", Purpose::Seal, &BATCH_KEY), key("receipt/7", Purpose::Open, &RECEIPT_KEY)]
}

struct Device {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<emulate::Served, Error>>,
}

async fn start_device(path: &Path) -> Device {
    let (stop, stopped) = oneshot::channel();
    let (ready, is_ready) = oneshot::channel();
    let task = tokio::spawn(emulate::serve(emulate::Config {
        endpoint: Endpoint::Path(path.to_owned()),
        keys: keys(),
        store: None,
        ready: Box::new(move || ready.send(()).expect("the test waits")),
        stop: Box::pin(async { drop(stopped.await) }),
    }));
    is_ready.await.expect("the device starts");
    Device { stop, task }
}

impl Device {
    async fn stop(self) -> emulate::Served {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap()
    }
}

struct Running {
    socket: PathBuf,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Stats, Error>>,
    _folder: TempDir,
}

impl Running {
    async fn start(device: broker::device::Device, settings: Settings) -> Running {
        Running::start_at(Endpoint::Path, device, settings).await
    }

    async fn start_at(
        endpoint: impl FnOnce(PathBuf) -> Endpoint,
        device: broker::device::Device,
        settings: Settings,
    ) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("broker.sock");
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let task = tokio::spawn(serve(Config {
            endpoint: endpoint(socket.clone()),
            devices: vec![device.into()],
            settings,
            ready: Box::new(move || ready.send(()).expect("the test waits")),
            stop: Box::pin(async { drop(stopped.await) }),
        }));
        is_ready.await.expect("the broker starts");
        Running { socket, stop, task, _folder: folder }
    }

    async fn client(&self) -> Client {
        Client::connect(&self.socket).await.unwrap()
    }

    async fn raw(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }

    async fn stop(self) -> Stats {
        let _ = self.stop.send(());
        tokio::time::timeout(PATIENCE, self.task).await.expect("the broker stops").unwrap().unwrap()
    }
}

fn unix(path: &Path) -> broker::device::Device {
    broker::device::Device::Stream(Box::new(UnixDevice { path: path.to_owned() }))
}

/// RustCrypto's opinion of what the device sealed.
fn open_elsewhere(key: &[u8; 32], associated_data: &[u8], sealed: &[u8]) -> Vec<u8> {
    let payload = Payload { msg: &sealed[12..], aad: associated_data };
    let nonce = Nonce::try_from(&sealed[..12]).unwrap();
    Aes256Gcm::new(key.into()).decrypt(&nonce, payload).expect("the device's seal is authentic")
}

fn seal_elsewhere(key: &[u8; 32], associated_data: &[u8], nonce: [u8; 12], plaintext: &[u8]) -> Vec<u8> {
    let payload = Payload { msg: plaintext, aad: associated_data };
    let sealed = Aes256Gcm::new(key.into()).encrypt(&nonce.into(), payload).unwrap();
    [&nonce[..], &sealed].concat()
}

/// A message that no other request of the run has.
fn message(client: usize, request: usize) -> Vec<u8> {
    let length = [0, 1, 15, 16, 17, 200, 4096, 65_536 - 24][request % 8];
    let mut message = vec![request as u8; length];
    message.extend_from_slice(format!("client {client:4} request {request:4}").as_bytes());
    message.truncate(65_536);
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eighty_clients_get_each_their_own_answers() {
    const CLIENTS: usize = 80;
    const REQUESTS: usize = 48;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let nonce_count = ask_all(&running, CLIENTS, (0..REQUESTS).collect(), REQUESTS).await;
    let stats = running.stop().await;
    let expected = (CLIENTS * (2 + REQUESTS + REQUESTS / 4)) as u64; // one of four opens also what must be rejected
    assert_eq!(stats.requests_admitted, expected);
    assert_eq!(stats.answers(Status::Done) + stats.answers(Status::Rejected), expected);
    assert_eq!(stats.answers(Status::Rejected), (CLIENTS * REQUESTS / 4) as u64);
    assert_eq!((stats.answers_late, stats.answers_stray), (0, 0));
    assert_eq!(stats.users.len(), 1);
    let (uid, usage) = stats.users.first_key_value().unwrap();
    assert_eq!(*uid, rustix::process::getuid().as_raw());
    assert_eq!((usage.connections, usage.requests), (CLIENTS as u64, expected));
    let served = device.stop().await;
    assert_eq!(served, emulate::Served { links: 1, requests: expected + 1, corruptions: 0 });
    assert_eq!(nonce_count, CLIENTS * REQUESTS / 4, "each nonce is made once");
}

/// Clients, each of which asks all of these, so many of them at a time. Gives how many seals had each a nonce of its own.
async fn ask_all(running: &Running, clients: usize, requests: Vec<usize>, at_a_time: usize) -> usize {
    let (requests, nonces) = (Arc::new(requests), Arc::new(Mutex::new(HashSet::new())));
    let mut tasks = JoinSet::new();
    for number in 0..clients {
        let (client, requests, nonces) = (running.client().await, requests.clone(), nonces.clone());
        tasks.spawn(async move {
            let keys =
                [client.find_key("batch/7").await.unwrap(), client.find_key("receipt/7").await.unwrap()];
            for together in requests.chunks(at_a_time) {
                let mut asked = JoinSet::new();
                for request in together.iter().copied() {
                    let (client, nonces) = (client.clone(), nonces.clone());
                    asked.spawn(async move { one_request(&client, keys, number, request, &nonces).await });
                }
                asked.join_all().await;
            }
        });
    }
    tasks.join_all().await;
    nonces.lock().unwrap().len()
}

/// So many requests for [`ask_all`], none of which is for the device's name: only one device has that.
fn of_any_device(count: usize) -> Vec<usize> {
    (0..count).map(|request| 4 * request + request % 3).collect()
}

/// A seal, an opening, random bytes or the device's name, by the request's number, and what must come of it.
async fn one_request(
    client: &Client,
    [batches, receipts]: [KeyHandle; 2],
    number: usize,
    request: usize,
    nonces: &Mutex<HashSet<Vec<u8>>>,
) {
    let plaintext = message(number, request);
    let associated_data = format!("{number}/{request}").into_bytes();
    match request % 4 {
        0 => {
            let sealed = client.seal(batches, &associated_data, &plaintext).await.unwrap();
            assert_eq!(open_elsewhere(&BATCH_KEY, &associated_data, &sealed), plaintext);
            assert!(nonces.lock().unwrap().insert(sealed[..12].to_vec()));
        }
        1 => {
            let nonce = [number as u8, request as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            let mut sealed = seal_elsewhere(&RECEIPT_KEY, &associated_data, nonce, &plaintext);
            assert_eq!(*client.open(receipts, &associated_data, &sealed).await.unwrap(), plaintext);
            *sealed.last_mut().unwrap() ^= 1;
            let rejected = client.open(receipts, &associated_data, &sealed).await;
            assert!(matches!(rejected, Err(Error::Refused { status: Status::Rejected, .. })));
        }
        2 => {
            let random = client.random(32 + request as u32).await.unwrap();
            assert_eq!(random.len(), 32 + request);
            assert!(random.iter().any(|byte| *byte != 0));
        }
        _ => assert_eq!(client.info().await.unwrap().name, "selvedge software device"),
    }
}

/// The device of the tests that kill one. It is this test binary, started again.
#[test]
#[ignore = "is the device of other tests, in a process of its own"]
fn device_process() {
    let path = std::env::var_os("BROKER_TEST_DEVICE").expect("started by another test");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = std::env::var_os("BROKER_TEST_STORE").map(|store| {
        let key = SealingKey::new(Key::copied_from(&[9; 32]), "a test".to_owned());
        Store::in_folder(store.as_ref(), None, &key).unwrap_or_else(|error| panic!("{error}"))
    });
    let config = emulate::Config {
        endpoint: Endpoint::Path(path.into()),
        keys: keys(),
        store,
        ready: Box::new(|| {}),
        stop: Box::pin(std::future::pending()),
    };
    runtime.block_on(emulate::serve(config)).unwrap();
}

struct Process(Child);

impl Process {
    async fn start(path: &Path) -> Process {
        Process::start_with(path, None).await
    }

    /// A device that keeps persistent keys in a folder.
    async fn start_with(path: &Path, store: Option<&Path>) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "device_process"]).env("BROKER_TEST_DEVICE", path);
        command.envs(store.map(|store| ("BROKER_TEST_STORE", store)));
        let process = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let connected = async {
            while UnixStream::connect(path).await.is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, connected).await.expect("the device starts");
        process
    }

    fn stand_still(&self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    }
}

impl Process {
    /// Ends at once: its socket and lock files stay.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_device_is_named_and_its_successor_serves_the_same_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let first = Process::start(&path).await;
    let operator = Some(rustix::process::getuid().as_raw());
    let running = Running::start(unix(&path), Settings { operator, ..Settings::default() }).await;
    let (phase, watch) = tokio::sync::watch::channel(Phase::First);
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let client = running.client().await;
        let key = client.find_key("batch/7").await.unwrap(); // once: the handle outlives the device
        for request in 0..40 {
            tasks.spawn(seal_for_ever(client.clone(), key, message(number, request % 7), watch.clone()));
        }
    }
    // The device stands still with whatever it has got, and everybody asks it for more. Then it dies.
    first.stand_still();
    let (mut operator, mut looks) = (running.raw().await, 1);
    while waiting(&mut operator).await == 0 {
        looks += 1;
        assert!(looks < 20_000, "nobody asks for more than the device takes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(first);
    let _second = Process::start(&path).await;
    phase.send(Phase::Second).unwrap();
    let mut done = 8 + looks; // the keys that were found, and what the operator asked
    let mut refusals = BTreeMap::<Status, u64>::new();
    while let Some(finished) = tasks.join_next().await {
        let (sealed, refused) = finished.unwrap();
        done += sealed;
        for (status, count) in refused {
            *refusals.entry(status).or_default() += count;
        }
    }
    let stats = running.stop().await;
    assert_eq!(stats.answers(Status::Done), done);
    assert_eq!((stats.device_losses, stats.device_opens, stats.device_restarts), (1, 2, 1), "{stats:#?}");
    for (status, count) in &refusals {
        assert!([Status::DeviceLost, Status::DeviceUnavailable].contains(status), "{refusals:?}");
        assert_eq!(stats.answers(*status), *count);
    }
    assert!(stats.requests_repeated > 0, "what was at the device is sent once more: {stats:#?}");
}

/// How many requests wait for the device, by the broker's own word.
async fn waiting(operator: &mut UnixStream) -> usize {
    let answer = asked(operator, Operation::Status, KeyHandle::NONE, &[]).await;
    let text = String::from_utf8(answer.payload().to_vec()).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix("selvedge_broker_requests_waiting "));
    value.expect("there is a gauge").parse().unwrap()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    First,
    Second,
}

/// Seals without a pause until the second device is there, and once more; says how often, and what was
/// refused.
async fn seal_for_ever(
    client: Client,
    key: KeyHandle,
    plaintext: Vec<u8>,
    phase: tokio::sync::watch::Receiver<Phase>,
) -> (u64, BTreeMap<Status, u64>) {
    let (mut sealed_count, mut refusals) = (0, BTreeMap::new());
    loop {
        let last = *phase.borrow() == Phase::Second;
        match client.seal(key, b"ad", &plaintext).await {
            Ok(sealed) => {
                assert_eq!(open_elsewhere(&BATCH_KEY, b"ad", &sealed), plaintext);
                sealed_count += 1;
                if last {
                    return (sealed_count, refusals);
                }
            }
            Err(Error::Refused { status, .. }) if status.may_repeat() => {
                *refusals.entry(status).or_default() += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_request_is_named_and_closed_and_harms_nobody_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let bystander = running.client().await;
    let good = Pdu::empty(Head::request(Operation::Info, 77, KeyHandle::NONE)).bytes().to_vec();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let cases = [
        (b"GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n".to_vec(), Status::Version),
        (with(0, 1), Status::Version),
        (with(1, 3), Status::Malformed),
        (with(8, 1), Status::Malformed),
        (with(24, 1), Status::Malformed),
        (with(36, 1), Status::Malformed),
        (with(27, 255), Status::Oversize),
        (with(31, 255), Status::Oversize),
        ([good.clone(), with(0, 9)].concat(), Status::Version),
        (vec![0xFF; 300_000], Status::Version),
    ];
    let count = cases.len() as u64;
    for (bytes, expected) in cases {
        let (reader, mut writer) = running.raw().await.into_split();
        // The broker may close before it has read all: the rest of the bytes is then refused by the system.
        let sent = tokio::spawn(async move { drop(writer.write_all(&bytes).await) });
        let mut answers = Incoming::new(reader, Framing::Plain);
        let mut last = answers.next().await.expect("the broker says what is wrong");
        while let Ok(answer) = answers.next().await {
            last = answer;
        }
        assert_eq!(last.status(), Ok(expected));
        sent.await.unwrap();
        bystander.info().await.unwrap();
    }
    drop(running.raw().await); // connects and says nothing
    let mut half = running.raw().await;
    half.write_all(&good[..20]).await.unwrap(); // hangs up inside a header
    drop(half);
    bystander.info().await.unwrap();
    let stats = running.stop().await;
    assert_eq!(stats.connections_closed_malformed, count);
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_is_closed_and_delays_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let settings = Settings { unread_max: Duration::from_secs(1), ..Settings::default() };
    let running = Running::start(unix(&path), settings).await;
    let mut hog = running.raw().await;
    let flood = tokio::spawn(async move {
        for request in 0u32.. {
            let head = Head::request(Operation::Random, request, KeyHandle::NONE);
            let pdu = Pdu::new(head, &65_536u32.to_le_bytes(), &[]).unwrap();
            if hog.write_all(pdu.bytes()).await.is_err() {
                return request; // the broker has closed the connection
            }
        }
        unreachable!("the broker reads for ever from who does not read")
    });
    // The bystander's requests are answered while the hog is connected, whatever it does.
    let bystander = running.client().await;
    let key = bystander.find_key("batch/7").await.unwrap();
    let mut served = 0;
    while !flood.is_finished() {
        let sealed = bystander.seal(key, b"", b"beside a hog").await.unwrap();
        assert_eq!(open_elsewhere(&BATCH_KEY, b"", &sealed), b"beside a hog");
        served += 1;
    }
    assert!(served > 0, "the bystander was served before the hog was closed");
    tokio::time::timeout(PATIENCE, flood).await.unwrap().unwrap();
    let stats = running.stop().await;
    assert_eq!(stats.connections_closed_unread, 1);
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_begins_a_request_and_does_not_end_it_is_told_and_closed_and_who_says_nothing_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let settings = Settings { request_max: Duration::from_millis(200), ..Settings::default() };
    let running = Running::start(unix(&path), settings).await;
    let silent = running.client().await;
    silent.info().await.unwrap();
    let good = Pdu::new(Head::request(Operation::Echo, 1, KeyHandle::NONE), &[], &[7; 60_000]).unwrap();
    // In the header, behind it, and in what is read to where it stays.
    for bytes in [1, 40, 41, 30_000, 60_039] {
        let mut half = running.raw().await;
        half.write_all(&good.bytes()[..bytes]).await.unwrap();
        let mut answers = Incoming::new(&mut half, Framing::Plain);
        let told = tokio::time::timeout(PATIENCE, answers.next()).await.expect("it is told");
        assert_eq!(told.unwrap().status(), Ok(Status::Malformed), "{bytes}");
        let end = tokio::time::timeout(PATIENCE, answers.next()).await.expect("it is closed");
        assert!(matches!(end, Err(End::HungUp)), "{end:?}");
    }
    silent.info().await.unwrap();
    let stats = running.stop().await;
    assert_eq!(stats.connections_closed_malformed, 5);
    device.stop().await;
}

/// A wire to the device that flips one bit of these bytes, counted from the opening, in each direction: when it is
/// opened for the first time, or always.
struct Damaged {
    device: UnixDevice,
    answer_byte: Option<usize>,
    request_byte: Option<usize>,
    is_damaged_again: bool,
    opens: AtomicUsize,
}

/// Carries bytes from one stream to another until either ends.
fn carry(mut from: StdUnixStream, mut to: StdUnixStream, damaged_byte: Option<usize>) {
    let (mut buffer, mut carried_bytes) = ([0; 4096], 0);
    while let Ok(read_bytes @ 1..) = from.read(&mut buffer) {
        if let Some(index) = damaged_byte.and_then(|at| at.checked_sub(carried_bytes))
            && let Some(byte) = buffer[..read_bytes].get_mut(index)
        {
            *byte ^= 0x10;
        }
        carried_bytes += read_bytes;
        if to.write_all(&buffer[..read_bytes]).is_err() {
            break;
        }
    }
    // Either may have gone already.
    let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
}

impl Connect for Damaged {
    fn connect(&self) -> io::Result<OwnedFd> {
        let device = StdUnixStream::from(self.device.connect()?);
        device.set_nonblocking(false)?;
        let (inside, outside) = StdUnixStream::pair()?;
        let is_damaged = self.opens.fetch_add(1, Ordering::Relaxed) == 0 || self.is_damaged_again;
        let [request_byte, answer_byte] =
            [self.request_byte, self.answer_byte].map(|byte| byte.filter(|_| is_damaged));
        let (to_device, to_host) = ((inside.try_clone()?, device.try_clone()?), (device, inside));
        thread::spawn(move || carry(to_device.0, to_device.1, request_byte));
        thread::spawn(move || carry(to_host.0, to_host.1, answer_byte));
        outside.set_nonblocking(true)?;
        Ok(outside.into())
    }

    fn name(&self) -> String {
        "damaged".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_on_the_device_wire_is_named_and_the_next_request_is_served() {
    // The first answer on the wire is 40 + 16 + 24 + 4 bytes of information, the first request 40 + 4, and then it is told
    // who the client is. What comes next is hit in its version, lengths, payload and checksum, in either direction.
    let mut groups = rustix::process::getgroups().unwrap();
    groups.push(rustix::process::getgid());
    groups.sort_unstable_by_key(|group| group.as_raw());
    groups.dedup();
    let told = 40 + 4 * (1 + groups.len()) + 4;
    for byte in [0, 4, 26, 30, 41, 63] {
        for (answer_byte, request_byte) in [(Some(84 + byte), None), (None, Some(44 + told + byte))] {
            for is_damaged_again in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("device.sock");
                let device = start_device(&path).await;
                let opens = AtomicUsize::new(0);
                let device_itself = UnixDevice { path };
                let wire =
                    Damaged { device: device_itself, answer_byte, request_byte, is_damaged_again, opens };
                // A damaged length makes the other end wait for 16 bytes more than there are, which only time
                // tells.
                let waits = byte == 26;
                let answer_max =
                    if waits { Duration::from_millis(500) } else { Settings::default().answer_max };
                let settings = Settings { answer_max, ..Settings::default() };
                let running = Running::start(broker::device::Device::Stream(Box::new(wire)), settings).await;
                let client = running.client().await;
                let key = KeyHandle::of(b"batch/7");
                let sealed = client.seal(key, b"ad", &[5; 40]).await;
                let expected = if waits { Status::DeviceSilent } else { Status::WireCorrupt };
                match sealed {
                    Ok(sealed) if !is_damaged_again && !waits => {
                        assert_eq!(open_elsewhere(&BATCH_KEY, b"ad", &sealed), [5; 40]);
                    }
                    Err(Error::Refused { status, .. }) if is_damaged_again || waits => {
                        assert_eq!(status, expected);
                    }
                    other => panic!("answer {answer_byte:?}, request {request_byte:?}: {other:?}"),
                }
                let stats = running.stop().await;
                let losses = 1 + u64::from(is_damaged_again && !waits);
                assert_eq!((stats.device_losses, stats.requests_repeated), (losses, u64::from(!waits)));
                assert_eq!(stats.device_restarts, 0, "the device itself was well");
                let served = device.stop().await;
                let corruptions = if request_byte.is_some() && !waits { losses } else { 0 };
                assert_eq!(served.corruptions, corruptions);
            }
        }
    }
}

#[tokio::test]
async fn one_device_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let second = serve(Config {
        endpoint: Endpoint::Path(running.socket.clone()),
        devices: vec![unix(&path).into()],
        settings: Settings::default(),
        ready: Box::new(|| panic!("it must not become ready")),
        stop: Box::pin(std::future::pending()),
    });
    assert!(matches!(second.await, Err(Error::AlreadyServed { .. })));
    running.client().await.info().await.unwrap();
    running.stop().await;
    device.stop().await;
}

#[tokio::test]
async fn a_refused_application_learns_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full.sock");
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    let client = Client::connect(&path).await.unwrap();
    let (mut refused, _) = listener.accept().await.unwrap();
    let notice = Pdu::empty(Head::default().answer(Status::ConnectionsFull));
    refused.write_all(notice.bytes()).await.unwrap();
    drop(refused);
    for _ in 0..2 {
        let error = client.info().await.unwrap_err();
        assert!(matches!(error, Error::Refused { status: Status::ConnectionsFull, .. }), "{error}");
    }
}

#[tokio::test]
async fn a_broker_without_a_device_says_so_after_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let refused = serve(Config {
        endpoint: Endpoint::Path(folder.path().join("broker.sock")),
        devices: vec![unix(&folder.path().join("nothing.sock")).into()],
        settings: Settings { start_max: Duration::from_millis(200), ..Settings::default() },
        ready: Box::new(|| panic!("it must not become ready")),
        stop: Box::pin(std::future::pending()),
    });
    let Err(Error::DeviceClosed { device, fault }) = refused.await else { panic!("it has no device") };
    assert!(device.ends_with("nothing.sock"));
    assert_eq!(fault, LinkFault::Io(io::ErrorKind::NotFound));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_broker_disconnects_its_clients_and_leaves_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let client = running.client().await;
    client.info().await.unwrap();
    let socket = running.socket.clone();
    running.stop().await;
    assert!(matches!(client.info().await, Err(Error::Disconnected)));
    assert!(!socket.exists());
    assert!(matches!(Client::connect(&socket).await, Err(Error::Io { doing: "connect to", .. })));
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_cannot_forge_a_receipt_or_read_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let client = running.client().await;
    let [batches, receipts] =
        [client.find_key("batch/7").await.unwrap(), client.find_key("receipt/7").await.unwrap()];
    let forged = client.seal(receipts, b"header", b"stored").await;
    assert!(matches!(forged, Err(Error::Refused { status: Status::WrongPurpose, .. })), "{forged:?}");
    let batch = client.seal(batches, b"header", b"frames").await.unwrap();
    let read = client.open(batches, b"header", &batch).await;
    assert!(matches!(read, Err(Error::Refused { status: Status::WrongPurpose, .. })));
    // What they are for goes on.
    let receipt = seal_elsewhere(&RECEIPT_KEY, b"header", [1; 12], b"stored");
    assert_eq!(*client.open(receipts, b"header", &receipt).await.unwrap(), b"stored");
    running.stop().await;
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_device_does_not_have_or_take_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let client = running.client().await;
    let unknown = client.find_key("batch/8").await;
    assert!(matches!(unknown, Err(Error::Refused { status: Status::UnknownKey, .. })));
    let unknown = client.seal(KeyHandle::of(b"batch/8"), b"", b"").await;
    assert!(matches!(unknown, Err(Error::Refused { status: Status::UnknownKey, .. })));
    let long = client.seal(KeyHandle::of(b"batch/7"), b"", &vec![0; 65_537]).await;
    assert!(matches!(long, Err(Error::TooLong { found_bytes: 65_537, max_bytes: 65_536, .. })));
    let mut raw = running.raw().await;
    let head = Head { operation: 4095, ..Head::request(Operation::Info, 9, KeyHandle::NONE) };
    raw.write_all(Pdu::empty(head).bytes()).await.unwrap();
    raw.write_all(Pdu::empty(Head::request(Operation::Info, 10, KeyHandle::NONE)).bytes()).await.unwrap();
    let mut answers = Incoming::new(&mut raw, Framing::Plain);
    assert_eq!(answers.next().await.unwrap().status(), Ok(Status::UnknownOperation));
    assert_eq!(answers.next().await.unwrap().status(), Ok(Status::Done), "the connection is kept");
    drop(answers);
    let mut rest = [0; 1];
    assert_eq!(
        raw.try_read(&mut rest).unwrap_err().kind(),
        io::ErrorKind::WouldBlock,
        "nothing more is sent"
    );
    let _ = raw.shutdown().await;
    let _ = raw.read(&mut rest).await;
    running.stop().await;
    device.stop().await;
}

/// The answer to one request on a connection of its own making.
async fn asked(raw: &mut UnixStream, operation: Operation, key: KeyHandle, parameters: &[u8]) -> Pdu {
    let request = Pdu::new(Head::request(operation, 1, key), parameters, &[]).unwrap();
    raw.write_all(request.bytes()).await.unwrap();
    Incoming::new(raw, Framing::Plain).next().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_the_users_that_the_socket_names_or_its_connections_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let device = start_device(&path).await;
    let running = Running::start(unix(&path), Settings::default()).await;
    let template =
        |is_persistent| Template { is_persistent, ..Template::new(Algorithm::Ed25519, Usages::SIGN) };
    let mut one = running.raw().await;
    let mut made = Vec::new();
    for is_persistent in [true, false] {
        let parameters = template(is_persistent).to_bytes();
        let answer = asked(&mut one, Operation::KeyGenerate, KeyHandle::NONE, &parameters).await;
        assert_eq!(answer.status(), Ok(Status::Done));
        made.push(answer.head().key);
    }
    let attributes = asked(&mut one, Operation::KeyAttributes, made[0], &[]).await;
    let owner = rustix::process::geteuid().as_raw().to_le_bytes();
    assert_eq!(attributes.payload(), [&[1, 0, 0, 0], &owner[..], &template(true).to_bytes()].concat());
    let mut two = running.raw().await;
    let listed = asked(&mut two, Operation::KeyList, KeyHandle::NONE, &[0; 8]).await;
    let listed: Vec<u64> =
        listed.payload().as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    assert!(listed.contains(&made[0].0) && !listed.contains(&made[1].0));
    assert_eq!(listed.len(), 1 + keys().len(), "a deployment's keys are everyone's");
    let left = asked(&mut two, Operation::Leave, KeyHandle::NONE, &[]).await;
    assert_eq!(left.status(), Ok(Status::UnknownOperation), "only the broker says who left");
    assert_eq!(asked(&mut one, Operation::KeyPublic, made[1], &[]).await.status(), Ok(Status::Done));
    drop(one);
    let destroyed = asked(&mut two, Operation::KeyDestroy, made[0], &[]).await;
    assert_eq!(destroyed.status(), Ok(Status::Done));
    running.stop().await;
    device.stop().await;
}
