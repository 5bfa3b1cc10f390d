//! The C hosts as assembly by other compilers than the avr-gcc that is installed: avr-gcc 15.2 and clang.
//!
//! `scripts/install.sh` puts avr-gcc 15.2 into `target/python`: a Python package has it as WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiler of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// avr-gcc 15.2.
    Gcc15,
    /// clang, whichever is installed.
    Clang,
}

/// Both.
pub const COMPILERS: [Compiler; 2] = [Compiler::Gcc15, Compiler::Clang];

/// The chip's headers, which clang does not bring.
const HEADERS: &str = "/usr/lib/avr/include";

/// clang does not know the attribute behind `PROGMEM`, and would put tables into RAM.
const IN_FLASH: &str = "-D__ATTR_PROGMEM__=__attribute__((section(\".progmem.data\")))";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Compiler {
    /// Writes `out/FILE.s` for each of these files of `firmware/crypto`, and `out/FILE.o` where GNU as does not take
    /// that; false after saying that it is not installed.
    pub fn compile(self, out: &Path, files: &[&str]) -> bool {
        let sources = root().join("firmware/crypto");
        let mut commands = match self {
            Compiler::Gcc15 => {
                let python = root().join("target/python/bin/python");
                if !python.exists() {
                    println!("skip: C of avr-gcc 15.2: its Python package is not installed");
                    return false;
                }
                let mut command = Command::new(python);
                command.arg(root().join("crates/selvedge/tests/compilers/cc1.py"));
                command.arg(&sources).arg(out).args(files);
                vec![command]
            }
            Compiler::Clang => {
                if Command::new("clang").arg("--version").output().is_err() {
                    println!("skip: C of clang: it is not installed");
                    return false;
                }
                let each = files.iter().map(|file| {
                    ["-S", "-c"].map(|what| {
                        let mut command = Command::new("clang");
                        command.args(["--target=avr", "-mmcu=atmega128", "-O2", "-std=gnu99", what]);
                        command.args(["-fno-jump-tables", "-w"]);
                        command.args([IN_FLASH, "-isystem", HEADERS]).arg(sources.join(file));
                        let extension = if what == "-S" { "s" } else { "o" };
                        command.arg("-o").arg(out.join(file).with_extension(extension));
                        command
                    })
                });
                each.flatten().collect()
            }
        };
        for command in &mut commands {
            let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {words}");
        }
        true
    }
}
