//! What the compiler makes of `firmware/crypto` runs the same on our chips and on simavr, instruction by
//! instruction, and gives what the official vectors and the Rust suites say.

#[path = "../../crates/cipher/tests/hosts/mod.rs"]
mod hosts;
#[path = "../../crates/cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../crates/cipher/tests/soak/mod.rs"]
mod soak;
#[path = "../../crates/selvedge/tests/variants/mod.rs"]
mod variants;

use std::path::Path;

use cipher::{Aead, vectors};
use hosts::HOSTS;
use isa::avr::{ATMEGA128, ATMEGA328P, Image, Opcode, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};
use soak::is_soak;
use variants::record::{self, Answer, Request};
use variants::{AD_BYTES_MAX, Call, MESSAGE_BYTES_MAX, Places, VARIANTS, Variant};
use witness::lockstep::Lockstep;

/// Official vectors of each variant on each chip; `SELVEDGE_SOAK=1` takes 50 times as many.
const VECTORS: usize = 2;
const SOAK_FACTOR: usize = 50;
/// The message whose cycles are a goal of `make bench`.
const LONG_BYTES: usize = 200;
/// More than the longest call of the slowest variant.
const INSTRUCTIONS_MAX: u64 = 10_000_000;

fn soak_factor() -> usize {
    if is_soak() { SOAK_FACTOR } else { 1 }
}

/// Runs `call` in step; gives what simavr answers, and how many instructions were in step.
fn run(image: &Image, profile: &'static Profile, call: &impl Request, at: &str) -> (Answer, u64) {
    let places = Places::of(image, profile);
    let mut lockstep = Lockstep::new(profile, image);
    for (at, &byte) in call.record().iter().enumerate() {
        lockstep.set_memory(places.input + at as u16, byte);
    }
    // The bench sleeps in the end, and what sleep costs is not simavr's to say.
    match lockstep.run_to(Opcode::Sleep, INSTRUCTIONS_MAX) {
        Ok(ended) => assert!(ended, "{at}: the bench ends"),
        Err(difference) => panic!("{at}: {difference}"),
    }
    assert_eq!(lockstep.memory_difference(), None, "{at}: address, ours, simavr's");
    let answer = places.answer(call, |address| lockstep.simavr.data()[usize::from(address)]);
    assert_eq!(answer.status, 1, "{at}");
    (answer, lockstep.agreed())
}

fn check(variant: &Variant, image: &Image, profile: &'static Profile, rng: &mut ChaCha20Rng) {
    let (row, at) = (variant.suite.row(), format!("{} on the {}", variant.name, profile.name));
    let mut instructions = 0;
    let mut both = |inputs: [&[u8]; 3], plaintext: &[u8], sealed: &[u8], at: &str| {
        let (ciphertext, tag) = sealed.split_at(plaintext.len());
        let call = |open, message: &[u8], tag: &[u8]| {
            let [key, nonce, ad, message, tag] =
                [inputs[0], inputs[1], inputs[2], message, tag].map(<[u8]>::to_vec);
            Call { open, shift: 0, key, nonce, ad, message, tag }
        };
        let (answer, count) = run(image, profile, &call(false, plaintext, &[]), &format!("{at}, seal"));
        assert_eq!([&answer.message, &answer.tag[..tag.len()]].concat(), sealed, "{at}, seal");
        instructions += count;
        let (answer, count) = run(image, profile, &call(true, ciphertext, tag), &format!("{at}, open"));
        assert_eq!(answer.message, plaintext, "{at}, open");
        instructions += count;
    };
    let [key, nonce, ad, plaintext] =
        [row.key_bytes, row.nonce_bytes, 10, LONG_BYTES].map(|bytes| random_bytes(rng, bytes));
    let mut sealed = plaintext.clone();
    Aead::new(variant.suite, &key).seal_tail(&nonce, &ad, &mut sealed, 0);
    both([&key, &nonce, &ad], &plaintext, &sealed, &format!("{at}, {LONG_BYTES} bytes"));
    let mut vectors = vectors::aead(variant.suite);
    vectors.retain(|vector| {
        vector.sealed.len() - row.tag_bytes <= MESSAGE_BYTES_MAX
            && vector.associated_data.len() <= AD_BYTES_MAX
    });
    let wanted = (VECTORS * soak_factor()).min(vectors.len());
    for _ in 0..wanted {
        let vector = vectors.swap_remove(rng.next_u32() as usize % vectors.len());
        let plaintext = vector.plaintext.as_ref().expect("the node suites have no vectors to reject");
        let inputs = [&vector.key[..], &vector.nonce, &vector.associated_data];
        let at = format!("{at}, the vector at line {}", vector.line);
        both(inputs, plaintext, &vector.sealed, &at);
    }
    println!("{at}: {instructions} instructions in step, {wanted} official vectors");
}

fn each(profile: &'static Profile) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut rng = seeded();
    for variant in &VARIANTS {
        let Some(image) = variants::build(&root, scratch, variant, profile) else { return };
        check(variant, &image, profile, &mut rng);
    }
}

/// Every host at each of its levels: a long message and one of random length.
fn each_host(profile: &'static Profile) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut rng = seeded();
    for (host, level) in HOSTS.iter().flat_map(|host| host.levels.iter().map(move |&level| (host, level))) {
        let (sources, defines) = (host.sources, host.defines());
        let image = variants::build_sources(&root, scratch, sources, &defines, Some(level), profile);
        let Some(image) = image else { return };
        let units = MESSAGE_BYTES_MAX / host.unit_bytes;
        for units in [units, 1 + rng.next_u32() as usize % units] {
            let call = host.random_call(&mut rng, units * host.unit_bytes);
            let at = format!("{} {level} on the {}, {} bytes", host.name, profile.name, call.message.len());
            let (message, after) = hosts::expected(host.cipher, &call);
            let (answer, instructions) = run(&image, profile, &call, &at);
            assert_eq!((&answer.message, &answer.tag[..after.len()]), (&message, &after[..]), "{at}");
            println!("{at}: {instructions} instructions in step");
        }
    }
}

#[test]
fn hosts_run_on_both_chips_as_on_simavr() {
    each_host(&ATMEGA128);
    each_host(&ATMEGA328P);
}

#[test]
fn compiled_ciphers_run_on_the_atmega128_as_on_simavr() {
    each(&ATMEGA128);
}

#[test]
fn compiled_ciphers_run_on_the_atmega328p_as_on_simavr() {
    each(&ATMEGA328P);
}
