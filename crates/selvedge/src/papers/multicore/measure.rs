//! One cell: keys and plaintext from the seed, the threads of its way, and a check that every way says the same.

use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;
use std::time::Instant;

use collect::aes::cores::Cores;
use collect::aes::intra::{Direction, SUBVECTORS, Split, Version, with_cipher, with_cipher_in};
use collect::aes::multi::{Stream, cbc_encrypt};
use collect::aes::{Backend, Block, Key, block};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::cells::{Cell, How, Input, KEY_BYTES};
use super::watch::{Effort, Times, measure};

/// What came of a cell.
pub enum Found {
    /// Times.
    Measured(Box<Times>),
    /// Why there are none.
    Not(String),
}

impl Found {
    /// From what the system says.
    pub fn new(times: io::Result<Times>) -> Found {
        match times {
            Ok(times) => Found::Measured(Box::new(times)),
            Err(error) => Found::Not(refused(&error)),
        }
    }

    /// The times, if there are any.
    pub fn times(&self) -> Option<&Times> {
        match self {
            Found::Measured(times) => Some(times),
            Found::Not(_) => None,
        }
    }
}

/// What a row says instead of a time.
pub fn refused(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::Unsupported => error.to_string(),
        _ => format!("not permitted: {error}"),
    }
}

/// A cell with what came of it.
pub struct Result {
    /// Which.
    pub cell: Cell,
    /// What.
    pub found: Found,
}

/// Keys, chains' beginnings and plaintext.
pub struct Material {
    key: [u8; 32],
    ivs: [Block; SUBVECTORS],
    seed: u64,
}

impl Material {
    /// From a seed.
    pub fn new(seed: u64) -> Material {
        let mut material = Material { key: [0; 32], ivs: Default::default(), seed };
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.fill_bytes(&mut material.key);
        random.fill_bytes(material.ivs.as_flattened_mut());
        material
    }

    fn plaintext(&self, blocks: usize) -> Vec<Block> {
        let mut plaintext = vec![Block::default(); blocks];
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(1);
        random.fill_bytes(plaintext.as_flattened_mut());
        plaintext
    }

    /// The key of such a length.
    pub fn key(&self, key_bytes: usize) -> &[u8] {
        assert!(KEY_BYTES.contains(&key_bytes), "a key of {key_bytes} bytes");
        &self.key[..key_bytes]
    }

    /// What the four chains begin with.
    pub fn ivs(&self) -> &[Block; SUBVECTORS] {
        &self.ivs
    }

    /// What a cell's ciphertext must be, by one thread and a table.
    fn expected(&self, cell: &Cell, plaintext: &[Block]) -> io::Result<Vec<Block>> {
        let mut blocks = plaintext.to_vec();
        with_cipher(Version::Basic, |cipher| {
            cipher.expand(self.key(cell.key_bytes));
            match cell.input {
                Input::Block => cipher.crypt(Direction::Encrypt, &mut blocks[0]),
                Input::Waveform { .. } => {
                    cipher.crypt_waveform(Direction::Encrypt, Split::Steps, &self.ivs, &mut blocks);
                }
            }
        })?;
        Ok(blocks)
    }
}

/// Measures a cell, in a thread of its own, which takes the scheduling class with it when it ends.
///
/// # Panics
/// When a way computes something else than the others.
pub fn cell(cell: &Cell, material: &Material, effort: &Effort) -> Found {
    let measured = || -> io::Result<Times> {
        let plaintext = material.plaintext(cell.input.blocks());
        let expected = material.expected(cell, &plaintext)?;
        let mut blocks = plaintext.clone();
        with_crypt(cell, material, |crypt| {
            let begin = Instant::now();
            crypt(Direction::Encrypt, &mut blocks);
            assert!(blocks == expected, "{} computes something else", cell.name());
            crypt(Direction::Decrypt, &mut blocks);
            let times = measure(effort, begin.elapsed(), |direction| crypt(direction, &mut blocks));
            assert!(blocks == plaintext, "{} does not undo what it does", cell.name());
            times
        })
    };
    Found::new(alone(measured))
}

/// Does `work` in a thread of its own.
pub fn alone<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// What takes blocks one way.
pub type Crypt<'a> = dyn FnMut(Direction, &mut [Block]) + 'a;

/// Calls `work` with a cell's way, its key expanded, in its class.
///
/// # Errors
/// The system refuses the class or a thread; the CPU has no instructions.
pub fn with_crypt<R>(cell: &Cell, material: &Material, work: impl FnOnce(&mut Crypt) -> R) -> io::Result<R> {
    let (key, ivs) = (material.key(cell.key_bytes), &material.ivs);
    match cell.how {
        How::Paper(version, split) => with_cipher_in(version, &|| cell.class.enter(), |cipher| {
            cipher.expand(key);
            match cell.input {
                Input::Block => work(&mut |direction, blocks| cipher.crypt(direction, &mut blocks[0])),
                Input::Waveform { .. } => {
                    work(&mut |direction, blocks| cipher.crypt_waveform(direction, split, ivs, blocks))
                }
            }
        }),
        How::Lanes => {
            let backend = Backend::best();
            let key = Key::new(backend, key);
            cell.class.enter()?;
            Ok(work(&mut |direction, blocks| match cell.input {
                Input::Block => one(backend, &key, direction, blocks.as_flattened_mut()),
                Input::Waveform { .. } => pass(backend, direction, &mut chains(&key, ivs, blocks)),
            }))
        }
        How::Cores => {
            let backend = Backend::best();
            let key = Key::new(backend, key);
            // Its threads are of the class that their maker is of.
            cell.class.enter()?;
            let mut cores = Cores::new(all_cores()).map_err(io::Error::other)?;
            cores.pin_caller().map_err(io::Error::other)?;
            Ok(work(&mut |direction, blocks| {
                let mut chains = chains(&key, ivs, blocks);
                cores.share(&mut chains, |share| pass(backend, direction, share));
            }))
        }
    }
}

/// As many as this process may use.
pub fn all_cores() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

fn one(backend: Backend, key: &Key, direction: Direction, bytes: &mut [u8]) {
    match direction {
        Direction::Encrypt => block::ecb_encrypt(backend, key, bytes),
        Direction::Decrypt => block::ecb_decrypt(backend, key, bytes),
    }
}

/// The chains of a waveform, as [`collect::aes::intra`] cuts it.
fn chains<'a>(key: &'a Key, ivs: &[Block; SUBVECTORS], blocks: &'a mut [Block]) -> Vec<Stream<'a>> {
    let length = blocks.len().div_ceil(SUBVECTORS).max(1);
    let parts = blocks.chunks_mut(length).zip(ivs);
    parts.map(|(part, &iv)| Stream { key, iv, data: part.as_flattened_mut() }).collect()
}

/// Takes chains one way, in place.
pub fn pass(backend: Backend, direction: Direction, chains: &mut [Stream<'_>]) {
    match direction {
        Direction::Encrypt => cbc_encrypt(backend, chains),
        Direction::Decrypt => {
            for Stream { key, iv, data } in chains {
                block::cbc_decrypt(backend, key, iv, data);
            }
        }
    }
}
