//! The rows: what is measured, on what, and what is wanted.
//!
//! All cases of a table work on the same memory, which stays in the L2 cache that way; what they make of it is no
//! matter.

use std::cell::RefCell;
use std::num::NonZero;

use aes::cipher::array::Array;
use aes::cipher::{BlockModeDecrypt, InnerIvInit, KeyInit, KeyIvInit, StreamCipher};
use collect::aes::cores::Cores;
use collect::aes::{Backend, Key, block, ccm, multi};

use crate::cycles::{Case, case, per_byte};
use crate::peers::{Ipsec, OpenSsl};

/// A message of a mode whose blocks do not wait for each other.
const BUFFER_BYTES: usize = 64 * 1024;
/// A waveform of 1024 samples of 32 bits.
const STREAM_BYTES: usize = 4096;
/// From one stream to the next: not a page, in which all streams would share the sets of the L1 cache.
const STRIDE_BYTES: usize = STREAM_BYTES + 192;
const IV: [u8; 16] = [0x42; 16];
const NONCE: [u8; 13] = [7; 13];
/// How often one core and two take turns.
const PAIRS: usize = 5;
/// A frame's header.
const ASSOCIATED: [u8; 13] = [9; 13];

/// Prints everything.
pub fn print() {
    // What the server takes here.
    let best = Backend::best();
    if best == Backend::Bitslice {
        println!("skip (machine): bench of AES: this CPU has no instructions for it");
        return;
    }
    let openssl = OpenSsl::load().map_err(|why| println!("skip: OpenSSL as a peer: {why}")).ok();
    let ipsec = Ipsec::load().map_err(|why| println!("skip: ipsec-mb as a peer: {why}")).ok();
    println!(
        "cycles of the core per byte, by products that wait for each other: no performance counters are used; the goals are of {best:?}"
    );
    let peers = Peers { openssl: openssl.as_ref(), ipsec: ipsec.as_ref() };
    decryption(best, &peers);
    encryption(best, &peers);
    counter(best, &peers);
    sealing(best, &peers, 4096, 0.5);
    sealing(best, &peers, 64, 2.0);
    mixed(best);
    gcm(peers.openssl);
    both_cores(best);
}

/// What computes, `best` first: behind it stands what a processor without AVX-512 takes, or without VAES.
fn widest_first(best: Backend) -> Vec<Backend> {
    let is_instructions = |&backend: &Backend| backend != best && backend != Backend::Bitslice;
    std::iter::once(best).chain(Backend::all().into_iter().rev().filter(is_instructions)).collect()
}

struct Peers<'a> {
    openssl: Option<&'a OpenSsl>,
    ipsec: Option<&'a Ipsec>,
}

/// A key of so many bits, different for every `index`.
fn key_bytes(bits: usize, index: usize) -> Vec<u8> {
    (0..bits / 8).map(|i| (i * 7 + index * 31 + 1) as u8).collect()
}

/// Prints a table; returns the figures with their names.
fn table(title: &str, mut cases: Vec<Case<'_>>) -> Vec<(String, f64)> {
    println!("\n{title}");
    let figures = per_byte(&mut cases);
    for (case, figure) in cases.iter().zip(&figures) {
        println!("  {:44} {figure:8.4}", case.name);
    }
    cases.into_iter().map(|case| case.name).zip(figures).collect()
}

/// The line of a goal: the first figure, and that of `peer` if it was there.
fn goal(what: &str, figures: &[(String, f64)], peer: &str, wanted: f64) {
    let is_peer = |figure: &&(String, f64)| figure.0.starts_with(peer);
    let (name, value) = match figures.iter().find(is_peer) {
        Some((_, value)) => (peer, format!("{value:.3}")),
        None => ("-", "-".to_owned()),
    };
    println!("goal\t{what}, cycles/B\t{:.3}\t{name}\t{value}\t<= {wanted}", figures[0].1);
}

fn decryption(best: Backend, peers: &Peers<'_>) {
    for bits in [128, 192, 256] {
        let bytes = key_bytes(bits, 0);
        let shared = RefCell::new(vec![1; BUFFER_BYTES]);
        let data = || shared.borrow_mut();
        let (key, data) = (&Key::new(best, &bytes), &data);
        let by = |backend: Backend| {
            case(format!("{backend:?}"), BUFFER_BYTES, move || {
                block::cbc_decrypt(backend, key, &IV, &mut data())
            })
        };
        let mut cases: Vec<Case<'_>> = widest_first(best).into_iter().map(by).collect();
        macro_rules! rust_crypto {
            ($aes:ty) => {{
                let cipher = <$aes>::new_from_slice(&bytes).expect("the length is the cipher's");
                cases.push(case("RustCrypto cbc", BUFFER_BYTES, move || {
                    let mut cbc =
                        <cbc::Decryptor<$aes> as InnerIvInit>::inner_iv_init(cipher.clone(), &IV.into());
                    cbc.decrypt_blocks(Array::slice_as_chunks_mut(&mut data()).0);
                }));
            }};
        }
        match bits {
            128 => rust_crypto!(aes::Aes128),
            192 => rust_crypto!(aes::Aes192),
            _ => rust_crypto!(aes::Aes256),
        }
        if let Some(openssl) = peers.openssl {
            let context = openssl.context(&format!("AES-{bits}-CBC"), &bytes, false);
            cases.push(case("OpenSSL", BUFFER_BYTES, move || context.crypt(&IV, &mut data())));
        }
        let figures = table(&format!("AES-{bits} CBC decryption of 64 KiB"), cases);
        if bits == 128 {
            goal("AES-128 CBC decryption of 64 KiB", &figures, "OpenSSL", 0.18);
        }
    }
}

/// CBC encryption of all streams in `data`.
fn encrypt(backend: Backend, keys: &[Key], data: &mut [u8], stride: usize) {
    let chunks = data.chunks_mut(stride);
    let mut streams: Vec<multi::Stream<'_>> = keys
        .iter()
        .zip(chunks)
        .map(|(key, data)| multi::Stream { key, iv: IV, data: &mut data[..STREAM_BYTES] })
        .collect();
    multi::cbc_encrypt(backend, &mut streams);
}

fn encryption(best: Backend, peers: &Peers<'_>) {
    for (bits, count) in [(128, 16), (128, 64), (192, 16), (256, 16)] {
        let secrets: Vec<Vec<u8>> = (0..count).map(|i| key_bytes(bits, i)).collect();
        let keys: Vec<Key> = secrets.iter().map(|bytes| Key::new(best, bytes)).collect();
        let bytes = count * STREAM_BYTES;
        let shared = RefCell::new(vec![1; count * STRIDE_BYTES]);
        let data = || shared.borrow_mut();
        // A page from each stream to the next, as the waveforms of the paper would lie.
        let mut pages = vec![1; (count + 1) * STREAM_BYTES];
        let first = pages.as_ptr().align_offset(STREAM_BYTES);
        let pages = &mut pages[first..];
        let (keys, data) = (&keys, &data);
        let by = |backend: Backend| {
            case(format!("{backend:?}"), bytes, move || encrypt(backend, keys, &mut data(), STRIDE_BYTES))
        };
        let mut cases: Vec<Case<'_>> = widest_first(best).into_iter().map(by).collect();
        cases.push(case(format!("{best:?}, a page from stream to stream"), bytes, || {
            encrypt(best, keys, pages, STREAM_BYTES);
        }));
        if let Some(ipsec) = peers.ipsec {
            let streams = ipsec.streams(&secrets.iter().map(Vec::as_slice).collect::<Vec<_>>());
            cases.push(case("ipsec-mb", bytes, move || {
                streams.cbc(&IV, &mut data(), STRIDE_BYTES, STREAM_BYTES)
            }));
        }
        if let Some(openssl) = peers.openssl {
            let context = openssl.context(&format!("AES-{bits}-CBC"), &secrets[0], true);
            cases.push(case("OpenSSL, one stream", STREAM_BYTES, move || {
                context.crypt(&IV, &mut data()[..STREAM_BYTES]);
            }));
        }
        let figures = table(&format!("AES-{bits} CBC encryption of {count} streams of 4 KiB"), cases);
        if (bits, count) == (128, 16) {
            goal("AES-128 CBC encryption of 16 streams of 4 KiB", &figures, "ipsec-mb", 0.21);
            // What a processor without AVX-512 takes.
            if let Some(narrower) = figures.iter().position(|(name, _)| name == "Vaes").filter(|&at| at != 0)
            {
                goal("AES-128 CBC encryption by AVX2", &figures[narrower..], "ipsec-mb", 0.21);
            }
        }
    }
}

fn counter(best: Backend, peers: &Peers<'_>) {
    for bits in [128, 192, 256] {
        let bytes = key_bytes(bits, 0);
        let shared = RefCell::new(vec![1; BUFFER_BYTES]);
        let data = || shared.borrow_mut();
        let (key, data) = (&Key::new(best, &bytes), &data);
        let by = |backend: Backend| {
            case(format!("{backend:?}"), BUFFER_BYTES, move || block::ctr(backend, key, &IV, &mut data()))
        };
        let mut cases: Vec<Case<'_>> = widest_first(best).into_iter().map(by).collect();
        macro_rules! rust_crypto {
            ($aes:ty) => {{
                let bytes = bytes.clone();
                cases.push(case("RustCrypto ctr", BUFFER_BYTES, move || {
                    let mut ctr = ctr::Ctr128BE::<$aes>::new_from_slices(&bytes, &IV).expect("lengths");
                    ctr.apply_keystream(&mut data());
                }));
            }};
        }
        match bits {
            128 => rust_crypto!(aes::Aes128),
            192 => rust_crypto!(aes::Aes192),
            _ => rust_crypto!(aes::Aes256),
        }
        if let Some(openssl) = peers.openssl {
            let context = openssl.context(&format!("AES-{bits}-CTR"), &bytes, true);
            cases.push(case("OpenSSL", BUFFER_BYTES, move || context.crypt(&IV, &mut data())));
        }
        let figures = table(&format!("AES-{bits} in counter mode, 64 KiB"), cases);
        if bits == 128 {
            goal("AES-128 CTR of 64 KiB", &figures, "OpenSSL", 0.20);
        }
    }
}

/// 64 messages of a length, with a frame's nonce, header and tag.
fn messages<'a>(keys: &'a [Key], data: &'a mut [u8], stride: usize, bytes: usize) -> Vec<ccm::Message<'a>> {
    let message = |(key, data): (&'a Key, &'a mut [u8])| ccm::Message {
        key,
        nonce: &NONCE,
        associated_data: &ASSOCIATED,
        data: &mut data[..bytes],
        tag: [0; 16],
        tag_bytes: 8,
    };
    keys.iter().zip(data.chunks_mut(stride)).map(message).collect()
}

fn sealing(best: Backend, peers: &Peers<'_>, bytes: usize, wanted: f64) {
    const COUNT: usize = 64;
    let secrets: Vec<Vec<u8>> = (0..COUNT).map(|i| key_bytes(128, i)).collect();
    let keys: Vec<Key> = secrets.iter().map(|bytes| Key::new(best, bytes)).collect();
    let (stride, all) = (bytes + 192, COUNT * bytes);
    let shared = RefCell::new(vec![1; COUNT * stride]);
    let data = || shared.borrow_mut();
    let (keys, data) = (&keys, &data);
    let by = |backend: Backend| {
        case(format!("{backend:?}, seal"), all, move || {
            ccm::seal(backend, &mut messages(keys, &mut data(), stride, bytes));
        })
    };
    let mut cases: Vec<Case<'_>> = widest_first(best).into_iter().map(by).collect();
    cases.push(case(format!("{best:?}, open"), all, || {
        // Forgeries cost their erasure as well.
        std::hint::black_box(ccm::open(best, &mut messages(keys, &mut data(), stride, bytes)));
    }));
    let ciphers: Vec<ccm_library::Ccm128> = secrets.iter().map(|key| ccm_library::new(key)).collect();
    cases.push(case("RustCrypto ccm, seal", all, move || {
        for (cipher, data) in ciphers.iter().zip(data().chunks_mut(stride)) {
            ccm_library::seal(cipher, &NONCE, &ASSOCIATED, &mut data[..bytes]);
        }
    }));
    if let Some(openssl) = peers.openssl {
        let contexts: Vec<_> = secrets.iter().map(|key| openssl.context("AES-128-CCM", key, true)).collect();
        let secrets = &secrets;
        cases.push(case("OpenSSL, seal", all, move || {
            for ((context, key), data) in contexts.iter().zip(secrets).zip(data().chunks_mut(stride)) {
                context.ccm(key, &NONCE, &ASSOCIATED, &mut data[..bytes], &mut [0; 8]);
            }
        }));
    }
    if let Some(ipsec) = peers.ipsec {
        let streams = ipsec.streams(&secrets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let mut tags = [[0; 8]; COUNT];
        cases.push(case("ipsec-mb, seal", all, move || {
            streams.ccm(&NONCE, &ASSOCIATED, &mut data(), stride, bytes, &mut tags);
        }));
    }
    let figures = table(&format!("AES-128-CCM, 64 messages of {bytes} B"), cases);
    goal(&format!("AES-128-CCM seal, 64 messages of {bytes} B"), &figures, "ipsec-mb", wanted);
}

/// `ccm` is a name of ours too.
mod ccm_library {
    use ::ccm::aead::{AeadInOut, KeyInit};
    use ::ccm::consts::{U8, U13};

    pub type Ccm128 = ::ccm::Ccm<aes::Aes128, U8, U13>;

    pub fn new(key: &[u8]) -> Ccm128 {
        Ccm128::new_from_slice(key).expect("the length is the cipher's")
    }

    pub fn seal(cipher: &Ccm128, nonce: &[u8; 13], associated: &[u8], data: &mut [u8]) {
        cipher.encrypt_inout_detached(nonce.into(), associated, data.into()).expect("it is short enough");
    }
}

/// GCM by the libraries, of which `cipher` takes the first. BoringSSL's own figures on a Zen 3 are 0.39 and 0.44.
fn gcm(openssl: Option<&OpenSsl>) {
    // A batch, a stored waveform, and a stored frame of a bus with what a record is authenticated with.
    for (bits, bytes, associated_bytes) in
        [(128, BUFFER_BYTES, 20), (256, BUFFER_BYTES, 20), (256, STREAM_BYTES, 196), (256, 80, 196)]
    {
        let secret = key_bytes(bits, 0);
        let (shared, associated) = (RefCell::new(vec![1; bytes]), vec![2; associated_bytes]);
        let (data, associated) = (|| shared.borrow_mut(), associated.as_slice());
        macro_rules! ring_like {
            ($library:ident) => {{
                use $library::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
                let algorithm = if bits == 128 { &AES_128_GCM } else { &AES_256_GCM };
                let key = LessSafeKey::new(
                    UnboundKey::new(algorithm, &secret).expect("the length is the cipher's"),
                );
                case(stringify!($library), bytes, move || {
                    let nonce = Nonce::assume_unique_for_key([3; 12]);
                    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(associated), &mut data());
                    let _tag = std::hint::black_box(tag.expect("it is short enough"));
                })
            }};
        }
        macro_rules! rust_crypto {
            ($cipher:ty) => {{
                use aes_gcm::aead::{AeadInOut, KeyInit};
                let cipher = <$cipher>::new_from_slice(&secret).expect("the length is the cipher's");
                case("aes-gcm", bytes, move || {
                    let data = &mut *data();
                    let tag = cipher.encrypt_inout_detached(
                        &[3; 12].into(),
                        associated,
                        data.as_mut_slice().into(),
                    );
                    let _tag = std::hint::black_box(tag.expect("it is short enough"));
                })
            }};
        }
        let mut cases = vec![ring_like!(ring), ring_like!(aws_lc_rs)];
        cases.push(if bits == 128 {
            rust_crypto!(aes_gcm::Aes128Gcm)
        } else {
            rust_crypto!(aes_gcm::Aes256Gcm)
        });
        if let Some(openssl) = openssl {
            let context = openssl.context(&format!("AES-{bits}-GCM"), &secret, true);
            cases.push(case("OpenSSL, without a tag", bytes, move || context.crypt(&IV, &mut data())));
        }
        let title = format!("AES-{bits}-GCM of {bytes} B with {associated_bytes} B of associated data");
        let figures = table(&title, cases);
        if bytes == BUFFER_BYTES {
            let wanted = if bits == 128 { 0.39 } else { 0.44 };
            goal(&format!("AES-{bits}-GCM of 64 KiB"), &figures, "aws_lc_rs", wanted);
        }
    }
}

/// What lengths that differ cost: lanes end at different times.
fn mixed(best: Backend) {
    const COUNT: usize = 256;
    let keys: Vec<Key> = (0..COUNT).map(|i| Key::new(best, &key_bytes(128, i))).collect();
    let lengths: Vec<usize> = (0..COUNT).map(|i| i * 2654435761 % 257 * 16).collect();
    let all = lengths.iter().sum();
    let mut data = vec![1; COUNT * STRIDE_BYTES];
    let run = || {
        let parts = keys.iter().zip(&lengths).zip(data.chunks_mut(STRIDE_BYTES));
        let mut streams: Vec<multi::Stream<'_>> = parts
            .map(|((key, &length), data)| multi::Stream { key, iv: IV, data: &mut data[..length] })
            .collect();
        multi::cbc_encrypt(best, &mut streams);
    };
    table("AES-128 CBC encryption of 256 streams of 0 to 4 KiB", vec![case(format!("{best:?}"), all, run)]);
}

/// Cycles per byte of both cores together, each on so many bytes of its own, with nothing dealt and nobody waited for.
fn apart(pool: &mut Cores, best: Backend, key: &Key, bytes: usize) -> f64 {
    let mut shares = vec![(vec![1; bytes], 0.0); pool.count()];
    pool.share(&mut shares, |shares| {
        for (data, rate) in shares {
            let run = || block::cbc_decrypt(best, key, &IV, data);
            *rate = 1.0 / per_byte(&mut [case("", bytes, run)])[0];
        }
    });
    1.0 / shares.iter().map(|(_, rate)| rate).sum::<f64>()
}

/// Both cores, in stripes of several lengths, against one.
fn both_cores(best: Backend) {
    let cores = NonZero::new(2).expect("two");
    let mut pool = match Cores::new(cores) {
        Ok(pool) => pool,
        Err(error) => return println!("skip (machine): bench of two cores: {error}"),
    };
    if let Err(error) = pool.pin_caller() {
        return println!("skip (machine): bench of two cores: {error}");
    }
    let key = Key::new(best, &key_bytes(128, 0));
    for bytes in [128 * 1024, 512 * 1024, 4 << 20] {
        let mut data = vec![1; bytes];
        println!("\nAES-128 CBC decryption of {} KiB, one core and two", bytes >> 10);
        // Window by window they do not take turns: another core that has nothing to do for a while sleeps. Hundreds of
        // windows do, so that a while in which a core is somebody else's spoils one round and not the figure.
        let rounds: Vec<[f64; 2]> = (0..PAIRS)
            .map(|_| {
                let once = |run: &mut dyn FnMut()| per_byte(&mut [case("", bytes, run)])[0];
                let one = once(&mut || block::cbc_decrypt(best, &key, &IV, &mut data));
                let two = once(&mut || pool.cbc_decrypt(best, &key, &IV, &mut data));
                let apart = apart(&mut pool, best, &key, bytes / 2);
                println!("  {one:8.4} {two:8.4}   times one {:.2}, apart {:.2}", one / two, one / apart);
                [one / two, one / apart]
            })
            .collect();
        let median = |which: usize| {
            let mut times: Vec<f64> = rounds.iter().map(|round| round[which]).collect();
            times.sort_by(f64::total_cmp);
            times[PAIRS / 2]
        };
        let times = median(0);
        println!("  times one, the median {times:.2}; apart, which bounds it, {:.2}", median(1));
        if bytes == 4 << 20 {
            println!("goal\tAES-128 CBC decryption of 4 MiB, two cores, times one\t{times:.2}\t-\t-\t>= 1.9");
        }
    }
    for bytes in [512 * 1024, 4 << 20] {
        let mut data = vec![1; bytes];
        println!("\nAES-128 CBC decryption of {} KiB over two cores, by stripes", bytes >> 10);
        for stripe in (2..=11).map(|log| 1024 << log) {
            pool.set_stripe(stripe);
            let mut cases = [case("", bytes, || pool.cbc_decrypt(best, &key, &IV, &mut data))];
            println!("  {:4} KiB {:41.4}", stripe >> 10, per_byte(&mut cases)[0]);
        }
    }
}
