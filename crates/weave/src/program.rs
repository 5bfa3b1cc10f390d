//! A program as its instructions: what every pass reads, wherever it came from.
//!
//! Owns: the instructions of some functions in layout order ([`Step`]), where each may go next ([`Flow`]), and
//! the directives that stand on them. `source` makes one from assembly text, `linked` from an ELF file; analyses,
//! weaving and proof read nothing else. Leaves out data: memory is known by the expressions that name it.
//! Invariant: every [`Point`] in a [`Flow`] is an index of [`Program::code`].

use isa::avr::{CoreType, Instruction};

use crate::directive::Directive;

/// An index of [`Program::code`].
pub type Point = usize;

/// Some functions of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Their instructions, function after function, each in the order of its layout.
    pub code: Vec<Step>,
    /// The functions, in the order of their code, without gap or overlap.
    pub functions: Vec<Function>,
    /// Whose cycles count.
    pub core: CoreType,
}

/// A function: a stretch of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Where it is entered; also its first instruction.
    pub entry: Point,
    /// One behind its last instruction.
    pub end: Point,
    /// What its directives say of the function as a whole (clocks, chip, argument sizes).
    pub directives: Vec<Written>,
}

/// One instruction in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it is. Where `expression` is present, the constant it stands for is zero here.
    pub instruction: Instruction,
    /// The operand that only the linker knows, as written (`lo8(table)`, `buffer+2`).
    pub expression: Option<String>,
    /// Where it may go next.
    pub flow: Flow,
    /// The directives that stand on it.
    pub directives: Vec<Written>,
    /// Where it is written.
    pub origin: Origin,
}

/// A directive and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it says.
    pub directive: Directive,
    /// Where.
    pub origin: Origin,
}

/// Where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// A line of the source text, from 1.
    Line(u32),
    /// A byte address of flash.
    Address(u32),
}

/// Where an instruction may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next one.
    Next,
    /// Conditionally to a point, else to the next one.
    Branch(Point),
    /// To the next one, or past it.
    Skip,
    /// To a point.
    Jump(Point),
    /// Into a function, and from its return to the next one.
    Call(Callee),
    /// Into another function that returns in this one's stead.
    TailCall(Callee),
    /// Out of the function.
    Return,
    /// Out of an interrupt handler.
    ReturnFromInterrupt,
    /// To an address in a register; only directives can say where.
    Indirect,
    /// Nowhere: `break`.
    Stop,
}

/// A function that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The function that is entered at this point.
    Known(Point),
    /// One whose code is not here.
    Unknown(String),
}

impl Program {
    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The function that a point belongs to.
    pub fn function_at(&self, point: Point) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.entry <= point);
        self.functions[..after].last().filter(|function| point < function.end)
    }

    /// Cycles of an instruction when it neither branches nor skips.
    pub fn cycles(&self, point: Point) -> u32 {
        self.code[point].instruction.opcode.cost(self.core).cycles.into()
    }

    /// Cycles of an instruction when it branches, or skips the instruction behind it.
    pub fn taken_cycles(&self, point: Point) -> u32 {
        let cost = self.code[point].instruction.opcode.cost(self.core);
        let skips_two_words = matches!(self.code[point].flow, Flow::Skip)
            && self.code.get(point + 1).is_some_and(|next| next.instruction.opcode.words() == 2);
        if skips_two_words { cost.taken_two_words_cycles.into() } else { cost.taken_cycles.into() }
    }
}
