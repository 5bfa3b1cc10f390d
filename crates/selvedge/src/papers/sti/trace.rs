//! A program of `firmware/baseline` on the simulated chip, and what is seen of it.
//!
//! Owns what its arrays are filled with and what is watched; judges nothing.

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, Chip, Image, Pin, Stop};
use std::ops::Range;

use selvedge::exchange::Course;

use super::cells::{Case, Cipher, Direction, Registers, Scheme};
use super::program::OBJECT_BYTES;

/// More than the longest run: 256 bytes at f/128, or a long message of the slowest cipher.
const CYCLES_MAX: Cycles = 40_000_000;
/// Bytes of the exchange whose instructions are kept one by one: after the first few all are alike.
pub const SHOWN: Range<usize> = 8..12;

/// Where `i` is in `struct rc4`.
const RC4_INDEX: usize = 256;
/// `BASELINE_TURN`.
const TURN: u16 = 512;

/// What a program is given.
#[derive(Clone, Debug)]
pub struct Input {
    objects: Vec<u8>,
    message: Vec<u8>,
    /// Bytes to send, or those that come in.
    pub exchanged: Vec<u8>,
}

impl Input {
    /// Random, from a seed.
    pub fn random(case: &Case, seed: u64) -> Input {
        let mut state = seed;
        // SplitMix64's step, one byte of each.
        let mut bytes = |count: usize| -> Vec<u8> {
            let step = |_| {
                state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
                let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
                (mixed ^ mixed >> 31) as u8
            };
            (0..count).map(step).collect()
        };
        let (mut objects, mut message) = (bytes(OBJECT_BYTES), bytes(case.host.message_bytes));
        let exchanged = bytes(case.direction.exchange_bytes());
        if case.host.cipher == Cipher::Rc4Line {
            // Its state has made a multiple of 32 bytes, and its message is zero at start (crypto.h).
            objects[RC4_INDEX] = 0;
            message.fill(0);
        }
        Input { objects, message, exchanged }
    }
}

/// An instruction that began.
pub type Step = (Cycles, u32);

/// What is seen of a run.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// When the cipher was called.
    pub begins: Cycles,
    /// Each write of SPDR, with its byte.
    pub written: Vec<(Cycles, u8)>,
    /// Each load from the cipher's memory, its objects and its message behind them. Stores are not looked at: what is
    /// sent as it is produced is not stored.
    pub loads: Vec<(Cycles, u32)>,
    /// Each time in the handler: from when the core left the program until it goes on.
    pub handler: Vec<Range<Cycles>>,
    /// The instructions of a few bytes.
    pub steps: Vec<Step>,
    /// Reads of SPSR meanwhile.
    pub polled: Vec<Cycles>,
    /// Edges of SCK meanwhile.
    pub edges: Vec<Cycles>,
    /// What the cipher left in its memory.
    pub cipher_memory: Vec<u8>,
    /// What the exchange left in its memory.
    pub exchange_memory: Vec<u8>,
}

impl Trace {
    /// How far the cipher was when.
    pub fn course(&self) -> Course {
        Course { begins: self.begins, accesses: self.loads.iter().map(|&(cycle, _)| cycle).collect() }
    }
}

/// Where a program keeps its arrays.
struct Places {
    entry: u32,
    data: u32,
    status: u32,
    clock: Pin,
    memory: [Range<u32>; 2],
}

/// Watches.
struct Seen {
    places: Places,
    trace: Trace,
}

impl Seen {
    fn is_shown(&self) -> bool {
        SHOWN.contains(&self.trace.written.len())
    }

    fn loaded(&mut self, cycle: Cycles, address: u32) {
        let mut before = 0;
        for memory in &self.places.memory {
            if memory.contains(&address) {
                self.trace.loads.push((cycle, before + address - memory.start));
            }
            before += memory.end - memory.start;
        }
    }
}

impl isa::Observer for Seen {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        if address == self.places.entry && self.trace.begins == 0 {
            self.trace.begins = cycle;
        }
        if self.is_shown() {
            self.trace.steps.push((cycle, address));
        }
    }

    fn load(&mut self, cycle: Cycles, address: u32, _: u8) {
        self.loaded(cycle, address);
        if address == self.places.status && self.is_shown() {
            self.trace.polled.push(cycle);
        }
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == self.places.data {
            self.trace.written.push((cycle, value));
        }
    }
}

impl isa::avr::Observer for Seen {
    fn interrupt(&mut self, cycle: Cycles, _: u8) {
        self.trace.handler.push(cycle..Cycles::MAX);
    }

    fn interrupt_ends(&mut self, cycle: Cycles) {
        self.trace.handler.last_mut().expect("it began").end = cycle;
    }

    fn level(&mut self, cycle: Cycles, pin: Pin, _: bool) {
        if pin == self.places.clock && self.is_shown() {
            self.trace.edges.push(cycle);
        }
    }
}

/// SPCR and SPSR of a master whose clock is the core's over `divider`.
fn settings(divider: u32) -> [u8; 2] {
    let (rate, double) = match divider {
        2 => (0, 1),
        4 => (0, 0),
        8 => (1, 1),
        16 => (1, 0),
        32 => (2, 1),
        64 => (2, 0),
        128 => (3, 0),
        other => unreachable!("{other} is no divider"),
    };
    [0x50 | rate, double]
}

/// What to run.
pub struct Run<'a> {
    /// The program.
    pub image: &'a Image,
    /// The function that computes in it.
    pub function: &'a str,
    /// What it was built for.
    pub case: &'a Case,
    /// As what; none is the cipher alone.
    pub scheme: Option<Scheme>,
    /// The SPI's.
    pub divider: u32,
    /// What it is given.
    pub input: &'a Input,
}

impl Run<'_> {
    fn address(&self, name: &str, space: Space) -> u32 {
        let symbol = self.image.symbol(name).unwrap_or_else(|| panic!("the program has a `{name}`"));
        assert_eq!(symbol.space, space, "{name}");
        symbol.address
    }

    fn data(&self, name: &str) -> u16 {
        self.address(name, Space::Data) as u16
    }

    /// Where the exchange's bytes lie, if there is one.
    fn exchange(&self) -> Range<u16> {
        let Some(scheme) = self.scheme.filter(|&scheme| scheme != Scheme::Coupled) else { return 0..0 };
        let at = self.data("exchange_memory") + exchange_at(self.case, scheme);
        at..at + self.input.exchanged.len() as u16
    }

    /// The chip with the program in it and its arrays filled.
    fn ready(&self) -> Chip {
        let input = self.input;
        let units = (input.message.len() / self.case.host.cipher.unit_bytes()) as u16;
        let exchange = self.exchange();
        let at = self.scheme.map_or(0, |scheme| exchange_at(self.case, scheme));
        let mut chip = Chip::new(&ATMEGA128);
        chip.load(self.image).expect("the program fits the chip");
        let arrays: [(u16, &[u8]); 7] = [
            (self.data("spi_settings"), &settings(self.divider)),
            (self.data("cipher_length"), &units.to_le_bytes()),
            (self.data("exchange_at"), &at.to_le_bytes()),
            (self.data("exchange_bytes"), &(exchange.len() as u16).to_le_bytes()),
            (self.data("cipher_objects"), &input.objects),
            (self.data(self.case.host.message()), &input.message),
            (exchange.start, &input.exchanged[..exchange.len()]),
        ];
        for (at, bytes) in arrays {
            for (offset, &byte) in bytes.iter().enumerate() {
                assert!(chip.set_memory(at + offset as u16, byte), "the arrays are in SRAM");
            }
        }
        chip
    }

    /// Runs it; `miso` is that pin's levels from their cycles on.
    ///
    /// # Errors
    /// How it stopped, when that is not at its `break`.
    pub fn trace(&self, miso: &[(Cycles, bool)]) -> Result<Trace, String> {
        let mut chip = self.ready();
        let exchange = self.exchange();
        let range = |at: u16, bytes: usize| u32::from(at)..u32::from(at) + bytes as u32;
        let cipher = [
            range(self.data("cipher_objects"), OBJECT_BYTES),
            range(self.data(self.case.host.message()), self.input.message.len()),
        ];
        let register = |name| u32::from(ATMEGA128.register(name).expect("the chip has an SPI").address);
        let places = Places {
            entry: self.address(self.function, Space::Flash),
            data: register("SPDR"),
            status: register("SPSR"),
            clock: Pin { port: b'B', bit: 1 },
            memory: cipher.clone(),
        };
        let mut seen = Seen { places, trace: Trace::default() };
        for &(cycle, level) in miso {
            // The ATmega128's MISO.
            chip.set_input(Pin { port: b'B', bit: 3 }, Some(level), cycle, &mut seen);
        }
        let stop = chip.run_until(CYCLES_MAX, &mut seen);
        if stop != Stop::Break {
            return Err(format!("it does not end, but with {stop:?}"));
        }
        let bytes = |range: Range<u32>| range.map(|address| chip.memory(address as u16).expect("SRAM"));
        Ok(Trace {
            cipher_memory: cipher.into_iter().flat_map(bytes).collect(),
            exchange_memory: bytes(range(exchange.start, exchange.len())).collect(),
            ..seen.trace
        })
    }
}

/// Where the bytes of an exchange lie in its memory: `firmware/baseline/baseline.h` says how they end.
fn exchange_at(case: &Case, scheme: Scheme) -> u16 {
    let end = match (case.direction, scheme) {
        (Direction::Receive, _) => TURN + 1,
        (Direction::Send, Scheme::Reserved) if case.host.registers == Registers::Saved => TURN,
        (Direction::Send, _) => TURN - 1,
    };
    end - case.direction.exchange_bytes() as u16
}
