//! What a server does today: the waveforms of 64 nodes, each under its own key, together; on one core and on all.

use std::io;
use std::num::NonZero;
use std::time::Duration;

use collect::aes::cores::Cores;
use collect::aes::intra::{Direction, Version, with_cipher};
use collect::aes::multi::Stream;
use collect::aes::{Backend, Block, Key};

use super::cells::{KEY_BYTES, SAMPLES, aes};
use super::measure::{Found, Material, all_cores, alone, pass};
use super::watch::{Effort, Times, measure};

/// Nodes, each with a waveform and a key.
pub const NODES: usize = 64;
/// Bytes of a waveform of 32-bit samples.
const WAVEFORM_BYTES: usize = 4 * SAMPLES;
/// From one waveform to the next. A whole page would put all of them on the same lines of the cache.
const STRIDE_BYTES: usize = WAVEFORM_BYTES + 192;

/// So many waveforms at once, on so many cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Bytes of each key.
    pub key_bytes: usize,
    /// Cores.
    pub cores: NonZero<usize>,
}

impl Case {
    /// All of them.
    pub fn all() -> Vec<Case> {
        let mut counts = vec![NonZero::<usize>::MIN, all_cores()];
        counts.dedup();
        let cases = |key_bytes| counts.iter().map(move |&cores| Case { key_bytes, cores });
        KEY_BYTES.into_iter().flat_map(cases).collect()
    }

    /// Its name in rows.
    pub fn name(&self) -> String {
        let cores = if self.cores.get() == 1 { "core" } else { "cores" };
        format!("{}, {NODES} waveforms of {SAMPLES} f32, {} {cores}", aes(self.key_bytes), self.cores)
    }
}

/// A case with what came of it: times of all waveforms.
pub struct Result {
    /// Which.
    pub case: Case,
    /// What.
    pub found: Found,
}

/// Measures a case.
///
/// # Panics
/// When the lanes compute something else than one thread and a table.
pub fn batch(case: &Case, material: &Material, effort: &Effort) -> Found {
    Found::new(alone(|| times(case, material, effort)))
}

fn times(case: &Case, material: &Material, effort: &Effort) -> io::Result<Times> {
    let secrets: Vec<Vec<u8>> = (0..NODES).map(|node| key_of(node, material.key(case.key_bytes))).collect();
    let backend = Backend::best();
    let keys: Vec<Key> = secrets.iter().map(|secret| Key::new(backend, secret)).collect();
    let iv = material.ivs()[0];
    let mut cores = Cores::new(case.cores).map_err(io::Error::other)?;
    cores.pin_caller().map_err(io::Error::other)?;
    let plaintext: Vec<u8> = (0..NODES * STRIDE_BYTES).map(|at| (at * 31 / 8) as u8).collect();
    let mut data = plaintext.clone();
    let mut crypt = |direction, data: &mut Vec<u8>| {
        let parts = data.chunks_mut(STRIDE_BYTES).zip(&keys);
        let mut streams: Vec<Stream> =
            parts.map(|(part, key)| Stream { key, iv, data: &mut part[..WAVEFORM_BYTES] }).collect();
        cores.share(&mut streams, |share| pass(backend, direction, share));
    };
    crypt(Direction::Encrypt, &mut data);
    for (node, secret) in secrets.iter().enumerate() {
        let waveform = node * STRIDE_BYTES..node * STRIDE_BYTES + WAVEFORM_BYTES;
        let is_same = data[waveform.clone()] == by_table(secret, &iv, &plaintext[waveform])?;
        assert!(is_same, "{}: the waveform of node {node} is another one", case.name());
    }
    crypt(Direction::Decrypt, &mut data);
    let times = measure(effort, Duration::ZERO, |direction| crypt(direction, &mut data));
    assert!(data == plaintext, "{}: decryption does not undo encryption", case.name());
    Ok(times)
}

/// A key for each node: the one of the seed with the node's number in it.
fn key_of(node: usize, key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    key[0] ^= node as u8;
    key
}

/// One chain, by one thread and a table.
fn by_table(secret: &[u8], iv: &Block, plaintext: &[u8]) -> io::Result<Vec<u8>> {
    let mut blocks = plaintext.as_chunks().0.to_vec();
    with_cipher(Version::Basic, |cipher| {
        cipher.expand(secret);
        let mut last = *iv;
        for block in &mut blocks {
            block.iter_mut().zip(last).for_each(|(byte, before)| *byte ^= before);
            cipher.crypt(Direction::Encrypt, block);
            last = *block;
        }
    })?;
    Ok(blocks.into_flattened())
}
