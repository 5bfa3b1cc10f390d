//! Looks for bytes on which the reader of PDUs panics, or takes them otherwise when they come in other pieces; and for
//! PDUs, as requests of two applications and as answers of the device, on which the broker's core panics.
#![no_main]

use std::time::Duration;

use broker::device::DeviceInfo;
use broker::limits::PAYLOAD_BYTES_MAX;
use broker::stream::{Decoder, Framing};
use broker::wire::{Connection, Pdu};
use broker::{Action, Broker, Event, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, stream)) = bytes.split_first() else { return };
    let piece_bytes = usize::from(piece).max(1);
    for framing in [Framing::Plain, Framing::Checked] {
        let (whole, pieces) = (read(stream, framing, usize::MAX), read(stream, framing, piece_bytes));
        let same = whole.iter().map(Pdu::bytes).eq(pieces.iter().map(Pdu::bytes));
        assert!(same, "the same PDUs in pieces of {piece_bytes} bytes");
    }
    share(read(stream, Framing::Plain, usize::MAX), piece);
});

/// All PDUs of a stream that comes in pieces of so many bytes.
fn read(stream: &[u8], framing: Framing, piece_bytes: usize) -> Vec<Pdu> {
    let (mut decoder, mut pdus) = (Decoder::new(framing), Vec::new());
    for mut piece in stream.chunks(piece_bytes) {
        loop {
            match decoder.next(&mut piece) {
                Ok(Some(pdu)) => pdus.push(pdu),
                Ok(None) => break,
                Err(_) => return pdus,
            }
        }
    }
    pdus
}

/// Gives the core each of them, in one of three ways.
fn share(pdus: Vec<Pdu>, ways: u8) {
    let mut core = Core { broker: Broker::new(Settings::default()), now: Duration::ZERO, link: 0 };
    core.step(Event::Tick);
    let info = DeviceInfo {
        payload_bytes_max: PAYLOAD_BYTES_MAX,
        in_flight_max: 4,
        lanes: 1,
        boot: 1,
        name: String::new(),
        store: String::new(),
    };
    core.step(Event::DeviceOpened { link: core.link, info });
    for user in [0, 1] {
        core.step(Event::Connected { user, groups: vec![100] });
    }
    for (number, pdu) in pdus.into_iter().enumerate() {
        let link = core.link;
        core.step(match (number + usize::from(ways)) % 3 {
            2 => Event::DeviceAnswered { link, answer: pdu },
            other => Event::Requested { connection: Connection(1 + other as u64), request: pdu },
        });
        core.step(Event::DeviceTook { link });
        core.now += Duration::from_millis(40);
        core.step(Event::Tick);
    }
    core.step(Event::Stop);
}

struct Core {
    broker: Broker,
    now: Duration,
    link: u64,
}

impl Core {
    fn step(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.broker.step(self.now, event, &mut actions);
        for action in actions {
            if let Action::OpenDevice { link, .. } = action {
                self.link = link;
            }
        }
    }
}
