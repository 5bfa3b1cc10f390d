//! AES as others have published it: the examples of FIPS 197, and the `aes` crate.

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use collect::aes::Block;

/// The plaintext of the examples of FIPS 197, appendix C.
pub const PLAINTEXT: Block = 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes();

/// Key and ciphertext of each example. The keys count up from 0.
pub fn examples() -> [(Vec<u8>, Block); 3] {
    [
        (16, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128),
        (24, 0xdda9_7ca4_864c_dfe0_6eaf_70a0_ec0d_7191),
        (32, 0x8ea2_b7ca_5167_45bf_eafc_4990_4b49_6089),
    ]
    .map(|(key_bytes, ciphertext)| ((0..key_bytes).collect(), ciphertext.to_be_bytes()))
}

/// By the `aes` crate, with the processor's AES instructions where it has them.
pub fn by_library(key: &[u8], plaintext: &[Block]) -> Vec<Block> {
    fn encrypt<C: BlockCipherEncrypt + KeyInit>(key: &[u8], plaintext: &[Block]) -> Vec<Block>
    where
        aes::cipher::Block<C>: From<Block> + Into<Block>,
    {
        let library = C::new_from_slice(key).expect("a key of AES");
        let encrypted = |&block: &Block| {
            let mut block = block.into();
            library.encrypt_block(&mut block);
            block.into()
        };
        plaintext.iter().map(encrypted).collect()
    }
    match key.len() {
        16 => encrypt::<Aes128>(key, plaintext),
        24 => encrypt::<Aes192>(key, plaintext),
        _ => encrypt::<Aes256>(key, plaintext),
    }
}
