//! Every word that `weave` says when something is wrong with its input.
//!
//! Owns: the one closed enum, a variant a fact, and the place that a text's error points at. Our own bugs are
//! assertions; files are read by the roof. Words are lower case and read after `error: `; `help:` says the fix
//! where it is known.

use std::fmt;
use std::ops::Range;

use isa::avr::TextError;

use crate::directive::WORDS;
pub use crate::expression::{ExpressionFault, ExpressionFaultKind};
use crate::program::Origin;
pub use refusal::{InnerLoop, Lack, Refusal, StackFault};

mod refusal;

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text's name.
    pub file: String,
    /// The line's number.
    pub origin: Origin,
    /// The line.
    pub line: String,
    /// The bytes of the line that are to blame.
    pub marked: Range<usize>,
    /// What the line became, when a macro or repetition is to blame.
    pub expanded: Option<Expanded>,
}

/// `sum.s:12`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.origin {
            Origin::Line { line, .. } => write!(f, "{}:{line}", self.file),
            origin @ Origin::Address(_) => write!(f, "{}: {origin}", self.file),
        }
    }
}

/// A line of a macro or repetition after its parameters were put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    /// Where the line is written that it was made of.
    pub origin: Origin,
    /// What was made.
    pub line: String,
    /// The bytes of that which are to blame.
    pub marked: Range<usize>,
}

/// How a macro is defined or used wrongly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroFault {
    /// A macro or a repetition's parameter without a name.
    NoName,
    /// A macro of this name is there.
    Twice,
    /// A parameter is there twice.
    ParameterTwice,
    /// What is behind a parameter's colon is neither `req` nor `vararg`.
    Qualifier,
    /// Something that is no parameter.
    Parameter,
    /// More arguments than parameters.
    TooMany,
    /// An argument for a parameter that the macro has not.
    NoParameter,
    /// An argument by its place behind one by its name.
    Positional,
    /// No argument for a parameter that must have one.
    Required,
    /// `\(` without `)`.
    Unclosed,
}

/// What is wrong with a directive, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveFault {
    /// What is wrong.
    pub kind: DirectiveFaultKind,
    /// The bytes of the text that are to blame.
    pub at: Range<usize>,
    /// What stands there.
    pub found: String,
}

/// What is wrong with a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectiveFaultKind {
    /// It says nothing.
    Empty,
    /// Its first word is none of the grammar's.
    UnknownWord,
    /// It ends too early.
    Missing {
        /// What should be there.
        what: &'static str,
    },
    /// A word that may not stand there.
    Unexpected {
        /// What may; nothing when the directive should have ended.
        expected: &'static [&'static str],
    },
    /// A word that is there twice.
    Twice,
    /// A word that cannot be a name.
    NotName,
    /// A number outside its limits.
    OutOfRange {
        /// The number.
        found: i64,
        /// The least that is allowed.
        min: i64,
        /// The most that is allowed.
        max: i64,
    },
    /// Numbers that should rise and do not.
    NotAscending,
    /// A value that is no number.
    Expression {
        /// Why.
        why: ExpressionFaultKind,
        /// The names that have a number.
        known: Vec<String>,
    },
}

/// What is wrong with the input of `weave`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fields are named as the words print them; `at` is the place
pub enum Error {
    // Texts
    /// A text over the limit.
    SourceBytes { file: String, found_bytes: usize, limit_bytes: usize },
    /// Macros and repetitions that come to more statements than the limit.
    Statements { at: Box<Place>, limit: usize },
    /// Macros and repetitions that come to more text than the limit.
    ExpandedBytes { at: Box<Place>, limit_bytes: usize },
    /// Macros, repetitions and conditions in each other beyond the limit.
    ExpansionDepth { at: Box<Place>, limit: usize },
    /// A macro that is defined or used wrongly.
    Macro { at: Box<Place>, found: String, why: MacroFault },
    /// `/*` without `*/`.
    OpenComment { at: Box<Place> },
    /// A string that its line does not end.
    OpenString { at: Box<Place> },
    /// `.macro` and the like without their end.
    OpenBlock { at: Box<Place>, found: String, expected: &'static str },
    /// `.popsection` without `.pushsection`.
    NothingPushed { at: Box<Place> },
    /// What `-flto` leaves instead of code.
    LinkTimeBytecode { at: Box<Place> },
    /// A label that is there twice.
    LabelTwice { at: Box<Place>, name: String },
    /// What only a macro processor turns into instructions.
    Unexpanded { at: Box<Place>, found: String },
    /// A word for the assembler that is not known.
    AssemblerDirective { at: Box<Place>, found: String },

    // Instructions
    /// No instruction of these cores.
    Instruction { at: Box<Place>, why: TextError<()> },
    /// The prologue that the assembler would choose.
    GccIsr { at: Box<Place> },
    /// An expression that is none.
    Expression { at: Box<Place>, why: ExpressionFault },
    /// A register, bit or I/O address that only the linker knows.
    Unknown { at: Box<Place>, found: String },
    /// An address that changes when the instruction is moved.
    LocalAddress { at: Box<Place>, found: String },
    /// An address by a name that another text has for something of its own.
    OtherMeaning { at: Box<Place>, name: String, other: String },
    /// `1b` or `1f` without a label `1`.
    NoLocalLabel { at: Box<Place>, found: String },
    /// A target that is not one label and a distance.
    TargetExpression { at: Box<Place>, found: String },
    /// A target where no instruction begins.
    TargetInside { at: Box<Place>, found: String },

    // Functions
    /// No text has the function.
    NoFunction { name: String, known: Vec<String> },
    /// Two texts have the function.
    FunctionTwice { name: String, files: [String; 2] },
    /// The label stands on no instruction.
    NotCode { name: String },
    /// Execution comes to data.
    DataInFlow { at: Box<Place>, from: Box<Place> },
    /// Execution comes to the end of a function, and no function follows.
    RunsOff { at: Box<Place>, function: String },
    /// A call that may return to where nothing is.
    ReturnsOff { at: Box<Place>, callee: String, function: String },
    /// A branch out of its function.
    BranchOut { at: Box<Place>, found: String, function: String },
    /// A jump into the middle of another function.
    JumpInside { at: Box<Place>, found: String, function: String },
    /// Library code that does not return as a function does.
    Unusual { at: Box<Place>, found: String, option: &'static str },

    // Directives
    /// A directive that says nothing sensible.
    Directive { at: Box<Place>, why: Box<DirectiveFault> },
    /// A record in a section of the assembly text that is not an address and a string.
    Record { at: Box<Place> },
    /// A directive that is in no function.
    StrayDirective { at: Box<Place> },
    /// A directive that no instruction follows.
    NothingBehind { at: Box<Place> },
    /// A chip that is not known.
    Chip { found: String, function: String, at: Origin },
    /// Two chips that count cycles differently.
    TwoChips { found: String, expected: String, at: Origin },
    /// No chip is named.
    NoChip,
}

impl Error {
    /// Its place in a text, when it has one.
    pub fn place(&self) -> Option<&Place> {
        use Error::*;
        match self {
            Statements { at, .. } | OpenComment { at } | OpenString { at } | OpenBlock { at, .. } => Some(at),
            ExpandedBytes { at, .. } | ExpansionDepth { at, .. } | Macro { at, .. } => Some(at),
            NothingPushed { at } | LinkTimeBytecode { at } | LabelTwice { at, .. } => Some(at),
            Unexpanded { at, .. } | AssemblerDirective { at, .. } | Instruction { at, .. } => Some(at),
            GccIsr { at } | Expression { at, .. } | Unknown { at, .. } | LocalAddress { at, .. } => Some(at),
            OtherMeaning { at, .. } => Some(at),
            NoLocalLabel { at, .. } | TargetExpression { at, .. } | TargetInside { at, .. } => Some(at),
            DataInFlow { at, .. } | RunsOff { at, .. } | ReturnsOff { at, .. } | BranchOut { at, .. } => {
                Some(at)
            }
            JumpInside { at, .. } | Unusual { at, .. } | Directive { at, .. } => Some(at),
            Record { at } | StrayDirective { at } | NothingBehind { at } => Some(at),
            SourceBytes { .. } | NoFunction { .. } | FunctionTwice { .. } | NotCode { .. } => None,
            Chip { .. } | TwoChips { .. } | NoChip => None,
        }
    }

    /// What is wrong, in words, without its place.
    fn words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            SourceBytes { file, found_bytes, limit_bytes } => {
                write!(f, "{file} is too long: found {found_bytes} bytes, expected at most {limit_bytes}")
            }
            Statements { limit, .. } => {
                write!(f, "macros and repetitions come to more than {limit} statements")
            }
            ExpandedBytes { limit_bytes, .. } => {
                write!(f, "macros and repetitions come to more than {limit_bytes} bytes of text")
            }
            ExpansionDepth { limit, .. } => {
                write!(f, "macros, repetitions and conditions are more than {limit} deep in each other")
            }
            Macro { found, why, .. } if found.is_empty() => write!(f, "{why}"),
            Macro { found, why, .. } => write!(f, "{why}: found `{found}`"),
            OpenComment { .. } => write!(f, "comment does not end: expected `*/`"),
            OpenString { .. } => write!(f, "string does not end: expected `\"` on its line"),
            OpenBlock { found, expected, .. } => write!(f, "`{found}` does not end: expected `{expected}`"),
            NothingPushed { .. } => write!(f, "`.popsection` without `.pushsection`"),
            LinkTimeBytecode { .. } => {
                write!(f, "compiled for link-time optimisation, which leaves no code to read")
            }
            LabelTwice { name, .. } => write!(f, "label `{name}` is there twice"),
            Unexpanded { found, .. } => write!(f, "`{found}` has not been expanded into instructions"),
            AssemblerDirective { found, .. } => write!(f, "unknown assembler directive: found `{found}`"),
            Instruction { why, .. } => write!(f, "{why}"),
            GccIsr { .. } => write!(f, "`__gcc_isr` leaves the prologue to the assembler"),
            Expression { why, .. } => write!(f, "expression has no value: {}", why.kind),
            Unknown { found, .. } => write!(f, "only the linker knows `{found}`, expected a known number"),
            LocalAddress { found, .. } => {
                write!(
                    f,
                    "address changes when the instruction is moved: found `{found}`, expected a named label"
                )
            }
            OtherMeaning { name, other, .. } => {
                write!(f, "`{name}` is something else in {other}, and an address has only this name")
            }
            NoLocalLabel { found, .. } => write!(f, "no such local label: found `{found}`"),
            TargetExpression { found, .. } => {
                write!(f, "target is not a label and a distance: found `{found}`")
            }
            TargetInside { found, .. } => write!(f, "no instruction begins at the target: found `{found}`"),
            NoFunction { name, known } => {
                write!(f, "no such function: found `{name}`, ")?;
                listed(f, "expected one of", known)
            }
            FunctionTwice { name, files: [one, other] } => {
                write!(f, "function `{name}` is there twice: in {one} and in {other}")
            }
            NotCode { name } => write!(f, "`{name}` is not a function: no instruction follows its label"),
            DataInFlow { .. } => write!(f, "execution would come to what is not an instruction"),
            RunsOff { function, .. } => write!(f, "execution would run past the end of `{function}`"),
            ReturnsOff { callee, function, .. } => {
                write!(f, "execution would run past the end of `{function}` when `{callee}` returns")
            }
            BranchOut { found, function, .. } => write!(f, "branch leaves `{function}`: found `{found}`"),
            JumpInside { found, function, .. } => {
                write!(f, "jump from `{function}` into the middle of a function: found `{found}`")
            }
            Unusual { found, .. } => write!(f, "`{found}` does not return as a function does"),
            Directive { why, .. } => why.words(f),
            Record { .. } => {
                write!(
                    f,
                    "not a record of the section `.weave`: expected `.long LABEL` and `.asciz \"TEXT\"`"
                )
            }
            StrayDirective { .. } => write!(f, "directive is in no function"),
            NothingBehind { .. } => {
                write!(f, "directive stands on no instruction: none follows in its function")
            }
            Chip { found, function, at } => {
                write!(f, "unknown chip of `{function}` ({at}): found `{found}`, expected one of")?;
                let names = crate::chip::CHIPS.iter().flat_map(|(_, names)| names.iter());
                names
                    .enumerate()
                    .try_for_each(|(index, name)| write!(f, "{} {name}", if index == 0 { "" } else { "," }))
            }
            TwoChips { found, expected, at } => {
                write!(
                    f,
                    "chips count cycles differently ({at}): found `{found}`, expected `{expected}` as before"
                )
            }
            NoChip => write!(f, "no chip is named, so cycles cannot be counted"),
        }
    }

    /// How it is put right, where that is known.
    fn help(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Error::*;
        match self {
            LinkTimeBytecode { .. } => write!(f, "\nhelp: compile this file with -fno-lto"),
            Unexpanded { .. } => {
                write!(
                    f,
                    "\nhelp: write the lines out, or let it depend only on numbers that are known above it"
                )
            }
            Instruction { why: TextError::Mnemonic { .. }, .. } => {
                write!(f, "\nhelp: instructions of the avr5 and avr51 cores are known, macros are not")
            }
            GccIsr { .. } => write!(f, "\nhelp: compile with -mno-gas-isr-prologues"),
            Unknown { .. } => write!(f, "\nhelp: set it with `=` or `.equ` in this file"),
            LocalAddress { .. } => write!(f, "\nhelp: give the label a name"),
            OtherMeaning { .. } => write!(f, "\nhelp: give the label another name in one of the texts"),
            DataInFlow { from, .. } => {
                write!(f, "\nhelp: it follows {}: put a jump or `ret` between", from.origin)
            }
            RunsOff { .. } => write!(f, "\nhelp: end the function with `ret` or a jump"),
            ReturnsOff { .. } => {
                write!(
                    f,
                    "\nhelp: give the text of the callee if it never returns, else put `ret` behind the call"
                )
            }
            BranchOut { .. } => write!(f, "\nhelp: branch around an `rjmp` to it"),
            JumpInside { found, .. } => {
                write!(f, "\nhelp: if a function begins there, write `.type {found}, @function`")
            }
            Unusual { option, .. } => write!(f, "\nhelp: compile with {option}"),
            Directive { why, .. } => why.help(f),
            StrayDirective { .. } => write!(f, "\nhelp: write it between a function's label and its end"),
            NoChip => write!(f, "\nhelp: write `;@weave chip atmega128` into the function"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        placed(f, self.place(), |f| self.words(f), |f| self.help(f))
    }
}

/// Words with their place, the line that is to blame, and help, which begins with a line's end.
///
/// # Errors
/// When it cannot be written.
pub fn placed(
    f: &mut fmt::Formatter<'_>,
    place: Option<&Place>,
    words: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
    help: impl FnOnce(&mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    let Some(place) = place else {
        words(f)?;
        return help(f);
    };
    write!(f, "{place}: ")?;
    words(f)?;
    caret(f, &place.line, &place.marked)?;
    if let Some(expanded) = &place.expanded {
        write!(f, "\nmade of {}:", expanded.origin)?;
        caret(f, &expanded.line, &expanded.marked)?;
    }
    help(f)
}

impl std::error::Error for Error {}

/// A line, and marks under what is to blame.
fn caret(f: &mut fmt::Formatter<'_>, line: &str, marked: &Range<usize>) -> fmt::Result {
    write!(f, "\n    {line}\n    ")?;
    let mut marks = 0;
    for (at, character) in line.char_indices() {
        if marked.contains(&at) || (at >= marked.start && marks == 0) {
            f.write_str("^")?;
            marks += 1;
        } else if at < marked.start {
            // A tab stays a tab, so that the marks stand under their bytes.
            f.write_str(if character == '\t' { "\t" } else { " " })?;
        }
    }
    f.write_str(if marks == 0 { "^" } else { "" })
}

impl fmt::Display for MacroFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use MacroFault::*;
        f.write_str(match self {
            NoName => "a name is missing",
            Twice => "macro is there twice",
            ParameterTwice => "parameter is there twice",
            Qualifier => "expected `req` or `vararg` behind a parameter's colon",
            Parameter => "expected a parameter",
            TooMany => "macro has fewer parameters",
            NoParameter => "macro has no such parameter",
            Positional => "argument without a name stands behind one with a name",
            Required => "parameter must have an argument",
            Unclosed => "`\\(` does not close",
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Line { line, .. } => write!(f, "line {line}"),
            Origin::Address(address) => write!(f, "address {address:#x}"),
        }
    }
}

impl fmt::Display for ExpressionFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ExpressionFaultKind::*;
        f.write_str(match self {
            Operand => "a number, name or parenthesis is missing",
            Rest => "something is left over",
            Unclosed => "a parenthesis does not close",
            Number => "not a number",
            Name => "unknown name",
            ByZero => "division by zero",
            Overflow => "more than 64 bits",
            Depth => "too many parts in one another",
        })
    }
}

impl DirectiveFault {
    fn words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DirectiveFaultKind::*;
        let text = &self.found;
        match &self.kind {
            Empty => write!(f, "directive says nothing"),
            UnknownWord => write!(f, "unknown directive: found `{text}`"),
            Missing { what } => write!(f, "directive ends too early: expected {what}"),
            Unexpected { expected: [] } => write!(f, "directive goes on: found `{text}`, expected its end"),
            Unexpected { expected } => {
                write!(f, "unexpected word in directive: found `{text}`, ")?;
                listed(f, "expected one of", expected)
            }
            Twice => write!(f, "said twice: found `{text}` again"),
            NotName => write!(f, "not a name: found `{text}`"),
            OutOfRange { found, min, max } => {
                write!(f, "number out of range: found {found}, expected {min} to {max}")
            }
            NotAscending => write!(f, "numbers do not rise: found `{text}`"),
            Expression { why, .. } if text.is_empty() => write!(f, "value is not a number: {why}"),
            Expression { why, .. } => write!(f, "value is not a number: {why}: found `{text}`"),
        }
    }

    fn help(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DirectiveFaultKind::Empty | DirectiveFaultKind::UnknownWord => {
                f.write_str("\nhelp: ")?;
                listed(f, "known are", WORDS)
            }
            DirectiveFaultKind::Expression { why: ExpressionFaultKind::Name, known, .. } => {
                f.write_str("\nhelp: ")?;
                listed(f, "known are", known)
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for DirectiveFault {}

impl fmt::Display for DirectiveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words(f)?;
        self.help(f)
    }
}

/// Names in backticks, or that there are none.
fn listed<T: AsRef<str>>(f: &mut fmt::Formatter<'_>, before: &str, names: &[T]) -> fmt::Result {
    if names.is_empty() {
        return write!(f, "but none is known");
    }
    f.write_str(before)?;
    for (index, name) in names.iter().enumerate() {
        write!(f, "{} `{}`", if index == 0 { "" } else { "," }, name.as_ref())?;
    }
    Ok(())
}
