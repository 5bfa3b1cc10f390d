//! Looks for bytes on which an end of the link panics, or delivers what was not sent: a conversation is cut, and its parts
//! come repeated, left out, in another order and with other bytes between them.
#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use broker::device::DeviceInfo;
use broker::link::{DeviceEnd, HostEnd};
use broker::queue::Piece;
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use libfuzzer_sys::fuzz_target;

const SESSION: u64 = 7;
const REQUESTS: u32 = 6;

/// What a host and a device say to each other when nothing goes wrong: there, and back.
static SAID: LazyLock<(Vec<u8>, Vec<u8>)> = LazyLock::new(|| {
    let (mut host, mut device) = (host(), DeviceEnd::new(100));
    let (mut there, mut back, mut asked) = (Vec::new(), Vec::new(), false);
    loop {
        let (mut out, mut into) = (Vec::new(), Vec::new());
        host.begin(device.is_ready(), 1000, &mut out);
        if out.is_empty() && std::mem::replace(&mut asked, true) {
            return (there, back);
        }
        if out.is_empty() {
            (0..REQUESTS).for_each(|number| host.transmit(&pieces(number)));
            continue;
        }
        let mut requests = Vec::new();
        device.fill(out.len(), &mut into);
        device.take(&out, &mut requests);
        host.finish(Duration::ZERO, &into, &mut Vec::new());
        answer(&mut device, &requests);
        there.extend(out);
        back.extend(into);
    }
});

fn host() -> HostEnd {
    HostEnd::open(1, SESSION, Duration::ZERO, 1000)
}

fn pieces(number: u32) -> Vec<Piece> {
    let head = Head::request(Operation::Echo, number, KeyHandle::NONE);
    let head = Head { connection: Connection(1), ..head };
    let payload = vec![number as u8; 90 * number as usize];
    let request = Arc::new(Pdu::new(head, &[], &payload).expect("it is short"));
    let all = request.bytes().len();
    let piece = |from| Piece { request: request.clone(), from, to: all.min(from + 150) };
    (0..all).step_by(150).map(piece).collect()
}

fn answer(device: &mut DeviceEnd, requests: &[Pdu]) {
    let Some(session) = device.session() else { return };
    for request in requests {
        let head = request.head().answer(Status::Done);
        let info = DeviceInfo {
            payload_bytes_max: 65_564,
            in_flight_max: 64,
            lanes: 1,
            boot: 9,
            name: String::new(),
            store: String::new(),
        };
        let info = info.to_bytes();
        let is_info = request.operation() == Ok(Operation::Info);
        let payload = if is_info { &info } else { request.payload() };
        device.answer(session, Pdu::new(head, &[], payload).expect("it is short"));
    }
}

/// `said`, in the order and with the bytes that `script` says: a command, and two operands, at a time.
fn distort(said: &[u8], script: &[u8]) -> Vec<u8> {
    let (mut stream, mut at) = (Vec::new(), 0);
    for command in script.chunks_exact(3) {
        let operand = usize::from(u16::from_le_bytes([command[1], command[2]]));
        let from = if command[0] & 3 == 1 { operand % said.len() } else { at };
        match command[0] & 3 {
            0 | 1 => {
                at = said.len().min(from + if command[0] & 3 == 0 { operand } else { 60 });
                stream.extend_from_slice(&said[from..at]);
            }
            2 => at = said.len().min(at + operand % 300),
            _ => stream.extend_from_slice(&command[1..]),
        }
    }
    stream.extend_from_slice(&said[at..]);
    stream
}

fuzz_target!(|script: &[u8]| {
    let (there, back) = &*SAID;
    let (mut device, mut came) = (DeviceEnd::new(100), Vec::new());
    for chunk in distort(there, script).chunks(97) {
        let mut requests = Vec::new();
        device.take(chunk, &mut requests);
        answer(&mut device, &requests);
        device.fill(chunk.len(), &mut Vec::new());
        came.extend(requests.iter().map(|request| (request.head().connection.0, request.head().request)));
    }
    let sent: Vec<_> = [(0, 0)].into_iter().chain((0..REQUESTS).map(|number| (1, number))).collect();
    assert!(sent.starts_with(&came), "{came:?}");
    let (mut host, mut events) = (host(), Vec::new());
    for chunk in distort(back, script).chunks(97) {
        host.begin(true, 97, &mut Vec::new());
        if host.is_busy() {
            host.finish(Duration::ZERO, chunk, &mut events);
        }
    }
});
