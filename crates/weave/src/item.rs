//! Woven code before it is text: instructions, labels and the jumps between them.
//!
//! Owns: what is laid out ([`Item`]) and how long it takes. Who decides the order is `product`; `emit` prints.

use isa::avr::{CoreType, Instruction, Opcode};

use crate::directive::{Directive, Thread};
use crate::program::{Origin, Point};

/// A place in the woven code, by number.
pub type Label = usize;

/// One line of woven code.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A place that jumps may name.
    Label(Label),
    /// A directive of the output, which stands on the next line.
    Says(Directive),
    /// An instruction.
    Line(Line),
}

/// An instruction of the woven code.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is; the distance of a jump is zero here.
    pub instruction: Instruction,
    /// The operand that only the linker knows.
    pub expression: Option<String>,
    /// Where it jumps.
    pub target: Option<Label>,
    /// Whose work it is; nobody's when it only passes time or saves what the other thread needs.
    pub thread: Option<Thread>,
    /// Where the original is written.
    pub origin: Option<Origin>,
    /// Which point of the host it is a copy of.
    pub point: Option<Point>,
}

impl Line {
    /// One that weaving adds.
    pub fn added(instruction: Instruction) -> Line {
        Line { instruction, expression: None, target: None, thread: None, origin: None, point: None }
    }

    /// A jump that weaving adds.
    pub fn jump(label: Label) -> Line {
        Line { target: Some(label), ..Line::added(Instruction::new(Opcode::Rjmp)) }
    }
}

/// Cycles of an instruction that neither branches nor skips.
pub fn cycles(instruction: &Instruction, core: CoreType) -> u32 {
    instruction.opcode.cost(core).cycles.into()
}

/// Words of flash that items take.
pub fn words(items: &[Item]) -> u32 {
    items
        .iter()
        .map(|item| match item {
            Item::Line(line) => line.instruction.opcode.words(),
            _ => 0,
        })
        .sum()
}

/// Cycles of items that go straight on.
pub fn straight_cycles(items: &[Item], core: CoreType) -> u32 {
    items
        .iter()
        .map(|item| match item {
            Item::Line(line) => cycles(&line.instruction, core),
            _ => 0,
        })
        .sum()
}
