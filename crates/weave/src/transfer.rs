//! What one instruction does to what is known.
//!
//! Owns: [`State::step`] and [`State::decided`]. An instruction whose operands are all known is computed (`alu`);
//! arithmetic on addresses follows them byte by byte, the low byte's carry waiting for the high byte; of
//! everything else the table's `writes` says what is no longer known.

use isa::avr::{Instruction, Opcode, Set};

use crate::alu::{self, C, T, Z};
use crate::cfg::{Way, allocates, callees};
use crate::program::{Flow, Point};
use crate::registers::CALL_SAVED;
use crate::values::{Base, Context, Half, Operand, Pending, Pointer, Reference, Slot, State, Value};

/// I/O addresses of the stack pointer and SREG, the same on every part.
const SPL: i32 = 0x3d;
const SPH: i32 = 0x3e;

impl State {
    /// Moves on past the instruction at `point`, whichever way it goes on.
    pub(crate) fn step(&mut self, context: Context<'_>, point: Point) {
        let step = &context.program.code[point];
        if !matches!(step.flow, Flow::Branch(_) | Flow::Skip) && self.calls(context, point) {
            return;
        }
        let i = step.instruction;
        let hands_frame_on =
            !keeps_frame(i.opcode) && i.reads().registers().any(|register| self.get(register).is_of_frame());
        let reference = if step.expression.is_some() { Some(context.references.at(point)) } else { None };
        self.compute(&i, reference);
        if hands_frame_on {
            let added = matches!(i.opcode, Opcode::Add | Opcode::Adc | Opcode::Sub | Opcode::Sbc);
            self.frame_escaped |= !(added && self.get(i.d).is_of_frame());
        }
    }

    /// Does a call; whether it was one.
    fn calls(&mut self, context: Context<'_>, point: Point) -> bool {
        if allocates(&context.program.code[point]) {
            let bytes = return_bytes(context.program.core);
            let at = self.stack.map(|at| at.wrapping_sub(bytes));
            self.set_stack(at);
            return true;
        }
        if callees(context.program, point).is_empty() {
            return false;
        }
        // Registers that carry arguments: those, and the pointers, may hand the frame's address on.
        self.frame_escaped |= (8..28).chain(30..32).any(|r: usize| self.registers[r].is_of_frame());
        let clobbered = (context.clobbers)(point);
        for register in clobbered.registers() {
            self.registers[usize::from(register)] = Value::Any;
        }
        self.forget_flags(clobbered);
        if self.frame_escaped {
            self.forget_slots();
        }
        true
    }

    fn forget_flags(&mut self, written: Set) {
        for bit in 0..8 {
            if written.contains(Set::status(bit)) {
                self.flags[usize::from(bit)] = None;
            }
        }
        if written.contains(Set::status(0)) {
            self.pending = None;
        }
    }

    /// The way that a block's last instruction goes, when what is known decides it.
    pub(crate) fn decided(&self, context: Context<'_>, point: Point) -> Option<Way> {
        let step = &context.program.code[point];
        let i = step.instruction;
        let register = |number: u8| self.registers[usize::from(number)];
        let flag = |bit: u8| self.flags[usize::from(bit)];
        let bit = |number: u8| match register(number) {
            Value::Known(byte) => Some(byte >> i.b & 1 == 1),
            _ => None,
        };
        let (leaves, way) = match i.opcode {
            Opcode::Brbs => (flag(i.b)?, Way::Taken),
            Opcode::Brbc => (!flag(i.b)?, Way::Taken),
            Opcode::Sbrs => (bit(i.r)?, Way::Skipped),
            Opcode::Sbrc => (!bit(i.r)?, Way::Skipped),
            Opcode::Cpse => (equal(register(i.d), register(i.r))?, Way::Skipped),
            _ => return None,
        };
        Some(if leaves { way } else { Way::Next })
    }

    /// Does an instruction that is no call. `reference` is present when the linker completes an operand, and
    /// then what it refers to, when that is understood.
    fn compute(&mut self, i: &Instruction, reference: Option<Option<Reference>>) {
        use Opcode::*;
        match i.opcode {
            Ldi => self.set(i.d, constant(i, reference)),
            Mov => self.set(i.d, self.get(i.r)),
            Movw => {
                let (low, high) = (self.get(i.r), self.get(i.r + 1));
                self.set(i.d, low);
                self.set(i.d + 1, high);
            }
            Add | Adc => self.add(i),
            Sub | Sbc => self.subtract(i, self.get(i.r)),
            Subi | Sbci => self.subtract_constant(i, reference),
            Cp | Cpc => self.compare(i, self.get(i.r)),
            Cpi => self.compare(i, constant(i, reference)),
            Adiw | Sbiw => self.add_word(i, reference.is_some()),
            And | Or | Eor => self.combine(i, self.get(i.r)),
            Andi | Ori => self.combine(i, constant(i, reference)),
            Inc | Dec | Com | Neg | Lsr | Ror | Asr | Swap => self.one(i),
            Mul | Muls | Mulsu | Fmul | Fmuls | Fmulsu => self.multiply(i),
            Bset | Bclr => {
                self.forget(i.writes());
                self.flags[usize::from(i.b)] = Some(i.opcode == Bset);
            }
            Bst => self.flags[T] = known(self.get(i.d)).map(|byte| byte >> i.b & 1 == 1),
            Bld => {
                let result = known(self.get(i.d)).zip(self.flags[T].map(u8::from));
                let result = result.map(|(byte, bit)| byte & !(1 << i.b) | bit << i.b);
                self.set(i.d, result.map_or(Value::Number, Value::Known));
            }
            In => self.input(i, reference.is_some()),
            Out => self.output(i, reference.is_some()),
            Push => {
                if let Some(at) = self.stack {
                    let value = self.get(i.r);
                    // `push r0` and `push r1` are also ways to make room for a variable.
                    let saves = CALL_SAVED.without(Set::register(1)).contains(Set::register(i.r));
                    let saved = saves && value == Value::at_entry(i.r);
                    self.set_slot(at, Slot { value, saved });
                    self.stack = Some(at.wrapping_sub(1));
                }
            }
            Pop => {
                let at = self.stack.map(|at| at.wrapping_add(1));
                let value = at.and_then(|at| self.slot(at)).map_or(Value::Any, |slot| slot.value);
                self.set(i.d, value);
                match at {
                    Some(_) => self.set_stack(at),
                    None => self.lose_stack(),
                }
            }
            Sts => self.store_direct(i, reference.is_some()),
            _ => match indirect(i) {
                Some(access) => self.access(i, access),
                None => self.forget(i.writes()),
            },
        }
    }

    fn get(&self, register: u8) -> Value {
        self.registers[usize::from(register)]
    }

    fn set(&mut self, register: u8, value: Value) {
        self.registers[usize::from(register)] = value;
    }

    /// Forgets the registers and flags of a set.
    fn forget(&mut self, written: Set) {
        for register in written.registers() {
            self.set(register, Value::Any);
        }
        self.forget_flags(written);
    }

    fn add(&mut self, i: &Instruction) {
        let (a, b) = (self.get(i.d), self.get(i.r));
        let carries = i.opcode == Opcode::Adc;
        let carry = if carries { self.flags[C] } else { Some(false) };
        let pending = self.pending;
        self.forget_flags(i.writes());
        let (value, pending) = match (a, b, carry) {
            (Value::Known(a), Value::Known(b), Some(carry)) => {
                (Value::Known(alu::add(a, b, carry, &mut self.flags)), None)
            }
            _ if i.d == i.r => (Value::Number, None),
            (Value::Part { .. }, ..) => moved(a, b, pending, carries, false),
            (_, Value::Part { .. }, _) => moved(b, a, pending, carries, false),
            (Value::Any, ..) | (_, Value::Any, _) => (Value::Any, None),
            _ => (Value::Number, None),
        };
        self.set(i.d, value);
        self.pending = pending;
    }

    fn subtract(&mut self, i: &Instruction, b: Value) {
        let a = self.get(i.d);
        let borrows = matches!(i.opcode, Opcode::Sbc | Opcode::Sbci);
        let borrow = if borrows { self.flags[C] } else { Some(false) };
        let zero = if borrows { self.flags[Z] } else { Some(true) };
        let pending = self.pending;
        self.forget_flags(i.writes());
        let (value, pending) = match (a, b, borrow) {
            (Value::Known(a), Value::Known(b), Some(borrow)) => {
                (Value::Known(alu::subtract(a, b, borrow, zero, &mut self.flags)), None)
            }
            (Value::Part { base, .. }, Value::Part { base: other, .. }, _) if base == other => {
                (Value::Number, None)
            }
            (Value::Part { .. }, ..) => moved(a, b, pending, borrows, true),
            (Value::Any, ..) | (_, Value::Any | Value::Part { .. }, _) => (Value::Any, None),
            _ => (Value::Number, None),
        };
        self.set(i.d, value);
        self.pending = pending;
        self.stays_cleared(zero);
    }

    /// Z of a chain, once cleared, stays so whatever the later bytes are.
    fn stays_cleared(&mut self, zero_before: Option<bool>) {
        if zero_before == Some(false) {
            self.flags[Z] = Some(false);
        }
    }

    fn subtract_constant(&mut self, i: &Instruction, reference: Option<Option<Reference>>) {
        let Some(reference) = reference else { return self.subtract(i, Value::Known(i.k as u8)) };
        let value = match (reference, self.get(i.d)) {
            // Less a negated address: the address of an element.
            (Some(Reference { symbol, negated: true, operand: Operand::Byte(half), .. }), index)
                if !matches!(index, Value::Part { base: Base::Symbol(_) | Base::Frame, .. }) =>
            {
                Value::Part { base: Base::Symbol(symbol), offset: None, half }
            }
            _ => Value::Any,
        };
        self.forget_flags(i.writes());
        self.set(i.d, value);
    }

    fn compare(&mut self, i: &Instruction, b: Value) {
        let a = self.get(i.d);
        let borrows = i.opcode == Opcode::Cpc;
        let borrow = if borrows { self.flags[C] } else { Some(false) };
        let zero = if borrows { self.flags[Z] } else { Some(true) };
        let pending = self.pending;
        self.forget_flags(i.writes());
        match (a, b, borrow) {
            (Value::Known(a), Value::Known(b), Some(borrow)) => {
                alu::subtract(a, b, borrow, zero, &mut self.flags);
            }
            (
                Value::Part { base, offset: Some(left), half },
                Value::Part { base: same, offset: Some(right), half: alike },
                _,
            ) if base == same && half == alike => {
                if half == Half::Low && !borrows {
                    self.flags[Z] = Some((left ^ right) & 0xff == 0);
                    self.pending = Some(Pending::Compared { base, left, right });
                } else if half == Half::High
                    && let Some(Pending::Compared { base: low, left: a, right: b }) = pending
                    && low == base
                    && (a ^ left) & 0xff == 0
                    && (b ^ right) & 0xff == 0
                {
                    self.flags[Z] = Some(left == right);
                    self.flags[C] = Some((left as i16) < right as i16);
                }
            }
            _ => {}
        }
        self.stays_cleared(zero);
    }

    fn add_word(&mut self, i: &Instruction, linked: bool) {
        let pointer = self.pointer(i.d);
        self.forget_flags(i.writes());
        let (up, k) = (i.opcode == Opcode::Adiw, i.k as u16);
        match pointer {
            Pointer::Absolute(word) if !linked => {
                let operation = if up { alu::add_word } else { alu::subtract_word };
                let [low, high] = operation(word, k, &mut self.flags).to_le_bytes();
                self.set(i.d, Value::Known(low));
                self.set(i.d + 1, Value::Known(high));
            }
            _ if linked => self.move_pointer(i.d, None),
            _ => self.move_pointer(i.d, Some(if up { k } else { k.wrapping_neg() })),
        }
    }

    /// Adds to a pair of registers, without flags.
    fn move_pointer(&mut self, low: u8, by: Option<u16>) {
        let halves = match self.pointer(low) {
            Pointer::Absolute(word) => match by {
                Some(by) => word.wrapping_add(by).to_le_bytes().map(Value::Known),
                None => [Value::Any; 2],
            },
            Pointer::Into { base, offset, .. } => {
                let offset = offset.zip(by).map(|(offset, by)| offset.wrapping_add(by));
                [Half::Low, Half::High].map(|half| Value::Part { base, offset, half })
            }
            Pointer::Any => {
                let numbers = [self.get(low), self.get(low + 1)].iter().all(|value| value.is_number());
                [if numbers { Value::Number } else { Value::Any }; 2]
            }
        };
        self.set(low, halves[0]);
        self.set(low + 1, halves[1]);
    }

    fn combine(&mut self, i: &Instruction, b: Value) {
        use Opcode::*;
        let a = self.get(i.d);
        let same = i.d == i.r && matches!(i.opcode, And | Or | Eor);
        self.forget_flags(i.writes());
        let result = match (i.opcode, a, b) {
            (Eor, ..) if same => Some(0),
            (And | Andi, Value::Known(0), _) | (And | Andi, _, Value::Known(0)) => Some(0),
            (And | Andi, Value::Known(a), Value::Known(b)) => Some(a & b),
            (Or | Ori, Value::Known(a), Value::Known(b)) => Some(a | b),
            (Eor, Value::Known(a), Value::Known(b)) => Some(a ^ b),
            _ => None,
        };
        let value = match (i.opcode, result) {
            (_, Some(byte)) => Value::Known(alu::logic(byte, &mut self.flags)),
            _ if same => a,
            (Or | Ori | Eor, None) if b == Value::Known(0) => a,
            (And | Andi, None) if b == Value::Known(0xff) => a,
            (And | Andi, None) => Value::among(0, a.bounds().1.min(b.bounds().1)),
            _ => Value::Number,
        };
        self.set(i.d, value);
    }

    fn one(&mut self, i: &Instruction) {
        use Opcode::*;
        let (a, carry) = (self.get(i.d), self.flags[C]);
        self.forget_flags(i.writes());
        let flags = &mut self.flags;
        let value = match (i.opcode, a, carry) {
            (Inc, Value::Known(a), _) => Value::Known(alu::increment(a, flags)),
            (Dec, Value::Known(a), _) => Value::Known(alu::decrement(a, flags)),
            (Com, Value::Known(a), _) => Value::Known(alu::complement(a, flags)),
            (Neg, Value::Known(a), _) => Value::Known(alu::negate(a, flags)),
            (Lsr, Value::Known(a), _) => Value::Known(alu::shift(a, false, flags)),
            (Asr, Value::Known(a), _) => Value::Known(alu::shift(a, a >> 7 == 1, flags)),
            (Ror, Value::Known(a), Some(carry)) => Value::Known(alu::shift(a, carry, flags)),
            (Swap, Value::Known(a), _) => Value::Known(a.rotate_left(4)),
            (Lsr, a, _) => Value::among(a.bounds().0 >> 1, a.bounds().1 >> 1),
            (Inc | Dec, Value::Part { base, half, .. }, _) => Value::Part { base, offset: None, half },
            (Inc | Dec, Value::Any, _) => Value::Any,
            _ => Value::Number,
        };
        self.set(i.d, value);
    }

    fn multiply(&mut self, i: &Instruction) {
        use Opcode::*;
        let operands = known(self.get(i.d)).zip(known(self.get(i.r)));
        self.forget_flags(i.writes());
        let halves = operands.map(|(a, b)| {
            let signed = |byte: u8| i32::from(byte as i8);
            let wide = match i.opcode {
                Mul | Fmul => i32::from(a) * i32::from(b),
                Muls | Fmuls => signed(a) * signed(b),
                _ => signed(a) * i32::from(b),
            };
            let fractional = matches!(i.opcode, Fmul | Fmuls | Fmulsu);
            alu::product(wide as u16, fractional, &mut self.flags).to_le_bytes().map(Value::Known)
        });
        let [low, high] = halves.unwrap_or([Value::Number; 2]);
        self.set(0, low);
        self.set(1, high);
    }

    fn input(&mut self, i: &Instruction, linked: bool) {
        let frame = |half| {
            let offset = self.stack.map(|at| at as u16);
            Value::Part { base: Base::Frame, offset, half }
        };
        let value = match i.k {
            _ if linked => Value::Any,
            SPL => frame(Half::Low),
            SPH => frame(Half::High),
            _ => Value::Number,
        };
        self.set(i.d, value);
    }

    fn output(&mut self, i: &Instruction, linked: bool) {
        if linked || i.k == SPL || i.k == SPH {
            match self.get(i.r) {
                Value::Part { base: Base::Frame, offset: Some(offset), half } if !linked => match half {
                    Half::High => self.set_stack(Some(offset as i16)),
                    // Of the low byte's offset only the low byte is sure, and the high byte is written before it.
                    Half::Low if self.stack.is_some_and(|at| at as u16 & 0xff == offset & 0xff) => {}
                    Half::Low => self.lose_stack(),
                },
                _ => self.lose_stack(),
            }
        }
        if linked || Set::SREG == i.writes() {
            self.forget_flags(Set::SREG);
        }
    }

    fn lose_stack(&mut self) {
        self.stack = None;
        self.slots.clear();
    }

    /// A store to an address: the registers, the stack pointer and SREG have addresses too.
    fn store_direct(&mut self, i: &Instruction, linked: bool) {
        self.frame_escaped |= self.get(i.r).is_of_frame();
        if !linked {
            self.stored(i.k as u16);
        }
    }

    fn stored(&mut self, address: u16) {
        match address {
            0..0x20 => self.set(address as u8, Value::Any),
            // 0x3d up: where data space and I/O space are one; 0x5d up: where the I/O space begins at 0x20.
            0x3d | 0x3e | 0x5d | 0x5e => self.lose_stack(),
            0x3f | 0x5f => self.forget_flags(Set::SREG),
            _ => {}
        }
    }

    /// A load or store through a pointer.
    fn access(&mut self, i: &Instruction, access: Indirect) {
        if access.before != 0 {
            self.move_pointer(access.low, Some(access.before));
        }
        let pointer = self.pointer(access.low);
        let slot = match pointer {
            Pointer::Into { base: Base::Frame, offset: Some(offset), .. } => {
                Some(offset.wrapping_add(access.displacement) as i16)
            }
            _ => None,
        };
        if access.stores {
            let value = self.get(i.r);
            self.frame_escaped |= slot.is_none() && value.is_of_frame();
            match (slot, pointer) {
                (Some(at), _) => self.set_slot(at, Slot { value, saved: false }),
                (None, Pointer::Into { base: Base::Frame, .. }) => self.forget_slots(),
                (None, Pointer::Any | Pointer::Into { page: true, .. }) if self.frame_escaped => {
                    self.forget_slots();
                }
                (None, Pointer::Absolute(address)) => self.stored(address.wrapping_add(access.displacement)),
                _ => {}
            }
        } else {
            let found = slot.filter(|_| !access.flash).and_then(|at| self.slot(at));
            let value = found.map_or(Value::Any, |slot| slot.value);
            let written = i.writes();
            // `lpm` alone loads r0, which is the field's default.
            if written.contains(Set::register(i.d)) {
                self.set(i.d, value);
            }
        }
        if access.after != 0 {
            self.move_pointer(access.low, Some(access.after));
        }
    }
}

/// An access through a pair of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Indirect {
    /// The pair's lower register.
    pub low: u8,
    /// What is added to the pair before the access.
    pub before: u16,
    /// What is added to it after the access.
    pub after: u16,
    /// What is added to it for the access only.
    pub displacement: u16,
    /// Whether it stores.
    pub stores: bool,
    /// Whether it is the program memory that is read.
    pub flash: bool,
}

/// The access through a pointer that an instruction makes.
pub(crate) fn indirect(i: &Instruction) -> Option<Indirect> {
    use Opcode::*;
    const DOWN: u16 = 1_u16.wrapping_neg();
    let (low, before, after, displacement) = match i.opcode {
        LdX | StX => (26, 0, 0, 0),
        LdXInc | StXInc => (26, 0, 1, 0),
        LdXDec | StXDec => (26, DOWN, 0, 0),
        LdYInc | StYInc => (28, 0, 1, 0),
        LdYDec | StYDec => (28, DOWN, 0, 0),
        LddY | StdY => (28, 0, 0, u16::from(i.b)),
        LdZInc | StZInc | LpmZInc | ElpmZInc => (30, 0, 1, 0),
        LdZDec | StZDec => (30, DOWN, 0, 0),
        LddZ | StdZ => (30, 0, 0, u16::from(i.b)),
        Lpm | LpmZ | Elpm | ElpmZ => (30, 0, 0, 0),
        _ => return None,
    };
    let flash = matches!(i.opcode, Lpm | LpmZ | LpmZInc | Elpm | ElpmZ | ElpmZInc);
    let stores = matches!(i.opcode, StX | StXInc | StXDec | StYInc | StYDec | StdY | StZInc | StZDec | StdZ);
    Some(Indirect { low, before, after, displacement, stores, flash })
}

fn known(value: Value) -> Option<u8> {
    match value {
        Value::Known(byte) => Some(byte),
        _ => None,
    }
}

/// The constant operand of an instruction.
fn constant(i: &Instruction, reference: Option<Option<Reference>>) -> Value {
    match reference {
        None => Value::Known(i.k as u8),
        Some(Some(Reference { symbol, offset, negated: false, operand: Operand::Byte(half) })) => {
            Value::Part { base: Base::Symbol(symbol), offset: Some(offset), half }
        }
        Some(_) => Value::Any,
    }
}

/// One byte of an address plus or minus something, and the carry that the next byte waits for.
fn moved(
    part: Value,
    by: Value,
    pending: Option<Pending>,
    carries: bool,
    down: bool,
) -> (Value, Option<Pending>) {
    let Value::Part { base, offset, half } = part else { return (Value::Any, None) };
    let step = |offset: u16, by: u16| {
        if down { offset.wrapping_sub(by) } else { offset.wrapping_add(by) }
    };
    let somewhere = Value::Part { base, offset: None, half };
    match (offset, half, by) {
        (Some(from), Half::Low, Value::Known(low)) if !carries => {
            let part = Value::Part { base, offset: Some(step(from, low.into())), half };
            (part, Some(Pending::Moved { base, from, low, down }))
        }
        (Some(from), Half::High, Value::Known(high)) if carries => match pending {
            Some(Pending::Moved { base: same, from: start, low, down: alike })
                if (same, start, alike) == (base, from, down) =>
            {
                let offset = Some(step(from, u16::from_le_bytes([low, high])));
                (Value::Part { base, offset, half }, None)
            }
            _ => (somewhere, None),
        },
        (_, _, number) if number.is_number() => (somewhere, None),
        // A symbol or the frame is an address for certain, so the other is an index; what a parameter is, nobody
        // says: with an unknown high byte it may be the index.
        _ => match (base, by) {
            (Base::Entry(_), Value::Any) if half == Half::Low => (somewhere, None),
            (Base::Entry(_), _) => (Value::Any, None),
            (_, Value::Any | Value::Part { base: Base::Entry(_), .. }) => (somewhere, None),
            _ => (Value::Any, None),
        },
    }
}

/// Whether two bytes are equal, when that is certain.
fn equal(a: Value, b: Value) -> Option<bool> {
    match (a, b) {
        (Value::Known(a), Value::Known(b)) => Some(a == b),
        (
            Value::Part { base, offset: Some(a), half: Half::Low },
            Value::Part { base: same, offset: Some(b), half: Half::Low },
        ) if base == same => Some((a ^ b) & 0xff == 0),
        _ => None,
    }
}

/// Whether an instruction uses an address of the frame without handing it to anyone.
fn keeps_frame(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Mov | Movw | Adiw | Sbiw | Subi | Sbci | Cp | Cpc | Cpi | Cpse | Push | Out)
        || indirect(&Instruction::new(opcode)).is_some()
        || opcode == Sts
}

/// Bytes of a return address.
pub(crate) fn return_bytes(core: isa::avr::CoreType) -> i16 {
    match core {
        isa::avr::CoreType::AvrePc3 => 3,
        _ => 2,
    }
}
