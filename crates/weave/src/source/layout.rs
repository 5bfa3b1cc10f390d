//! Puts the statements of a text into its sections.
//!
//! Owns: which section each instruction is in and at what distance from its neighbours, what stands between two
//! instructions ([`Gap`]), labels, assignments and symbol attributes. Operands are not looked at here. What `expand`
//! could not write out is kept as a gap and refused when it is asked for, so that the rest of such a text can still
//! be read.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Kind, Source, Statement};
use crate::error::Error;
use crate::expression::{Operators, Value, evaluate};

/// A text in its sections.
pub(super) struct Layout<'s> {
    pub source: &'s Source,
    pub sections: Vec<Section>,
    /// Labels with a name.
    pub labels: HashMap<&'s str, Spot>,
    /// Labels that are a number, in their order, with when they were met.
    pub locals: HashMap<&'s str, Vec<(usize, Spot)>>,
    /// What `=`, `.set` and `.equ` gave a name, in their order.
    pub assignments: HashMap<&'s str, Vec<Assignment>>,
    /// Symbols of the type function.
    pub typed: HashSet<&'s str>,
    /// Symbols that other texts see, and whether they yield to others.
    pub visible: HashMap<&'s str, bool>,
    /// Where each `.size` of a function ends it, and when it was met.
    pub sizes: HashMap<&'s str, (Spot, usize)>,
    /// Comments that are directives.
    pub notes: Vec<Note>,
    /// Directives as records of the section `.weave`.
    pub records: Vec<Record>,
}

/// The instructions of one section, in their order.
#[derive(Default)]
pub(super) struct Section {
    pub slots: Vec<Slot>,
    /// What else is in it, with the number of instructions before it.
    pub gaps: Vec<(usize, Gap)>,
    segment: u32,
    offset: u32,
}

/// One instruction.
#[derive(Clone)]
pub(super) struct Slot {
    pub span: Range<usize>,
    /// When it was met.
    pub sequence: usize,
    /// Instructions of one segment are at known distances.
    pub segment: u32,
    /// Bytes from the segment's start.
    pub offset: u32,
    pub words: u32,
}

/// A place in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub section: usize,
    /// The next instruction's number in the section.
    pub slot: usize,
    pub segment: u32,
    pub offset: u32,
}

/// Something between two instructions that is none.
#[derive(Clone)]
pub(super) struct Gap {
    pub span: Range<usize>,
    pub kind: GapKind,
}

/// Why it is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GapKind {
    /// Data, or room.
    Data,
    /// As much room as makes the address even enough.
    Alignment,
    /// Something that could not be written out.
    Unexpanded,
    /// A word that is not known here.
    Unknown,
}

/// A name's value from one point on.
pub(super) struct Assignment {
    pub sequence: usize,
    pub text: Range<usize>,
    pub value: Value,
}

/// A comment that is a directive.
pub(super) struct Note {
    pub text: Range<usize>,
    pub sequence: usize,
    pub section: usize,
    /// The next instruction's number, or this line's.
    pub slot: usize,
    /// Whether it stands on an instruction of its line.
    pub trails: bool,
}

/// A directive in the section `.weave`.
pub(super) struct Record {
    /// The expression of its address.
    pub address: Range<usize>,
    /// What is between the quotes, in the text.
    pub quoted: Range<usize>,
    /// The same without escapes.
    pub text: String,
    pub sequence: usize,
}

/// Directives that make no code and change nothing that is known here.
const SILENT: &[&str] = &[
    ".addrsig",
    ".addrsig_sym",
    ".att_syntax",
    ".comm",
    ".end",
    ".file",
    ".hidden",
    ".ident",
    ".internal",
    ".lcomm",
    ".line",
    ".list",
    ".ln",
    ".loc",
    ".local",
    ".nolist",
    ".protected",
    ".stabd",
    ".stabn",
    ".stabs",
    ".sym",
    ".symver",
    ".title",
    ".sbttl",
    ".eject",
    ".psize",
    ".extern",
    ".purgem",
    ".print",
    ".warning",
    ".arch",
    ".gnu_attribute",
    ".reloc",
    ".altmacro",
    ".noaltmacro",
    ".func",
    ".endfunc",
];

/// Directives that make bytes, or move to another address.
const DATA: &[&str] = &[
    ".2byte", ".4byte", ".8byte", ".ascii", ".asciz", ".byte", ".dc", ".dc.b", ".dc.l", ".dc.w", ".dcb",
    ".ds", ".double", ".fill", ".float", ".hword", ".incbin", ".int", ".long", ".octa", ".org", ".quad",
    ".short", ".single", ".skip", ".sleb128", ".space", ".string", ".uleb128", ".word", ".zero",
];

/// Whether a directive makes no code.
pub(super) fn is_silent(word: &str) -> bool {
    let names = matches!(word, ".type" | ".size" | ".global" | ".globl" | ".weak");
    names || SILENT.contains(&word) || word.starts_with(".cfi_")
}

/// Words that an instruction takes.
pub(super) fn words(mnemonic: &str) -> u32 {
    if matches!(mnemonic, "jmp" | "call" | "lds" | "sts") { 2 } else { 1 }
}

impl<'s> Layout<'s> {
    /// Puts a text into its sections.
    pub fn of(source: &'s Source) -> Result<Layout<'s>, Error> {
        let layout = Layout {
            source,
            sections: Vec::new(),
            labels: HashMap::new(),
            locals: HashMap::new(),
            assignments: HashMap::new(),
            typed: HashSet::new(),
            visible: HashMap::new(),
            sizes: HashMap::new(),
            notes: Vec::new(),
            records: Vec::new(),
        };
        let mut walk = Walk {
            layout,
            keys: HashMap::new(),
            names: Vec::new(),
            here: 0,
            previous: 0,
            stack: Vec::new(),
            sizes: Vec::new(),
            sequence: 0,
            line_slot: None,
            address: None,
        };
        (walk.here, walk.previous) = (walk.section(".text"), walk.section(".text"));
        walk.statements(source.statements())?;
        walk.finish()
    }
}

/// A string: its place between the quotes, and what it says.
type Quoted = (Range<usize>, String);

/// The state of an assembler that goes through the text once.
struct Walk<'s> {
    layout: Layout<'s>,
    keys: HashMap<String, usize>,
    names: Vec<String>,
    here: usize,
    previous: usize,
    stack: Vec<(usize, usize)>,
    /// `.size NAME, END`: name, END's text, where and when.
    sizes: Vec<(&'s str, &'s str, Spot, usize)>,
    sequence: usize,
    /// The last instruction, with its line and section.
    line_slot: Option<(usize, usize, usize)>,
    /// The address of the record that is being read, and its text when only the zero behind it is missing.
    address: Option<(Range<usize>, Option<Quoted>)>,
}

impl<'s> Walk<'s> {
    fn source(&self) -> &'s Source {
        self.layout.source
    }

    fn section(&mut self, name: &str) -> usize {
        if let Some(index) = self.keys.get(name) {
            return *index;
        }
        let index = self.layout.sections.len();
        self.keys.insert(name.to_owned(), index);
        self.names.push(name.to_owned());
        self.layout.sections.push(Section::default());
        index
    }

    fn spot(&self) -> Spot {
        let section = &self.layout.sections[self.here];
        Spot {
            section: self.here,
            slot: section.slots.len(),
            segment: section.segment,
            offset: section.offset,
        }
    }

    fn gap(&mut self, span: &Range<usize>, kind: GapKind) {
        let section = &mut self.layout.sections[self.here];
        section.gaps.push((section.slots.len(), Gap { span: span.clone(), kind }));
        section.segment += 1;
        section.offset = 0;
    }

    fn statements(&mut self, statements: &'s [Statement]) -> Result<(), Error> {
        for statement in statements {
            self.sequence += 1;
            self.labels(statement)?;
            match &statement.kind {
                Kind::Empty => {}
                Kind::Note => self.note(statement),
                Kind::Unexpanded => self.gap(&statement.span, GapKind::Unexpanded),
                Kind::Instruction => self.instruction(statement),
                Kind::Assignment { name, value } => self.assignment(name, value, &statement.span),
                Kind::Directive { name, rest } => {
                    let word = self.source().clean(name).to_ascii_lowercase();
                    self.directive(&word, statement, rest)?;
                }
            }
        }
        Ok(())
    }

    fn labels(&mut self, statement: &Statement) -> Result<(), Error> {
        let source = self.source();
        let spot = self.spot();
        for label in &statement.labels {
            let name = source.clean(label);
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                self.layout.locals.entry(name).or_default().push((self.sequence, spot));
            } else if self.layout.labels.insert(name, spot).is_some() {
                return Err(Error::LabelTwice { at: source.place(label), name: name.to_owned() });
            }
        }
        Ok(())
    }

    fn note(&mut self, statement: &Statement) {
        let line = self.source().row_of(statement.span.start);
        let (section, slot, trails) = match self.line_slot {
            Some((its_line, section, slot)) if its_line == line => (section, slot, true),
            _ => (self.here, self.layout.sections[self.here].slots.len(), false),
        };
        let (text, sequence) = (statement.span.clone(), self.sequence);
        self.layout.notes.push(Note { text, sequence, section, slot, trails });
    }

    fn instruction(&mut self, statement: &Statement) {
        let source = self.source();
        let mnemonic = source.clean(&statement.span).split_whitespace().next().unwrap_or_default();
        let mnemonic = mnemonic.to_ascii_lowercase();
        let words = words(&mnemonic);
        let Spot { segment, offset, slot, .. } = self.spot();
        let section = &mut self.layout.sections[self.here];
        section.slots.push(Slot {
            span: statement.span.clone(),
            sequence: self.sequence,
            segment,
            offset,
            words,
        });
        section.offset += 2 * words;
        let last = statement.span.end.saturating_sub(1);
        self.line_slot = Some((source.row_of(last), self.here, slot));
    }

    fn assignment(&mut self, name: &Range<usize>, value: &Range<usize>, span: &Range<usize>) {
        let source = self.source();
        let name = source.clean(name);
        if name == "." {
            return self.gap(span, GapKind::Data);
        }
        let known = self.value(source.clean(value)).unwrap_or(Value::Linker);
        let assignment = Assignment { sequence: self.sequence, text: value.clone(), value: known };
        self.layout.assignments.entry(name).or_default().push(assignment);
    }

    /// An expression's value with the names met so far; `None` when it is not one.
    fn value(&self, text: &str) -> Option<Value> {
        let names = &mut |name: &str| {
            let last = self.layout.assignments.get(name).and_then(|all| all.last());
            Some(last.map_or(Value::Linker, |assignment| assignment.value))
        };
        evaluate(text, Operators::Gas, names).ok()
    }

    fn directive(&mut self, word: &str, statement: &Statement, rest: &Range<usize>) -> Result<(), Error> {
        let source = self.source();
        let text = source.clean(rest);
        if self.moved(word, text, &statement.span)? {
            return Ok(());
        }
        if self.names[self.here].starts_with(".weave,") {
            return self.record(word, statement, rest);
        }
        match word {
            ".type" => {
                let (name, kind) = text.split_once([',', ' ', '\t']).unwrap_or((text, ""));
                let kind = kind.trim_start_matches([',', ' ', '\t', '@', '%', '#', '"']);
                if kind.to_ascii_lowercase().starts_with("function") || kind.starts_with("STT_FUNC") {
                    self.layout.typed.insert(name.trim());
                }
            }
            ".global" | ".globl" | ".weak" => {
                for name in text.split(',') {
                    let weak = self.layout.visible.entry(name.trim()).or_default();
                    *weak |= word == ".weak";
                }
            }
            ".size" => {
                if let Some((name, end)) = text.split_once(',') {
                    self.sizes.push((name.trim(), end.trim(), self.spot(), self.sequence));
                }
            }
            ".set" | ".equ" | ".equiv" | ".eqv" => {
                if let Some((name, value)) = text.split_once(',')
                    && let (Some(name), Some(value)) =
                        (source.span_of(name.trim()), source.span_of(value.trim()))
                {
                    self.assignment(&name, &value, &statement.span);
                }
            }
            ".align" | ".p2align" | ".balign" | ".p2alignw" | ".balignw" => {
                let boundary = self.value(text.split(',').next().unwrap_or_default());
                // Code is at even addresses anyway.
                let even = if word.starts_with(".b") { 2 } else { 1 };
                if !matches!(boundary, Some(Value::Known(found)) if found <= even) {
                    self.gap(&statement.span, GapKind::Alignment);
                }
            }
            // It names a symbol that has to be there, and changes no byte.
            ".reloc" if text.contains("R_AVR_NONE") => {}
            _ if DATA.contains(&word) => self.gap(&statement.span, GapKind::Data),
            ".include" | ".else" | ".elseif" | ".endif" | ".endr" | ".endm" | ".exitm" => {
                self.gap(&statement.span, GapKind::Unexpanded);
            }
            _ if is_silent(word) => {}
            _ => self.gap(&statement.span, GapKind::Unknown),
        }
        Ok(())
    }

    /// Follows a change of the section; whether it was one.
    fn moved(&mut self, word: &str, text: &str, span: &Range<usize>) -> Result<bool, Error> {
        let first = text.split(',').next().unwrap_or_default().trim().trim_matches('"');
        let name = match word {
            ".text" | ".data" | ".bss" => {
                if first.is_empty() || first == "0" {
                    word.to_owned()
                } else {
                    format!("{word},{first}")
                }
            }
            ".section" | ".pushsection" => first.to_owned(),
            ".subsection" => {
                let whole = self.names[self.here].split(',').next().unwrap_or_default();
                if first == "0" { whole.to_owned() } else { format!("{whole},{first}") }
            }
            ".previous" => {
                std::mem::swap(&mut self.here, &mut self.previous);
                return Ok(true);
            }
            ".popsection" => {
                let Some((here, previous)) = self.stack.pop() else {
                    return Err(Error::NothingPushed { at: self.source().place(span) });
                };
                (self.here, self.previous) = (here, previous);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        if word == ".pushsection" {
            self.stack.push((self.here, self.previous));
        }
        self.previous = self.here;
        // A comma ends the name of this one, so that `.weave_x` is not `.weave`.
        self.here = if name == ".weave" { self.section(".weave,") } else { self.section(&name) };
        Ok(true)
    }

    /// A part of a record: its address, then its text.
    fn record(&mut self, word: &str, statement: &Statement, rest: &Range<usize>) -> Result<(), Error> {
        let source = self.source();
        let refuse = || Err(Error::Record { at: source.place(&statement.span) });
        let text = source.clean(rest);
        let quoted = || -> Option<Quoted> {
            let inside = text.strip_prefix('"')?.strip_suffix('"')?;
            Some((source.span_of(inside)?, unescaped(inside)?))
        };
        let (address, (quoted, text)) = match (word, self.address.take()) {
            (".long" | ".4byte", None) => {
                self.address = Some((rest.clone(), None));
                return Ok(());
            }
            (".asciz" | ".string", Some((address, None))) => match quoted() {
                Some(quoted) => (address, quoted),
                None => return refuse(),
            },
            // Clang's way to write the same.
            (".ascii", Some((address, None))) => match quoted() {
                Some(quoted) => {
                    self.address = Some((address, Some(quoted)));
                    return Ok(());
                }
                None => return refuse(),
            },
            (".byte", Some((address, Some(quoted)))) if text == "0" => (address, quoted),
            _ => return refuse(),
        };
        let sequence = self.sequence;
        self.layout.records.push(Record { address, quoted, text, sequence });
        Ok(())
    }

    /// What could only be known at the end.
    fn finish(mut self) -> Result<Layout<'s>, Error> {
        if let Some((address, _)) = &self.address {
            return Err(Error::Record { at: self.source().place(address) });
        }
        for (name, end, here, sequence) in self.sizes {
            let end = end.replace([' ', '\t'], "");
            let Some(label) = end.strip_suffix(name).and_then(|end| end.strip_suffix('-')) else { continue };
            let spot = if label == "." { Some(here) } else { self.layout.labels.get(label).copied() };
            if let Some(spot) = spot {
                self.layout.sizes.insert(name, (spot, sequence));
            }
        }
        Ok(self.layout)
    }
}

/// A string's bytes, when they are text: GNU as manual, "Strings".
fn unescaped(inside: &str) -> Option<String> {
    let mut text = String::new();
    let mut characters = inside.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '"' {
            return None;
        }
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next()? {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            escaped @ ('"' | '\\') => text.push(escaped),
            first @ '0'..='7' => {
                let mut code = first.to_digit(8)?;
                for _ in 0..2 {
                    let Some(digit) = characters.peek().and_then(|next| next.to_digit(8)) else { break };
                    code = code * 8 + digit;
                    characters.next();
                }
                text.push(char::from_u32(code).filter(|c| c.is_ascii() && *c != '\0')?);
            }
            _ => return None,
        }
    }
    Some(text)
}
