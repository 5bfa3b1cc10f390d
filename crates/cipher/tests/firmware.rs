//! The C of `firmware/crypto` against the official vectors and against this crate, in the host's sanitizers;
//! and that it compiles for the chips.
//!
//! The C side is `firmware/bench/main.c`, one program per variant, which answers one fixed-size record per
//! call. What only runs on a chip (the assembly) is tested where a chip is.

mod native;
mod piped;
mod record;
mod seeded;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use cipher::{Aead, Suite, vectors};
use native::{Native, TAINTED, firmware, run_tainted, valgrind_is_installed};
use rand_chacha::rand_core::Rng;
use record::{AD_BYTES_MAX, Answer, Call, MESSAGE_BYTES_MAX};
use seeded::{random_bytes, seeded};

/// Every authenticated variant that is plain C, with its suite and its files.
const PORTABLE: [(&str, Suite, &[&str]); 3] = [
    ("ascon_aead128_c64", Suite::AsconAead128, &["ascon_aead128_c64.c"]),
    ("ascon_aead128_c8", Suite::AsconAead128, &["ascon_aead128_c8.c"]),
    ("aes128_ccm_c8", Suite::Aes128Ccm, &["aes128_ccm_c8.c", "aes128_c8.c"]),
];

fn defines(name: &str) -> [String; 1] {
    [format!("-DBENCH_VARIANT={name}")]
}

#[test]
fn the_record_is_the_one_that_bench_h_draws() {
    let header = std::fs::read_to_string(firmware().join("bench/bench.h")).expect("bench.h is there");
    record::assert_drawn(&header);
}

/// Lengths that the bench's buffers hold; all of the two node suites' vectors but some with long data.
fn fits(vector: &vectors::AeadVector, suite: Suite) -> bool {
    vector.sealed.len() - suite.row().tag_bytes <= MESSAGE_BYTES_MAX
        && vector.associated_data.len() <= AD_BYTES_MAX
}

#[test]
fn every_portable_variant_meets_the_official_vectors() {
    for (name, suite, sources) in PORTABLE {
        let variant = Native::build(sources, &defines(name));
        let vectors: Vec<_> = vectors::aead(suite).into_iter().filter(|vector| fits(vector, suite)).collect();
        assert!(vectors.len() > 20, "{name} has {} vectors", vectors.len());
        let calls: Vec<Call> = vectors
            .iter()
            .zip((0..8).cycle())
            .flat_map(|(vector, shift)| both_ways(vector, suite, shift))
            .collect();
        for (vector, answers) in vectors.iter().zip(variant.run(&calls).chunks(2)) {
            let [sealed, opened] = answers else { panic!("two answers for a vector") };
            let at = format!("{name}, the vector at line {}", vector.line);
            let plaintext = vector.plaintext.as_ref().expect("the node suites have no vectors to reject");
            let tag = &sealed.tag[..suite.row().tag_bytes];
            assert_eq!(sealed.status, 1, "{at}");
            assert_eq!([&sealed.message, tag].concat(), vector.sealed, "{at}");
            assert_eq!((opened.status, &opened.message), (1, plaintext), "{at}");
        }
    }
}

/// The seal and the open of `vector`.
fn both_ways(vector: &vectors::AeadVector, suite: Suite, shift: u8) -> [Call; 2] {
    let (ciphertext, tag) = vector.sealed.split_at(vector.sealed.len() - suite.row().tag_bytes);
    let call = |open, message: &[u8], tag: &[u8]| Call {
        open,
        shift,
        key: vector.key.clone(),
        nonce: vector.nonce.clone(),
        ad: vector.associated_data.clone(),
        message: message.to_vec(),
        tag: tag.to_vec(),
    };
    [call(false, vector.plaintext.as_deref().unwrap_or_default(), &[]), call(true, ciphertext, tag)]
}

#[test]
fn every_portable_variant_agrees_with_the_library_at_every_length_and_alignment() {
    let mut rng = seeded();
    for (name, suite, sources) in PORTABLE {
        let row = suite.row();
        let mut calls = Vec::new();
        let mut expected = Vec::new();
        for length in 0..=MESSAGE_BYTES_MAX {
            let ad_length = rng.next_u32() as usize % (AD_BYTES_MAX + 1);
            let mut random = |length| random_bytes(&mut rng, length);
            let (key, nonce, ad, plaintext) =
                (random(row.key_bytes), random(row.nonce_bytes), random(ad_length), random(length));
            let shift = random(1)[0] % 8;
            let damage = usize::from(random(1)[0]) % (8 * row.tag_bytes);
            let mut sealed = plaintext.clone();
            let tag = Aead::new(suite, &key).seal(&nonce, &ad, &mut sealed).as_ref().to_vec();
            let mut wrong_tag = tag.clone();
            wrong_tag[damage / 8] ^= 1 << (damage % 8);
            let call = |open, message: &[u8], tag: &[u8]| Call {
                open,
                shift,
                key: key.clone(),
                nonce: nonce.clone(),
                ad: ad.clone(),
                message: message.to_vec(),
                tag: tag.to_vec(),
            };
            calls.push(call(false, &plaintext, &[]));
            expected.push((1, sealed.clone(), Some(tag.clone())));
            calls.push(call(true, &sealed, &tag));
            expected.push((1, plaintext, None));
            calls.push(call(true, &sealed, &wrong_tag));
            expected.push((0, vec![0; length], None));
        }
        for (index, (answer, (status, message, tag))) in
            Native::build(sources, &defines(name)).run(&calls).iter().zip(expected).enumerate()
        {
            let at = format!("{name}, {} bytes, call {}", message.len(), index % 3);
            assert_eq!((answer.status, &answer.message), (status, &message), "{at}");
            if let Some(tag) = tag {
                assert_eq!(answer.tag[..row.tag_bytes], tag, "{at}");
            }
        }
    }
}

/// Calls of `suite` of all kinds.
fn some_calls(suite: Suite) -> [Call; 4] {
    let row = suite.row();
    let call = |open, length| Call {
        open,
        shift: 0,
        key: vec![1; row.key_bytes],
        nonce: vec![2; row.nonce_bytes],
        ad: vec![3; 21],
        message: vec![4; length],
        tag: vec![5; row.tag_bytes],
    };
    [call(false, 0), call(false, 37), call(true, 32), call(true, 37)]
}

#[test]
fn no_branch_and_no_address_depends_on_a_secret_except_in_the_table_driven_variant() {
    if !valgrind_is_installed() {
        return;
    }
    for (name, suite, sources) in PORTABLE {
        let tainted = |words| run_tainted(sources, &defines(name), &some_calls(suite), words);
        // The one that looks its S-box up, as its file says; it also shows that the taint arrives.
        if name == "aes128_ccm_c8" {
            assert_eq!(tainted(Stdio::null()).err(), Some(Some(TAINTED)), "{name}");
        } else {
            let answers = tainted(Stdio::inherit());
            assert_eq!(answers.map(|answers: Vec<Answer>| answers.len()), Ok(4), "{name}");
        }
    }
}

/// Every file of a variant: all that lies in `firmware/crypto` and is no header.
fn variant_files() -> Vec<PathBuf> {
    let folder = firmware().join("crypto");
    let entries = std::fs::read_dir(&folder).expect("firmware/crypto is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "S"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_variant_compiles_for_both_chips_without_a_warning() {
    let files = variant_files();
    assert!(files.len() >= 5, "{files:?}");
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        eprintln!("skip: variants for both chips: avr-gcc is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for chip in ["atmega128", "atmega328p"] {
        for file in &files {
            let output = Command::new("avr-gcc")
                .arg(format!("-mmcu={chip}"))
                .args(["-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-c"])
                .arg(file)
                .arg("-o")
                .arg(folder.path().join("object.o"))
                .output()
                .expect("avr-gcc runs");
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} for {chip}: {words}", file.display());
        }
    }
}
