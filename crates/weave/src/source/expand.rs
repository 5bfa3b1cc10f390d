//! Writes out what stands for other statements: macros, repetitions and conditions.
//!
//! Owns: `.macro`, `.rept`, `.irp`, `.irpc`, `.if…`, `.exitm`, and the numbers and distances that they ask for where
//! they stand. What a macro or repetition makes is put behind the text ([`Source::append`]), so that places in it are
//! known; what hangs on something that only the linker knows, and `.altmacro`, is kept as [`Kind::Unexpanded`].
//! Invariant: statements, bytes and depth are limited, so that every text ends.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::arguments::{self, Cursor, Fault, Parameter, scrubbed};
use super::layout::{is_silent, words};
use super::{Kind, Source, Statement};
use crate::error::{Error, MacroFault};
use crate::expression::{Operators, Value, evaluate, is_local, is_name_byte};
use crate::limits::{EXPANDED_BYTES_MAX, EXPANSION_DEPTH_MAX, STATEMENTS_MAX, STATEMENTS_SKIPPED_MAX};

/// Replaces the statements of a text by what they stand for.
pub(super) fn expand(source: &mut Source) -> Result<(), Error> {
    let statements: Rc<[Statement]> = std::mem::take(&mut source.statements).into();
    let end = statements.len();
    let whole = Frame { statements, from: 0, next: 0, end, again: 0, is_buffer: false };
    let mut expander = Expander {
        source,
        out: Vec::with_capacity(end),
        frames: vec![whole],
        macros: HashMap::new(),
        numbers: HashMap::new(),
        labels: HashMap::new(),
        region: 0,
        offset: 0,
        uses: 0,
        statements: 0,
        skipped: 0,
        bytes: 0,
        alternate: false,
    };
    while let Some((statements, index, end)) = expander.next()? {
        expander.statement(&statements, index, end)?;
    }
    let out = expander.out;
    source.statements = out;
    Ok(())
}

/// A statement's number among those it belongs with, and where they end.
type Next = (Rc<[Statement]>, usize, usize);

/// Statements that are gone through.
struct Frame {
    statements: Rc<[Statement]>,
    from: usize,
    next: usize,
    end: usize,
    /// How often it begins again.
    again: i64,
    /// Whether `.exitm` ends it.
    is_buffer: bool,
}

struct Macro {
    parameters: Vec<Parameter>,
    body: Range<usize>,
}

struct Expander<'s> {
    source: &'s mut Source,
    out: Vec<Statement>,
    frames: Vec<Frame>,
    macros: HashMap<String, Macro>,
    numbers: HashMap<String, Value>,
    /// Labels, named and numbered, with their region and the bytes from its start.
    labels: HashMap<String, (usize, i64)>,
    /// Within one, distances are known.
    region: usize,
    offset: i64,
    /// Macros used so far: what `\@` becomes.
    uses: usize,
    statements: usize,
    skipped: usize,
    bytes: usize,
    /// Whether arguments are read in the other way, which is not known here.
    alternate: bool,
}

impl Expander<'_> {
    /// The next statement, with the end of those that belong with it.
    fn next(&mut self) -> Result<Option<Next>, Error> {
        while let Some(frame) = self.frames.last_mut() {
            if frame.next < frame.end {
                frame.next += 1;
                return Ok(Some((Rc::clone(&frame.statements), frame.next - 1, frame.end)));
            }
            if frame.again == 0 {
                self.frames.pop();
                continue;
            }
            frame.again -= 1;
            frame.next = frame.from;
            // An empty body would make any count go on for ever.
            let span = frame.statements[frame.from - 1].span.clone();
            self.count(&span)?;
        }
        Ok(None)
    }

    fn count(&mut self, span: &Range<usize>) -> Result<(), Error> {
        self.statements += 1;
        if self.statements > STATEMENTS_MAX {
            return Err(Error::Statements { at: self.source.place(span), limit: STATEMENTS_MAX });
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize, span: &Range<usize>) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > EXPANDED_BYTES_MAX {
            let (at, limit_bytes) = (self.source.place(span), EXPANDED_BYTES_MAX);
            return Err(Error::ExpandedBytes { at, limit_bytes });
        }
        Ok(())
    }

    fn push(&mut self, frame: Frame, span: &Range<usize>) -> Result<(), Error> {
        if self.frames.len() > EXPANSION_DEPTH_MAX {
            return Err(Error::ExpansionDepth { at: self.source.place(span), limit: EXPANSION_DEPTH_MAX });
        }
        self.frames.push(frame);
        Ok(())
    }

    fn statement(&mut self, all: &Rc<[Statement]>, index: usize, end: usize) -> Result<(), Error> {
        let statement = &all[index];
        self.count(&statement.span)?;
        if self.frames.len() > 1 {
            self.charge(statement.span.len(), &statement.span)?;
        }
        for label in &statement.labels {
            let name = self.source.clean(label).to_owned();
            self.labels.insert(name, (self.region, self.offset));
        }
        match &statement.kind {
            Kind::Empty | Kind::Note | Kind::Unexpanded => {}
            Kind::Assignment { name, value } => self.assign(name, value),
            Kind::Instruction => {
                if self.used(statement)? {
                    return Ok(());
                }
                let mnemonic =
                    self.source.clean(&statement.span).split_whitespace().next().unwrap_or_default();
                self.offset += 2 * i64::from(words(&mnemonic.to_ascii_lowercase()));
            }
            Kind::Directive { name, rest } => {
                let word = self.source.clean(name).to_ascii_lowercase();
                if let Some(closing) = closing(&word) {
                    self.keep_labels(statement);
                    return self.block(&word, closing, all, index, end);
                }
                if self.directive(&word, rest) || self.used(statement)? {
                    return Ok(());
                }
            }
        }
        self.out.push(statement.clone());
        Ok(())
    }

    /// Labels stand where a block or use begins.
    fn keep_labels(&mut self, statement: &Statement) {
        if !statement.labels.is_empty() {
            let (labels, at) = (statement.labels.clone(), statement.span.start);
            self.out.push(Statement { labels, kind: Kind::Empty, span: at..at });
        }
    }

    fn assign(&mut self, name: &Range<usize>, value: &Range<usize>) {
        let name = self.source.clean(name).to_owned();
        if name == "." {
            self.apart();
            return;
        }
        let value = self.value(self.source.clean(value)).unwrap_or(Value::Linker);
        self.numbers.insert(name, value);
    }

    /// From here on distances to what was before are not known.
    fn apart(&mut self) {
        self.region += 1;
        self.offset = 0;
    }

    /// A directive that opens nothing; whether nothing of it is left to do.
    fn directive(&mut self, word: &str, rest: &Range<usize>) -> bool {
        let text = self.source.clean(rest).to_owned();
        match word {
            ".set" | ".equ" | ".equiv" | ".eqv" => {
                let parts = self.source.clean(rest).split_once(',');
                let spans = parts.and_then(|(name, value)| {
                    Some((self.source.span_of(name.trim())?, self.source.span_of(value.trim())?))
                });
                if let Some((name, value)) = spans {
                    self.assign(&name, &value);
                }
            }
            ".comm" | ".lcomm" => {
                let name = text.split(',').next().unwrap_or_default().trim();
                // Where it is, is the linker's to say.
                self.apart();
                self.labels.insert(name.to_owned(), (self.region, 0));
                self.apart();
            }
            ".exitm" => {
                let Some(buffer) = self.frames.iter().rposition(|frame| frame.is_buffer) else {
                    return false;
                };
                self.frames.truncate(buffer);
                return true;
            }
            ".purgem" => {
                self.macros.remove(&text.trim().to_ascii_lowercase());
                return true;
            }
            ".altmacro" | ".noaltmacro" => {
                self.alternate = word == ".altmacro";
                return true;
            }
            _ if is_silent(word) || self.macros.contains_key(word) => {}
            _ => self.apart(),
        }
        false
    }

    /// An expression's value with what is known here; `None` when it is not one. Counting once from 0 and once from
    /// elsewhere shows whether it hangs on where its labels are.
    fn value(&self, text: &str) -> Option<Value> {
        let counted = |start: i64| {
            let mut region = None;
            let names = &mut |name: &str| {
                let spot = match name {
                    "." => Some((self.region, self.offset)),
                    _ if is_local(name) => {
                        name.strip_suffix('b').and_then(|number| self.labels.get(number).copied())
                    }
                    _ => match self.numbers.get(name) {
                        Some(value) => return Some(*value),
                        None => self.labels.get(name).copied(),
                    },
                };
                Some(match spot {
                    Some((its, offset)) if *region.get_or_insert(its) == its => Value::Known(start + offset),
                    _ => Value::Linker,
                })
            };
            evaluate(text, Operators::Gas, names).ok()
        };
        let (one, other) = (counted(0)?, counted(1 << 24)?);
        Some(if one == other { one } else { Value::Linker })
    }

    /// What is not known here stays as it is.
    fn unexpanded(&mut self, statement: &Statement) {
        self.apart();
        self.out.push(Statement { labels: Vec::new(), kind: Kind::Unexpanded, span: statement.span.clone() });
    }

    fn fault(&self, span: &Range<usize>, (why, found): Fault) -> Error {
        Error::Macro { at: self.source.place(span), found, why }
    }

    /// Writes a macro out, if the statement is one's use.
    fn used(&mut self, statement: &Statement) -> Result<bool, Error> {
        let text = self.source.clean(&statement.span);
        let bytes = text.bytes().take_while(|byte| is_name_byte(*byte)).count();
        let Some(found) = self.macros.get(&text[..bytes].to_ascii_lowercase()) else { return Ok(false) };
        let values = arguments::values(&found.parameters, &text[bytes..]);
        let names: Vec<String> = found.parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let body = found.body.clone();
        self.keep_labels(statement);
        if self.alternate {
            self.unexpanded(statement);
            return Ok(true);
        }
        let values = values.map_err(|fault| self.fault(&statement.span, fault))?;
        let value_of = |name: &str| names.iter().position(|known| known == name).map(|at| values[at].clone());
        let inside: Rc<[Statement]> =
            self.copied(&body, &value_of, Some(&statement.span), &statement.span)?.into();
        self.uses += 1;
        let end = inside.len();
        self.push(
            Frame { statements: inside, from: 0, next: 0, end, again: 0, is_buffer: true },
            &statement.span,
        )?;
        Ok(true)
    }

    /// The statements of a body with its parameters replaced.
    fn copied(
        &mut self,
        body: &Range<usize>,
        value_of: &dyn Fn(&str) -> Option<String>,
        used_at: Option<&Range<usize>>,
        span: &Range<usize>,
    ) -> Result<Vec<Statement>, Error> {
        let (mut copy, mut starts) = (String::new(), Vec::new());
        for line in self.source.rows(body) {
            starts.push(copy.len());
            let before = copy.len();
            let line = self.source.clean(&line).to_owned();
            arguments::replaced(&line, value_of, self.uses, &mut copy)
                .map_err(|fault| self.fault(span, fault))?;
            self.charge(line.len() + (copy.len() - before), span)?;
        }
        self.source.append(&copy, &starts, body.start, used_at.cloned())
    }

    /// Something with an end of its own.
    fn block(
        &mut self,
        word: &str,
        closing: &'static str,
        all: &Rc<[Statement]>,
        index: usize,
        end: usize,
    ) -> Result<(), Error> {
        let statement = &all[index];
        let Kind::Directive { rest, .. } = &statement.kind else { return Ok(()) };
        let parts = self.parts(&all[..end], index, word, closing)?;
        let close = *parts.last().expect("a block has an end");
        if let Some(frame) = self.frames.last_mut() {
            frame.next = close + 1;
        }
        let labelled = parts.iter().any(|part| !all[*part].labels.is_empty());
        match word {
            ".macro" => self.define(statement, rest, statement.span.end..all[close].span.start),
            // GNU as does not see the end there when what is before it is skipped.
            _ if labelled => {
                self.unexpanded(statement);
                Ok(())
            }
            ".rept" => {
                let count = self.value(self.source.clean(rest));
                let Some(Value::Known(count)) = count else {
                    self.unexpanded(statement);
                    return Ok(());
                };
                if count > 0 {
                    let (statements, from) = (Rc::clone(all), index + 1);
                    let frame =
                        Frame { statements, from, next: from, end: close, again: count - 1, is_buffer: true };
                    self.push(frame, &statement.span)?;
                }
                Ok(())
            }
            ".irp" | ".irpc" => {
                let body = statement.span.end..all[close].span.start;
                self.repeat(word == ".irpc", statement, rest, &body)
            }
            _ => self.choose(all, index, &parts),
        }
    }

    fn define(
        &mut self,
        statement: &Statement,
        rest: &Range<usize>,
        body: Range<usize>,
    ) -> Result<(), Error> {
        let defined = arguments::definition(self.source.clean(rest));
        let (name, parameters) = defined.map_err(|fault| self.fault(&statement.span, fault))?;
        if self.macros.contains_key(&name) {
            return Err(self.fault(&statement.span, (MacroFault::Twice, name)));
        }
        self.macros.insert(name, Macro { parameters, body });
        Ok(())
    }

    /// `.irp` and `.irpc`: all values are put in before anything of it is read.
    fn repeat(
        &mut self,
        by_character: bool,
        statement: &Statement,
        rest: &Range<usize>,
        body: &Range<usize>,
    ) -> Result<(), Error> {
        if self.alternate {
            self.unexpanded(statement);
            return Ok(());
        }
        let text = scrubbed(self.source.clean(rest));
        let mut cursor = Cursor::new(&text);
        let name = cursor.name();
        if name.is_empty() {
            return Err(self.fault(&statement.span, (MacroFault::NoName, text)));
        }
        cursor.comma();
        let mut values = Vec::new();
        if cursor.rest().is_empty() {
            values.push(String::new());
        } else if by_character {
            values = cursor.characters();
        } else {
            while !cursor.rest().is_empty() {
                values.push(cursor.argument());
                cursor.comma();
            }
        }
        let mut inside = Vec::new();
        for value in values {
            self.count(&statement.span)?;
            let value_of = |found: &str| (found == name).then(|| value.clone());
            inside.extend(self.copied(body, &value_of, None, &statement.span)?);
        }
        let statements: Rc<[Statement]> = inside.into();
        let end = statements.len();
        self.push(Frame { statements, from: 0, next: 0, end, again: 0, is_buffer: true }, &statement.span)
    }

    /// Goes on in the first branch whose condition holds. Nothing of the block is left when one is not known.
    fn choose(&mut self, all: &Rc<[Statement]>, index: usize, parts: &[usize]) -> Result<(), Error> {
        let mut from = index;
        for to in parts {
            let Kind::Directive { name, rest } = &all[from].kind else { return Ok(()) };
            let word = self.source.clean(name).to_ascii_lowercase();
            match self.holds(&word, self.source.clean(rest)) {
                Some(true) => {
                    let statements = Rc::clone(all);
                    let frame = Frame {
                        statements,
                        from: from + 1,
                        next: from + 1,
                        end: *to,
                        again: 0,
                        is_buffer: false,
                    };
                    return self.push(frame, &all[index].span);
                }
                Some(false) => from = *to,
                None => {
                    self.unexpanded(&all[from]);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether a condition holds; `None` when that is not known here.
    fn holds(&self, word: &str, text: &str) -> Option<bool> {
        let number = |holds: fn(i64) -> bool| match self.value(text)? {
            Value::Known(value) => Some(holds(value)),
            Value::Linker => None,
        };
        let defined = || self.labels.contains_key(text) || self.numbers.contains_key(text);
        let same = || {
            let (one, other) = text.split_once(',')?;
            Some(scrubbed(one) == scrubbed(other))
        };
        let same_strings = || {
            let scrubbed = scrubbed(text);
            let mut cursor = Cursor::new(&scrubbed);
            let one = cursor.argument();
            cursor.comma();
            Some(one == cursor.argument())
        };
        match word {
            ".else" => Some(true),
            ".if" | ".elseif" | ".ifne" => number(|value| value != 0),
            ".ifeq" => number(|value| value == 0),
            ".ifge" => number(|value| value >= 0),
            ".ifgt" => number(|value| value > 0),
            ".ifle" => number(|value| value <= 0),
            ".iflt" => number(|value| value < 0),
            ".ifdef" => Some(defined()),
            ".ifndef" | ".ifnotdef" => Some(!defined()),
            ".ifb" => Some(text.is_empty()),
            ".ifnb" => Some(!text.is_empty()),
            ".ifc" => same(),
            ".ifnc" => same().map(|same| !same),
            ".ifeqs" => same_strings(),
            ".ifnes" => same_strings().map(|same| !same),
            _ => None,
        }
    }

    /// Where the branches of a block end, the last one with the block.
    fn parts(
        &mut self,
        all: &[Statement],
        index: usize,
        opening: &str,
        closing: &'static str,
    ) -> Result<Vec<usize>, Error> {
        let mut parts = Vec::new();
        let mut depth = 1_usize;
        for (at, statement) in all.iter().enumerate().skip(index + 1) {
            self.skipped += 1;
            let Kind::Directive { name, .. } = &statement.kind else { continue };
            let word = self.source.clean(name).to_ascii_lowercase();
            if word == closing || (closing == ".endm" && word == ".endmacro") {
                depth -= 1;
            } else if self::closing(&word) == Some(closing) {
                depth += 1;
            }
            let branches = depth == 1 && closing == ".endif" && matches!(&*word, ".else" | ".elseif");
            if depth == 0 || branches {
                parts.push(at);
            }
            if depth == 0 {
                return Ok(parts);
            }
            if self.skipped > STATEMENTS_SKIPPED_MAX {
                let at = self.source.place(&statement.span);
                return Err(Error::Statements { at, limit: STATEMENTS_MAX });
            }
        }
        let at = self.source.place(&all[index].span);
        Err(Error::OpenBlock { at, found: opening.to_owned(), expected: closing })
    }
}

/// What closes the block that a directive opens.
fn closing(word: &str) -> Option<&'static str> {
    match word {
        ".macro" => Some(".endm"),
        ".irp" | ".irpc" | ".rept" => Some(".endr"),
        _ => word.starts_with(".if").then_some(".endif"),
    }
}
