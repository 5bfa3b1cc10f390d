//! What a node's processor did, as seen from outside: an observer of its chip.
//!
//! Owns the record of sampling instants, EEPROM writes, phases and pins. The phases are a byte in the node's SRAM
//! (`firmware/node/phase.h`) whose stores are watched; nothing here changes the node's behaviour.
//!
//! A phase is the program's; what an interrupt takes of it is part of its span and not of its own work.
//!
//! Sums cover the whole run. Spans are kept up to [`SPANS_MAX`], for the pictures of a report's first superframes.

use isa::Cycles;
use isa::avr::Observer;
use isa::avr::peripheral::{Drive, Effect, Pin};

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
}

/// Every phase, in the order of its number.
pub const PHASES: [Phase; 9] = [
    Phase::Booting,
    Phase::Asleep,
    Phase::Waiting,
    Phase::Receiving,
    Phase::Verifying,
    Phase::Sampling,
    Phase::Sealing,
    Phase::Transmitting,
    Phase::Silent,
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
    phase_address: Option<u32>,
    spi_on: bool,
    capture_on: bool,
    drives: Vec<(Cycles, Pin, Drive)>,
    samples: Vec<Sample>,
    eeprom_writes: Vec<EepromWrite>,
    phase: Phase,
    phase_start: Cycles,
    spans: Vec<Span>,
    phase_cycles: [Cycles; PHASES.len()],
    own: [Work; PHASES.len()],
    /// Interrupts that have begun and not ended, and since when none has, in this phase.
    interrupts: u32,
    own_since: Cycles,
    /// What the running span of this phase has done itself.
    own_running: Cycles,
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
    pub fn new(spcr: u16, capture_enable: u16, capture_bit: u8, phase: Option<u16>) -> Log {
        Log {
            spcr: spcr.into(),
            capture_enable: capture_enable.into(),
            capture_bit,
            phase_address: phase.map(u32::from),
            spi_on: false,
            capture_on: false,
            drives: Vec::new(),
            samples: Vec::new(),
            eeprom_writes: Vec::new(),
            phase: Phase::Booting,
            phase_start: 0,
            spans: Vec::new(),
            phase_cycles: [0; PHASES.len()],
            own: [Work::default(); PHASES.len()],
            interrupts: 0,
            own_since: 0,
            own_running: 0,
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

    fn enter(&mut self, phase: Phase, cycle: Cycles) {
        if phase == self.phase {
            return;
        }
        self.phase_cycles[self.phase as usize] += cycle - self.phase_start;
        if self.spans.len() < SPANS_MAX && cycle > self.phase_start {
            self.spans.push(Span { phase: self.phase, start: self.phase_start, end: cycle });
        }
        if phase == Phase::Booting {
            // A reset: no interrupt of before ever ends.
            self.interrupts = 0;
        } else if self.interrupts == 0 {
            let own = &mut self.own[self.phase as usize];
            own.times += 1;
            own.cycles += self.own_running + (cycle - self.own_since);
        }
        if self.interrupts == 0 {
            (self.own_running, self.own_since) = (0, cycle);
        }
        self.phase = phase;
        self.phase_start = cycle;
    }
}

impl isa::Observer for Log {
    #[inline]
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if Some(address) == self.phase_address {
            if let Some(&phase) = PHASES.get(usize::from(value)) {
                self.enter(phase, cycle);
            }
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
        if self.interrupts == 0 {
            self.own_running += cycle - self.own_since;
        }
        self.interrupts += 1;
    }

    #[inline]
    fn interrupt_ends(&mut self, cycle: Cycles) {
        self.interrupts = self.interrupts.saturating_sub(1);
        if self.interrupts == 0 {
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
        let mut log = Log::new(0, 1, 0, Some(2));
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
}
