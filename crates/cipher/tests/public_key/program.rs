//! The operations of `firmware/bench/public_key.def` as a program: for this machine, for RV32 under QEMU, or as GMP
//! computes them.
//!
//! Owns how it is compiled and how requests go in and responses out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::piped;
use crate::request::{Request, Response};

/// Files of leaves that every machine compiles; RV32 has `mpn_rv32` besides, and native runs of `explore` have [`HOST`].
pub const LEAVES: [&str; 2] = ["mpn_c", "mpn_unrolled"];
/// The leaves that a machine with words of 64 bits compiles.
pub const HOST: &str = "mpn_host";

/// The repository's `firmware`.
pub fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// Every operation, in order.
pub fn operations() -> Vec<String> {
    let text = std::fs::read_to_string(firmware().join("bench/public_key.def")).expect("the list is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("LIMB_OPERATION("));
    rows.map(|row| row.split(')').next().expect("a row has a name").to_owned()).collect()
}

/// The number of each.
pub fn numbers() -> BTreeMap<String, u16> {
    operations().into_iter().zip(0..).collect()
}

/// Whether `program` can be run; says what is skipped when it cannot.
pub fn is_installed(program: &str, what: &str) -> bool {
    let installed = Command::new(program).arg("--version").output().is_ok();
    if !installed {
        eprintln!("skip: {what}: {program} is not installed");
    }
    installed
}

/// What is compiled once for each radix, with one kind of leaves.
fn sources_of_limbs(leaves: &str) -> Vec<PathBuf> {
    let bench = ["explore_mpn.c", "explore_modular.c", "explore_primitives.c"];
    let mut files: Vec<PathBuf> = bench.map(|file| firmware().join("bench").join(file)).to_vec();
    for folder in ["mp", "modular", "curve", "primitives"] {
        let entries = std::fs::read_dir(firmware().join("crypto").join(folder)).expect("the folder is there");
        files.extend(entries.map(|entry| entry.expect("the folder can be read").path()).filter(|path| {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a file's name is UTF-8");
            path.extension().is_some_and(|extension| extension == "c") && !LEAVES.contains(&stem)
        }));
    }
    files.push(match leaves {
        "mpn_rv32" => firmware().join("crypto/mp/mpn_rv32.S"),
        HOST => firmware().join("../crates/explore/native/mpn_host.c"),
        plain => firmware().join(format!("crypto/mp/{plain}.c")),
    });
    files
}

/// A compiled program, and what runs it.
pub struct Program {
    runner: Vec<String>,
    program: PathBuf,
    _folder: tempfile::TempDir,
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Program {
    /// For this machine, by `compiler`.
    pub fn host(compiler: &str, flags: &[&str], leaves: &str) -> Program {
        Program::build(compiler, flags, leaves, &[], &[])
    }

    /// For this machine, tainted, under valgrind, which ends with `error_exit_code` when it found an error.
    pub fn tainted(error_exit_code: i32) -> Program {
        let program = Program::host("cc", &["-O2", "-g", "-DSECRET_TAINT"], "mpn_c");
        let runner =
            ["valgrind", "--quiet", &format!("--error-exitcode={error_exit_code}")].map(str::to_owned);
        Program { runner: runner.to_vec(), ..program }
    }

    /// For RV32IM under Linux, as QEMU emulates it.
    pub fn rv32(level: &str, leaves: &str) -> Program {
        let start = firmware().join("workload/start");
        let script = start.join("rv32.ld");
        let flags = [
            "--specs=picolibc.specs",
            "-march=rv32im",
            "-mabi=ilp32",
            "-mcmodel=medany",
            "-ffunction-sections",
            level,
        ];
        let link = [
            "-nostartfiles",
            "-static",
            "-Wl,--gc-sections",
            "-T",
            script.to_str().expect("a path is UTF-8"),
        ];
        let files = ["rv32_user.S", "streams_rv32.c", "calls.c"].map(|file| start.join(file));
        let program = Program::build("riscv64-unknown-elf-gcc", &flags, leaves, &files, &link);
        Program { runner: vec!["qemu-riscv32".to_owned()], ..program }
    }

    /// What GMP gives; `None` where it is not installed.
    pub fn gmp() -> Option<Program> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("gmp");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/public_key/gmp.c");
        let mut command = Command::new("cc");
        command.args(["-O2", "-Wall", "-Wextra", "-I"]).arg(firmware().join("bench")).arg(source);
        let output = command.arg("-lgmp").arg("-o").arg(&program).output().expect("the C compiler runs");
        let words = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            assert!(words.contains("gmp.h"), "{words}");
            eprintln!("skip: public keys against GMP: libgmp-dev is not installed");
            return None;
        }
        Some(Program { runner: Vec::new(), program, _folder: folder })
    }

    /// All files by one compiler: those of limbs twice, in a folder for each radix.
    fn build(compiler: &str, flags: &[&str], leaves: &str, more: &[PathBuf], link: &[&str]) -> Program {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let compile = |limb_bits: u8| {
            let objects = folder.path().join(limb_bits.to_string());
            std::fs::create_dir(&objects).expect("the folder can be made");
            // The assembly is of 32 bits alone.
            let leaves = if limb_bits == 16 && leaves == "mpn_rv32" { "mpn_c" } else { leaves };
            let mut command = Command::new(compiler);
            command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-c"]).args(flags);
            succeed(
                command
                    .arg(format!("-DLIMB_BITS={limb_bits}"))
                    .arg(format!("-I{}", firmware().join("crypto").display()))
                    .args(sources_of_limbs(leaves))
                    .current_dir(&objects),
            );
            let entries = std::fs::read_dir(objects).expect("the folder is there");
            entries.map(|entry| entry.expect("the folder can be read").path()).collect::<Vec<_>>()
        };
        let program = folder.path().join("explore");
        let bench =
            ["explore.c", "explore_main.c", "estimate.c"].map(|file| firmware().join("bench").join(file));
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DEXPLORE_LIST=\"public_key.def\""]);
        command.args(flags).args(bench).args(more);
        succeed(command.args([16, 32].map(compile).concat()).args(link).arg("-o").arg(&program));
        Program { runner: Vec::new(), program, _folder: folder }
    }

    /// The responses.
    ///
    /// # Panics
    /// When the program fails.
    pub fn run(&self, requests: &[Request]) -> Vec<Response> {
        self.try_run(requests, Stdio::inherit()).expect("the program fails, see its words above")
    }

    /// The same for bytes that may be no requests.
    pub fn run_bytes(&self, requests: &[Vec<u8>]) -> Vec<Response> {
        self.exchange(requests, Stdio::inherit()).expect("the program fails, see its words above")
    }

    /// The same; the exit code when the program failed, whose words go to `words`.
    pub fn try_run(&self, requests: &[Request], words: Stdio) -> Result<Vec<Response>, Option<i32>> {
        let numbers = numbers();
        self.exchange(&requests.iter().map(|request| request.bytes(&numbers)).collect::<Vec<_>>(), words)
    }

    fn exchange(&self, requests: &[Vec<u8>], words: Stdio) -> Result<Vec<Response>, Option<i32>> {
        let behind_length = |bytes: &Vec<u8>| [&(bytes.len() as u32).to_le_bytes(), &bytes[..]].concat();
        let bytes: Vec<u8> = requests.iter().flat_map(behind_length).collect();
        let line: Vec<_> = self.runner.iter().map(PathBuf::from).chain([self.program.clone()]).collect();
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stderr(words);
        let output = piped::exchange(command, bytes)?;
        let mut rest = &output[..];
        let mut responses = Vec::new();
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[..4].try_into().expect("four bytes")) as usize;
            responses.push(Response::from_bytes(&rest[4..4 + length]));
            rest = &rest[4 + length..];
        }
        assert_eq!(responses.len(), requests.len());
        Ok(responses)
    }
}
