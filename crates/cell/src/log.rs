//! What a node's processor did, as seen from outside: an observer of its chip.
//!
//! Owns the record of sampling instants, EEPROM writes, phases and pins. The phases are a byte in the node's SRAM
//! (`firmware/node/phase.h`) whose stores are watched; nothing here changes the node's behaviour.
//!
//! A phase is that of who says it: a task's until it says another, whatever runs meanwhile, an interrupt's until its end.
//! What an interrupt takes of a phase, and another task that it wakes, is none of the phase's own work. Which task runs is
//! seen by the kernel's own mark (`avrx_running` in `firmware/node/kernel.S`).
//!
//! Sums cover the whole run. Spans are kept up to [`SPANS_MAX`], for the pictures of a report's first superframes.

use crate::decision::{Decision, Decisions};
use isa::Cycles;
use isa::avr::peripheral::{Drive, Effect, Pin};
use isa::avr::{Image, Observer};
use std::collections::BTreeMap;

/// What a node is doing, by the numbers of `firmware/node/phase.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// From reset until the node knows whether it may speak.
    Booting,
    /// Asleep.
    Asleep,
    /// Awake between two sleeps.
    Waiting,
    /// Listening to the bus.
    Receiving,
    /// Checking the tag of a beacon or a downlink.
    Verifying,
    /// Taking a sample.
    Sampling,
    /// Sealing a frame.
    Sealing,
    /// Sending a frame.
    Transmitting,
    /// Never to speak again until the next reset.
    Silent,
    /// Sending a frame, and sealing or opening another one meanwhile and until that is done.
    Weaving,
}

/// Every phase, in the order of its number.
pub const PHASES: [Phase; 10] = [
    Phase::Booting,
    Phase::Asleep,
    Phase::Waiting,
    Phase::Receiving,
    Phase::Verifying,
    Phase::Sampling,
    Phase::Sealing,
    Phase::Transmitting,
    Phase::Silent,
    Phase::Weaving,
];

impl Phase {
    /// Its word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Booting => "booting",
            Phase::Asleep => "asleep",
            Phase::Waiting => "waiting",
            Phase::Receiving => "receiving",
            Phase::Verifying => "verifying",
            Phase::Sampling => "sampling",
            Phase::Sealing => "sealing",
            Phase::Transmitting => "transmitting",
            Phase::Silent => "silent",
            Phase::Weaving => "sending and sealing",
        }
    }
}

/// Spans of phases that are kept.
pub const SPANS_MAX: usize = 50_000;

/// A span of cycles in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// What the node was doing.
    pub phase: Phase,
    /// Its first cycle.
    pub start: Cycles,
    /// The cycle behind its last.
    pub end: Cycles,
}

/// A conversion whose sample-and-hold closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub cycle: Cycles,
    /// What the converter will return.
    pub code: u16,
}

/// A byte of the EEPROM whose programming ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EepromWrite {
    /// When.
    pub cycle: Cycles,
    /// Which byte.
    pub address: u16,
    /// What it holds now.
    pub value: u8,
}

/// The record.
pub struct Log {
    spcr: u32,
    capture_enable: u32,
    capture_bit: u8,
    marks: Marks,
    decisions: Option<Decisions>,
    spi_on: bool,
    capture_on: bool,
    drives: Vec<(Cycles, Pin, Drive)>,
    samples: Vec<Sample>,
    eeprom_writes: Vec<EepromWrite>,
    /// Who runs, and all others that have run.
    running: u16,
    running_next: u16,
    thread: Thread,
    threads: BTreeMap<u16, Thread>,
    phase_start: Cycles,
    spans: Vec<Span>,
    phase_cycles: [Cycles; PHASES.len()],
    own: [Work; PHASES.len()],
    /// Since when who runs is not interrupted, in its phase.
    own_since: Cycles,
}

/// Where a program says what it does, in data space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The byte of its phase.
    pub phase: Option<u16>,
    /// The two bytes of the task that runs.
    pub running: Option<u16>,
    /// The record of its controller's latest decision.
    pub record: Option<u16>,
}

impl Marks {
    /// Those of an image.
    pub fn of(image: &Image) -> Marks {
        let at = |name| image.symbol(name).map(|symbol| symbol.address as u16);
        Marks { phase: at("phase"), running: at("avrx_running"), record: at("controller_record") }
    }
}

/// A task, or the program before its first one.
struct Thread {
    phase: Phase,
    /// What the present time of its phase has done itself.
    own: Cycles,
    /// The phases of what was interrupted, by interrupts that have begun and not ended.
    interrupted: Vec<Phase>,
}

impl Thread {
    fn new(phase: Phase) -> Thread {
        Thread { phase, own: 0, interrupted: Vec::new() }
    }
}

/// What the program itself did in a phase, without the interrupts that came meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// How often the phase was begun and ended.
    pub times: u64,
    /// Cycles of all those times together.
    pub cycles: Cycles,
}

/// Bit SPE of SPCR.
const SPI_ENABLE: u8 = 1 << 6;

impl Log {
    /// An empty record that watches stores to the given data-space addresses.
    pub fn new(spcr: u16, capture_enable: u16, capture_bit: u8, marks: Marks) -> Log {
        Log {
            spcr: spcr.into(),
            capture_enable: capture_enable.into(),
            capture_bit,
            marks,
            decisions: marks.record.map(Decisions::new),
            spi_on: false,
            capture_on: false,
            drives: Vec::new(),
            samples: Vec::new(),
            eeprom_writes: Vec::new(),
            running: 0,
            running_next: 0,
            thread: Thread::new(Phase::Booting),
            threads: BTreeMap::new(),
            phase_start: 0,
            spans: Vec::new(),
            phase_cycles: [0; PHASES.len()],
            own: [Work::default(); PHASES.len()],
            own_since: 0,
        }
    }

    /// Whether the chip's SPI or its capture interrupt is on.
    pub fn hears(&self) -> bool {
        self.spi_on || self.capture_on
    }

    /// Takes the pin changes since the last call.
    pub fn take_drives(&mut self) -> impl Iterator<Item = (Cycles, Pin, Drive)> {
        self.drives.drain(..)
    }

    /// Takes the samples since the last call.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    /// Takes the writes to the EEPROM since the last call.
    pub fn take_eeprom_writes(&mut self) -> Vec<EepromWrite> {
        std::mem::take(&mut self.eeprom_writes)
    }

    /// Takes what the controller has decided since the last call; `None` without a controller.
    pub fn take_decisions(&mut self) -> Option<Vec<Decision>> {
        self.decisions.as_mut().map(Decisions::take)
    }

    /// The kept spans of phases, oldest first; the running one is not among them.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Cycles spent in a phase before the running span.
    pub fn phase_cycles(&self, phase: Phase) -> Cycles {
        self.phase_cycles[phase as usize]
    }

    /// What the program itself did in a phase that it has ended.
    pub fn work(&self, phase: Phase) -> Work {
        self.own[phase as usize]
    }

    /// Ends the span of the present phase.
    fn end_span(&mut self, cycle: Cycles) {
        let phase = self.thread.phase;
        self.phase_cycles[phase as usize] += cycle - self.phase_start;
        if self.spans.len() < SPANS_MAX && cycle > self.phase_start {
            self.spans.push(Span { phase, start: self.phase_start, end: cycle });
        }
        self.phase_start = cycle;
    }

    fn enter(&mut self, phase: Phase, cycle: Cycles) {
        if phase == self.thread.phase {
            return;
        }
        self.end_span(cycle);
        if phase == Phase::Booting {
            // A reset: no interrupt of before ever ends.
            (self.running, self.running_next, self.thread) = (0, 0, Thread::new(phase));
            self.threads.clear();
            self.own_since = cycle;
        } else if self.thread.interrupted.is_empty() {
            let own = &mut self.own[self.thread.phase as usize];
            own.times += 1;
            own.cycles += self.thread.own + (cycle - self.own_since);
            (self.thread.own, self.own_since) = (0, cycle);
        }
        self.thread.phase = phase;
    }

    /// Another task runs, in the phase in which it stopped.
    fn switch(&mut self, task: u16, cycle: Cycles) {
        if task == self.running {
            return;
        }
        let next = self.threads.remove(&task).unwrap_or_else(|| Thread::new(Phase::Waiting));
        if next.phase != self.thread.phase {
            self.end_span(cycle);
        }
        if self.thread.interrupted.is_empty() {
            self.thread.own += cycle - self.own_since;
        }
        self.threads.insert(self.running, std::mem::replace(&mut self.thread, next));
        (self.running, self.own_since) = (task, cycle);
    }
}

/// Whether this is one of the two bytes of a word.
fn at_word(word: u16, address: u32) -> bool {
    address.wrapping_sub(word.into()) < 2
}

impl isa::Observer for Log {
    #[inline]
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if Some(address) == self.marks.phase.map(u32::from) {
            if let Some(&phase) = PHASES.get(usize::from(value)) {
                self.enter(phase, cycle);
            }
        } else if let Some(running) = self.marks.running.filter(|&at| at_word(at, address)) {
            let mut bytes = self.running_next.to_le_bytes();
            bytes[usize::from(address != u32::from(running))] = value;
            self.running_next = u16::from_le_bytes(bytes);
            // The kernel stores the high byte last.
            if address != u32::from(running) {
                self.switch(self.running_next, cycle);
            }
        } else if let Some(decisions) = self.decisions.as_mut().filter(|decisions| decisions.has(address)) {
            decisions.store(cycle, address, value);
        } else if address == self.spcr {
            self.spi_on = value & SPI_ENABLE != 0;
        } else if address == self.capture_enable {
            self.capture_on = value >> self.capture_bit & 1 != 0;
        }
    }
}

impl Observer for Log {
    #[inline]
    fn interrupt(&mut self, cycle: Cycles, _vector: u8) {
        if self.thread.interrupted.is_empty() {
            self.thread.own += cycle - self.own_since;
        }
        self.thread.interrupted.push(self.thread.phase);
    }

    #[inline]
    fn interrupt_ends(&mut self, cycle: Cycles) {
        let Some(phase) = self.thread.interrupted.pop() else { return };
        if phase != self.thread.phase {
            self.end_span(cycle);
            self.thread.phase = phase;
        }
        if self.thread.interrupted.is_empty() {
            self.own_since = cycle;
        }
    }

    #[inline]
    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.drives.push((cycle, pin, drive));
    }

    #[inline]
    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        match effect {
            Effect::Sampled { code, .. } => self.samples.push(Sample { cycle, code: *code }),
            Effect::EepromWritten { address, value } => {
                self.eeprom_writes.push(EepromWrite { cycle, address: *address, value: *value });
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Observer as _;

    #[test]
    fn work_is_what_no_interrupt_has_taken() {
        let mut log = Log::new(0, 1, 0, Marks { phase: Some(2), ..Marks::default() });
        let enter = |log: &mut Log, cycle, phase: Phase| log.store(cycle, 2, phase as u8);
        enter(&mut log, 10, Phase::Sealing);
        // An interrupt with a phase of its own, and another within it.
        log.interrupt(13, 1);
        enter(&mut log, 17, Phase::Sampling);
        log.interrupt(20, 2);
        log.interrupt_ends(30);
        enter(&mut log, 33, Phase::Sealing);
        log.interrupt_ends(40);
        log.interrupt(41, 2);
        log.interrupt_ends(50);
        enter(&mut log, 52, Phase::Waiting);
        enter(&mut log, 60, Phase::Sealing);
        log.interrupt(61, 2);
        assert_eq!(log.work(Phase::Sealing), Work { times: 1, cycles: 3 + 1 + 2 }, "the second goes on");
        assert_eq!(log.work(Phase::Sampling), Work::default(), "no work of the program");
        assert_eq!(log.phase_cycles(Phase::Sealing), 7 + 19);
        // A reset ends the interrupt too.
        enter(&mut log, 70, Phase::Booting);
        enter(&mut log, 80, Phase::Sealing);
        enter(&mut log, 85, Phase::Waiting);
        assert_eq!(log.work(Phase::Sealing), Work { times: 2, cycles: 6 + 5 });
        assert_eq!(log.work(Phase::Booting).cycles, 10 + 10);
    }

    #[test]
    fn a_phase_is_its_tasks_and_goes_on_when_the_task_does() {
        let mut log = Log::new(0, 1, 0, Marks { phase: Some(2), running: Some(4), record: None });
        let run = |log: &mut Log, cycle, task: u16| {
            for (at, byte) in (4..).zip(task.to_le_bytes()) {
                log.store(cycle, at, byte);
            }
        };
        run(&mut log, 10, 0x101);
        log.store(20, 2, Phase::Sealing as u8);
        // An interrupt wakes another task, which says something, is interrupted and waits again.
        log.interrupt(25, 1);
        run(&mut log, 30, 0x202);
        log.store(40, 2, Phase::Transmitting as u8);
        log.interrupt(42, 1);
        log.store(43, 2, Phase::Sampling as u8);
        log.interrupt_ends(47);
        run(&mut log, 50, 0x101);
        log.interrupt_ends(55);
        log.store(60, 2, Phase::Waiting as u8);
        run(&mut log, 70, 0x202);
        log.store(75, 2, Phase::Waiting as u8);
        assert_eq!(log.work(Phase::Sealing), Work { times: 1, cycles: 5 + 5 });
        assert_eq!(log.work(Phase::Transmitting), Work { times: 1, cycles: 2 + 3 + 5 });
        assert_eq!(log.phase_cycles(Phase::Sealing), 10 + 10);
        assert_eq!(log.phase_cycles(Phase::Transmitting), 3 + 3 + 5);
        assert_eq!(log.phase_cycles(Phase::Sampling), 4);
    }
}
