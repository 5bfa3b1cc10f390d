//! The ciphers of `firmware/crypto` as programs for a chip: compiled, called, timed.
//!
//! Owns: the list of authenticated variants that run on an AVR, and how `firmware/bench` is built for one of them or
//! for a host (`cipher/tests/hosts`), called and timed. What runs the program is the caller's: our simulator here, a
//! foreign one in the witness workspace, which includes this file.
#![allow(dead_code)] // each program that includes it uses some of it

#[path = "../../../cipher/tests/record/mod.rs"]
pub mod record;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use cipher::Suite;
use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Profile, Stop};
use record::Request;
#[allow(unused_imports)] // as above
pub use record::{AD_BYTES_MAX, Answer, Call, MESSAGE_BYTES_MAX, SHIFT_MAX};

/// One file of `firmware/crypto`.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// `<alg>_<variant>`, the file's stem.
    pub name: &'static str,
    /// What it computes.
    pub suite: Suite,
    /// What it calls.
    pub below: &'static [&'static str],
}

const fn variant(name: &'static str, suite: Suite, below: &'static [&'static str]) -> Variant {
    Variant { name, suite, below }
}

impl Variant {
    /// Its files.
    pub fn sources(&self) -> Vec<String> {
        [format!("{}.c", self.name)]
            .into_iter()
            .chain(self.below.iter().map(|&file| file.to_owned()))
            .collect()
    }
}

/// Every authenticated variant; `cross.rs` compares the list with the folder.
pub const VARIANTS: [Variant; 7] = [
    variant("ascon_aead128_avr", Suite::AsconAead128, &["ascon_p_avr.S"]),
    variant("ascon_aead128_avr_roomy", Suite::AsconAead128, &["ascon_p_avr_roomy.S"]),
    variant("ascon_aead128_c8", Suite::AsconAead128, &[]),
    variant("ascon_aead128_c64", Suite::AsconAead128, &[]),
    variant("aes128_ccm_avr", Suite::Aes128Ccm, &["aes128_avr.S"]),
    variant("aes128_ccm_avr_roomy", Suite::Aes128Ccm, &["aes128_avr.S", "aes128_blocks_avr_roomy.S"]),
    variant("aes128_ccm_c8", Suite::Aes128Ccm, &["aes128_c8.c"]),
];

/// Every chip.
pub const CHIPS: [&Profile; 2] = [&ATMEGA128, &ATMEGA328P];

/// More than the longest call of the slowest variant.
const CYCLES_MAX: Cycles = 20_000_000;

/// The repository's folder, by a file of it that the caller knows.
fn firmware(root: &Path) -> PathBuf {
    root.join("firmware")
}

/// The flags with which the node is compiled, so that what is measured is what the node runs.
fn flags(root: &Path) -> (Vec<String>, Vec<String>) {
    let list = firmware(root).join("node/sources.txt");
    let text = fs::read_to_string(&list).unwrap_or_else(|error| panic!("`{}`: {error}", list.display()));
    let of = |word: &str| -> Vec<String> {
        let values = text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        values.map(|value| value.trim().to_owned()).collect()
    };
    (of("flag"), of("link"))
}

/// Builds the bench with `variant` for `profile`, below `scratch`; `None` after saying that there is no avr-gcc.
pub fn build(root: &Path, scratch: &Path, variant: &Variant, profile: &Profile) -> Option<Image> {
    let defines = [format!("-DBENCH_VARIANT={}", variant.name)];
    build_sources(root, scratch, &variant.sources(), &defines, None, profile)
}

/// Builds the bench with `sources`, the first of which gives the image its name, and with the node's flags, but
/// optimised as `level` says if it does.
pub fn build_sources(
    root: &Path,
    scratch: &Path,
    sources: &[impl AsRef<str>],
    defines: &[String],
    level: Option<&str>,
    profile: &Profile,
) -> Option<Image> {
    let (flags, links) = flags(root);
    let (mcu, first) = (profile.name.to_lowercase(), sources.first().expect("a variant has a file").as_ref());
    let elf = scratch.join(format!("{first}{}-{mcu}.elf", level.unwrap_or_default()));
    let crypto = firmware(root).join("crypto");
    let mut command = Command::new("avr-gcc");
    // Files that flags name are named from the list's folder.
    command.current_dir(firmware(root).join("node"));
    command.arg(format!("-mmcu={mcu}")).args(&flags).args(level).args(&links).args(defines);
    command
        .arg(firmware(root).join("bench/main.c"))
        .args(sources.iter().map(|file| crypto.join(file.as_ref())));
    command.arg("-o").arg(&elf);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
            println!("skip: ciphers on the {}: avr-gcc is not installed", profile.name);
            return None;
        }
        Err(error) => panic!("avr-gcc: {error}"),
    };
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{first} for the {mcu}: {words}");
    let bytes = fs::read(&elf).unwrap_or_else(|error| panic!("`{}`: {error}", elf.display()));
    Some(Image::parse(&bytes).expect("what avr-gcc links is an image"))
}

/// Bytes of code and tables of `sources`, compiled like that; not what the compiler's own library adds.
pub fn code_bytes(
    root: &Path,
    scratch: &Path,
    sources: &[impl AsRef<str>],
    level: &str,
    profile: &Profile,
) -> usize {
    let (flags, _) = flags(root);
    let object = scratch.join("size.o");
    let size_of = |file: &str| {
        let mut compile = Command::new("avr-gcc");
        compile.arg(format!("-mmcu={}", profile.name.to_lowercase())).args(&flags).args([level, "-c"]);
        compile.arg(firmware(root).join("crypto").join(file)).arg("-o").arg(&object);
        assert!(compile.status().expect("avr-gcc runs").success(), "{file}");
        let output = Command::new("avr-size").arg(&object).output().expect("avr-size runs");
        let text = String::from_utf8(output.stdout).expect("avr-size prints text");
        let row = text.lines().nth(1).expect("a header and a row");
        let [code, data] = [0, 1].map(|column| row.split_whitespace().nth(column).map(str::parse::<usize>));
        code.zip(data).map(|(code, data)| Ok::<_, std::num::ParseIntError>(code? + data?))
    };
    let sizes = sources.iter().map(|file| size_of(file.as_ref()).expect("two columns").expect("numbers"));
    sizes.sum()
}

/// Where an image keeps its record, its answer and its mark.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    pub input: u16,
    pub output: u16,
    pub mark: u16,
}

impl Places {
    pub fn of(image: &Image, profile: &Profile) -> Places {
        let address = |name: &str, bytes: usize| {
            let symbol = image.symbol(name).unwrap_or_else(|| panic!("the bench has a `{name}`"));
            assert_eq!((symbol.space, symbol.bytes as usize), (Space::Data, bytes), "{name}");
            symbol.address as u16
        };
        let mark = profile.register("PORTB").expect("both chips have a port B").address;
        Places {
            input: address("bench_input", record::INPUT_BYTES),
            output: address("bench_output", record::OUTPUT_BYTES),
            mark,
        }
    }

    /// Reads the answer to `call` from data space.
    pub fn answer(&self, call: &impl Request, byte: impl Fn(u16) -> u8) -> Answer {
        let output: Vec<u8> = (0..record::OUTPUT_BYTES as u16).map(|at| byte(self.output + at)).collect();
        Answer::of(call, &output)
    }
}

/// Sees the marks.
struct Marks {
    address: u32,
    start: Option<Cycles>,
    /// From start to end, of all pairs.
    between: Option<Cycles>,
}

impl isa::Observer for Marks {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == self.address {
            match value {
                record::MARK_START => self.start = Some(cycle),
                record::MARK_END => {
                    let start = self.start.take().expect("the bench marks a start before an end");
                    self.between = Some(self.between.unwrap_or(0) + cycle - start);
                }
                other => panic!("the bench marks {other:#x}"),
            }
        }
    }
}

impl isa::avr::Observer for Marks {}

/// A variant on our simulated chip.
pub struct Bench {
    /// Loaded and just reset; each call runs on a copy.
    chip: Chip,
    places: Places,
}

impl Bench {
    pub fn new(image: &Image, profile: &'static Profile) -> Bench {
        let mut chip = Chip::new(profile);
        chip.load(image).expect("the bench fits the chip");
        Bench { chip, places: Places::of(image, profile) }
    }

    /// Calls the variant; also the cycles from mark to mark.
    pub fn call(&self, call: &impl Request) -> (Answer, Cycles) {
        let mut chip = self.chip.clone();
        for (at, &byte) in call.record().iter().enumerate() {
            assert!(chip.set_memory(self.places.input + at as u16, byte), "the record is in SRAM");
        }
        let mut marks = Marks { address: self.places.mark.into(), start: None, between: None };
        assert_eq!(chip.run_until(CYCLES_MAX, &mut marks), Stop::Halted, "the bench ends in sleep");
        let answer = self.places.answer(call, |address| chip.memory(address).expect("the answer is in SRAM"));
        (answer, marks.between.expect("the bench marks the call"))
    }
}
