//! Woven functions, from the command line to the simulated chip: every timed store at its cycle, both threads' results
//! as without weaving, and nothing else touched.
//!
//! Inputs are random, from a printed seed; `SELVEDGE_SOAK=1` takes all pairs and many inputs of each, and
//! `SELVEDGE_INPUTS=100` so many.

mod compilers;
mod line;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;
mod woven;

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use compilers::COMPILERS;
use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::profile::RAM_FIRST;
use isa::avr::{ATMEGA128, Chip, Image, Pin, Profile, Stop};
use line::{dmx, spi};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use report::table::{Column, Entry, Table};
use seeded::seeded;
use selvedge::exchange::{Course, Kept, miso};
use soak::is_soak;
use weave::{linked, proof};
use woven::{
    Built, Expected, GUEST_BYTES, Guest, HOSTS, Host, Input, Pair, Unbuilt, build, host_bytes, pairs,
};

/// Random calls of a pair, besides those with chosen lengths; in a long run, half of them with interrupts off.
const CALLS: usize = 3;
const SOAK_CALLS: usize = 10_000;
/// Hosts of each other compiler.
const COMPILED_HOSTS: usize = 3;
/// What a master's crystal differs, in parts per million.
const DRIFT_PPM: i64 = 100;
/// More than a guest needs before it asks for a first byte.
const SETUP_CYCLES: Cycles = 200;
/// More than the longest call.
const CYCLES_MAX: Cycles = 40_000_000;
/// Bytes that the guest sends when cycles are measured.
const MEASURED_BYTES: usize = 256;
/// SPL, SPH and SREG in data space: a host with a frame writes them, weaving saves the last.
const CORE: Range<u32> = 0x5D..0x60;

/// Random calls of a pair, half of them with interrupts off.
fn soak_calls() -> usize {
    let asked = std::env::var("SELVEDGE_INPUTS").ok();
    asked.map_or(SOAK_CALLS, |text| text.parse().expect("SELVEDGE_INPUTS is a number"))
}

/// What is seen of one call.
#[derive(Default)]
struct Seen {
    /// Stores to I/O registers but those of the core, and loads from the SPI's data register.
    timed: Vec<(Cycles, u32, u8)>,
    received: Vec<(Cycles, u8)>,
    /// Levels of bit 1 of port B.
    levels: Vec<(Cycles, bool)>,
    /// Loads and stores of the host's memory.
    host: Vec<(Cycles, u32)>,
    /// Stores elsewhere in RAM.
    elsewhere: Vec<u32>,
    /// The data register of the SPI.
    data_register: u32,
    memory: Range<u32>,
    guest: Range<u32>,
}

impl isa::Observer for Seen {
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        if self.memory.contains(&address) {
            self.host.push((cycle, address));
        } else if address == self.data_register {
            self.received.push((cycle, value));
        }
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if self.memory.contains(&address) {
            self.host.push((cycle, address));
        } else if self.guest.contains(&address) || CORE.contains(&address) {
        } else if address < 0x100 {
            self.timed.push((cycle, address, value));
        } else {
            self.elsewhere.push(address);
        }
    }
}

impl isa::avr::Observer for Seen {
    fn level(&mut self, cycle: Cycles, pin: Pin, high: bool) {
        if pin == (Pin { port: b'B', bit: 1 }) {
            self.levels.push((cycle, high));
        }
    }
}

/// A program that has come to its call.
struct Ready {
    chip: Chip,
    entry_sp: u16,
    host_at: u16,
    guest_at: u16,
}

impl Ready {
    fn new(image: &Image, profile: &'static Profile, function: &str) -> Ready {
        let symbol = |name: &str, space| {
            let symbol = image.symbol(name).unwrap_or_else(|| panic!("the program has a `{name}`"));
            assert_eq!(symbol.space, space, "{name}");
            symbol.address
        };
        let entry = symbol(function, Space::Flash);
        let [host_at, guest_at] =
            ["host_memory", "guest_memory"].map(|name| symbol(name, Space::Data) as u16);
        let mut chip = Chip::new(profile);
        chip.load(image).expect("the program fits the chip");
        while chip.pc() != entry {
            assert_eq!(chip.run_until(chip.cycle() + 1, &mut ()), Stop::Reached, "main calls it");
        }
        let entry_sp = chip.sp();
        Ready { chip, entry_sp, host_at, guest_at }
    }

    /// Calls it. `levels` are those of pins from their cycles on, which somebody else drives.
    fn call(&self, pair: &Pair, input: &Input, levels: &[(Cycles, Pin, bool)]) -> Called {
        let mut chip = self.chip.clone();
        for (at, bytes) in [(self.host_at, &input.host), (self.guest_at, &input.guest)] {
            for (offset, &byte) in bytes.iter().enumerate() {
                assert!(chip.set_memory(at + offset as u16, byte), "the buffers are in SRAM");
            }
        }
        let registers = input.registers(pair, self.host_at, self.guest_at);
        for (number, &value) in registers.iter().enumerate() {
            chip.set_register(number as u8, value);
        }
        let sreg = chip.sreg();
        let range = |at: u16, bytes: usize| u32::from(at)..u32::from(at) + bytes as u32;
        let mut seen = Seen {
            data_register: pair.profile.register("SPDR").expect("both chips have an SPI").address.into(),
            memory: range(self.host_at, host_bytes(pair.profile)),
            guest: range(self.guest_at, GUEST_BYTES),
            ..Seen::default()
        };
        for &(cycle, pin, level) in levels {
            chip.set_input(pin, Some(level), cycle, &mut seen);
        }
        let begins = chip.cycle();
        let stop = chip.run_until(begins + CYCLES_MAX, &mut seen);
        let at = format!("{}, {} units, {} bytes", pair.name(), input.units, input.count);
        assert_eq!(stop, Stop::Break, "{at}, from {begins} to {}: it returns", chip.cycle());
        // The program's RETURN is behind, so that the stack is as before the call.
        assert_eq!(chip.sp(), self.entry_sp + 2, "{at}: the stack pointer is restored");
        assert_eq!(chip.sreg() >> 7, sreg >> 7, "{at}: interrupts are as they were");
        assert_eq!(chip.register(1), 0, "{at}: r1 is zero");
        for number in (2..=17).chain([28, 29]) {
            assert_eq!(chip.register(number), registers[usize::from(number)], "{at}: r{number} is restored");
        }
        let bytes = |range: &Range<u32>| -> Vec<u8> {
            range.clone().map(|address| chip.memory(address as u16).expect("SRAM")).collect()
        };
        let (host, guest) = (bytes(&seen.memory), bytes(&seen.guest));
        let returned = [24, 25].map(|number| chip.register(number));
        Called { begins, host, guest, returned, seen }
    }
}

/// What a call left behind.
struct Called {
    begins: Cycles,
    host: Vec<u8>,
    guest: Vec<u8>,
    returned: [u8; 2],
    seen: Seen,
}

/// A pair with both programs at their calls.
struct Bench {
    pair: Pair,
    built: Built,
    woven: Ready,
    plain: Ready,
}

impl Bench {
    fn new(pair: &Pair, interrupts: bool) -> Result<Bench, Unbuilt> {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let built = build(env!("CARGO_BIN_EXE_selvedge"), scratch.path(), pair, interrupts)?;
        let woven = Ready::new(&built.woven, pair.profile, &built.name);
        let plain = Ready::new(&built.plain, pair.profile, pair.host.function);
        Ok(Bench { pair: *pair, built, woven, plain })
    }

    /// The proof again, of what the linker has made of it.
    fn prove_linked(&self) {
        let program = linked::program(&self.built.elf, &self.built.name);
        let program = program.unwrap_or_else(|error| panic!("{}: {error}", self.pair.name()));
        let function = program.function(&self.built.name).expect("it was asked for");
        let proof = proof::prove(&program, function, proof::Options::default());
        let proof = proof.unwrap_or_else(|violation| panic!("{}, linked: {violation}", self.pair.name()));
        let said = self.built.said["proof"]["events"].as_array().expect("the command line lists events");
        assert_eq!(proof.events.len(), said.len());
        assert!(proof.events.iter().all(|event| matches!(event.deviation, None | Some((0, 0)))));
        // As long as a master sends nothing, its slave polls with interrupts off.
        let polls = matches!(self.pair.guest, Guest::SpiRxSlave(_));
        let is_unbounded = matches!(proof.window, proof::Window::Unbounded(_));
        assert_eq!(is_unbounded, polls, "{}: {:?}", self.pair.name(), proof.window);
    }

    /// Calls both programs and compares.
    fn check(&self, input: &Input) {
        let mut expected_guest = input.guest.clone();
        let sent = input.guest.iter().rev().copied().take(input.count).collect::<Vec<u8>>();
        let called = match self.pair.guest {
            Guest::SpiRx(period) | Guest::SpiDuplex(period) => {
                let alone = self.woven.call(&self.pair, input, &[]);
                let starts: Vec<Cycles> = alone.seen.timed.iter().map(|&(cycle, ..)| cycle).collect();
                let levels = miso(&starts, u64::from((period - 2) / 8), &sent);
                let levels: Vec<_> =
                    levels.into_iter().map(|(cycle, level)| (cycle, spi::MISO, level)).collect();
                self.woven.call(&self.pair, input, &levels)
            }
            Guest::SpiRxSlave(period) => {
                for ppm in [-DRIFT_PPM, DRIFT_PPM] {
                    let begins = self.woven.chip.cycle() + SETUP_CYCLES;
                    let levels = spi::master(begins, period, ppm, &sent);
                    let called = self.woven.call(&self.pair, input, &levels);
                    assert_eq!(called.guest[..input.count], sent, "{}: {ppm} ppm", self.pair.name());
                }
                let levels = spi::master(self.woven.chip.cycle() + SETUP_CYCLES, period, 0, &sent);
                self.woven.call(&self.pair, input, &levels)
            }
            _ => self.woven.call(&self.pair, input, &[]),
        };
        if let Guest::SpiRx(_) | Guest::SpiDuplex(_) | Guest::SpiRxSlave(_) = self.pair.guest {
            expected_guest[..input.count].copy_from_slice(&sent);
        }
        let plain = self.plain.call(&self.pair, input, &[]);
        let at = format!("{}, {} units, {} bytes", self.pair.name(), input.units, input.count);
        assert!(called.host == plain.host, "{at}: the host's memory differs from the unwoven host's");
        let returned = ..self.pair.host.shape.returned_bytes;
        assert_eq!(called.returned[returned], plain.returned[returned], "{at}: what the host returns");
        assert!(called.guest == expected_guest, "{at}: the guest's buffer");
        self.check_times(&called, input, &at);
        self.check_elsewhere(&called, &at);
    }

    /// Stores in RAM outside all buffers are on the stack, no deeper than was proved, or in the homes of registers.
    fn check_elsewhere(&self, called: &Called, at: &str) {
        let stack_bytes = self.built.said["proof"]["stack_bytes"].as_u64().expect("it was proved") as u32;
        let framed = self.built.said["proof"]["stack_framed"].as_bool().expect("it was proved");
        let bottom = u32::from(self.woven.entry_sp);
        // The linker puts them before what is not cleared at the start.
        let homes = u32::from(RAM_FIRST)..u32::from(self.woven.host_at);
        for &address in &called.seen.elsewhere {
            let is_stack = address <= bottom && (framed || address > bottom - stack_bytes);
            assert!(is_stack || homes.contains(&address), "{at}: {address:#x} is written");
        }
    }

    fn check_times(&self, called: &Called, input: &Input, at: &str) {
        let timed = &called.seen.timed;
        match self.pair.guest {
            Guest::SpiTx(period) => {
                let data = called.seen.data_register;
                assert!(
                    timed.iter().all(|&(_, address, _)| address == data),
                    "{at}: another register is written"
                );
                assert_every(timed, period, at);
                let sent: Vec<u8> = timed.iter().map(|&(.., value)| value).collect();
                assert_eq!(sent, input.guest[..input.count], "{at}: what is sent");
            }
            Guest::SpiRx(period) => {
                assert_eq!(timed.len(), input.count, "{at}: bytes that are started");
                // The first one is waited for outside the clock.
                assert_every(&timed[timed.len().min(1)..], period, at);
                let read: Vec<Cycles> = called.seen.received.iter().map(|&(cycle, _)| cycle).collect();
                for (begun, read) in timed.iter().skip(1).zip(&read) {
                    assert_eq!(*read, begun.0 + 1, "{at}: the byte is read behind the start of the next");
                }
            }
            Guest::SpiDuplex(period) => {
                let sent: Vec<u8> = timed.iter().map(|&(.., value)| value).collect();
                assert_eq!(sent, input.guest[..input.count], "{at}: what is sent");
                assert_every(&timed[timed.len().min(1)..], period, at);
            }
            Guest::SpiRxSlave(period) => {
                // The first load throws away what came before.
                let read: Vec<Cycles> =
                    called.seen.received.iter().skip(1).map(|&(cycle, _)| cycle).collect();
                assert_eq!(read.len(), input.count, "{at}: bytes that are read");
                assert!(read.windows(2).all(|pair| pair[1] - pair[0] == u64::from(period)), "{at}: {read:?}");
            }
            Guest::Dmx => {
                let slots = dmx::slots(&called.seen.levels, called.begins);
                assert_eq!(slots, input.guest[..input.count], "{at}: the slots on the line");
                assert!(
                    timed.iter().all(|&(.., value)| value & !2 == 0xA7 & !2),
                    "{at}: other bits of the port"
                );
            }
            Guest::Uart(bit) => {
                assert_every(timed, bit, at);
                let bits: Vec<bool> = timed.iter().map(|&(.., value)| value & 2 != 0).collect();
                let sent: Vec<u8> = bits.chunks(10).map(|frame| uart_byte(frame, at)).collect();
                assert_eq!(sent, input.guest[..input.count], "{at}: what is sent");
                assert!(
                    timed.iter().all(|&(.., value)| value & !2 == 0xA7 & !2),
                    "{at}: other bits of the port"
                );
            }
            Guest::Video(pixel) => {
                assert_every(timed, pixel, at);
                let shown: Vec<u8> = timed.iter().map(|&(.., value)| value).collect();
                let row = input.guest[..input.count].iter();
                let expected: Vec<u8> = row.flat_map(|&byte| (0..8).map(move |bit| byte >> bit)).collect();
                assert_eq!(shown, expected, "{at}: what is shown");
            }
            Guest::Ws2812 | Guest::Lights => {
                let sent = lights(timed, at);
                assert_eq!(sent, input.guest[..input.count], "{at}: what is sent");
                assert!(
                    timed.iter().all(|&(.., value)| value & !1 == 0xA7 & !1),
                    "{at}: other bits of the port"
                );
            }
        }
    }
}

fn assert_every(timed: &[(Cycles, u32, u8)], period: u32, at: &str) {
    for pair in timed.windows(2) {
        assert_eq!(pair[1].0 - pair[0].0, u64::from(period), "{at}: an interval at cycle {}", pair[0].0);
    }
}

fn uart_byte(frame: &[bool], at: &str) -> u8 {
    assert!(frame.len() == 10 && !frame[0] && frame[9], "{at}: a frame has a start bit and a stop bit");
    frame[1..9].iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit))
}

/// What lights see: a bit every 20 cycles, high for 6 or 13 of them.
fn lights(timed: &[(Cycles, u32, u8)], at: &str) -> Vec<u8> {
    let Some(&(first, ..)) = timed.first() else { return Vec::new() };
    let mut line = false;
    let mut edges = Vec::new();
    for &(cycle, _, value) in timed {
        let level = value & 1 != 0;
        if level != line {
            edges.push((cycle - first, level));
            line = level;
        }
    }
    let mut bytes = Vec::new();
    assert_eq!(edges.len() % 16, 0, "{at}: whole bytes");
    for (byte, edges) in edges.chunks(16).enumerate() {
        let mut value = 0;
        for (bit, edge) in edges.chunks(2).enumerate() {
            assert_eq!(edge[0], ((160 * byte + 20 * bit) as u64, true), "{at}: a bit begins");
            let high = edge[1].0 - edge[0].0;
            assert!([6, 13].contains(&high), "{at}: high for {high} cycles");
            value = value << 1 | u8::from(high == 13);
        }
        bytes.push(value);
    }
    bytes
}

/// Units and bytes with which either thread is done first, or has nothing to do; and random ones.
fn inputs(rng: &mut ChaCha20Rng, pair: &Pair, calls: usize) -> Vec<Input> {
    let (unit_bytes, units_max) = pair.host.unit(pair.profile);
    let units_max = units_max.min(160 / unit_bytes);
    let least = pair.guest.bytes_min();
    let mut lengths = vec![(0, 3), (1, least), (1, 2), (2, 1), (units_max, 2), (3, 40), (0, least)];
    let mut below = |limit: usize| ((u64::from(rng.next_u32()) * limit as u64) >> 32) as usize;
    for _ in 0..calls {
        lengths.push((below(units_max), least + below(60)));
    }
    lengths.into_iter().map(|(units, count)| Input::random(rng, pair, units, count)).collect()
}

/// One pair of each host and, besides, of each guest, by each strategy; all in a long run, and those that `SELVEDGE_PAIRS`
/// is a part of the name of when it is set. With their places in the list.
fn taken(rng: &mut ChaCha20Rng) -> Vec<(usize, Pair)> {
    let mut all: Vec<(usize, Pair)> = pairs().into_iter().enumerate().collect();
    if let Ok(words) = std::env::var("SELVEDGE_PAIRS") {
        all.retain(|(_, pair)| pair.name().contains(&words));
        return all;
    }
    if is_soak() {
        return all;
    }
    all.sort_by_cached_key(|_| rng.next_u64());
    let (mut hosts, mut guests) = (BTreeSet::new(), BTreeSet::new());
    all.retain(|(_, pair)| {
        hosts.insert((pair.host.name(), pair.strategy))
            | guests.insert((pair.guest.function(), pair.strategy))
    });
    all
}

/// What is found out about a pair, for the list.
fn found(pair: &Pair, interrupts: bool, calls: usize, rng: &mut ChaCha20Rng) -> Option<String> {
    let bench = match (Bench::new(pair, interrupts), pair.expected) {
        (Err(Unbuilt::NoCompiler), _) => return None,
        (Err(Unbuilt::Refused(found)), Expected::Refused(words)) => {
            assert!(found.contains(words), "{}: found {found}, expected {words}", pair.name());
            return Some(words.to_owned());
        }
        (Err(Unbuilt::Refused(found) | Unbuilt::Faulty(found)), expected) => {
            panic!("{}: expected {expected:?}, found {found}", pair.name())
        }
        (Ok(_), Expected::Refused(words)) => panic!("{} is woven: expected `{words}`", pair.name()),
        (Ok(bench), _) => bench,
    };
    bench.prove_linked();
    let inputs = inputs(rng, pair, calls);
    inputs.iter().for_each(|input| bench.check(input));
    Some(format!("{} inputs", inputs.len()))
}

#[test]
fn woven_functions_keep_time_and_do_both_jobs() {
    let mut rng = seeded();
    let taken: Vec<(usize, Pair, u64)> =
        taken(&mut rng).into_iter().map(|(index, pair)| (index, pair, rng.next_u64())).collect();
    // Weaving takes longer than running: a pair is called with interrupts on or off.
    let (settings, calls): (&[bool], usize) =
        if is_soak() { (&[true, false], soak_calls() / 2) } else { (&[], CALLS) };
    let (next, differing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some((index, pair, seed)) = taken.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut rng = ChaCha20Rng::seed_from_u64(*seed);
            let by_chance = [seed.is_multiple_of(2)];
            for &interrupts in if settings.is_empty() { &by_chance[..] } else { settings } {
                // What is wrong with one is printed, and the others are looked at all the same.
                let found = catch_unwind(AssertUnwindSafe(|| found(pair, interrupts, calls, &mut rng)));
                match found {
                    Ok(Some(found)) => println!("{index}: {}: {found}", pair.name()),
                    Ok(None) => return println!("skip: woven functions: avr-gcc is not installed"),
                    Err(_) => _ = differing.fetch_add(1, Ordering::Relaxed),
                }
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, |count| count.get());
        (0..workers).for_each(|_| _ = scope.spawn(work));
    });
    assert_eq!(differing.into_inner(), 0, "pairs that differ from what is expected of them");
}

#[test]
fn what_other_compilers_make_is_woven_too() {
    let mut rng = seeded();
    for compiler in COMPILERS {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let is_c = |host: &&Host| host.file.ends_with(".c") && host.flag != Some("-O0");
        let mut hosts: Vec<Host> = HOSTS.iter().filter(is_c).copied().collect();
        if !is_soak() {
            hosts.sort_by_cached_key(|_| rng.next_u64());
            hosts.truncate(COMPILED_HOSTS);
        }
        let all = |host: &Host| host.with.iter().copied().chain([host.file]).collect::<Vec<_>>();
        let files: BTreeSet<&str> = hosts.iter().flat_map(all).filter(|file| file.ends_with(".c")).collect();
        if !compiler.compile(scratch.path(), &Vec::from_iter(files)) {
            continue;
        }
        for host in hosts {
            let compiled = |file: &&'static str| -> &'static str {
                let path = scratch.path().join(file).with_extension("s");
                if file.ends_with(".c") { path.display().to_string().leak() } else { file }
            };
            let with: Vec<&str> = host.with.iter().map(compiled).collect();
            let host = Host { file: compiled(&host.file), with: with.leak(), flag: None, ..host };
            let pair = Pair {
                host,
                guest: Guest::SpiTx(130),
                profile: &ATMEGA128,
                growth: "10",
                strategy: "interleave",
                expected: Expected::Woven,
            };
            match found(&pair, true, CALLS, &mut rng) {
                Some(found) => println!("{compiler:?}: {}: {found}", pair.name()),
                None => return println!("skip: other compilers' C: avr-gcc is not installed"),
            }
        }
    }
}

/// One pair's measurement.
struct Measured {
    recovered: f64,
    line_rate: f64,
}

impl Bench {
    /// The share of the cycles between the first and the last timed store, without the guest's own instructions, that
    /// the unwoven host takes for what the host did in them.
    fn measure(&self, rng: &mut ChaCha20Rng) -> Measured {
        let (unit_bytes, units) = self.pair.host.unit(self.pair.profile);
        let input = Input::random(rng, &self.pair, units, MEASURED_BYTES);
        let (woven, plain) =
            (self.woven.call(&self.pair, &input, &[]), self.plain.call(&self.pair, &input, &[]));
        // The woven image may have its memory elsewhere, behind the homes of registers.
        let accesses = |called: &Called, ready: &Ready| -> Vec<u32> {
            called.seen.host.iter().map(|&(_, address)| address - u32::from(ready.host_at)).collect()
        };
        let same = accesses(&woven, &self.woven) == accesses(&plain, &self.plain);
        assert!(same, "{}: the host's accesses differ", self.pair.name());
        let course = |called: &Called| {
            let accesses = called.seen.host.iter().map(|&(cycle, _)| cycle).collect();
            Course { begins: called.begins, accesses }
        };
        let (beside, alone) = (course(&woven), course(&plain));
        let written: Vec<Cycles> = woven.seen.timed.iter().map(|&(cycle, ..)| cycle).collect();
        let kept = Kept::of(&written, &beside, &alone);
        let round_cycles = self.built.said["guest_cycles_per_round"].as_f64().expect("it was said");
        Measured {
            recovered: kept.recovered(round_cycles),
            line_rate: kept.share(&alone, units * unit_bytes),
        }
    }
}

#[test]
fn what_weaving_recovers_is_measured() {
    let mut rng = seeded();
    let names = ["pair", "words", "growth", "estimated", "recovered", "line rate"];
    let mut columns = names.map(Column::new);
    for (index, unit) in [(2, "x"), (3, "%"), (4, "%"), (5, "%")] {
        columns[index] = Column::new(names[index]).unit(unit).decimals(1);
    }
    let mut table = Table::new("Cycles that woven hosts keep, 256 bytes sent", columns);
    for pair in pairs().into_iter().filter(|pair| matches!(pair.guest, Guest::SpiTx(_))) {
        let period_cycles = if pair.strategy == "cocall" { 130 } else { 66 };
        let is_sampled = pair.guest == Guest::SpiTx(period_cycles) && pair.host.is_light();
        if !is_soak() && !is_sampled {
            continue;
        }
        let blank = |words: &str| {
            let first = words.lines().next().unwrap_or_default();
            let rest = [(); 5].map(|()| Entry::Blank);
            let [words, growth, estimated, recovered, line] = rest;
            [format!("{}: {first}", pair.name()).into(), words, growth, estimated, recovered, line]
        };
        let line: [Entry; 6] = match Bench::new(&pair, true) {
            Ok(bench) => {
                let measured = bench.measure(&mut rng);
                assert!(measured.recovered > 0.0 && measured.recovered <= 1.0, "{}", pair.name());
                let choice = &bench.built.said["choice"];
                let of = |key: &str| choice[key].as_f64().expect("a number");
                [
                    pair.name().into(),
                    choice["words"].as_u64().expect("a number").into(),
                    of("growth").into(),
                    (100.0 * of("recovered_estimate")).into(),
                    (100.0 * measured.recovered).into(),
                    (100.0 * measured.line_rate).into(),
                ]
            }
            Err(Unbuilt::NoCompiler) => {
                println!("skip: what weaving recovers: avr-gcc is not installed");
                return;
            }
            Err(Unbuilt::Refused(words) | Unbuilt::Faulty(words)) => blank(&words),
        };
        table.push(line);
    }
    println!("{}", table.text(None));
    assert!(table.line_count() > 0);
}
