//! What each instruction does, and the loop that does it.
//!
//! Owns: the exhaustive match over the table, and when a cycle is spent for what. The state is `machine`'s; costs are
//! `timing`'s.

use super::bits::Instruction;
use super::bus::{Bus, Fetched, Refusal, Width};
use super::machine::Machine;
use super::places::Place;
use super::table::{Opcode, ROWS, Row};
use super::trap::Trap;
use crate::{Cycles, Observer};

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

static SOURCES: [Sources; ROWS.len()] = {
    let mut all = [sources(&ROWS[0]); ROWS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = sources(&ROWS[index]);
        index += 1;
    }
    all
};

/// Where the program goes on behind an instruction, and what that took.
#[derive(Clone, Copy)]
enum Flow {
    /// Behind it.
    On,
    /// Behind it, in the time of a division by zero.
    Undivided,
    /// There.
    To(u32),
    /// There, by a branch.
    Taken(u32),
}

/// The upper word of a product.
#[inline(always)]
fn high(product: i64) -> u32 {
    (product >> 32) as u32
}

impl<B: Bus> Machine<B> {
    #[inline(always)]
    fn get(&self, number: u8) -> u32 {
        self.registers[usize::from(number & 31)]
    }

    #[inline(always)]
    fn set(&mut self, number: u8, value: u32) {
        self.registers[usize::from(number & 31)] = value;
        self.registers[0] = 0;
    }

    /// Executes until a cycle is reached; comes back earlier with what an instruction is refused, PC at it.
    pub(super) fn execute<O: Observer>(&mut self, until: Cycles, o: &mut O) -> Result<(), Refusal> {
        while self.cycle < until {
            let (begin, pc) = (self.cycle, self.pc);
            let mut wait = 0;
            let fetched = self.bus.fetch(pc, begin, &mut wait);
            if wait != 0 {
                self.cycle += Cycles::from(wait);
                self.spent.fetch_cycles += Cycles::from(wait);
            }
            let Fetched { instruction, next } = fetched?;
            o.fetch(begin, pc);
            self.stall(instruction);
            let now = self.cycle;
            let flow = match self.perform(instruction, pc, next, now, o) {
                Ok(flow) => flow,
                Err(refusal) => {
                    self.next = Some(next);
                    return Err(refusal);
                }
            };
            let cycles = self.costs[instruction.opcode as usize];
            let (cycles, to) = match flow {
                Flow::On => (cycles, next),
                Flow::To(target) => (cycles, target),
                Flow::Taken(target) => (self.timing.branch_taken_cycles, target),
                Flow::Undivided => (self.timing.divide_by_zero_cycles, next),
            };
            self.cycle += Cycles::from(cycles);
            self.spent.instructions += 1;
            self.pc = to;
            o.retire(self.cycle, pc);
        }
        Ok(())
    }

    /// Waits for what the instruction before leaves late.
    #[inline(always)]
    fn stall(&mut self, i: Instruction) {
        if self.loaded != 0 {
            let sources = SOURCES[i.opcode as usize];
            if self.loaded & (sources.rs1 << (i.rs1 & 31) | sources.rs2 << (i.rs2 & 31)) != 0 {
                let cycles = Cycles::from(self.timing.load_use_cycles);
                self.cycle += cycles;
                self.spent.load_use_cycles += cycles;
            }
            self.loaded = 0;
        }
    }

    fn waited(&mut self, wait: u32) {
        self.cycle += Cycles::from(wait);
        self.spent.data_cycles += Cycles::from(wait);
    }

    #[inline(always)]
    fn load<O: Observer>(
        &mut self,
        i: Instruction,
        width: Width,
        now: Cycles,
        o: &mut O,
        extend: impl Fn(u32) -> u32,
    ) -> Result<(), Refusal> {
        let at = self.get(i.rs1).wrapping_add(i.k as u32);
        if at & (width.bytes() - 1) != 0 {
            return Err(Trap::LoadMisaligned.into());
        }
        let mut wait = 0;
        let value = self.bus.load(at, width, self.cycle, &mut wait);
        if wait != 0 {
            self.waited(wait);
        }
        let value = value?;
        for byte in 0..width.bytes() {
            o.load(now, at + byte, (value >> (8 * byte)) as u8);
        }
        self.loaded = self.late & !1 & 1 << (i.rd & 31);
        self.set(i.rd, extend(value));
        Ok(())
    }

    #[inline(always)]
    fn store<O: Observer>(
        &mut self,
        i: Instruction,
        width: Width,
        now: Cycles,
        o: &mut O,
    ) -> Result<(), Refusal> {
        let (at, value) = (self.get(i.rs1).wrapping_add(i.k as u32), self.get(i.rs2));
        if at & (width.bytes() - 1) != 0 {
            return Err(Trap::StoreMisaligned.into());
        }
        let mut wait = 0;
        let stored = self.bus.store(at, width, value, self.cycle, &mut wait);
        if wait != 0 {
            self.waited(wait);
        }
        stored?;
        for byte in 0..width.bytes() {
            o.store(now, at + byte, (value >> (8 * byte)) as u8);
        }
        Ok(())
    }

    /// Where a branch or JAL goes: to the first slot of a word.
    #[inline(always)]
    fn relative(pc: u32, i: Instruction) -> Result<u32, Trap> {
        let target = (pc & !3).wrapping_add(i.k as u32);
        if target & 3 == 0 { Ok(target) } else { Err(Trap::InstructionMisaligned) }
    }

    /// Where JALR goes; see `bus` on slots.
    #[inline(always)]
    fn absolute(&self, i: Instruction) -> Result<u32, Trap> {
        let target = self.get(i.rs1).wrapping_add(i.k as u32);
        if B::SLOTS {
            return Ok(target);
        }
        if target & 2 == 0 { Ok(target & !1) } else { Err(Trap::InstructionMisaligned) }
    }

    /// Reads a counter. No other state register is there, and these cannot be written: what would write traps.
    fn counter(&mut self, i: Instruction) -> Result<Flow, Refusal> {
        let writes = matches!(i.opcode, Opcode::Csrrw | Opcode::Csrrwi) || i.rs1 != 0;
        let value = match i.k {
            // Time is counted in cycles.
            0xc00 | 0xc01 => self.cycle as u32,
            0xc80 | 0xc81 => (self.cycle >> 32) as u32,
            0xc02 => self.spent.instructions as u32,
            0xc82 => (self.spent.instructions >> 32) as u32,
            _ => return Err(Trap::IllegalInstruction.into()),
        };
        if writes {
            return Err(Trap::IllegalInstruction.into());
        }
        self.set(i.rd, value);
        Ok(Flow::On)
    }

    /// Does one instruction, all of it or, when it is refused, nothing.
    #[inline(always)]
    fn perform<O: Observer>(
        &mut self,
        i: Instruction,
        pc: u32,
        next: u32,
        now: Cycles,
        o: &mut O,
    ) -> Result<Flow, Refusal> {
        use Opcode::*;
        let (a, b, k) = (self.get(i.rs1), self.get(i.rs2), i.k as u32);
        let (signed_a, signed_b) = (a as i32, b as i32);
        macro_rules! set {
            ($value:expr) => {{
                let value = $value;
                self.set(i.rd, value)
            }};
        }
        macro_rules! branch {
            ($condition:expr) => {
                if $condition {
                    return Ok(Flow::Taken(Self::relative(pc, i)?));
                }
            };
        }
        macro_rules! divide {
            ($by_zero:expr, $otherwise:expr) => {{
                if b == 0 {
                    set!($by_zero);
                    return Ok(Flow::Undivided);
                }
                set!($otherwise)
            }};
        }
        match i.opcode {
            Lui => set!(k << 12),
            Auipc => set!((pc & !3).wrapping_add(k << 12)),
            Jal => {
                let target = Self::relative(pc, i)?;
                set!(next);
                return Ok(Flow::To(target));
            }
            Jalr => {
                let target = self.absolute(i)?;
                set!(next);
                return Ok(Flow::To(target));
            }
            Beq => branch!(a == b),
            Bne => branch!(a != b),
            Blt => branch!(signed_a < signed_b),
            Bge => branch!(signed_a >= signed_b),
            Bltu => branch!(a < b),
            Bgeu => branch!(a >= b),
            Lb => self.load(i, Width::Byte, now, o, |value| value as i8 as u32)?,
            Lh => self.load(i, Width::Half, now, o, |value| value as i16 as u32)?,
            Lw => self.load(i, Width::Word, now, o, |value| value)?,
            Lbu => self.load(i, Width::Byte, now, o, |value| value)?,
            Lhu => self.load(i, Width::Half, now, o, |value| value)?,
            Sb => self.store(i, Width::Byte, now, o)?,
            Sh => self.store(i, Width::Half, now, o)?,
            Sw => self.store(i, Width::Word, now, o)?,
            Addi => set!(a.wrapping_add(k)),
            Slti => set!((signed_a < i.k).into()),
            Sltiu => set!((a < k).into()),
            Xori => set!(a ^ k),
            Ori => set!(a | k),
            Andi => set!(a & k),
            Slli => set!(a << (k & 31)),
            Srli => set!(a >> (k & 31)),
            Srai => set!((signed_a >> (k & 31)) as u32),
            Add => set!(a.wrapping_add(b)),
            Sub => set!(a.wrapping_sub(b)),
            Sll => set!(a << (b & 31)),
            Slt => set!((signed_a < signed_b).into()),
            Sltu => set!((a < b).into()),
            Xor => set!(a ^ b),
            Srl => set!(a >> (b & 31)),
            Sra => set!((signed_a >> (b & 31)) as u32),
            Or => set!(a | b),
            And => set!(a & b),
            Mul => set!(a.wrapping_mul(b)),
            Mulh => set!(high(i64::from(signed_a) * i64::from(signed_b))),
            Mulhsu => set!(high(i64::from(signed_a) * i64::from(b))),
            Mulhu => set!(high((u64::from(a) * u64::from(b)) as i64)),
            Div => divide!(u32::MAX, signed_a.wrapping_div(signed_b) as u32),
            Divu => divide!(u32::MAX, a / b),
            Rem => divide!(a, signed_a.wrapping_rem(signed_b) as u32),
            Remu => divide!(a, a % b),
            // Nothing is between the core and the bus that could be late.
            Fence | FenceTso => {}
            Ecall => return Err(Trap::EnvironmentCall.into()),
            Ebreak => return Err(Trap::Breakpoint.into()),
            Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => return self.counter(i),
        }
        Ok(Flow::On)
    }
}
