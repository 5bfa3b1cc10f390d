//! What is woven, as it was read: both threads and the servers, and what else comes of their texts.
//!
//! Owns: reading them with the chip, clock and parameters that they and the command line agree on; which file's local
//! data the woven function needs; and the facts of the header. Weaving and proving are `weaving`'s.

use std::path::PathBuf;

use crate::error::{Error, WeaveFault};
use ::weave::Weave;
use ::weave::chip;
use ::weave::directive::{Directive, Parameters};
use ::weave::error::Refusal;
use ::weave::item::Item;
use ::weave::linked;
use ::weave::program::{Origin, Program, Written};

use super::Pair;
use super::header::{Header, Prototype, guards};
use super::texts::{Reader, Text};
use super::{library, names};

/// Both threads as they were read.
pub(super) struct Inputs {
    /// The host's file first, then those with what it calls; those of the library last.
    hosts: Vec<Text>,
    guest: Text,
    pub(super) host_program: Program,
    pub(super) guest_program: Program,
    pub(super) servers: Vec<Server>,
    chip: Option<String>,
}

/// A polling guest as it was read.
pub(super) struct Server {
    text: Text,
    pub(super) program: Program,
    pub(super) function: String,
}

impl Inputs {
    pub(super) fn read(pair: &Pair) -> Result<Inputs, Error> {
        names::check_one_value(&pair.definitions)?;
        let named = pair.chip.as_deref();
        let reader = Reader { chip: named, flags: &pair.flags, definitions: &pair.definitions };
        let guest = reader.text(&pair.guest)?;
        let core = match named {
            None => None,
            Some(name) => {
                Some(chip::core(name).ok_or_else(|| linked::LinkedError::Chip { name: name.to_owned() })?)
            }
        };
        let parameters: Parameters = pair.definitions.iter().cloned().collect();
        let sources = std::slice::from_ref(&guest.assembly);
        let mut guest_program = Program::read(sources, &[&pair.guest_fn], &parameters, core)?.0;
        let said = says(&guest_program, &pair.guest_fn);
        let chip = said.chip.clone().or(pair.chip.clone());
        let reader = Reader { chip: chip.as_deref(), ..reader };
        let core = Some(guest_program.core);
        let read = |(file, function): &(PathBuf, String)| {
            let text = reader.text(file)?;
            let sources = std::slice::from_ref(&text.assembly);
            let program = Program::read(sources, &[function], &parameters, core)?.0;
            let chip = says(&program, function).chip;
            match (chip, said.chip.as_deref().or(named)) {
                (Some(found), Some(expected)) if found != expected => differ(&found, expected, function),
                _ => Ok(Server { text, program, function: function.clone() }),
            }
        };
        let servers = pair.servers.iter().map(read).collect::<Result<Vec<Server>, Error>>()?;
        let files = std::iter::once(&pair.file).chain(&pair.with);
        let mut hosts = files.map(|file| reader.text(file)).collect::<Result<Vec<Text>, Error>>()?;
        let mut host_program = library::read(&mut hosts, &pair.host, &parameters, core, chip.as_deref())?;
        agree(&says(&host_program, &pair.host), &said, named, [&pair.host, &pair.guest_fn])?;
        if let (None, Some(chip)) = (said.chip, &chip) {
            add(&mut guest_program, &pair.guest_fn, Directive::Chip(chip.clone()));
        }
        let f_cpu = pair.definitions.iter().find(|(name, _)| name == "F_CPU");
        match (said.f_cpu_hz, f_cpu.map(|(_, hertz)| hertz.unsigned_abs())) {
            (None, Some(hertz)) => {
                add(&mut guest_program, &pair.guest_fn, Directive::Frequency(hertz));
            }
            (Some(found), Some(hertz)) if found != hertz => {
                return differ(&format!("{found} Hz"), &format!("{hertz} Hz"), &pair.guest_fn);
            }
            _ => {}
        }
        if let Some(bytes) = &pair.host_arguments
            && !says(&host_program, &pair.host).has_arguments
        {
            let bytes = bytes.iter().copied().filter(|&bytes| bytes > 0).collect();
            add(&mut host_program, &pair.host, Directive::Arguments(bytes));
        }
        check_arguments(&hosts, &pair.host, &says(&host_program, &pair.host))?;
        let inputs = Inputs { hosts, guest, host_program, guest_program, servers, chip };
        inputs.check_name(pair)?;
        Ok(inputs)
    }

    /// The woven function's name is new: no text has it, and no code that is woven means somebody else's by it.
    fn check_name(&self, pair: &Pair) -> Result<(), Error> {
        let name = pair.name();
        let servers = self.servers.iter().map(|server| (&server.program, &server.text));
        let threads = [(&self.host_program, &self.hosts[0]), (&self.guest_program, &self.guest)];
        let named = threads.into_iter().chain(servers).find(|(program, _)| names::is_named(program, &name));
        let taken = self.texts().find(|text| text.assembly.defines(&name)).or(named.map(|(_, text)| text));
        match taken {
            Some(text) => Err(Error::Woven(WeaveFault::NameTaken { name, path: text.path.clone() })),
            None => Ok(()),
        }
    }

    /// The files that the texts come from: none of them is an output's place.
    pub(super) fn sources(&self, pair: &Pair) -> Result<Vec<PathBuf>, Error> {
        let reader =
            Reader { chip: self.chip.as_deref(), flags: &pair.flags, definitions: &pair.definitions };
        let sources = self.texts().map(|text| reader.sources(text)).collect::<Result<Vec<_>, Error>>()?;
        Ok(sources.concat())
    }

    pub(super) fn check_used(&self, pair: &Pair, swept: Option<(&str, i64)>) -> Result<(), Error> {
        let mut definitions = pair.definitions.clone();
        definitions.extend(swept.map(|(name, value)| (name.to_owned(), value)));
        let reader = Reader { chip: self.chip.as_deref(), flags: &pair.flags, definitions: &definitions };
        names::check_used(&reader, &self.texts().collect::<Vec<_>>())
    }

    /// What to know when the two are refused.
    pub(super) fn notes(&self, pair: &Pair, refusal: &Refusal) -> Vec<String> {
        let mut notes = Vec::new();
        if !says(&self.host_program, &pair.host).has_arguments {
            notes.push("help: or say them with `--host-arguments 2,2,1`, in bytes".to_owned());
        }
        if let (Refusal::UnresolvedCall { .. }, Some(chip)) = (refusal, &self.chip)
            && let Some(why) = library::lacks(chip)
        {
            notes.push(format!("help: libgcc and the C library were not looked at: {why}"));
        }
        notes
    }

    pub(super) fn made_by(&self) -> Vec<String> {
        self.texts().filter_map(|text| text.made_by.clone()).collect()
    }

    /// The host's file first.
    pub(super) fn texts(&self) -> impl Iterator<Item = &Text> {
        let servers = self.servers.iter().map(|server| &server.text);
        self.hosts.iter().chain([&self.guest]).chain(servers)
    }

    /// The output, and what stands in it beside the woven function: the host's file when only that can name what the
    /// woven function needs.
    pub(super) fn text(&self, name: &str, woven: &Weave) -> Result<(String, Option<PathBuf>), Error> {
        let mut beside = None;
        for symbol in symbols(&woven.items) {
            for (index, text) in self.texts().enumerate() {
                if is_local(text.assembly.text(), symbol) {
                    if index > 0 {
                        return Err(Error::Woven(WeaveFault::LocalData {
                            symbol: symbol.to_owned(),
                            path: text.path.clone(),
                        }));
                    }
                    beside = Some(text.path.clone());
                }
            }
        }
        let guards = guards(name, &woven.guest.says);
        let text = match &beside {
            Some(_) => format!("{guards}{}\n{}", self.hosts[0].assembly.gnu_text().trim_end(), woven.text),
            None => guards + &woven.text,
        };
        Ok((text, beside))
    }

    pub(super) fn header(
        &self,
        pair: &Pair,
        (name, program): (&str, &Program),
        woven: &Weave,
        contract: &[String],
    ) -> String {
        let function = program.function(name).expect("it was proved");
        let said: Vec<Directive> =
            function.directives.iter().map(|written| written.directive.clone()).collect();
        let prototype = |texts: &[Text], function: &str, bytes: Vec<u32>, thread: &str| {
            let found = texts.iter().find_map(|text| Prototype::find(&text.written, function, bytes.len()));
            let is_found = found.is_some();
            (found.unwrap_or_else(|| Prototype::by_size(&bytes, thread)), is_found)
        };
        let bytes = |program: &Program, function: &str| says(program, function).arguments;
        let host = prototype(&self.hosts, &pair.host, bytes(&self.host_program, &pair.host), "host");
        let mut guest = prototype(
            std::slice::from_ref(&self.guest),
            &pair.guest_fn,
            bytes(&self.guest_program, &pair.guest_fn),
            "guest",
        );
        if woven.guest.arguments.is_empty() {
            guest.0.parameters.clear();
        }
        let header = Header {
            name,
            host: (&pair.host, host.0, host.1),
            guest: (&pair.guest_fn, guest.0, guest.1),
            says: &said,
            contract,
            granted: &woven.shares.granted,
        };
        header.text()
    }
}

/// What a function's directives say of it as a whole.
#[derive(Default)]
struct Says {
    chip: Option<String>,
    f_cpu_hz: Option<u64>,
    arguments: Vec<u32>,
    has_arguments: bool,
}

fn says(program: &Program, function: &str) -> Says {
    let mut says = Says::default();
    let written = program.function(function).map_or(&[][..], |function| &function.directives);
    for written in written {
        match &written.directive {
            Directive::Chip(name) => says.chip = Some(name.clone()),
            Directive::Frequency(hertz) => says.f_cpu_hz = Some(*hertz),
            Directive::Arguments(bytes) => {
                (says.arguments, says.has_arguments) = (bytes.clone(), true);
            }
            _ => {}
        }
    }
    says
}

/// What is said of a function's parameters is what its definition in C has, where that is found.
fn check_arguments(texts: &[Text], function: &str, says: &Says) -> Result<(), Error> {
    if !says.has_arguments {
        return Ok(());
    }
    let fits = |defined: &Prototype| {
        let bytes = defined.bytes();
        bytes.len() == says.arguments.len()
            && bytes.iter().zip(&says.arguments).all(|(has, said)| has.is_none_or(|has| has == *said))
    };
    let definitions = texts.iter().flat_map(|text| {
        Prototype::defined(&text.written, function).map(|defined| (text.path.clone(), defined))
    });
    let definitions: Vec<(PathBuf, Prototype)> = definitions.collect();
    match definitions.first() {
        Some((path, defined)) if !definitions.iter().any(|(_, defined)| fits(defined)) => {
            Err(Error::Woven(WeaveFault::Arguments {
                path: path.clone(),
                prototype: format!("{function}({})", defined.list()),
                found: says.arguments.clone(),
                expected: defined.bytes().into_iter().collect(),
            }))
        }
        _ => Ok(()),
    }
}

/// Both threads and the command line name one chip and one clock, as far as they name any.
fn agree(
    host: &Says,
    guest: &Says,
    named: Option<&str>,
    [host_name, guest_name]: [&str; 2],
) -> Result<(), Error> {
    if let (Some(found), Some(expected)) = (guest.chip.as_deref(), named)
        && found != expected
    {
        return differ(found, expected, guest_name);
    }
    if let (Some(found), Some(expected)) = (host.chip.as_deref(), guest.chip.as_deref().or(named))
        && found != expected
    {
        return differ(found, expected, host_name);
    }
    match (host.f_cpu_hz, guest.f_cpu_hz) {
        (Some(found), Some(expected)) if found != expected => {
            differ(&format!("{found} Hz"), &format!("{expected} Hz"), host_name)
        }
        _ => Ok(()),
    }
}

fn differ<T>(found: &str, expected: &str, function: &str) -> Result<T, Error> {
    let [found, expected, function] = [found, expected, function].map(str::to_owned);
    Err(Error::Woven(WeaveFault::Mistimed { found, expected, function }))
}

fn add(program: &mut Program, function: &str, directive: Directive) {
    let function = program.functions.iter_mut().find(|known| known.name == function);
    let function = function.expect("it was asked for and found");
    // No line says it: the command line does.
    function.directives.push(Written { directive, origin: Origin::Line { text: 0, line: 0 } });
}

/// The names in operands that only the linker knows.
fn symbols(items: &[Item]) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let expressions = items.iter().filter_map(|item| match item {
        // What is woven is jumped to by labels of its own.
        Item::Line(line) if line.target.is_none() => line.expression.as_deref(),
        _ => None,
    });
    let mut names: Vec<&str> = expressions
        .flat_map(|expression| expression.split(|c| !is_word(c)))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.')))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a text has a symbol that other texts cannot name.
fn is_local(text: &str, symbol: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (mut defined, mut visible) = (false, false);
    for line in text.lines() {
        let words = words(line);
        let Some(first) = words.first() else { continue };
        let names_it = words[1..].iter().any(|word| word == symbol);
        defined |= first.strip_suffix(':') == Some(symbol);
        match first.as_str() {
            ".global" | ".globl" | ".weak" => visible |= names_it,
            ".local" | ".lcomm" => defined |= names_it,
            _ => {}
        }
    }
    defined && !visible
}
