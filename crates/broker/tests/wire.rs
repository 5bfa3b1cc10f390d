//! The bytes: as drawn, for every input, and damaged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;

use broker::Fault;
use broker::device::DeviceInfo;
use broker::limits::{PARAMETER_BYTES_MAX, PAYLOAD_BYTES_MAX};
use broker::stream::{Broken, Decoder, Framing};
use broker::wire::{Connection, Head, KeyHandle, Keyed, Lane, Operation, Pdu, Status};
use proptest::prelude::*;

fn head() -> impl Strategy<Value = Head> {
    let numbers = (0u16..8, any::<u32>(), 0u64..4, 0u32..3, prop_oneof![Just(0u16), any::<u16>()]);
    let rest = (0usize..3, any::<u32>(), any::<u32>());
    (numbers, rest).prop_map(|((operation, request, connection, key, status), (lane, time_ms, epoch))| Head {
        lane: Lane::ALL[lane],
        operation,
        request,
        connection: Connection(connection),
        key: [KeyHandle::NONE, KeyHandle::of(b"batch/7"), KeyHandle(99)][key as usize],
        status,
        time_ms,
        epoch,
    })
}

fn pdu() -> impl Strategy<Value = (Head, Vec<u8>, Vec<u8>)> {
    let bytes = |max| prop::collection::vec(any::<u8>(), 0..max);
    (head(), prop_oneof![bytes(80), bytes(5).prop_map(|_| 9u32.to_le_bytes().to_vec())], bytes(300))
}

fn framed(pdus: &[Pdu], framing: Framing) -> Vec<u8> {
    let mut stream = Vec::new();
    for pdu in pdus {
        stream.extend_from_slice(pdu.bytes());
        if framing == Framing::Checked {
            stream.extend_from_slice(&pdu.crc());
        }
    }
    stream
}

/// All PDUs of `stream`, which comes in pieces of these lengths, in turn.
fn decode(stream: &[u8], framing: Framing, pieces: &[usize]) -> (Vec<Vec<u8>>, Option<Broken>) {
    let (mut decoder, mut decoded, mut rest) = (Decoder::new(framing), Vec::new(), stream);
    for piece in pieces.iter().cycle() {
        let (mut input, later) = rest.split_at(rest.len().min(*piece));
        loop {
            match decoder.next(&mut input) {
                Ok(Some(pdu)) => decoded.push(pdu.bytes().to_vec()),
                Ok(None) => break,
                Err(broken) => return (decoded, Some(broken)),
            }
        }
        assert!(input.is_empty(), "a decoder that wants more has taken all");
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    (decoded, None)
}

/// All PDUs of `stream`, which is written to a socket in pieces of these lengths, and read from there by the decoder.
fn read_from_socket(
    stream: Vec<u8>,
    framing: Framing,
    pieces: Vec<usize>,
    buffer_bytes: usize,
) -> Vec<Vec<u8>> {
    let (mut near, far) = UnixStream::pair().unwrap();
    let writer = std::thread::spawn(move || {
        let mut rest = &stream[..];
        for piece in pieces.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*piece));
            near.write_all(now).unwrap();
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
    });
    let (mut decoder, mut buffer, mut decoded) = (Decoder::new(framing), vec![0; buffer_bytes], Vec::new());
    loop {
        let (read_bytes, buffered_bytes) = decoder.read(&far, &mut buffer).unwrap();
        if read_bytes == 0 {
            break;
        }
        let mut input = &buffer[..buffered_bytes];
        while let Some(pdu) = decoder.next(&mut input).unwrap() {
            decoded.push(pdu.bytes().to_vec());
        }
    }
    writer.join().unwrap();
    assert!(!decoder.is_inside());
    decoded
}

/// The same bytes as the drawing in `wire`, written down by hand.
#[test]
fn a_seal_request_is_as_drawn() {
    let head = Head {
        lane: Lane::Bulk,
        operation: 4,
        request: 0x0403_0201,
        connection: Connection(0x0C0B_0A09_0807_0605),
        key: KeyHandle(0x1413_1211_100F_0E0D),
        status: 0,
        time_ms: 0x1817_1615,
        epoch: 0x1C1B_1A19,
    };
    let pdu = Pdu::new(head, b"ad", b"hello").unwrap();
    #[rustfmt::skip]
    let drawn = [
        2, 2, 4, 0,                  // version, lane, operation
        1, 2, 3, 4,                  // request
        5, 6, 7, 8, 9, 10, 11, 12,   // connection
        13, 14, 15, 16, 17, 18, 19, 20, // key
        0, 0, 2, 0,                  // status, parameter bytes
        5, 0, 0, 0,                  // payload bytes
        21, 22, 23, 24,              // time
        25, 26, 27, 28,              // epoch
        b'a', b'd', b'h', b'e', b'l', b'l', b'o',
    ];
    assert_eq!(pdu.bytes(), drawn);
    assert_eq!((pdu.head(), pdu.parameters(), pdu.payload()), (head, &b"ad"[..], &b"hello"[..]));
}

/// RFC 3720 appendix B.4, and the check value of the CRC catalogues.
#[test]
fn the_checksum_is_crc_32c() {
    assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(crc32c::crc32c(&[0; 32]), 0x8A91_36AA);
    // RFC 3720's "SCSI Read (10) Command PDU" is as long as a header is not, so ours is computed bit by bit.
    let pdu = Pdu::new(Head::default(), b"parameters", b"payload").unwrap();
    let mut crc = u32::MAX;
    for byte in pdu.bytes() {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg());
        }
    }
    assert_eq!(pdu.crc(), (!crc).to_le_bytes());
}

#[test]
fn numbers_of_the_tables_never_move() {
    let operations: Vec<_> =
        Operation::ALL.iter().map(|row| format!("{} {}", row.number(), row.name())).collect();
    let statuses: Vec<_> = Status::ALL.iter().map(|row| format!("{} {}", row.number(), row.name())).collect();
    expect_test::expect![[r#"
        1 info
        2 find-key
        3 random
        4 seal-aes-256-gcm
        5 open-aes-256-gcm
        6 echo
        7 encrypt
        8 decrypt
        9 seal
        10 open
        11 hash
        12 mac
        13 mac-verify
        14 derive
        15 sign
        16 verify
        17 agree
        18 rsa-decrypt
        19 begin
        20 update
        21 finish
        22 cancel
        23 key-generate
        24 key-import
        25 key-wrap
        26 key-unwrap
        27 key-destroy
        28 key-list
        29 key-attributes
        30 key-public
        31 key-attest
        32 introduce
        33 leave
        256 status
        --
        0 done
        1 malformed
        2 oversize
        3 version
        4 unknown-operation
        5 wrong-parameters
        6 unknown-key
        7 rejected
        8 duplicate-request
        9 busy
        10 connections-full
        11 stopping
        12 device-unavailable
        13 device-lost
        14 device-silent
        15 wire-corrupt
        16 device-fault
        17 wrong-purpose
        18 too-late
        19 name-taken
        20 device-full
        21 unknown-context
        22 whole-only
        23 not-permitted
        24 unknown-user
        25 store-full
    "#]]
    .assert_eq(&format!("{}\n--\n{}\n", operations.join("\n"), statuses.join("\n")));
}

#[test]
fn each_field_that_has_a_limit_is_named_when_it_is_over() {
    let good = Pdu::new(Head::default(), &[], &[]).unwrap().bytes().to_vec();
    let with = |at: usize, value: u32, width: usize| {
        let mut bytes = good.clone();
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        Pdu::parse(bytes).unwrap_err()
    };
    assert_eq!(with(0, 1, 1), Fault::Version { found: 1 });
    assert_eq!(with(1, 3, 1), Fault::Unknown { field: "lane", found: 3 });
    let oversize = |field, found_bytes, max_bytes| Fault::Oversize { field, found_bytes, max_bytes };
    let max = PARAMETER_BYTES_MAX;
    assert_eq!(with(26, max + 1, 2), oversize("parameters", max + 1, max));
    let max = PAYLOAD_BYTES_MAX;
    assert_eq!(with(28, max + 1, 4), oversize("payload", max + 1, max));
    assert_eq!(with(28, u32::MAX, 4), oversize("payload", u32::MAX, max));
    assert_eq!(with(28, 1, 4), Fault::Length { found_bytes: 40, expected_bytes: 41 });
    assert_eq!(
        Pdu::new(Head::default(), &[], &vec![0; max as usize + 1]).unwrap_err(),
        oversize("payload", max + 1, max)
    );
}

#[test]
fn no_contents_are_printed() {
    let pdu = Pdu::new(Head::default(), b"associated", b"SECRET").unwrap();
    let printed = format!("{pdu:?} {pdu:#?}");
    let secret = b"SECRET".map(|byte| byte.to_string()).join(", ");
    assert!(!printed.contains("SECRET") && !printed.contains(&secret), "{printed}");
}

/// A handle that was found before a device restarted must not name another key afterwards, so names that
/// deployments use have to have distinct ones.
#[test]
fn the_names_of_all_cells_have_distinct_handles() {
    let mut handles = BTreeMap::new();
    for cell in 0..=u16::MAX {
        for purpose in ["batch", "receipt"] {
            let name = format!("{purpose}/{cell}");
            if let Some(other) = handles.insert(KeyHandle::of(name.as_bytes()), name.clone()) {
                panic!("{name} and {other} have one handle");
            }
        }
    }
    assert!(!handles.contains_key(&KeyHandle::NONE));
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        parts in prop::collection::vec(pdu(), 0..6), pieces in prop::collection::vec(1usize..90, 1..5), checked: bool,
    ) {
        let new = |(head, parameters, payload): &(Head, Vec<u8>, Vec<u8>)| Pdu::new(*head, parameters, payload);
        let pdus: Vec<Pdu> = parts.iter().map(|parts| new(parts).unwrap()).collect();
        let framing = if checked { Framing::Checked } else { Framing::Plain };
        let stream = framed(&pdus, framing);
        let (decoded, broken) = decode(&stream, framing, &pieces);
        prop_assert_eq!(broken, None);
        let written: Vec<Vec<u8>> = pdus.iter().map(|pdu| pdu.bytes().to_vec()).collect();
        prop_assert_eq!(decoded, written);
        for (pdu, (head, parameters, payload)) in pdus.iter().zip(&parts) {
            let parsed = Pdu::parse(pdu.bytes().to_vec()).unwrap();
            prop_assert_eq!((parsed.head(), parsed.parameters(), parsed.payload()), (*head, &parameters[..], &payload[..]));
        }
    }

    #[test]
    fn a_socket_brings_the_same_pdus_however_much_of_them_comes_at_a_time(
        payloads in prop::collection::vec((any::<u8>(), prop_oneof![0usize..300, 4000usize..4300, 20_000usize..65_600]), 1..6),
        pieces in prop::collection::vec(1usize..70_000, 1..5), buffer_bytes in 40usize..20_000, checked: bool,
    ) {
        let framing = if checked { Framing::Checked } else { Framing::Plain };
        let new = |(byte, length): &(u8, usize)| Pdu::new(Head::default(), &[*byte], &vec![*byte; *length]).unwrap();
        let pdus: Vec<Pdu> = payloads.iter().map(new).collect();
        let written: Vec<Vec<u8>> = pdus.iter().map(|pdu| pdu.bytes().to_vec()).collect();
        // Of a piece of a byte there are too many.
        let pieces = pieces.into_iter().map(|piece| piece.max(500)).collect();
        prop_assert!(read_from_socket(framed(&pdus, framing), framing, pieces, buffer_bytes) == written);
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_alike_in_any_pieces(
        head in prop::collection::vec(any::<u8>(), 0..64), body in prop::collection::vec(any::<u8>(), 0..200),
        likely: bool, pieces in prop::collection::vec(1usize..50, 1..4), checked: bool,
    ) {
        let mut stream = head;
        if likely && stream.len() >= 32 {
            // Enough right fields that the decoder gets beyond them.
            stream[..2].copy_from_slice(&[1, 0]);
            stream[23] = 0;
            stream[24] %= 64;
            stream[25..28].fill(0);
            stream[28..32].fill(0);
        }
        stream.extend(body);
        let framing = if checked { Framing::Checked } else { Framing::Plain };
        let whole = decode(&stream, framing, &[usize::MAX >> 1]);
        prop_assert_eq!(&whole, &decode(&stream, framing, &pieces));
        let _ = Pdu::parse(stream.clone());
        let _ = DeviceInfo::parse(&stream);
    }

    #[test]
    fn a_damaged_pdu_is_never_read_as_another(
        parts in pdu(), errors in prop::collection::btree_set(0usize..100_000, 1..4),
    ) {
        // CRC-32C finds all errors of up to five bits in 5 243 (Koopman, "32-Bit Cyclic Redundancy Codes for
        // Internet Applications", 2002, table 1). A damaged length moves the checksum; then chance is against
        // it, 2^-32.
        let pdu = Pdu::new(parts.0, &parts.1, &parts.2).unwrap();
        let mut stream = framed(&[pdu], Framing::Checked);
        let bits: BTreeSet<usize> = errors.into_iter().map(|bit| bit % (8 * stream.len())).collect();
        for bit in &bits {
            stream[bit / 8] ^= 1 << (bit % 8);
        }
        let (decoded, _) = decode(&stream, Framing::Checked, &[1000]);
        prop_assert!(decoded.is_empty(), "{:?} errors were not seen", bits);
    }

    #[test]
    fn a_device_says_what_it_is(
        payload_bytes_max: u32, in_flight_max in 1u16.., lanes in 1u8.., boot: u64, name in "\\PC{0,16}",
        store in "\\PC{0,32}",
    ) {
        let info = DeviceInfo { payload_bytes_max, in_flight_max, lanes, boot, name, store };
        prop_assert_eq!(DeviceInfo::parse(&info.to_bytes()), Ok(info));
    }
}

/// The tables of docs/broker.md are those of `wire`; `BLESS=1` writes them.
#[test]
fn the_documentation_has_each_operation_and_status() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/broker.md");
    let found = fs::read_to_string(&path).expect("the documentation is there");
    let range = |(min, max): (u32, u32)| if min == max { min.to_string() } else { format!("{min}–{max}") };
    let yes = |is: bool| if is { "yes" } else { "–" };
    let mut operations =
        "| | operation | key | parameter bytes | payload bytes | twice |\n|---:|---|---|---|---|---|\n"
            .to_owned();
    for operation in Operation::ALL {
        let row = operation.row();
        let key = match row.keyed {
            Keyed::Keyed => "yes",
            Keyed::Keyless => "–",
            Keyed::Either => "maybe",
        };
        let cells = [range(row.parameter_bytes), range(row.payload_bytes)].join(" | ");
        let number = operation.number();
        operations += &format!("| {number} | {} | {key} | {cells} | {} |\n", row.name, yes(row.may_repeat));
    }
    let mut statuses = "| | status | whose | again | |\n|---:|---|---|---|---|\n".to_owned();
    for status in Status::ALL {
        let whose = format!("{:?}", status.blame()).to_lowercase();
        let [number, again] = [status.number().to_string(), yes(status.may_repeat()).to_owned()];
        statuses += &format!("| {number} | {} | {whose} | {again} | {} |\n", status.name(), status.meaning());
    }
    let mut expected = found.clone();
    for (name, table) in [("operations", operations), ("statuses", statuses)] {
        let begins = format!("<!-- {name} -->\n");
        let from = expected.find(&begins).expect("the table's place is marked") + begins.len();
        let to = from + expected[from..].find("<!-- end -->").expect("its end, too");
        expected.replace_range(from..to, &table);
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &expected).expect("it can be written");
    }
    assert!(found == expected || std::env::var_os("BLESS").is_some(), "run `make bless`");
}
