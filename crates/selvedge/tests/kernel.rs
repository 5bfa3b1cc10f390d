//! The kernel on the simulated chips: every call does what avrx.h says, whenever interrupts come.
//!
//! An interrupt is forced at every cycle of a program. Each time all that the interrupted task can see of its processor
//! is as before when it goes on, the queues are in order, and what the program says is the same text. Pairs of
//! interrupts are random, from a printed seed; `SELVEDGE_SOAK=1` takes all that are near each other.

#[path = "../../cipher/tests/seeded/mod.rs"]
#[allow(dead_code)]
mod seeded;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Pin, Profile, Stop};

const CHIPS: [&Profile; 2] = [&ATMEGA128, &ATMEGA328P];
/// What each program says in the end.
const PROGRAMS: [(&str, &str); 2] = [
    ("tasks", "pdppwdpHabHcTOto22OoTtOodTtTt1er."),
    ("messages", "FadbSFnppcAnn."),
];
const TICK_CYCLES: Cycles = 1500;
/// More than a program takes.
const CYCLES_MAX: Cycles = 200_000;
const LEVEL_TASK: u8 = 0xFF;
const PRIORITY_IDLE: u8 = 255;
/// Tasks in one queue, at most: more are a circle.
const TASKS_MAX: usize = 16;
/// INT0's.
const VECTOR: u32 = 4;
const BREAK: [u8; 2] = 0x9598u16.to_le_bytes();

/// A program on a chip, and where the kernel's data is.
struct Program {
    chip: Chip,
    interrupt: Pin,
    run_queue: u16,
    running: u16,
    level: u16,
    idle: u16,
    said: u16,
    said_count: u16,
    urgent_count: u16,
    /// The kernel's functions by their addresses.
    services: BTreeMap<u32, String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compiles one; none after saying that there is no avr-gcc.
fn program(name: &str, profile: &'static Profile) -> Option<Program> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let elf = scratch.path().join("program.elf");
    let mut command = Command::new("avr-gcc");
    command.arg(format!("-mmcu={}", profile.name.to_lowercase()));
    command.args(["-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror"]);
    command.arg(format!("-DTICK_CYCLES={TICK_CYCLES}")).arg("-I").arg(root().join("firmware/node"));
    command.arg(root().join(format!("firmware/kernel/{name}.c"))).arg(root().join("firmware/node/kernel.S"));
    let Ok(output) = command.arg("-o").arg(&elf).output() else {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        println!("skip: the kernel: avr-gcc is not installed");
        return None;
    };
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(&elf).expect("it was linked");
    let mut image = Image::parse(&bytes).expect("what avr-gcc links is an image");
    // Behind its CLI, where it would go round for ever.
    let halted = image.symbol("AvrXHalt").expect("each program halts").address as usize + 2;
    image.flash[0].bytes[halted..halted + 2].copy_from_slice(&BREAK);
    let symbol = |name: &str| image.symbol(name).unwrap_or_else(|| panic!("the program has a `{name}`"));
    let data = |name: &str| {
        assert_eq!(symbol(name).space, Space::Data, "{name}");
        symbol(name).address as u16
    };
    let mut chip = Chip::new(profile);
    chip.load(&image).expect("the program fits the chip");
    let bit = if profile.name == ATMEGA128.name { 0 } else { 2 };
    let interrupt = Pin { port: b'D', bit };
    chip.set_input(interrupt, Some(true), 0, &mut ());
    Some(Program {
        interrupt,
        run_queue: data("avrx_run_queue"),
        running: data("avrx_running"),
        level: data("avrx_level"),
        idle: data("avrx_idle"),
        said: data("said"),
        said_count: data("said_count"),
        urgent_count: data("urgent_count"),
        services: image
            .symbols.iter()
            .filter(|symbol| symbol.space == Space::Flash && symbol.name.starts_with("AvrX"))
            .map(|symbol| (symbol.address, symbol.name.clone()))
            .collect(),
        chip,
    })
}

/// What a task sees of its processor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Context {
    pc: u32,
    sp: u16,
    sreg: u8,
    registers: [u8; 32],
}

impl Context {
    fn of(chip: &Chip) -> Context {
        let registers = std::array::from_fn(|number| chip.register(number as u8));
        Context { pc: chip.pc(), sp: chip.sp(), sreg: chip.sreg(), registers }
    }
}

impl Program {
    fn byte(&self, chip: &Chip, address: u16) -> u8 {
        chip.memory(address).expect("the kernel's data is in RAM")
    }

    fn word(&self, chip: &Chip, address: u16) -> u16 {
        u16::from_le_bytes([self.byte(chip, address), self.byte(chip, address + 1)])
    }

    /// Whether a task or idle runs, outside the kernel.
    fn is_outside(&self, chip: &Chip) -> bool {
        self.byte(chip, self.level) == LEVEL_TASK && chip.sreg() & 0x80 != 0
    }

    /// The queues are in order: the running task first, then by priority, idle last.
    fn check(&self, chip: &Chip, at: &str) {
        if !self.is_outside(chip) {
            return;
        }
        let mut task = self.word(chip, self.run_queue);
        assert_eq!(task, self.word(chip, self.running), "{at}: the first task is the one that runs");
        let mut priority = 0;
        for _ in 0..TASKS_MAX {
            let own = self.byte(chip, task + 3);
            assert!(own >= priority, "{at}: priority {own} behind {priority}");
            priority = own;
            if task == self.idle {
                assert_eq!((own, self.word(chip, task)), (PRIORITY_IDLE, 0), "{at}: idle is last");
                return;
            }
            task = self.word(chip, task);
            assert_ne!(task, 0, "{at}: the run queue ends with idle");
        }
        panic!("{at}: the run queue is a circle");
    }

    fn said(&self, chip: &Chip) -> String {
        let count = u16::from(self.byte(chip, self.said_count));
        (0..count).map(|index| char::from(self.byte(chip, self.said + index))).collect()
    }

    /// One instruction, or the answer to an interrupt; true when the program has halted.
    fn step(&self, chip: &mut Chip) -> bool {
        let stop = chip.run_until(chip.cycle() + 1, &mut ());
        assert!(chip.cycle() < CYCLES_MAX, "it does not halt; so far it said {}", self.said(chip));
        stop == Stop::Break
    }

    /// Whether it has begun to answer the forced interrupt.
    fn is_answering(&self, chip: &Chip) -> bool {
        chip.pc() == VECTOR
    }

    fn pulse(&self, chip: &mut Chip, cycle: Cycles) {
        chip.set_input(self.interrupt, Some(false), cycle, &mut ());
        chip.set_input(self.interrupt, Some(true), cycle + 1, &mut ());
    }

    /// Runs to the end; the queues are in order all the while.
    fn finish_checked(&self, mut chip: Chip, at: &str) -> Chip {
        while !self.step(&mut chip) {
            self.check(&chip, at);
        }
        chip
    }

    /// Goes on until the forced interrupt was answered and its task goes on, and compares what the task sees. True when
    /// it came to that: a core that was asleep has nothing to see, and the last task does not go on.
    fn check_answer(&self, chip: &mut Chip, at: &str) -> bool {
        let (mut before, mut was_asleep) = (Context::of(chip), chip.is_asleep());
        while !self.is_answering(chip) {
            (before, was_asleep) = (Context::of(chip), chip.is_asleep());
            if self.step(chip) {
                return false;
            }
        }
        let running = self.word(chip, self.running);
        loop {
            if self.step(chip) {
                return false;
            }
            self.check(chip, at);
            let is_back = (chip.pc(), chip.sp()) == (before.pc, before.sp);
            if is_back && self.is_outside(chip) && self.word(chip, self.running) == running {
                assert_eq!(Context::of(chip), before, "{at}");
                return !was_asleep;
            }
            if was_asleep && self.is_outside(chip) {
                return false;
            }
        }
    }

    /// Forces an interrupt at every cycle; returns how many there are, and after how many a task saw that it was not
    /// there.
    fn interrupt_everywhere(&self, expected: &str, name: &str) -> [usize; 2] {
        let (mut cycles, mut seen) = (0, 0);
        let mut base = self.chip.clone();
        let mut is_over = false;
        while !is_over {
            let before = base.clone();
            is_over = self.step(&mut base);
            // While all sleep, one cycle is like another.
            let all = before.cycle()..base.cycle();
            for cycle in if before.is_asleep() { all.start..all.start + 1 } else { all } {
                let at = format!("{name}, interrupted at cycle {cycle}");
                let mut chip = before.clone();
                self.pulse(&mut chip, cycle);
                let is_seen = self.check_answer(&mut chip, &at);
                chip.run_until(CYCLES_MAX, &mut ());
                assert_eq!(self.said(&chip), expected, "{at}");
                let answered = self.byte(&chip, self.urgent_count);
                assert!(answered <= 1, "{at}: it is answered {answered} times");
                seen += usize::from(is_seen);
                cycles += 1;
            }
        }
        [cycles, seen]
    }
}

#[test]
fn every_call_does_what_its_contract_says() {
    for profile in CHIPS {
        for (name, expected) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            let ended = program.finish_checked(program.chip.clone(), name);
            assert_eq!(program.said(&ended), expected, "{name} on the {}", profile.name);
            println!("{name} on the {}: {} cycles", profile.name, ended.cycle());
        }
    }
}

#[test]
fn an_interrupt_at_any_cycle_changes_nothing_that_a_task_sees() {
    for profile in CHIPS {
        for (name, expected) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            let [cycles, seen] = program.interrupt_everywhere(expected, name);
            println!("{name} on the {}: {cycles} interrupts, {seen} of them in a task that went on", profile.name);
            assert!(seen * 2 > cycles, "{name}: in most cycles a task runs, or the kernel for it");
        }
    }
}

/// Cycles of a service from the first one of its call, least and most: until it returns, and until the first
/// instruction of another task.
#[derive(Default)]
struct Costs {
    stays: Vec<Cycles>,
    switches: Vec<Cycles>,
}

impl Program {
    /// What every service costs where a task calls it, and the way from the forced interrupt to the task that waits
    /// for it.
    fn costs(&self, costs: &mut BTreeMap<String, Costs>) {
        let mut chip = self.chip.clone();
        let mut is_over = false;
        let mut call: Option<(String, Cycles, u16, u16)> = None;
        while !is_over {
            let (cycle, sp, was_outside) = (chip.cycle(), chip.sp(), self.is_outside(&chip));
            let running = self.word(&chip, self.running);
            is_over = self.step(&mut chip);
            if let Some(service) = self.services.get(&chip.pc()).filter(|_| was_outside) {
                call = Some((service.clone(), cycle, sp, running));
            } else if chip.pc() == VECTOR {
                call = Some(("an interrupt".to_owned(), cycle, sp, running));
            }
            let Some((service, begins, sp, caller)) = &call else { continue };
            let taken = chip.cycle() - begins;
            let now = self.word(&chip, self.running);
            let cost = costs.entry(service.clone()).or_default();
            if self.is_outside(&chip) && now != *caller {
                cost.switches.push(taken);
                call = None;
            } else if chip.sp() == *sp && self.is_outside(&chip) {
                cost.stays.push(taken);
                call = None;
            }
        }
    }
}

#[test]
fn every_call_keeps_within_its_budget() {
    for profile in CHIPS {
        let mut costs = BTreeMap::new();
        for (name, _) in PROGRAMS {
            let Some(mut program) = program(name, profile) else { return };
            program.costs(&mut costs);
            for cycle in [3000, 4000, 5000] {
                let mut chip = program.chip.clone();
                chip.run_until(cycle, &mut ());
                program.pulse(&mut chip, cycle);
                let plain = std::mem::replace(&mut program.chip, chip);
                program.costs(&mut costs);
                program.chip = plain;
            }
        }
        for (service, cost) in &costs {
            let of = |taken: &[Cycles]| (taken.iter().min().copied(), taken.iter().max().copied());
            println!("{service:28} {:?} {:?}", of(&cost.stays), of(&cost.switches));
        }
    }
}
