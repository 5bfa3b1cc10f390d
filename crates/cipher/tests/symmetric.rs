//! The symmetric ciphers and hashes of `firmware/crypto` for 32-bit machines, against the official vectors and against
//! Rust crates: on this machine, in its sanitizers, and on RV32 under QEMU; and what they leak.

#[path = "symmetric/answers.rs"]
mod answers;
#[path = "symmetric/program.rs"]
mod program;
mod seeded;

use std::process::{Command, Stdio};

use answers::{Expected, official, random};
use program::{Program, Request, firmware, operations};
use seeded::seeded;

/// Fails unless `program` gives what is expected.
#[track_caller]
fn check(program: &Program, name: &str, expected: &[Expected]) {
    let requests: Vec<Request> = expected.iter().map(|(request, _)| request.clone()).collect();
    for (result, (request, expected)) in program.run(&requests).iter().zip(expected) {
        let shape: Vec<usize> = request.operands.iter().map(Vec::len).collect();
        if let Some(expected) = expected {
            let at = format!("{name}: {}, choice {}, {shape:?} bytes", request.operation, request.choice);
            assert_eq!(result, expected, "{at}");
        }
    }
}

fn is_installed(program: &str, what: &str) -> bool {
    let installed = Command::new(program).arg("--version").output().is_ok();
    if !installed {
        eprintln!("skip: {what}: {program} is not installed");
    }
    installed
}

#[test]
fn every_variant_meets_the_official_vectors() {
    check(&Program::host("cc", &["-O2"]), "cc", &official());
}

#[test]
fn every_variant_agrees_with_a_rust_crate_at_every_length_in_the_sanitizers() {
    let sanitizers = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    check(&Program::host("cc", &sanitizers), "sanitizers", &random(&mut seeded()));
}

#[test]
fn every_variant_gives_the_same_by_clang() {
    if is_installed("clang", "symmetric ciphers by clang") {
        check(&Program::host("clang", &["-O2"]), "clang", &random(&mut seeded()));
    }
}

/// With what the names of functions begin.
const ALGORITHMS: [&str; 6] = ["aes_", "des_", "sha", "md5_", "hash_", "hmac_"];

/// The routines, whose cycles are modelled.
fn routines() -> Vec<String> {
    let text = std::fs::read_to_string(firmware().join("crypto/symmetric.def")).expect("the list is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("ROUTINE_ENTRY("));
    rows.map(|row| row.split(',').next().expect("a row has a name").to_owned()).collect()
}

#[test]
fn every_variant_gives_the_same_on_rv32_at_every_level_and_all_of_its_code_is_in_routines() {
    if !is_installed("riscv64-unknown-elf-gcc", "symmetric ciphers on RV32")
        || !is_installed("qemu-riscv32", "symmetric ciphers on RV32")
    {
        return;
    }
    let expected = [official(), random(&mut seeded())].concat();
    let requests: Vec<Request> = expected.iter().map(|(request, _)| request.clone()).collect();
    let host = Program::host("cc", &["-O2"]).run(&requests);
    let routines = routines();
    for level in ["-O2", "-O3", "-Os"] {
        let program = Program::rv32(level);
        check(&program, level, &expected);
        assert_eq!(program.run(&requests), host, "{level}");
        for function in program.functions(&ALGORITHMS) {
            assert!(routines.contains(&function), "{level}: `{function}` is no line of symmetric.def");
        }
    }
}

/// What valgrind is told to end with when it found an error.
const TAINTED: i32 = 77;

#[test]
fn only_the_variants_without_tables_touch_the_same_addresses_whatever_the_secrets_are() {
    if !is_installed("valgrind", "symmetric ciphers under valgrind") {
        return;
    }
    let program = Program::tainted(TAINTED);
    let calls = random(&mut seeded());
    for operation in operations() {
        let requests: Vec<Request> = calls
            .iter()
            .map(|(request, _)| request)
            .filter(|request| {
                request.operation == operation && request.operands.iter().any(|it| !it.is_empty())
            })
            .take(4)
            .cloned()
            .collect();
        let tables = ["bytes", "t1", "t4", "textbook", "swaps", "sp"];
        let has_tables = operation.split('_').any(|word| tables.contains(&word));
        // The key schedule of DES has no S-box.
        let leaks = has_tables && !(operation.starts_with("des_") && operation.contains("_init"));
        let words = if leaks { Stdio::null() } else { Stdio::inherit() };
        let answer = program.try_run(&requests, words).map(|results| results.len());
        assert_eq!(answer, if leaks { Err(Some(TAINTED)) } else { Ok(requests.len()) }, "{operation}");
    }
}
