//! The Monte Carlo tests of NIST's validation of AES (AESAVS section 6.4): a thousand blocks, each made of those before,
//! the next key of the last two, and that a hundred times. So a fault in any bit of any key or block is seen in the end.
//!
//! CBC has NIST's own results. Those of ECB are in no package that can be had: there the `aes` crate is the witness, which
//! the results of CBC hold of by the same procedure. `SELVEDGE_SOAK=1` goes all the way.

mod masked;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use cipher::vectors::{AES_CBC_MONTE_CARLO, Block as Vector, blocks};
use collect::aes::multi::{Stream, cbc_encrypt};
use collect::aes::{BLOCK_BYTES, Backend, Block, Key, block};
use masked::{is_masked, run_masked};
use seeded::{random_bytes, seeded};
use soak::is_soak;

/// Keys, one after the other, and blocks under each of them.
const KEYS: usize = 100;
const BLOCKS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

/// Takes a block one way, and with it the block before of a chain.
type Crypt = Box<dyn Fn(&mut Block, &mut Block)>;

/// How many of the keys to go through.
fn keys() -> usize {
    if is_soak() { KEYS } else { 4 }
}

fn sum(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// The last block of each key. `set_up` makes of a key what takes blocks under it.
fn results(
    mode: Mode,
    set_up: &dyn Fn(&[u8]) -> Crypt,
    key: &[u8],
    iv: Block,
    text: Block,
    keys: usize,
) -> Vec<Block> {
    let (mut key, mut iv, mut text) = (key.to_vec(), iv, text);
    let mut found = Vec::new();
    for _ in 0..keys {
        let crypt = set_up(&key);
        let (mut chain, mut last_but_one, mut last) = (iv, iv, iv);
        for _ in 0..BLOCKS {
            crypt(&mut chain, &mut text);
            (last_but_one, last) = (last, text);
            if mode == Mode::Cbc {
                text = last_but_one;
            }
        }
        found.push(last);
        iv = last;
        let both = [last_but_one, last].concat();
        let tail = &both[both.len() - key.len()..];
        key.iter_mut().zip(tail).for_each(|(key, &byte)| *key ^= byte);
    }
    found
}

/// Ours.
fn ours(backend: Backend, mode: Mode, direction: Direction) -> impl Fn(&[u8]) -> Crypt {
    move |key| {
        let key = Key::new(backend, key);
        Box::new(move |chain, text| match (mode, direction) {
            (Mode::Ecb, Direction::Encrypt) => block::ecb_encrypt(backend, &key, text),
            (Mode::Ecb, Direction::Decrypt) => block::ecb_decrypt(backend, &key, text),
            (Mode::Cbc, Direction::Encrypt) => {
                let mut streams = [Stream { key: &key, iv: *chain, data: text }];
                cbc_encrypt(backend, &mut streams);
                *chain = streams[0].iv;
            }
            (Mode::Cbc, Direction::Decrypt) => {
                let before = std::mem::replace(chain, *text);
                block::cbc_decrypt(backend, &key, &before, text);
            }
        })
    }
}

/// The `aes` crate's, which takes blocks alone: their chain is here.
fn library(mode: Mode, direction: Direction) -> impl Fn(&[u8]) -> Crypt {
    fn boxed<C>(mode: Mode, direction: Direction, key: &[u8]) -> Crypt
    where
        C: BlockCipherEncrypt + BlockCipherDecrypt + KeyInit + 'static,
        aes::cipher::Block<C>: From<Block> + Into<Block>,
    {
        let cipher = C::new_from_slice(key).expect("a key of AES");
        Box::new(move |chain, text| {
            let before = if mode == Mode::Cbc { *chain } else { [0; BLOCK_BYTES] };
            *chain = match direction {
                Direction::Encrypt => {
                    let mut block = sum(text, &before).into();
                    cipher.encrypt_block(&mut block);
                    *text = block.into();
                    *text
                }
                Direction::Decrypt => {
                    let (was, mut block) = (*text, (*text).into());
                    cipher.decrypt_block(&mut block);
                    *text = sum(&block.into(), &before);
                    was
                }
            };
        })
    }
    move |key| match key.len() {
        16 => boxed::<aes::Aes128>(mode, direction, key),
        24 => boxed::<aes::Aes192>(mode, direction, key),
        _ => boxed::<aes::Aes256>(mode, direction, key),
    }
}

/// Checks what is `set_up` for a direction against NIST's results.
fn check(who: &str, set_up: impl Fn(Direction) -> Box<dyn Fn(&[u8]) -> Crypt>) {
    let block = |vector: &Vector<'_>, field: &str| -> Block {
        vector.bytes(field)[..BLOCK_BYTES].try_into().expect("a block")
    };
    let vectors = blocks(AES_CBC_MONTE_CARLO);
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        let (direction, begins, ends) = match vector.text("Direction") {
            Some("encrypt") => (Direction::Encrypt, "PT", "CT"),
            _ => (Direction::Decrypt, "CT", "PT"),
        };
        let (key, wanted) = (vector.bytes("Key"), vector.bytes(ends));
        assert_eq!(wanted.len(), KEYS * BLOCK_BYTES);
        let (iv, text) = (block(&vector, "IV"), block(&vector, begins));
        let found = results(Mode::Cbc, &*set_up(direction), &key, iv, text, keys());
        let wanted = &wanted[..found.len() * BLOCK_BYTES];
        assert!(found.as_flattened() == wanted, "{who}, {direction:?}, key of {} bytes", key.len());
    }
}

#[test]
fn the_results_of_nist_for_cbc_hold_of_the_library() {
    check("the aes crate", |direction| Box::new(library(Mode::Cbc, direction)));
}

#[test]
fn the_results_of_nist_for_cbc_hold_on_every_backend() {
    for backend in Backend::all() {
        check(&format!("{backend:?}"), |direction| Box::new(ours(backend, Mode::Cbc, direction)));
    }
}

#[test]
fn ecb_has_the_librarys_results_on_every_backend() {
    let mut rng = seeded();
    for key_bytes in [16, 24, 32] {
        let key = random_bytes(&mut rng, key_bytes);
        let text = random_bytes(&mut rng, BLOCK_BYTES).try_into().expect("a block");
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let library = library(Mode::Ecb, direction);
            let wanted = results(Mode::Ecb, &library, &key, [0; BLOCK_BYTES], text, keys());
            for backend in Backend::all() {
                let ours = ours(backend, Mode::Ecb, direction);
                let found = results(Mode::Ecb, &ours, &key, [0; BLOCK_BYTES], text, keys());
                assert!(found == wanted, "{backend:?}, {direction:?}, key of {key_bytes} bytes");
            }
        }
    }
}

#[test]
fn they_hold_without_instructions_for_aes() {
    if is_masked() {
        return assert_eq!(Backend::all(), [Backend::Bitslice]);
    }
    run_masked(&[
        "they_hold_without_instructions_for_aes",
        "the_results_of_nist_for_cbc_hold_on_every_backend",
        "ecb_has_the_librarys_results_on_every_backend",
    ]);
}
