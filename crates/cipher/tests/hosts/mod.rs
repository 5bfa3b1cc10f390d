//! The hosts: what `firmware/crypto` computes without authentication, for a weaver to weave and a bench to time.
//!
//! Owns the list of their variants, what each claims about time, and what the Rust crates say that they should give.
//! The list is compared with the folder by those who run it.
#![allow(dead_code)] // each program that includes it uses some of it

use aes::Aes128;
use chacha20::ChaCha20;
use cipher::vectors::{self, CryptVector};
use crc::{CRC_16_IBM_3740, Crc};
use ctr::Ctr128BE;
use ctr::cipher::consts::{U8, U12};
use ctr::cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher, StreamCipherSeek,
};
use rand_chacha::ChaCha20Rng;
use rc4::Rc4;
use rc5::RC5;

use crate::record::Crypt;
use crate::seeded::random_bytes;

/// What a host computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    Rc4,
    Rc5,
    Aes128Ctr,
    ChaCha20,
    Crc16,
}

/// What a call tells about secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// Nothing: neither branches nor addresses depend on them, here or on an AVR.
    Nothing,
    /// Addresses depend on them, which an AVR's clock does not tell.
    Addresses,
    /// Cycles depend on them on an AVR. Other machines may do in one instruction what takes it a loop.
    Cycles,
}

/// One variant of `firmware/crypto`.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// `<alg>_<variant>`, with which its functions begin.
    pub name: &'static str,
    /// What it computes.
    pub cipher: Cipher,
    /// Its files, its own first.
    pub sources: &'static [&'static str],
    /// The compiler's levels that it is measured at; one when it is all assembly.
    pub levels: &'static [&'static str],
    /// What `crypto.h` says that it leaks.
    pub leak: Leak,
    /// Every message's length is a multiple of this.
    pub unit_bytes: usize,
}

const fn host(
    name: &'static str,
    cipher: Cipher,
    sources: &'static [&'static str],
    levels: &'static [&'static str],
    leak: Leak,
    unit_bytes: usize,
) -> Host {
    Host { name, cipher, sources, levels, leak, unit_bytes }
}

/// Every host.
#[rustfmt::skip]
pub const HOSTS: [Host; 13] = [
    host("rc4_textbook",   Cipher::Rc4,       &["rc4_textbook.c"],                  &["-O0", "-O2"], Leak::Addresses, 1),
    host("rc4_c8",         Cipher::Rc4,       &["rc4_c8.c"],                        &["-O2"],        Leak::Addresses, 1),
    host("rc4_avr",        Cipher::Rc4,       &["rc4_avr.S"],                       &["-O2"],        Leak::Addresses, 1),
    host("rc4_avr32",      Cipher::Rc4,       &["rc4_avr32.S", "rc4_avr.S"],        &["-O2"],        Leak::Addresses, 32),
    host("rc5_textbook",   Cipher::Rc5,       &["rc5_textbook.c"],                  &["-O0", "-O2"], Leak::Cycles,    8),
    host("rc5_c8",         Cipher::Rc5,       &["rc5_c8.c"],                        &["-O2"],        Leak::Cycles,    8),
    host("rc5_avr",        Cipher::Rc5,       &["rc5_avr.S"],                       &["-O2"],        Leak::Nothing,   8),
    host("aes128_ctr_c8",  Cipher::Aes128Ctr, &["aes128_ctr_c8.c", "aes128_c8.c"],  &["-O2"],        Leak::Addresses, 1),
    host("aes128_ctr_avr", Cipher::Aes128Ctr, &["aes128_ctr_avr.S", "aes128_avr.S"], &["-O2"],       Leak::Addresses, 1),
    host("chacha20_c8",    Cipher::ChaCha20,  &["chacha20_c8.c"],                   &["-O2"],        Leak::Nothing,   1),
    host("chacha20_avr",   Cipher::ChaCha20,  &["chacha20_avr.S"],                  &["-O2"],        Leak::Nothing,   1),
    host("crc16_c8",       Cipher::Crc16,     &["crc16_c8.c"],                      &["-O2"],        Leak::Cycles,    1),
    host("crc16_avr",      Cipher::Crc16,     &["crc16_avr.S"],                     &["-O2"],        Leak::Nothing,   1),
];

impl Host {
    /// Runs on any machine, or on AVRs alone.
    pub fn portable(&self) -> bool {
        self.sources.iter().all(|file| file.ends_with(".c"))
    }

    /// What `firmware/bench/main.c` is told so that it calls this one.
    pub fn defines(&self) -> Vec<String> {
        let shape = match (self.cipher, self.name) {
            (_, "rc4_avr32") => "RC4_AVR32",
            (Cipher::Rc4, _) => "RC4",
            (Cipher::Rc5, _) => "RC5",
            (Cipher::Aes128Ctr, _) => "AES128_CTR",
            (Cipher::ChaCha20, _) => "CHACHA20",
            (Cipher::Crc16, _) => "CRC16",
        };
        // Whose `_init` it is: that of the last file, which is what the others build on.
        let below = self.sources.last().and_then(|file| file.split('.').next()).expect("a host has a file");
        vec![
            format!("-DBENCH_VARIANT={}", self.name),
            format!("-DBENCH_SHAPE=BENCH_{shape}"),
            format!("-DBENCH_SETUP={below}"),
        ]
    }

    /// A call with `length` random bytes under a random key; the counter of a counter mode is soon to carry.
    pub fn random_call(&self, rng: &mut ChaCha20Rng, length: usize) -> Crypt {
        assert_eq!(length % self.unit_bytes, 0);
        let mut random = |bytes| random_bytes(rng, bytes);
        let key_bytes = match self.cipher {
            Cipher::Rc4 => 5 + usize::from(random(1)[0] % 28),
            Cipher::Rc5 => 8,
            Cipher::Aes128Ctr => 16,
            Cipher::ChaCha20 => 32,
            Cipher::Crc16 => 0,
        };
        let mut nonce = random(match self.cipher {
            Cipher::Rc4 | Cipher::Rc5 => 0,
            Cipher::Aes128Ctr | Cipher::ChaCha20 => 16,
            Cipher::Crc16 => 2,
        });
        match self.cipher {
            Cipher::Aes128Ctr => {
                let ones = usize::from(random(1)[0] % 17);
                nonce[16 - ones..].fill(0xff);
                nonce[15] = nonce[15].saturating_sub(random(1)[0] % 20);
            }
            // It must not overflow.
            Cipher::ChaCha20 => nonce[3] &= 0x7f,
            _ => {}
        }
        let [shift, decrypt] = [random(1)[0] % 8, random(1)[0] % 2];
        let decrypt = decrypt == 1 && self.cipher != Cipher::Crc16;
        Crypt { decrypt, shift, key: random(key_bytes), nonce, message: random(length) }
    }
}

/// What a call should give: the message, and what the bench puts where a tag would be.
pub fn expected(cipher: Cipher, call: &Crypt) -> (Vec<u8>, Vec<u8>) {
    let (mut message, key, nonce) = (call.message.clone(), &call.key[..], &call.nonce[..]);
    let after = match cipher {
        Cipher::Rc4 => {
            Rc4::new_from_slice(key).expect("RC4 takes the key").apply_keystream(&mut message);
            Vec::new()
        }
        Cipher::Rc5 => {
            let blocks = RC5::<u32, U12, U8>::new_from_slice(key).expect("RC5 takes the key");
            for block in message.chunks_exact_mut(8) {
                let block = block.try_into().expect("a block is 8 bytes");
                if call.decrypt { blocks.decrypt_block(block) } else { blocks.encrypt_block(block) }
            }
            Vec::new()
        }
        Cipher::Aes128Ctr => {
            let mut stream = Ctr128BE::<Aes128>::new_from_slices(key, nonce).expect("the lengths are right");
            stream.apply_keystream(&mut message);
            let counter = u128::from_be_bytes(nonce.try_into().expect("a counter block is 16 bytes"));
            counter.wrapping_add(message.len().div_ceil(16) as u128).to_be_bytes().to_vec()
        }
        Cipher::ChaCha20 => {
            let (counter, nonce) = nonce.split_at(4);
            let counter = u32::from_le_bytes(counter.try_into().expect("a counter is 4 bytes"));
            let mut stream = ChaCha20::new_from_slices(key, nonce).expect("the lengths are right");
            stream.seek(u64::from(counter) * 64);
            stream.apply_keystream(&mut message);
            Vec::new()
        }
        Cipher::Crc16 => {
            let initial = u16::from_le_bytes(nonce.try_into().expect("a sum is 2 bytes"));
            let crc = Crc::<u16>::new(&CRC_16_IBM_3740);
            let mut digest = crc.digest_with_initial(initial);
            digest.update(&message);
            digest.finalize().to_le_bytes().to_vec()
        }
    };
    (message, after)
}

/// The official vectors as calls, encrypting and decrypting, each with its line and what the end of the message
/// should be; for a sum, what it should be.
pub fn official(cipher: Cipher) -> Vec<(usize, Crypt, Vec<u8>)> {
    let text = match cipher {
        Cipher::Rc4 => vectors::RC4,
        Cipher::Rc5 => vectors::RC5_32_12,
        Cipher::Aes128Ctr => vectors::AES_128_CTR,
        Cipher::ChaCha20 => vectors::CHACHA20,
        Cipher::Crc16 => {
            let call = |vector: vectors::SumVector| {
                let nonce = vector.initial.to_le_bytes().to_vec();
                let call = Crypt { decrypt: false, shift: 0, key: Vec::new(), nonce, message: vector.data };
                (vector.line, call, vector.sum.to_le_bytes().to_vec())
            };
            return vectors::sums().into_iter().map(call).collect();
        }
    };
    let both = |vector: CryptVector| {
        let call = |decrypt, message: &[u8], end: Vec<u8>| {
            let message = [&vec![0; vector.skipped_bytes], message].concat();
            let (key, nonce) = (vector.key.clone(), vector.nonce.clone());
            (vector.line, Crypt { decrypt, shift: 0, key, nonce, message }, end)
        };
        [
            call(false, &vector.plaintext, vector.ciphertext.clone()),
            call(true, &vector.ciphertext, vector.plaintext.clone()),
        ]
    };
    vectors::crypt(text).into_iter().flat_map(both).collect()
}
