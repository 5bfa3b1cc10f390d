//! What each instruction does, and the loop that does it.
//!
//! Owns: the exhaustive match over the table, and in which order the bus and the pipeline are asked. The state is
//! `machine`'s; cycles are the pipeline's.

use super::bits::Instruction;
use super::bus::{Bus, Fetched, Refusal, Width};
use super::custom::Port;
use super::machine::Machine;
use super::pipeline::{Ahead, Flow, Pipeline};
use super::table::Opcode;
use super::trap::Trap;
use crate::{Cycles, Observer};

/// The register that calls find the stack by, by the manual's convention.
const STACK: u8 = 2;

/// The upper word of a product.
#[inline(always)]
fn high(product: i64) -> u32 {
    (product >> 32) as u32
}

/// The way of a unit to the bus, for one instruction.
struct UnitPort<'a, B, P, O> {
    bus: &'a mut B,
    pipeline: &'a mut P,
    cycle: Cycles,
    now: Cycles,
    wait: u32,
    o: &'a mut O,
}

impl<B: Bus, P: Pipeline, O: Observer> Port for UnitPort<'_, B, P, O> {
    fn load(&mut self, address: u32, width: Width) -> Result<u32, Refusal> {
        if address & (width.bytes() - 1) != 0 {
            return Err(Trap::LoadMisaligned.into());
        }
        let begin = self.cycle + Cycles::from(self.wait);
        let value = self.bus.load(address, width, begin, &mut self.wait)?;
        for byte in 0..width.bytes() {
            self.o.load(self.now, address + byte, (value >> (8 * byte)) as u8);
        }
        Ok(value)
    }

    fn store(&mut self, address: u32, width: Width, value: u32) -> Result<(), Refusal> {
        if address & (width.bytes() - 1) != 0 {
            return Err(Trap::StoreMisaligned.into());
        }
        let begin = self.cycle + Cycles::from(self.wait);
        self.bus.store(address, width, value, begin, &mut self.wait)?;
        self.pipeline.port_stores(address);
        for byte in 0..width.bytes() {
            self.o.store(self.now, address + byte, (value >> (8 * byte)) as u8);
        }
        Ok(())
    }
}

/// Whether a branch is taken.
#[inline(always)]
pub(super) fn holds(opcode: Opcode, a: u32, b: u32) -> bool {
    match opcode {
        Opcode::Beq => a == b,
        Opcode::Bne => a != b,
        Opcode::Blt => (a as i32) < b as i32,
        Opcode::Bge => a as i32 >= b as i32,
        Opcode::Bltu => a < b,
        Opcode::Bgeu => a >= b,
        _ => false,
    }
}

impl<B: Bus, P: Pipeline> Machine<B, P> {
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
            self.pipeline.issue(instruction, pc, &mut self.cycle, &mut self.spent, &self.units);
            let now = self.cycle;
            let flow = match self.perform(instruction, pc, next, now, o) {
                Ok(flow) => flow,
                Err(refusal) => {
                    self.next = Some(next);
                    return Err(refusal);
                }
            };
            if instruction.rd == STACK {
                o.stack(self.registers[usize::from(STACK)]);
            }
            let ahead = Ahead { bus: &self.bus, units: &self.units, registers: &self.registers };
            self.pipeline.complete(instruction, flow, &mut self.cycle, &ahead);
            self.spent.instructions += 1;
            self.pc = match flow {
                Flow::On | Flow::Undivided => next,
                Flow::To(target) | Flow::Taken(target) => target,
            };
            o.retire(self.cycle, pc);
        }
        Ok(())
    }

    fn waited(&mut self, wait: u32) {
        self.pipeline.wait(wait, &mut self.cycle);
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
        let ahead = Ahead { bus: &self.bus, units: &self.units, registers: &self.registers };
        let asked = self.pipeline.load(at, width, self.cycle, &mut self.spent, &ahead);
        let mut wait = 0;
        let value = self.bus.load(at, width, asked, &mut wait);
        if wait != 0 {
            self.waited(wait);
        }
        let value = value?;
        for byte in 0..width.bytes() {
            o.load(now, at + byte, (value >> (8 * byte)) as u8);
        }
        self.pipeline.loaded(i);
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
        let asked = self.pipeline.store(at, width, self.cycle);
        let mut wait = 0;
        let stored = self.bus.store(at, width, value, asked, &mut wait);
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

    /// Reads a counter, none of which can be written, or accesses a state register of the core's own. No others are there.
    fn access_state(&mut self, i: Instruction) -> Result<Flow, Refusal> {
        let is_constant = matches!(i.opcode, Opcode::Csrrwi | Opcode::Csrrsi | Opcode::Csrrci);
        let operand = if is_constant { i.rs1.into() } else { self.get(i.rs1) };
        let replaces = matches!(i.opcode, Opcode::Csrrw | Opcode::Csrrwi);
        let clears = matches!(i.opcode, Opcode::Csrrc | Opcode::Csrrci);
        let writes = replaces || i.rs1 != 0;
        let cycle = self.pipeline.counted(self.cycle);
        let value = match i.k {
            // Time is counted in cycles.
            0xc00 | 0xc01 if !writes => cycle as u32,
            0xc80 | 0xc81 if !writes => (cycle >> 32) as u32,
            0xc02 if !writes => self.spent.instructions as u32,
            0xc82 if !writes => (self.spent.instructions >> 32) as u32,
            number => {
                let register = self.pipeline.state_register(number as u32).ok_or(Trap::IllegalInstruction)?;
                let value = *register;
                *register = if replaces {
                    operand
                } else if clears {
                    value & !operand
                } else {
                    value | operand
                };
                value
            }
        };
        self.set(i.rd, value);
        Ok(Flow::On)
    }

    /// Does one of one's own.
    #[inline(never)]
    fn custom<O: Observer>(&mut self, i: Instruction, now: Cycles, o: &mut O) -> Result<(), Refusal> {
        let unit = *self.units.unit(i).ok_or(Trap::IllegalInstruction)?;
        self.pipeline.custom(&unit, &mut self.cycle);
        let (bus, pipeline, cycle) = (&mut self.bus, &mut self.pipeline, self.cycle);
        let mut port = UnitPort { bus, pipeline, cycle, now, wait: 0, o };
        let result = unit.call(i, &self.registers, &mut self.state, &mut port);
        let wait = port.wait;
        if wait != 0 {
            self.waited(wait);
        }
        self.set(i.rd, result?);
        Ok(())
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
            ($branch:expr) => {
                if holds($branch, a, b) {
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
            Beq => branch!(Beq),
            Bne => branch!(Bne),
            Blt => branch!(Blt),
            Bge => branch!(Bge),
            Bltu => branch!(Bltu),
            Bgeu => branch!(Bgeu),
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
            Csrrw | Csrrs | Csrrc | Csrrwi | Csrrsi | Csrrci => return self.access_state(i),
            Custom => self.custom(i, now, o)?,
        }
        Ok(Flow::On)
    }
}
