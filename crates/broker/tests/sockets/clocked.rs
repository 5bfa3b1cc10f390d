//! The device on a bus with transactions, over a real socket: it serves, ends, and loses and damages bytes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use broker::device::{Alone, Device, OpenBus, SocketBus};
use broker::emulate::clocked::Clocks;
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::Preset;
use broker::link::Rest;
use broker::load::echoes;
use broker::wire::{KeyHandle, Status};
use broker::{Endpoint, Error, emulate};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::{BATCH_KEY, Running, ask_all, keys, message, of_any_device, open_elsewhere};

/// The device on a wire that is clocked.
pub async fn start_clocked(path: &Path, preset: Preset, faults: Faults) -> Clocked {
    let (stop, stopped) = oneshot::channel();
    let (ready, is_ready) = oneshot::channel();
    let task = tokio::spawn(emulate::serve_clocked(emulate::ClockedConfig {
        endpoint: Endpoint::Path(path.to_owned()),
        keys: keys(),
        store: None,
        preset,
        faults,
        ready: Box::new(move || ready.send(()).expect("the test waits")),
        stop: Box::pin(async { drop(stopped.await) }),
    }));
    is_ready.await.expect("the device starts");
    Clocked { stop, task }
}

pub struct Clocked {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Clocks, Error>>,
}

impl Clocked {
    pub async fn stop(self) -> Clocks {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clocked_device_serves_many_clients_on_one_opening() {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 24;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let preset = Preset::named("loopback").unwrap();
    let device = start_clocked(&path, preset, Faults::new(Rates::default(), 0)).await;
    let bus = Device::Bus(Arc::new(SocketBus { path }));
    let running = Running::start(bus, preset.settings()).await;
    ask_all(&running, CLIENTS, of_any_device(REQUESTS), 3).await;
    let stats = running.stop().await;
    let clocks = device.stop().await;
    assert_eq!((stats.device_opens, stats.device_losses, clocks.opens), (1, 0, 1), "{stats:#?}");
    assert_eq!(clocks.requests, stats.requests_transmitted + 1);
    assert!(clocks.transactions > 0 && clocks.request_cycles.max(clocks.answer_cycles) <= clocks.cycles);
    assert!(clocks.request_cycles > 0 && clocks.answer_cycles > 0, "{clocks:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clocked_device_that_ends_is_opened_again_when_there_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let preset = Preset::named("loopback").unwrap();
    let start = || start_clocked(&path, preset, Faults::new(Rates::default(), 0));
    let first = start().await;
    let bus = Device::Bus(Arc::new(SocketBus { path: path.clone() }));
    let running = Running::start(bus, preset.settings()).await;
    let client = running.client().await;
    client.info().await.unwrap();
    first.stop().await;
    let second = start().await;
    loop {
        match client.info().await {
            Ok(info) => break assert_eq!(info.name, "selvedge software device"),
            Err(Error::Refused { status, .. }) if status.may_repeat() => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    let stats = running.stop().await;
    assert_eq!((stats.device_losses, stats.device_opens, stats.device_restarts), (1, 2, 1), "{stats:#?}");
    assert_eq!(second.stop().await.opens, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wire_that_loses_and_damages_bytes_costs_time_and_nothing_else() {
    const REQUESTS: u32 = 60;
    let seed = 1;
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let preset = Preset::named("loopback").unwrap();
    let rates = Rates { drop: 0.015, corrupt: 0.015, stall: 0.01, reset: 0.002, reorder: 0.005 };
    let device = start_clocked(&path, preset, Faults::new(rates, seed)).await;
    let bus = Device::Bus(Arc::new(SocketBus { path }));
    let running = Running::start(bus, preset.settings()).await;
    let mut tasks = JoinSet::new();
    for number in 0..4 {
        let client = running.client().await;
        tasks.spawn(async move {
            let key = KeyHandle::of(b"batch/7");
            for request in 0..REQUESTS {
                let plaintext = message(number, request as usize);
                let sealed = loop {
                    match client.seal(key, b"ad", &plaintext).await {
                        Ok(sealed) => break sealed,
                        Err(Error::Refused { status, .. }) if status.may_repeat() => {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        Err(error) => panic!("{error}"),
                    }
                };
                assert_eq!(open_elsewhere(&BATCH_KEY, b"ad", &sealed), plaintext);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let stats = running.stop().await;
    let clocks = device.stop().await;
    assert_eq!(stats.answers(Status::Done), 4 * u64::from(REQUESTS));
    assert!(
        stats.device_losses > 0 && clocks.struck.drops > 0 && clocks.struck.corruptions > 0,
        "{clocks:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applications_with_a_lock_go_on_with_one_session_on_one_handle_and_on_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.sock");
    let preset = Preset::named("loopback").unwrap();
    let device = start_clocked(&path, preset, Faults::new(Rates::default(), 0)).await;
    let turns = move || {
        let bus = SocketBus { path };
        let stream = bus.open_for_others().unwrap();
        let adopted = || {
            let stream = stream.try_clone().unwrap();
            SocketBus::adopt(stream, preset.transaction_bytes_max, preset.depth)
        };
        let mut rest = Alone::new(adopted()).unwrap().begin(7).unwrap();
        let mut turn = |bus| {
            let rest_before = Rest::of_bytes(rest.to_bytes());
            let requests = echoes(300, 4).unwrap();
            let asked = Alone::new(bus).unwrap().ask(rest_before, requests, preset.piece_bytes_max());
            let (rest_after, latencies) = asked.unwrap();
            assert_eq!(latencies.len(), 4);
            rest = rest_after;
        };
        turn(adopted());
        turn(adopted());
        drop(stream);
        turn(bus.open().unwrap());
    };
    tokio::task::spawn_blocking(turns).await.unwrap();
    let clocks = device.stop().await;
    // The first request is the session's own.
    assert_eq!((clocks.opens, clocks.requests), (2, 1 + 3 * 4));
}
