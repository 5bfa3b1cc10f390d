//! What opening a forgery leaves in memory: nothing of what it would say, and nothing of the tag that would be right.
//!
//! A message of random bytes is opened, which fails, and all memory of this process is copied. Only then is it computed
//! what the plaintext and the right tag would have been, by the ciphers of `cipher`, which know nothing of those here; and
//! both are looked for in the copy. What the processor keeps in registers nobody can read there.

mod bridge;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use bridge::{Bridge, CELL, SPOOL, cell_master, key_ring, node_frame, node_key};
use cipher::nonces::node_nonce;
use cipher::{Aead, Suite};
use collect::aes::{self, Backend, ccm};
use collect::ascon;
use collect::batch::{BatchId, NONCE_BYTES, SealedBatch};
use collect::error::{Fault, Refusal};
use collect::limits::FRAME_HEADER_BYTES;
use collect::shard::{Arrived, Now, Shard};

/// Bytes of what is looked for: any two of them that are equal by chance are none of this world's.
const PATTERN_BYTES: usize = 8;
const BLOCK_BYTES: usize = 16;

/// One at a time: what another test computes would be in the copy.
static TURN: Mutex<()> = Mutex::new(());

/// A copy of all memory that this process can write.
fn memory() -> Vec<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let memory = File::open("/proc/self/mem").unwrap();
    let mut copies = Vec::new();
    for line in maps.lines() {
        let mut fields = line.split_whitespace();
        let (range, access) = (fields.next().unwrap(), fields.next().unwrap());
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        if access.starts_with("rw") {
            let mut copy = vec![0; (to - from) as usize];
            // Guard pages, and what was given back meanwhile, cannot be read.
            if memory.read_exact_at(&mut copy, from).is_ok() {
                copies.push(copy);
            }
        }
    }
    let bytes: usize = copies.iter().map(Vec::len).sum();
    assert!(bytes > 1 << 20, "{bytes} bytes are no process");
    copies
}

/// Whether a copy of memory holds one of these.
struct Wanted {
    patterns: Vec<([u8; PATTERN_BYTES], String)>,
    /// Whether one begins with these two bytes.
    begins: Vec<bool>,
}

impl Wanted {
    fn new() -> Wanted {
        Wanted { patterns: Vec::new(), begins: vec![false; 1 << 16] }
    }

    /// All whole patterns of these bytes.
    fn add(&mut self, bytes: &[u8], what: &str) {
        for (at, pattern) in bytes.chunks_exact(PATTERN_BYTES).enumerate() {
            let pattern: [u8; PATTERN_BYTES] = pattern.try_into().unwrap();
            self.begins[usize::from(u16::from_le_bytes([pattern[0], pattern[1]]))] = true;
            self.patterns
                .push((pattern, format!("{what}, {PATTERN_BYTES} bytes from {}", at * PATTERN_BYTES)));
        }
    }

    fn find(&self, memory: &[Vec<u8>]) -> Vec<&str> {
        let mut found = Vec::new();
        for window in memory.iter().flat_map(|copy| copy.windows(PATTERN_BYTES)) {
            if self.begins[usize::from(u16::from_le_bytes([window[0], window[1]]))] {
                let is_it = |(pattern, _): &&([u8; PATTERN_BYTES], String)| pattern == window;
                found.extend(self.patterns.iter().find(is_it).map(|(_, what)| what.as_str()));
            }
        }
        found
    }
}

fn random(bytes: usize) -> Vec<u8> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).unwrap();
    random
}

/// What `ciphertext` would say, and its right tag. Each block of a key stream follows from what is before it, so sealing
/// zeroes behind what is known brings the next.
fn opened(key: &Aead, nonce: &[u8], associated_data: &[u8], ciphertext: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut plaintext = Vec::new();
    for block in ciphertext.chunks(BLOCK_BYTES) {
        let mut sealed = [&plaintext[..], &vec![0; block.len()]].concat();
        key.seal(nonce, associated_data, &mut sealed);
        let stream = &sealed[plaintext.len()..];
        plaintext.extend(block.iter().zip(stream).map(|(byte, mask)| byte ^ mask));
    }
    let mut again = plaintext.clone();
    let tag = key.seal(nonce, associated_data, &mut again).as_ref().to_vec();
    assert_eq!(again, ciphertext, "it is the plaintext");
    (plaintext, tag)
}

/// Something that was forged, as it was before it was opened.
struct Forged {
    key: Vec<u8>,
    nonce: Vec<u8>,
    associated_data: Vec<u8>,
    ciphertext: Vec<u8>,
}

/// Messages of many lengths, more than there are lanes: so that they begin and end at different times.
fn forged(nonce_bytes: usize) -> Vec<Forged> {
    let lengths = [16, 24, 32, 40, 64, 250, 256, 1000];
    let message = |bytes: usize| Forged {
        key: random(16),
        nonce: random(nonce_bytes),
        associated_data: random(FRAME_HEADER_BYTES + bytes % 9),
        ciphertext: random(bytes),
    };
    lengths.into_iter().cycle().take(37).map(message).collect()
}

/// Fails with what is left of these in a copy of memory.
fn check(memory: &[Vec<u8>], suite: Suite, forged: &[Forged], name: &str) {
    let mut wanted = Wanted::new();
    for (number, Forged { key, nonce, associated_data, ciphertext }) in forged.iter().enumerate() {
        let (plaintext, tag) = opened(&Aead::new(suite, key), nonce, associated_data, ciphertext);
        let bytes = ciphertext.len();
        wanted.add(&plaintext, &format!("plaintext of message {number} of {bytes} bytes"));
        wanted.add(&tag, &format!("tag of message {number} of {bytes} bytes"));
    }
    let found = wanted.find(memory);
    assert!(
        found.is_empty(),
        "{name}: {} remains, among them: {:?}",
        found.len(),
        &found[..found.len().min(8)]
    );
}

#[test]
fn what_is_in_memory_is_found() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = random(64);
    let memory = memory();
    let mut wanted = Wanted::new();
    wanted.add(&kept[3..], "it");
    assert!(wanted.find(&memory).len() >= 7);
}

#[test]
fn of_forged_messages_of_ccm_memory_keeps_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for backend in Backend::all() {
        let forged = forged(13);
        let keys: Vec<aes::Key> = forged.iter().map(|forged| aes::Key::new(backend, &forged.key)).collect();
        let mut data: Vec<Vec<u8>> = forged.iter().map(|forged| forged.ciphertext.clone()).collect();
        let mut messages = Vec::new();
        for ((forged, key), data) in forged.iter().zip(&keys).zip(&mut data) {
            let Forged { nonce, associated_data, .. } = forged;
            let tag_bytes = Suite::Aes128Ccm.row().tag_bytes;
            messages.push(ccm::Message { key, nonce, associated_data, data, tag: [7; 16], tag_bytes });
        }
        let verdicts = ccm::open(backend, &mut messages);
        let memory = memory();
        assert!(verdicts.iter().all(Result::is_err));
        drop(messages);
        check(&memory, Suite::Aes128Ccm, &forged, &format!("{backend:?}"));
    }
}

#[test]
fn of_forged_messages_of_ascon_memory_keeps_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for backend in ascon::Backend::all() {
        let forged = forged(16);
        let mut data: Vec<Vec<u8>> = forged.iter().map(|forged| forged.ciphertext.clone()).collect();
        let mut messages = Vec::new();
        for (forged, data) in forged.iter().zip(&mut data) {
            let (key, nonce) = (forged.key[..].try_into().unwrap(), forged.nonce[..].try_into().unwrap());
            messages.push(ascon::Message { key, nonce, aad: &forged.associated_data, data, tag: [7; 16] });
        }
        let verdicts = ascon::open_on(backend, &mut messages);
        let memory = memory();
        assert!(verdicts.iter().all(|is_right| !is_right));
        drop(messages);
        check(&memory, Suite::AsconAead128, &forged, &format!("{backend:?}"));
    }
}

fn open(body: Vec<u8>, number: u64) -> Result<Vec<Option<Fault>>, Refusal> {
    let batch = SealedBatch { id: BatchId { cell: CELL, spool: SPOOL, number }, body };
    let arrived = Arrived { connection: 0, at: Now::default(), batch: Ok(batch) };
    let frames = Shard::new(Arc::new(key_ring())).open(vec![arrived]).remove(0).frames?;
    Ok(frames.outcomes.into_iter().map(Result::err).collect())
}

#[test]
fn of_a_forged_batch_memory_keeps_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let header = BatchId { cell: CELL, spool: SPOOL, number: 5 }.header();
    for bytes in [16, 100, 4096, 70_000] {
        let (nonce, ciphertext) = (random(NONCE_BYTES), random(bytes));
        let refused = open([&header[..], &nonce, &ciphertext, &random(16)].concat(), 5);
        let memory = memory();
        assert_eq!(refused, Err(Refusal::Rejected));
        let key = cell_master().batch_key(CELL).expose().to_vec();
        let associated_data = header.to_vec();
        check(&memory, Suite::Aes256Gcm, &[Forged { key, nonce, associated_data, ciphertext }], "a batch");
    }
}

#[test]
fn of_a_forged_frame_of_an_authentic_batch_memory_keeps_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // Frames of a node of each suite, whose ciphertext and tag are anything.
    let forge = |node: u32| {
        let mut frame = node_frame(node, 3)[..FRAME_HEADER_BYTES].to_vec();
        frame.extend_from_slice(&random(200));
        frame
    };
    let frames: Vec<Vec<u8>> = (0..4).map(forge).collect();
    let sealed = Bridge::new().seal(6, &frames);
    let header = BatchId { cell: CELL, spool: SPOOL, number: 6 }.header();
    let faults = open([&header[..], &sealed].concat(), 6);
    let memory = memory();
    assert_eq!(faults, Ok(vec![Some(Fault::Rejected); 4]));
    for (node, frame) in (0..4).zip(&frames) {
        let key = node_key(node, 0);
        let row = key.suite().row();
        let nonce = node_nonce(key.iv().expose(), node, 0, 3)[..row.nonce_bytes].to_vec();
        let (header, sealed) = frame.split_at(FRAME_HEADER_BYTES);
        let ciphertext = sealed[..sealed.len() - row.tag_bytes].to_vec();
        let forged =
            Forged { key: key.key().expose().to_vec(), nonce, associated_data: header.to_vec(), ciphertext };
        check(&memory, key.suite(), &[forged], "a frame");
    }
}
