//! LEGACY. What `firmware/node/filter_legacy.h` describes, over the libraries' RC5 and RC4.

use ctr::cipher::consts::{U8, U12};
use ctr::cipher::{BlockCipherEncrypt, KeyInit, StreamCipher};
use rc4::Rc4;
use rc5::RC5;

const BLOCK_BYTES: usize = 8;

fn encrypted(key: &[u8], mut block: [u8; BLOCK_BYTES]) -> [u8; BLOCK_BYTES] {
    let cipher = RC5::<u32, U12, U8>::new_from_slice(key).expect("RC5 takes the key");
    cipher.encrypt_block((&mut block).into());
    block
}

fn xored(mut block: [u8; BLOCK_BYTES], bytes: &[u8]) -> [u8; BLOCK_BYTES] {
    block.iter_mut().zip(bytes).for_each(|(to, byte)| *to ^= byte);
    block
}

/// The chain's last block.
pub fn tag(key: &[u8], nonce: &[u8], ad: &[u8], text: &[u8]) -> Vec<u8> {
    let lengths = [text.len() as u8, ad.len() as u8, 0, 0, 0, 0, 0, 0];
    let blocks = [nonce, ad, text].into_iter().flat_map(|part| part.chunks(BLOCK_BYTES));
    blocks.fold(encrypted(key, lengths), |block, bytes| encrypted(key, xored(block, bytes))).to_vec()
}

/// The first block of the counter.
pub fn counter_start(key: &[u8], nonce: &[u8]) -> [u8; BLOCK_BYTES] {
    let (first, second) = nonce.split_at(BLOCK_BYTES);
    xored(encrypted(key, first.try_into().expect("a block is 8 bytes")), second)
}

/// RC5 in counter mode, which counts in the last byte.
pub fn counter_mode(key: &[u8], start: [u8; BLOCK_BYTES], text: &mut [u8]) {
    for (number, bytes) in text.chunks_mut(BLOCK_BYTES).enumerate() {
        let mut block = start;
        block[BLOCK_BYTES - 1] ^= number as u8;
        let stream = encrypted(key, block);
        bytes.iter_mut().zip(stream).for_each(|(to, byte)| *to ^= byte);
    }
}

/// RC4.
pub fn rc4(key: &[u8], text: &mut [u8]) {
    Rc4::new_from_slice(key).expect("RC4 takes the key").apply_keystream(text);
}
