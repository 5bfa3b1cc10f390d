//! The hosts of `firmware/crypto` that are plain C against the official vectors and against Rust crates, in this
//! machine's sanitizers; and what they leak.

#[path = "hosts/mod.rs"]
mod hosts;
mod native;
mod piped;
mod record;
mod seeded;

use std::process::{Command, Stdio};

use hosts::{Cipher, HOSTS, Leak, expected, official};
use native::{Native, TAINTED, firmware, run_tainted, valgrind_is_installed};
use record::{Crypt, MESSAGE_BYTES_MAX};
use seeded::seeded;

#[test]
fn the_rust_crates_meet_the_official_vectors() {
    for cipher in [Cipher::Rc4, Cipher::Rc5, Cipher::Aes128Ctr, Cipher::ChaCha20, Cipher::Crc16] {
        let vectors = official(cipher);
        assert!(vectors.len() >= 3, "{cipher:?} has {} vectors", vectors.len());
        for (line, call, end) in vectors {
            let (message, after) = expected(cipher, &call);
            let got = if cipher == Cipher::Crc16 { after } else { message };
            assert!(got.ends_with(&end), "{cipher:?}, the vector at line {line}");
        }
    }
}

#[test]
fn every_portable_host_meets_the_official_vectors() {
    for host in HOSTS.iter().filter(|host| host.portable()) {
        let vectors = official(host.cipher);
        let calls: Vec<Crypt> = vectors
            .iter()
            .zip((0..8).cycle())
            .map(|((_, call, _), shift)| Crypt { shift, ..call.clone() })
            .collect();
        let answers = Native::build(host.sources, &host.defines()).run(&calls);
        for ((line, call, end), answer) in vectors.iter().zip(answers) {
            let at = format!("{}, the vector at line {line}, decrypt {}", host.name, call.decrypt);
            let got = if host.cipher == Cipher::Crc16 { &answer.tag[..2] } else { &answer.message };
            assert_eq!(answer.status, 1, "{at}");
            assert_eq!(got[got.len() - end.len()..], end[..], "{at}");
        }
    }
}

#[test]
fn every_portable_host_agrees_with_the_rust_crate_at_every_length_and_alignment() {
    let mut rng = seeded();
    for host in HOSTS.iter().filter(|host| host.portable()) {
        let lengths = (0..=MESSAGE_BYTES_MAX).step_by(host.unit_bytes);
        let calls: Vec<Crypt> = lengths.map(|length| host.random_call(&mut rng, length)).collect();
        let answers = Native::build(host.sources, &host.defines()).run(&calls);
        for (call, answer) in calls.iter().zip(answers) {
            let at = format!("{}, {} bytes, decrypt {}", host.name, call.message.len(), call.decrypt);
            let (message, after) = expected(host.cipher, call);
            assert_eq!((answer.status, answer.message), (1, message), "{at}");
            assert_eq!(answer.tag[..after.len()], after, "{at}");
        }
    }
}

#[test]
fn a_host_leaks_only_what_crypto_h_says() {
    if !valgrind_is_installed() {
        return;
    }
    let mut rng = seeded();
    for host in HOSTS.iter().filter(|host| host.portable()) {
        let calls = [0, 40, 128].map(|length| host.random_call(&mut rng, length));
        let tainted = |words| run_tainted(host.sources, &host.defines(), &calls, words);
        match host.leak {
            Leak::Nothing => {
                assert_eq!(tainted(Stdio::inherit()).map(|answers| answers.len()), Ok(3), "{}", host.name);
            }
            Leak::Addresses => {
                assert_eq!(tainted(Stdio::null()).err(), Some(Some(TAINTED)), "{}", host.name);
            }
            // What matters is an AVR's, where its cycles are counted.
            Leak::Cycles => {}
        }
    }
}

#[test]
fn every_host_in_c_becomes_assembly_that_calls_nothing_through_a_pointer() {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        eprintln!("skip: hosts on the chips: avr-gcc is not installed");
        return;
    }
    for host in HOSTS.iter().filter(|host| host.portable()) {
        for (file, level) in
            host.sources.iter().flat_map(|file| host.levels.iter().map(move |level| (file, level)))
        {
            let path = firmware().join("crypto").join(file);
            // The file tells the weaver with which levels it is meant.
            let text = std::fs::read_to_string(&path).expect("a host's file is there");
            let line = text.lines().find(|line| line.contains("For the weaver: avr-gcc -S")).expect(file);
            assert!(line.contains(level), "{file}: {line}");
            let output = Command::new("avr-gcc")
                .args(["-mmcu=atmega128", "-std=gnu99", "-Wall", "-Wextra", "-Werror", "-S", level])
                .arg(&path)
                .args(["-o", "-"])
                .output()
                .expect("avr-gcc runs");
            assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
            let assembly = String::from_utf8(output.stdout).expect("assembly is text");
            let stem = file.trim_end_matches(".c");
            assert!(assembly.contains(&format!("\n{stem}_")), "{file} has a function of that name");
            assert!(!assembly.contains("icall") && !assembly.contains("ijmp"), "{file} {level}");
        }
    }
}
