//! What registers and stack are known to hold at a point: constants, addresses of symbols, parameters, the frame.
//!
//! Owns: the domain of values ([`Value`]), the machine state over it ([`State`]), how states join, and the flow of
//! states through a function ([`Values`]). What one instruction does to a state is `transfer`'s. Loop counts,
//! saved registers and the objects behind pointers are all read off these states.
//!
//! What is taken for granted, since no assembly text shows it: functions are entered as avr-gcc's ABI says
//! (r1 is zero, except in interrupt handlers; callees leave the caller's frame alone unless its address was given
//! to them), an address computed from an object stays in that object (a register saved by a push is in none), and
//! no object wraps round the data space.

use std::borrow::Cow;

use isa::avr::{Opcode, Set};

use crate::alu::Flags;
use crate::cfg::{Block, BlockId, Cfg, Edge, ExitKind, Way};
use crate::program::{Point, Program};

/// Flags by their number in SREG.
const CARRY: u8 = 0;
const ZERO: u8 = 1;

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Base {
    /// A symbol, by its number in [`Symbols`].
    Symbol(u32),
    /// What the pair of registers at this even number held when the function was entered.
    Entry(u8),
    /// The stack pointer when the function was entered.
    Frame,
}

/// Which byte of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Bits 0 to 7.
    Low,
    /// Bits 8 to 15.
    High,
}

/// What is known of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Nothing; it may be part of any address.
    Any,
    /// A number that is no part of an address.
    Number,
    /// This number.
    Known(u8),
    /// A number from `least` to `most`, which differ.
    Among {
        /// The least.
        least: u8,
        /// The most.
        most: u8,
    },
    /// One byte of an address.
    Part {
        /// What the address counts from.
        base: Base,
        /// Bytes from there, modulo 2^16; `None` is somewhere in the same object.
        offset: Option<u16>,
        /// Which byte of it.
        half: Half,
    },
}

impl Value {
    /// The byte of a register at the function's entry.
    pub(crate) fn at_entry(register: u8) -> Value {
        let half = if register & 1 == 0 { Half::Low } else { Half::High };
        Value::Part { base: Base::Entry(register & !1), offset: Some(0), half }
    }

    /// A number from the one to the other.
    pub(crate) fn among(least: u8, most: u8) -> Value {
        match (least, most) {
            (0, 0xff) => Value::Number,
            (least, most) if least == most => Value::Known(least),
            (least, most) => Value::Among { least, most },
        }
    }

    /// Whether it is a number that is no part of an address.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Value::Known(_) | Value::Among { .. } | Value::Number)
    }

    /// The least and the most that it may be.
    pub(crate) fn bounds(self) -> (u8, u8) {
        match self {
            Value::Known(byte) => (byte, byte),
            Value::Among { least, most } => (least, most),
            Value::Any | Value::Number | Value::Part { .. } => (0, 0xff),
        }
    }

    /// What is known when it is one or the other.
    pub(crate) fn join(self, other: Value) -> Value {
        use Value::*;
        match (self, other) {
            (a, b) if a == b => a,
            // Two numbers of a counter: from round to round there would be a third.
            (Known(_), Known(_)) => Number,
            (a, b) if a.is_number() && b.is_number() => {
                let ((a_least, a_most), (b_least, b_most)) = (a.bounds(), b.bounds());
                Value::among(a_least.min(b_least), a_most.max(b_most))
            }
            (Part { base, half, .. }, Part { base: same, half: alike, .. })
                if base == same && half == alike =>
            {
                Part { base, offset: None, half }
            }
            _ => Any,
        }
    }

    pub(crate) fn is_of_frame(self) -> bool {
        matches!(self, Value::Part { base: Base::Frame, .. })
    }
}

/// What a pair of registers points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pointer {
    /// Nothing is known.
    Any,
    /// A known address of the data space.
    Absolute(u16),
    /// Into what a base names.
    Into {
        /// The base.
        base: Base,
        /// Bytes from there, when known.
        offset: Option<u16>,
        /// Whether only the upper byte is the base's: the object must then begin at a multiple of 256.
        page: bool,
    },
}

/// A low byte's borrow or carry that waits for the instruction on the high byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pending {
    /// The carry of `base + from`, low byte, plus or minus `low`.
    Moved { base: Base, from: u16, low: u8, down: bool },
    /// The borrow of `base + left` less `base + right`, low byte.
    Compared { base: Base, left: u16, right: u16 },
}

/// A byte of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub value: Value,
    /// Whether it is a register that was saved: no object, so no address leads there.
    pub saved: bool,
}

/// What is known of the machine before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The registers.
    pub registers: [Value; 32],
    /// The bits of SREG, as far as known.
    pub flags: Flags,
    pub(crate) pending: Option<Pending>,
    /// The stack pointer, in bytes from where it was at the entry; `None` when it is not known.
    pub stack: Option<i16>,
    /// Bytes of the stack, by their distance from the stack pointer at the entry, ascending.
    pub(crate) slots: Vec<(i16, Slot)>,
    /// Whether the address of the frame may be where other code finds it.
    pub(crate) frame_escaped: bool,
}

impl State {
    /// At the entry of a function, or of an interrupt handler.
    pub fn at_entry(handler: bool) -> State {
        let mut registers: [Value; 32] = std::array::from_fn(|number| Value::at_entry(number as u8));
        if !handler {
            registers[1] = Value::Known(0);
        }
        State {
            registers,
            flags: [None; 8],
            pending: None,
            stack: Some(0),
            slots: Vec::new(),
            frame_escaped: false,
        }
    }

    /// What the register pair at this even number points to.
    pub fn pointer(&self, low: u8) -> Pointer {
        use Value::*;
        let (low, high) = (self.registers[usize::from(low)], self.registers[usize::from(low) + 1]);
        match (low, high) {
            (Known(low), Known(high)) => Pointer::Absolute(u16::from_le_bytes([low, high])),
            (
                Part { base: same, offset: below, half: Half::Low },
                Part { base, offset, half: Half::High },
            ) if base == same => {
                let offset = offset.filter(|&above| below.is_some_and(|below| (above ^ below) & 0xff == 0));
                Pointer::Into { base, offset, page: false }
            }
            // A sum whose high byte is the object's: the low byte was added before it.
            (Known(_) | Among { .. } | Number | Any, Part { base, offset, half: Half::High })
            | (
                Part { base: Base::Entry(_), .. },
                Part { base: base @ Base::Symbol(_), offset, half: Half::High },
            ) => Pointer::Into { base, offset: None, page: offset.is_some() },
            _ => Pointer::Any,
        }
    }

    pub(crate) fn slot(&self, at: i16) -> Option<Slot> {
        let found = self.slots.binary_search_by_key(&at, |&(slot, _)| slot).ok()?;
        Some(self.slots[found].1)
    }

    pub(crate) fn set_slot(&mut self, at: i16, to: Slot) {
        match self.slots.binary_search_by_key(&at, |&(slot, _)| slot) {
            Ok(found) => self.slots[found].1 = to,
            Err(place) => self.slots.insert(place, (at, to)),
        }
    }

    /// Moves the stack pointer; what lies below it is nobody's.
    pub(crate) fn set_stack(&mut self, at: Option<i16>) {
        self.stack = at;
        if let Some(at) = at {
            let below = self.slots.partition_point(|&(slot, _)| slot <= at);
            self.slots.drain(..below);
        }
    }

    /// Forgets the stack's bytes that an address may lead to, since something unknown may have been stored there.
    pub(crate) fn forget_slots(&mut self) {
        self.slots.retain(|(_, slot)| slot.saved);
    }

    /// What is known when a block's last instruction goes this way: a branch behind a comparison tells of what was
    /// compared.
    pub(crate) fn narrowed(&self, context: Context<'_>, block: &Block, way: Way) -> Cow<'_, State> {
        let told = || {
            let last = block.last();
            let compare = context.program.code.get(last.checked_sub(1)?)?;
            let (branch, compared) = (context.program.code[last].instruction, compare.instruction);
            let is_compare = compared.opcode == Opcode::Cpi && compare.expression.is_none();
            let (d, k) = (usize::from(compared.d), compared.k as u8);
            let Value::Among { least, most } = self.registers[d] else { return None };
            let is_set = match branch.opcode {
                Opcode::Brbs => way == Way::Taken,
                Opcode::Brbc => way != Way::Taken,
                _ => return None,
            };
            let bounds = match (branch.b, is_set) {
                (CARRY, true) => (least, most.min(k.checked_sub(1)?)),
                (CARRY, false) => (least.max(k), most),
                (ZERO, true) => (least.max(k), most.min(k)),
                (ZERO, false) => (least + u8::from(least == k), most - u8::from(most == k)),
                _ => return None,
            };
            let is_told = is_compare && last > block.first && bounds.0 <= bounds.1;
            is_told.then(|| (d, Value::among(bounds.0, bounds.1)))
        };
        let Some((register, value)) = told() else { return Cow::Borrowed(self) };
        let mut state = self.clone();
        state.registers[register] = value;
        Cow::Owned(state)
    }

    /// What is known when it is this state or the other one.
    pub fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (mine, &theirs) in self.registers.iter_mut().zip(&other.registers) {
            let joined = mine.join(theirs);
            let loses_frame = (mine.is_of_frame() || theirs.is_of_frame()) && !joined.is_of_frame();
            // A register that is the frame's on one way only may still be its address when it is used.
            self.frame_escaped |= loses_frame;
            *mine = joined;
        }
        for (mine, &theirs) in self.flags.iter_mut().zip(&other.flags) {
            *mine = mine.filter(|_| *mine == theirs);
        }
        self.pending = self.pending.filter(|_| self.pending == other.pending);
        self.stack = self.stack.filter(|_| self.stack == other.stack);
        self.frame_escaped |= other.frame_escaped;
        self.slots.retain_mut(|(at, mine)| match other.slot(*at) {
            Some(theirs) => {
                *mine = Slot { value: mine.value.join(theirs.value), saved: mine.saved && theirs.saved };
                true
            }
            None => false,
        });
        *self != before
    }
}

/// The symbols that a program's expressions name, numbered in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    names: Vec<String>,
}

impl Symbols {
    /// The name of a number.
    pub fn name(&self, symbol: u32) -> &str {
        &self.names[symbol as usize]
    }

    fn add(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let symbol = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(symbol).expect("there are fewer symbols than bytes of text")
    }
}

/// Which byte of a symbol's address an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// All of it.
    Whole,
    /// One byte.
    Byte(Half),
}

/// An operand that names a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub symbol: u32,
    pub offset: u16,
    pub negated: bool,
    pub operand: Operand,
}

/// Reads `lo8(buffer+2)`, `hi8(-(table))`, `buffer`. Anything else, code addresses too, is nothing.
fn reference(text: &str, symbols: &mut Symbols) -> Option<Reference> {
    let text = text.trim();
    let inside = |name: &str| text.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')');
    let (operand, body) = match (inside("lo8"), inside("hi8")) {
        (Some(body), _) => (Operand::Byte(Half::Low), body),
        (_, Some(body)) => (Operand::Byte(Half::High), body),
        _ => (Operand::Whole, text),
    };
    let body = body.trim();
    let (negated, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest.trim_start().strip_prefix('(')?.strip_suffix(')')?.trim()),
        None => (false, body),
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$') || !c.is_ascii();
    let end = body.find(|c| !named(c)).unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest: String = rest.split_whitespace().collect();
    let offset = if rest.is_empty() { 0 } else { isa::avr::text::number(&rest)? };
    Some(Reference { symbol: symbols.add(name), offset: offset as u16, negated, operand })
}

/// What calls do to registers, by the point of the call.
pub(crate) type Clobbers<'c> = &'c dyn Fn(Point) -> Set;

/// What is the same for every state of a program: its symbols and what its operands refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct References {
    /// The symbols.
    pub symbols: Symbols,
    operands: Vec<Option<Reference>>,
}

impl References {
    /// Of a whole program.
    pub fn of(program: &Program) -> References {
        let mut symbols = Symbols::default();
        let operands =
            program.code.iter().map(|step| reference(step.expression.as_deref()?, &mut symbols)).collect();
        References { symbols, operands }
    }

    pub(crate) fn at(&self, point: Point) -> Option<Reference> {
        self.operands[point]
    }
}

/// What states are carried through a function with.
#[derive(Clone, Copy)]
pub(crate) struct Context<'c> {
    pub program: &'c Program,
    pub references: &'c References,
    pub clobbers: Clobbers<'c>,
}

/// The states before every block of a function.
#[derive(Clone, Debug)]
pub struct Values {
    entry: State,
    before: Vec<State>,
}

impl Values {
    /// Carries the state at the entry through the function until nothing changes.
    pub(crate) fn of(context: Context<'_>, cfg: &Cfg) -> Values {
        let handler = cfg
            .blocks
            .iter()
            .any(|block| block.exits.iter().any(|exit| exit.kind == ExitKind::ReturnFromInterrupt));
        let entry = State::at_entry(handler);
        let found = carry(context, cfg, vec![(0, entry.clone())], |_, _| true);
        let before = found.into_iter().map(|state| state.expect("every block is reached")).collect();
        Values { entry, before }
    }

    /// The state at the function's entry.
    pub fn at_entry(&self) -> &State {
        &self.entry
    }

    /// The state before a block, whichever way it is reached.
    pub fn before(&self, block: BlockId) -> &State {
        &self.before[block]
    }

    /// Calls `visit` before each instruction of a block, and gives the state behind the last.
    pub(crate) fn walk(
        &self,
        context: Context<'_>,
        cfg: &Cfg,
        block: BlockId,
        mut visit: impl FnMut(Point, &State),
    ) -> State {
        let mut state = self.before[block].clone();
        for point in cfg.blocks[block].points() {
            visit(point, &state);
            state.step(context, point);
        }
        state
    }
}

/// Carries states from some blocks on, along the edges that `follow` allows, until nothing changes.
/// `follow` sees the states before and behind the block's last instruction, and the edge.
pub(crate) fn carry(
    context: Context<'_>,
    cfg: &Cfg,
    from: Vec<(BlockId, State)>,
    mut follow: impl FnMut(BlockId, (&State, &State, Edge)) -> bool,
) -> Vec<Option<State>> {
    let mut before: Vec<Option<State>> = vec![None; cfg.blocks.len()];
    let mut open = std::collections::BTreeSet::new();
    for (block, state) in from {
        match &mut before[block] {
            Some(known) => _ = known.join(&state),
            unknown => *unknown = Some(state),
        }
        open.insert((cfg.position(block), block));
    }
    while let Some((_, id)) = open.pop_first() {
        let mut state = before[id].clone().expect("an open block has a state");
        let block = &cfg.blocks[id];
        for point in block.first..block.last() {
            state.step(context, point);
        }
        let deciding = state.clone();
        state.step(context, block.last());
        for &edge in &block.successors {
            let state = state.narrowed(context, block, edge.way);
            if !follow(id, (&deciding, &state, edge)) {
                continue;
            }
            let changed = match &mut before[edge.to] {
                Some(known) => known.join(&state),
                unknown => {
                    *unknown = Some(state.into_owned());
                    true
                }
            };
            if changed {
                open.insert((cfg.position(edge.to), edge.to));
            }
        }
    }
    before
}
