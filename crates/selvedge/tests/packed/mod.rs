//! A folder to pack in: `search`, its input, what is made of them, and the command that does it.
#![allow(dead_code)] // each test file uses some of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::Expect;
use serde_json::Value;
use tempfile::TempDir;

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A folder with `search.elf`, its input, and what is made of it.
pub struct Bench(TempDir);

impl Bench {
    pub fn new() -> Bench {
        let bench = Bench(tempfile::tempdir().expect("a temporary folder"));
        for (file, from) in [
            ("search.elf", "corpus/sparc/search.elf"),
            ("p", "data/workload/texts/genome.patterns"),
            ("t", "data/workload/texts/genome.txt"),
        ] {
            fs::copy(root().join(from), bench.path(file)).expect("the corpus has it");
        }
        bench
    }

    /// The same with the program for RV32IM.
    pub fn rv32() -> Bench {
        let bench = Bench::new();
        fs::copy(root().join("corpus/rv32/search.elf"), bench.path("search.elf")).expect("the corpus has it");
        bench
    }

    /// The same with a key, and a container with tags that was built for it.
    pub fn built(more: &str) -> Bench {
        let bench = Bench::new();
        bench.done("key -o device.key");
        bench.done(&format!("build search.elf -o search.spk --device-key device.key {more}"));
        bench
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    pub fn read(&self, file: &str) -> Vec<u8> {
        fs::read(self.path(file)).unwrap_or_else(|error| panic!("`{file}`: {error}"))
    }

    pub fn write(&self, file: &str, bytes: &[u8]) {
        fs::write(self.path(file), bytes).expect("a temporary folder takes it");
    }

    pub fn ran(&self, arguments: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.arg("pack").args(arguments.split_whitespace()).current_dir(self.0.path());
        command.stdin(Stdio::null()).output().expect("it starts")
    }

    /// What is printed when all is well.
    #[track_caller]
    pub fn done(&self, arguments: &str) -> Output {
        let output = self.ran(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {told}");
        output
    }

    #[track_caller]
    pub fn value(&self, arguments: &str) -> Value {
        let (before, behind) = arguments.split_once(" -- ").unwrap_or((arguments, ""));
        let output = self.done(format!("{before} --json -- {behind}").trim_end_matches(" -- "));
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// What is said when something is wrong, which ends with that exit code.
    #[track_caller]
    pub fn refused(&self, arguments: &str, exit_code: i32, expected: Expect) {
        let output = self.ran(arguments);
        let told = String::from_utf8(output.stderr).expect("errors are text");
        assert_eq!(output.status.code(), Some(exit_code), "{arguments}: {told}");
        expected.assert_eq(&told);
    }
}

/// Where the input's native output is noted: its length and SHA-256.
pub fn native() -> (u64, String) {
    let text = fs::read_to_string(root().join("corpus/outputs.csv")).expect("the corpus has it");
    let line = text.lines().find_map(|line| line.strip_prefix("search,genome,")).expect("the run has a line");
    let (bytes, sha256) = line.split_once(',').expect("a line has cells");
    (bytes.parse().expect("a length"), sha256.to_owned())
}
