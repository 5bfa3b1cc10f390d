//! Hosts and guests woven in this process, proved, and run beside the two by themselves.
//!
//! Owns: guests as the preprocessor leaves them, what they do by themselves, and what a woven function has
//! to do to agree with both: every timed instruction at its cycle with its byte, and the host's memory, result and the
//! registers that a caller may rely on. Knows nothing of how weaving is done, and takes a woven function as text.
#![allow(dead_code)] // each program that includes it uses some of it

#[path = "../assembly/mod.rs"]
pub mod assembly;
#[path = "../structured/mod.rs"]
pub mod structured;

use std::collections::BTreeSet;

use assembly::{Machine, Places, machine};
use isa::avr::{Chip, CoreType, Observer, Stop};
use structured::MEMORY_BYTES;
use weave::Request;
use weave::directive::{Directive, Parameters};
use weave::plan::Strategy;
use weave::program::Program;
use weave::source::Source;

/// Where the host's memory, the guest's buffer and the homes of registers are.
const HOST_AT: u16 = 0x0200;
const GUEST_AT: u16 = 0x0300;
const HOMES_AT: u16 = 0x0500;
const GUEST_BYTES: usize = 16;
/// More than the longest pair takes.
const CYCLES_MAX: u64 = 2_000_000;

/// A guest with its number.
#[derive(Clone, Debug)]
pub struct Guest {
    pub function: &'static str,
    /// Cycles: PERIOD, BIT or PIXEL.
    pub cycles: u32,
    pub text: String,
}

/// The shipped guests, and some that ask for more: file, function, the name of its number, the least and the most that
/// are tried.
pub const GUESTS: [(&str, &str, &str, u32, u32); 10] = [
    (include_str!("../../../../firmware/node/guest_spi_tx.S"), "spi_tx", "PERIOD", 18, 200),
    (include_str!("../../../../firmware/node/guest_spi_rx.S"), "spi_rx", "PERIOD", 18, 200),
    (include_str!("../../../../firmware/node/guest_uart_tx.S"), "uart_tx", "BIT", 16, 150),
    (include_str!("../../../../firmware/node/guest_ws2812.S"), "ws2812", "BIT", 20, 20),
    (include_str!("../../../../firmware/node/guest_video.S"), "video_row", "PIXEL", 4, 40),
    (include_str!("guest_flag_t.s"), "flag_t", "PERIOD", 30, 200),
    (include_str!("guest_near.s"), "near", "PERIOD", 36, 200),
    (include_str!("guest_zero.s"), "zero", "PERIOD", 36, 200),
    (include_str!("guest_color.s"), "color", "PERIOD", 30, 200),
    (include_str!("guest_own.s"), "own", "PERIOD", 50, 200),
];

/// What the C preprocessor puts in for the ATmega128.
const MACROS: [(&str, &str); 8] = [
    ("__AVR_DEVICE_NAME__", "atmega128"),
    ("_SFR_IO_ADDR(SPDR)", "0x0f"),
    ("_SFR_IO_ADDR(WS2812_PORT)", "0x18"),
    ("_SFR_IO_ADDR(UART_PORT)", "0x18"),
    ("_SFR_IO_ADDR(VIDEO_PORT)", "0x18"),
    ("WS2812_BIT", "0"),
    ("UART_BIT", "1"),
    ("WAIT_ROUNDS", "((PERIOD + 5) / 6)"),
];

/// One of the shipped guests, by its place in the list.
pub fn guest(index: usize, cycles: u32) -> Guest {
    let (file, function, number, ..) = GUESTS[index];
    let code = file.lines().filter(|line| !line.starts_with('#') && !line.trim_start().starts_with("//"));
    let mut text: String = code.flat_map(|line| [line, "\n"]).collect();
    for (name, value) in MACROS {
        text = text.replace(name, value);
    }
    Guest { function, cycles, text: text.replace(number, &cycles.to_string()) }
}

pub fn read(text: &str, function: &str) -> Result<Program, weave::error::Error> {
    let source = Source::parse("pair.s", text)?;
    let core = Some(CoreType::AvrePc2);
    Ok(Program::read(&[source], &[function], &Parameters::new(), core)?.0)
}

/// What both are called with.
#[derive(Clone, Debug)]
pub struct Input {
    pub memory: [u8; MEMORY_BYTES],
    pub number: u8,
    pub message: [u8; GUEST_BYTES],
    /// Bytes of the message, from one on.
    pub count: u8,
}

/// Stores to I/O registers: when, where, what.
pub type Stores = Vec<(u64, u32, u8)>;
/// The same, where the time counts from the first event on, and only directives say it.
type Expected = Vec<(Option<u64>, u32, u8)>;

/// What a call has done.
#[derive(Debug, PartialEq, Eq)]
pub struct Done {
    pub memory: Vec<u8>,
    pub message: Vec<u8>,
    /// r25:r24.
    pub returned: u16,
    pub stores: Stores,
    /// It does not come back, or with something changed that is its caller's.
    pub wrong: Option<String>,
}

#[derive(Default)]
struct Seen(Stores);

impl isa::Observer for Seen {
    fn store(&mut self, cycle: u64, address: u32, value: u8) {
        // SPL, SPH and SREG are nobody's message.
        if address < 0x5d {
            self.0.push((cycle, address, value));
        }
    }
}

impl Observer for Seen {}

/// Registers with which parameters are passed.
fn enter(chip: &mut Chip, input: &Input, pairs: &[(u8, u16)]) -> Vec<u8> {
    for number in 0..32 {
        chip.set_register(number, if number == 1 { 0 } else { number.wrapping_mul(37) ^ input.number });
    }
    for &(register, value) in pairs {
        chip.set_register(register, value as u8);
        chip.set_register(register + 1, (value >> 8) as u8);
    }
    for (at, bytes) in [(HOST_AT, &input.memory[..]), (GUEST_AT, &input.message[..])] {
        for (address, &byte) in (at..).zip(bytes) {
            assert!(chip.set_memory(address, byte));
        }
    }
    (0..32).map(|number| chip.register(number)).collect()
}

fn call(program: &Program, name: &str, input: &Input, pairs: &[(u8, u16)]) -> Done {
    let places = Places::from([(format!(".Lweave_{name}_homes"), HOMES_AT)]);
    let Machine { mut chip, .. } = machine(program, name, &places);
    let registers = enter(&mut chip, input, pairs);
    let (sp, sreg) = (chip.sp(), chip.sreg());
    let mut seen = Seen::default();
    let stop = chip.run_until(chip.cycle() + CYCLES_MAX, &mut seen);
    let changed =
        (1..18).chain([28, 29]).find(|&number| chip.register(number) != registers[usize::from(number)]);
    let wrong = match changed {
        _ if stop != Stop::Break => Some(format!("it does not come back: {stop:?}")),
        _ if chip.sp() != sp => Some(format!("the stack pointer is {:#x}, expected {sp:#x}", chip.sp())),
        _ if chip.sreg() >> 7 != sreg >> 7 => Some("interrupts are not as they were".to_owned()),
        Some(number) => Some(format!("r{number} is not as it was")),
        None => None,
    };
    let bytes = |at: u16, count: usize| -> Vec<u8> {
        (at..).take(count).map(|address| chip.memory(address).expect("it is SRAM")).collect()
    };
    let returned = u16::from_le_bytes([chip.register(24), chip.register(25)]);
    let (memory, message) = (bytes(HOST_AT, MEMORY_BYTES), bytes(GUEST_AT, GUEST_BYTES));
    Done { memory, message, returned, stores: seen.0, wrong }
}

/// An event of the guest by itself.
struct Event {
    /// The byte address of its instruction.
    address: u32,
    at: u32,
    maybe: bool,
}

/// Both threads by themselves.
pub struct Pair {
    pub host: Program,
    pub guest: Program,
    pub function: &'static str,
    period: u32,
    /// The guest's events in their order.
    events: Vec<Event>,
    plain: Machine,
}

impl Pair {
    /// To weave them by a strategy, within so many times their size.
    pub fn request(&self, strategy: Strategy, growth_max: f64) -> Request<'_> {
        let new = Request::new((&self.host, "host"), (&self.guest, self.function), "woven");
        Request { strategy, growth_max, ..new }
    }

    /// # Panics
    /// When a text is no program.
    pub fn new(host: &str, guest: &Guest) -> Pair {
        let host = read(host, "host").unwrap_or_else(|error| panic!("{error}\n{host}"));
        let text = &guest.text;
        let guest_program = read(text, guest.function).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let function = guest_program.function(guest.function).expect("it was asked for");
        let period = function.directives.iter().find_map(|written| match &written.directive {
            Directive::Clock { periods, .. } => Some(periods[0]),
            _ => None,
        });
        let plain = machine(&guest_program, guest.function, &Places::new());
        let steps = guest_program.code.iter().zip(&plain.addresses);
        let said = steps.flat_map(|(step, &address)| step.directives.iter().map(move |said| (said, address)));
        let instants = said.flat_map(|(written, address)| match &written.directive {
            Directive::Event { at, repeats, maybe, .. } => {
                let event = |at| Event { address, at, maybe: *maybe };
                // Each loop around an event repeats all that is inside it.
                let all = repeats.iter().fold(vec![*at], |all, repeat| {
                    let again = (0..repeat.times).map(|time| time * repeat.every_cycles);
                    again.flat_map(|later| all.iter().map(move |at| at + later)).collect()
                });
                all.into_iter().map(event).collect()
            }
            _ => Vec::new(),
        });
        let mut events: Vec<Event> = instants.collect();
        events.sort_by_key(|event| event.at);
        let period = period.expect("a shipped guest has a clock");
        Pair { host, guest: guest_program, function: guest.function, period, events, plain }
    }

    /// What the host does by itself.
    pub fn host_alone(&self, input: &Input) -> Done {
        call(&self.host, "host", input, &[(24, HOST_AT), (22, input.number.into())])
    }

    /// The guest's stores in its order, with their cycles from the first event on where the directives say them; and
    /// its buffer.
    fn guest_alone(&self, input: &Input) -> (Expected, Vec<u8>) {
        let mut chip = self.plain.chip.clone();
        enter(&mut chip, input, &[(24, GUEST_AT), (22, input.count.into())]);
        let (mut stores, mut round, mut before) = (Vec::new(), 0_u64, None);
        loop {
            let pc = chip.pc();
            let mut seen = Seen::default();
            if chip.run_until(chip.cycle() + 1, &mut seen) == Stop::Break {
                break;
            }
            // The next instant of this instruction; its first one in the round behind when there is none.
            let instants = || self.events.iter().filter(|event| event.address == pc).map(|event| event.at);
            let later = instants().find(|&at| before.is_none_or(|before| at > before));
            let at = later.or(instants().next());
            if let Some(at) = at {
                round += u64::from(later.is_none());
                before = Some(at);
            }
            let time = at.map(|at| round * u64::from(self.period) + u64::from(at));
            stores.extend(seen.0.into_iter().map(|(_, address, value)| (time, address, value)));
        }
        let message = (GUEST_AT..).take(GUEST_BYTES).map(|address| chip.memory(address).expect("SRAM"));
        (stores, message.collect())
    }

    /// Calls the woven function.
    pub fn woven(&self, woven: &Program, name: &str, input: &Input) -> Done {
        let host = [(24, HOST_AT), (22, input.number.into())];
        let guest = [(20, GUEST_AT), (18, input.count.into())];
        call(woven, name, input, &[host, guest].concat())
    }

    /// Whether a woven call did what the guest does by itself, each event at its cycle.
    ///
    /// # Errors
    /// What is not so.
    pub fn keeps_time(&self, done: &Done, input: &Input) -> Result<(), String> {
        let (expected, message) = self.guest_alone(input);
        let written = |stores: &mut dyn Iterator<Item = (u32, u8)>| stores.collect::<Vec<_>>();
        let found_bytes = written(&mut done.stores.iter().map(|&(_, address, value)| (address, value)));
        let bytes = written(&mut expected.iter().map(|&(_, address, value)| (address, value)));
        if found_bytes != bytes {
            return Err(format!("`{}` writes {found_bytes:x?}, expected {bytes:x?}", self.function));
        }
        let first = done.stores.iter().zip(&expected).find(|(_, expected)| expected.0.is_some());
        let first = first.map_or(0, |(found, expected)| found.0.wrapping_sub(expected.0.unwrap_or(0)));
        for (found, expected) in done.stores.iter().zip(&expected) {
            if expected.0.is_some_and(|time| found.0.wrapping_sub(first) != time) {
                let times: Vec<u64> = done.stores.iter().map(|store| store.0.wrapping_sub(first)).collect();
                return Err(format!("writes at {times:?}, expected {:?}", expected.0));
            }
        }
        if done.message != message { Err("the guest's buffer differs".to_owned()) } else { Ok(()) }
    }

    /// Whether stores are at the cycles that the directives say of each, from a first event on, however many rounds
    /// there are.
    pub fn is_on_the_clock(&self, stores: &[(u64, u32, u8)]) -> bool {
        let first = stores.first().map_or(0, |store| store.0);
        let mut due = self.events.iter().cycle().zip(0_u64..);
        let count = self.events.len() as u64;
        stores.iter().all(|&(cycle, ..)| {
            // What happens only perhaps may be left out.
            let mut passed = due.by_ref().map(|(event, index)| {
                (index / count * u64::from(self.period) + u64::from(event.at), event.maybe)
            });
            let met = passed.find(|&(time, maybe)| time == cycle - first || !maybe);
            met.is_some_and(|(time, _)| time == cycle - first)
        })
    }

    /// Whether a woven call sends its message on the clock, and others behind it, whose count begins at 0: each of 256
    /// rounds, and on a clock of its own.
    pub fn repeats(&self, done: &Done, input: &Input) -> bool {
        let bytes = self.guest_alone(input).0.len().min(done.stores.len());
        let (asked, more) = done.stores.split_at(bytes);
        let mut others = more.chunks(256 * self.events.len());
        self.is_on_the_clock(asked) && others.all(|message| self.is_on_the_clock(message))
    }

    /// The I/O registers that the guest writes.
    pub fn written(&self, input: &Input) -> BTreeSet<u32> {
        self.guest_alone(input).0.into_iter().map(|(_, address, _)| address).collect()
    }

    /// Whether a woven call did what the host does by itself.
    ///
    /// # Errors
    /// What is not so.
    pub fn computes(&self, done: &Done, plain: &Done) -> Result<(), String> {
        if let Some(wrong) = &done.wrong {
            return Err(wrong.clone());
        }
        if done.memory != plain.memory {
            return Err(format!("memory is {:x?}, expected {:x?}", done.memory, plain.memory));
        }
        if done.returned != plain.returned {
            return Err(format!("{:#x} is returned, expected {:#x}", done.returned, plain.returned));
        }
        Ok(())
    }
}
