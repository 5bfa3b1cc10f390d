//! The kernel on the simulated chips: every call does what avrx.h says, whenever interrupts come.
//!
//! An interrupt is forced at every cycle of a program. Each time all that the interrupted task can see of its processor
//! is as before when it goes on, the queues are in order, and what the program says is the same text. Pairs of
//! interrupts are random, from a printed seed; `SELVEDGE_SOAK=1` takes all that are near each other.

#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Image, Pin, Profile, Stop};
use rand_chacha::rand_core::Rng;
use report::table::{Column, Entry, Table};
use seeded::seeded;
use serde::Deserialize;
use soak::is_soak;

const CHIPS: [&Profile; 2] = [&ATMEGA128, &ATMEGA328P];
/// What each program says in the end.
const PROGRAMS: [(&str, &str); 2] =
    [("tasks", "pdppwdpHabHcTOto22OoTtOodTtTt1erfd."), ("messages", "FadbSFnppcAnn.")];
const TICK_CYCLES: Cycles = 1500;
/// More than a program takes.
const CYCLES_MAX: Cycles = 200_000;
const LEVEL_TASK: u8 = 0xFF;
const PRIORITY_IDLE: u8 = 255;
/// Tasks in one queue, at most: more are a circle.
const TASKS_MAX: usize = 16;
/// INT0's.
const VECTOR: u32 = 4;
/// Pairs of interrupts, and cycles between the two at most.
const PAIRS: usize = 3_000;
const APART_MAX: Cycles = 400;
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
    /// What a task sets whose turn it is not, where there is one.
    went_on: Option<u16>,
    stacks: Stacks,
}

/// A task's stack, and how deep it was.
#[derive(Clone)]
struct Stack {
    task: String,
    range: Range<u32>,
    lowest: u32,
}

/// Those of all tasks: who sees stores into them.
#[derive(Clone)]
struct Stacks(Vec<Stack>);

impl isa::Observer for Stacks {
    fn store(&mut self, _cycle: Cycles, address: u32, _value: u8) {
        if let Some(stack) = self.0.iter_mut().find(|stack| stack.range.contains(&address)) {
            stack.lowest = stack.lowest.min(address);
        }
    }
}

impl isa::avr::Observer for Stacks {}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs avr-gcc on files of `firmware`, and names what it made; none after saying that there is no avr-gcc.
fn compile(profile: &Profile, flags: &[&str], sources: &[&str], out: &Path) -> Option<()> {
    let firmware = root().join("firmware");
    let mut command = Command::new("avr-gcc");
    command.arg(format!("-mmcu={}", profile.name.to_lowercase()));
    command.args(["-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror"]).args(flags);
    command.arg(format!("-DTICK_CYCLES={TICK_CYCLES}")).arg("-I").arg(firmware.join("node"));
    command.args(sources.iter().map(|source| firmware.join(source)));
    let Ok(output) = command.arg("-o").arg(out).output() else {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        println!("skip: the kernel: avr-gcc is not installed");
        return None;
    };
    assert!(output.status.success(), "{sources:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Bytes of flash and of RAM that the kernel takes.
fn sizes(profile: &Profile) -> Option<[u64; 2]> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let object = scratch.path().join("kernel.o");
    compile(profile, &["-c"], &["node/kernel.S"], &object)?;
    let output =
        Command::new("avr-size").arg("-A").arg(&object).output().expect("avr-size is beside avr-gcc");
    let text = String::from_utf8(output.stdout).expect("avr-size prints text");
    Some([".text.avrx", ".bss.avrx"].map(|section| {
        let line = text.lines().find(|line| line.starts_with(section)).expect("the kernel has both sections");
        line.split_whitespace().nth(1).and_then(|bytes| bytes.parse().ok()).expect("a section has a size")
    }))
}

/// One of them; none after saying that there is no avr-gcc.
fn program(name: &str, profile: &'static Profile) -> Option<Program> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let elf = scratch.path().join("program.elf");
    compile(profile, &[], &[&format!("kernel/{name}.c"), "node/kernel.S"], &elf)?;
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
    while chip.pc() != symbol("main").address {
        assert_eq!(chip.run_until(chip.cycle() + 1, &mut ()), Stop::Reached, "it comes to main");
    }
    let stacks = image
        .symbols
        .iter()
        .filter_map(|symbol| {
            let task = symbol.name.strip_suffix("Stk")?.to_owned();
            let range = symbol.address..symbol.address + symbol.bytes;
            Some(Stack { task, lowest: range.end, range })
        })
        .collect();
    let bit = if profile.name == ATMEGA128.name { 0 } else { 2 };
    let (interrupt, cycle) = (Pin { port: b'D', bit }, chip.cycle());
    chip.set_input(interrupt, Some(true), cycle, &mut ());
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
            .symbols
            .iter()
            .filter(|symbol| symbol.space == Space::Flash && symbol.name.starts_with("AvrX"))
            .map(|symbol| (symbol.address, symbol.name.clone()))
            .collect(),
        went_on: image.symbol("went_on").map(|symbol| symbol.address as u16),
        stacks: Stacks(stacks),
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
    fn step(&self, chip: &mut Chip, observer: &mut impl isa::avr::Observer) -> bool {
        let stop = chip.run_until(chip.cycle() + 1, observer);
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
        while !self.step(&mut chip, &mut ()) {
            self.check(&chip, at);
        }
        chip
    }

    /// Goes on until the forced interrupt was answered and its task goes on, and compares what the task sees. True when
    /// it came to that: a core that was asleep has nothing to see, and the last task does not go on.
    fn check_answer(&self, chip: &mut Chip, stacks: &mut Stacks, at: &str) -> bool {
        let (mut before, mut was_asleep) = (Context::of(chip), chip.is_asleep());
        while !self.is_answering(chip) {
            (before, was_asleep) = (Context::of(chip), chip.is_asleep());
            if self.step(chip, stacks) {
                return false;
            }
        }
        let running = self.word(chip, self.running);
        loop {
            if self.step(chip, stacks) {
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

    /// Runs to the end; the program says what is expected, and no more interrupts were answered than there were.
    fn finish(&self, mut chip: Chip, stacks: &mut Stacks, expected: &str, interrupts: u8, at: &str) -> Chip {
        chip.run_until(CYCLES_MAX, stacks);
        assert_eq!(self.said(&chip), expected, "{at}");
        let answered = self.byte(&chip, self.urgent_count);
        assert!(answered <= interrupts, "{at}: it is answered {answered} times");
        chip
    }

    /// Forces an interrupt at every cycle; returns how many there are, and after how many a task saw that it was not
    /// there; and how deep each stack was.
    fn interrupt_everywhere(&self, expected: &str, name: &str) -> ([usize; 2], Stacks) {
        let (mut cycles, mut seen) = (0, 0);
        let mut stacks = self.stacks.clone();
        let mut base = self.chip.clone();
        let mut is_over = false;
        while !is_over {
            let before = base.clone();
            // While all sleep, one cycle is like another.
            let asleep = before.next_wake().filter(|_| before.is_asleep());
            let all = match asleep {
                Some(wakes) => {
                    base.run_until(wakes.max(before.cycle() + 1), &mut ());
                    before.cycle()..before.cycle() + 1
                }
                None => {
                    is_over = self.step(&mut base, &mut ());
                    before.cycle()..base.cycle()
                }
            };
            for cycle in all {
                let at = format!("{name}, interrupted at cycle {cycle}");
                let mut chip = before.clone();
                self.pulse(&mut chip, cycle);
                seen += usize::from(self.check_answer(&mut chip, &mut stacks, &at));
                self.finish(chip, &mut stacks, expected, 1, &at);
                cycles += 1;
            }
        }
        ([cycles, seen], stacks)
    }
}

#[test]
fn every_call_does_what_its_contract_says() {
    for profile in CHIPS {
        for (name, expected) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            let ended = program.finish_checked(program.chip.clone(), name);
            assert_eq!(program.said(&ended), expected, "{name} on the {}", profile.name);
            let went_on = program.went_on.is_some_and(|address| program.byte(&ended, address) != 0);
            assert!(!went_on, "{name}: a handler changes turns");
            println!("{name} on the {}: {} cycles", profile.name, ended.cycle());
        }
    }
}

#[test]
fn an_interrupt_at_any_cycle_changes_nothing_that_a_task_sees() {
    for profile in CHIPS {
        for (name, expected) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            let ([cycles, seen], stacks) = program.interrupt_everywhere(expected, name);
            println!(
                "{name} on the {}: {cycles} interrupts, {seen} of them in a task that went on",
                profile.name
            );
            for Stack { task, range, lowest } in stacks.0 {
                println!("    {task}: {} of {} bytes of its stack", range.end - lowest, range.len());
                assert!(lowest > range.start, "{task}: its stack is full");
            }
            assert!(seen * 2 > cycles, "{name}: in most cycles a task runs, or the kernel for it");
        }
    }
}

#[test]
fn two_interrupts_near_each_other_change_nothing_either() {
    let mut rng = seeded();
    let mut below = |limit: Cycles| (u64::from(rng.next_u32()) * limit) >> 32;
    for profile in CHIPS {
        for (name, expected) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            let begins = program.chip.cycle();
            let mut stacks = program.stacks.clone();
            let ends = program.finish(program.chip.clone(), &mut stacks, expected, 0, name).cycle();
            let pairs: Vec<[Cycles; 2]> = if is_soak() {
                (begins..ends).flat_map(|one| (2..APART_MAX).map(move |apart| [one, one + apart])).collect()
            } else {
                let pair = |_| {
                    let one = begins + below(ends - begins);
                    [one, one + 2 + below(APART_MAX - 2)]
                };
                (0..PAIRS).map(pair).collect()
            };
            for [one, two] in pairs {
                let mut chip = program.chip.clone();
                for cycle in [one, two] {
                    chip.run_until(cycle, &mut ());
                    let now = chip.cycle();
                    program.pulse(&mut chip, now);
                }
                let at = format!("{name}, interrupted at cycles {one} and {two}");
                program.finish(chip, &mut stacks, expected, 2, &at);
            }
        }
    }
}

/// Cycles of a service from the first one of its call: each time until it returned, or until the first instruction of
/// another task.
#[derive(Default)]
struct Costs {
    returns: Vec<Cycles>,
    switches: Vec<Cycles>,
}

/// A line of the budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    returns: Option<Cycles>,
    switches: Option<Cycles>,
    original: Option<Cycles>,
}

/// `firmware/kernel/budget.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    flash_bytes: u64,
    ram_bytes: u64,
    cycles: BTreeMap<String, Limits>,
}

/// What the way from an interrupt to the task that waits for it is called.
const AN_INTERRUPT: &str = "an interrupt";
/// From the last cycle of what is interrupted to the vector (ATmega128 datasheet, "Interrupt Response Time").
const RESPONSE_CYCLES: Cycles = 4;
/// Cycles of `tasks` between two interrupts that are measured, and before the last one.
const MEASURED_CYCLES: usize = 97;
const MEASURED_UNTIL: Cycles = 14_000;

impl Program {
    /// What every service costs where a task calls it, and the way from the forced interrupt to the task that waits
    /// for it, with one at this cycle.
    fn costs(&self, pulse: Option<Cycles>, costs: &mut BTreeMap<String, Costs>) {
        let mut chip = self.chip.clone();
        if let Some(cycle) = pulse {
            chip.run_until(cycle, &mut ());
            self.pulse(&mut chip, cycle);
        }
        let mut call: Option<(&str, Cycles, u16, u16)> = None;
        loop {
            let (cycle, sp, was_outside) = (chip.cycle(), chip.sp(), self.is_outside(&chip));
            let running = self.word(&chip, self.running);
            if self.step(&mut chip, &mut ()) {
                return;
            }
            let has_called = was_outside && chip.sp() + 2 == sp;
            if let Some(service) = self.services.get(&chip.pc()).filter(|_| has_called) {
                call = Some((service, cycle, sp, running));
            } else if chip.pc() == VECTOR {
                call = Some((AN_INTERRUPT, cycle + RESPONSE_CYCLES, sp, running));
            }
            let Some((service, begins, sp, caller)) = call else { continue };
            if !self.is_outside(&chip) {
                continue;
            }
            let has_switched = self.word(&chip, self.running) != caller;
            if !has_switched && chip.sp() != sp {
                continue;
            }
            let cost = costs.entry(service.to_owned()).or_default();
            let taken = if has_switched { &mut cost.switches } else { &mut cost.returns };
            taken.push(chip.cycle() - begins);
            call = None;
        }
    }
}

#[test]
fn every_call_keeps_within_its_budget() {
    let path = root().join("firmware/kernel/budget.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let budget: Budget = toml::from_str(&text).expect("the budget is TOML");
    for profile in CHIPS {
        let Some([flash_bytes, ram_bytes]) = sizes(profile) else { return };
        println!("{}: {flash_bytes} bytes of flash, {ram_bytes} of RAM", profile.name);
        assert!(flash_bytes <= budget.flash_bytes, "the budget is {} bytes of flash", budget.flash_bytes);
        assert!(ram_bytes <= budget.ram_bytes, "the budget is {} bytes of RAM", budget.ram_bytes);
        let mut costs = BTreeMap::new();
        for (name, _) in PROGRAMS {
            let Some(program) = program(name, profile) else { return };
            program.costs(None, &mut costs);
            if name == "tasks" {
                let cycles = (0..MEASURED_UNTIL).step_by(MEASURED_CYCLES);
                cycles.for_each(|cycle| program.costs(Some(cycle), &mut costs));
            }
        }
        let columns = ["call", "returns", "budget", "switches", "budget", "original"].map(Column::new);
        let mut table = Table::new(format!("Cycles of the kernel's calls on the {}", profile.name), columns);
        for (service, cost) in &costs {
            let Some(limits) = budget.cycles.get(service) else {
                panic!("{service}: it is called, and not in {}", path.display())
            };
            let mut row = vec![Entry::from(service.as_str())];
            for (taken, limit) in [(&cost.returns, limits.returns), (&cost.switches, limits.switches)] {
                let least = taken.iter().min().copied();
                assert!(least <= limit, "{service}: {least:?} cycles, and the budget is {limit:?}");
                row.extend([least, limit].map(entry));
            }
            row.push(entry(limits.original));
            table.push(row);
        }
        println!("{}", table.text(None));
    }
}

fn entry(cycles: Option<Cycles>) -> Entry {
    cycles.map_or(Entry::Blank, Entry::from)
}
