//! Several servers of the collector behind a real cluster of NATS: what is stored, answered, terminated; and that nothing
//! is lost or used twice while servers of either kind are killed, stopped and woken; and who is let in by TLS.
//!
//! This program is also a server of the collector, when it is started with a store in its environment. What happens when
//! is drawn from a seed that is printed (`SELVEDGE_SEED` sets it).

mod bridge;
mod cluster;
mod service;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bridge::{
    Bridge, CELL, NODES, SPOOL, key_ring, key_ring_that_changes, node_frame, node_frame_of, open_downlink,
    samples, store_master,
};
use cluster::{PATIENCE, Servers, nats_server, wait_for};
use collect::batch::{Answer, BatchId, Seal, batch_message};
use collect::limits::Limits;
use collect::nats::client::Link;
use collect::nats::{self, Cluster, Protection, TlsFiles, batch_subject, partition_of};
use collect::realtime::Realtime;
use collect::store::{Filter, read, verify};
use libtest_mimic::{Arguments, Trial};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustix::process::{Pid, Signal, kill_process};
use service::Authority;
use soak::is_soak;
use tokio::runtime::Runtime;

const PARTITIONS: u16 = 4;
/// Where servers are stopped.
const LEASE: Duration = Duration::from_millis(1500);
/// Where none is, however slow the machine.
const LONG_LEASE: Duration = Duration::from_secs(9);
/// What makes this program a server: where its logs are, and where the cluster is.
const STORE: &str = "SELVEDGE_TEST_STORE";
const CLUSTER: &str = "SELVEDGE_TEST_CLUSTER";
const LEASE_MS: &str = "SELVEDGE_TEST_LEASE_MS";
/// Where its certificates are, if it is to have any; after how many frames nodes are told another epoch, if they are.
const CERTIFICATES: &str = "SELVEDGE_TEST_CERTIFICATES";
const EPOCH_FRAMES: &str = "SELVEDGE_TEST_EPOCH_FRAMES";

/// Its name, and what it does with the program of a server of NATS.
type Test = (&'static str, fn(&Path));

fn main() -> ExitCode {
    if let Some(store) = std::env::var_os(STORE) {
        return serve(PathBuf::from(store));
    }
    let tests: [Test; 6] = [
        ("what_comes_through_three_servers_is_stored_once_and_answered", is_stored_once),
        ("what_is_no_batch_of_ours_is_terminated_and_counted_once", is_terminated),
        ("an_owner_that_sleeps_through_a_takeover_uses_no_counter_again", sleeps),
        ("who_takes_over_takes_no_more_of_an_epoch_that_was_left_than_who_was_there_before", leaves_epochs),
        ("only_who_has_a_certificate_is_let_in_and_only_servers_with_one_are_believed", is_protected),
        ("nothing_is_lost_or_stored_twice_whoever_is_killed_or_stopped", faults),
    ];
    let trials = tests.map(|(name, test)| {
        Trial::test(name, move || {
            if let Some(program) = nats_server(name) {
                test(&program);
            }
            Ok(())
        })
    });
    // Each test has three servers with a disk of their own: one after the other.
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Serves until SIGTERM; says so on stdout when it is ready.
fn serve(store: PathBuf) -> ExitCode {
    let servers = std::env::var(CLUSTER).unwrap().split(',').map(str::to_owned).collect();
    let lease_ms = std::env::var(LEASE_MS).unwrap().parse().unwrap();
    let epoch_frames = std::env::var(EPOCH_FRAMES).ok().map(|frames| frames.parse().unwrap());
    let folder = std::env::var_os(CERTIFICATES).map(PathBuf::from);
    let protection = folder.map_or(Protection::Loopback, |folder| Protection::Tls(files(&folder)));
    let config = nats::serve::Config {
        cluster: Cluster { servers, partitions: PARTITIONS, protection },
        keys: key_ring_that_changes(epoch_frames),
        stats: Some(store.with_extension("json")),
        store,
        limits: Limits { lease_ms, downlink_block: 4, ..Limits::default() },
        realtime: Realtime::default(),
    };
    let runtime = Runtime::new().unwrap();
    let _within = runtime.enter();
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap();
    let stop = async move {
        terminated.recv().await;
    };
    match nats::serve::serve(config, || println!("ready"), stop) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A server in a process of its own.
struct Owner {
    child: Child,
    store: PathBuf,
}

impl Owner {
    fn start(cluster: &Cluster, store: &Path, lease: Duration) -> Owner {
        Owner::start_with(cluster, store, lease, &[])
    }

    /// The same with this in its environment.
    fn start_with(cluster: &Cluster, store: &Path, lease: Duration, more: &[(&str, &Path)]) -> Owner {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .envs(more.iter().copied())
            .env(STORE, store)
            .env(CLUSTER, cluster.servers.join(","))
            .env(LEASE_MS, lease.as_millis().to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the server is ready");
        Owner { child, store: store.to_owned() }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::take(&mut self.store)
    }

    /// Asks it to end, and returns what it counted.
    fn end(mut self) -> serde_json::Value {
        self.signal(Signal::TERM);
        let ended = wait_for("a server to end", || self.child.try_wait().unwrap());
        assert!(ended.success(), "{ended}");
        serde_json::from_slice(&std::fs::read(self.store.with_extension("json")).unwrap()).unwrap()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A bridge that keeps account of what it was told.
struct Sender {
    runtime: Runtime,
    link: Link,
    bridge: Bridge,
    next: u64,
    /// Parts that wait for a receipt: number and digest, and the partition.
    waiting: BTreeMap<(u64, Seal), usize>,
    /// Numbers of which some part was answered by a receipt, with how many parts.
    acknowledged: BTreeMap<u64, usize>,
    /// Downlink counts of nodes, none twice.
    downlinks: BTreeSet<(u32, u32)>,
}

impl Sender {
    fn open(cluster: &Cluster) -> Sender {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let link = runtime.block_on(Link::open(cluster, CELL, SPOOL)).unwrap();
        let (waiting, acknowledged, downlinks) = Default::default();
        Sender { runtime, link, bridge: Bridge::new(), next: 0, waiting, acknowledged, downlinks }
    }

    /// A frame of every node, in as many batches as there are partitions with one.
    fn send(&mut self) {
        let number = self.next;
        self.next += 1;
        let mut parts: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for node in 0..NODES {
            let frame = node_frame(node, number as u32);
            parts.entry(partition_of(node, PARTITIONS)).or_default().push(frame);
        }
        for (partition, frames) in parts {
            let sealed = self.bridge.seal(number, &frames);
            let id = Bridge::id(number);
            let seal = Seal::of(&sealed).unwrap();
            self.runtime.block_on(self.link.send(&id, &sealed, partition)).unwrap();
            self.waiting.insert((number, seal), frames.len());
        }
    }

    /// Waits until at most so many parts have no receipt.
    fn drain(&mut self, parts_max: usize) {
        let deadline = Instant::now() + PATIENCE;
        while self.waiting.len() > parts_max {
            let next = async { tokio::time::timeout(PATIENCE, self.link.next()).await };
            let answer = self.runtime.block_on(next).expect("answers come").unwrap();
            assert!(Instant::now() < deadline, "{} parts wait", self.waiting.len());
            let Answer::Receipt { id, sealed } = answer else { panic!("{answer:?}") };
            let receipt = self.bridge.open(id.number, sealed);
            let downlinks = receipt.downlinks.iter().map(|bytes| open_downlink(bytes));
            for (node, count, _) in downlinks {
                assert!(self.downlinks.insert((node, count)), "node {node}: downlink {count} was used twice");
            }
            // One for what was sent twice names the same seal.
            let Some(frames) = self.waiting.remove(&(id.number, receipt.batch)) else { continue };
            assert_eq!(usize::from(receipt.stored + receipt.duplicate), frames);
            self.link.settle(&receipt.batch);
            *self.acknowledged.entry(id.number).or_default() += frames;
        }
    }

    /// What becomes of a batch with frames of node 0, of these epochs and counters: stored, stored before, refused.
    fn ask(&mut self, frames: &[(u8, u32)]) -> (u16, u16, u16) {
        let number = self.next;
        self.next += 1;
        let frames: Vec<_> =
            frames.iter().map(|&(epoch, counter)| node_frame_of(epoch, 0, counter)).collect();
        let sealed = self.bridge.seal(number, &frames);
        let seal = Seal::of(&sealed).unwrap();
        let (id, partition) = (Bridge::id(number), partition_of(0, PARTITIONS));
        self.runtime.block_on(self.link.send(&id, &sealed, partition)).unwrap();
        let next = async { tokio::time::timeout(PATIENCE, self.link.next()).await };
        let answer = self.runtime.block_on(next).expect("an answer comes").unwrap();
        let Answer::Receipt { id, sealed } = answer else { panic!("{answer:?}") };
        let receipt = self.bridge.open(id.number, sealed);
        assert_eq!(receipt.batch, seal);
        self.link.settle(&seal);
        (receipt.stored, receipt.duplicate, receipt.failed_total() as u16)
    }

    /// Everything is acknowledged and stored; returns the frames that are in two logs.
    fn check(mut self, stores: &[&Path]) -> usize {
        self.drain(0);
        assert!(self.acknowledged.values().all(|frames| *frames == NODES as usize));
        let (mut found, mut twice) = (BTreeSet::new(), 0);
        for log in stores.iter().flat_map(|store| logs(store)) {
            let verified = verify(&log, store_master()).unwrap();
            assert_eq!((verified.corrupt, verified.missing), (vec![], vec![]), "{}", log.display());
            for record in read(&log, store_master(), Filter::default()).unwrap() {
                let record = record.unwrap();
                assert_eq!(record.waveform, samples(record.node, record.counter).waveform);
                twice += usize::from(!found.insert((record.node, record.counter)));
            }
        }
        let sent = 0..self.next as u32;
        let expected = (0..NODES).flat_map(|node| sent.clone().map(move |counter| (node, counter)));
        assert_eq!(found, expected.collect(), "all that was acknowledged, and nothing else");
        twice
    }
}

/// The logs of a store: partition, fencing number, folder.
fn logs(store: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut logs: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    logs.sort();
    logs
}

/// The partitions of which the store has a log.
fn partitions(store: &Path) -> BTreeSet<u16> {
    let partition = |log: PathBuf| {
        let name = log.file_name().unwrap().to_str().unwrap().to_owned();
        name.split_once('-').unwrap().0.parse().unwrap()
    };
    logs(store).into_iter().map(partition).collect()
}

fn is_stored_once(program: &Path) {
    let servers = Servers::start(program);
    let (folder, cluster) = (tempfile::tempdir().unwrap(), servers.cluster(PARTITIONS));
    let stores = [folder.path().join("a"), folder.path().join("b")];
    let first = Owner::start(&cluster, &stores[0], LONG_LEASE);
    assert_eq!(partitions(&stores[0]).len(), usize::from(PARTITIONS), "alone it has all");
    let mut sender = Sender::open(&cluster);
    for _ in 0..50 {
        sender.send();
    }
    sender.drain(0);
    // Another one takes its share.
    let second = Owner::start(&cluster, &stores[1], LONG_LEASE);
    wait_for("a share", || (std::fs::read_dir(&stores[1]).unwrap().count() > 2).then_some(()));
    for _ in 0..50 {
        sender.send();
        sender.drain(8);
    }
    sender.drain(0);
    let (first, second) = (first.end(), second.end());
    assert_eq!(sender.check(&[&stores[0], &stores[1]]), 0);
    let sum = |name: &str| first[name].as_u64().unwrap() + second[name].as_u64().unwrap();
    assert_eq!(sum("frames_stored"), 100 * u64::from(NODES));
    assert_eq!((sum("frames_duplicate"), sum("leases_lost"), sum("leases_taken_over")), (0, 0, 0));
    assert_eq!(first["refused"], serde_json::json!({}));
    // Who comes with other partitions, or with the store of another cluster, is told so.
    let config = |partitions, store: &Path| nats::serve::Config {
        cluster: Cluster { partitions, ..cluster.clone() },
        keys: key_ring(),
        store: store.to_owned(),
        limits: Limits::default(),
        stats: None,
        realtime: Realtime::default(),
    };
    let refused =
        |config| nats::serve::serve(config, || panic!("it is not ready"), async {}).unwrap_err().to_string();
    let words = refused(config(PARTITIONS + 1, &stores[0]));
    assert!(words.starts_with("the cluster's number of partitions is 4, expected 5"), "{words}");
    std::fs::write(stores[0].join("cluster"), "another").unwrap();
    let words = refused(config(PARTITIONS, &stores[0]));
    assert!(words.starts_with("the cluster's identity is "), "{words}");
}

fn is_terminated(program: &Path) {
    let servers = Servers::start(program);
    let (folder, cluster) = (tempfile::tempdir().unwrap(), servers.cluster(PARTITIONS));
    let store = folder.path().join("a");
    let owner = Owner::start(&cluster, &store, LONG_LEASE);
    let mut sender = Sender::open(&cluster);
    let mut bridge = Bridge::new();
    let message = |id: &BatchId, sealed: &[u8]| batch_message(id, sealed)[4..].to_vec();
    let mut forged = bridge.superframe(1);
    forged[30] ^= 1;
    let mut version = message(&Bridge::id(3), &bridge.superframe(3));
    version[1] = 9;
    let elsewhere = BatchId { cell: CELL + 1, ..Bridge::id(2) };
    let rubbish = [
        vec![],
        b"hello".to_vec(),
        version,
        message(&Bridge::id(1), &forged),
        message(&elsewhere, &bridge.superframe(2)),
        message(&Bridge::id(4), &bridge.seal_plaintext(4, &[7; 5])),
    ];
    let messages = sender.runtime.block_on(async {
        let client = async_nats::connect(&cluster.servers).await.unwrap();
        let context = async_nats::jetstream::new(client);
        for (payload, partition) in rubbish.into_iter().zip((0..PARTITIONS).cycle()) {
            context.publish(batch_subject(partition), payload.into()).await.unwrap().await.unwrap();
        }
        let mut stream = context.get_stream(nats::STREAM).await.unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let messages = stream.info().await.unwrap().state.messages;
            if messages == 0 || Instant::now() > deadline {
                break messages;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    assert_eq!(messages, 0, "the stream keeps none of it");
    sender.send();
    // An authentic one that is refused is told so.
    let refused = sender.runtime.block_on(sender.link.next()).unwrap();
    assert_eq!(refused.id(), Bridge::id(4));
    sender.drain(0);
    let stats = owner.end();
    let expected =
        serde_json::json!({"layout": 1, "malformed": 2, "rejected": 1, "unknown-cell": 1, "version": 1});
    assert_eq!(stats["refused"], expected);
    assert_eq!(sender.check(&[&store]), 0);
}

fn sleeps(program: &Path) {
    let servers = Servers::start(program);
    let (folder, cluster) = (tempfile::tempdir().unwrap(), servers.cluster(PARTITIONS));
    let stores = [folder.path().join("a"), folder.path().join("b")];
    let sleeper = Owner::start(&cluster, &stores[0], LEASE);
    let mut sender = Sender::open(&cluster);
    for _ in 0..20 {
        sender.send();
    }
    // In the middle of its work, with batches in its pipeline and counters that it has reserved.
    sender.drain(30);
    sleeper.signal(Signal::STOP);
    let other = Owner::start(&cluster, &stores[1], LEASE);
    for _ in 0..20 {
        sender.send();
    }
    // Only the other one can answer these.
    wait_for("a takeover of all", || (partitions(&stores[1]).len() == usize::from(PARTITIONS)).then_some(()));
    sender.drain(0);
    sleeper.signal(Signal::CONT);
    for _ in 0..20 {
        sender.send();
        sender.drain(4);
    }
    sender.drain(0);
    let (slept, awake) = (sleeper.end(), other.end());
    assert!(slept["leases_lost"].as_u64() >= Some(u64::from(PARTITIONS)), "{slept}");
    assert!(awake["leases_taken_over"].as_u64() >= Some(u64::from(PARTITIONS)), "{awake}");
    sender.check(&[&stores[0], &stores[1]]);
}

fn leaves_epochs(program: &Path) {
    let servers = Servers::start(program);
    let (folder, cluster) = (tempfile::tempdir().unwrap(), servers.cluster(PARTITIONS));
    let stores = [folder.path().join("a"), folder.path().join("b")];
    let three = [(EPOCH_FRAMES, Path::new("3"))];
    let first = Owner::start_with(&cluster, &stores[0], LEASE, &three);
    let mut sender = Sender::open(&cluster);
    assert_eq!(sender.ask(&[(0, 0), (0, 1), (0, 2)]), (3, 0, 0));
    // The node has heard it, and went on.
    assert_eq!(sender.ask(&[(1, 5)]), (1, 0, 0));
    first.kill();
    let second = Owner::start_with(&cluster, &stores[1], LEASE, &three);
    assert_eq!(sender.ask(&[(0, 3), (0, 5), (0, 9)]), (1, 0, 2), "what the node sealed before it went on");
    let stats = second.end();
    assert_eq!(stats["frames_failed"], serde_json::json!({"epoch-over": 2}));
}

/// The files of a client of TLS in a folder.
fn files(folder: &Path) -> TlsFiles {
    let [authority, certificate, key] = ["ca.pem", "own.pem", "own.key"].map(|name| folder.join(name));
    TlsFiles { authority, certificate, key }
}

/// Such a folder: a certificate of `authority`, and whom to believe.
fn certificates(folder: PathBuf, authority: &Authority, believed: &Authority) -> PathBuf {
    std::fs::create_dir(&folder).unwrap();
    let (certificate, key) = authority.sign("127.0.0.1");
    let TlsFiles { authority, certificate: own, key: own_key } = files(&folder);
    for (path, text) in [(authority, &believed.certificate_pem), (own, &certificate), (own_key, &key)] {
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn is_protected(program: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (Authority::new(), Authority::named("another"));
    let given = |name: &str, authority, believed| certificates(folder.path().join(name), authority, believed);
    let at_servers = files(&given("servers", &own, &own));
    let tls = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true, timeout: 60 }}",
        at_servers.certificate, at_servers.key, at_servers.authority
    );
    let servers = Servers::start_with(program, &tls);
    let cluster = |protection| Cluster { protection, ..servers.cluster(PARTITIONS) };
    let good = given("good", &own, &own);
    let store = folder.path().join("store");
    let owner = Owner::start_with(
        &cluster(Protection::Loopback),
        &store,
        LONG_LEASE,
        &[(CERTIFICATES, good.as_path())],
    );
    let mut sender = Sender::open(&cluster(Protection::Tls(files(&good))));
    sender.send();
    sender.drain(0);
    let runtime = Runtime::new().unwrap();
    let refused = |protection| {
        let cluster = cluster(protection);
        let opened = runtime.block_on(Link::open(&cluster, CELL, SPOOL));
        opened.map(drop).expect_err("who comes like this is not let in").to_string()
    };
    let stranger = files(&given("stranger", &other, &own));
    let misled = files(&given("misled", &own, &other));
    let lost = TlsFiles { key: folder.path().join("nowhere.key"), ..files(&good) };
    for (protection, words) in [
        (Protection::Loopback, "cannot connect to `nats://127.0.0.1:"),
        (Protection::Tls(stranger), "cannot connect to `nats://127.0.0.1:"),
        (Protection::Tls(misled), "cannot connect to `nats://127.0.0.1:"),
        (Protection::Tls(lost), "cannot read `"),
    ] {
        let found = refused(protection.clone());
        assert!(found.starts_with(words), "{protection:?}: {found}");
    }
    owner.end();
    assert_eq!(sender.check(&[&store]), 0);
}

/// What happens to whom.
#[derive(Clone, Copy, Debug)]
enum Fault {
    OwnerKilled,
    OwnerStopped,
    ServerKilled,
    ServerStopped,
}

impl Fault {
    const ALL: [Fault; 4] =
        [Fault::OwnerKilled, Fault::OwnerStopped, Fault::ServerKilled, Fault::ServerStopped];
}

fn faults(program: &Path) {
    let seed = std::env::var("SELVEDGE_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seed: u64 = seed.unwrap_or_else(|| getrandom::u64().unwrap());
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut servers = Servers::start(program);
    let (folder, cluster) = (tempfile::tempdir().unwrap(), servers.cluster(PARTITIONS));
    let stores = [folder.path().join("a"), folder.path().join("b")];
    let mut owners = stores.each_ref().map(|store| Some(Owner::start(&cluster, store, LEASE)));
    let mut sender = Sender::open(&cluster);
    let (mut done, mut deck) = ([0; 4], Vec::new());
    for _ in 0..if is_soak() { 300 } else { 12 } {
        for _ in 0..1 + random.next_u32() % 8 {
            sender.send();
        }
        // Some are answered, others are under way.
        sender.drain((random.next_u32() % 16) as usize);
        // Each of them before anything happens again.
        if deck.is_empty() {
            deck = Fault::ALL.to_vec();
        }
        let fault = deck.swap_remove(random.next_u32() as usize % deck.len());
        let (owner, server) = ((random.next_u32() % 2) as usize, (random.next_u32() % 3) as usize);
        let pause = LEASE * (random.next_u32() % 3);
        done[fault as usize] += 1;
        match fault {
            Fault::OwnerKilled => {
                let store = owners[owner].take().expect("it runs").kill();
                owners[owner] = Some(Owner::start(&cluster, &store, LEASE));
            }
            Fault::OwnerStopped => {
                let owner = owners[owner].as_ref().expect("it runs");
                owner.signal(Signal::STOP);
                sender.send();
                std::thread::sleep(pause);
                owner.signal(Signal::CONT);
            }
            Fault::ServerKilled => servers.kill(server),
            Fault::ServerStopped => {
                servers.signal(server, Signal::STOP);
                sender.send();
                std::thread::sleep(pause);
                servers.signal(server, Signal::CONT);
            }
        }
    }
    sender.drain(0);
    let stats = owners.map(|owner| owner.expect("it runs").end());
    let counters = sender.downlinks.len();
    let (sent, twice) = (sender.next, sender.check(&[&stores[0], &stores[1]]));
    println!(
        "{sent} batches: {done:?} of {:?}; {twice} frames in two logs, {counters} downlinks, {} and {} leases lost",
        Fault::ALL,
        stats[0]["leases_lost"],
        stats[1]["leases_lost"]
    );
    assert!(done.iter().all(|&count| count >= 3), "{done:?} of {:?}", Fault::ALL);
}
