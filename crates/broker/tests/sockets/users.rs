//! Real users, by the kernel's word, and a device that keeps their keys while it is killed again and again.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use broker::device::{Device, Loopback};
use broker::engine::keys::{Algorithm, Grant, Grantee, Template, Usages};
use broker::limits::HEADER_BYTES;
use broker::quota::Bounds;
use broker::wire::{Head, KeyHandle, Operation, Pdu, Status};
use broker::{Endpoint, Settings};
use rustix::process::Uid;

use super::{PATIENCE, Process, Running, unix};

const GCM: [u8; 4] = [1, 16, 0, 0];
const ALICE: u32 = 41_001;
const BOB: u32 = 41_002;

/// An application of a user's.
struct Application(UnixStream);

impl Application {
    /// Connects as this user. Linux knows users by thread, so that only this one becomes another.
    fn of(user: u32, socket: &Path) -> Application {
        let socket = socket.to_owned();
        let connected = thread::spawn(move || {
            let uid = Uid::from_raw(user);
            rustix::thread::set_thread_res_uid(uid, uid, uid).expect("root may be anybody");
            UnixStream::connect(socket).expect("the socket is everybody's")
        });
        Application(connected.join().unwrap())
    }

    /// Asks until the device, which may just have been killed, has an answer.
    fn ask(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Pdu {
        loop {
            let answer = self.ask_once(operation, key, parameters, payload);
            match answer.status().unwrap() {
                Status::DeviceUnavailable | Status::DeviceLost => thread::sleep(Duration::from_millis(5)),
                _ => return answer,
            }
        }
    }

    fn ask_once(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Pdu {
        let request = Pdu::new(Head::request(operation, 1, key), parameters, payload).unwrap();
        self.0.write_all(request.bytes()).unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Pdu {
        let mut bytes = vec![0; HEADER_BYTES];
        self.0.read_exact(&mut bytes).unwrap();
        let payload_bytes = u32::from_le_bytes(bytes[28..32].try_into().unwrap()) as usize;
        bytes.resize(HEADER_BYTES + payload_bytes, 0);
        self.0.read_exact(&mut bytes[HEADER_BYTES..]).unwrap();
        Pdu::parse(bytes).unwrap()
    }

    fn generate(&mut self, template: &Template) -> KeyHandle {
        let made = self.ask(Operation::KeyGenerate, KeyHandle::NONE, &template.to_bytes(), &[]);
        assert_eq!(made.status(), Ok(Status::Done));
        made.head().key
    }

    fn listed(&mut self) -> BTreeSet<KeyHandle> {
        let listed = self.ask(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]);
        let handles = listed.payload().as_chunks::<8>().0.iter();
        let deployments = ["batch/7", "receipt/7"].map(|name| KeyHandle::of(name.as_bytes()));
        let handles = handles.map(|bytes| KeyHandle(u64::from_le_bytes(*bytes)));
        handles.filter(|handle| !deployments.contains(handle)).collect()
    }

    fn seal(&mut self, key: KeyHandle) -> Vec<u8> {
        let sealed = self.ask(Operation::Seal, key, &GCM, b"text");
        assert_eq!(sealed.status(), Ok(Status::Done));
        sealed.payload().to_vec()
    }
}

fn seals() -> Template {
    let usages = Usages::SEAL.and(Usages::OPEN);
    Template { is_persistent: true, ..Template::new(Algorithm::Aes256, usages) }
}

/// A folder that any user can pass through, or none when this process cannot be other users.
fn place_of_all(test: &str) -> Option<tempfile::TempDir> {
    if !rustix::process::geteuid().is_root() {
        println!("skip (machine): {test}: only root can be two users");
        return None;
    }
    Some(tempfile::tempdir().unwrap())
}

async fn shared(device: &Path) -> Running {
    shared_with(unix(device), Settings::default()).await
}

async fn shared_with(device: Device, settings: Settings) -> Running {
    let running = Running::start_at(Endpoint::Shared, device, settings).await;
    let folder = running.socket.parent().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_cannot_use_list_or_guess_each_others_keys_even_after_a_restart() {
    let Some(folder) = place_of_all("users") else { return };
    let (path, store) = (folder.path().join("device.sock"), folder.path().join("store"));
    let mut device = Process::start_with(&path, Some(&store)).await;
    let running = shared(&path).await;
    let mut alice = Application::of(ALICE, &running.socket);
    let name = b"mine".to_vec();
    let key = alice.generate(&Template { name: name.clone(), ..seals() });
    let sealed = alice.seal(key);
    for _ in 0..3 {
        let mut bob = Application::of(BOB, &running.socket);
        let handles = [key, KeyHandle(key.0 ^ 1), KeyHandle(1), KeyHandle(u64::MAX)];
        for operation in Operation::ALL.iter().filter(|operation| !operation.is_brokers()) {
            for parameters in [&[][..], &GCM, &[0; 8], &[2], &seals().to_bytes()] {
                let statuses =
                    handles.map(|handle| bob.ask(*operation, handle, parameters, &sealed).status());
                assert_eq!(statuses, [statuses[0]; 4], "{operation:?}: a foreign key is like none");
            }
        }
        assert_eq!(bob.listed(), BTreeSet::new());
        let found = bob.ask(Operation::FindKey, KeyHandle::NONE, &[], &name);
        assert_eq!(found.status(), Ok(Status::UnknownKey));
        drop(device);
        device = Process::start_with(&path, Some(&store)).await;
        assert_eq!(alice.listed(), BTreeSet::from([key]));
        assert_eq!(alice.ask(Operation::Open, key, &GCM, &sealed).payload(), b"text");
        let found = alice.ask(Operation::FindKey, KeyHandle::NONE, &[], &name);
        assert_eq!(found.head().key, key);
    }
    drop(alice);
    running.stop().await;
    drop(device);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_whose_handles_were_told_survive_kills_and_no_nonce_comes_twice() {
    let Some(folder) = place_of_all("kills") else { return };
    let (path, store) = (folder.path().join("device.sock"), folder.path().join("store"));
    let mut device = Process::start_with(&path, Some(&store)).await;
    let running = shared(&path).await;
    let access = vec![Grant { grantee: Grantee::User(BOB), usages: Usages::SEAL }];
    let common = Application::of(ALICE, &running.socket).generate(&Template { access, ..seals() });
    let is_over = AtomicBool::new(false);
    let user = |user: u32| {
        let mut application = Application::of(user, &running.socket);
        let (mut made, mut nonces) = (BTreeSet::new(), Vec::new());
        while !is_over.load(Ordering::Relaxed) {
            let parameters = seals().to_bytes();
            // Once: what was lost may have been made.
            let answer = application.ask_once(Operation::KeyGenerate, KeyHandle::NONE, &parameters, &[]);
            match answer.status().unwrap() {
                Status::Done => drop(made.insert(answer.head().key)),
                Status::DeviceUnavailable | Status::DeviceLost => thread::sleep(Duration::from_millis(2)),
                Status::DeviceFull => {}
                status => panic!("{status:?}"),
            }
            nonces.push(application.seal(common)[..44].to_vec());
        }
        let listed = application.listed();
        assert!(made.is_subset(&listed), "a handle that was told is there");
        for key in made.iter().take(50) {
            application.seal(*key);
        }
        (made.len(), nonces)
    };
    let (alice, bob) = thread::scope(|scope| {
        let users = [ALICE, BOB].map(|number| scope.spawn(move || user(number)));
        for turn in 0..12u64 {
            thread::sleep(Duration::from_millis(20 + 7 * turn));
            device.kill();
            device = tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(Process::start_with(&path, Some(&store)))
            });
        }
        is_over.store(true, Ordering::Relaxed);
        let [alice, bob] = users.map(|user| user.join().unwrap());
        (alice, bob)
    });
    let all: BTreeSet<&Vec<u8>> = alice.1.iter().chain(&bob.1).collect();
    assert_eq!(all.len(), alice.1.len() + bob.1.len(), "a salt and a nonce came twice");
    println!("{} keys and {} seals over 12 kills", alice.0 + bob.0, all.len());
    running.stop().await;
    drop(device);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn halves_of_one_users_requests_are_held_to_a_bound_and_hold_up_that_user_alone() {
    const BOUND_BYTES: usize = 1024 * 1024;
    const CROWD: usize = 60;
    if place_of_all("halves of requests").is_none() {
        return;
    }
    let bounds = Bounds { unfinished_bytes: BOUND_BYTES, ..Bounds::default() };
    // Those that stand still here do so until the test goes on.
    let settings = Settings { bounds, request_max: PATIENCE, ..Settings::default() };
    let running = shared_with(Device::Inline(Box::<Loopback>::default()), settings).await;
    let socket = running.socket.clone();
    let played = tokio::task::spawn_blocking(move || {
        let mut root = Application::of(0, &socket);
        let mut unfinished_bytes = move || {
            let status = root.ask_once(Operation::Status, KeyHandle::NONE, &[], &[]);
            let text = String::from_utf8(status.payload().to_vec()).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("selvedge_broker_unfinished_bytes "));
            line.expect("there is a gauge").parse::<usize>().unwrap()
        };
        let wait_until = |unfinished_bytes: &mut dyn FnMut() -> usize, is_so: &dyn Fn(usize) -> bool| {
            let began = Instant::now();
            loop {
                let bytes = unfinished_bytes();
                assert!(bytes <= BOUND_BYTES / 2, "{bytes} bytes");
                if is_so(bytes) {
                    return;
                }
                assert!(began.elapsed() < PATIENCE, "{bytes} bytes");
            }
        };
        let text = vec![7; 60_000];
        let request = Pdu::new(Head::request(Operation::Echo, 1, KeyHandle::NONE), &[], &text).unwrap();
        let (half, rest) = request.bytes().split_at(30_000);
        let mut crowd: Vec<_> = (0..CROWD).map(|_| Application::of(ALICE, &socket)).collect();
        crowd.iter_mut().for_each(|one| one.0.write_all(half).unwrap());
        wait_until(&mut unfinished_bytes, &|bytes| bytes > 400_000);
        let mut other = Application::of(BOB, &socket);
        for _ in 0..20 {
            let answer = other.ask_once(Operation::Echo, KeyHandle::NONE, &[], &text);
            assert_eq!(answer.payload(), text);
        }
        wait_until(&mut unfinished_bytes, &|bytes| bytes > 400_000);
        // Those that have begun make room for the others.
        crowd.iter_mut().for_each(|one| one.0.write_all(rest).unwrap());
        crowd.iter_mut().for_each(|one| assert_eq!(one.answer().payload(), text));
        wait_until(&mut unfinished_bytes, &|bytes| bytes < 1000);
        // Those that hang up do, too.
        crowd.iter_mut().for_each(|one| one.0.write_all(half).unwrap());
        wait_until(&mut unfinished_bytes, &|bytes| bytes > 400_000);
        drop(crowd);
        wait_until(&mut unfinished_bytes, &|bytes| bytes < 1000);
    });
    played.await.unwrap();
    let stats = running.stop().await;
    assert_eq!(stats.requests_admitted, 80);
}
