//! What the kernel's calls cost where programs make them, beside what they may cost (`firmware/kernel/budget.toml`).

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{Chip, Profile};
use report::table::{Column, Entry, Table};
use serde::Deserialize;

use super::{Entered, KERNEL, KERNEL_EEPROM, PROGRAMS, Program};
use crate::tasks::{compile, root};

/// What the way from an interrupt to the task that waits for it is called.
const AN_INTERRUPT: &str = "an interrupt";
/// Its vector.
pub const INT0: u8 = 1;
/// From the last cycle of what is interrupted to the vector (ATmega128 datasheet, "Interrupt Response Time").
const RESPONSE_CYCLES: Cycles = 4;
/// Cycles of `tasks` between two interrupts that are measured, and before the last one.
const MEASURED_CYCLES: usize = 97;
const MEASURED_UNTIL: Cycles = 14_000;
/// Of a task: its stack pointer while it does not run.
const CONTEXT: u16 = 4;

/// `firmware/kernel/budget.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    flash_bytes: u64,
    original_flash_bytes: u64,
    ram_bytes: u64,
    eeprom_flash_bytes: u64,
    eeprom_ram_bytes: u64,
    calls: BTreeMap<String, Limits>,
}

/// What one call may cost, and what it costs in the original.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    returns: Option<Cycles>,
    switches: Option<Cycles>,
    stack: Option<u16>,
    original: Option<Cycles>,
    original_switches: Option<Cycles>,
    original_bytes: Option<u64>,
}

/// The least that a call costs: cycles from the first one of its call until it returns, and until the first
/// instruction of another task, or SLEEP; bytes of its task's stack meanwhile.
#[derive(Default)]
struct Cost {
    returns: Option<Cycles>,
    switches: Option<Cycles>,
    stack: Option<u16>,
}

/// A call that has not returned.
struct Call {
    service: String,
    begins: Cycles,
    sp: u16,
    /// Another task ran, or an interrupt came between.
    is_over: bool,
}

/// What the calls of running programs cost.
#[derive(Default)]
pub struct Costs {
    calls: BTreeMap<String, Cost>,
    /// Of each task.
    open: BTreeMap<u16, Vec<Call>>,
    /// Of handlers.
    inside: Vec<Call>,
}

fn least<T: Ord + Copy>(so_far: &mut Option<T>, value: T) {
    *so_far = Some(so_far.map_or(value, |least| least.min(value)));
}

impl Costs {
    /// Measures all programs on a chip; none after saying that there is no avr-gcc.
    pub fn measure(profile: &'static Profile) -> Option<Costs> {
        let mut costs = Costs::default();
        for source in &PROGRAMS {
            let program = source.load(profile)?;
            costs.follow(&program, None);
            if source.name == "tasks" {
                (0..MEASURED_UNTIL)
                    .step_by(MEASURED_CYCLES)
                    .for_each(|cycle| costs.follow(&program, Some(cycle)));
            }
        }
        Some(costs)
    }

    /// Runs a program to its end, with an interrupt at this cycle.
    fn follow(&mut self, program: &Program, pulse: Option<Cycles>) {
        (self.open, self.inside) = Default::default();
        let mut chip = program.chip.clone();
        if let Some(cycle) = pulse {
            chip.run_until(cycle, &mut ());
            program.pulse(&mut chip, cycle);
        }
        loop {
            let (cycle, sp, was_outside) = (chip.cycle(), chip.sp(), program.is_outside(&chip));
            let (running, mut entered) = (program.running(&chip), Entered(None));
            if program.step(&mut chip, &mut entered) {
                return;
            }
            if was_outside {
                let calls = self.open.entry(running).or_default();
                let has_called = chip.sp() + 2 == sp;
                let begins =
                    |service: &str, begins| Call { service: service.into(), begins, sp, is_over: false };
                if let Some(vector) = entered.0 {
                    calls.iter_mut().for_each(|call| call.is_over = true);
                    let forced = (vector == INT0).then(|| begins(AN_INTERRUPT, cycle + RESPONSE_CYCLES));
                    calls.extend(forced);
                } else if let Some(service) = program.services.get(&chip.pc()).filter(|_| has_called) {
                    calls.push(begins(service, cycle));
                }
            } else if program.is_handler(&chip) {
                self.follow_handler(program, &chip, cycle, sp);
            }
            if program.is_outside(&chip) || program.is_at_rest(&chip) {
                self.settle(program, &chip);
            }
        }
    }

    /// A handler has executed an instruction: it may have called what is for handlers, or such a call has returned.
    fn follow_handler(&mut self, program: &Program, chip: &Chip, begins: Cycles, sp: u16) {
        let is_for_handlers = |name: &&String| name.contains("Int") || *name == "AvrXTimerHandler";
        let service = program.services.get(&chip.pc()).filter(is_for_handlers);
        if let Some(service) = service.filter(|_| chip.sp() + 2 == sp) {
            self.inside.push(Call { service: service.clone(), begins, sp, is_over: false });
        }
        while let Some(call) = self.inside.pop_if(|call| call.sp <= chip.sp()) {
            least(&mut self.calls.entry(call.service).or_default().returns, chip.cycle() - call.begins);
        }
    }

    /// A task runs, or none: it has returned from some of its calls, and the others' have led to a switch.
    fn settle(&mut self, program: &Program, chip: &Chip) {
        let running = program.running(chip);
        for (&task, calls) in self.open.iter_mut().filter(|(task, _)| **task != running) {
            let kept_from = program.word(chip, task + CONTEXT);
            for call in calls.iter_mut().filter(|call| !call.is_over) {
                call.is_over = true;
                let cost = self.calls.entry(call.service.clone()).or_default();
                least(&mut cost.switches, chip.cycle() - call.begins);
                least(&mut cost.stack, call.sp - kept_from);
            }
        }
        let calls = self.open.entry(running).or_default();
        while let Some(call) = calls.pop_if(|call| call.sp <= chip.sp()) {
            if !call.is_over && call.sp == chip.sp() {
                least(&mut self.calls.entry(call.service).or_default().returns, chip.cycle() - call.begins);
            }
        }
    }

    /// What does not keep within the budget, in words.
    pub fn faults(&self, budget: &Budget, sizes: &Sizes) -> Vec<String> {
        let mut faults = Vec::new();
        for (what, found, limit) in [
            ("flash", sizes.flash, budget.flash_bytes),
            ("RAM", sizes.ram, budget.ram_bytes),
            ("flash for the EEPROM", sizes.eeprom_flash, budget.eeprom_flash_bytes),
            ("RAM for the EEPROM", sizes.eeprom_ram, budget.eeprom_ram_bytes),
        ] {
            if found > limit {
                faults.push(format!("{found} bytes of {what}, and the budget is {limit}"));
            }
        }
        for name in self.calls.keys().filter(|name| !budget.calls.contains_key(*name)) {
            faults.push(format!("{name}: it is called, and has no budget"));
        }
        let none = Cost::default();
        for (name, limits) in &budget.calls {
            let cost = self.calls.get(name).unwrap_or(&none);
            let stack = [cost.stack, limits.stack].map(|bytes| bytes.map(u64::from));
            for (what, [found, limit]) in [
                ("cycles to its return", [cost.returns, limits.returns]),
                ("cycles to another task", [cost.switches, limits.switches]),
                ("bytes of stack", stack),
            ] {
                if found.is_some() != limit.is_some() || found > limit {
                    faults.push(format!("{name}: {found:?} {what}, and the budget is {limit:?}"));
                }
            }
        }
        faults
    }

    /// What is measured, as the documentation has it.
    pub fn paragraphs(&self, budget: &Budget, sizes: &Sizes) -> String {
        let Sizes { flash, ram, eeprom_flash, eeprom_ram, .. } = sizes;
        format!(
            "On the ATmega128 the kernel takes {flash} bytes of flash (AvrX {}) and {ram} of RAM; access to the EEPROM\n\
             {eeprom_flash} and {eeprom_ram} more, with its handler.\n\n{}",
            budget.original_flash_bytes,
            self.table(budget, sizes, "").markdown(),
        )
    }

    /// The calls beside the original's.
    pub fn table(&self, budget: &Budget, sizes: &Sizes, title: &str) -> Table {
        let columns =
            ["call", "returns", "AvrX", "switches", "AvrX", "stack", "bytes", "AvrX"].map(Column::new);
        let mut table = Table::new(title, columns);
        for (name, limits) in &budget.calls {
            let Some(cost) = self.calls.get(name) else { continue };
            table.push([
                Entry::from(name.as_str()),
                entry(cost.returns),
                entry(limits.original),
                entry(cost.switches),
                entry(limits.original_switches),
                entry(cost.stack.map(u64::from)),
                entry(sizes.functions.get(name).copied()),
                entry(limits.original_bytes),
            ]);
        }
        table
    }
}

fn entry(number: Option<u64>) -> Entry {
    number.map_or(Entry::Blank, Entry::from)
}

impl Budget {
    pub fn read() -> Budget {
        let path = root().join("firmware/kernel/budget.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
        toml::from_str(&text).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
    }
}

/// Bytes that the kernel takes.
pub struct Sizes {
    pub flash: u64,
    pub ram: u64,
    /// Those of its access to the EEPROM, besides.
    pub eeprom_flash: u64,
    pub eeprom_ram: u64,
    /// Between a function's first address and the next one's; local ones are functions, too.
    pub functions: BTreeMap<String, u64>,
}

impl Sizes {
    /// None after saying that there is no avr-gcc.
    pub fn measure(profile: &'static Profile) -> Option<Sizes> {
        let [flash, ram] = sections(profile, KERNEL, [".text.avrx", ".bss.avrx"])?;
        let [eeprom_flash, eeprom_ram] = sections(profile, KERNEL_EEPROM, [".text", ".bss"])?;
        let mut functions = BTreeMap::new();
        for source in &PROGRAMS {
            let image = source.load(profile)?.image;
            let in_flash = image.symbols.iter().filter(|symbol| symbol.space == Space::Flash);
            for symbol in in_flash.clone().filter(|symbol| symbol.name.starts_with("AvrX")) {
                let mut behind = in_flash.clone().map(|other| other.address);
                let next = behind.find(|&address| address > symbol.address).expect("something is behind it");
                functions.insert(symbol.name.clone(), u64::from(next - symbol.address));
            }
        }
        Some(Sizes { flash, ram, eeprom_flash, eeprom_ram, functions })
    }
}

/// Bytes of two sections of a file of `firmware`.
fn sections(profile: &Profile, source: &str, sections: [&str; 2]) -> Option<[u64; 2]> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let object = scratch.path().join("kernel.o");
    compile(profile, &["-c"], &[source], &object)?;
    let output =
        Command::new("avr-size").arg("-A").arg(&object).output().expect("avr-size is beside avr-gcc");
    let text = String::from_utf8(output.stdout).expect("avr-size prints text");
    Some(sections.map(|section| {
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(section));
        let bytes = line.and_then(|line| line.split_whitespace().nth(1));
        bytes.and_then(|bytes| bytes.parse().ok()).expect("a section has a size")
    }))
}
