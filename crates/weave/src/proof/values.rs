//! What is known of the registers and of SREG, bit by bit, and what instructions make of it.
//!
//! Owns: the evaluation of every instruction on operands of which some bits are known. A result is as exact as its
//! operands, bit by bit; two unknown bits are never known to be equal, except where an instruction names one
//! register twice. One bit has a name although nobody knows it: interrupt enable as it was at the entry, which is
//! followed wherever it is copied. Memory is not followed but for that bit: what is loaded is unknown, and stores
//! through a pointer are taken not to reach the registers and SREG, which lie in the data space of AVRe cores.
//! Source: the boolean formulas of the AVR Instruction Set Manual (DS40002198).
//! Invariant: an execution whose bits agree with the known ones before an instruction agrees with them after it.

use std::hash::{Hash, Hasher};

use isa::avr::{CoreType, Instruction, Opcode, Set};

use crate::program::{Point, Step};

/// A bit, if it is known.
pub(super) type Bit = Option<bool>;

/// Flags by their number in SREG.
const C: u8 = 0;
const Z: u8 = 1;
const N: u8 = 2;
const V: u8 = 3;
const S: u8 = 4;
const H: u8 = 5;
const T: u8 = 6;
const I: u8 = 7;

/// A byte of which some bits are known. Invariant: in `bits`, of those that are not known only those are 1 that are
/// interrupt enable as it was at the function's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Byte {
    bits: u8,
    known: u8,
}

impl Byte {
    pub(super) const UNKNOWN: Byte = Byte { bits: 0, known: 0 };

    /// SREG at the function's entry.
    const ENTERED: Byte = Byte { bits: 1 << I, known: 0 };

    pub(super) const fn of(value: u8) -> Byte {
        Byte { bits: value, known: 0xff }
    }

    /// The bits that are interrupt enable as it was at the function's entry.
    fn entered(self) -> u8 {
        self.bits & !self.known
    }

    /// The same where that is known.
    fn resolved(self, entered: Bit) -> Byte {
        match entered {
            None => self,
            Some(true) => Byte { bits: self.bits, known: self.known | self.bits },
            Some(false) => Byte { bits: self.bits & self.known, known: self.known | self.bits },
        }
    }

    #[cfg(test)]
    fn masked(value: u8, known: u8) -> Byte {
        Byte { bits: value & known, known }
    }

    fn value(self) -> Option<u8> {
        (self.known == 0xff).then_some(self.bits)
    }

    fn bit(self, number: u8) -> Bit {
        (self.known >> number & 1 == 1).then_some(self.bits >> number & 1 == 1)
    }

    fn set(&mut self, number: u8, bit: Bit) {
        let mask = 1 << number;
        self.bits = self.bits & !mask | if bit == Some(true) { mask } else { 0 };
        self.known = self.known & !mask | if bit.is_some() { mask } else { 0 };
    }

    fn keep(self, mask: u8) -> Byte {
        Byte { bits: self.bits & mask, known: self.known & mask }
    }

    /// What both know.
    fn common(self, other: Byte) -> Byte {
        let known = self.known & other.known & !(self.bits ^ other.bits);
        Byte { bits: self.bits & known | self.entered() & other.entered(), known }
    }

    fn not(self) -> Byte {
        Byte { bits: !self.bits & self.known, known: self.known }
    }

    fn and(self, other: Byte) -> Byte {
        let zeros = self.known & !self.bits | other.known & !other.bits;
        let known = self.known & other.known | zeros;
        Byte { bits: self.bits & other.bits & known, known }
    }

    fn or(self, other: Byte) -> Byte {
        self.not().and(other.not()).not()
    }

    fn xor(self, other: Byte) -> Byte {
        let known = self.known & other.known;
        Byte { bits: (self.bits ^ other.bits) & known, known }
    }

    fn shifted_left(self, low: Bit) -> Byte {
        let mut byte = Byte { bits: self.bits << 1, known: self.known << 1 };
        byte.set(0, low);
        byte
    }

    fn shifted_right(self, high: Bit) -> Byte {
        let mut byte = Byte { bits: self.bits >> 1, known: self.known >> 1 };
        byte.set(7, high);
        byte
    }

    fn is_zero(self) -> Bit {
        match (self.bits & self.known, self.known) {
            (1.., _) => Some(false),
            (0, 0xff) => Some(true),
            _ => None,
        }
    }
}

fn xor(a: Bit, b: Bit) -> Bit {
    Some(a? != b?)
}

fn and(a: Bit, b: Bit) -> Bit {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// The sum, and the carry out of every bit. A carry is known when two of its three bits agree.
fn add(a: Byte, b: Byte, carry: Bit) -> (Byte, Byte) {
    let (mut sum, mut carries) = (Byte::UNKNOWN, Byte::UNKNOWN);
    let mut carry = carry;
    for number in 0..8 {
        let (x, y) = (a.bit(number), b.bit(number));
        if y.is_some() && y == carry {
            // The bit itself, be it known or not.
            let mask = 1 << number;
            (sum.bits, sum.known) = (sum.bits | a.bits & mask, sum.known | a.known & mask);
        } else {
            sum.set(number, xor(xor(x, y), carry));
        }
        carry = if x.is_some() && (x == y || x == carry) {
            x
        } else if y == carry {
            y
        } else {
            None
        };
        carries.set(number, carry);
    }
    (sum, carries)
}

/// The difference, and the borrow out of every bit.
fn sub(a: Byte, b: Byte, borrow: Bit) -> (Byte, Byte) {
    let (difference, carries) = add(a, b.not(), borrow.map(|bit| !bit));
    (difference, carries.not())
}

/// What is known of the registers and of SREG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values {
    registers: [Byte; 32],
    sreg: Byte,
    /// Whether interrupts were on at the function's entry.
    entered: Bit,
    /// The STS that keeps SREG as it was at the function's entry in memory.
    kept: Option<Point>,
}

impl Hash for Values {
    /// All at once: one by one the bytes take most of a proof's time.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = [0; 2 * 33];
        for (pair, Byte { bits, known }) in
            bytes.chunks_exact_mut(2).zip(self.registers.iter().chain([&self.sreg]))
        {
            pair.copy_from_slice(&[*bits, *known]);
        }
        state.write(&bytes);
        (self.entered, self.kept).hash(state);
    }
}

/// Where SREG, the stack pointer and the registers lie in data space.
struct Map {
    /// What an I/O address lacks to be one of data space.
    io_first: i32,
    registers: bool,
}

fn map(core: CoreType) -> Map {
    match core {
        CoreType::AvrePc2 | CoreType::AvrePc3 => Map { io_first: 0x20, registers: true },
        CoreType::Avrxm | CoreType::Avrxt => Map { io_first: 0, registers: false },
    }
}

/// What an instruction accesses of the core itself, by an I/O or data-space address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// SREG.
    Sreg,
    /// A byte of the stack pointer.
    StackPointer,
    /// A register.
    Register(u8),
    /// Perhaps any of them: the linker knows.
    Perhaps,
}

/// What IN, OUT, LDS and STS access of the core itself.
pub(super) fn own(step: &Step, core: CoreType) -> Option<Own> {
    let Instruction { opcode, k, .. } = step.instruction;
    let map = map(core);
    let io = match opcode {
        Opcode::In | Opcode::Out if step.expression.is_some() => return Some(Own::Perhaps),
        Opcode::In | Opcode::Out => k,
        // A symbol of the data space is memory that the linker gives out, and it gives out none of these.
        Opcode::Lds | Opcode::Sts if step.expression.is_some() => return None,
        Opcode::Lds | Opcode::Sts if map.registers && (0..32).contains(&k) => {
            return Some(Own::Register(k as u8));
        }
        Opcode::Lds | Opcode::Sts => k - map.io_first,
        _ => return None,
    };
    match io {
        0x3f => Some(Own::Sreg),
        0x3d | 0x3e => Some(Own::StackPointer),
        _ => None,
    }
}

impl Values {
    /// Nothing is known.
    pub(super) fn unknown() -> Values {
        Values { registers: [Byte::UNKNOWN; 32], sreg: Byte::UNKNOWN, entered: None, kept: None }
    }

    /// At the entry of the function that is proved.
    pub(super) fn at_entry() -> Values {
        Values { sreg: Byte::ENTERED, ..Values::unknown() }
    }

    /// Behind code that is not known, which is taken to leave interrupts as they were unless they were off.
    pub(super) fn behind_unknown(&self) -> Values {
        let sreg = if self.interrupts_off() { Byte::UNKNOWN } else { self.sreg.keep(1 << I) };
        Values { sreg, entered: self.entered, ..Values::unknown() }
    }

    /// Forgets what `other` does not know to be the same.
    pub(super) fn keep_common(&mut self, other: &Values) {
        for (register, other) in self.registers.iter_mut().zip(&other.registers) {
            *register = register.common(*other);
        }
        self.sreg = self.sreg.common(other.sreg);
        self.keep_path(other);
    }

    /// Forgets what `other` does not know to be the same of interrupts at the entry, and of where they are kept.
    fn keep_path(&mut self, other: &Values) {
        self.entered = self.entered.filter(|_| self.entered == other.entered);
        self.kept = self.kept.filter(|_| self.kept == other.kept);
    }

    /// Forgets all but the places in `kept`, and whether interrupts are on.
    pub(super) fn keep(&mut self, kept: Set) {
        for number in 0..32 {
            if !kept.contains(Set::register(number)) {
                self.registers[usize::from(number)] = Byte::UNKNOWN;
            }
        }
        let flags = (0..7).filter(|&flag| kept.contains(Set::status(flag)));
        self.sreg = self.sreg.keep(flags.fold(1 << I, |mask, flag| mask | 1 << flag));
    }

    /// Forgets what is known of bytes that are not wholly known, but for what `common` knows as well.
    pub(super) fn keep_whole_or(&mut self, common: &Values) {
        for (byte, common) in self.registers.iter_mut().zip(&common.registers) {
            if byte.value().is_none() {
                *byte = byte.common(*common);
            }
        }
        self.sreg = self.sreg.common(common.sreg);
        self.keep_path(common);
    }

    /// The flag T.
    pub(super) fn flag_t(&self) -> Bit {
        self.flag(T)
    }

    /// Whether interrupts are known to be off.
    pub(super) fn interrupts_off(&self) -> bool {
        self.sreg.bit(I) == Some(false)
    }

    /// Whether they are, on a path on which they may have been on at the entry.
    pub(super) fn turned_off(&self) -> bool {
        self.interrupts_off() && self.entered != Some(false)
    }

    /// Whether interrupts were on at the entry.
    pub(super) fn entered(&self) -> Bit {
        self.entered
    }

    /// Interrupts are on or off from here, or as they were at some time.
    pub(super) fn set_interrupts(&mut self, on: Bit) {
        self.sreg.set(I, on);
    }

    pub(super) fn register(&self, number: u8) -> Byte {
        self.registers[usize::from(number & 31)]
    }

    pub(super) fn set_register(&mut self, number: u8, byte: Byte) {
        self.registers[usize::from(number & 31)] = byte.resolved(self.entered);
    }

    /// The STS at a point stores a register in a place of memory, where the one that keeps SREG stored it or not.
    pub(super) fn store(&mut self, register: u8, point: Point, is_kept_place: bool) {
        if self.register(register).entered() & 1 << I != 0 {
            self.kept = Some(point);
        } else if is_kept_place {
            self.kept = None;
        }
    }

    /// The STS that keeps SREG as it was at the entry.
    pub(super) fn kept(&self) -> Option<Point> {
        self.kept
    }

    /// A register is loaded from where SREG is kept.
    pub(super) fn load_kept(&mut self, register: u8) {
        self.set_register(register, Byte::ENTERED);
    }

    fn flag(&self, number: u8) -> Bit {
        self.sreg.bit(number)
    }

    fn set_flag(&mut self, number: u8, bit: Bit) {
        self.sreg.set(number, bit);
    }

    /// N, Z, and S from V.
    fn set_result(&mut self, result: Byte, overflow: Bit) {
        let negative = result.bit(7);
        self.set_flag(N, negative);
        self.set_flag(V, overflow);
        self.set_flag(S, xor(negative, overflow));
        self.set_flag(Z, result.is_zero());
    }

    /// All six flags of an addition or subtraction.
    fn set_sum(&mut self, (result, carries): (Byte, Byte)) -> Byte {
        self.set_result(result, xor(carries.bit(7), carries.bit(6)));
        self.set_flag(C, carries.bit(7));
        self.set_flag(H, carries.bit(3));
        result
    }

    /// Like [`set_sum`](Self::set_sum), where Z is only ever cleared.
    fn set_sum_keeping_zero(&mut self, sum: (Byte, Byte)) -> Byte {
        let zero = self.flag(Z);
        let result = self.set_sum(sum);
        self.set_flag(Z, and(zero, result.is_zero()));
        result
    }

    /// A right shift that moves `high` in. V is N xor C, and so S is C.
    fn shift_right(&mut self, d: u8, high: Bit) {
        let byte = self.register(d);
        let result = byte.shifted_right(high);
        let carry = byte.bit(0);
        self.set_result(result, xor(result.bit(7), carry));
        self.set_flag(S, carry);
        self.set_flag(C, carry);
        self.set_register(d, result);
    }

    /// Addition of a register to itself, which is a left shift that moves `low` in.
    fn shift_left(&mut self, d: u8, low: Bit) {
        let byte = self.register(d);
        let result = byte.shifted_left(low);
        let carry = byte.bit(7);
        self.set_result(result, xor(result.bit(7), carry));
        self.set_flag(S, carry);
        self.set_flag(C, carry);
        self.set_flag(H, byte.bit(3));
        self.set_register(d, result);
    }

    /// A word and a small constant.
    fn add_word(&mut self, d: u8, constant: Byte, with: fn(Byte, Byte, Bit) -> (Byte, Byte)) {
        let (low, carries) = with(self.register(d), constant, Some(false));
        let (high, carries) = with(self.register(d + 1), Byte::of(0), carries.bit(7));
        self.set_result(high, xor(carries.bit(7), carries.bit(6)));
        self.set_flag(Z, and(low.is_zero(), high.is_zero()));
        self.set_flag(C, carries.bit(7));
        self.set_register(d, low);
        self.set_register(d + 1, high);
    }

    fn multiply(&mut self, opcode: Opcode, d: Byte, r: Byte) {
        let unsigned = |byte: u8| i32::from(byte);
        let signed = |byte: u8| i32::from(byte as i8);
        let product = d.value().zip(r.value()).map(|(d, r)| match opcode {
            Opcode::Mul | Opcode::Fmul => unsigned(d) * unsigned(r),
            Opcode::Muls | Opcode::Fmuls => signed(d) * signed(r),
            _ => signed(d) * unsigned(r),
        } as u16);
        let fraction = matches!(opcode, Opcode::Fmul | Opcode::Fmuls | Opcode::Fmulsu);
        let result = product.map(|product| if fraction { product << 1 } else { product });
        let [low, high] = result.map_or([Byte::UNKNOWN; 2], |word| word.to_le_bytes().map(Byte::of));
        self.set_register(0, low);
        self.set_register(1, high);
        self.set_flag(C, product.map(|product| product >> 15 != 0));
        self.set_flag(Z, result.map(|word| word == 0));
    }

    /// Executes an instruction. Control flow and the stack are the caller's: of a POP only the register is
    /// changed, to an unknown byte.
    pub(super) fn execute(&mut self, step: &Step, core: CoreType) {
        let Instruction { opcode, d, r, k, .. } = step.instruction;
        let (rd, rr) = (self.register(d), self.register(r));
        let constant = if step.expression.is_some() { Byte::UNKNOWN } else { Byte::of(k as u8) };
        // x - x is 0 - 0, whatever is known of x, with all its flags.
        let (left, right) = if d == r { (Byte::of(0), Byte::of(0)) } else { (rd, rr) };
        let carry = self.flag(C);
        use Opcode::*;
        match opcode {
            Add if d == r => self.shift_left(d, Some(false)),
            Adc if d == r => self.shift_left(d, carry),
            Add => self.sum(d, add(rd, rr, Some(false))),
            Adc => self.sum(d, add(rd, rr, carry)),
            Sub => self.sum(d, sub(left, right, Some(false))),
            Subi => self.sum(d, sub(rd, constant, Some(false))),
            Neg => self.sum(d, sub(Byte::of(0), rd, Some(false))),
            Cp => _ = self.set_sum(sub(left, right, Some(false))),
            Cpi => _ = self.set_sum(sub(rd, constant, Some(false))),
            Cpc => _ = self.set_sum_keeping_zero(sub(left, right, carry)),
            Sbc => self.registers[usize::from(d)] = self.set_sum_keeping_zero(sub(left, right, carry)),
            Sbci => self.registers[usize::from(d)] = self.set_sum_keeping_zero(sub(rd, constant, carry)),
            Adiw => self.add_word(d, constant, add),
            Sbiw => self.add_word(d, constant, sub),
            And => self.logic(d, rd.and(rr)),
            Andi => self.logic(d, rd.and(constant)),
            Or => self.logic(d, rd.or(rr)),
            Ori => self.logic(d, rd.or(constant)),
            Eor => self.logic(d, left.xor(right)),
            Com => {
                self.logic(d, rd.not());
                self.set_flag(C, Some(true));
            }
            Inc | Dec => {
                let with = if opcode == Inc { add } else { sub };
                let (result, carries) = with(rd, Byte::of(1), Some(false));
                self.set_result(result, xor(carries.bit(7), carries.bit(6)));
                self.set_register(d, result);
            }
            Mul | Muls | Mulsu | Fmul | Fmuls | Fmulsu => self.multiply(opcode, rd, rr),
            _ => self.move_bits(step, core, constant),
        }
    }

    /// Executes what is not arithmetic or logic.
    fn move_bits(&mut self, step: &Step, core: CoreType, constant: Byte) {
        let Instruction { opcode, d, r, b, .. } = step.instruction;
        let (rd, rr) = (self.register(d), self.register(r));
        use Opcode::*;
        match opcode {
            Lsr => self.shift_right(d, Some(false)),
            Ror => self.shift_right(d, self.flag(C)),
            Asr => self.shift_right(d, rd.bit(7)),
            Swap => {
                let Byte { bits, known } = rd;
                self.set_register(d, Byte { bits: bits.rotate_left(4), known: known.rotate_left(4) });
            }
            Mov => self.set_register(d, rr),
            Movw => {
                let high = self.register(r + 1);
                self.set_register(d, rr);
                self.set_register(d + 1, high);
            }
            Ldi => self.set_register(d, constant),
            Bset => self.set_flag(b, Some(true)),
            Bclr => self.set_flag(b, Some(false)),
            Bst => self.set_flag(T, rd.bit(b)),
            Bld => {
                let bit = self.flag(T);
                self.registers[usize::from(d)].set(b, bit);
            }
            In | Lds => self.load_own(d, own(step, core)),
            Out | Sts => self.store_own(rr, own(step, core)),
            _ => self.forget(step.instruction.writes()),
        }
    }

    fn sum(&mut self, d: u8, sum: (Byte, Byte)) {
        let result = self.set_sum(sum);
        self.set_register(d, result);
    }

    fn logic(&mut self, d: u8, result: Byte) {
        self.set_result(result, Some(false));
        self.set_register(d, result);
    }

    fn load_own(&mut self, d: u8, own: Option<Own>) {
        let byte = match own {
            Some(Own::Sreg) => self.sreg,
            Some(Own::Register(number)) => self.register(number),
            Some(Own::StackPointer | Own::Perhaps) | None => Byte::UNKNOWN,
        };
        self.set_register(d, byte);
    }

    fn store_own(&mut self, byte: Byte, own: Option<Own>) {
        match own {
            Some(Own::Sreg) => self.sreg = byte,
            Some(Own::Register(number)) => self.set_register(number, byte),
            Some(Own::Perhaps) => self.sreg = Byte::UNKNOWN,
            Some(Own::StackPointer) | None => {}
        }
    }

    fn forget(&mut self, places: Set) {
        for number in places.registers() {
            self.set_register(number, Byte::UNKNOWN);
        }
        for flag in (0..8).filter(|&flag| places.contains(Set::status(flag))) {
            self.set_flag(flag, None);
        }
    }

    /// Whether a conditional branch or skip is taken, if that is known.
    pub(super) fn decide(&self, instruction: &Instruction) -> Bit {
        let Instruction { opcode, d, r, b, .. } = *instruction;
        match opcode {
            Opcode::Brbs => self.flag(b),
            Opcode::Brbc => self.flag(b).map(|bit| !bit),
            Opcode::Sbrs => self.register(r).bit(b),
            Opcode::Sbrc => self.register(r).bit(b).map(|bit| !bit),
            Opcode::Cpse if d == r => Some(true),
            Opcode::Cpse => self.register(d).xor(self.register(r)).is_zero(),
            _ => None,
        }
    }

    /// What follows from a branch or skip having been taken or not.
    pub(super) fn assume(&mut self, instruction: &Instruction, taken: bool) {
        let Instruction { opcode, r, b, .. } = *instruction;
        let on = taken == matches!(opcode, Opcode::Brbs | Opcode::Sbrs);
        let byte = match opcode {
            Opcode::Brbs | Opcode::Brbc => &mut self.sreg,
            Opcode::Sbrs | Opcode::Sbrc => &mut self.registers[usize::from(r)],
            _ => return,
        };
        if byte.entered() >> b & 1 == 1 {
            self.entered = Some(on);
            for byte in self.registers.iter_mut().chain([&mut self.sreg]) {
                *byte = byte.resolved(self.entered);
            }
        } else {
            byte.set(b, Some(on));
        }
    }
}

#[cfg(test)]
mod tests;
