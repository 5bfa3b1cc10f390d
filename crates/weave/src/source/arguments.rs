//! Parameters and arguments of macros, and how one is put for the other.
//!
//! Owns: where GNU as ends an argument, which is told by blanks as well as by commas once the blanks that mean
//! nothing are away, and what `\name`, `\@` and `\()` in a body become. Tried on avr-as 2.26. What a macro's body
//! does is `expand`'s.

use crate::error::MacroFault;
use crate::expression::is_name_byte;

/// What is wrong, and the text that is.
pub(super) type Fault = (MacroFault, String);

/// A parameter of a macro.
pub(super) struct Parameter {
    pub name: String,
    /// What stands for it when its argument is empty.
    default: String,
    kind: Take,
}

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    One,
    /// One that may not be empty.
    Required,
    /// All that is left.
    Rest,
}

/// A text while it is cut into arguments.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text that is [`scrubbed`].
    pub fn new(text: &'a str) -> Cursor<'a> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.blanks();
        cursor
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// A comma, if there is one, and the blanks around it.
    pub fn comma(&mut self) {
        self.blanks();
        if self.byte() == Some(b',') {
            self.at += 1;
            self.blanks();
        }
    }

    /// The name that begins here; empty when none does.
    pub fn name(&mut self) -> &'a str {
        let name = name_at(self.rest());
        self.at += name.len();
        name
    }

    /// One argument, as long as something is left. Invariant: with the comma behind it, it is never nothing.
    pub fn argument(&mut self) -> String {
        self.blanks();
        if self.byte() == Some(b'"') {
            return self.string();
        }
        let from = self.at;
        let mut open = Vec::new();
        while let Some(byte) = self.byte() {
            match byte {
                b',' => break,
                _ if byte.is_ascii_whitespace() && open.is_empty() => break,
                b'"' | b'\'' => {
                    let inside = self.text.as_bytes()[self.at + 1..].iter().position(|found| *found == byte);
                    self.at = inside.map_or(self.text.len() - 1, |inside| self.at + 1 + inside);
                }
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                _ if open.last() == Some(&byte) => {
                    open.pop();
                }
                _ => {}
            }
            self.at += 1;
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
        self.text[from..self.at].to_owned()
    }

    /// What strings in a row say, without their quotes; two quotes within are one.
    fn string(&mut self) -> String {
        let mut said = String::new();
        while self.byte() == Some(b'"') {
            self.at += 1;
            let mut escaped = false;
            loop {
                let Some(character) = self.rest().chars().next() else { return said };
                self.at += character.len_utf8();
                if character == '"' && !escaped {
                    if self.byte() != Some(b'"') {
                        break;
                    }
                    self.at += 1;
                }
                escaped = character == '\\' && !escaped;
                said.push(character);
            }
        }
        said
    }

    /// The value of the only parameter that `.irpc` has, character by character. Blanks count within quotes only.
    pub fn characters(mut self) -> Vec<String> {
        let mut found = Vec::new();
        let mut quoted = false;
        while let Some(character) = self.rest().chars().next() {
            self.at += character.len_utf8();
            if character == '"' {
                quoted = !quoted;
            } else {
                found.push(character.to_string());
            }
            if !quoted {
                self.blanks();
            }
        }
        found
    }
}

/// The name at the beginning of a text.
fn name_at(text: &str) -> &str {
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return "";
    }
    &text[..text.bytes().take_while(|byte| is_name_byte(*byte)).count()]
}

/// A text as GNU as reads operands: blanks are only left between two words or strings, and `'a'` is its number.
pub(super) fn scrubbed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        let joins = |byte: u8| is_name_byte(byte) || byte == b'"';
        if first.is_ascii_whitespace() {
            rest = rest.trim_start();
            let wide = |byte: &u8| joins(*byte) || matches!(byte, b'\\' | b'\'');
            if out.bytes().last().is_some_and(joins) && rest.as_bytes().first().is_some_and(wide) {
                out.push(' ');
            }
            continue;
        }
        if first == '"' {
            length = string_length(rest);
        } else if first == '\''
            && let Some(quoted) = rest[1..].chars().next().filter(|c| c.is_ascii() && *c != '\\')
        {
            out.push_str(&u32::from(quoted).to_string());
            rest = &rest[2..];
            rest = rest.strip_prefix('\'').unwrap_or(rest);
            continue;
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

/// The bytes of the string that a text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        if byte == b'"' && !escaped {
            return at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    text.len()
}

/// A macro's name, and its parameters.
pub(super) fn definition(text: &str) -> Result<(String, Vec<Parameter>), Fault> {
    let scrubbed = scrubbed(text);
    let mut cursor = Cursor::new(&scrubbed);
    let name = cursor.name().to_ascii_lowercase();
    if name.is_empty() {
        return Err((MacroFault::NoName, text.to_owned()));
    }
    cursor.comma();
    let mut parameters: Vec<Parameter> = Vec::new();
    while !cursor.rest().is_empty() {
        let name = cursor.name();
        if name.is_empty() {
            return Err((MacroFault::Parameter, cursor.rest().to_owned()));
        }
        if parameters.iter().any(|parameter| parameter.name == name) {
            return Err((MacroFault::ParameterTwice, name.to_owned()));
        }
        let mut kind = Take::One;
        if cursor.byte() == Some(b':') {
            cursor.at += 1;
            kind = match cursor.name() {
                "req" => Take::Required,
                "vararg" => Take::Rest,
                other => return Err((MacroFault::Qualifier, format!("{name}:{other}"))),
            };
        }
        let mut default = String::new();
        if cursor.byte() == Some(b'=') {
            cursor.at += 1;
            default = cursor.argument();
        }
        // GNU as forgets the default of a parameter that must be given.
        if kind == Take::Required {
            default.clear();
        }
        parameters.push(Parameter { name: name.to_owned(), default, kind });
        if kind == Take::Rest && !cursor.rest().is_empty() {
            return Err((MacroFault::Parameter, cursor.rest().to_owned()));
        }
        cursor.comma();
    }
    Ok((name, parameters))
}

/// What each parameter stands for in a use with these arguments.
pub(super) fn values(parameters: &[Parameter], text: &str) -> Result<Vec<String>, Fault> {
    let scrubbed = scrubbed(text);
    let mut cursor = Cursor::new(&scrubbed);
    let mut given = vec![String::new(); parameters.len()];
    let mut next = 0;
    let mut by_name = false;
    while !cursor.rest().is_empty() {
        if let Some(name) = keyword(cursor.rest()) {
            by_name = true;
            let found = parameters.iter().position(|parameter| parameter.name == name);
            let Some(index) = found else { return Err((MacroFault::NoParameter, name.to_owned())) };
            cursor.at += name.len() + 1;
            given[index] = cursor.argument();
        } else if by_name {
            return Err((MacroFault::Positional, cursor.rest().to_owned()));
        } else if let Some(parameter) = parameters.get(next) {
            if parameter.kind == Take::Rest {
                given[next] = cursor.rest().to_owned();
                cursor.at = scrubbed.len();
            } else {
                given[next] = cursor.argument();
            }
            next += 1;
        } else {
            return Err((MacroFault::TooMany, cursor.rest().to_owned()));
        }
        cursor.comma();
    }
    for (parameter, value) in parameters.iter().zip(&mut given) {
        if value.is_empty() && parameter.kind == Take::Required {
            return Err((MacroFault::Required, parameter.name.clone()));
        }
        if value.is_empty() {
            value.clone_from(&parameter.default);
        }
    }
    Ok(given)
}

/// The name of `name=value`.
fn keyword(text: &str) -> Option<&str> {
    let end =
        text.find(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | '"' | ';' | '(' | ')' | '='))?;
    (text[end..].starts_with('=') && name_at(text).len() == end).then(|| &text[..end])
}

/// One line of a body with its parameters replaced. `number` is what `\@` becomes.
pub(super) fn replaced(
    line: &str,
    value_of: &dyn Fn(&str) -> Option<String>,
    number: usize,
    out: &mut String,
) -> Result<(), Fault> {
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        if let Some(inside) = behind.strip_prefix('(') {
            let end = inside.find(')').ok_or_else(|| (MacroFault::Unclosed, rest[at..].trim().to_owned()))?;
            out.push_str(&inside[..end]);
            rest = &inside[end + 1..];
        } else if let Some(behind) = behind.strip_prefix('@') {
            out.push_str(&number.to_string());
            rest = behind;
        } else {
            let name = name_at(behind);
            match value_of(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push('\\');
                    out.push_str(name);
                }
            }
            rest = &behind[name.len()..];
        }
    }
    out.push_str(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_end_where_gnu_as_ends_them() {
        // Each row was read from what avr-as 2.26 made of it.
        for (text, expected) in [
            ("1, 2, 3", &["1", "2", "3"][..]),
            ("1 2 3", &["1", "2", "3"]),
            ("1+1, 2 + 3, (4 + 1)", &["1+1", "2+3", "(4+1)"]),
            ("3 +4", &["3+4"]),
            ("\"1, 2\" 5", &["1, 2", "5"]),
            (", 2", &["", "2"]),
            ("'a', ','", &["97", "44"]),
            ("\"a\"\"b\"", &["a\"b"]),
            ("", &[]),
        ] {
            let scrubbed = scrubbed(text);
            let mut cursor = Cursor::new(&scrubbed);
            let mut found = Vec::new();
            while !cursor.rest().is_empty() {
                found.push(cursor.argument());
                cursor.comma();
            }
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_definition_and_use_ends(text in "[ab\"'(), =:\\\\@µ1]{0,24}", body in "[ab\"'(), \\\\@µ1]{0,24}") {
            let _ = definition(&text);
            let (_, parameters) = definition("m a=1, b:vararg").map_err(|(why, _)| why).unwrap();
            let _ = values(&parameters, &text);
            let _ = Cursor::new(&scrubbed(&text)).characters();
            let _ = replaced(&body, &|name| (name == "a").then(|| text.clone()), 0, &mut String::new());
        }
    }
}
