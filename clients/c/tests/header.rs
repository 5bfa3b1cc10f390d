//! The header as a C compiler reads it: its numbers are those of the tables here, and a program that uses all of it runs.

#[path = "../../pkcs11/tests/broker_thread/mod.rs"]
mod broker_thread;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use broker::template::Algorithm;
use broker::wire::Status;
use broker_thread::{Running, built, has};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// `device-lost` as `SELVEDGE_DEVICE_LOST`.
fn constant(name: &str) -> String {
    format!("SELVEDGE_{}", name.to_uppercase().replace('-', "_"))
}

fn cc(arguments: &[&str]) -> Output {
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", FOLDER, "-D_GNU_SOURCE"];
    Command::new("cc").args(strict).args(arguments).output().expect("the compiler starts")
}

#[test]
fn the_headers_numbers_are_the_tables() {
    if !has("cc", "scripts/install.sh installs gcc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut program = "#include \"selvedge.h\"\n".to_owned();
    let statuses = Status::ALL.iter().map(|status| (constant(status.name()), u64::from(status.number())));
    let algorithms = Algorithm::ALL.iter().map(|which| (constant(which.name()), *which as u64));
    for (name, number) in statuses.chain(algorithms) {
        writeln!(program, "_Static_assert({name} == {number}, \"{name}\");").unwrap();
    }
    for (which, bytes) in [("selvedge_template", 16), ("selvedge_aead", 40)] {
        writeln!(program, "_Static_assert(sizeof({which}) == {bytes} || sizeof(void *) != 8, \"{which}\");")
            .unwrap();
    }
    let path = folder.path().join("numbers.c");
    fs::write(&path, program).unwrap();
    let compiled = cc(&["-fsyntax-only", path.to_str().unwrap()]);
    assert!(compiled.status.success(), "{}", text(&compiled));
}

#[test]
fn a_program_in_c_uses_every_function_and_the_library_exports_no_others() {
    if !has("cc", "scripts/install.sh installs gcc") || !has("nm", "scripts/install.sh installs binutils") {
        return;
    }
    let library = built("libselvedge_c.so");
    let header = fs::read_to_string(Path::new(FOLDER).join("selvedge.h")).unwrap();
    let program = fs::read_to_string(Path::new(FOLDER).join("tests/program.c")).unwrap();
    let declared: BTreeSet<&str> = header
        .split(|one: char| !one.is_alphanumeric() && one != '_')
        .filter(|word| word.starts_with("selvedge_") && header.contains(&format!("{word}(")))
        .collect();
    let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let exported: BTreeSet<&str> =
        symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    assert_eq!(exported, declared);
    let unused: Vec<_> = declared.iter().filter(|name| !program.contains(&format!("{name}("))).collect();
    assert!(unused.is_empty(), "the program does not use {unused:?}");

    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let binary = folder.path().join("program");
    let source = format!("{FOLDER}/tests/program.c");
    let compiled = cc(&[&source, "-o", binary.to_str().unwrap(), library.to_str().unwrap()]);
    assert!(compiled.status.success(), "{}", text(&compiled));
    let mut run = Command::new(&binary);
    run.env("SELVEDGE_BROKER", &running.socket).env("LD_LIBRARY_PATH", library.parent().unwrap());
    let run = run.output().unwrap();
    assert!(run.status.success() && text(&run).contains("all is well"), "{}", text(&run));
}
