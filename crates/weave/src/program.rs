//! A program as its instructions: what every pass reads, wherever it came from.
//!
//! Owns: the instructions of some functions in layout order ([`Step`]), where each may go next ([`Flow`]), and
//! the directives that stand on them. `source` makes one from assembly text, `linked` from an ELF file; analyses,
//! weaving and proof read nothing else. Leaves out data: memory is known by the expressions that name it.
//! Invariant: every [`Point`] in a [`Flow`] is an index of [`Program::code`].

use std::borrow::Cow;

use isa::avr::table::Operand;
use isa::avr::{CoreType, Instruction};

use crate::directive::Directive;
use crate::error::Place;

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
    /// The texts that it was read from; none of a linked file.
    pub texts: Vec<Text>,
}

/// An assembly text, for those who show where something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// How errors call it.
    name: String,
    /// Its lines, without what ends them.
    lines: Vec<String>,
    /// Those of them that say where the line behind them was written before it was preprocessed or compiled: their
    /// number here, from 1, the file, and the number there.
    markers: Vec<(u32, String, u32)>,
}

impl Text {
    /// Reads the markers `# 12 "sum.c"`, which the preprocessor writes.
    pub fn new(name: String, lines: Vec<String>) -> Text {
        let marker = |line: &str| {
            let (number, rest) = line.strip_prefix("# ")?.split_once(" \"")?;
            Some((rest.split_once('"')?.0.to_owned(), number.parse().ok()?))
        };
        let found = (1..).zip(&lines).filter_map(|(number, line)| {
            let (file, written) = marker(line)?;
            Some((number, file, written))
        });
        Text { markers: found.collect(), name, lines }
    }

    /// A line, from 1; empty where there is none.
    pub fn line(&self, number: u32) -> &str {
        let index = (number as usize).checked_sub(1);
        index.and_then(|index| self.lines.get(index)).map_or("", String::as_str)
    }

    /// The file and line where a line of this text was written.
    pub fn written(&self, number: u32) -> (&str, u32) {
        let behind = self.markers.partition_point(|(at, ..)| *at < number);
        match self.markers[..behind].last() {
            Some((at, file, line)) => (file, line + (number - at - 1)),
            None => (&self.name, number),
        }
    }
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

impl Step {
    /// Whether a directive stands on it.
    pub fn says(&self, directive: &Directive) -> bool {
        self.directives.iter().any(|written| written.directive == *directive)
    }
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
    /// A line of a text.
    Line {
        /// An index of [`Program::texts`].
        text: usize,
        /// From 1.
        line: u32,
    },
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

/// The file and line where something was written, before it was preprocessed or compiled.
pub fn written(texts: &[Text], origin: Origin) -> Option<(&str, u32)> {
    match origin {
        Origin::Line { text, line } => texts.get(text).map(|text| text.written(line)),
        Origin::Address(_) => None,
    }
}

/// An instruction's mnemonic and operands as they stand in the line where it is written; where they are of another
/// instruction, since a macro was expanded, as disassembly prints them.
pub fn spelled(
    texts: &[Text],
    origin: Origin,
    instruction: &Instruction,
) -> (&'static str, &'static [Operand]) {
    let line = match origin {
        Origin::Line { text, line } => texts.get(text).map_or("", |text| text.line(line)),
        Origin::Address(_) => "",
    };
    let code = line.split(';').next().unwrap_or_default();
    let mut words = code.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.find_map(|word| instruction.form_as(word)).unwrap_or_else(|| instruction.form())
}

impl Program {
    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// A place for an error to point at: the line without its comment, or a comment that has a line to itself.
    pub fn place(&self, origin: Origin) -> Box<Place> {
        let (file, origin, line) = match origin {
            Origin::Line { text, line: number } => {
                let (file, line) = self.texts[text].written(number);
                (file.to_owned(), Origin::Line { text, line }, self.texts[text].line(number).to_owned())
            }
            Origin::Address(_) => (String::new(), origin, String::new()),
        };
        let code = line.split(';').next().unwrap_or_default().trim_end();
        let end = if code.is_empty() { line.trim_end().len() } else { code.len() };
        let marked = line.len() - line.trim_start().len()..end;
        Box::new(Place { file, origin, line, marked, expanded: None })
    }

    /// The mnemonic of the instruction at a point, as it is written.
    pub fn mnemonic(&self, point: Point) -> &'static str {
        let step = &self.code[point];
        spelled(&self.texts, step.origin, &step.instruction).0
    }

    /// A place for an error to point at, of the instruction at a point.
    pub fn place_of(&self, point: Point) -> Box<Place> {
        self.place(self.code[point].origin)
    }

    /// The function that a point belongs to.
    pub fn function_at(&self, point: Point) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.entry <= point);
        self.functions[..after].last().filter(|function| point < function.end)
    }

    /// What is entered by a call of a point: a function, or a subroutine inside one, which goes to its end.
    pub fn routine(&self, entry: Point) -> Option<Cow<'_, Function>> {
        let around = self.function_at(entry)?;
        if around.entry == entry {
            return Some(Cow::Borrowed(around));
        }
        let name = format!("{}+{}", around.name, entry - around.entry);
        Some(Cow::Owned(Function { name, entry, end: around.end, directives: Vec::new() }))
    }

    /// Every function, and then every subroutine inside one that something calls.
    pub fn routines(&self) -> Vec<Cow<'_, Function>> {
        let mut routines: Vec<Cow<'_, Function>> = self.functions.iter().map(Cow::Borrowed).collect();
        for step in &self.code {
            if let Flow::Call(Callee::Known(entry)) = step.flow
                && routines.iter().all(|known| known.entry != entry)
            {
                routines.extend(self.routine(entry));
            }
        }
        routines
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
