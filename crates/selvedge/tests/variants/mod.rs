//! The ciphers of `firmware/crypto` as programs for a chip: compiled, called, timed.
//!
//! Owns: the list of variants that run on an AVR, how `firmware/bench` is built for one, and the record that it
//! takes and gives (`firmware/bench/bench.h`, drawn there). What runs the program is the caller's: our simulator
//! here, a foreign one in the witness workspace, which includes this file.
#![allow(dead_code)] // each program that includes it uses some of it

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use cipher::Suite;
use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Profile, Stop};

/// One file of `firmware/crypto`.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// `<alg>_<variant>`, the file's stem.
    pub name: &'static str,
    /// What it computes.
    pub suite: Suite,
    /// Assembly that it calls.
    pub assembly: Option<&'static str>,
}

const fn variant(name: &'static str, suite: Suite, assembly: Option<&'static str>) -> Variant {
    Variant { name, suite, assembly }
}

/// Every variant; `cross.rs` compares the list with the folder.
pub const VARIANTS: [Variant; 5] = [
    variant("ascon_aead128_avr", Suite::AsconAead128, Some("ascon_p_avr.S")),
    variant("ascon_aead128_c8", Suite::AsconAead128, None),
    variant("ascon_aead128_c64", Suite::AsconAead128, None),
    variant("aes128_ccm_avr", Suite::Aes128Ccm, Some("aes128_avr.S")),
    variant("aes128_ccm_c8", Suite::Aes128Ccm, None),
];

/// Every chip.
pub const CHIPS: [&Profile; 2] = [&ATMEGA128, &ATMEGA328P];

/// Sizes and offsets of `firmware/bench/bench.h`.
mod bench {
    pub const INPUT_BYTES: usize = 374;
    pub const OUTPUT_BYTES: usize = 273;
    pub const SEAL: u8 = 1;
    pub const OPEN: u8 = 2;
    pub const SHIFT: usize = 1;
    pub const LENGTH: usize = 2;
    pub const AD_LENGTH: usize = 4;
    pub const KEY: usize = 6;
    pub const NONCE: usize = 22;
    pub const TAG: usize = 38;
    pub const AD: usize = 54;
    pub const MESSAGE: usize = 118;
    pub const TAG_OUT: usize = 1;
    pub const RESULT: usize = 17;
    pub const MARK_START: u8 = 0xa5;
    pub const MARK_END: u8 = 0x5a;
}

/// Bytes of message and of associated data that the bench takes.
pub const MESSAGE_BYTES_MAX: usize = 256;
pub const AD_BYTES_MAX: usize = 64;
/// How far its buffer can lie behind a multiple of eight.
pub const SHIFT_MAX: u8 = 7;
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
    let (flags, links) = flags(root);
    let mcu = profile.name.to_lowercase();
    let elf = scratch.join(format!("{}-{mcu}.elf", variant.name));
    let crypto = firmware(root).join("crypto");
    let mut command = Command::new("avr-gcc");
    command.arg(format!("-mmcu={mcu}")).args(&flags).args(&links);
    command.arg(format!("-DBENCH_VARIANT={}", variant.name));
    command.arg(firmware(root).join("bench/main.c")).arg(crypto.join(variant.name).with_extension("c"));
    command.args(variant.assembly.map(|file| crypto.join(file))).arg("-o").arg(&elf);
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
    assert!(output.status.success(), "{} for the {mcu}: {words}", variant.name);
    let bytes = fs::read(&elf).unwrap_or_else(|error| panic!("`{}`: {error}", elf.display()));
    Some(Image::parse(&bytes).expect("what avr-gcc links is an image"))
}

/// One call of a variant.
#[derive(Clone, Debug)]
pub struct Call {
    /// Open, or seal.
    pub open: bool,
    /// How far the buffer lies behind a multiple of eight.
    pub shift: u8,
    /// The key.
    pub key: Vec<u8>,
    /// The nonce.
    pub nonce: Vec<u8>,
    /// Associated data.
    pub ad: Vec<u8>,
    /// Plaintext of a seal, ciphertext of an open.
    pub message: Vec<u8>,
    /// Of an open.
    pub tag: Vec<u8>,
}

impl Call {
    /// What `bench_input` gets.
    pub fn record(&self) -> Vec<u8> {
        assert!(self.message.len() <= MESSAGE_BYTES_MAX && self.ad.len() <= AD_BYTES_MAX);
        let mut record = vec![0; bench::INPUT_BYTES];
        record[0] = if self.open { bench::OPEN } else { bench::SEAL };
        record[bench::SHIFT] = self.shift;
        record[bench::LENGTH..][..2].copy_from_slice(&(self.message.len() as u16).to_le_bytes());
        record[bench::AD_LENGTH..][..2].copy_from_slice(&(self.ad.len() as u16).to_le_bytes());
        let parts = [
            (bench::KEY, &self.key),
            (bench::NONCE, &self.nonce),
            (bench::TAG, &self.tag),
            (bench::AD, &self.ad),
            (bench::MESSAGE, &self.message),
        ];
        for (offset, bytes) in parts {
            record[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        record
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the open returned; 1 after a seal.
    pub status: u8,
    /// Of a seal: 16 bytes, of which a shorter tag is the beginning.
    pub tag: Vec<u8>,
    /// The buffer afterwards.
    pub message: Vec<u8>,
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
            input: address("bench_input", bench::INPUT_BYTES),
            output: address("bench_output", bench::OUTPUT_BYTES),
            mark,
        }
    }

    /// Reads the answer to `call` from data space.
    pub fn answer(&self, call: &Call, byte: impl Fn(u16) -> u8) -> Answer {
        let output: Vec<u8> = (0..bench::OUTPUT_BYTES as u16).map(|at| byte(self.output + at)).collect();
        Answer {
            status: output[0],
            tag: output[bench::TAG_OUT..bench::RESULT].to_vec(),
            message: output[bench::RESULT..][..call.message.len()].to_vec(),
        }
    }
}

/// Sees the marks, and how deep the stack gets.
struct Marks {
    address: u32,
    start: Option<Cycles>,
    end: Option<Cycles>,
}

impl isa::Observer for Marks {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == self.address {
            match value {
                bench::MARK_START => self.start = Some(cycle),
                bench::MARK_END => self.end = Some(cycle),
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
    pub fn call(&self, call: &Call) -> (Answer, Cycles) {
        let mut chip = self.chip.clone();
        for (at, &byte) in call.record().iter().enumerate() {
            assert!(chip.set_memory(self.places.input + at as u16, byte), "the record is in SRAM");
        }
        let mut marks = Marks { address: self.places.mark.into(), start: None, end: None };
        assert_eq!(chip.run_until(CYCLES_MAX, &mut marks), Stop::Halted, "the bench ends in sleep");
        let answer = self.places.answer(call, |address| chip.memory(address).expect("the answer is in SRAM"));
        let start = marks.start.expect("the bench marks the start of the call");
        (answer, marks.end.expect("the bench marks its end") - start)
    }
}

/// The record's numbers as `bench.h` has them, for a test that compares them with [`bench`].
pub fn drawn() -> [(&'static str, usize); 17] {
    [
        ("SEAL", bench::SEAL.into()),
        ("OPEN", bench::OPEN.into()),
        ("SHIFT", bench::SHIFT),
        ("LENGTH", bench::LENGTH),
        ("AD_LENGTH", bench::AD_LENGTH),
        ("INPUT_BYTES", bench::INPUT_BYTES),
        ("OUTPUT_BYTES", bench::OUTPUT_BYTES),
        ("KEY", bench::KEY),
        ("NONCE", bench::NONCE),
        ("TAG", bench::TAG),
        ("AD", bench::AD),
        ("MESSAGE", bench::MESSAGE),
        ("MESSAGE_BYTES_MAX", MESSAGE_BYTES_MAX),
        ("AD_BYTES_MAX", AD_BYTES_MAX),
        ("SHIFT_MAX", SHIFT_MAX.into()),
        ("TAG_OUT", bench::TAG_OUT),
        ("RESULT", bench::RESULT),
    ]
}
