//! Assembly text: GNU as for AVR, as avr-gcc and clang write it and as people do after the preprocessor.
//!
//! Owns: cutting a text into statements and comments without losing a byte ([`Source`]). Below it, `scan` finds
//! the statements, `expand` writes macros, repetitions and conditions out, `layout` puts what is left into sections,
//! `symbols` knows what names stand for, and `functions` makes the [`Program`](crate::program::Program). Directives
//! are read by `directive`; emitting is `emit`'s.
//!
//! What GNU as does with AVR text was tried on avr-as 2.26: `;` begins a comment, and `#` where a statement
//! begins; `//` does not. `$` separates statements. `.` in a jump is the address behind it.

use std::ops::Range;

use isa::avr::text;

use crate::error::{Error, Expanded, Place};
use crate::expression::gnu_form;
use crate::limits::{LINE_BYTES_SHOWN_MAX, SOURCE_BYTES_MAX};
use crate::program::{Origin, Text};

mod arguments;
mod expand;
mod functions;
mod instruction;
mod layout;
mod notes;
mod scan;
mod symbols;

pub use functions::{Extent, Listing};

/// What clang tells its linker, and GNU as does not know.
const CLANGS_OWN: [&str; 2] = [".addrsig", ".addrsig_sym"];

/// Directives of the assembler that give a name something.
const DEFINING: [&str; 6] = [".comm", ".lcomm", ".set", ".equ", ".equiv", ".eqv"];

/// One assembly text, cut into statements. Invariant: [`Source::text`] is what was parsed, byte for byte.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    /// The text with every byte of a comment as a blank, so that places in it are places in the text. Behind it,
    /// each from a line of its own on, what macros and repetitions were written out to.
    clean: String,
    /// Where each line of that begins.
    line_starts: Vec<usize>,
    /// What stands behind the text, in its order.
    copies: Vec<Made>,
    statements: Vec<Statement>,
}

/// The body of a macro or repetition, written out once behind the text. Invariant: its lines are its body's.
#[derive(Clone, Debug)]
struct Made {
    from: usize,
    /// Where the body begins; in the text or in an earlier copy.
    body: usize,
    /// The use, when it is a macro's. What a repetition makes is where its body is.
    used_at: Option<Range<usize>>,
}

/// A statement, or a comment that is a directive, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The names of the labels before it.
    pub labels: Vec<Range<usize>>,
    /// What it is.
    pub kind: Kind,
    /// Its text without labels and comments.
    pub span: Range<usize>,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Labels only.
    Empty,
    /// Something for the assembler: the name with its dot, and what is behind it.
    Directive { name: Range<usize>, rest: Range<usize> },
    /// `name = value`.
    Assignment { name: Range<usize>, value: Range<usize> },
    /// An instruction, or a macro's name.
    Instruction,
    /// `;@weave`: the span is what is behind the word.
    Note,
    /// What `expand` could not write out.
    Unexpanded,
}

impl Source {
    /// Cuts a text into statements, and writes out its macros. `name` is how errors call it.
    ///
    /// # Errors
    /// A comment, string or block that does not end, a macro that is used in another way than it is defined, a
    /// `.section .gnu.lto_…`, or more than a limit.
    pub fn parse(name: &str, text: &str) -> Result<Source, Error> {
        if text.len() > SOURCE_BYTES_MAX {
            let (found_bytes, limit_bytes) = (text.len(), SOURCE_BYTES_MAX);
            return Err(Error::SourceBytes { file: name.to_owned(), found_bytes, limit_bytes });
        }
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let mut source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
            clean: String::new(),
            line_starts: std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect(),
            copies: Vec::new(),
            statements: Vec::new(),
        };
        let scanned = scan::scan(text);
        // Errors show the text until it is cleaned.
        (source.clean, source.statements) = scanned.map_err(|open| source.open(open, 0))?;
        for statement in &source.statements {
            if let Kind::Directive { name, rest } = &statement.kind
                && source.clean[name.clone()].eq_ignore_ascii_case(".section")
                && source.clean[rest.clone()].trim_start_matches('"').starts_with(".gnu.lto_")
            {
                return Err(Error::LinkTimeBytecode { at: source.place(&statement.span) });
            }
        }
        expand::expand(&mut source)?;
        Ok(source)
    }

    /// The refusal of what does not end in a text that begins at a place.
    fn open(&self, open: scan::Open, from: usize) -> Error {
        let place = |span: Range<usize>| self.place(&(from + span.start..from + span.end));
        match open {
            scan::Open::Comment(span) => Error::OpenComment { at: place(span) },
            scan::Open::String(span) => Error::OpenString { at: place(span) },
        }
    }

    /// Puts the copy of a body behind everything, and cuts it into statements.
    fn append(
        &mut self,
        copy: &str,
        line_starts: &[usize],
        body: usize,
        used_at: Option<Range<usize>>,
    ) -> Result<Vec<Statement>, Error> {
        self.clean.push('\n');
        let from = self.clean.len();
        self.line_starts.extend(line_starts.iter().map(|start| from + start));
        self.copies.push(Made { from, body, used_at });
        let (clean, mut statements) = match scan::scan(copy) {
            Ok(scanned) => scanned,
            Err(open) => {
                // What was made is shown as it is.
                self.clean.push_str(copy);
                return Err(self.open(open, from));
            }
        };
        self.clean.push_str(&clean);
        statements.iter_mut().for_each(|statement| statement.shift(from));
        Ok(statements)
    }

    /// The text, byte for byte as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as GNU as takes it whole: what only clang's own assembler knows is in GNU's words, or left out. A text
    /// that GNU as takes anyway is what it was, byte for byte.
    pub fn gnu_text(&self) -> String {
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for statement in &self.statements {
            match &statement.kind {
                Kind::Directive { name, .. } if CLANGS_OWN.contains(&self.clean(name)) => {
                    edits.push((statement.span.clone(), String::new()));
                }
                Kind::Instruction => {
                    let operands = text::split(self.clean(&statement.span)).1.into_iter();
                    let ours = operands.map(|operand| (operand, gnu_form(operand)));
                    let changed = ours.filter(|(operand, gnu)| operand != gnu);
                    edits.extend(changed.filter_map(|(operand, gnu)| Some((self.span_of(operand)?, gnu))));
                }
                _ => {}
            }
        }
        // What macros were written out to is not of the text.
        edits.retain(|(span, _)| span.end <= self.text.len());
        edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
        let mut gnu = self.text.clone();
        edits.into_iter().for_each(|(span, words)| gnu.replace_range(span, &words));
        gnu
    }

    /// How errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has a label, an assignment or common room of this name.
    pub fn defines(&self, name: &str) -> bool {
        self.statements.iter().any(|statement| {
            let is_named = |span: &Range<usize>| self.clean(span) == name;
            let is_first = |rest: &Range<usize>| {
                self.clean(rest).split(',').next().is_some_and(|first| first.trim() == name)
            };
            statement.labels.iter().any(is_named)
                || match &statement.kind {
                    Kind::Assignment { name, .. } => is_named(name),
                    Kind::Directive { name, rest } => DEFINING.contains(&self.clean(name)) && is_first(rest),
                    _ => false,
                }
        })
    }

    /// Its directives, as comments and as records.
    pub fn directives(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            Kind::Note => Some(self.clean(&statement.span)),
            Kind::Directive { name, rest } if matches!(self.clean(name), ".asciz" | ".string") => {
                self.clean(rest).strip_prefix('"')?.strip_suffix('"')
            }
            _ => None,
        })
    }

    /// A line, from 1, with what ends it; empty behind the last one.
    pub fn line(&self, number: u32) -> &str {
        let index = number as usize;
        let Some(from) = index.checked_sub(1).and_then(|index| self.line_starts.get(index)) else {
            return "";
        };
        if index > self.starts_of_text() {
            return "";
        }
        let to = self.line_starts.get(index).copied().unwrap_or(self.text.len()).min(self.text.len());
        &self.text[*from..to]
    }

    /// Its lines, for a program to show.
    pub(crate) fn as_text(&self) -> Text {
        let lines = (1..=self.lines()).map(|number| self.line(number).trim_end().to_owned());
        Text::new(self.name.clone(), lines.collect())
    }

    /// How many lines there are; what is behind the last newline counts when it is not empty.
    pub fn lines(&self) -> u32 {
        let starts = self.starts_of_text();
        let last_is_empty = self.line_starts[starts - 1] == self.text.len();
        (starts - usize::from(last_is_empty)) as u32
    }

    /// How many lines begin in the text, the empty one behind its last newline among them.
    fn starts_of_text(&self) -> usize {
        self.line_starts.partition_point(|start| *start <= self.text.len())
    }

    /// The line of the text, from 1, that a byte is on; of what a macro was written out to, its use's line.
    pub(crate) fn line_of(&self, at: usize) -> u32 {
        self.written_at(at, true)
    }

    /// The line, from 1, of the text and all that is behind it.
    pub(crate) fn row_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at)
    }

    /// The lines of a part of the text and all that is behind it. The newlines of a comment count here.
    fn rows(&self, span: &Range<usize>) -> Vec<Range<usize>> {
        let mut rows = Vec::new();
        let mut from = span.start;
        for start in &self.line_starts[self.row_of(from)..] {
            if *start >= span.end {
                break;
            }
            rows.push(from..*start);
            from = *start;
        }
        rows.push(from..span.end);
        rows
    }

    /// The line of the text where a byte comes from: a macro's use, or else its body.
    fn written_at(&self, at: usize, of_use: bool) -> u32 {
        let mut row = self.row_of(at);
        while let Some(copy) = self.copy_of(self.line_starts[row - 1]) {
            row = match &copy.used_at {
                Some(used_at) if of_use => self.row_of(used_at.start),
                _ => self.row_of(copy.body) + (row - self.row_of(copy.from)),
            };
        }
        row as u32
    }

    /// The copy that a byte is in; none of the text.
    fn copy_of(&self, at: usize) -> Option<&Made> {
        if at <= self.text.len() {
            return None;
        }
        self.copies[..self.copies.partition_point(|copy| copy.from <= at)].last()
    }

    /// The statements.
    pub(crate) fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// What stands in a place, comments as blanks.
    pub(crate) fn clean(&self, span: &Range<usize>) -> &str {
        &self.clean[span.clone()]
    }

    /// Where a part of the cleaned text stands; `None` for any other text.
    pub(crate) fn span_of(&self, part: &str) -> Option<Range<usize>> {
        let from = (part.as_ptr() as usize).checked_sub(self.clean.as_ptr() as usize)?;
        let span = from..from.checked_add(part.len())?;
        (span.end <= self.clean.len()).then_some(span)
    }

    /// A place for an error to point at.
    pub(crate) fn place(&self, span: &Range<usize>) -> Box<Place> {
        let number = self.line_of(span.start);
        let start = self.line_starts[number as usize - 1];
        let line = self.line(number).trim_end();
        let text = self.as_text();
        let (file, written) = text.written(number);
        let (file, origin) = (file.to_owned(), Origin::Line { text: 0, line: written });
        if self.copy_of(span.start).is_none() {
            let from = (span.start - start).min(line.len());
            let to = (from + span.len()).min(line.len());
            return Box::new(Place { file, origin, line: line.to_owned(), marked: from..to, expanded: None });
        }
        let row = self.row_of(span.start);
        let from = self.line_starts[row - 1];
        let to = self.line_starts.get(row).copied().unwrap_or(self.clean.len());
        let made = self.clean[from..to].trim_end();
        let marked_from = (span.start - from).min(made.len());
        let marked = marked_from..(marked_from + span.len()).min(made.len());
        let (made, marked) = shown(made, marked);
        let of_made = self.written_at(span.start, false);
        let origin_of_made = Origin::Line { text: 0, line: text.written(of_made).1 };
        let expanded = Some(Expanded { origin: origin_of_made, line: made, marked });
        let marked = line.len() - line.trim_start().len()..line.len();
        Box::new(Place { file, origin, line: line.to_owned(), marked, expanded })
    }
}

/// A line and its marks; of a long one, which an argument can make, what is around the marks.
fn shown(line: &str, marked: Range<usize>) -> (String, Range<usize>) {
    if line.len() <= LINE_BYTES_SHOWN_MAX {
        return (line.to_owned(), marked);
    }
    let from = line.floor_char_boundary(marked.start.saturating_sub(LINE_BYTES_SHOWN_MAX / 2));
    let to = line.floor_char_boundary((from + LINE_BYTES_SHOWN_MAX).min(line.len()));
    (line[from..to].to_owned(), marked.start - from..marked.end.min(to) - from)
}

impl Statement {
    /// Moves it to where its text begins.
    fn shift(&mut self, by: usize) {
        let shift = |span: &mut Range<usize>| *span = span.start + by..span.end + by;
        self.labels.iter_mut().for_each(shift);
        shift(&mut self.span);
        match &mut self.kind {
            Kind::Directive { name, rest: other } | Kind::Assignment { name, value: other } => {
                shift(name);
                shift(other);
            }
            Kind::Empty | Kind::Instruction | Kind::Note | Kind::Unexpanded => {}
        }
    }
}
