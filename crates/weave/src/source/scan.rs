//! Finds the statements of a text.
//!
//! Owns: where comments, strings and statements begin and end, and the labels and the kind of a statement. Nothing
//! here knows what a directive or an instruction means.

use std::ops::Range;

use super::{Kind, Statement};
use crate::expression::is_name_byte;

/// The word that makes a comment a directive.
const MARK: &str = "@weave";

/// What does not end, and where it begins.
pub(super) enum Open {
    Comment(Range<usize>),
    String(Range<usize>),
}

/// The text with its comments blanked, but for directives, and its statements.
pub(super) fn scan(text: &str) -> Result<(String, Vec<Statement>), Open> {
    let mut scanner =
        Scanner { text, bytes: text.as_bytes(), at: 0, pieces: Vec::new(), blanked: Vec::new() };
    scanner.run()?;
    let Scanner { pieces, blanked, .. } = scanner;
    let mut clean = String::with_capacity(text.len());
    let mut from = 0;
    for comment in blanked {
        clean.push_str(&text[from..comment.start]);
        clean.extend(std::iter::repeat_n(' ', comment.len()));
        from = comment.end;
    }
    clean.push_str(&text[from..]);
    let statements = pieces.into_iter().filter_map(|piece| piece.statement(&clean)).collect();
    Ok((clean, statements))
}

/// A stretch of the text before it is looked into.
enum Piece {
    Statement(Range<usize>),
    Note(Range<usize>),
}

struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    pieces: Vec<Piece>,
    blanked: Vec<Range<usize>>,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), Open> {
        let mut from = 0;
        // Only blanks and labels so far: `#` would begin a comment here.
        let mut fresh = true;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' | b'$' => {
                    self.pieces.push(Piece::Statement(from..self.at));
                    from = self.at + 1;
                    fresh = true;
                }
                b';' => {
                    let comment = self.to_line_end();
                    self.pieces.push(Piece::Statement(from..comment.start));
                    from = comment.end;
                    self.at = comment.end;
                    if !self.note(&comment) {
                        self.blanked.push(comment);
                    }
                    continue;
                }
                b'#' if fresh => {
                    let comment = self.to_line_end();
                    self.at = comment.end;
                    self.blanked.push(comment);
                    continue;
                }
                b'/' if self.bytes.get(self.at + 1) == Some(&b'*') => {
                    self.block_comment()?;
                    continue;
                }
                b'"' => {
                    self.string()?;
                    fresh = false;
                }
                b'\'' => {
                    self.character();
                    fresh = false;
                }
                b':' => fresh = true,
                _ if byte.is_ascii_whitespace() => {}
                _ => fresh = false,
            }
            self.at += 1;
        }
        self.pieces.push(Piece::Statement(from..self.text.len()));
        Ok(())
    }

    fn to_line_end(&self) -> Range<usize> {
        let bytes = self.bytes[self.at..].iter().take_while(|byte| **byte != b'\n').count();
        self.at..self.at + bytes
    }

    /// Keeps a comment that is a directive; whether it is one.
    fn note(&mut self, comment: &Range<usize>) -> bool {
        let inside = &self.text[comment.start + 1..comment.end];
        let Some(rest) = inside.trim_start().strip_prefix(MARK) else { return false };
        let whole = rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace());
        if whole {
            let from = comment.end - rest.len() + (rest.len() - rest.trim_start().len());
            self.pieces.push(Piece::Note(from..from + rest.trim().len()));
        }
        whole
    }

    /// A comment that may cross lines; it ends no statement.
    fn block_comment(&mut self) -> Result<(), Open> {
        let from = self.at;
        let Some(inside) = self.text[from + 2..].find("*/") else {
            return Err(Open::Comment(from..from + 2));
        };
        self.at = from + 2 + inside + 2;
        self.blanked.push(from..self.at);
        Ok(())
    }

    /// Stops at the quote that ends it.
    fn string(&mut self) -> Result<(), Open> {
        let from = self.at;
        loop {
            self.at += 1;
            match self.bytes.get(self.at) {
                Some(b'"') => return Ok(()),
                // What is escaped ends nothing, except a line.
                Some(b'\\') if self.bytes.get(self.at + 1).is_some_and(|next| *next != b'\n') => self.at += 1,
                None | Some(b'\n') => return Err(Open::String(from..self.at)),
                Some(_) => {}
            }
        }
    }

    /// Stops at the last byte of `'x`, `'\x` or `'x'`.
    fn character(&mut self) {
        let inside = |byte: Option<&u8>| byte.is_some_and(|byte| *byte != b'\n');
        if !inside(self.bytes.get(self.at + 1)) {
            return;
        }
        self.at += 1;
        if self.bytes[self.at] == b'\\' && inside(self.bytes.get(self.at + 1)) {
            self.at += 1;
        }
        if self.bytes.get(self.at + 1) == Some(&b'\'') {
            self.at += 1;
        }
    }
}

impl Piece {
    /// The statement in it; nothing of one that is empty.
    fn statement(self, clean: &str) -> Option<Statement> {
        let span = match self {
            Piece::Statement(span) => span,
            Piece::Note(span) => return Some(Statement { labels: Vec::new(), kind: Kind::Note, span }),
        };
        let mut labels = Vec::new();
        let mut span = trimmed(clean, span);
        while let Some((label, rest)) = label(clean, &span) {
            labels.push(label);
            span = trimmed(clean, rest);
        }
        if span.is_empty() && labels.is_empty() {
            return None;
        }
        Some(Statement { labels, kind: kind(clean, &span), span })
    }
}

/// Without the blanks at both ends.
fn trimmed(clean: &str, span: Range<usize>) -> Range<usize> {
    let text = &clean[span.clone()];
    let from = span.start + (text.len() - text.trim_start().len());
    from..from + text.trim().len()
}

/// The name that begins here.
fn name(clean: &str, span: &Range<usize>) -> Range<usize> {
    let bytes = clean[span.clone()].bytes().take_while(|byte| is_name_byte(*byte)).count();
    span.start..span.start + bytes
}

/// A label and what is behind it.
fn label(clean: &str, span: &Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
    let name = name(clean, span);
    let text = &clean[name.clone()];
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || (!digits && text.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let behind = trimmed(clean, name.end..span.end);
    clean[behind.clone()].starts_with(':').then(|| (name, behind.start + 1..span.end))
}

fn kind(clean: &str, span: &Range<usize>) -> Kind {
    if span.is_empty() {
        return Kind::Empty;
    }
    let name = name(clean, span);
    let behind = trimmed(clean, name.end..span.end);
    let rest = &clean[behind.clone()];
    if !name.is_empty() && rest.starts_with('=') {
        let signs = if rest.starts_with("==") { 2 } else { 1 };
        return Kind::Assignment { name, value: trimmed(clean, behind.start + signs..behind.end) };
    }
    if clean[name.clone()].starts_with('.') {
        return Kind::Directive { name, rest: behind };
    }
    Kind::Instruction
}
