//! What texts are refused for, in words, a file each, and beside it what is said of it. Those of `tests/refused` are
//! read for the function `f`. Those of `tests/refused/weaving` have a host `f` and a guest `g`, some servers `s` and
//! `t`, that are not woven. Those of `tests/refused/proving` have a function `f` that is not proved. Those of
//! `tests/refused/linked` are linked for the chip that their first line names, and `f` is read from that. A text may be
//! several, each behind a line `;;; NAME`. `make bless` writes the words anew.
//!
//! Every variant of the enums that these words come from has a file here: their sources are read for them.

mod tools;

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::path::Path;
use std::process::Command;

use expect_test::expect_file;
use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::error::{Error, Refusal};
use weave::limits::SOURCE_BYTES_MAX;
use weave::linked::{self, LinkedError};
use weave::plan::Strategy;
use weave::program::Program;
use weave::proof::{Options, Violation, prove};
use weave::source::Source;
use weave::{Request, weave};

/// The sources of a text.
fn sources(name: &str, text: &str) -> Result<Vec<Source>, Error> {
    if name == "source_bytes" {
        let long = text.to_owned() + &" ".repeat(SOURCE_BYTES_MAX + 1 - text.len());
        return Ok(vec![Source::parse("source_bytes.s", &long)?]);
    }
    match text.split_once(";;; ") {
        None => Ok(vec![Source::parse(&format!("{name}.s"), text)?]),
        Some((_, texts)) => texts
            .split(";;; ")
            .map(|text| {
                let (name, text) = text.split_once('\n').expect("a text has a name");
                Source::parse(name, text)
            })
            .collect(),
    }
}

fn read(name: &str, text: &str, root: &str) -> Result<Program, Error> {
    // The one that is about a missing chip is read without one.
    let core = (name != "no_chip").then_some(CoreType::AvrePc2);
    let parameters: Parameters = [("N", 16)].into_iter().collect();
    Ok(Program::read(&sources(name, text)?, &[root], &parameters, core)?.0)
}

fn unread(name: &str, text: &str) -> Option<Error> {
    read(name, text, "f").err()
}

fn program(name: &str, text: &str, root: &str) -> Program {
    read(name, text, root).unwrap_or_else(|error| panic!("{error}"))
}

fn unproved(name: &str, text: &str) -> Option<Violation> {
    let program = program(name, text, "f");
    prove(&program, program.function("f").expect("it is a root"), Options::default())
        .err()
        .map(|found| *found)
}

/// Assembles and links a text; one that names no chip is what is read.
fn unlinked(name: &str, text: &str) -> Option<LinkedError> {
    let (chip, _) = text.strip_prefix("; ").and_then(|text| text.split_once(':')).unwrap_or_default();
    if chip.is_empty() {
        return linked::program(text.as_bytes(), "f").err();
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [source, elf] = ["a.s", "a.elf"].map(|file| folder.path().join(file));
    std::fs::write(&source, text).expect("a file");
    let options = ["-nostartfiles", "-Wl,-e,0", "-o"];
    let mut gcc = Command::new("avr-gcc");
    let output =
        gcc.arg(format!("-mmcu={chip}")).args(options).args([&elf, &source]).output().expect("avr-gcc");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    linked::program(&std::fs::read(&elf).expect("the linked file"), "f").err()
}

/// Why `f` and `g` of a text are not woven; those whose name begins so, by cocalls or coupled.
fn unwoven(name: &str, text: &str) -> Option<Refusal> {
    let (host_program, guest_program) = (program(name, text, "f"), program(name, text, "g"));
    let polled = ["s", "t"].into_iter().filter(|server| text.contains(&format!("\n{server}:")));
    let polled: Vec<(Program, &str)> = polled.map(|server| (program(name, text, server), server)).collect();
    let servers: Vec<(&Program, &str)> = polled.iter().map(|(program, server)| (program, *server)).collect();
    let is_by_cocalls = name.starts_with("cocall_");
    let guest = if name == "no_function" { "elsewhere" } else { "g" };
    let request = Request {
        servers: &servers,
        strategy: if is_by_cocalls { Strategy::Cocall } else { Strategy::Interleave },
        is_coupled: name.starts_with("coupled_") || name == "cocall_coupled",
        ..Request::new((&host_program, "f"), (&guest_program, guest), "both")
    };
    weave(&request).err()
}

/// Compares what is said of each text of a folder, and returns the variants that were seen, as `Enum::Variant`.
fn said<E: Display>(
    folder: &str,
    refusal: impl Fn(&str, &str) -> Option<E>,
    variants: impl Fn(&E) -> Vec<String>,
) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut seen = BTreeSet::new();
    let entries = std::fs::read_dir(&folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("ASCII"));
    for name in names.collect::<BTreeSet<_>>() {
        let Some(stem) = name.strip_suffix(".s") else { continue };
        let text = std::fs::read_to_string(folder.join(&name)).expect("a text");
        let error = refusal(stem, &text).unwrap_or_else(|| panic!("{name} is not refused"));
        expect_file![folder.join(format!("{stem}.out"))].assert_eq(&format!("error: {error}\n"));
        seen.extend(variants(&error));
    }
    seen
}

/// `Enum::Variant` of a value.
fn variant(of: &str, value: &impl Debug) -> String {
    let value = format!("{value:?}");
    let name = value.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    format!("{of}::{name}")
}

/// Asserts that each variant of an enum was seen, but those that no text can have.
#[track_caller]
fn assert_all(source: &str, of: &str, seen: &BTreeSet<String>, but: &[&str]) {
    let body = source.split_once(&format!("pub enum {of} {{\n")).expect("the enum is there").1;
    let body = body.split_once("\n}\n").expect("an enum ends").0;
    let names = body.lines().filter_map(|line| {
        let line =
            line.strip_prefix("    ").filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))?;
        line.split(|c: char| !c.is_alphanumeric()).next()
    });
    let all: Vec<&str> = names.collect();
    assert!(all.len() > 2, "{of}: {all:?}");
    let is_seen = |name: &&str| seen.contains(&format!("{of}::{name}"));
    let missing: Vec<&&str> = all.iter().filter(|name| !is_seen(name) && !but.contains(name)).collect();
    assert!(missing.is_empty(), "no text is refused for {of}: {missing:?}");
    assert!(but.iter().all(|name| all.contains(name) && !is_seen(name)), "{of}: {but:?} have a text");
}

#[test]
fn each_refusal_says_what_is_wrong_where_and_how_to_put_it_right() {
    let seen = said("refused", unread, |error| {
        let inner = match error {
            Error::Directive { why, .. } => Some(variant("DirectiveFaultKind", &why.kind)),
            Error::Macro { why, .. } => Some(variant("MacroFault", why)),
            Error::Expression { why, .. } => Some(variant("ExpressionFaultKind", &why.kind)),
            _ => None,
        };
        inner.into_iter().chain([variant("Error", error)]).collect()
    });
    let source = include_str!("../src/error.rs");
    assert_all(source, "Error", &seen, &[]);
    assert_all(source, "MacroFault", &seen, &[]);
    assert_all(source, "DirectiveFaultKind", &seen, &[]);
    // A name that is not known is the linker's, but in directives.
    assert_all(include_str!("../src/expression.rs"), "ExpressionFaultKind", &seen, &["Name"]);
}

#[test]
fn each_reason_for_not_weaving_is_said() {
    let seen = said("refused/weaving", unwoven, |refusal| {
        let inner = match refusal {
            Refusal::InnerLoop { why, .. } => Some(variant("InnerLoop", why)),
            Refusal::Stack { why, .. } => Some(variant("StackFault", why)),
            _ => None,
        };
        inner.into_iter().chain([variant("Refusal", refusal)]).collect()
    });
    let source = include_str!("../src/error/refusal.rs");
    // No text is known whose ways no wait joins.
    assert_all(source, "Refusal", &seen, &["Unreachable"]);
    assert_all(source, "InnerLoop", &seen, &[]);
    assert_all(source, "StackFault", &seen, &[]);
}

#[test]
fn each_violation_is_said() {
    let seen = said("refused/proving", unproved, |violation| vec![variant("Kind", &violation.kind)]);
    // Texts are refused earlier for the first three, and so many states take minutes.
    let but = ["FallsOff", "NoPeriod", "UnknownTarget", "TooManyStates"];
    assert_all(include_str!("../src/proof/violation.rs"), "Kind", &seen, &but);
}

#[test]
fn each_fault_of_a_linked_file_is_said() {
    if !tools::present("faults of linked files", &["avr-gcc"]) {
        return;
    }
    let seen = said("refused/linked", unlinked, |error| vec![variant("LinkedError", error)]);
    assert_all(include_str!("../src/linked.rs"), "LinkedError", &seen, &[]);
}
