//! A core that does one instruction after the other, as a file of cycles tells it.
//!
//! Owns: when the cycles of `timing` are spent. An instruction takes what its class takes, and may have waited for what
//! the one before it loaded.

use super::bits::Instruction;
use super::bus::{Bus, Width};
use super::custom::{Unit, Units};
use super::machine::Spent;
use super::pipeline::{Ahead, Flow, Pipeline};
use super::places::Place;
use super::table::{OPCODE_COUNT, Opcode, Row};
use super::timing::Timing;
use crate::Cycles;

/// Which source registers an instruction reads, each 0 or 1.
#[derive(Clone, Copy)]
struct Sources {
    rs1: u32,
    rs2: u32,
}

const fn names(places: &[Place], wanted: Place) -> u32 {
    let mut index = 0;
    while index < places.len() {
        if places[index] as u8 == wanted as u8 {
            return 1;
        }
        index += 1;
    }
    0
}

const fn sources(row: &Row) -> Sources {
    Sources { rs1: names(row.reads, Place::Rs1), rs2: names(row.reads, Place::Rs2) }
}

static SOURCES: [Sources; OPCODE_COUNT] = {
    let mut all = [Sources { rs1: 1, rs2: 1 }; OPCODE_COUNT];
    let mut index = 0;
    while index < all.len() {
        if index != Opcode::Custom as usize {
            all[index] = sources(Opcode::row_at(index));
        }
        index += 1;
    }
    all
};

/// One instruction at a time.
#[derive(Clone, Debug)]
pub struct Sequential {
    costs: [u8; OPCODE_COUNT],
    timing: Timing,
    /// The registers that the last instruction loaded and that are late, a bit each.
    loaded: u32,
    /// All registers if what is loaded is late, else none.
    late: u32,
}

impl Sequential {
    /// As a file tells it.
    pub fn new(timing: Timing) -> Sequential {
        let late = if timing.load_use_cycles == 0 { 0 } else { u32::MAX };
        Sequential { costs: timing.by_opcode(), timing, loaded: 0, late }
    }
}

impl Pipeline for Sequential {
    #[inline(always)]
    fn issue(&mut self, i: Instruction, _pc: u32, now: &mut Cycles, spent: &mut Spent, _units: &Units) {
        if self.loaded != 0 {
            let sources = SOURCES[i.opcode as usize];
            if self.loaded & (sources.rs1 << (i.rs1 & 31) | sources.rs2 << (i.rs2 & 31)) != 0 {
                let cycles = Cycles::from(self.timing.load_use_cycles);
                *now += cycles;
                spent.load_use_cycles += cycles;
            }
            self.loaded = 0;
        }
    }

    #[inline(always)]
    fn load<B: Bus>(
        &mut self,
        _at: u32,
        _width: Width,
        now: Cycles,
        _spent: &mut Spent,
        _ahead: &Ahead<'_, B>,
    ) -> Cycles {
        now
    }

    #[inline(always)]
    fn store(&mut self, _at: u32, _width: Width, now: Cycles) -> Cycles {
        now
    }

    #[inline(always)]
    fn loaded(&mut self, i: Instruction) {
        self.loaded = self.late & !1 & 1 << (i.rd & 31);
    }

    #[inline(always)]
    fn wait(&mut self, cycles: u32, now: &mut Cycles) {
        *now += Cycles::from(cycles);
    }

    fn custom(&mut self, unit: &Unit, now: &mut Cycles) {
        *now += Cycles::from(unit.latency.pico_cycles);
    }

    #[inline(always)]
    fn complete<B: Bus>(&mut self, i: Instruction, flow: Flow, now: &mut Cycles, _ahead: &Ahead<'_, B>) {
        *now += Cycles::from(match flow {
            Flow::On | Flow::To(_) => self.costs[i.opcode as usize],
            Flow::Taken(_) => self.timing.branch_taken_cycles,
            Flow::Undivided => self.timing.divide_by_zero_cycles,
        });
    }

    fn answer(&mut self, now: &mut Cycles) {
        *now += Cycles::from(self.timing.cycles(Opcode::Ecall));
        self.loaded = 0;
    }
}
