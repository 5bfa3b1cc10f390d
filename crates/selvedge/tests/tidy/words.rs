//! Words: how a file opens, what it may be called, what may not stand in it, and what errors owe.

use crate::Source;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 14] = [
    "util",
    "utils",
    "common",
    "helper",
    "helpers",
    "manager",
    "core",
    "types",
    "misc",
    "handler",
    "handlers",
    "stuff",
    "shared",
    "lib_internal",
];

/// Each line of code begins with what the file owns.
pub fn opening(source: &Source) -> Vec<String> {
    let mut lines = source.text.lines().skip_while(|line| line.starts_with("#!"));
    let first = lines.next().unwrap_or_default();
    let opens = match source.path.rsplit('.').next().unwrap_or_default() {
        "rs" => first.starts_with("//! "),
        "c" | "h" | "S" | "s" => ["//", "/*", ";", "# "].iter().any(|comment| first.starts_with(comment)),
        "v" => first.starts_with("//"),
        "py" => first.starts_with("\"\"\""),
        "sh" => first.starts_with("# "),
        _ => return Vec::new(),
    };
    if opens {
        return Vec::new();
    }
    vec![format!(
        "{}: open the file with what it owns and what it leaves to others, as a comment",
        source.path
    )]
}

/// The stem of every folder and file below the rooms.
pub fn names(source: &Source) -> Vec<String> {
    let rooms = ["crates/", "firmware/", "rtl/", "clients/", "witness/", "fuzz/"];
    if !rooms.iter().any(|room| source.path.starts_with(room)) {
        return Vec::new();
    }
    let stems = source.path.split('/').map(|part| part.split('.').next().unwrap_or_default());
    let empty: Vec<_> = stems.filter(|stem| EMPTY_NAMES.contains(stem)).collect();
    let fault = |name| format!("{}: `{name}` says nothing: name it by the noun that it owns", source.path);
    empty.into_iter().map(fault).collect()
}

/// What may not stand anywhere, and what to do instead. Spelt in halves, so that this file may stay.
const BANNED: [(&str, &str, &str); 10] = [
    ("FIX", "ME", "fix it, or open an issue"),
    ("TO", "DO", "do it, or open an issue"),
    ("XX", "X:", "do it, or open an issue"),
    ("to", "do!(", "write it, or leave the function out"),
    ("unimple", "mented!(", "write it, or leave the function out"),
    ("db", "g!(", "delete it"),
    ("/ho", "me/", "a path of one machine: make it relative, or take it from the caller"),
    ("/ro", "ot/", "a path of one machine: make it relative, or take it from the caller"),
    ("/wo", "rk/", "a path of one machine: make it relative, or take it from the caller"),
    ("/us", "r/local", "a path of one machine: find the program on PATH"),
];

pub fn banned(source: &Source) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for (head, tail, fix) in BANNED {
            let word = format!("{head}{tail}");
            if contains_word(line, &word) {
                faults.push(format!("{}:{}: `{word}` is banned: {fix}", source.path, index + 1));
            }
        }
    }
    faults.extend(temporary(source));
    faults
}

/// `word` in `line`, not as the tail of a longer one.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
}

/// A fixed temporary folder is shared with other users; tests and shell examples may name one.
fn temporary(source: &Source) -> Vec<String> {
    let word = concat!("/t", "mp");
    let code = source.path.ends_with(".rs") && source.path.contains("/src/");
    if !code {
        return Vec::new();
    }
    let product = source.text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = product.lines().enumerate().filter(|(_, line)| line.contains(word));
    let fault = |(index, _)| {
        format!("{}:{}: `{word}` is banned: take a folder from the caller", source.path, index + 1)
    };
    lines.map(fault).collect()
}

/// What a test says that cannot run here. `scripts/test.sh` gathers these lines, and reads no other spelling.
pub fn skips(source: &Source) -> Vec<String> {
    if !source.path.ends_with(".rs") || source.path.contains("/src/") {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for (at, _) in line.to_lowercase().match_indices(concat!('"', "sk", "ip")) {
            let words = line[at + 1..].strip_prefix(concat!("sk", "ip")).unwrap_or_default();
            let words = words.strip_prefix(" (machine)").unwrap_or(words);
            let said = words.strip_prefix(": ").and_then(|words| words.split_once(": "));
            if said.is_none_or(|(what, why)| what.is_empty() || why.is_empty()) {
                faults.push(format!(
                    "{}:{}: a skip is said as `skip: what: why`, or `skip (machine): what: why`",
                    source.path,
                    index + 1
                ));
            }
        }
    }
    faults
}

/// Every kind of problem of a deployment appears in a golden file, and a help line names only verbs that exist.
pub fn errors(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    let golden: String = golden_files();
    for (kind, words) in KINDS {
        if !golden.contains(words) {
            faults.push(format!(
                "no file in tests/cli shows `{kind}` (`{words}`): drop one that does, `# FAIL: ...`"
            ));
        }
    }
    let problem =
        sources.iter().find(|source| source.path.ends_with("src/link/problem.rs")).expect("it is there");
    let listed = |name: &str| KINDS.iter().any(|(kind, _)| *kind == name);
    for name in variants(&problem.text, "Kind") {
        if !listed(&name) {
            faults
                .push(format!("tests/tidy/words.rs: give `{name}` a line in KINDS and a file in tests/cli"));
        }
    }
    faults
}

/// Each kind of problem and words that only it says.
const KINDS: [(&str, &str); 42] = [
    ("SealedTooLate", "holds it if it is sent by"),
    ("VerifiedTooLate", "the node verifies the beacon until"),
    ("SealedPastDownlink", "the node seals the next one until"),
    ("NoRoomForFilters", "has no room for `woven` filters"),
    ("WovenTooLong", "a woven frame of"),
    ("Syntax", "extra `=`"),
    ("UnknownKey", "unknown key `"),
    ("MissingKey", "lacks the key `"),
    ("WrongType", "found a string, expected"),
    ("NotANumber", "` is not a duration"),
    ("NoUnit", "has no unit"),
    ("UnknownUnit", "is not a unit of"),
    ("TooFine", "is not a whole number of"),
    ("OutOfRange", "expected 0 to"),
    ("UnknownName", "unknown chip `"),
    ("Unfit", "tls is `off`, expected no"),
    ("NotADivider", "is not a divider of the SPI clock"),
    ("BadName", "is not a name"),
    ("Duplicate", "is taken already"),
    ("SlotTaken", "belongs to node"),
    ("Empty", "found no node"),
    ("SuperframeOverfull", "and the superframe has"),
    ("SlotTooShort", "and the slot has"),
    ("GuardTooShort", "more than the guard"),
    ("SamplesTooFast", "are too many samples"),
    ("FrameTooLong", "which fill a frame"),
    ("BatchTooLong", "which the crypto device seals at once"),
    ("SamplesNotWhole", "does not hold a whole number of samples"),
    ("NotFirst", "is not the first of a frame"),
    ("NoSuchRate", "the node cannot be set to"),
    ("BusTooFast", "a slave at"),
    ("BytesTooFast", "a byte every"),
    ("Recording", "recording `"),
    ("RecordingTooShort", "the recording lasts"),
    ("Clipped", "the converter sees"),
    ("Alone", "expected both or neither"),
    ("Legacy", "is a legacy suite: it has no tag"),
    ("NoFirmware", "no node's firmware speaks it"),
    ("RetainedWithNats", "those of former leases are never removed"),
    ("PinnedWithDeadlines", "Linux pins no thread that has deadlines"),
    ("a missing deployment", "failed to read `nowhere.toml`"),
    ("the JSON of an error", "{\"error\":{\"class\":\"input\""),
];

fn golden_files() -> String {
    // Where a deployment is checked, and where the configuration of a service is.
    let folders = ["run", "broker"].map(|name| crate::root().join("crates/selvedge/tests/cli").join(name));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("the folder is there"));
    let entries = entries.map(|entry| entry.expect("readable").path());
    let golden = entries.filter(|path| path.extension().is_some_and(|e| e == "stderr" || e == "stdout"));
    golden.map(|path| std::fs::read_to_string(path).expect("golden files are text")).collect()
}

fn variants(text: &str, name: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("the compiler has read it");
    let found = file.items.into_iter().find_map(|item| match item {
        syn::Item::Enum(item) if item.ident == name => Some(item),
        _ => None,
    });
    found.expect("the enum is there").variants.into_iter().map(|variant| variant.ident.to_string()).collect()
}

#[test]
fn words_that_may_not_stand_are_found() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    assert_eq!(opening(&source("a.rs", "//! Owns the door.\n")).len(), 0);
    assert_eq!(opening(&source("a.rs", "use std::fs;\n")).len(), 1);
    assert_eq!(opening(&source("a.c", "#include <x.h>\n")).len(), 1);
    assert_eq!(opening(&source("a.py", "#!/usr/bin/env python3\n\"\"\"Owns.\"\"\"\n")).len(), 0);
    assert_eq!(opening(&source("a.sh", "#!/bin/sh\nset -e\n")).len(), 1);
    assert_eq!(names(&source("crates/isa/src/avr/util.rs", "")).len(), 1);
    assert_eq!(names(&source("crates/common/src/lib.rs", "")).len(), 1);
    assert_eq!(names(&source("data/README.md", "")).len(), 0);
    for (head, tail, _) in BANNED {
        assert_eq!(banned(&source("a.md", &format!("see {head}{tail} there\n"))).len(), 1, "{head}{tail}");
    }
    assert_eq!(banned(&source("a.md", "a path such as src/work/x, or ../home/y\n")).len(), 0);
    assert_eq!(
        banned(&source("crates/a/src/a.rs", &format!("let x = \"{}/x\";\n", concat!("/t", "mp")))).len(),
        1
    );
    let says =
        |tail: &str| skips(&source("a.rs", &format!("println!(\"{}{tail}\");\n", concat!("sk", "ip")))).len();
    for sound in [": the chip: no compiler", " (machine): a disk: only root can mount"] {
        assert_eq!(says(sound), 0, "{sound}");
    }
    for spelling in
        ["ped: no compiler", ": no compiler", "PED: the chip: no compiler", "ping", " (root): a: b"]
    {
        assert_eq!(says(spelling), 1, "{spelling}");
    }
    assert_eq!(variants("enum Kind { A, B(u8) }", "Kind"), ["A", "B"]);
}
