//! Programs of `firmware/kernel` on the simulated chips, and finding the kernel's data in them.

pub mod budget;
pub mod calls;
pub mod follow;
pub mod model;

use std::collections::BTreeMap;

use isa::Cycles;
use isa::avr::chip::Settings;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Pin, Profile, Stop};

use crate::tasks::{self, Stacks, data};

pub const CHIPS: [&Profile; 2] = [&ATMEGA128, &ATMEGA328P];
/// The kernel, and what of it is linked by who calls it.
pub const KERNEL: &str = "node/kernel.S";
const KERNEL_EEPROM: &str = "node/kernel_eeprom.c";
/// The programs of `firmware/kernel`, and what each says in the end.
pub const PROGRAMS: [Source; 3] = [
    Source { name: "tasks", with: &[], says: "pdppwdpHabHcTOto22OoTtOodTtTt1erfd." },
    Source { name: "messages", with: &[], says: "FadbSFnppcAnn." },
    EEPROM,
];
/// What the model of the kernel follows; it says nothing.
pub const OBEY: Source = Source { name: "obey", with: &[], says: "" };
pub const EEPROM: Source = Source { name: "eeprom", with: &[KERNEL_EEPROM], says: "wrABCDEFlh=." };
const TICK_CYCLES: Cycles = 1500;
/// So slow that a write of the EEPROM takes some hundreds of cycles, and ends at any of them.
const CLOCK_HZ: u64 = 100_000;
/// More than a program takes.
const CYCLES_MAX: Cycles = 200_000;
const LEVEL_TASK: u8 = 0xFF;
const LEVEL_IDLE: u8 = 0;
const LEVEL_MAIN: u8 = 0x40;
const PRIORITY_IDLE: u8 = 255;
/// Tasks in one queue, at most: more are a circle.
const TASKS_MAX: usize = 16;
const BREAK: [u8; 2] = 0x9598u16.to_le_bytes();

/// A program of `firmware/kernel`.
pub struct Source {
    pub name: &'static str,
    /// Files of `firmware` beside it and the kernel.
    pub with: &'static [&'static str],
    pub says: &'static str,
}

/// A program on a chip that is about to execute its main(), and where the kernel's data is.
pub struct Program {
    pub chip: Chip,
    pub image: Image,
    pub interrupt: Pin,
    /// A function of the kernel by its address.
    pub services: BTreeMap<u32, String>,
    pub stacks: Stacks,
    run_queue: u16,
    running: u16,
    level: u16,
    pub idle: u16,
    main: u32,
}

/// The vector of the interrupt that was answered.
pub struct Entered(pub Option<u8>);

impl isa::Observer for Entered {}

impl isa::avr::Observer for Entered {
    fn interrupt(&mut self, _cycle: Cycles, vector: u8) {
        self.0 = Some(vector);
    }
}

impl Source {
    /// On a chip with a slow clock; none after saying that there is no avr-gcc.
    pub fn load(&self, profile: &'static Profile) -> Option<Program> {
        self.load_at(profile, CLOCK_HZ)
    }

    /// On a chip with this clock.
    pub fn load_at(&self, profile: &'static Profile, clock_hz: u64) -> Option<Program> {
        let own = format!("kernel/{}.c", self.name);
        let sources: Vec<&str> =
            [own.as_str(), KERNEL].into_iter().chain(self.with.iter().copied()).collect();
        let image = tasks::image(profile, &[&format!("-DTICK_CYCLES={TICK_CYCLES}")], &sources)?;
        Some(Program::new(profile, clock_hz, image))
    }
}

impl Program {
    fn new(profile: &'static Profile, clock_hz: u64, mut image: Image) -> Program {
        // Behind its CLI, where it would go round for ever.
        let halted = image.symbol("AvrXHalt").expect("each program halts").address as usize + 2;
        image.flash[0].bytes[halted..halted + 2].copy_from_slice(&BREAK);
        let mut chip = Chip::with_settings(profile, Settings { clock_hz, ..Settings::default() });
        chip.load(&image).expect("the program fits the chip");
        let is_service = |symbol: &&isa::avr::image::Symbol| {
            symbol.space == Space::Flash && symbol.name.starts_with("AvrX")
        };
        let services =
            image.symbols.iter().filter(is_service).map(|symbol| (symbol.address, symbol.name.clone()));
        let mut program = Program {
            interrupt: Pin { port: b'D', bit: if profile.name == ATMEGA128.name { 0 } else { 2 } },
            services: services.collect(),
            stacks: Stacks::of(&image),
            run_queue: data(&image, "avrx_run_queue"),
            running: data(&image, "avrx_running"),
            level: data(&image, "avrx_level"),
            idle: data(&image, "avrx_idle"),
            main: image.symbol("main").expect("the program has a main").address,
            image,
            chip,
        };
        program.chip = program.begin(program.chip.clone());
        program
    }

    /// From a reset to main(), without an interrupt.
    pub fn begin(&self, mut chip: Chip) -> Chip {
        let cycle = chip.cycle();
        chip.set_input(self.interrupt, Some(true), cycle, &mut ());
        while chip.pc() != self.main {
            assert_eq!(chip.run_until(chip.cycle() + 1, &mut ()), Stop::Reached, "it comes to main");
        }
        chip
    }

    pub fn byte(&self, chip: &Chip, address: u16) -> u8 {
        chip.memory(address).expect("the kernel's data is in RAM")
    }

    pub fn word(&self, chip: &Chip, address: u16) -> u16 {
        u16::from_le_bytes([self.byte(chip, address), self.byte(chip, address + 1)])
    }

    /// A variable of the program.
    pub fn data(&self, name: &str) -> u16 {
        data(&self.image, name)
    }

    pub fn running(&self, chip: &Chip) -> u16 {
        self.word(chip, self.running)
    }

    /// Whether a task runs, outside the kernel.
    pub fn is_outside(&self, chip: &Chip) -> bool {
        self.is_task(chip) && chip.sreg() & 0x80 != 0
    }

    /// Whether it is a task's turn, in or outside the kernel.
    pub fn is_task(&self, chip: &Chip) -> bool {
        self.byte(chip, self.level) == LEVEL_TASK
    }

    /// Whether a handler runs, behind its AvrXEnterKernel.
    pub fn is_handler(&self, chip: &Chip) -> bool {
        self.byte(chip, self.level) < LEVEL_MAIN
    }

    /// Whether none runs, and an interrupt would be answered.
    pub fn is_at_rest(&self, chip: &Chip) -> bool {
        self.byte(chip, self.level) == LEVEL_IDLE
            && chip.sreg() & 0x80 != 0
            && self.running(chip) == self.idle
    }

    /// The tasks that can run, by their order, without idle, which is last.
    pub fn ready(&self, chip: &Chip) -> Vec<u16> {
        let mut tasks = vec![self.word(chip, self.run_queue)];
        while tasks.len() < TASKS_MAX {
            let last = tasks[tasks.len() - 1];
            if last == self.idle {
                tasks.pop();
                return tasks;
            }
            assert_ne!(last, 0, "the run queue ends with idle");
            tasks.push(self.word(chip, last));
        }
        panic!("the run queue is a circle: {tasks:?}");
    }

    pub fn priority(&self, chip: &Chip, task: u16) -> u8 {
        self.byte(chip, task + 3)
    }

    /// The queues are in order: the running task first, then by priority, idle last.
    pub fn check(&self, chip: &Chip, at: &str) {
        if !self.is_outside(chip) {
            return;
        }
        let tasks = self.ready(chip);
        let first = tasks.first().copied().unwrap_or(self.idle);
        assert_eq!(first, self.running(chip), "{at}: the first task is the one that runs");
        let priorities: Vec<u8> = tasks.iter().map(|&task| self.priority(chip, task)).collect();
        assert!(priorities.is_sorted(), "{at}: priorities {priorities:?}");
        let idle = (self.priority(chip, self.idle), self.word(chip, self.idle));
        assert_eq!(idle, (PRIORITY_IDLE, 0), "{at}: idle is last");
    }

    pub fn said(&self, chip: &Chip) -> String {
        let (said, count) = (self.data("said"), u16::from(self.byte(chip, self.data("said_count"))));
        (0..count).map(|index| char::from(self.byte(chip, said + index))).collect()
    }

    /// One instruction, or the answer to an interrupt; true when the program has halted.
    pub fn step(&self, chip: &mut Chip, observer: &mut impl isa::avr::Observer) -> bool {
        let stop = chip.run_until(chip.cycle() + 1, observer);
        assert!(chip.cycle() < CYCLES_MAX, "it does not halt; so far it said {}", self.said(chip));
        stop == Stop::Break
    }

    /// Forces an interrupt.
    pub fn pulse(&self, chip: &mut Chip, cycle: Cycles) {
        chip.set_input(self.interrupt, Some(false), cycle, &mut ());
        chip.set_input(self.interrupt, Some(true), cycle + 1, &mut ());
    }

    /// Runs to the end; the program says what is expected, and no more interrupts were answered than there were.
    pub fn finish(&self, mut chip: Chip, stacks: &mut Stacks, says: &str, interrupts: u8, at: &str) -> Chip {
        chip.run_until(CYCLES_MAX, stacks);
        assert_eq!(self.said(&chip), says, "{at}");
        let answered = self.byte(&chip, self.data("urgent_count"));
        assert!(answered <= interrupts, "{at}: it is answered {answered} times");
        chip
    }
}
