//! The operations of `firmware/bench/symmetric.def` as a program: for this machine, or for RV32 under QEMU.
//!
//! Owns how it is compiled and the bytes that go in and out, which `firmware/bench/explore.h` draws.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::piped;

/// What `explore.h` calls EXPLORE_DONE.
const DONE: u16 = 0;
/// What it has room for, less the head, and the length and padding of each of eight operands.
pub const OPERANDS_BYTES_MAX: usize = 8192 - 16 - 8 * (4 + 3);
/// The bench with the operations of `symmetric.def` alone.
const BENCH: [&str; 3] = ["explore.c", "explore_symmetric.c", "explore_main.c"];

/// One call of one operation.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its name in `symmetric.def`.
    pub operation: String,
    /// What `symmetric.def` says.
    pub choice: u8,
    /// Its operands.
    pub operands: Vec<Vec<u8>>,
}

/// The repository's `firmware`.
pub fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// The first words of the lines of a list of the library's, which the preprocessor makes of it, by the name of the macro
/// that they are given to.
pub fn listed(list: &str, line: &str) -> Vec<String> {
    const MARK: &str = "a_line_of";
    let text = succeed(
        Command::new("cc")
            .args(["-E", "-P", "-x", "c"])
            .arg(format!("-D{line}(name, ...)={MARK} name"))
            .arg(firmware().join(list)),
    );
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).filter(|pair| pair[0] == MARK).map(|pair| pair[1].to_owned()).collect()
}

/// Every operation, in order.
pub fn operations() -> Vec<String> {
    listed("bench/symmetric.def", "SYMMETRIC")
}

/// The files of the library with one of these extensions.
fn sources(extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = vec![firmware().join("crypto/rc4_c8.c")];
    for folder in ["block", "hash"] {
        let entries = std::fs::read_dir(firmware().join("crypto").join(folder)).expect("the folder is there");
        files.extend(entries.map(|entry| entry.expect("the folder can be read").path()).filter(|path| {
            path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known))
        }));
    }
    files.sort();
    files
}

/// The words of a tool that has to succeed.
fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a tool's words are text")
}

/// A compiled program, and what runs it.
pub struct Program {
    runner: Vec<String>,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

impl Program {
    /// For this machine, by `compiler`.
    pub fn host(compiler: &str, flags: &[&str]) -> Program {
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror"]).args(flags);
        Program::build(command, &["c"], &[])
    }

    /// For this machine, tainted, under valgrind, which ends with `error_exit_code` when it found an error.
    pub fn tainted(error_exit_code: i32) -> Program {
        let program = Program::host("cc", &["-O2", "-DSECRET_TAINT"]);
        let runner =
            ["valgrind", "--quiet", &format!("--error-exitcode={error_exit_code}")].map(str::to_owned);
        Program { runner: runner.to_vec(), ..program }
    }

    /// For RV32IM under Linux, as QEMU emulates it.
    pub fn rv32(level: &str) -> Program {
        let start = firmware().join("workload/start");
        let mut command = Command::new("riscv64-unknown-elf-gcc");
        command.args(["--specs=picolibc.specs", "-march=rv32im", "-mabi=ilp32", "-mcmodel=medany", level]);
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-nostartfiles", "-static", "-T"]);
        command.arg(start.join("rv32.ld"));
        let files = ["rv32_user.S", "streams_rv32.c", "calls.c"].map(|file| start.join(file));
        let program = Program::build(command, &["c", "S"], &files);
        Program { runner: vec!["qemu-riscv32".to_owned()], ..program }
    }

    fn build(mut command: Command, extensions: &[&str], more: &[PathBuf]) -> Program {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("symmetric");
        command
            .arg("-DEXPLORE_LIST=\"symmetric.def\"")
            .args(BENCH.map(|file| firmware().join("bench").join(file)));
        command.args(sources(extensions)).args(more).arg("-o").arg(&program);
        succeed(&mut command);
        Program { runner: Vec::new(), program, _folder: folder }
    }

    /// What the library's files, compiled for RV32 at `level`, call or hold as functions.
    pub fn functions(level: &str) -> BTreeSet<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut functions = BTreeSet::new();
        for source in sources(&["c", "S"]) {
            let object = folder.path().join("object.o");
            let mut command = Command::new("riscv64-unknown-elf-gcc");
            command.args(["--specs=picolibc.specs", "-march=rv32im", "-mabi=ilp32", level, "-c"]);
            succeed(command.arg(&source).arg("-o").arg(&object));
            let words = succeed(Command::new("riscv64-unknown-elf-nm").arg(&object));
            let rows = words.lines().map(|line| line.split_whitespace().rev());
            let named = rows.filter_map(|mut row| Some((row.next()?.to_owned(), row.next()?.to_owned())));
            functions
                .extend(named.filter(|(_, kind)| ["t", "T", "U"].contains(&&**kind)).map(|(name, _)| name));
        }
        functions
    }

    /// The results, one operand each.
    ///
    /// # Panics
    /// When the program fails, or does not do what was asked for.
    pub fn run(&self, requests: &[Request]) -> Vec<Vec<u8>> {
        self.try_run(requests, Stdio::inherit()).expect("the program fails, see its words above")
    }

    /// The same; its exit code when it failed.
    pub fn try_run(&self, requests: &[Request], words: Stdio) -> Result<Vec<Vec<u8>>, Option<i32>> {
        let numbers: BTreeMap<String, u16> = operations().into_iter().zip(0..).collect();
        let bytes: Vec<u8> = requests.iter().flat_map(|request| record(request, &numbers)).collect();
        let line: Vec<_> = self.runner.iter().map(PathBuf::from).chain([self.program.clone()]).collect();
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stderr(words);
        Ok(results(&piped::exchange(command, bytes)?, requests))
    }
}

/// The bytes of a request, after their length.
fn record(request: &Request, numbers: &BTreeMap<String, u16>) -> Vec<u8> {
    let number = numbers.get(&request.operation);
    let number = number.unwrap_or_else(|| panic!("symmetric.def has no `{}`", request.operation));
    let mut bytes = [&number.to_le_bytes()[..], &[0; 8], &[request.choice, 1]].concat();
    bytes.extend_from_slice(&(request.operands.len() as u32).to_le_bytes());
    for operand in &request.operands {
        bytes.extend_from_slice(&(operand.len() as u32).to_le_bytes());
        bytes.extend_from_slice(operand);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    [&(bytes.len() as u32).to_le_bytes()[..], &bytes].concat()
}

fn results(mut output: &[u8], requests: &[Request]) -> Vec<Vec<u8>> {
    let mut results = Vec::new();
    for request in requests {
        let integer = |at: usize| u32::from_le_bytes(output[at..at + 4].try_into().expect("four bytes"));
        let (length, status) = (integer(0) as usize, integer(4) as u16);
        let shape: Vec<usize> = request.operands.iter().map(Vec::len).collect();
        assert_eq!(status, DONE, "{} of operands of {shape:?} bytes: the status", request.operation);
        assert_eq!(integer(4) >> 16, 1, "{}: operands of the response", request.operation);
        results.push(output[12..12 + integer(8) as usize].to_vec());
        output = &output[4 + length..];
    }
    assert_eq!(output.len(), 0, "bytes after the last response");
    results
}
