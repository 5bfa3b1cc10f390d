//! A sketch for Arduino with a woven function in a library folder: built from Debian's `arduino-core-avr` as Arduino
//! builds it, run on the simulated ATmega328P. The lights see every bit at its cycle, the checksum is right, and
//! `millis()` counts on; when interrupts are off for too long it does not, and what weaving says of that is shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::Cycles;
use isa::avr::{ATMEGA328P, Chip, Image, Stop};

/// Where the package puts the core.
const CORE: &str = "/usr/share/arduino/hardware/arduino/avr";
/// `compiler.cpp.flags` and `compiler.c.elf.flags` of the core's platform.txt, without those that only change messages.
const FLAGS: [&str; 7] = [
    "-Os",
    "-ffunction-sections",
    "-fdata-sections",
    "-flto",
    "-mmcu=atmega328p",
    "-DF_CPU=16000000L",
    "-DARDUINO_ARCH_AVR",
];
const CPP_FLAGS: [&str; 4] = ["-std=gnu++11", "-fpermissive", "-fno-exceptions", "-fno-threadsafe-statics"];
/// A fifth of a second.
const RUN_CYCLES: Cycles = 3_200_000;
/// Timer 0 counts every 64 cycles and overflows after 256 of these: what `millis()` is made from.
const OVERFLOW_CYCLES: Cycles = 64 * 256;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {words}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The library folder, as docs/weave.md makes it; what `selvedge weave` says of it.
fn library(libraries: &Path) -> serde_json::Value {
    let source = libraries.join("fletcher_lit/src");
    fs::create_dir_all(&source).expect("a folder below a temporary one");
    let mut weave = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    weave.args(["weave", "--json"]).arg(root().join("firmware/arduino/lit/fletcher.cpp"));
    weave.args(["--host", "fletcher", "--host-arguments", "2,1"]);
    weave.arg("--guest").arg(root().join("firmware/node/guest_ws2812.S")).args(["--guest-fn", "ws2812"]);
    weave.args(["--chip", "atmega328p", "--name", "fletcher_lit", "--growth", "12"]);
    weave.arg("-o").arg(source.join("fletcher_lit.S")).arg("--header").arg(source.join("fletcher_lit.h"));
    serde_json::from_str(&done(&mut weave)).expect("--json prints JSON")
}

/// Compiles and links the sketch, its library and the core.
fn sketch(scratch: &Path, colors: u32) -> Image {
    let core = Path::new(CORE).join("cores/arduino");
    let library = scratch.join("fletcher_lit/src");
    let mut objects = Vec::new();
    let mut compile = |source: &Path, is_cpp: bool, more: &[&str]| {
        let object = scratch.join(format!("{}.o", objects.len()));
        let mut command = Command::new(if is_cpp { "avr-g++" } else { "avr-gcc" });
        command.args(FLAGS).args(if is_cpp { &CPP_FLAGS[..] } else { &[] }).args(more).arg("-w").arg("-c");
        command.arg("-I").arg(&core).arg("-I").arg(Path::new(CORE).join("variants/standard"));
        done(command.arg("-I").arg(&library).arg(source).arg("-o").arg(&object));
        objects.push(object);
    };
    let ino = root().join("firmware/arduino/lit/lit.ino");
    let colors = format!("-DCOLORS={colors}");
    compile(&ino, true, &["-include", "Arduino.h", "-x", "c++", &colors]);
    compile(&library.join("fletcher_lit.S"), false, &["-x", "assembler-with-cpp"]);
    for file in ["main.cpp", "wiring.c", "wiring_digital.c", "hooks.c"] {
        compile(&core.join(file), file.ends_with("cpp"), &[]);
    }
    let elf = scratch.join("lit.elf");
    done(Command::new("avr-gcc").args(FLAGS).arg("-Wl,--gc-sections").args(&objects).arg("-o").arg(&elf));
    Image::parse(&fs::read(&elf).expect("it was linked")).expect("it is an image")
}

/// When port B is written.
#[derive(Default)]
struct Lights(Vec<(Cycles, u8)>);

impl isa::Observer for Lights {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == u32::from(ATMEGA328P.register("PORTB").expect("it has a port B").address) {
            self.0.push((cycle, value));
        }
    }
}

impl isa::avr::Observer for Lights {}

/// A number of the program's.
fn number(chip: &Chip, image: &Image, name: &str, bytes: u16) -> u64 {
    let at = image.symbol(name).unwrap_or_else(|| panic!("the sketch has a `{name}`")).address as u16;
    (0..bytes)
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(chip.memory(at + byte).expect("it is SRAM")))
}

/// Runs the sketch; what it wrote, and the overflows that it counted and that there were.
fn run(image: &Image, lights: &mut Lights) -> (Chip, u64, u64) {
    let mut chip = Chip::new(&ATMEGA328P);
    chip.load(image).expect("it fits");
    assert_eq!(chip.run_until(RUN_CYCLES, lights), Stop::Reached);
    let counted = number(&chip, image, "timer0_overflow_count", 4);
    let were = chip.cycle() / OVERFLOW_CYCLES;
    (chip, counted, were)
}

#[test]
fn a_sketch_weaves_lights_into_its_host_and_millis_counts_on() {
    if !Path::new(CORE).is_dir() {
        println!("skip: Arduino: the package arduino-core-avr is not installed");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let said = library(scratch.path());
    // How many bytes are sent is a parameter: a further one is 8 bits of 20 cycles.
    assert_eq!(said["proof"]["interrupts_off_further_round_cycles"], 8 * 20);

    let image = sketch(scratch.path(), 24);
    let mut lights = Lights::default();
    let (chip, counted, were) = run(&image, &mut lights);
    println!(
        "24 bytes: {counted} of {were} overflows are counted, millis() is {}",
        number(&chip, &image, "now", 4)
    );
    assert!(counted.abs_diff(were) <= 1, "{counted} of {were} overflows");
    let now_ms = number(&chip, &image, "now", 4);
    assert!(now_ms.abs_diff(chip.cycle() / 16_000) <= 2, "millis() is {now_ms}");
    let data: Vec<u8> = (0..64_u8).map(|index| 3_u8.wrapping_mul(index)).collect();
    assert_eq!(number(&chip, &image, "sum", 2), u64::from(fletcher(&data)));
    assert!(bits(&lights.0, 24) >= 10 * 24 * 8, "the lights get their bits");

    let (_, counted, were) = run(&sketch(scratch.path(), 250), &mut Lights::default());
    println!("250 bytes: {counted} of {were} overflows are counted");
    assert!(
        2 * counted < were + 20,
        "interrupts are off for longer than millis() bears: {counted} of {were}"
    );
}

fn fletcher(data: &[u8]) -> u16 {
    let (low, high) = data.iter().fold((0_u8, 0_u8), |(low, high), &byte| {
        let low = low.wrapping_add(byte);
        (low, high.wrapping_add(low))
    });
    u16::from(high) << 8 | u16::from(low)
}

/// Rises of the line, each of which is 20 cycles behind the one before it in the same message of so many bytes.
fn bits(written: &[(Cycles, u8)], bytes: usize) -> usize {
    let rises: Vec<Cycles> =
        written.iter().filter(|(_, value)| value & 1 == 1).map(|&(cycle, _)| cycle).collect();
    for message in rises.chunks_exact(8 * bytes) {
        for pair in message.windows(2) {
            assert_eq!(pair[1] - pair[0], 20, "a bit at cycle {}", pair[0]);
        }
    }
    rises.len()
}
