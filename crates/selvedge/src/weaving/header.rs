//! The C header of a woven function: its prototype and its contract.
//!
//! Owns: finding the prototypes of host and guest where their authors wrote them (a C definition, or a comment above
//! the assembly), and writing the one that takes both functions' parameters. No C is parsed: what is found is text,
//! and the compiler that reads the header checks it. Where none is found parameters go by their size.

use std::fmt::Write;

use ::weave::directive::Directive;
use ::weave::emit::needs;

/// A function's prototype as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// What it returns.
    pub returns: String,
    /// Its parameters, each with its name.
    pub parameters: Vec<String>,
}

impl Prototype {
    /// The first thing in a text that reads like the prototype of `function` with so many parameters.
    pub fn find(text: &str, function: &str, count: usize) -> Option<Prototype> {
        Self::all(text, function).map(|(found, _)| found).find(|found| found.parameters.len() == count)
    }

    /// What reads like a definition of `function` in C.
    pub fn defined<'t>(text: &'t str, function: &'t str) -> impl Iterator<Item = Prototype> + 't {
        let is_definition = |behind: &str| behind.trim_start().starts_with('{');
        Self::all(text, function).filter(move |(_, behind)| is_definition(behind)).map(|(found, _)| found)
    }

    /// What reads like a prototype of `function`, each with the text behind it.
    fn all<'t>(text: &'t str, function: &'t str) -> impl Iterator<Item = (Prototype, &'t str)> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.match_indices(function).filter_map(move |(at, name)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let line = before.rsplit('\n').next().unwrap_or_default();
            let returns = line.trim_start_matches(|c: char| !is_word(c)).trim_end();
            let returns = returns.strip_prefix("extern \"C\" ").unwrap_or(returns);
            let is_type = !returns.is_empty()
                && returns.chars().all(|c| is_word(c) || c == ' ' || c == '*')
                && !["return", "static", "call", "rcall", "else"].contains(&returns)
                && before.ends_with([' ', '*']);
            let (inside, behind) = after.strip_prefix('(')?.split_once(')')?;
            let parameters: Vec<String> = match inside.trim() {
                "" | "void" => Vec::new(),
                list => list.split(',').map(words).collect(),
            };
            // A parameter is a type and a name; a call has expressions.
            let named = parameters
                .iter()
                .all(|one| one.contains(' ') && one.chars().all(|c| is_word(c) || " *[]".contains(c)));
            let returns = returns.trim_start_matches("static ").to_owned();
            let parameters: Vec<String> = parameters.into_iter().map(decayed).collect();
            (is_type && named).then_some((Prototype { returns, parameters }, behind))
        })
    }

    /// Its parameters as C lists them.
    pub fn list(&self) -> String {
        parameter_list(&self.parameters)
    }

    /// The bytes of each parameter whose type is one of C's own or of `<stdint.h>`.
    pub fn bytes(&self) -> Vec<Option<u32>> {
        self.parameters.iter().map(|parameter| parameter_bytes(parameter)).collect()
    }

    /// By sizes alone: integers named after `thread`.
    pub fn by_size(bytes: &[u32], thread: &str) -> Prototype {
        let parameter = |(index, bytes): (usize, &u32)| match bytes {
            1 | 2 | 4 | 8 => format!("uint{}_t {thread}_{index}", 8 * bytes),
            other => format!("struct {{ uint8_t bytes[{other}]; }} {thread}_{index}"),
        };
        Prototype { returns: "void".into(), parameters: bytes.iter().enumerate().map(parameter).collect() }
    }
}

/// A parameter that is an array as the pointer that it is: its bound may be a name that the header does not know.
fn decayed(parameter: String) -> String {
    let (Some((declared, _)), 1) = (parameter.split_once('['), parameter.matches('[').count()) else {
        return parameter;
    };
    let name = declared.rfind([' ', '*']).map_or(0, |before| before + 1);
    format!("{}*{}", &declared[..name], &declared[name..])
}

fn parameter_list(parameters: &[String]) -> String {
    if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") }
}

/// The bytes of a parameter of avr-gcc's, where its type is no name that a program made up.
fn parameter_bytes(parameter: &str) -> Option<u32> {
    if parameter.contains(['*', '[']) {
        return Some(2);
    }
    let (declared, _) = parameter.rsplit_once(' ')?;
    let mut words: Vec<&str> = declared.split(' ').collect();
    words.retain(|word| !["const", "volatile", "register"].contains(word));
    let is_number = words.iter().any(|word| ["signed", "unsigned"].contains(word));
    words.retain(|word| !["signed", "unsigned"].contains(word));
    match words[..] {
        ["char" | "int8_t" | "uint8_t" | "bool" | "_Bool"] => Some(1),
        ["int" | "int16_t" | "uint16_t" | "size_t"] | ["short"] | ["short", "int"] => Some(2),
        ["long" | "int32_t" | "uint32_t" | "float"] | ["long", "int"] => Some(4),
        ["int64_t" | "uint64_t"] | ["long", "long"] | ["long", "long", "int"] => Some(8),
        [] if is_number => Some(2),
        _ => None,
    }
}

/// A text's words with one space between.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| !matches!(*word, "//" | "*/")).collect::<Vec<_>>().join(" ")
}

/// What a header says.
pub struct Header<'a> {
    /// The woven function.
    pub name: &'a str,
    /// The host's name and prototype; whether the latter was found.
    pub host: (&'a str, Prototype, bool),
    /// The same of the guest.
    pub guest: (&'a str, Prototype, bool),
    /// What the woven function's directives say: chip and clock, where they are known.
    pub says: &'a [Directive],
    /// Sentences of the contract: what was proved.
    pub contract: &'a [String],
    /// What must not overlap, as `apart` names it.
    pub granted: &'a [(String, String)],
}

impl Header<'_> {
    /// The file.
    pub fn text(&self) -> String {
        let (name, guard) = (self.name, format!("WOVEN_{}_H", self.name.to_uppercase()));
        let [host, guest] = [&self.host, &self.guest];
        let parameters = parameters(&host.1, &guest.1);
        let mut out = String::new();
        let mut put = |line: &str| writeln!(out, "{line}").expect("a string takes everything");
        put("/*");
        put(&format!(" * {name}: {} and {} at once. Made by `selvedge weave`.", host.0, guest.0));
        put(" *");
        let returns = match host.1.returns.as_str() {
            "void" => "and does what both do".to_owned(),
            _ => format!("does what both do, and returns what {} returns", host.0),
        };
        put(&format!(" * Takes what {} takes, then what {} takes, {returns}.", host.0, guest.0));
        for sentence in self.contract {
            put(&format!(" * {sentence}"));
        }
        if !self.granted.is_empty() {
            let pairs = self.granted.iter().map(|(guest_has, host_has)| {
                format!("{} and {}", self.named(guest_has, &parameters), self.named(host_has, &parameters))
            });
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            put(&format!(" * Taken for granted, and yours to see to: these do not overlap: {pairs}."));
        }
        for (function, _, found) in [host, guest] {
            if !found {
                put(&format!(
                    " * No prototype of {function} was found: its parameters go by their size, addresses as numbers."
                ));
            }
        }
        put(" */");
        put(&format!("#ifndef {guard}\n#define {guard}\n\n#include <stddef.h>\n#include <stdint.h>\n"));
        put(&guards(name, self.says));
        for symbol in self.says.iter().filter_map(needs) {
            put(&format!("__asm__(\".weak {symbol}\\n\\t.set {symbol}, 1\");"));
        }
        put("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
        for tag in tags(&parameters) {
            put(&format!("struct {tag};"));
        }
        let list = parameter_list(&parameters);
        put(&format!("{} {name}({list});", host.1.returns).replace("* ", "*"));
        put("\n#ifdef __cplusplus\n}\n#endif\n\n#endif");
        out
    }
}

impl Header<'_> {
    /// What `apart` names, in the words of the prototype.
    fn named(&self, spelled: &str, parameters: &[String]) -> String {
        let (of, first) = match spelled.split_once('.') {
            Some(("host", of)) => (of, 0),
            Some(("guest", of)) => (of, self.host.1.parameters.len()),
            Some(("io", address)) => return format!("I/O register {address}"),
            _ => return spelled.to_owned(),
        };
        let parameter = of.parse().ok().and_then(|number: usize| parameters.get(first + number));
        let thread = if first == 0 { self.host.0 } else { self.guest.0 };
        parameter
            .map_or_else(|| format!("what else {thread} points to"), |one| parameter_name(one).to_owned())
    }
}

/// What stops the preprocessor where chip or clock are others than the function's. In a file that is not preprocessed
/// these lines are comments.
pub fn guards(name: &str, says: &[Directive]) -> String {
    let guard = |directive: &Directive| match directive {
        Directive::Chip(chip) => Some((format!("!defined({})", chip_symbol(chip)), chip.clone())),
        Directive::Frequency(hertz) => {
            Some((format!("defined(F_CPU) && F_CPU != {hertz}"), format!("{hertz} Hz")))
        }
        _ => None,
    };
    let guards = says.iter().filter_map(guard);
    let lines = guards.map(|(condition, what)| {
        format!("#if {condition}\n#error \"{name} is timed for {what}: weave it again\"\n#endif\n")
    });
    lines.collect()
}

/// What avr-gcc defines for a chip: `__AVR_ATmega128__`.
fn chip_symbol(chip: &str) -> String {
    let families = [("atmega", "ATmega"), ("attiny", "ATtiny"), ("atxmega", "ATxmega")];
    let (family, rest) = { families }
        .into_iter()
        .find_map(|(stem, family)| Some((family, chip.strip_prefix(stem)?)))
        .unwrap_or(("", chip));
    format!("__AVR_{family}{}__", rest.to_uppercase())
}

/// Both lists, with names that differ.
fn parameters(host: &Prototype, guest: &Prototype) -> Vec<String> {
    let taken: Vec<&str> = host.parameters.iter().map(|parameter| parameter_name(parameter)).collect();
    let renamed = guest.parameters.iter().map(|parameter| {
        let own = parameter_name(parameter);
        if !taken.contains(&own) {
            return parameter.clone();
        }
        let at = parameter.rfind(own).expect("it is in there");
        format!("{}guest_{}", &parameter[..at], &parameter[at..])
    });
    host.parameters.iter().cloned().chain(renamed).collect()
}

fn parameter_name(parameter: &str) -> &str {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let bare = parameter.split('[').next().unwrap_or_default().trim_end();
    bare.rsplit(|c: char| !is_word(c)).next().unwrap_or_default()
}

/// The structures that parameters point to.
fn tags(parameters: &[String]) -> Vec<&str> {
    let mut tags: Vec<&str> = Vec::new();
    for parameter in parameters {
        let tag = parameter.split_once("struct ").and_then(|(_, rest)| rest.split([' ', '*', '{']).next());
        tags.extend(tag.filter(|tag| !tag.is_empty()));
    }
    tags.sort_unstable();
    tags.dedup();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_are_found_where_authors_write_them() {
        let c = "int sum;\nuint16_t sum(const uint8_t *data,\n             uint16_t length)\n{ return sum(a, b); }";
        let found = Prototype::find(c, "sum", 2).expect("it is there");
        assert_eq!(found.returns, "uint16_t");
        assert_eq!(found.parameters, ["const uint8_t *data", "uint16_t length"]);
        let cpp = "extern \"C\" uint16_t sum(const uint8_t *data, uint16_t length)\n{";
        assert_eq!(Prototype::find(cpp, "sum", 2), Some(found));
        let array = "void sum(const uint8_t keys[KEY_BYTES], uint16_t length)";
        let found = Prototype::find(array, "sum", 2).expect("it is there");
        assert_eq!(found.parameters, ["const uint8_t *keys", "uint16_t length"]);
        let comment = "// void spi_tx(const uint8_t *buffer, uint8_t count): sends";
        let found = Prototype::find(comment, "spi_tx", 2).expect("it is there");
        assert_eq!((found.returns.as_str(), found.parameters.len()), ("void", 2));
        for not_one in ["  x = sum(a, b);", "    return sum(a, b);", "resum(int a, int b)", "int sum(int a)"]
        {
            assert_eq!(Prototype::find(not_one, "sum", 2), None, "{not_one}");
        }
    }

    #[test]
    fn parameters_of_known_types_have_known_sizes() {
        let c = "void f(int a, const uint8_t *b);\nvoid f(const struct s *a, unsigned char b, unsigned c, \
                 volatile unsigned long d, uint64_t e, key f)\n{ f(1, 2); }";
        let bytes: Vec<_> = Prototype::defined(c, "f").map(|found| found.bytes()).collect();
        assert_eq!(bytes, [[Some(2), Some(1), Some(2), Some(4), Some(8), None]]);
    }

    #[test]
    fn parameters_of_one_name_are_told_apart() {
        let of = |text| Prototype::find(text, "f", 2).expect("it is one");
        let host = of("void f(uint8_t *buffer, struct rc4 *state);");
        let guest = of("void f(const uint8_t *buffer, uint8_t count);");
        let both = parameters(&host, &guest);
        assert_eq!(both[2..], ["const uint8_t *guest_buffer", "uint8_t count"]);
        assert_eq!(tags(&both), ["rc4"]);
    }

    #[test]
    fn what_returns_nothing_is_said_to_return_nothing() {
        let guest = Prototype::by_size(&[2], "guest");
        for (prototype, returns) in
            [("void f(int a)", false), ("int f(int a)", true), ("void *f(int a)", true)]
        {
            let host = Prototype::find(prototype, "f", 1).expect("it is one");
            let (host, guest) = (("f", host, true), ("g", guest.clone(), true));
            let text = Header { name: "f_g", host, guest, says: &[], contract: &[], granted: &[] }.text();
            assert_eq!(text.contains("returns what f returns"), returns, "{text}");
        }
    }
}
