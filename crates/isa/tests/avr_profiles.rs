//! The chips' register maps and vectors: against avr-libc's headers, and against their own rules.

use std::collections::BTreeMap;
use std::process::Command;

use isa::avr::profile::Io;
use isa::avr::{ATMEGA128, ATMEGA328P, Profile};

/// Every macro that avr-libc defines for a chip; `None` when there is no avr-gcc.
fn macros(mcu: &str) -> Option<BTreeMap<String, String>> {
    let arguments =
        [&format!("-mmcu={mcu}")[..], "-E", "-dM", "-include", "avr/io.h", "-x", "c", "/dev/null"];
    let output = match Command::new("avr-gcc").args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
            eprintln!("skip: register map of the {mcu} against avr-libc: avr-gcc: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("headers are ASCII");
    let lines = text.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    Some(lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
}

/// The data-space address in `_SFR_IO8(0x1F)` or `_SFR_MEM8(0x6A)`.
fn register_address(value: &str) -> Option<u16> {
    let (inner, offset) = match (value.strip_prefix("_SFR_IO8"), value.strip_prefix("_SFR_MEM8")) {
        (Some(inner), _) => (inner, 0x20),
        (_, Some(inner)) => (inner, 0),
        _ => return None,
    };
    let inner = inner.trim().strip_prefix('(')?.strip_suffix(')')?;
    u16::from_str_radix(inner.trim().trim_start_matches("0x"), 16).ok().map(|address| address + offset)
}

/// Older names that avr-libc has beside the datasheet's, and ones that it gives to no register.
const OTHER_NAMES: &[&str] = &["ADCSR", "MCUSR", "SPMCR"];

fn check_registers(profile: &Profile, mcu: &str) {
    let Some(macros) = macros(mcu) else { return };
    let mut found = 0;
    for (name, value) in &macros {
        let Some(address) = register_address(value) else { continue };
        match profile.register(name) {
            Some(register) => {
                found += 1;
                assert_eq!(register.address, address, "{name}");
            }
            None => assert!(OTHER_NAMES.contains(&&name[..]), "{mcu}: {name} is missing"),
        }
    }
    assert_eq!(found, profile.registers.len(), "{mcu}: registers that avr-libc does not know");
    let number = |name: &str| {
        let value = &macros[name];
        let digits = value.trim_start_matches('(').trim_end_matches(')').trim_end_matches('U');
        u32::from_str_radix(digits.trim_start_matches("0x"), 16)
            .unwrap_or_else(|_| panic!("{name} is {value}"))
    };
    assert_eq!(number("FLASHEND") + 1, profile.flash_bytes);
    assert_eq!(number("RAMEND"), 0xff + u32::from(profile.ram_bytes));
    assert_eq!(number("E2END") + 1, u32::from(profile.eeprom_bytes));
}

fn check_vectors(profile: &Profile, mcu: &str) {
    let Some(macros) = macros(mcu) else { return };
    let mut count = 0;
    for (name, value) in &macros {
        let Some(name) = name.strip_suffix("_vect") else { continue };
        let number = value.strip_prefix("_VECTOR(").and_then(|rest| rest.strip_suffix(')'));
        let number: u8 = number.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{name} is {value}"));
        assert_eq!(profile.vector(name), Some(number), "{name}");
        count += 1;
    }
    assert_eq!(count + 1, profile.vectors.len(), "{mcu}: every vector but the reset");
    // avr-libc reserves four bytes a vector, the length of a JMP.
    let factors = macros["_VECTORS_SIZE"].trim_matches(['(', ')']).split('*');
    let bytes: usize =
        factors.map(|factor| factor.trim().parse::<usize>().expect("_VECTORS_SIZE is a product")).product();
    assert_eq!(bytes, profile.vectors.len() * 4);
}

#[test]
fn the_atmega128s_registers_are_where_avr_libc_has_them() {
    check_registers(&ATMEGA128, "atmega128");
}

#[test]
fn the_atmega328ps_registers_are_where_avr_libc_has_them() {
    check_registers(&ATMEGA328P, "atmega328p");
}

#[test]
fn vectors_have_avr_libcs_numbers() {
    check_vectors(&ATMEGA128, "atmega128");
    check_vectors(&ATMEGA328P, "atmega328p");
}

#[test]
fn registers_are_in_order_and_ports_are_complete() {
    for profile in [&ATMEGA128, &ATMEGA328P] {
        assert!(
            profile.registers.windows(2).all(|pair| pair[0].address < pair[1].address),
            "{}",
            profile.name
        );
        for port in profile.ports {
            for io in [Io::Port(port.letter), Io::Direction(port.letter), Io::Input(port.letter)] {
                let count = profile.registers.iter().filter(|register| register.io == io).count();
                assert_eq!(count, 1, "{}: {io:?}", profile.name);
            }
        }
        assert!(profile.vectors.len() <= 64, "pending interrupts are 64 bits");
        assert!(profile.flash_bytes.is_power_of_two());
    }
}
