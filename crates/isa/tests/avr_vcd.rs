//! Waveforms: what is written is read back by the format's own parser, and is what happened.

mod assembler;

use std::collections::HashMap;

use isa::avr::vcd::{Signal, Vcd};
use isa::avr::{ATMEGA128, Chip, Pin, Settings, Stop};

const PB0: Pin = Pin { port: b'B', bit: 0 };

/// The changes of each signal, as (picoseconds, digits).
fn changes(dump: &[u8]) -> HashMap<String, Vec<(u64, String)>> {
    let mut parser = vcd::Parser::new(dump);
    let header = parser.parse_header().expect("a header");
    let scope = header.items.iter().find_map(|item| match item {
        vcd::ScopeItem::Scope(scope) => Some(scope),
        _ => None,
    });
    let mut names = HashMap::new();
    for item in &scope.expect("one chip").items {
        if let vcd::ScopeItem::Var(var) = item {
            names.insert(var.code, var.reference.clone());
        }
    }
    let (mut now, mut found) = (0, HashMap::<String, Vec<(u64, String)>>::new());
    for command in parser {
        match command.expect("a well-formed dump") {
            vcd::Command::Timestamp(at) => {
                assert!(at >= now, "time goes back from {now} to {at}");
                now = at;
            }
            vcd::Command::ChangeScalar(id, value) => {
                found.entry(names[&id].clone()).or_default().push((now, value.to_string()));
            }
            vcd::Command::ChangeVector(id, value) => {
                found.entry(names[&id].clone()).or_default().push((now, value.to_string()));
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    found
}

fn record(chip: &mut Chip, signals: &[Signal], limit: u64) -> Vec<u8> {
    let mut dump = Vec::new();
    let mut vcd = Vcd::new(&mut dump, chip, signals).expect("a vector takes everything");
    let stop = chip.run_until(limit, &mut vcd);
    assert!(matches!(stop, Stop::Reached | Stop::Break), "{stop:?}");
    vcd.finish().expect("a vector takes everything");
    dump
}

#[test]
fn a_pin_and_a_byte_change_when_the_program_changes_them() {
    let source = "ldi r16, 1 |out DDRB, r16 |out PORTB, r16 |sts 0x123, r16 |cbi PORTB, 0 |break";
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let signals =
        [Signal::Pin(PB0), Signal::Byte { name: "phase".into(), address: 0x123 }, Signal::ProgramCounter];
    let found = changes(&record(&mut chip, &signals, 100));
    let us = |cycle: u64| cycle * 1_000_000;
    let at = |cycle, value: &str| (us(cycle), value.to_owned());
    assert_eq!(found["PB0"], [at(0, "0"), at(2, "1"), at(6, "0")]);
    assert_eq!(found["PB0_out"], [at(0, "z"), at(1, "0"), at(2, "1"), at(6, "0")]);
    assert_eq!(found["phase"], [at(0, "00000000"), at(4, "00000001")]);
    let addresses: Vec<u64> = found["pc"].iter().map(|change| change.0).collect();
    assert_eq!(addresses, [0, 1, 2, 3, 5, 7].map(us));
}

#[test]
fn edges_told_late_stand_at_their_own_cycles() {
    // SPI at half the clock: SCK turns every cycle, in the middle of instructions of several cycles.
    let source = "ldi r16, 7 |out DDRB, r16 |ldi r16, 0x50 |out SPCR, r16 |ldi r16, 1 |out SPSR, r16
        out SPDR, r16 |again: |lpm |rjmp again";
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let sck = Signal::Pin(Pin { port: b'B', bit: 1 });
    let found = changes(&record(&mut chip, &[sck, Signal::Asleep, Signal::Vector], 200));
    let edges: Vec<u64> =
        found["PB1"].iter().map(|change| change.0 / 1_000_000).filter(|&at| at > 6).collect();
    assert_eq!(edges.len(), 16);
    assert!(edges.windows(2).all(|pair| pair[1] == pair[0] + 1), "{edges:?}");
}

#[test]
fn a_full_disk_is_told_in_the_end() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            // The header fits, the changes do not.
            if bytes.starts_with(b"#") { Err(std::io::Error::other("full")) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut chip = assembler::chip(&ATMEGA128, "sbi DDRB, 0 |sbi PORTB, 0 |break");
    let mut vcd = Vcd::new(Full, &chip, &[Signal::Pin(PB0)]).expect("the header fits");
    assert_eq!(chip.run_until(100, &mut vcd), Stop::Break);
    assert_eq!(vcd.finish().expect_err("the disk is full").to_string(), "full");
}
