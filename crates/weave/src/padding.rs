//! Code that only passes time, in few words, changing no register and no flag.
//!
//! Owns: the sled, a few words that every woven function shares, and the shortest way to pass a number of cycles with
//! it. Entered by a call, the sled returns after 7 to 13 cycles, or after 14, 28, 56 or 112: an entry before a
//! call of what follows it takes twice as long. It needs ten bytes of stack at most.

use isa::avr::{CoreType, Instruction, Opcode};

use crate::item::{Item, Label, Line, cycles};

/// Entries that only pass some of the `nop`s before a return.
const NOPS: u32 = 6;
/// Entries that are called through each other.
const DOUBLINGS: u32 = 4;
/// Labels that the sled takes.
pub const LABELS: usize = (NOPS + 1 + DOUBLINGS) as usize;

/// A sled whose labels begin at a number.
#[derive(Clone, Copy, Debug)]
pub struct Sled {
    first: Label,
    /// Cycles of a call inside the sled and its return.
    round_trip_cycles: u32,
    /// What calls it from outside, and the cycles that this takes more.
    call: Opcode,
    call_more_cycles: u32,
}

impl Sled {
    /// For a core, with labels from `first`; `call` is how far-away code calls.
    pub fn new(core: CoreType, first: Label, call: Opcode) -> Sled {
        let cost = |opcode| cycles(&Instruction::new(opcode), core);
        let round_trip_cycles = cost(Opcode::Rcall) + cost(Opcode::Ret);
        Sled { first, round_trip_cycles, call, call_more_cycles: cost(call) - cost(Opcode::Rcall) }
    }

    /// Its code.
    pub fn items(&self) -> Vec<Item> {
        let line = |opcode| Item::Line(Line::added(Instruction::new(opcode)));
        let mut items = Vec::new();
        let doubling = |step: u32| self.first + (NOPS + step) as usize;
        for step in (1..=DOUBLINGS).rev() {
            items.push(Item::Label(doubling(step)));
            let below =
                Line { target: Some(doubling(step - 1)), ..Line::added(Instruction::new(Opcode::Rcall)) };
            items.push(Item::Line(below));
        }
        // The last doubling falls into this return.
        items.push(Item::Label(doubling(0)));
        items.push(line(Opcode::Ret));
        for nops in (1..NOPS).rev() {
            items.push(Item::Label(self.first + nops as usize));
            items.push(line(Opcode::Nop));
        }
        items.push(Item::Label(self.first));
        items.push(line(Opcode::Ret));
        items
    }

    /// What takes so many cycles in one word by a call, longest first: cycles and entry.
    fn entries(&self) -> impl Iterator<Item = (u32, Label)> {
        let short = (0..NOPS).map(|nops| (self.round_trip_cycles + nops, self.first + nops as usize));
        let long =
            (1..=DOUBLINGS).map(|step| (self.round_trip_cycles << step, self.first + (NOPS + step) as usize));
        let more = self.call_more_cycles;
        long.rev().chain(short.rev()).map(move |(cycles, entry)| (cycles + more, entry))
    }

    /// Passes `cycles_wanted`; `label` makes a new label.
    pub fn pass(&self, cycles_wanted: u32, label: &mut impl FnMut() -> Label) -> Vec<Item> {
        let mut items = Vec::new();
        let mut left = cycles_wanted;
        while let Some((cycles, entry)) = self.entries().find(|&(cycles, _)| cycles <= left) {
            let call = Line { target: Some(entry), ..Line::added(Instruction::new(self.call)) };
            items.push(Item::Line(call));
            left -= cycles;
        }
        while left >= 2 {
            // A jump to the next instruction: two cycles in one word.
            let next = label();
            items.push(Item::Line(Line::jump(next)));
            items.push(Item::Label(next));
            left -= 2;
        }
        if left == 1 {
            items.push(Item::Line(Line::added(Instruction::new(Opcode::Nop))));
        }
        items
    }
}
