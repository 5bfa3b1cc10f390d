//! What texts are refused for, in words. Each file of `tests/refused` is read for the function `f`; beside it stands
//! what the error says. Each of `tests/refused/weaving` has a host `f` and a guest `g`, some a server `s`, that are not woven. `make bless`
//! writes the words anew.

use std::collections::BTreeSet;
use std::path::Path;

use expect_test::expect_file;
use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::error::Error;
use weave::plan::Strategy;
use weave::program::Program;
use weave::source::Source;
use weave::{Request, weave};

fn refusal(name: &str, text: &str) -> Option<Error> {
    // The one that is about a missing chip is read without one.
    let core = (name != "no_chip").then_some(CoreType::AvrePc2);
    let parameters: Parameters = [("N", 16)].into_iter().collect();
    let read = |source: Source| Program::read(&[source], &["f"], &parameters, core);
    Source::parse(&format!("{name}.s"), text).and_then(read).err()
}

/// Why `f` and `g` of a text are not woven; those whose name begins so, by cocalls.
fn unwoven(name: &str, text: &str) -> Option<weave::error::Refusal> {
    let source = Source::parse(&format!("{name}.s"), text).unwrap_or_else(|error| panic!("{error}"));
    let read = |root| {
        let sources = std::slice::from_ref(&source);
        let read = Program::read(sources, &[root], &Parameters::new(), Some(CoreType::AvrePc2));
        read.unwrap_or_else(|error| panic!("{error}")).0
    };
    let (host_program, guest_program) = (read("f"), read("g"));
    let server = text.contains("\ns:").then(|| read("s"));
    let servers: Vec<(&Program, &str)> = server.iter().map(|program| (program, "s")).collect();
    let (strategy, is_coupled) = match name {
        "cocall_coupled" => (Strategy::Cocall, true),
        _ if name.starts_with("cocall_") => (Strategy::Cocall, false),
        _ => (Strategy::Interleave, false),
    };
    let request = Request {
        host_program: &host_program,
        host: "f",
        guest_program: &guest_program,
        guest: "g",
        servers: &servers,
        name: "both",
        growth_max: 3.0,
        strategy,
        is_coupled,
    };
    weave(&request).err()
}

/// Compares what is said of each text of a folder, and returns the variants that were seen.
fn said<E: std::fmt::Display + std::fmt::Debug>(
    folder: &str,
    refusal: impl Fn(&str, &str) -> Option<E>,
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
        let variant = format!("{error:?}");
        seen.insert(variant.split([' ', '{']).next().unwrap_or_default().to_owned());
    }
    seen
}

#[test]
fn each_refusal_says_what_is_wrong_where_and_how_to_put_it_right() {
    let seen = said("refused", refusal);
    assert!(seen.len() >= 32, "{} kinds of refusal: {seen:?}", seen.len());
}

#[test]
fn each_reason_for_not_weaving_is_said() {
    let seen = said("refused/weaving", unwoven);
    assert!(seen.len() >= 24, "{} kinds of refusal: {seen:?}", seen.len());
}

#[test]
fn a_function_in_two_texts_is_refused() {
    let text = ".global f\nf: ret\n";
    let sources = ["one.s", "two.s"].map(|name| Source::parse(name, text).unwrap());
    let read = Program::read(&sources, &["f"], &Parameters::new(), Some(CoreType::AvrePc2));
    let words = read.unwrap_err().to_string();
    assert_eq!(words, "function `f` is there twice: in one.s and in two.s");
}

#[test]
fn an_address_whose_name_is_a_local_label_of_two_texts_is_refused() {
    let text = |name: &str, more: &str| {
        format!(".global {name}\n{name}: ldi r30, lo8(.LC0)\n{more} ret\n.data\n.LC0: .byte 1\n")
    };
    let sources = [("one", ""), ("two", " rcall one\n")]
        .map(|(name, more)| Source::parse(&format!("{name}.s"), &text(name, more)).unwrap());
    let read = Program::read(&sources, &["two"], &Parameters::new(), Some(CoreType::AvrePc2));
    let words = read.unwrap_err().to_string();
    assert!(words.contains("`.LC0` is something else in"), "{words}");
    // One of them alone is not in doubt.
    Program::read(&sources[..1], &["one"], &Parameters::new(), Some(CoreType::AvrePc2)).unwrap();
}
