//! A variant of `firmware/crypto` that is plain C, as a program for this machine: the bench in the sanitizers, or
//! tainted under valgrind.
#![allow(dead_code)] // each program that includes it uses some of it

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::piped;
use crate::record::{Answer, OUTPUT_BYTES, Request};

/// The repository's `firmware`.
pub fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// What valgrind is told to end with when it found an error.
pub const TAINTED: i32 = 77;

/// A compiled variant.
pub struct Native {
    program: PathBuf,
    _folder: tempfile::TempDir,
}

impl Native {
    /// `sources` of `firmware/crypto` with the sanitizers on.
    pub fn build(sources: &[&str], defines: &[String]) -> Native {
        Native::build_with(sources, defines, &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    }

    fn build_with(sources: &[&str], defines: &[String], flags: &[&str]) -> Native {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("bench");
        // The tests of this workspace build AWS-LC, so there is a C compiler wherever they run.
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let output = Command::new(compiler)
            .args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .args(flags)
            .args(defines)
            .arg(firmware().join("bench/main.c"))
            .args(sources.iter().map(|file| firmware().join("crypto").join(file)))
            .arg("-o")
            .arg(&program)
            .output()
            .expect("the C compiler runs");
        assert!(output.status.success(), "{sources:?}: {}", String::from_utf8_lossy(&output.stderr));
        Native { program, _folder: folder }
    }

    /// One call after the other.
    pub fn run(&self, calls: &[impl Request]) -> Vec<Answer> {
        run_by(Command::new(&self.program), calls).expect("the bench fails, see its words above")
    }
}

/// Runs `calls` with key, nonce, tag and message tainted; the error is valgrind's exit code.
pub fn run_tainted(
    sources: &[&str],
    defines: &[String],
    calls: &[impl Request],
    words: Stdio,
) -> Result<Vec<Answer>, Option<i32>> {
    let native = Native::build_with(sources, defines, &["-O2", "-DSECRET_TAINT"]);
    let mut command = Command::new("valgrind");
    command.args(["--quiet", &format!("--error-exitcode={TAINTED}")]).arg(&native.program).stderr(words);
    run_by(command, calls)
}

/// Whether valgrind can be run; says so when it cannot.
pub fn valgrind_is_installed() -> bool {
    let installed = Command::new("valgrind").arg("--version").output().is_ok();
    if !installed {
        eprintln!("skip: secrets under valgrind: valgrind is not installed");
    }
    installed
}

/// Answers, or the exit code with which `command`, which starts the program, ended.
fn run_by(command: Command, calls: &[impl Request]) -> Result<Vec<Answer>, Option<i32>> {
    let output = piped::exchange(command, calls.iter().flat_map(Request::record).collect())?;
    assert_eq!(output.len(), calls.len() * OUTPUT_BYTES);
    let answers = calls.iter().zip(output.chunks(OUTPUT_BYTES));
    Ok(answers.map(|(call, output)| Answer::of(call, output)).collect())
}
