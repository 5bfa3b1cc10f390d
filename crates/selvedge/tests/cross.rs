//! Where two languages must agree: the ciphers of `firmware/crypto` on both simulated chips, assembly included,
//! against the official vectors and against the Rust suites.
//!
//! Vectors are sampled, from a printed seed; `SELVEDGE_SOAK=1` takes all of them.

#[path = "../../cipher/tests/hosts/mod.rs"]
mod hosts;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;
mod variants;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cipher::vectors::{self, AeadVector};
use cipher::{Aead, Suite};
use hosts::{Cipher, HOSTS, Host, Leak};
use isa::avr::{ATMEGA128, ATMEGA328P, Image, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};
use selvedge::toolchain::{Besides, Compiler};
use soak::is_soak;
use variants::record::{self, Crypt};
use variants::{AD_BYTES_MAX, Bench, CHIPS, Call, MESSAGE_BYTES_MAX, SHIFT_MAX, VARIANTS, Variant};

/// Vectors of each variant on each chip, when not all are taken.
const VECTORS: usize = 12;
/// Random calls of each variant on each chip.
const CALLS: usize = 6;
const SOAK_FACTOR: usize = 50;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn below(rng: &mut ChaCha20Rng, limit: usize) -> usize {
    ((u64::from(rng.next_u32()) * limit as u64) >> 32) as usize
}

/// Every variant on `profile`, for `check`.
fn each(profile: &'static Profile, mut check: impl FnMut(&Variant, &Bench, &str)) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    for variant in &VARIANTS {
        let Some(image) = variants::build(&root(), scratch.path(), variant, profile) else { return };
        check(variant, &Bench::new(&image, profile), &format!("{} on the {}", variant.name, profile.name));
    }
}

/// Lengths that the bench's buffers hold.
fn fits(vector: &AeadVector, suite: Suite) -> bool {
    vector.sealed.len() - suite.row().tag_bytes <= MESSAGE_BYTES_MAX
        && vector.associated_data.len() <= AD_BYTES_MAX
}

/// A seal, its open, and an open with one bit of the tag turned.
fn three_calls(
    bench: &Bench,
    rng: &mut ChaCha20Rng,
    suite: Suite,
    [key, nonce, ad]: [&[u8]; 3],
    (plaintext, sealed): (&[u8], &[u8]),
    at: &str,
) {
    let (ciphertext, tag) = sealed.split_at(plaintext.len());
    let shift = below(rng, usize::from(SHIFT_MAX) + 1) as u8;
    let call = |open, message: &[u8], tag: &[u8]| {
        let [key, nonce, ad, message, tag] = [key, nonce, ad, message, tag].map(<[u8]>::to_vec);
        bench.call(&Call { open, shift, key, nonce, ad, message, tag }).0
    };
    let answer = call(false, plaintext, &[]);
    assert_eq!([&answer.message, &answer.tag[..suite.row().tag_bytes]].concat(), sealed, "{at}, seal");
    assert_eq!(answer.status, 1, "{at}, seal");
    let answer = call(true, ciphertext, tag);
    assert_eq!((answer.status, answer.message.as_slice()), (1, plaintext), "{at}, open");
    let mut wrong = tag.to_vec();
    let bit = below(rng, 8 * wrong.len());
    wrong[bit / 8] ^= 1 << (bit % 8);
    let answer = call(true, ciphertext, &wrong);
    assert_eq!((answer.status, answer.message), (0, vec![0; plaintext.len()]), "{at}, bit {bit} of the tag");
}

fn meet_the_vectors(profile: &'static Profile) {
    let mut rng = seeded();
    each(profile, |variant, bench, at| {
        let suite = variant.suite;
        let mut vectors: Vec<_> = vectors::aead(suite).into_iter().filter(|v| fits(v, suite)).collect();
        assert!(vectors.len() > 20, "{at}: {} vectors fit", vectors.len());
        while !is_soak() && vectors.len() > VECTORS {
            let index = below(&mut rng, vectors.len());
            vectors.swap_remove(index);
        }
        for vector in &vectors {
            let plaintext = vector.plaintext.as_ref().expect("the node suites have no vectors to reject");
            let at = format!("{at}, the vector at line {}", vector.line);
            let inputs = [&vector.key[..], &vector.nonce, &vector.associated_data];
            three_calls(bench, &mut rng, suite, inputs, (plaintext, &vector.sealed), &at);
        }
        println!("{at}: {} official vectors", vectors.len());
    });
}

#[test]
fn every_variant_meets_the_official_vectors_on_the_atmega128() {
    meet_the_vectors(&ATMEGA128);
}

#[test]
fn every_variant_meets_the_official_vectors_on_the_atmega328p() {
    meet_the_vectors(&ATMEGA328P);
}

#[test]
fn every_variant_gives_on_both_chips_what_the_rust_suite_gives() {
    let mut rng = seeded();
    for profile in CHIPS {
        each(profile, |variant, bench, at| {
            let row = variant.suite.row();
            for index in 0..CALLS * if is_soak() { SOAK_FACTOR } else { 1 } {
                // The longest first.
                let length =
                    if index == 0 { MESSAGE_BYTES_MAX } else { below(&mut rng, MESSAGE_BYTES_MAX + 1) };
                let ad_bytes = if index == 0 { AD_BYTES_MAX } else { below(&mut rng, AD_BYTES_MAX + 1) };
                let [key, nonce, ad, plaintext] = [row.key_bytes, row.nonce_bytes, ad_bytes, length]
                    .map(|bytes| random_bytes(&mut rng, bytes));
                let mut sealed = plaintext.clone();
                Aead::new(variant.suite, &key).seal_tail(&nonce, &ad, &mut sealed, 0);
                let at = format!("{at}, {length} bytes and {ad_bytes} associated");
                let inputs = [&key[..], &nonce, &ad];
                three_calls(bench, &mut rng, variant.suite, inputs, (&plaintext, &sealed), &at);
            }
        });
    }
}

/// On a chip without caches this is all that a clock can tell, tables included.
#[test]
fn the_cycles_of_a_seal_depend_on_the_lengths_alone() {
    let mut rng = seeded();
    for profile in CHIPS {
        each(profile, |variant, bench, at| {
            let row = variant.suite.row();
            for (length, ad_bytes) in [(0, 0), (37, 10)] {
                let mut all = BTreeSet::new();
                for _ in 0..4 {
                    let [key, nonce, ad, message] = [row.key_bytes, row.nonce_bytes, ad_bytes, length]
                        .map(|bytes| random_bytes(&mut rng, bytes));
                    let call = Call { open: false, shift: 0, key, nonce, ad, message, tag: Vec::new() };
                    all.insert(bench.call(&call).1);
                }
                assert_eq!(all.len(), 1, "{at}, {length} bytes: {all:?} cycles");
            }
        });
    }
}

/// The contract of `firmware/node/suite.h`: the fastest variant for the target, and no other takes flash.
#[test]
fn the_node_is_built_with_the_fastest_variant_of_each_suite() {
    let mut cycles: BTreeMap<(Suite, &str), Vec<(u64, &str)>> = BTreeMap::new();
    for profile in CHIPS {
        each(profile, |variant, bench, _| {
            // What is to be woven spends flash on it, and is in an image for that.
            if variant.name.ends_with("_roomy") {
                return;
            }
            let row = variant.suite.row();
            let [key, nonce, ad, message] =
                [row.key_bytes, row.nonce_bytes, 10, 186].map(|bytes| vec![7; bytes]);
            let call = Call { open: false, shift: 0, key, nonce, ad, message, tag: Vec::new() };
            cycles
                .entry((variant.suite, profile.name))
                .or_default()
                .push((bench.call(&call).1, variant.name));
        });
    }
    for ((suite, chip), mut variants) in cycles {
        variants.sort_unstable();
        println!("{suite} on the {chip}, cycles for a frame of 90 samples: {variants:?}");
        let compiler =
            Compiler::find(&std::env::var_os("PATH").unwrap_or_default()).expect("it has built these");
        let chip = selvedge::link::Chip::find(&chip.to_lowercase()).expect("a deployment may name it");
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("selvedge");
        let built = compiler
            .node_image(&root(), chip, Besides::Nothing, Some(&cache))
            .unwrap_or_else(|error| panic!("{error}"));
        let image = Image::parse(&built.elf).expect("it was linked");
        for (place, (_, variant)) in variants.into_iter().enumerate() {
            for operation in ["seal", "open"] {
                let is_there = image.symbol(&format!("{variant}_{operation}")).is_some();
                assert_eq!(is_there, place == 0, "{variant}_{operation} on the {}", chip.name);
            }
        }
    }
}

#[test]
fn every_file_in_the_folder_belongs_to_a_variant_or_a_host() {
    let entries = fs::read_dir(root().join("firmware/crypto")).expect("firmware/crypto is there");
    let names = entries.map(|entry| entry.expect("the folder can be read").file_name().into_string());
    let names: BTreeSet<String> = names.map(|name| name.expect("names are UTF-8")).collect();
    // The folders are for machines with 32-bit words, and asked by `cipher`'s tests.
    let is_source = |name: &String| name.ends_with(".c") || name.ends_with(".S");
    let listed = VARIANTS.iter().flat_map(Variant::sources);
    let listed = listed.chain(HOSTS.iter().flat_map(|host| host.sources).map(|&file| file.to_owned()));
    assert_eq!(names.into_iter().filter(is_source).collect::<BTreeSet<_>>(), listed.collect());
}

/// Every host on `profile` at each of its levels, for `check`.
fn each_host(profile: &'static Profile, mut check: impl FnMut(&Host, &Bench, &str)) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    for (host, level) in HOSTS.iter().flat_map(|host| host.levels.iter().map(move |&level| (host, level))) {
        let (sources, defines) = (host.sources, host.defines());
        let image = variants::build_sources(&root(), scratch.path(), sources, &defines, Some(level), profile);
        let Some(image) = image else { return };
        check(host, &Bench::new(&image, profile), &format!("{} {level} on the {}", host.name, profile.name));
    }
}

#[test]
fn every_host_meets_the_official_vectors_on_both_chips() {
    for profile in CHIPS {
        each_host(profile, |host, bench, at| {
            for (line, mut call, end) in hosts::official(host.cipher) {
                // Lengths that are no multiple of a host's unit are filled up with zeros.
                let length = call.message.len();
                call.message.resize(length.next_multiple_of(host.unit_bytes), 0);
                let answer = bench.call(&call).0;
                let at = format!("{at}, the vector at line {line}, decrypt {}", call.decrypt);
                let got =
                    if host.cipher == Cipher::Crc16 { &answer.tag[..2] } else { &answer.message[..length] };
                assert_eq!(answer.status, 1, "{at}");
                assert_eq!(got[got.len() - end.len()..], end[..], "{at}");
            }
        });
    }
}

#[test]
fn every_host_gives_on_both_chips_what_the_rust_crate_gives() {
    let mut rng = seeded();
    for profile in CHIPS {
        each_host(profile, |host, bench, at| {
            for index in 0..2 * CALLS * if is_soak() { SOAK_FACTOR } else { 1 } {
                // The longest and the shortest one first: what a fixed buffer holds, or nothing.
                let units = MESSAGE_BYTES_MAX / host.unit_bytes;
                let fewest = usize::from(host.name == "rc4_avr32");
                let length = host.unit_bytes
                    * match index {
                        0 => units,
                        1 => fewest,
                        _ => fewest + below(&mut rng, units + 1 - fewest),
                    };
                let call = host.random_call(&mut rng, length);
                let (message, after) = hosts::expected(host.cipher, &call);
                let answer = bench.call(&call).0;
                let at = format!("{at}, {length} bytes, decrypt {}", call.decrypt);
                assert_eq!((answer.status, &answer.message), (1, &message), "{at}");
                assert_eq!(answer.tag[..after.len()], after, "{at}");
            }
        });
    }
}

/// The nonce stays the same, since a counter is no secret.
#[test]
fn the_cycles_of_a_host_depend_on_secrets_only_if_crypto_h_says_so() {
    let mut rng = seeded();
    for profile in CHIPS {
        each_host(profile, |host, bench, at| {
            let first = host.random_call(&mut rng, 96);
            let mut all = BTreeSet::new();
            for _ in 0..8 {
                let other = host.random_call(&mut rng, 96);
                let key = random_bytes(&mut rng, first.key.len());
                all.insert(bench.call(&Crypt { key, message: other.message, ..first.clone() }).1);
            }
            assert_eq!(all.len() == 1, host.leak != Leak::Cycles, "{at}: {all:?} cycles");
        });
    }
}
