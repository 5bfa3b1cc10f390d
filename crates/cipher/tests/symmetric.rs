//! The symmetric ciphers and hashes of `firmware/crypto` for 32-bit machines, against the official vectors and against
//! Rust crates: on this machine, in its sanitizers, and on RV32 under QEMU; and what they leak.

#[path = "symmetric/answers.rs"]
mod answers;
#[path = "symmetric/official.rs"]
mod official;
mod piped;
#[path = "symmetric/program.rs"]
mod program;
mod seeded;

use std::process::{Command, Stdio};

use answers::random;
use official::{Expected, judged, official};
use program::{Program, Request, operations};
use seeded::seeded;

/// Fails unless `program` gives what is expected; returns what it gives.
#[track_caller]
fn check(program: &Program, name: &str, expected: &[Expected]) -> Vec<Vec<u8>> {
    let requests: Vec<Request> = expected.iter().map(|(request, _)| request.clone()).collect();
    let results = program.run(&requests);
    for (result, (request, expected)) in results.iter().zip(expected) {
        let shape: Vec<usize> = request.operands.iter().map(Vec::len).collect();
        if let Some(expected) = expected {
            let at = format!("{name}: {}, choice {}, {shape:?} bytes", request.operation, request.choice);
            assert_eq!(judged(request, result, expected), expected, "{at}");
        }
    }
    results
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

/// The routines, whose cycles are modelled.
fn routines() -> Vec<String> {
    program::listed("crypto/symmetric.def", "ROUTINE_ENTRY")
}

/// The compiler's levels that are explored.
const LEVELS: [&str; 3] = ["-O2", "-O3", "-Os"];

#[test]
fn every_variant_gives_the_same_on_rv32_at_every_level() {
    if !is_installed("riscv64-unknown-elf-gcc", "symmetric ciphers on RV32")
        || !is_installed("qemu-riscv32", "symmetric ciphers on RV32")
    {
        return;
    }
    let expected = [official(), random(&mut seeded())].concat();
    let host = check(&Program::host("cc", &["-O2"]), "cc", &expected);
    for level in LEVELS {
        assert_eq!(check(&Program::rv32(level), level, &expected), host, "{level}");
    }
}

#[test]
fn all_code_is_in_routines_whose_cycles_are_counted() {
    if !is_installed("riscv64-unknown-elf-gcc", "routines of symmetric ciphers on RV32") {
        return;
    }
    let routines = routines();
    for level in LEVELS {
        for function in Program::functions(level) {
            let is_data = function.ends_with("_sbox");
            assert!(
                is_data || routines.contains(&function),
                "{level}: `{function}` is no line of symmetric.def"
            );
        }
    }
}

/// Whether an operation looks up tables by secrets. The key schedule of DES has no S-box.
fn has_tables(operation: &str) -> bool {
    let tables = ["bytes", "t1", "t4", "textbook", "swaps", "sp", "rc4"];
    let is_schedule = operation.starts_with("des_") && operation.contains("_init");
    operation.split('_').any(|word| tables.contains(&word)) && !is_schedule
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
    let some = |operation: &String| -> Vec<Request> {
        let all = calls.iter().map(|(request, _)| request);
        let real =
            all.filter(|request| &request.operation == operation && !request.operands.concat().is_empty());
        real.take(4).cloned().collect()
    };
    let (leaky, sound): (Vec<String>, Vec<String>) =
        operations().into_iter().partition(|name| has_tables(name));
    let requests: Vec<Request> = sound.iter().flat_map(some).collect();
    assert_eq!(program.try_run(&requests, Stdio::inherit()).map(|results| results.len()), Ok(requests.len()));
    for operation in leaky {
        assert_eq!(
            program.try_run(&some(&operation), Stdio::null()).err(),
            Some(Some(TAINTED)),
            "{operation}"
        );
    }
}
