//! What each instruction does, and the loop that does it.
//!
//! Owns: the exhaustive match over the table, and when a cycle is spent for what. The state is `machine`'s, and so is
//! what a trap does; costs are `timing`'s.

use super::bits::{CONSTANT, Instruction};
use super::bus::{Bus, Refusal, Width};
use super::error::FaultKind;
use super::machine::{Icc, Machine};
use super::observer::Observer;
use super::places::Place;
use super::table::{Opcode, Operand, ROWS, Row};
use super::timing::Class;
use super::trap::Trap;
use crate::Cycles;

/// What the loop asks of an instruction besides what it does.
#[derive(Clone, Copy)]
struct Traits {
    sets_icc: bool,
    /// Whether it is a branch or trap on condition codes.
    tests_icc: bool,
    loads: bool,
    /// Which registers from `rd` on are read, a bit each.
    reads_rd: u32,
}

const fn names(places: &[Place], wanted: Place) -> bool {
    let mut index = 0;
    while index < places.len() {
        if places[index] as u8 == wanted as u8 {
            return true;
        }
        index += 1;
    }
    false
}

const fn traits(row: &Row) -> Traits {
    let reads_icc = names(row.reads, Place::Icc);
    let conditional = matches!(row.operands, [Operand::Relative22] | [Operand::TrapNumber]);
    Traits {
        sets_icc: names(row.writes, Place::Icc),
        tests_icc: reads_icc && conditional,
        loads: matches!(row.class, Class::Load | Class::LoadTwo | Class::Swap),
        reads_rd: if names(row.reads, Place::Pair) { 3 } else { names(row.reads, Place::Rd) as u32 },
    }
}

static TRAITS: [Traits; ROWS.len()] = {
    let mut all = [traits(&ROWS[0]); ROWS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = traits(&ROWS[index]);
        index += 1;
    }
    all
};

/// LEON3's configuration register.
const ASR_CONFIGURATION: u8 = 17;
/// In it, that multiplications and divisions are there.
const ASR_V8: u32 = 1 << 8;
/// Address spaces of the memory that programs and data are in (V8 manual, appendix I).
const ORDINARY_SPACES: std::ops::RangeInclusive<i32> = 0x08..=0x0b;

/// Where the program goes on behind an instruction.
#[derive(Clone, Copy)]
enum Flow {
    /// At nPC.
    On,
    /// At nPC, and then there.
    To(u32),
    /// Behind nPC.
    Over,
    /// There, with the instruction at nPC annulled.
    OverTo(u32),
}

/// The condition codes of a result that neither overflows nor carries.
#[inline(always)]
fn logical(result: u32) -> Icc {
    Icc { n: (result as i32) < 0, z: result == 0, v: false, c: false }
}

#[inline(always)]
fn sum(a: u32, b: u32, carry: bool) -> (u32, Icc) {
    let (partial, first) = a.overflowing_add(b);
    let (result, second) = partial.overflowing_add(carry.into());
    let v = ((a ^ result) & (b ^ result)) >> 31 == 1;
    (result, Icc { v, c: first | second, ..logical(result) })
}

#[inline(always)]
fn difference(a: u32, b: u32, borrow: bool) -> (u32, Icc) {
    let (partial, first) = a.overflowing_sub(b);
    let (result, second) = partial.overflowing_sub(borrow.into());
    let v = ((a ^ b) & (a ^ result)) >> 31 == 1;
    (result, Icc { v, c: first | second, ..logical(result) })
}

/// Adds what the two lowest bits of tagged words say.
#[inline(always)]
fn tagged(a: u32, b: u32, (result, icc): (u32, Icc)) -> (u32, Icc) {
    (result, Icc { v: icc.v || (a | b) & 3 != 0, ..icc })
}

/// The condition of a branch or trap, by the name that its mnemonic ends with.
macro_rules! holds {
    ($icc:expr, n) => {
        false
    };
    ($icc:expr, e) => {
        $icc.z
    };
    ($icc:expr, le) => {
        $icc.z || $icc.n != $icc.v
    };
    ($icc:expr, l) => {
        $icc.n != $icc.v
    };
    ($icc:expr, leu) => {
        $icc.c || $icc.z
    };
    ($icc:expr, cs) => {
        $icc.c
    };
    ($icc:expr, neg) => {
        $icc.n
    };
    ($icc:expr, vs) => {
        $icc.v
    };
    ($icc:expr, a) => {
        true
    };
    ($icc:expr, ne) => {
        !$icc.z
    };
    ($icc:expr, g) => {
        !($icc.z || $icc.n != $icc.v)
    };
    ($icc:expr, ge) => {
        $icc.n == $icc.v
    };
    ($icc:expr, gu) => {
        !($icc.c || $icc.z)
    };
    ($icc:expr, cc) => {
        !$icc.c
    };
    ($icc:expr, pos) => {
        !$icc.n
    };
    ($icc:expr, vc) => {
        !$icc.v
    };
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

    /// A register or a constant: the other one of the two is zero.
    #[inline(always)]
    fn second(&self, i: Instruction) -> u32 {
        self.get(i.rs2).wrapping_add(i.k as u32)
    }

    #[inline(always)]
    fn set_with_icc(&mut self, rd: u8, (result, icc): (u32, Icc)) {
        self.icc = icc;
        self.set(rd, result);
    }

    /// Executes until a cycle is reached; comes back earlier with what an instruction is refused, PC at it.
    pub(super) fn execute<O: Observer>(&mut self, until: Cycles, o: &mut O) -> Result<(), Refusal> {
        while self.cycle < until {
            if self.annul {
                self.step_over(o)?;
                continue;
            }
            let (begin, pc) = (self.cycle, self.pc);
            let mut wait = 0;
            let fetched = self.bus.fetch(pc, begin, &mut wait);
            if wait != 0 {
                self.waited_for_fetch(wait);
            }
            let fetched = match fetched {
                Ok(fetched) => fetched,
                Err(refusal) => return Err(self.unfetched(refusal)),
            };
            if self.sequential {
                (self.npc, self.sequential) = (fetched.next, false);
            }
            if self.interrupt != 0 && self.takes_interrupt() {
                return Err(Trap::interrupt(self.interrupt).into());
            }
            let i = fetched.instruction;
            o.fetch(begin, pc);
            self.stall(i);
            let now = self.cycle;
            let flow = self.perform(i, pc, now, o)?;
            self.cycle += Cycles::from(self.costs[i.opcode as usize]);
            self.spent.instructions += 1;
            self.pc = self.npc;
            match flow {
                Flow::On => self.sequential = true,
                Flow::To(target) => self.npc = target,
                Flow::Over => (self.sequential, self.annul) = (true, true),
                Flow::OverTo(target) => (self.npc, self.annul) = (target, true),
            }
            o.retire(self.cycle, pc);
        }
        Ok(())
    }

    fn waited_for_fetch(&mut self, wait: u32) {
        self.cycle += Cycles::from(wait);
        self.spent.fetch_cycles += Cycles::from(wait);
    }

    /// Why what is at PC cannot be fetched. A trap saves nPC, and comes back to PC and then there: where the fetch
    /// would have told nPC there is nothing to save.
    #[cold]
    fn unfetched(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::Fault(kind) => Refusal::Fault(kind),
            told if B::SLOTS && self.sequential => {
                Refusal::Fault(FaultKind::Unfetched { trap: self.trap_of(told) })
            }
            told => told,
        }
    }

    /// Fetches an annulled instruction and passes it, even where fetching it would trap, as long as it is known what is
    /// behind it.
    fn step_over<O: Observer>(&mut self, o: &mut O) -> Result<(), Refusal> {
        let (begin, mut wait) = (self.cycle, 0);
        let fetched = self.bus.fetch(self.pc, begin, &mut wait);
        self.waited_for_fetch(wait);
        let next = match fetched {
            Ok(fetched) => fetched.next,
            Err(refusal) => match self.unfetched(refusal) {
                Refusal::Fault(kind) => return Err(Refusal::Fault(kind)),
                _ => (self.pc & !3).wrapping_add(4),
            },
        };
        o.annulled(begin, self.pc);
        self.pc = if self.sequential { next } else { self.npc };
        (self.sequential, self.annul) = (true, false);
        (self.loaded, self.icc_set) = (0, false);
        let cycles = Cycles::from(self.timing.annulled_cycles);
        self.cycle += cycles;
        self.spent.annulled_cycles += cycles;
        self.spent.annulled += 1;
        Ok(())
    }

    /// Waits for what the instruction before leaves late.
    #[inline(always)]
    fn stall(&mut self, i: Instruction) {
        let traits = TRAITS[i.opcode as usize];
        if self.loaded != 0 {
            let stored = traits.reads_rd << i.rd;
            let second = if i.rs2 == CONSTANT { 0 } else { 1 << i.rs2 };
            if self.loaded & (1 << i.rs1 | second | stored) != 0 {
                let cycles = Cycles::from(self.timing.load_use_cycles);
                self.cycle += cycles;
                self.spent.load_use_cycles += cycles;
            }
            self.loaded = 0;
        }
        if self.icc_set && traits.tests_icc {
            let cycles = Cycles::from(self.timing.icc_branch_cycles);
            self.cycle += cycles;
            self.spent.icc_branch_cycles += cycles;
        }
        self.icc_set = traits.sets_icc;
        if traits.loads {
            let pair = u32::from(matches!(i.opcode, Opcode::Ldd | Opcode::Ldda));
            self.loaded = (1 << i.rd | pair << (i.rd | 1)) & !1;
        }
    }

    fn waited(&mut self, wait: u32) {
        self.cycle += Cycles::from(wait);
        self.spent.data_cycles += Cycles::from(wait);
    }

    #[inline(always)]
    fn load<O: Observer>(&mut self, at: u32, width: Width, now: Cycles, o: &mut O) -> Result<u64, Refusal> {
        if at & (width.bytes() - 1) != 0 {
            return Err(Trap::MEM_ADDRESS_NOT_ALIGNED.into());
        }
        let mut wait = 0;
        let value = self.bus.load(at, width, self.cycle, &mut wait);
        if wait != 0 {
            self.waited(wait);
        }
        let value = value?;
        for byte in 0..width.bytes() {
            o.load(now, at + byte, (value >> (8 * (width.bytes() - 1 - byte))) as u8);
        }
        Ok(value)
    }

    #[inline(always)]
    fn store<O: Observer>(
        &mut self,
        at: u32,
        width: Width,
        value: u64,
        now: Cycles,
        o: &mut O,
    ) -> Result<(), Refusal> {
        if at & (width.bytes() - 1) != 0 {
            return Err(Trap::MEM_ADDRESS_NOT_ALIGNED.into());
        }
        let mut wait = 0;
        let stored = self.bus.store(at, width, value, self.cycle, &mut wait);
        if wait != 0 {
            self.waited(wait);
        }
        stored?;
        for byte in 0..width.bytes() {
            o.store(now, at + byte, (value >> (8 * (width.bytes() - 1 - byte))) as u8);
        }
        Ok(())
    }

    fn pair(&self, rd: u8) -> u64 {
        u64::from(self.get(rd)) << 32 | u64::from(self.get(rd | 1))
    }

    fn set_pair(&mut self, rd: u8, value: u64) {
        self.set(rd | 1, value as u32);
        self.set(rd, (value >> 32) as u32);
    }

    /// The address in another address space, for those who may.
    fn alternate(&self, i: Instruction) -> Result<u32, Refusal> {
        if !self.supervisor {
            return Err(Trap::PRIVILEGED_INSTRUCTION.into());
        }
        if !ORDINARY_SPACES.contains(&i.k) {
            return Err(Refusal::Fault(FaultKind::AddressSpace { number: i.k as u8 }));
        }
        Ok(self.get(i.rs1).wrapping_add(self.get(i.rs2)))
    }

    fn privileged(&self) -> Result<(), Refusal> {
        if self.supervisor { Ok(()) } else { Err(Trap::PRIVILEGED_INSTRUCTION.into()) }
    }

    /// A place that an instruction computed.
    #[inline(always)]
    fn target(&self, target: u32) -> Result<u32, Trap> {
        if !B::SLOTS && target & 3 != 0 { Err(Trap::MEM_ADDRESS_NOT_ALIGNED) } else { Ok(target) }
    }

    /// SAVE and RESTORE: the sum is made of the old window.
    #[inline(always)]
    fn change_window(&mut self, i: Instruction, window: u32, trap: Trap) -> Result<Flow, Refusal> {
        if self.is_invalid(window) {
            return Err(trap.into());
        }
        let sum = self.get(i.rs1).wrapping_add(self.second(i));
        self.enter_window(window);
        self.set(i.rd, sum);
        Ok(Flow::On)
    }

    /// Division of Y and `a`: the quotient and whether it did not fit.
    fn quotient(&self, a: u32, b: u32, signed: bool) -> Result<(u32, bool), Refusal> {
        if b == 0 {
            return Err(Trap::DIVISION_BY_ZERO.into());
        }
        let dividend = u64::from(self.y) << 32 | u64::from(a);
        if !signed {
            let quotient = dividend / u64::from(b);
            return Ok(u32::try_from(quotient).map_or((u32::MAX, true), |quotient| (quotient, false)));
        }
        // Only the least dividend by -1 has no quotient, and it would be too great.
        let quotient = (dividend as i64).checked_div((b as i32).into()).unwrap_or(i64::MAX);
        let nearest = if quotient < 0 { i32::MIN } else { i32::MAX };
        Ok(i32::try_from(quotient).map_or((nearest as u32, true), |quotient| (quotient as u32, false)))
    }

    fn divide(&mut self, i: Instruction, signed: bool, sets_icc: bool) -> Result<Flow, Refusal> {
        let (quotient, overflow) = self.quotient(self.get(i.rs1), self.second(i), signed)?;
        if sets_icc {
            self.icc = Icc { v: overflow, ..logical(quotient) };
        }
        self.set(i.rd, quotient);
        Ok(Flow::On)
    }

    #[inline(always)]
    fn multiply(&mut self, rd: u8, product: u64, sets_icc: bool) {
        self.y = (product >> 32) as u32;
        if sets_icc {
            self.icc = logical(product as u32);
        }
        self.set(rd, product as u32);
    }

    fn multiply_step(&mut self, i: Instruction) {
        let rs1 = self.get(i.rs1);
        let shifted = u32::from(self.icc.n != self.icc.v) << 31 | rs1 >> 1;
        let addend = if self.y & 1 == 1 { self.second(i) } else { 0 };
        self.set_with_icc(i.rd, sum(shifted, addend, false));
        self.y = rs1 << 31 | self.y >> 1;
    }

    /// Return from a trap (V8 manual, B.26).
    fn return_from_trap(&mut self, i: Instruction) -> Result<Flow, Refusal> {
        if self.enable_traps {
            let trap = if self.supervisor { Trap::ILLEGAL_INSTRUCTION } else { Trap::PRIVILEGED_INSTRUCTION };
            return Err(trap.into());
        }
        self.privileged()?;
        let window = self.window_outside();
        if self.is_invalid(window) {
            return Err(Trap::WINDOW_UNDERFLOW.into());
        }
        let target = self.target(self.get(i.rs1).wrapping_add(self.second(i)))?;
        self.enable_traps = true;
        self.supervisor = self.previous_supervisor;
        self.enter_window(window);
        Ok(Flow::To(target))
    }

    fn read_ancillary(&mut self, i: Instruction) -> Result<Flow, Refusal> {
        if i.rs1 != ASR_CONFIGURATION {
            return Err(Refusal::Fault(FaultKind::AncillaryRegister { number: i.rs1 }));
        }
        self.set(i.rd, ASR_V8 | (self.windows() - 1));
        Ok(Flow::On)
    }

    /// Does one instruction, all of it or, when it is refused, nothing.
    #[inline(always)]
    fn perform<O: Observer>(
        &mut self,
        i: Instruction,
        pc: u32,
        now: Cycles,
        o: &mut O,
    ) -> Result<Flow, Refusal> {
        use Opcode::*;
        let (a, b) = (self.get(i.rs1), self.second(i));
        let carry = self.icc.c;
        macro_rules! set {
            ($value:expr) => {{
                let value = $value;
                self.set(i.rd, value)
            }};
        }
        macro_rules! branch {
            ($condition:ident) => {{
                let target = (pc & !3).wrapping_add(i.k as u32);
                let (taken, annuls) = (holds!(self.icc, $condition), i.rd != 0);
                // An unconditional branch annuls though it is taken.
                return Ok(match (taken, annuls) {
                    (true, true) if i.opcode == Ba => Flow::OverTo(target),
                    (true, _) => Flow::To(target),
                    (false, true) => Flow::Over,
                    (false, false) => Flow::On,
                });
            }};
        }
        macro_rules! trap {
            ($condition:ident) => {
                if holds!(self.icc, $condition) {
                    return Err(Trap::software(a.wrapping_add(b) as u8).into());
                }
            };
        }
        let at = a.wrapping_add(b);
        match i.opcode {
            Ldsb => set!(self.load(at, Width::Byte, now, o)? as i8 as u32),
            Ldsh => set!(self.load(at, Width::Half, now, o)? as i16 as u32),
            Ldub => set!(self.load(at, Width::Byte, now, o)? as u32),
            Lduh => set!(self.load(at, Width::Half, now, o)? as u32),
            Ld => set!(self.load(at, Width::Word, now, o)? as u32),
            Ldd => {
                let value = self.load(at, Width::Double, now, o)?;
                self.set_pair(i.rd, value);
            }
            Stb => self.store(at, Width::Byte, self.get(i.rd).into(), now, o)?,
            Sth => self.store(at, Width::Half, self.get(i.rd).into(), now, o)?,
            St => self.store(at, Width::Word, self.get(i.rd).into(), now, o)?,
            Std => self.store(at, Width::Double, self.pair(i.rd), now, o)?,
            Ldstub | Swap => return self.exchange(i, at, now, o),
            Ldsba | Ldsha | Lduba | Lduha | Lda | Ldda | Stba | Stha | Sta | Stda | Ldstuba | Swapa => {
                return self.access_alternate(i, now, o);
            }
            Sethi => set!((i.k as u32) << 10),
            And => set!(a & b),
            Andcc => self.set_with_icc(i.rd, (a & b, logical(a & b))),
            Andn => set!(a & !b),
            Andncc => self.set_with_icc(i.rd, (a & !b, logical(a & !b))),
            Or => set!(a | b),
            Orcc => self.set_with_icc(i.rd, (a | b, logical(a | b))),
            Orn => set!(a | !b),
            Orncc => self.set_with_icc(i.rd, (a | !b, logical(a | !b))),
            Xor => set!(a ^ b),
            Xorcc => self.set_with_icc(i.rd, (a ^ b, logical(a ^ b))),
            Xnor => set!(a ^ !b),
            Xnorcc => self.set_with_icc(i.rd, (a ^ !b, logical(a ^ !b))),
            Sll => set!(a << (b & 31)),
            Srl => set!(a >> (b & 31)),
            Sra => set!((a as i32 >> (b & 31)) as u32),
            Add => set!(a.wrapping_add(b)),
            Addcc => self.set_with_icc(i.rd, sum(a, b, false)),
            Addx => set!(sum(a, b, carry).0),
            Addxcc => self.set_with_icc(i.rd, sum(a, b, carry)),
            Taddcc => self.set_with_icc(i.rd, tagged(a, b, sum(a, b, false))),
            Sub => set!(a.wrapping_sub(b)),
            Subcc => self.set_with_icc(i.rd, difference(a, b, false)),
            Subx => set!(difference(a, b, carry).0),
            Subxcc => self.set_with_icc(i.rd, difference(a, b, carry)),
            Tsubcc => self.set_with_icc(i.rd, tagged(a, b, difference(a, b, false))),
            Taddcctv | Tsubcctv => {
                let plain = if i.opcode == Taddcctv { sum(a, b, false) } else { difference(a, b, false) };
                let result = tagged(a, b, plain);
                if result.1.v {
                    return Err(Trap::TAG_OVERFLOW.into());
                }
                self.set_with_icc(i.rd, result);
            }
            Mulscc => self.multiply_step(i),
            Umul => self.multiply(i.rd, u64::from(a) * u64::from(b), false),
            Smul => self.multiply(i.rd, (i64::from(a as i32) * i64::from(b as i32)) as u64, false),
            Umulcc => self.multiply(i.rd, u64::from(a) * u64::from(b), true),
            Smulcc => self.multiply(i.rd, (i64::from(a as i32) * i64::from(b as i32)) as u64, true),
            Udiv => return self.divide(i, false, false),
            Sdiv => return self.divide(i, true, false),
            Udivcc => return self.divide(i, false, true),
            Sdivcc => return self.divide(i, true, true),
            Save => return self.change_window(i, self.window_inside(), Trap::WINDOW_OVERFLOW),
            Restore => return self.change_window(i, self.window_outside(), Trap::WINDOW_UNDERFLOW),
            Bn => branch!(n),
            Be => branch!(e),
            Ble => branch!(le),
            Bl => branch!(l),
            Bleu => branch!(leu),
            Bcs => branch!(cs),
            Bneg => branch!(neg),
            Bvs => branch!(vs),
            Ba => branch!(a),
            Bne => branch!(ne),
            Bg => branch!(g),
            Bge => branch!(ge),
            Bgu => branch!(gu),
            Bcc => branch!(cc),
            Bpos => branch!(pos),
            Bvc => branch!(vc),
            Call => {
                self.set(15, pc);
                return Ok(Flow::To((pc & !3).wrapping_add(i.k as u32)));
            }
            Jmpl => {
                let target = self.target(at)?;
                set!(pc);
                return Ok(Flow::To(target));
            }
            Rett => return self.return_from_trap(i),
            Tn => trap!(n),
            Te => trap!(e),
            Tle => trap!(le),
            Tl => trap!(l),
            Tleu => trap!(leu),
            Tcs => trap!(cs),
            Tneg => trap!(neg),
            Tvs => trap!(vs),
            Ta => trap!(a),
            Tne => trap!(ne),
            Tg => trap!(g),
            Tge => trap!(ge),
            Tgu => trap!(gu),
            Tcc => trap!(cc),
            Tpos => trap!(pos),
            Tvc => trap!(vc),
            Rdy => set!(self.y),
            Wry => self.y = a ^ b,
            Rdasr => return self.read_ancillary(i),
            Wrasr => return Err(Refusal::Fault(FaultKind::AncillaryRegister { number: i.rd })),
            Rdpsr | Rdwim | Rdtbr => {
                self.privileged()?;
                set!(match i.opcode {
                    Rdpsr => self.psr(),
                    Rdwim => self.wim(),
                    _ => self.tbr(),
                });
            }
            Wrpsr => {
                self.privileged()?;
                self.set_psr(a ^ b)?;
            }
            Wrwim => {
                self.privileged()?;
                self.set_wim(a ^ b);
            }
            Wrtbr => {
                self.privileged()?;
                self.set_tbr(a ^ b);
            }
            // Nothing is between the core and the bus that could be late, and code does not change.
            Stbar | Flush => {}
            Unimp => return Err(Trap::ILLEGAL_INSTRUCTION.into()),
            Stdfq | Stdcq if !self.supervisor => return Err(Trap::PRIVILEGED_INSTRUCTION.into()),
            Fbn | Fbne | Fblg | Fbul | Fbl | Fbug | Fbg | Fbu | Fba | Fbe | Fbue | Fbge | Fbuge | Fble
            | Fbule | Fbo | Ldf | Ldfsr | Lddf | Stf | Stfsr | Stdfq | Stdf | Fpop1 | Fpop2 => {
                return Err(Trap::FP_DISABLED.into());
            }
            Cbn | Cb123 | Cb12 | Cb13 | Cb1 | Cb23 | Cb2 | Cb3 | Cba | Cb0 | Cb03 | Cb02 | Cb023 | Cb01
            | Cb013 | Cb012 | Ldc | Ldcsr | Lddc | Stc | Stcsr | Stdcq | Stdc | Cpop1 | Cpop2 => {
                return Err(Trap::CP_DISABLED.into());
            }
        }
        Ok(Flow::On)
    }

    /// LDSTUB and SWAP.
    fn exchange<O: Observer>(
        &mut self,
        i: Instruction,
        at: u32,
        now: Cycles,
        o: &mut O,
    ) -> Result<Flow, Refusal> {
        let byte = matches!(i.opcode, Opcode::Ldstub | Opcode::Ldstuba);
        let (width, new) = if byte { (Width::Byte, 0xff) } else { (Width::Word, self.get(i.rd).into()) };
        let old = self.load(at, width, now, o)?;
        self.store(at, width, new, now, o)?;
        self.set(i.rd, old as u32);
        Ok(Flow::On)
    }

    /// The instruction's counterpart on ordinary memory, which is what the address spaces here are.
    fn access_alternate<O: Observer>(
        &mut self,
        i: Instruction,
        now: Cycles,
        o: &mut O,
    ) -> Result<Flow, Refusal> {
        use Opcode::*;
        let at = self.alternate(i)?;
        let value = self.get(i.rd).into();
        match i.opcode {
            Ldsba => self.set_loaded(i, Width::Byte, at, now, o, |value| value as i8 as u32)?,
            Ldsha => self.set_loaded(i, Width::Half, at, now, o, |value| value as i16 as u32)?,
            Lduba => self.set_loaded(i, Width::Byte, at, now, o, |value| value as u32)?,
            Lduha => self.set_loaded(i, Width::Half, at, now, o, |value| value as u32)?,
            Lda => self.set_loaded(i, Width::Word, at, now, o, |value| value as u32)?,
            Ldda => {
                let value = self.load(at, Width::Double, now, o)?;
                self.set_pair(i.rd, value);
            }
            Stba => self.store(at, Width::Byte, value, now, o)?,
            Stha => self.store(at, Width::Half, value, now, o)?,
            Sta => self.store(at, Width::Word, value, now, o)?,
            Stda => self.store(at, Width::Double, self.pair(i.rd), now, o)?,
            _ => return self.exchange(i, at, now, o),
        }
        Ok(Flow::On)
    }

    fn set_loaded<O: Observer>(
        &mut self,
        i: Instruction,
        width: Width,
        at: u32,
        now: Cycles,
        o: &mut O,
        extend: fn(u64) -> u32,
    ) -> Result<(), Refusal> {
        let value = self.load(at, width, now, o)?;
        self.set(i.rd, extend(value));
        Ok(())
    }
}
