//! The server's AES against official vectors, RustCrypto's and OpenSSL's, on every backend of this CPU.
//!
//! Everything random comes from a printed seed. `SELVEDGE_SOAK=1` takes every length up to 4096 bytes.

mod masked;
mod peers;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::num::NonZero;
use std::ops::{Deref, DerefMut};

use aes::cipher::array::Array;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher};
use ccm::aead::AeadInOut;
use ccm::consts::{U4, U6, U7, U8, U9, U10, U11, U12, U13, U14, U16};
use cipher::vectors::{Block as Vector, blocks, official};
use cmac::Mac as _;
use collect::aes::ccm::{Message, open, seal};
use collect::aes::cores::Cores;
use collect::aes::multi::{Mac, Stream, cbc_encrypt, cbc_mac, cmac};
use collect::aes::{BLOCK_BYTES, Backend, Block, Key, block};
use masked::{is_masked, run_masked};
use peers::OpenSsl;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};
use soak::is_soak;

const LONGEST_BYTES: usize = 4096;
const KEY_BYTES: [usize; 3] = [16, 24, 32];

/// Lengths to try, in units: all of them in the long form, else the short ones and a sample of the others.
fn lengths(rng: &mut ChaCha20Rng, longest: usize) -> Vec<usize> {
    if is_soak() {
        return (0..=longest).collect();
    }
    let sample = (0..60).map(|_| rng.next_u32() as usize % (longest + 1));
    (0..=70).chain(sample).chain([longest]).collect()
}

/// Random bytes of any alignment: so many lie in front.
#[derive(Clone, Debug)]
struct Shifted(usize, Vec<u8>);

impl Deref for Shifted {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.1[self.0..]
    }
}

impl DerefMut for Shifted {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.1[self.0..]
    }
}

fn shifted(rng: &mut ChaCha20Rng, length: usize) -> Shifted {
    let shift = rng.next_u32() as usize % 33;
    Shifted(shift, random_bytes(rng, shift + length))
}

fn random_block(rng: &mut ChaCha20Rng) -> Block {
    random_bytes(rng, BLOCK_BYTES).try_into().expect("a block")
}

/// Calls `$body` with `$aes` as RustCrypto's type for a key of so many bytes.
macro_rules! with_aes {
    ($key:expr, $aes:ident => $body:expr) => {
        match $key.len() {
            16 => {
                type $aes = aes::Aes128;
                $body
            }
            24 => {
                type $aes = aes::Aes192;
                $body
            }
            _ => {
                type $aes = aes::Aes256;
                $body
            }
        }
    };
}

const FITS: &str = "the lengths are right";

fn library_cbc(key: &[u8], iv: &Block, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    with_aes!(key, Aes => {
        let mut cbc = cbc::Encryptor::<Aes>::new_from_slices(key, iv).expect(FITS);
        cbc.encrypt_blocks(Array::slice_as_chunks_mut(&mut data).0);
    });
    data
}

fn library_cbc_decrypt(key: &[u8], iv: &Block, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    with_aes!(key, Aes => {
        let mut cbc = cbc::Decryptor::<Aes>::new_from_slices(key, iv).expect(FITS);
        cbc.decrypt_blocks(Array::slice_as_chunks_mut(&mut data).0);
    });
    data
}

fn library_ctr(key: &[u8], counter: &Block, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    with_aes!(key, Aes => {
        ctr::Ctr128BE::<Aes>::new_from_slices(key, counter).expect(FITS).apply_keystream(&mut data);
    });
    data
}

fn library_cmac(key: &[u8], data: &[u8]) -> Block {
    with_aes!(key, Aes => {
        let mut mac = cmac::Cmac::<Aes>::new_from_slice(key).expect(FITS);
        mac.update(data);
        mac.finalize().into_bytes().into()
    })
}

/// By AWS-LC, which shares nothing with the library above.
fn aws_cmac(key: &[u8], data: &[u8]) -> Block {
    use aws_lc_rs::cmac::{AES_128, AES_192, AES_256, Key, sign};
    let algorithm = [AES_128, AES_192, AES_256][key.len() / 8 - 2];
    let tag = sign(&Key::new(algorithm, key).expect(FITS), data).expect(FITS);
    tag.as_ref().try_into().expect("a block")
}

/// Ciphertext and tag, for the pairs of lengths that are named.
fn library_ccm(
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    data: &[u8],
    tag_bytes: usize,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut data = data.to_vec();
    macro_rules! pairs {
        ($($nonce:ty, $tag:ty, $nonce_bytes:literal, $tag_bytes:literal);*) => {
            match (nonce.len(), tag_bytes) {
                $(($nonce_bytes, $tag_bytes) => with_aes!(key, Aes => {
                    let ccm = ccm::Ccm::<Aes, $tag, $nonce>::new_from_slice(key).expect(FITS);
                    let nonce = nonce.try_into().expect(FITS);
                    let tag = ccm.encrypt_inout_detached(nonce, aad, data.as_mut_slice().into());
                    Some((data, tag.expect(FITS).to_vec()))
                }),)*
                _ => None,
            }
        };
    }
    pairs!(
        U7, U4, 7, 4; U8, U6, 8, 6; U9, U14, 9, 14; U10, U10, 10, 10; U11, U12, 11, 12; U12, U16, 12, 16; U13, U8, 13, 8
    )
}

/// Official vectors of a kind, with the name of their file.
fn vectors(kind: &str) -> Vec<(&'static str, Vector<'static>)> {
    let mut found = Vec::new();
    let mut file = None;
    for vector in blocks(official()) {
        if let Some(name) = vector.text("Kind") {
            file = (name == kind).then(|| vector.text("File").expect("it is named"));
        } else if let Some(file) = file.filter(|_| vector.text("Left").is_none()) {
            found.push((file, vector));
        }
    }
    assert!(found.len() > 5, "there are vectors of {kind}");
    found
}

#[test]
fn without_instructions_for_aes_bit_planes_take_over() {
    if is_masked() {
        return assert_eq!(Backend::all(), [Backend::Bitslice]);
    }
    run_masked(&[
        "without_instructions_for_aes_bit_planes_take_over",
        "official_vectors_hold_on_every_backend",
        "official_vectors_of_ccm_hold_on_every_backend_all_in_one_call",
    ]);
}

#[test]
fn official_vectors_hold_on_every_backend() {
    for backend in Backend::all() {
        for (file, vector) in vectors("ecb") {
            let (key, text) = (Key::new(backend, &vector.bytes("Key")), vector.bytes("PT"));
            let mut data = text.clone();
            block::ecb_encrypt(backend, &key, &mut data);
            assert_eq!(data, vector.bytes("CT"), "{backend:?} {file} {:?}", vector.text("Id"));
            block::ecb_decrypt(backend, &key, &mut data);
            assert_eq!(data, text, "{backend:?} {file} {:?}", vector.text("Id"));
        }
        for (file, vector) in vectors("cbc") {
            let (key, text) = (Key::new(backend, &vector.bytes("Key")), vector.bytes("PT"));
            let iv = vector.bytes("IV").try_into().expect("a block");
            let mut data = text.clone();
            cbc_encrypt(backend, &mut [Stream { key: &key, iv, data: &mut data }]);
            assert_eq!(data, vector.bytes("CT"), "{backend:?} {file} {:?}", vector.text("Id"));
            block::cbc_decrypt(backend, &key, &iv, &mut data);
            assert_eq!(data, text, "{backend:?} {file} {:?}", vector.text("Id"));
        }
        for (file, vector) in
            vectors("ctr").into_iter().filter(|(_, vector)| vector.text(concat!("Sk", "ip")).is_none())
        {
            let (key, mut data) = (Key::new(backend, &vector.bytes("Key")), vector.bytes("PT"));
            block::ctr(backend, &key, &vector.bytes("IV").try_into().expect("a block"), &mut data);
            assert_eq!(data, vector.bytes("CT"), "{backend:?} {file} {:?}", vector.text("Id"));
        }
        for (file, vector) in vectors("cmac") {
            let (key, data, wanted) =
                (Key::new(backend, &vector.bytes("Key")), vector.bytes("Msg"), vector.bytes("Tag"));
            let mut messages = [Mac { key: &key, data: &data, tag: [0; BLOCK_BYTES] }];
            cmac(backend, &mut messages);
            let is_equal = messages[0].tag[..wanted.len()] == wanted;
            assert_eq!(is_equal, !vector.fails(), "{backend:?} {file} {:?}", vector.text("Id"));
        }
    }
}

#[test]
fn official_vectors_of_ccm_hold_on_every_backend_all_in_one_call() {
    for backend in Backend::all() {
        let vectors = vectors("ccm");
        let keys: Vec<Key> =
            vectors.iter().map(|(_, vector)| Key::new(backend, &vector.bytes("Key"))).collect();
        let fields = |name: &str| -> Vec<Vec<u8>> {
            vectors
                .iter()
                .map(|(_, vector)| vector.text(name).map_or(Vec::new(), |_| vector.bytes(name)))
                .collect()
        };
        let (nonces, aads, texts, tags) = (fields("Nonce"), fields("AD"), fields("PT"), fields("Tag"));
        let mut data = fields("CT");
        // Some files have the tag behind the ciphertext.
        let tags: Vec<Vec<u8>> = (tags.into_iter().zip(&mut data).zip(&texts))
            .map(|((tag, data), text)| if tag.is_empty() { data.split_off(text.len()) } else { tag })
            .collect();
        let mut messages = Vec::new();
        for (i, data) in data.iter_mut().enumerate() {
            let mut tag = [0; BLOCK_BYTES];
            tag[..tags[i].len()].copy_from_slice(&tags[i]);
            let (key, nonce, associated_data) = (&keys[i], &nonces[i][..], &aads[i][..]);
            messages.push(Message { key, nonce, associated_data, data, tag, tag_bytes: tags[i].len() });
        }
        let verdicts = open(backend, &mut messages);
        for (i, (message, verdict)) in messages.iter().zip(&verdicts).enumerate() {
            let (file, vector) = &vectors[i];
            assert_eq!(verdict.is_err(), vector.fails(), "{backend:?} {file} {:?}", vector.text("Id"));
            let wanted = if vector.fails() { vec![0; message.data.len()] } else { texts[i].clone() };
            assert_eq!(*message.data, wanted, "{backend:?} {file} {:?}", vector.text("Id"));
        }
        let mut messages: Vec<Message<'_>> = (messages.into_iter().zip(&verdicts))
            .filter(|(_, verdict)| verdict.is_ok())
            .map(|(message, _)| Message { tag: [0; BLOCK_BYTES], ..message })
            .collect();
        seal(backend, &mut messages);
        let good = (0..vectors.len()).filter(|&i| verdicts[i].is_ok());
        for (message, i) in messages.iter().zip(good) {
            assert_eq!(message.tag[..message.tag_bytes], tags[i], "{backend:?} {}", vectors[i].0);
        }
    }
}

#[test]
fn every_length_of_every_mode_agrees_with_the_library() {
    let mut rng = seeded();
    for backend in Backend::all() {
        for key_bytes in KEY_BYTES {
            let secret = random_bytes(&mut rng, key_bytes);
            let key = Key::new(backend, &secret);
            for length in lengths(&mut rng, LONGEST_BYTES) {
                let iv = random_block(&mut rng);
                let mut data = shifted(&mut rng, length);
                let wanted = library_ctr(&secret, &iv, &data);
                block::ctr(backend, &key, &iv, &mut data);
                assert_eq!(*data, wanted, "{backend:?} CTR, {length} bytes");
            }
            for length in lengths(&mut rng, LONGEST_BYTES / BLOCK_BYTES) {
                let iv = random_block(&mut rng);
                let mut data = shifted(&mut rng, length * BLOCK_BYTES);
                let text = data.to_vec();
                let sealed = library_cbc(&secret, &iv, &text);
                let mut streams = [Stream { key: &key, iv, data: &mut data }];
                cbc_encrypt(backend, &mut streams);
                let last = streams[0].iv;
                assert_eq!(*data, sealed, "{backend:?} CBC, {length} blocks");
                assert_eq!(last, *sealed.last_chunk().unwrap_or(&iv), "the next block's IV");
                block::cbc_decrypt(backend, &key, &iv, &mut data);
                assert_eq!(*data, text, "{backend:?} CBC, {length} blocks");
                // ECB is CBC decryption without the blocks before.
                block::ecb_decrypt(backend, &key, &mut data);
                let (blocks, _) = data.as_chunks_mut::<BLOCK_BYTES>();
                for (i, block) in blocks.iter_mut().enumerate() {
                    let before = if i == 0 { &iv } else { &text.as_chunks().0[i - 1] };
                    block.iter_mut().zip(before).for_each(|(a, b)| *a ^= b);
                }
                assert_eq!(*data, library_cbc_decrypt(&secret, &iv, &text), "{backend:?} ECB");
            }
        }
    }
}

/// OpenSSL, unless it cannot be had.
fn openssl() -> Option<OpenSsl> {
    OpenSsl::load().map_err(|why| println!("skip: AES against OpenSSL: {why}")).ok()
}

#[test]
fn every_mode_agrees_with_openssl() {
    let Some(openssl) = openssl() else { return };
    let mut rng = seeded();
    for backend in Backend::all() {
        for key_bytes in KEY_BYTES {
            let secret = random_bytes(&mut rng, key_bytes);
            let key = Key::new(backend, &secret);
            let context = |mode: &str, is_encrypting| {
                openssl.context(&format!("AES-{}-{mode}", key_bytes * 8), &secret, is_encrypting)
            };
            let (chained, cbc) = (context("CBC", true), context("CBC", false));
            let (plain, ctr) = (context("ECB", true), context("CTR", true));
            for length in lengths(&mut rng, LONGEST_BYTES) {
                let iv = random_block(&mut rng);
                let mut ours = shifted(&mut rng, length);
                let mut theirs = ours.to_vec();
                block::ctr(backend, &key, &iv, &mut ours);
                ctr.crypt(&iv, &mut theirs);
                assert_eq!(*ours, theirs, "{backend:?} CTR, {length} bytes");
                let whole = length / BLOCK_BYTES * BLOCK_BYTES;
                block::cbc_decrypt(backend, &key, &iv, &mut ours[..whole]);
                cbc.crypt(&iv, &mut theirs[..whole]);
                assert_eq!(*ours, theirs, "{backend:?} CBC decryption, {whole} bytes");
                block::ecb_encrypt(backend, &key, &mut ours[..whole]);
                plain.crypt(&iv, &mut theirs[..whole]);
                assert_eq!(*ours, theirs, "{backend:?} ECB, {whole} bytes");
                cbc_encrypt(backend, &mut [Stream { key: &key, iv, data: &mut ours[..whole] }]);
                chained.crypt(&iv, &mut theirs[..whole]);
                assert_eq!(*ours, theirs, "{backend:?} CBC encryption, {whole} bytes");
            }
        }
    }
}

/// Messages of one length of keys and of all [`lengths`], so many in a call that lanes have a mix of them.
fn calls(rng: &mut ChaCha20Rng, key: usize) -> Vec<Vec<Made>> {
    let mix: Vec<_> = lengths(rng, LONGEST_BYTES).into_iter().map(|length| (key, length)).collect();
    mix.chunks(50).map(|mix| make(rng.next_u64(), mix)).collect()
}

#[test]
fn every_length_of_every_mac_agrees_with_two_libraries() {
    let (openssl, mut rng) = (openssl(), seeded());
    for (backend, key) in Backend::all().into_iter().flat_map(|backend| [0, 1, 2].map(|key| (backend, key))) {
        for made in calls(&mut rng, key) {
            let keys: Vec<Key> = made.iter().map(|made| Key::new(backend, &made.secret)).collect();
            let tag = [0; BLOCK_BYTES];
            let mut messages: Vec<_> =
                made.iter().zip(&keys).map(|(Made { data, .. }, key)| Mac { key, data, tag }).collect();
            cmac(backend, &mut messages);
            for (Mac { data, tag, .. }, Made { secret, .. }) in messages.iter().zip(&made) {
                assert_eq!(*tag, library_cmac(secret, data), "{backend:?} CMAC, {} bytes", data.len());
                assert_eq!(*tag, aws_cmac(secret, data), "{backend:?} CMAC, {} bytes", data.len());
            }
            for message in &mut messages {
                message.data = &message.data[..message.data.len() / BLOCK_BYTES * BLOCK_BYTES];
            }
            cbc_mac(backend, &mut messages);
            for (Mac { data, tag, .. }, Made { secret, .. }) in messages.iter().zip(&made) {
                let of = |chained: &[u8]| *chained.last_chunk().unwrap_or(&[0; BLOCK_BYTES]);
                let wanted = of(&library_cbc(secret, &[0; BLOCK_BYTES], data));
                assert_eq!(*tag, wanted, "{backend:?} CBC-MAC, {} bytes", data.len());
                if let Some(openssl) = &openssl {
                    let mut chained = data.to_vec();
                    let context = openssl.context(&format!("AES-{}-CBC", 8 * secret.len()), secret, true);
                    context.crypt(&[0; BLOCK_BYTES], &mut chained);
                    assert_eq!(*tag, of(&chained), "{backend:?} CBC-MAC, {} bytes", data.len());
                }
            }
        }
    }
}

#[test]
fn every_length_of_ccm_agrees_with_two_libraries() {
    let (openssl, mut rng) = (openssl(), seeded());
    for (backend, key) in Backend::all().into_iter().flat_map(|backend| [0, 1, 2].map(|key| (backend, key))) {
        for made in calls(&mut rng, key) {
            let keys: Vec<Key> = made.iter().map(|made| Key::new(backend, &made.secret)).collect();
            let mut data: Vec<Shifted> = made.iter().map(|made| made.data.clone()).collect();
            let mut messages: Vec<_> = (made.iter().zip(&keys).zip(&mut data))
                .map(|((made, key), data)| made.message(key, data))
                .collect();
            seal(backend, &mut messages);
            for (message, made) in messages.iter().zip(&made) {
                let sealed = (message.data.to_vec(), message.tag[..made.tag_bytes].to_vec());
                let what = format!("{backend:?} CCM, {} bytes", made.data.len());
                assert_eq!(sealed, made.by_library(), "{what}");
                if let Some(openssl) = &openssl {
                    let name = format!("AES-{}-CCM", 8 * made.secret.len());
                    let (mut theirs, mut tag) = (made.data.to_vec(), vec![0; made.tag_bytes]);
                    let context = openssl.context(&name, &made.secret, true);
                    context.ccm(&made.secret, &made.nonce, &made.aad, &mut theirs, &mut tag);
                    assert_eq!(sealed, (theirs, tag), "{what}");
                }
            }
            assert!(open(backend, &mut messages).iter().all(Result::is_ok), "{backend:?}");
            for (message, made) in messages.iter().zip(&made) {
                assert_eq!(*message.data, *made.data, "{backend:?} CCM, {} bytes", made.data.len());
            }
        }
    }
}

#[test]
fn counters_carry_into_every_byte_and_wrap_around() {
    let mut rng = seeded();
    for backend in Backend::all() {
        let secret = random_bytes(&mut rng, 16);
        let key = Key::new(backend, &secret);
        for carried_bytes in 1..=BLOCK_BYTES {
            for before in 0..40 {
                let mut counter = random_block(&mut rng);
                counter[BLOCK_BYTES - carried_bytes..].fill(0xff);
                let counter = u128::from_be_bytes(counter).wrapping_sub(before);
                let mut data = vec![0; 60 * BLOCK_BYTES + 5];
                block::ctr(backend, &key, &counter.to_be_bytes(), &mut data);
                let stream: Vec<u8> = (0..61).flat_map(|i| counter.wrapping_add(i).to_be_bytes()).collect();
                let wanted: Vec<u8> = stream
                    .chunks(BLOCK_BYTES)
                    .flat_map(|block| library_cbc(&secret, &[0; 16], block))
                    .collect();
                assert_eq!(data, wanted[..data.len()], "{backend:?}, {carried_bytes} bytes carry");
            }
        }
    }
}

/// Streams with keys of any length and data of any number of bytes; the seed makes the rest.
fn mix(bytes_max: usize) -> impl Strategy<Value = (u64, Vec<(usize, usize)>)> {
    (any::<u64>(), prop::collection::vec((0..3_usize, 0..bytes_max), 0..70))
}

struct Made {
    secret: Vec<u8>,
    iv: Block,
    data: Shifted,
    nonce: Shifted,
    aad: Shifted,
    tag_bytes: usize,
}

impl Made {
    /// As a message of CCM that is to be sealed.
    fn message<'a>(&'a self, key: &'a Key, data: &'a mut [u8]) -> Message<'a> {
        let Made { nonce, aad, tag_bytes, .. } = self;
        Message { key, nonce, associated_data: aad, data, tag: [0; BLOCK_BYTES], tag_bytes: *tag_bytes }
    }

    /// What CCM makes of it.
    fn by_library(&self) -> (Vec<u8>, Vec<u8>) {
        library_ccm(&self.secret, &self.nonce, &self.aad, &self.data, self.tag_bytes).expect("a pair")
    }
}

/// What a [`mix`] says, made of its seed.
fn make(seed: u64, mix: &[(usize, usize)]) -> Vec<Made> {
    let mut rng = <ChaCha20Rng as rand_chacha::rand_core::SeedableRng>::seed_from_u64(seed);
    // Pairs of lengths for which the library has a type.
    let pairs = [(7, 4), (8, 6), (9, 14), (10, 10), (11, 12), (12, 16), (13, 8)];
    let made = |&(key, bytes): &(usize, usize)| {
        let (nonce_bytes, tag_bytes) = pairs[rng.next_u32() as usize % pairs.len()];
        let aad_bytes = rng.next_u32() as usize % 70;
        Made {
            secret: random_bytes(&mut rng, KEY_BYTES[key]),
            iv: random_block(&mut rng),
            data: shifted(&mut rng, bytes),
            nonce: shifted(&mut rng, nonce_bytes),
            aad: shifted(&mut rng, aad_bytes),
            tag_bytes,
        }
    };
    mix.iter().map(made).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_soak() { 2000 } else { 60 }))]

    #[test]
    fn any_mix_of_streams_is_encrypted_as_each_alone((seed, mix) in mix(90)) {
        for backend in Backend::all() {
            let mix: Vec<_> = mix.iter().map(|&(key, blocks)| (key, blocks * BLOCK_BYTES)).collect();
            let mut made = make(seed, &mix);
            let keys: Vec<Key> = made.iter().map(|made| Key::new(backend, &made.secret)).collect();
            let wanted: Vec<_> = made.iter().map(|m| library_cbc(&m.secret, &m.iv, &m.data)).collect();
            let mut streams: Vec<_> = (made.iter_mut().zip(&keys))
                .map(|(Made { iv, data, .. }, key)| Stream { key, iv: *iv, data })
                .collect();
            cbc_encrypt(backend, &mut streams);
            let ends: Vec<_> = streams.iter().map(|stream| stream.iv).collect();
            for ((made, wanted), end) in made.iter().zip(&wanted).zip(ends) {
                prop_assert_eq!(&*made.data, wanted);
                prop_assert_eq!(&end, wanted.last_chunk().unwrap_or(&made.iv));
            }
        }
    }

    #[test]
    fn any_mix_of_messages_has_the_macs_of_each_alone((seed, mix) in mix(600)) {
        for backend in Backend::all() {
            let made = make(seed, &mix);
            let keys: Vec<Key> = made.iter().map(|made| Key::new(backend, &made.secret)).collect();
            let tag = [0; BLOCK_BYTES];
            let mut messages: Vec<_> =
                made.iter().zip(&keys).map(|(Made { data, .. }, key)| Mac { key, data, tag }).collect();
            cmac(backend, &mut messages);
            for (message, made) in messages.iter().zip(&made) {
                prop_assert_eq!(message.tag, library_cmac(&made.secret, &made.data));
            }
            for message in &mut messages {
                message.data = &message.data[..message.data.len() / BLOCK_BYTES * BLOCK_BYTES];
            }
            cbc_mac(backend, &mut messages);
            for (message, made) in messages.iter().zip(&made) {
                let chained = library_cbc(&made.secret, &[0; BLOCK_BYTES], message.data);
                prop_assert_eq!(&message.tag, chained.last_chunk().unwrap_or(&[0; BLOCK_BYTES]));
            }
        }
    }

    #[test]
    fn any_mix_of_messages_is_sealed_as_each_alone_and_only_forgeries_are_refused((seed, mix) in mix(600)) {
        for backend in Backend::all() {
            let made = make(seed, &mix);
            let keys: Vec<Key> = made.iter().map(|made| Key::new(backend, &made.secret)).collect();
            let wanted: Vec<_> = made.iter().map(Made::by_library).collect();
            let mut data: Vec<_> = made.iter().map(|made| made.data.clone()).collect();
            let mut messages: Vec<_> = (made.iter().zip(&keys).zip(&mut data))
                .map(|((made, key), data)| made.message(key, data))
                .collect();
            seal(backend, &mut messages);
            for (message, (data, tag)) in messages.iter().zip(&wanted) {
                prop_assert_eq!(&*message.data, &data[..]);
                prop_assert_eq!(&message.tag[..message.tag_bytes], &tag[..]);
            }
            // Of every three one has a wrong tag, and one a wrong byte of data.
            for (i, message) in messages.iter_mut().enumerate() {
                let bit = 1 << (seed >> (i % 50) & 7);
                match i % 3 {
                    0 => message.tag[i % message.tag_bytes] ^= bit,
                    1 if !message.data.is_empty() => message.data[i * 7 % wanted[i].0.len()] ^= bit,
                    _ => {}
                }
            }
            let verdicts = open(backend, &mut messages);
            for (i, (message, verdict)) in messages.iter().zip(verdicts).enumerate() {
                let text = &made[i].data;
                let is_forged = i % 3 == 0 || i % 3 == 1 && !text.is_empty();
                prop_assert_eq!(verdict.is_err(), is_forged);
                let left = if is_forged { vec![0; text.len()] } else { text.to_vec() };
                prop_assert_eq!(&*message.data, &left[..]);
            }
        }
    }

    #[test]
    fn stripes_over_cores_change_nothing(
        (blocks, stripe_blocks, cores) in (prop_oneof![0..300_usize, 0..6000_usize], prop::option::of(1..40_usize), 1..5_usize),
        seed in any::<u64>(),
    ) {
        let made = make(seed, &[(seed as usize % 3, blocks * BLOCK_BYTES)]).remove(0);
        let mut pool = Cores::new(NonZero::new(cores).expect("one or more")).expect("threads can be pinned");
        // Without, a share of whole pages for each core.
        stripe_blocks.into_iter().for_each(|blocks| pool.set_stripe(blocks * BLOCK_BYTES));
        for backend in Backend::all() {
            let key = Key::new(backend, &made.secret);
            let mut data = made.data.clone();
            pool.cbc_decrypt(backend, &key, &made.iv, &mut data);
            prop_assert_eq!(&*data, &library_cbc_decrypt(&made.secret, &made.iv, &made.data));
            let mut data = made.data.clone();
            let length = data.len().saturating_sub(seed as usize % 20);
            let wanted = library_ctr(&made.secret, &made.iv, &data[..length]);
            pool.ctr(backend, &key, &made.iv, &mut data[..length]);
            prop_assert_eq!(&data[..length], &wanted);
            let (mut data, mut wanted) = (made.data.clone(), made.data.clone());
            pool.ecb_encrypt(backend, &key, &mut data);
            block::ecb_encrypt(backend, &key, &mut wanted);
            prop_assert_eq!(&*data, &*wanted);
            pool.ecb_decrypt(backend, &key, &mut data);
            prop_assert_eq!(&*data, &*made.data);
            let mut parts: Vec<u64> = (0..blocks as u64).collect();
            pool.share(&mut parts, |part| part.iter_mut().for_each(|x| *x = *x * 3 + 1));
            prop_assert!(parts.iter().enumerate().all(|(i, &x)| x == i as u64 * 3 + 1));
        }
    }
}

#[test]
fn long_associated_data_have_longer_length_fields() {
    let mut rng = seeded();
    for backend in Backend::all() {
        for aad_bytes in [13, 14, 15, 0xfeff, 0xff00, 0x1_0001] {
            let (secret, nonce) = (random_bytes(&mut rng, 16), random_bytes(&mut rng, 13));
            let (aad, mut data) = (random_bytes(&mut rng, aad_bytes), random_bytes(&mut rng, 100));
            let (wanted, wanted_tag) = library_ccm(&secret, &nonce, &aad, &data, 8).expect("a pair");
            let key = Key::new(backend, &secret);
            let (tag, tag_bytes) = ([0; BLOCK_BYTES], 8);
            let mut messages = [Message {
                key: &key,
                nonce: &nonce,
                associated_data: &aad,
                data: &mut data,
                tag,
                tag_bytes,
            }];
            seal(backend, &mut messages);
            assert_eq!((&*messages[0].data, &messages[0].tag[..8]), (&wanted[..], &wanted_tag[..]));
        }
    }
}

#[test]
fn a_message_too_long_for_its_length_field_is_refused_and_erased() {
    for backend in Backend::all() {
        let key = Key::new(backend, &[1; 16]);
        let mut data = vec![5; 1 << 16];
        let (nonce, tag) = (&[0; 13][..], [0; BLOCK_BYTES]);
        let mut messages =
            [Message { key: &key, nonce, associated_data: &[], data: &mut data, tag, tag_bytes: 8 }];
        assert!(open(backend, &mut messages)[0].is_err());
        assert!(data.iter().all(|&byte| byte == 0));
    }
}

#[test]
#[should_panic(expected = "a core panicked")]
fn a_panic_on_another_core_reaches_the_caller() {
    let mut pool = Cores::new(NonZero::new(2).expect("two")).expect("threads can be pinned");
    pool.share(&mut [0, 1], |part| assert!(part[0] == 0, "the second core's part"));
}

#[test]
fn a_pool_works_on_after_a_panic() {
    let mut pool = Cores::new(NonZero::new(3).expect("three")).expect("threads can be pinned");
    let panicking = std::panic::AssertUnwindSafe(|| pool.share(&mut [0, 1, 2], |_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(panicking).is_err());
    let mut parts = [1, 2, 3];
    pool.share(&mut parts, |part| part[0] *= 2);
    assert_eq!(parts, [2, 4, 6]);
}
