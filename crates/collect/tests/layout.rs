//! The store, the batch and the receipt, read from their drawings alone: with other libraries (RustCrypto's
//! HKDF and AES-GCM) and none of this crate's parsers. What is drawn in the module docs is what is on the
//! disk.

mod bridge;

use std::sync::Arc;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use bridge::{Bridge, CELL, NODES, SPOOL, key_ring, node_frame, samples};
use cipher::OsRandomness;
use collect::batch::{Answer, SealedBatch};
use collect::disk::RealDisk;
use collect::limits::Limits;
use collect::shard::{Arrived, Now, Shard};
use collect::{Action, Collector, Event};
use crc::{CRC_32_ISCSI, Crc};
use hkdf::Hkdf;
use sha2::Sha256;

fn derive(master: [u8; 32], info: &[&[u8]]) -> Aes256Gcm {
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(None, &master).expand_multi_info(info, &mut key).unwrap();
    Aes256Gcm::new_from_slice(&key).unwrap()
}

fn open(key: &Aes256Gcm, nonce: &[u8], aad: &[u8], msg: &[u8]) -> Vec<u8> {
    key.decrypt(&Nonce::try_from(nonce).unwrap(), Payload { msg, aad }).expect("the tag is right")
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[test]
fn a_segment_and_a_receipt_can_be_read_from_their_drawings() {
    let folder = tempfile::tempdir().unwrap();
    let keys = Arc::new(key_ring());
    let disk = RealDisk::lock(folder.path()).unwrap();
    let mut collector = Collector::open(disk, keys.clone(), Limits::default(), OsRandomness).unwrap();
    let (mut shard, mut bridge) = (Shard::new(keys), Bridge::new());
    let mut received = Vec::new();
    for batch in 0..3 {
        let id = Bridge::id(batch);
        // The first batch with two that are no frames, and one of a node that is not there.
        let frames = (0..NODES).map(|node| node_frame(node, batch as u32));
        let strange = [vec![1], [&node_frame(0, 9)[..1], &[99], &node_frame(0, 9)[2..]].concat(), vec![]];
        let frames: Vec<_> = frames.chain(strange.into_iter().filter(|_| batch == 0)).collect();
        let body = [&id.header()[..], &bridge.seal(batch, &frames)].concat();
        received.push(body.clone());
        let at = Now { wall_ns: 1_000 + batch, monotonic_ns: 0 };
        let arrived = vec![Arrived { connection: 0, at, batch: Ok(SealedBatch { id, body }) }];
        let event = Event::Opened(shard.open(arrived).remove(0));
        assert!(collector.step(at, event).unwrap().is_empty());
        let actions = collector.step(at, Event::Commit).unwrap();
        let [Action::Send { answer: answer @ Answer::Receipt { .. }, .. }] = &actions[..] else { panic!() };
        check_receipt(batch, &answer.to_message(), &received[batch as usize]);
    }
    let file = std::fs::read(folder.path().join("0000000000000000.seg")).unwrap();
    check_segment(&file);
}

fn check_receipt(batch: u64, message: &[u8], received: &[u8]) {
    assert_eq!(number(&message[..4]) as usize, message.len() - 4);
    assert_eq!(message[4], 0x81);
    let body = &message[5..];
    assert_eq!(
        [number(&body[..2]), number(&body[2..10]), number(&body[10..18])],
        [CELL.into(), SPOOL, batch]
    );
    let key = derive([0x22; 32], &[b"selvedge receipt v1", &CELL.to_le_bytes()]);
    let plaintext = open(&key, &body[18..30], &body[..18], &body[30..]);
    assert_eq!((&plaintext[..12], &plaintext[12..28]), (&received[20..32], &received[received.len() - 16..]));
    let mut counts = plaintext[28..].chunks(2).map(number);
    let mut next = || counts.next().expect("it is drawn");
    assert_eq!([next(), next()], [NODES.into(), 0]);
    let reasons: Vec<_> = (0..next()).map(|_| [next(), next()]).collect();
    // Layout, and a node that is not there.
    assert_eq!(reasons, [[1, 2], [3, 1]][..if batch == 0 { 2 } else { 0 }]);
    assert_eq!(next(), u64::from(NODES));
    let mut at = 36 + 4 * reasons.len();
    for node in 0..NODES {
        let bytes = number(&plaintext[at..at + 2]) as usize;
        let (to, _, acknowledged) = bridge::open_downlink(&plaintext[at + 2..at + 2 + bytes]);
        assert_eq!((to, u64::from(acknowledged)), (node, batch + 1));
        at += 2 + bytes;
    }
    assert_eq!(at, plaintext.len());
}

fn check_segment(file: &[u8]) {
    let header = &file[..160];
    assert_eq!((&header[..8], number(&header[8..10])), (&b"SELVEDGE"[..], 2));
    let sector = 1usize << header[10];
    assert_eq!((header[11], number(&header[12..16])), (0, 0));
    assert!(header[64..136].iter().all(|&byte| byte == 0), "the first one, and none before it");
    assert_eq!(number(&header[136..144]), 0, "made when the store's clock began");
    let key = derive([0x11; 32], &[b"selvedge segment v1", &header[16..48]]);
    let nonce = |index: u64| [&index.to_le_bytes()[..], &[0; 4]].concat();
    assert!(open(&key, &nonce(u64::MAX), &header[..144], &header[144..]).is_empty());

    let (mut at, mut index, mut frames, mut chain) = (sector, 0, 0, &header[144..]);
    while at < file.len() {
        let head = &file[at..at + 20];
        assert_eq!((&head[..4], number(&head[8..16])), (&b"SvGr"[..], index));
        let end = at + 24 + number(&head[4..8]) as usize;
        let crc = Crc::<u32>::new(&CRC_32_ISCSI);
        let mut digest = crc.digest();
        for part in [&header[16..48], &head[4..], &file[at + 24..end]] {
            digest.update(part);
        }
        assert_eq!(number(&file[at + 20..at + 24]), u64::from(digest.finalize()));
        at += 24;
        let behind = chain;
        for _ in 0..number(&head[16..20]) {
            let bytes = number(&file[at..at + 4]) as usize;
            let sealed = &file[at + 4..at + 4 + bytes + 16];
            let body = open(&key, &nonce(index), &[header, head, behind].concat(), sealed);
            frames += check_body(&body);
            at += 4 + bytes + 16;
            chain = &file[at - 16..at];
            index += 1;
        }
        assert_eq!(at, end);
        at = at.next_multiple_of(sector);
    }
    assert_eq!((at, frames), (file.len(), 3 * NODES));
}

/// Checks the body of a record; returns the number of frames in it.
fn check_body(body: &[u8]) -> u32 {
    let field = |at: usize, bytes: usize| number(&body[at..at + bytes]);
    let (node, epoch) = (field(1, 4) as u32, body[5]);
    assert!(node < NODES && epoch == 0);
    if body[0] == 2 {
        assert_eq!((body.len(), field(6, 4)), (10, 1 + 256));
        return 0;
    }
    let counter = field(6, 4);
    assert_eq!((body[0], u32::from(body[10])), (1, 1 + node % 2));
    assert_eq!((field(11, 2), field(13, 4), field(17, 1)), (CELL.into(), counter, u64::from(node) + 1));
    assert_eq!((field(18, 8), field(26, 8)), (counter, 1_000 + counter));
    assert_eq!((field(34, 8), field(42, 8)), (SPOOL, counter));
    assert_eq!((field(50, 8), field(58, 8)), (90 * counter, 250_000_000_000 * counter));
    assert_eq!((field(66, 4), &body[70..72]), (35_000, &[0, 0][..]));
    let found: Vec<u16> = body[72..].chunks(2).map(|two| number(two) as u16).collect();
    assert_eq!(found, samples(node, counter as u32).waveform.codes().unwrap().collect::<Vec<_>>());
    1
}
