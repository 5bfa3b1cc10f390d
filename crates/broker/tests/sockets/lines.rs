//! The device behind a serial line, over a real pseudo-terminal.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::device::{Device, OpenBus, Uart};
use broker::emulate::clocked::Clocks;
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::Preset;
use broker::wire::{KeyHandle, Status};
use broker::{Error, emulate};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::{BATCH_KEY, Running, ask_all, keys, message, of_any_device, open_elsewhere};

/// A line of 4 Mbaud, which is the fastest that Linux has a name for.
const BAUD: u32 = 4_000_000;

fn fast() -> Preset {
    Preset { clock_khz: u64::from(BAUD) / 1000, ..Preset::named("uart-115200").unwrap() }
}

struct Line {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Clocks, Error>>,
}

impl Line {
    async fn start(link: &Path, preset: Preset, faults: Faults) -> Line {
        let terminal = emulate::Terminal::open(link.to_owned()).unwrap();
        assert_eq!(std::fs::read_link(link).unwrap(), terminal.path());
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let task = tokio::spawn(emulate::serve_line(emulate::LineConfig {
            terminal,
            keys: keys(),
            store: None,
            preset,
            faults,
            ready: Box::new(move || ready.send(()).expect("the test waits")),
            stop: Box::pin(async { drop(stopped.await) }),
        }));
        is_ready.await.expect("the device starts");
        Line { stop, task }
    }

    async fn stop(self) -> Clocks {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap()
    }
}

fn uart(path: &Path, baud: u32) -> Device {
    Device::Bus(Arc::new(Uart { path: path.to_owned(), baud }))
}

fn without_faults() -> Faults {
    Faults::new(Rates::default(), 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_uart_serves_many_clients_on_one_opening() {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 12;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.tty");
    let device = Line::start(&path, fast(), without_faults()).await;
    let running = Running::start(uart(&path, BAUD), fast().settings()).await;
    ask_all(&running, CLIENTS, of_any_device(REQUESTS), 3).await;
    let stats = running.stop().await;
    let clocks = device.stop().await;
    assert_eq!((stats.device_opens, stats.device_losses), (1, 0), "{stats:#?}");
    assert_eq!(clocks.requests, stats.requests_transmitted + 1);
    assert!(clocks.request_cycles > 0 && clocks.answer_cycles > 0, "{clocks:?}");
    assert!(!path.exists(), "the device takes its link with it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_is_faster_than_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.tty");
    let preset = Preset::named("uart-115200").unwrap();
    let device = Line::start(&path, preset, without_faults()).await;
    let running = Running::start(uart(&path, 115_200), preset.settings()).await;
    let client = running.client().await;
    let begun = Instant::now();
    assert_eq!(client.random(4096).await.unwrap().len(), 4096);
    let took = begun.elapsed();
    let least = Duration::from_secs(10 * 4096) / 115_200;
    println!("4096 bytes took {took:?}; at 115,200 bit/s they take {least:?}");
    assert!(took >= least);
    running.stop().await;
    device.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_on_a_line_costs_time_and_nothing_else() {
    const REQUESTS: u32 = 24;
    let seed = 1;
    println!("seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.tty");
    let rates = Rates { drop: 3e-5, corrupt: 3e-5, stall: 1e-4, reset: 1e-5, reorder: 2e-5 };
    let device = Line::start(&path, fast(), Faults::new(rates, seed)).await;
    let running = Running::start(uart(&path, BAUD), fast().settings()).await;
    let mut tasks = JoinSet::new();
    for number in 0..4 {
        let client = running.client().await;
        tasks.spawn(async move {
            for request in 0..REQUESTS {
                let plaintext = message(number, request as usize);
                let sealed = loop {
                    match client.seal(KeyHandle::of(b"batch/7"), b"ad", &plaintext).await {
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
    println!("{:?}, {} losses", clocks.struck, stats.device_losses);
    assert_eq!(stats.answers(Status::Done), 4 * u64::from(REQUESTS));
    // Which bytes are struck depends on how they came to lie on the line: of one kind alone there may be none.
    assert!(stats.device_losses > 0 && clocks.struck.drops + clocks.struck.corruptions > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_pulled_out_and_put_back_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.tty");
    let first = Line::start(&path, fast(), without_faults()).await;
    let running = Running::start(uart(&path, BAUD), fast().settings()).await;
    let client = running.client().await;
    client.info().await.unwrap();
    first.stop().await;
    let second = Line::start(&path, fast(), without_faults()).await;
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
    second.stop().await;
}

#[tokio::test]
async fn a_line_has_one_host_and_is_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("device.tty");
    let _terminal = emulate::Terminal::open(path.clone()).unwrap();
    let open = |path: &Path| Uart { path: path.to_owned(), baud: BAUD }.open().map(drop);
    let first = Uart { path: path.clone(), baud: BAUD }.open().unwrap();
    assert_eq!(open(&path).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    drop(first);
    open(&path).unwrap();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "mine").unwrap();
    assert_eq!(open(&file).unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}
