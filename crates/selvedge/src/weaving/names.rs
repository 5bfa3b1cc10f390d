//! Names that the command line gives: which can be a function's, and whether anything has a use for them.
//!
//! Owns C's keywords, and finding out what directives and the preprocessor use. Where a name stands for a number it is
//! `texts` and the directives that put it in.

use std::collections::{BTreeMap, BTreeSet};

use ::weave::directive::{Directive, Parameters};
use ::weave::program::{Callee, Flow, Program};

use super::texts::{Reader, Text};
use crate::error::{Error, WeaveFault};

/// What avr-gcc takes for a word of its own in gnu99.
const KEYWORDS: [&str; 39] = [
    "_Bool",
    "_Complex",
    "_Imaginary",
    "asm",
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "typeof",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
];

/// The clock, which what is woven says in any case.
pub const CLOCK: &str = "F_CPU";

/// Reads the name of a C function.
///
/// # Errors
/// In words, when it can be none.
pub fn identifier(text: &str) -> Result<String, String> {
    let is_word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if text.is_empty() || !is_word || text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!("found `{text}`, expected a name of a C function: letters, digits and `_`"));
    }
    if KEYWORDS.contains(&text) {
        return Err(format!("found `{text}`, expected a name of a C function, which no keyword is"));
    }
    Ok(text.to_owned())
}

/// Refuses a name that has two values.
///
/// # Errors
/// [`WeaveFault::ManyValues`].
pub fn check_one_value(given: &[(String, i64)]) -> Result<(), Error> {
    let first: BTreeMap<&str, i64> =
        given.iter().rev().map(|(name, value)| (name.as_str(), *value)).collect();
    match given.iter().find(|(name, value)| first[name.as_str()] != *value) {
        Some((name, value)) => {
            let values = [first[name.as_str()], *value];
            Err(Error::Woven(WeaveFault::ManyValues { name: name.clone(), values }))
        }
        None => Ok(()),
    }
}

/// Whether code that is woven names a symbol, of its own or of somebody else.
pub fn is_named(program: &Program, symbol: &str) -> bool {
    program.code.iter().any(|step| {
        let callee = match &step.flow {
            Flow::Call(Callee::Unknown(callee)) | Flow::TailCall(Callee::Unknown(callee)) => callee == symbol,
            _ => false,
        };
        callee || step.expression.as_deref().is_some_and(|expression| has_word(expression, symbol))
    })
}

/// Refuses a name of `reader` that neither a directive of these texts nor the preprocessor has a use for.
///
/// # Errors
/// Such a name, or that the preprocessor cannot be run.
pub fn check_used(reader: &Reader, texts: &[&Text]) -> Result<(), Error> {
    let given = reader.definitions;
    let mut used = BTreeSet::new();
    let mut tested = BTreeSet::new();
    for text in texts {
        for directive in text.assembly.directives() {
            let names = given.iter().map(|(name, _)| name.as_str());
            used.extend(names.filter(|name| changes(directive, name, given)).map(str::to_owned));
        }
        if text.made_by.is_some() && !given.is_empty() {
            let asked = reader.preprocessed(&text.path)?;
            used.extend(asked.expanded);
            tested.extend(asked.tested.into_iter().filter(|name| has_word(&text.written, name)));
        }
    }
    let is_used = |name: &str| name == CLOCK || used.contains(name) || tested.contains(name);
    let Some((unused, _)) = given.iter().find(|(name, _)| !is_used(name)) else { return Ok(()) };
    let known = given.iter().map(|(name, _)| name).filter(|name| is_used(name)).chain(&tested);
    let known: BTreeSet<String> = known.cloned().collect();
    Err(Error::Woven(WeaveFault::Unused { name: unused.clone(), used: known.into_iter().collect() }))
}

/// Whether a directive reads otherwise without a name's number.
fn changes(directive: &str, name: &str, given: &[(String, i64)]) -> bool {
    let with: Parameters = given.iter().cloned().collect();
    let without: Parameters = given.iter().filter(|(other, _)| other != name).cloned().collect();
    Directive::parse(directive, &with).is_ok_and(|read| Directive::parse(directive, &without) != Ok(read))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|found| found == word)
}
