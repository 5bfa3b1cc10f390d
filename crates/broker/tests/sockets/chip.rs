//! The device on an FTDI chip, which is an interpreter of its commands: through USB packets, FIFOs and pins.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use broker::device::{CLOCK_HZ_MAX, Device, Ftdi, OpenUsb, Usb};
use broker::emulate::mpsse::{Chip, Pins};
use broker::emulate::preset::Preset;
use broker::engine::{Engine, SoftwareEngine};
use broker::link::DeviceEnd;
use broker::wire::Status;
use broker::{Error, Stats};

use super::{Running, ask_all, keys, message, of_any_device};

/// A device on the pins: what it is asked it answers at once.
struct Peripheral {
    engine: SoftwareEngine,
    link: DeviceEnd,
    is_selected: bool,
    transactions: u64,
    clocked: u64,
}

impl Peripheral {
    fn new() -> Peripheral {
        let engine = SoftwareEngine::new(keys()).unwrap();
        let link = DeviceEnd::new(3072);
        Peripheral { engine, link, is_selected: false, transactions: 0, clocked: 0 }
    }
}

impl Pins for Peripheral {
    fn clock(&mut self, out: &[u8]) -> Vec<u8> {
        assert!(self.is_selected, "a device that is not selected hears nothing");
        self.clocked += out.len() as u64;
        let (mut back, mut requests, session) = (Vec::new(), Vec::new(), self.link.session());
        self.link.fill(out.len(), &mut back);
        self.link.take(out, &mut requests);
        if self.link.session() != session {
            self.engine.opened();
        }
        for request in requests {
            if let (Some(answer), Some(session)) = (self.engine.execute(&request), self.link.session()) {
                self.link.answer(session, answer);
            }
        }
        back
    }

    fn drive(&mut self, low: u8, driven: u8) {
        assert_eq!(driven, 0b1011, "clock, data and chip select are driven, and nothing else");
        let is_selected = low & 0b1000 == 0;
        self.transactions += u64::from(is_selected && !self.is_selected);
        self.is_selected = is_selected;
    }

    fn read(&mut self) -> u8 {
        u8::from(self.link.is_ready()) << 4
    }
}

/// The chip's USB: what the chip has no room for waits, as it does in a host's controller.
struct Cable {
    plug: Plug,
    /// Which time it was put in.
    number: u32,
    waiting: VecDeque<u8>,
}

#[derive(Clone)]
struct Plug {
    chip: Arc<Mutex<Chip<Peripheral>>>,
    /// Counted up when it is pulled out.
    pulls: Arc<Mutex<u32>>,
    opens: Arc<Mutex<u32>>,
}

impl Plug {
    fn new() -> Plug {
        let chip = Arc::new(Mutex::new(Chip::new(Peripheral::new())));
        Plug { chip, pulls: Arc::default(), opens: Arc::default() }
    }
}

impl OpenUsb for Plug {
    fn open(&self) -> io::Result<Box<dyn Usb>> {
        *self.opens.lock().unwrap() += 1;
        Ok(Box::new(Cable {
            plug: self.clone(),
            number: *self.pulls.lock().unwrap(),
            waiting: VecDeque::new(),
        }))
    }

    fn name(&self) -> String {
        "FTDI chip of a test".to_owned()
    }
}

impl Cable {
    fn is_in(&self) -> io::Result<()> {
        if *self.plug.pulls.lock().unwrap() == self.number {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

impl Usb for Cable {
    fn control(&mut self, request: u8, value: u16, index: u16) -> io::Result<()> {
        self.is_in()?;
        let is_known = self.plug.chip.lock().unwrap().control(request, value, index);
        if is_known { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend(bytes);
        self.is_in()
    }

    fn receive(&mut self, time_max: Duration, packets: &mut Vec<u8>) -> io::Result<()> {
        let until = Instant::now() + time_max;
        loop {
            self.is_in()?;
            let mut chip = self.plug.chip.lock().unwrap();
            let taken = chip.write(self.waiting.make_contiguous());
            self.waiting.drain(..taken);
            let is_over = Instant::now() >= until;
            let before = packets.len();
            while packets.len() - before < 16 * 512
                && let Some(packet) = chip.read(is_over)
            {
                let is_short = packet.len() < 512;
                packets.extend(packet);
                if is_short {
                    break;
                }
            }
            if packets.len() > before || is_over {
                return Ok(());
            }
            drop(chip);
            thread::sleep(Duration::from_micros(50));
        }
    }
}

fn ftdi(plug: &Plug) -> Device {
    Device::Bus(Arc::new(Ftdi { usb: Arc::new(plug.clone()), clock_hz: CLOCK_HZ_MAX, timer_ms: 16 }))
}

fn settings() -> broker::Settings {
    Preset::named("ftdi-30MHz").unwrap().settings()
}

fn assert_one_opening(stats: &Stats) {
    assert_eq!((stats.device_opens, stats.device_losses), (1, 0), "{stats:#?}");
}

/// As an earlier program may.
fn leave_in_disorder(chip: &mut Chip<Peripheral>) {
    assert!(chip.control(0x0B, 0x0200, 1));
    let commands = [0xAB, 0x84, 0x86, 0xFF, 0xFF, 0x31, 0xFF, 0xFF];
    assert_eq!(chip.write(&commands), commands.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chip_carries_what_many_clients_ask() {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 24;
    let plug = Plug::new();
    leave_in_disorder(&mut plug.chip.lock().unwrap());
    let running = Running::start(ftdi(&plug), settings()).await;
    ask_all(&running, CLIENTS, of_any_device(REQUESTS), 3).await;
    let stats = running.stop().await;
    assert_one_opening(&stats);
    let mut chip = plug.chip.lock().unwrap();
    assert_eq!((chip.clock_hz(), chip.latency_timer_ms), (30_000_000, 16));
    let pins = chip.pins();
    println!("{} transactions, {} bytes", pins.transactions, pins.clocked);
    assert!(pins.transactions > 0 && !pins.is_selected);
    assert_eq!(stats.answers(Status::DeviceLost), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chip_that_is_pulled_out_and_put_back_is_opened_again() {
    let plug = Plug::new();
    let running = Running::start(ftdi(&plug), settings()).await;
    let client = running.client().await;
    client.info().await.unwrap();
    *plug.pulls.lock().unwrap() += 1;
    let key = client_until_done(&client).await;
    assert_ne!(key, broker::wire::KeyHandle::NONE);
    let stats = running.stop().await;
    assert_eq!((stats.device_losses, stats.device_opens), (1, 2), "{stats:#?}");
    assert_eq!(*plug.opens.lock().unwrap(), 2);
}

async fn client_until_done(client: &broker::client::Client) -> broker::wire::KeyHandle {
    loop {
        match client.find_key("batch/7").await {
            Ok(key) => return key,
            Err(Error::Refused { status, .. }) if status.may_repeat() => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_is_longer_than_what_the_chip_holds() {
    let plug = Plug::new();
    // Transfers of 64 KiB, of which the chip has room for a sixteenth.
    let settings = broker::Settings { transfer_bytes_max: 64 * 1024, ..settings() };
    let running = Running::start(ftdi(&plug), settings).await;
    let client = running.client().await;
    let key = client.find_key("batch/7").await.unwrap();
    for request in [7, 15] {
        let plaintext = message(1, request);
        let sealed = client.seal(key, b"ad", &plaintext).await.unwrap();
        assert_eq!(super::open_elsewhere(&super::BATCH_KEY, b"ad", &sealed), plaintext);
    }
    assert_one_opening(&running.stop().await);
}
