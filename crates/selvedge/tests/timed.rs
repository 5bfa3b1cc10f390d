//! Woven functions in somebody's build: a debugger finds the source's lines, and another chip or clock is refused.

mod woven;

use std::fs;
use std::path::Path;
use std::process::Command;

use isa::avr::{ATMEGA128, ATMEGA328P};
use woven::{CRC16_AVR, Expected, Guest, Pair, RC4_C8, Unbuilt, build};

const SPI: Guest = Guest::SpiTx(130);
/// A host in C.
const SENT: Pair = Pair {
    host: RC4_C8,
    guest: SPI,
    profile: &ATMEGA128,
    growth: "10",
    strategy: "interleave",
    expected: Expected::Woven,
};
/// A guest that only keeps time at 16 MHz.
const LIT: Pair = Pair {
    host: CRC16_AVR,
    guest: Guest::Ws2812,
    profile: &ATMEGA328P,
    growth: "10",
    strategy: "interleave",
    expected: Expected::Woven,
};

/// A pair, woven into a folder; nothing, when there is no compiler.
fn woven(scratch: &Path, pair: &Pair) -> Option<Vec<u8>> {
    match build(env!("CARGO_BIN_EXE_selvedge"), scratch, pair, false) {
        Ok(built) => Some(built.elf),
        Err(Unbuilt::NoCompiler) => {
            println!("skip: woven functions in a build: avr-gcc is not installed");
            None
        }
        Err(Unbuilt::Refused(words) | Unbuilt::Faulty(words)) => panic!("{words}"),
    }
}

#[test]
fn a_debugger_finds_the_lines_of_host_and_guest() {
    let scratch = tempfile::tempdir().expect("a folder");
    let Some(elf) = woven(scratch.path(), &SENT) else { return };
    let path = scratch.path().join("linked.elf");
    fs::write(&path, &elf).expect("a file");
    let records = weave::linked::records(&elf).expect("there are records");
    let rise = records.iter().find(|record| record.text.starts_with("event tx")).expect("it has the event");
    let image = isa::avr::Image::parse(&elf).expect("an image");
    let start = image.symbol("woven").expect("it is linked").address;
    let end = records.iter().map(|record| record.address).max().expect("there are records");
    let addresses = (start..end).step_by(2).map(|address| format!("{address:#x}"));
    let output = Command::new("avr-addr2line").arg("-e").arg(&path).args(addresses).output();
    let lines = String::from_utf8(output.expect("avr-addr2line runs").stdout).expect("text");
    let found: Vec<&str> = lines.lines().map(|line| line.rsplit('/').next().unwrap_or_default()).collect();
    // The guest's line is the one that its author wrote, before the preprocessor.
    let guest = fs::read_to_string(woven::root().join("firmware/node/guest_spi_tx.S")).expect("the guest");
    let written = 2 + guest.lines().position(|line| line.contains("event tx")).expect("it is there");
    let at_event = found[((rise.address - start) / 2) as usize];
    assert_eq!(at_event, format!("guest_spi_tx.S:{written}"));
    let host = fs::read_to_string(woven::root().join("firmware/crypto/rc4_c8.c")).expect("the host");
    let body = host.lines().position(|line| line.contains("rc4_c8_crypt(")).expect("it is there");
    let in_body = |line: &&&str| {
        let number = line.strip_prefix("rc4_c8.c:").and_then(|number| number.split(' ').next()?.parse().ok());
        number.is_some_and(|number: usize| (body..host.lines().count()).contains(&number))
    };
    let of_host = found.iter().filter(in_body).count();
    assert!(of_host > 20, "{of_host} instructions of rc4_c8_crypt in {found:?}");
}

/// What the compiler says of the woven function with a program that asks for `flags`.
fn compiled(scratch: &Path, chip: &str, flags: &[&str], files: &[&str]) -> Result<(), String> {
    let mut compiler = Command::new("avr-gcc");
    compiler.current_dir(scratch).arg(format!("-mmcu={chip}")).args(flags).args(files).args(["-o", "x.elf"]);
    let output = compiler.output().expect("avr-gcc runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(words) }
}

#[test]
fn another_clock_or_chip_refuses_to_build() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = scratch.path();
    if woven(folder, &LIT).is_none() {
        return;
    }
    let file = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    file("main.c", "#include \"woven.h\"\nint main(void) { return 0; }\n");
    file("bare.c", "int main(void) { return 0; }\n");
    fs::copy(folder.join("woven.s"), folder.join("again.S")).expect("a copy");
    let right = ["-DF_CPU=16000000UL"];
    let refused = |chip: &str, flags: &[&str], files: &[&str], words: &[&str]| {
        let said = compiled(folder, chip, flags, files).expect_err("it is refused");
        words.iter().for_each(|word| assert!(said.contains(word), "{said}: expected {word}"));
    };
    assert_eq!(compiled(folder, "atmega328p", &right, &["main.c", "woven.s"]), Ok(()));
    assert_eq!(compiled(folder, "atmega328p", &right, &["main.c", "again.S"]), Ok(()));
    // By the header.
    let timed = "woven is timed for 16000000 Hz: weave it again";
    refused("atmega328p", &["-DF_CPU=8000000UL"], &["main.c", "woven.s"], &[timed]);
    refused("atmega32", &right, &["main.c", "woven.s"], &["woven is timed for atmega328p: weave it again"]);
    // By the function itself, where nobody looks at its header.
    let symbols = ["weave_needs_atmega328p", "weave_needs_f_cpu_16000000"];
    refused("atmega328p", &["-DF_CPU=8000000UL"], &["bare.c", "woven.s"], &symbols);
    refused("atmega328p", &["-DF_CPU=8000000UL"], &["bare.c", "again.S"], &[timed]);
}
