//! VexRiscv with five stages and two caches, as its hardware is: fetch in two steps, decode, execute, memory, write-back.
//!
//! Owns: in which cycle each instruction leaves each stage. The model is of `rtl/tb/vex5.v` and was learnt from the
//! Verilog that is run there; `tests/rv32_vex5.rs` compares the two, instruction by instruction.
//!
//! # What there is to know of the core
//! - The pipeline is rigid: where a stage is stuck, all before it are, bubbles or not. What comes behind a stuck stage
//!   goes on. Fetch is stuck with decode.
//! - Decode waits for sources ([`FiveStage::ready`]): what is not bypassed out of execute or memory is there a stage
//!   later. It asks for every instruction in those stages, also for one whose result another has replaced.
//! - JAL and branches backwards are followed from decode, and the cycle behind is empty. Other jumps, and what was
//!   followed wrongly, leave from execute, and two cycles are empty; unless what stood behind the jump, in decode, just
//!   then had to wait for a source: then decode is stuck for that cycle, and so is fetch.
//! - The instruction cache (128 lines of 32 bytes, one way) is found to miss in decode. Fetch begins anew with what
//!   missed when the line is there. What stands behind a jump may miss too, and is then waited for.
//! - The data cache (the same) writes through and takes no line for a store. A load finds that it misses in
//!   write-back: everything behind it is thrown away, and the load is fetched again, to wait in execute for its line.
//!   The same happens without a miss where a store in write-back changes the word while the load is in execute or
//!   memory. What is thrown away leaves the lines that it has begun to fill.
//! - Division stays in memory, CSRs are accessed when memory and write-back are empty, and addresses from 8000_0000 on
//!   are not cached. Units are asked from execute, when nothing in memory or write-back does more than compute, and are
//!   waited for in memory.
//!
//! Instructions are done one after the other here, so what is stuck is known as [`Window`]s of cycles that older
//! instructions have left, and what younger ones do before they are thrown away is played through
//! ([`FiveStage::shadow`]). [`FiveStage::tightly_coupled`] is the same pipeline with memories instead of caches: every
//! access hits, and a load finds what was just stored.

use super::bits::Instruction;
use super::bus::{Bus, Width};
use super::custom::Units;
use super::machine::Spent;
use super::pipeline::{Ahead, Flow, Pipeline};
use super::table::{OPCODE_COUNT, Opcode};
use super::timing::Class;
use crate::{Cycles, costs};

mod shadow;

/// A line of a cache.
const LINE_BITS: u32 = 5;
/// Lines in a cache.
const LINES: usize = 128;
/// An address that is in no line.
const NOWHERE: u32 = u32::MAX;
/// From here on, nothing is cached.
const OUTSIDE: u32 = 0x8000_0000;
/// The state register that switches custom instructions on; also the mask of interrupts, which are not here.
const CUSTOM_REGISTER: u32 = 0xbc0;
/// What the file tells.
const NAMES: [&str; 5] =
    ["divide_in_memory", "fill_instructions", "fill_data", "restart_data", "outside_load"];

/// What an instruction is for the pipeline, by where decode takes its result from (`decode_BYPASSABLE_EXECUTE_STAGE` and
/// `decode_BYPASSABLE_MEMORY_STAGE`), and what else it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// Goes through at once, and its result is bypassed everywhere.
    Plain,
    /// Its result is bypassed from memory on.
    Late,
    /// Its result is bypassed from write-back on, as that of a load.
    Last,
    Load,
    Store,
    Branch,
    Jump,
    JumpRegister,
    /// As late ones; what follows may be stuck.
    Divide,
    Csr,
    Custom,
}

const fn kind(class: Class) -> Kind {
    match class {
        Class::Single | Class::Fence | Class::System => Kind::Plain,
        Class::Shift => Kind::Late,
        Class::Multiply | Class::MultiplyHigh => Kind::Last,
        Class::Load => Kind::Load,
        Class::Store => Kind::Store,
        Class::Branch => Kind::Branch,
        Class::Jump => Kind::Jump,
        Class::JumpRegister => Kind::JumpRegister,
        Class::Divide => Kind::Divide,
        Class::Csr => Kind::Csr,
        Class::Custom => Kind::Custom,
    }
}

static KINDS: [Kind; OPCODE_COUNT] = {
    let mut kinds = [Kind::Plain; OPCODE_COUNT];
    let mut index = 0;
    while index < kinds.len() {
        kinds[index] = kind(Opcode::row_at(index).class);
        index += 1;
    }
    kinds
};

/// Cycles in which decode and what is before it is stuck: from one to before another.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    from: Cycles,
    until: Cycles,
}

/// A store that changed the data cache.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    word: u32,
    /// A bit for each byte.
    bytes: u8,
    /// When it was in write-back.
    w: Cycles,
}

/// Which line is in each place of a cache, by its number.
type Cache = [u32; LINES];

/// The pipeline.
#[derive(Clone, Debug)]
pub struct FiveStage {
    instructions: Cache,
    data: Cache,
    is_cached: bool,
    /// The line of the last instruction, while it is known to be in its cache.
    line: u32,
    pc: u32,
    /// When the last instruction left decode, execute, memory and write-back.
    d: Cycles,
    e: Cycles,
    m: Cycles,
    w: Cycles,
    /// When who reads a register may leave decode.
    ready: [Cycles; 32],
    /// The last of these that comes out of write-back.
    last_ready: Cycles,
    /// When the last instruction that does more than compute was in write-back.
    effect_w: Cycles,
    /// When the last unit answered.
    answered: Cycles,
    /// The last windows, the oldest first, and the end of the last.
    windows: [Window; 4],
    stuck_until: Cycles,
    /// The last stores, the last first.
    stores: [Stored; 2],
    custom: u32,
    timing: Timing,
}

/// What the file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Timing {
    divide_in_memory: Cycles,
    fill_instructions: Cycles,
    fill_data: Cycles,
    restart_data: Cycles,
    outside_load: Cycles,
}

impl Timing {
    fn new() -> Timing {
        let cycles =
            costs::read(include_str!("vex5.csv"), &NAMES, &[]).expect("the file is ours, and tested");
        let [divide_in_memory, fill_instructions, fill_data, restart_data, outside_load] =
            std::array::from_fn(|index| cycles[index].into());
        Timing { divide_in_memory, fill_instructions, fill_data, restart_data, outside_load }
    }
}

/// What an access of data covers of its word.
fn covered(at: u32, width: Width) -> u8 {
    let bytes = match width {
        Width::Byte => 0b1,
        Width::Half => 0b11,
        Width::Word => 0b1111,
    };
    bytes << (at & 3)
}

fn place(line: u32) -> usize {
    line as usize % LINES
}

impl FiveStage {
    /// With its caches, which are empty.
    pub fn cached() -> FiveStage {
        FiveStage {
            instructions: [NOWHERE; LINES],
            data: [NOWHERE; LINES],
            is_cached: true,
            line: NOWHERE,
            pc: 0,
            d: 0,
            e: 0,
            m: 0,
            w: 0,
            ready: [0; 32],
            last_ready: 0,
            effect_w: 0,
            answered: 0,
            windows: [Window::default(); 4],
            stuck_until: 0,
            stores: [Stored::default(); 2],
            custom: 0,
            timing: Timing::new(),
        }
    }

    /// With memories in their place.
    pub fn tightly_coupled() -> FiveStage {
        FiveStage { is_cached: false, ..FiveStage::cached() }
    }

    /// When the last instruction was in write-back for the last time.
    pub fn written(&self) -> Cycles {
        self.w
    }

    /// The first cycle from one on in which decode, and what is before it, is not stuck.
    fn free(&self, mut cycle: Cycles) -> Cycles {
        if cycle < self.stuck_until {
            for window in self.windows {
                if window.from <= cycle && cycle < window.until {
                    cycle = window.until;
                }
            }
        }
        cycle
    }

    /// A stage is stuck, and so is all before it.
    fn stick(&mut self, from: Cycles, until: Cycles) {
        if from < until {
            self.windows.rotate_left(1);
            self.windows[3] = Window { from, until };
            self.stuck_until = self.stuck_until.max(until);
        }
    }

    /// When what fetch begins in a cycle, or as soon as it may, is in decode.
    fn arrival(&self, begun: Cycles) -> Cycles {
        self.free(self.free(begun) + 1) + 1
    }

    /// Whether an instruction is in its cache.
    fn has_instruction(&self, pc: u32) -> bool {
        let line = pc >> LINE_BITS;
        !self.is_cached || self.instructions[place(line)] == line
    }

    /// Begins to fill the line of an instruction in a cycle: when fetch may go on.
    fn fill_instructions(&mut self, pc: u32, cycle: Cycles) -> Cycles {
        let line = pc >> LINE_BITS;
        self.instructions[place(line)] = line;
        self.line = NOWHERE;
        cycle + self.timing.fill_instructions
    }

    /// An instruction of another line is in decode, in a cycle: when it is there with its line.
    #[inline(never)]
    fn enter(&mut self, pc: u32, arrived: Cycles) -> Cycles {
        let mut arrived = arrived;
        if !self.has_instruction(pc) {
            let filled = self.fill_instructions(pc, arrived);
            arrived = self.arrival(filled);
        }
        self.line = pc >> LINE_BITS;
        arrived
    }

    /// Through the stages, where one of them may be stuck.
    #[cold]
    fn pass(&mut self, kind: Kind, arrived: Cycles, latency: Cycles) {
        self.d = self.free(arrived);
        let execute = self.free(self.d + 1);
        let begin = match kind {
            // Memory and write-back are to be empty.
            Kind::Csr => self.w + 1,
            // What is there is to do no more than compute, and one result comes in a cycle. The unit is asked even where
            // execute is stuck otherwise.
            Kind::Custom => {
                let free = self.answered + Cycles::from(latency == 0);
                (self.d + 1).max(self.effect_w + 1).max(free)
            }
            _ => 0,
        };
        self.e = self.free(execute.max(begin));
        let memory = self.free(self.e + 1);
        let end = match kind {
            Kind::Divide => self.e + self.timing.divide_in_memory,
            Kind::Custom => {
                self.answered = begin + latency;
                self.answered
            }
            _ => 0,
        };
        self.m = self.free(memory.max(end));
        self.w = self.m + 1;
        if self.e > execute {
            self.stick(self.d + 1, self.e);
        }
        if self.m > memory {
            self.stick(self.e + 1, self.m);
        }
    }

    /// The load in write-back is fetched again, in a cycle, and goes through the stages; no sooner than in another one it
    /// leaves execute.
    fn restart(&mut self, begun: Cycles, execute: Cycles) {
        let arrived = self.arrival(begun);
        self.line = NOWHERE;
        self.d = self.enter(self.pc, arrived);
        self.e = execute.max(self.d + 1);
        self.m = self.e + 1;
        self.w = self.m + 1;
        self.stick(self.d + 1, self.e);
    }

    #[cold]
    fn miss<B: Bus>(&mut self, at: u32, spent: &mut Spent, ahead: &Ahead<'_, B>) {
        let (first, before) = (self.m + 1, self.w);
        let shadow = self.shadow(Some(first), first + 1, ahead);
        let line = at >> LINE_BITS;
        self.data[place(line)] = line;
        let begun = (first + self.timing.restart_data).max(shadow.filled);
        self.restart(begun, first + self.timing.fill_data);
        spent.data_cycles += self.w - before;
    }

    #[cold]
    fn collide<B: Bus>(&mut self, spent: &mut Spent, ahead: &Ahead<'_, B>) {
        let (first, before) = (self.m + 1, self.w);
        let shadow = self.shadow(None, first, ahead);
        let begun = (first + Cycles::from(shadow.is_stuck)).max(shadow.filled);
        self.restart(begun, 0);
        spent.data_cycles += self.w - before;
    }

    /// Where a jump that leaves from execute goes on, when what is behind it has been in decode.
    fn leave<B: Bus>(&mut self, ahead: &Ahead<'_, B>) -> Cycles {
        let (behind, first) = (self.pc.wrapping_add(4), self.d + 1);
        if !self.has_instruction(behind) {
            return self.fill_instructions(behind, first).max(self.e);
        }
        if self.e == first && self.last_ready > first {
            let waits = ahead.instruction(behind).is_some_and(|i| self.waits(i, first, ahead.units));
            return self.e + Cycles::from(waits);
        }
        self.e
    }

    /// Whether an instruction has to wait for a source, in a cycle.
    fn waits(&self, i: Instruction, cycle: Cycles, units: &Units) -> bool {
        self.sources_ready(i, units) > cycle
    }

    /// When the sources of an instruction are there.
    fn sources_ready(&self, i: Instruction, units: &Units) -> Cycles {
        sources(i, units).into_iter().map(|number| self.ready[number]).fold(0, Cycles::max)
    }

    fn write(&mut self, rd: u8, ready: Cycles) {
        self.ready[usize::from(rd & 31)] = ready;
        self.ready[0] = 0;
    }
}

/// The registers that an instruction reads; x0 for none.
fn sources(i: Instruction, units: &Units) -> [usize; 3] {
    let numbers = match i.opcode {
        // There, a constant stands in its place.
        Opcode::Csrrwi | Opcode::Csrrsi | Opcode::Csrrci => [0; 3],
        Opcode::Custom => units.sources(i),
        _ => [i.rs1, i.rs2, 0],
    };
    numbers.map(|number| usize::from(number & 31))
}

impl Pipeline for FiveStage {
    #[inline(always)]
    fn issue(&mut self, i: Instruction, pc: u32, now: &mut Cycles, spent: &mut Spent, units: &Units) {
        let mut arrived = *now;
        self.pc = pc;
        if pc >> LINE_BITS != self.line {
            let there = self.enter(pc, arrived);
            spent.fetch_cycles += there - arrived;
            arrived = there;
        }
        let kind = KINDS[i.opcode as usize];
        if arrived < self.stuck_until || matches!(kind, Kind::Divide | Kind::Csr | Kind::Custom) {
            let latency = units.unit(i).map_or(0, |unit| unit.latency.vex5_cycles.into());
            return self.pass(kind, arrived.max(self.sources_ready(i, units)), latency);
        }
        let ready = self.ready[usize::from(i.rs1 & 31)].max(self.ready[usize::from(i.rs2 & 31)]);
        self.d = arrived.max(ready);
        spent.load_use_cycles += self.d - arrived;
        self.e = self.d + 1;
        self.m = self.d + 2;
        self.w = self.d + 3;
    }

    #[inline(always)]
    fn load<B: Bus>(
        &mut self,
        at: u32,
        width: Width,
        _now: Cycles,
        spent: &mut Spent,
        ahead: &Ahead<'_, B>,
    ) -> Cycles {
        if at >= OUTSIDE {
            self.w += self.timing.outside_load;
            self.stick(self.m + 1, self.w);
        } else if self.is_cached {
            let line = at >> LINE_BITS;
            if self.data[place(line)] != line {
                self.miss(at, spent, ahead);
            } else if self.stores[0].w >= self.e {
                let (word, bytes) = (at >> 2, covered(at, width));
                let meets = |store: &Stored| {
                    (store.w == self.e || store.w == self.m) && store.word == word && store.bytes & bytes != 0
                };
                if self.stores.iter().any(meets) {
                    self.collide(spent, ahead);
                }
            }
        }
        self.w
    }

    #[inline(always)]
    fn store(&mut self, at: u32, width: Width, _now: Cycles) -> Cycles {
        let line = at >> LINE_BITS;
        if self.is_cached && self.data[place(line)] == line {
            let stored = Stored { word: at >> 2, bytes: covered(at, width), w: self.w };
            self.stores = [stored, self.stores[0]];
        }
        // It is on the bus behind write-back.
        self.w + 1
    }

    fn port_stores(&mut self, at: u32) {
        let line = at >> LINE_BITS;
        if self.data[place(line)] == line {
            self.data[place(line)] = NOWHERE;
        }
    }

    fn wait(&mut self, cycles: u32, _now: &mut Cycles) {
        self.w += Cycles::from(cycles);
        self.stick(self.m + 1, self.w);
    }

    #[inline(always)]
    fn complete<B: Bus>(&mut self, i: Instruction, flow: Flow, now: &mut Cycles, ahead: &Ahead<'_, B>) {
        *now = self.d + 1;
        match KINDS[i.opcode as usize] {
            Kind::Plain => return,
            Kind::Late | Kind::Divide | Kind::Custom => return self.write(i.rd, self.e + 1),
            Kind::Last => {
                self.last_ready = self.m + 1;
                return self.write(i.rd, self.m + 1);
            }
            Kind::Load => {
                self.last_ready = self.m + 1;
                self.write(i.rd, self.m + 1);
            }
            Kind::Csr => self.write(i.rd, self.e + 1),
            Kind::Store => {}
            Kind::Jump => *now = self.arrival(self.d),
            Kind::JumpRegister => {
                let begun = self.leave(ahead);
                *now = self.arrival(begun);
            }
            Kind::Branch => {
                let is_taken = matches!(flow, Flow::Taken(_));
                match (i.k < 0, is_taken) {
                    (true, true) => *now = self.arrival(self.d),
                    (true, false) => *now = self.arrival(self.e),
                    (false, true) => {
                        let begun = self.leave(ahead);
                        *now = self.arrival(begun);
                    }
                    (false, false) => {}
                }
            }
        }
        self.effect_w = self.w;
    }

    fn answer(&mut self, now: &mut Cycles) {
        *now = self.d + 1;
    }

    fn counted(&self, _now: Cycles) -> Cycles {
        self.e
    }

    fn switched_on_by(&self) -> u32 {
        1 << 31
    }

    fn state_register(&mut self, number: u32) -> Option<&mut u32> {
        (number == CUSTOM_REGISTER).then_some(&mut self.custom)
    }
}
