//! One core, one message, all lanes, in place: the modes in which blocks do not wait for each other. What does, CBC
//! encryption and MACs, is in `multi`, where streams stand side by side.

use super::{BLOCK_BYTES, Backend, Block, Key, lanes};

/// ECB encryption. Equal blocks stay equal: it is here for the paper, and as what other modes are made of.
///
/// # Panics
/// When `data` is not a whole number of blocks, or the CPU lacks the backend.
pub fn ecb_encrypt(backend: Backend, key: &Key, data: &mut [u8]) {
    lanes::ecb_encrypt(backend, key.encrypting(), whole(data));
}

/// ECB decryption.
///
/// # Panics
/// As [`ecb_encrypt`].
pub fn ecb_decrypt(backend: Backend, key: &Key, data: &mut [u8]) {
    lanes::ecb_decrypt(backend, key.decrypting(), whole(data));
}

/// CBC decryption. It authenticates nothing.
///
/// # Panics
/// As [`ecb_encrypt`].
pub fn cbc_decrypt(backend: Backend, key: &Key, iv: &Block, data: &mut [u8]) {
    lanes::cbc_decrypt(backend, key.decrypting(), iv, whole(data));
}

/// Encryption and decryption in counter mode: `counter` is the first block, a big-endian number of 128 bits that wraps
/// around. CCM's counter of fewer bytes is a case of it, as its messages end before it would wrap.
///
/// # Panics
/// When the CPU lacks the backend.
pub fn ctr(backend: Backend, key: &Key, counter: &Block, data: &mut [u8]) {
    lanes::ctr(backend, key.encrypting(), u128::from_be_bytes(*counter), data);
}

/// `data` as blocks.
pub(super) fn whole(data: &mut [u8]) -> &mut [Block] {
    let length = data.len();
    let (blocks, rest) = data.as_chunks_mut::<BLOCK_BYTES>();
    assert!(rest.is_empty(), "{length} bytes are not a whole number of blocks");
    blocks
}
