//! Compiled programs against the host: the same C, built for the AVR at every optimisation level and run here,
//! and built by the host's compiler and run there, must compute the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::avr::bits::Range;
use isa::avr::table::Operand;
use isa::avr::text;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Profile, Stop};

/// Runs a tool in the test's folder; `None` when it is not installed.
fn run(tool: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let output = match Command::new(tool).args(arguments).current_dir(folder).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
            eprintln!("skip: compiled programs against the host: {tool}: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("output is ASCII"))
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/witness.c")
}

/// The digests that the program leaves in memory.
fn simulate(profile: &'static Profile, file: &[u8]) -> Vec<String> {
    let image = Image::parse(file).expect("what avr-gcc links is an image");
    let mut chip = Chip::new(profile);
    chip.load(&image).expect("the program fits");
    assert_eq!(chip.run_until(100_000_000, &mut ()), Stop::Break);
    let digests = image.symbol("digests").expect("the program's result");
    let byte = |at: u32| chip.memory((digests.address + at) as u16).expect("the result is in SRAM");
    let words = (0..digests.bytes).step_by(4).map(|at| [0, 1, 2, 3].map(|offset| byte(at + offset)));
    words.map(|bytes| format!("{:08x}", u32::from_le_bytes(bytes))).collect()
}

#[test]
fn compiled_arithmetic_agrees_with_the_host() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    let source = source();
    let source = source.to_str().expect("paths here are UTF-8");
    if run("cc", &["-std=c99", "-O1", source, "-o", "witness"], &folder).is_none() {
        return;
    }
    let program = folder.join("witness");
    let expected =
        run(program.to_str().expect("paths here are UTF-8"), &[], &folder).expect("it was just built");
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(expected[0], "cbf43926", "the check value of CRC-32");

    for (profile, mcu) in [(&ATMEGA128, "-mmcu=atmega128"), (&ATMEGA328P, "-mmcu=atmega328p")] {
        for level in ["-O0", "-O1", "-O2", "-Os", "-O3"] {
            // -mcall-prologues brings in the library's prologues, which jump and call through Z.
            for extra in ["-mcall-prologues", "-fno-jump-tables"] {
                let arguments = [mcu, level, extra, "-std=c99", source, "-o", "witness.elf"];
                if run("avr-gcc", &arguments, &folder).is_none() {
                    return;
                }
                let file = std::fs::read(folder.join("witness.elf")).expect("read what avr-gcc linked");
                assert_eq!(simulate(profile, &file), expected, "{mcu} {level} {extra}");
            }
        }
    }
}

/// Gives every expression that is no number a value that fits wherever it stands.
struct Anything;

impl text::Resolve for Anything {
    type Error = ();

    fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, ()> {
        assert!(!expression.is_empty());
        let fitting = match operand.range() {
            Range { first, .. } if first > 0 => first,
            _ => 0,
        };
        Ok(text::Resolve::value(&mut text::Numbers, expression, operand).unwrap_or(fitting.into()))
    }
}

#[test]
fn every_instruction_that_avr_gcc_writes_is_understood() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("assembly");
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    let source = source();
    let source = source.to_str().expect("paths here are UTF-8");
    let mut mnemonics = BTreeSet::new();
    for level in ["-O0", "-O2", "-Os", "-O3"] {
        let arguments = ["-mmcu=atmega128", level, "-std=c99", "-S", source, "-o", "witness.s"];
        if run("avr-gcc", &arguments, &folder).is_none() {
            return;
        }
        let assembly = std::fs::read_to_string(folder.join("witness.s")).expect("read what avr-gcc wrote");
        for line in assembly.lines() {
            // Instructions are indented; directives have a dot, comments a sign, assignments an equals sign, labels
            // a colon.
            let is_instruction =
                line.starts_with('\t') && !line.trim_start().starts_with(['.', '/', '#', ';']);
            if !is_instruction || line.contains(" = ") || line.ends_with([':', '\t']) {
                continue;
            }
            let (mnemonic, operands) = text::split(line);
            let instruction = text::parse_with(mnemonic, &operands, &mut Anything);
            assert!(instruction.is_ok(), "{line}: {instruction:?}");
            mnemonics.insert(mnemonic.to_owned());
        }
    }
    assert!(mnemonics.len() > 40, "only {mnemonics:?}");
}
