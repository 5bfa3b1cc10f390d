//! Style as a test: what STYLE.md and ARCHITECTURE.md say and a machine can check, it checks here.
//!
//! Owns the walk over the tree and the list of rules; each rule is in `tidy/` by its noun, is a function from
//! text to faults, and is shown to fire. A message says what to do.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/licences.rs"]
mod licences;
#[path = "tidy/sizes.rs"]
mod sizes;
#[path = "tidy/syntax.rs"]
mod syntax;
#[path = "tidy/words.rs"]
mod words;

/// A text file of the repository.
struct Source {
    /// From the repository's root, with `/`.
    path: String,
    text: String,
}

/// What the build makes, what compilers made, and what git keeps.
const NOT_OURS: [&str; 8] = [
    ".git",
    "target",
    "out",
    "corpus",
    "fuzz/corpus",
    "fuzz/target",
    "witness/target",
    "witness/kryoptic/target",
];
/// What is read as text. Recordings and golden files are data.
const TEXT: [&str; 13] = ["rs", "toml", "md", "c", "h", "S", "s", "v", "py", "sh", "txt", "kat", "yml"];

fn root() -> PathBuf {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    Path::new(&manifest).join("../..").canonicalize().expect("the repository is there")
}

fn sources() -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    walk(&root, &root, &mut sources);
    assert!(
        sources.len() > 20,
        "found {} files below `{}`: this is not the repository",
        sources.len(),
        root.display()
    );
    sources
}

fn walk(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        let name =
            path.strip_prefix(root).expect("below the root").to_str().expect("a name is UTF-8").to_string();
        if NOT_OURS.contains(&name.as_str()) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, sources);
        } else if path.extension().and_then(|extension| extension.to_str()).is_some_and(|e| TEXT.contains(&e))
        {
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{name}`: {error}"));
            sources.push(Source { path: name, text });
        }
    }
}

/// Fails with every fault, one a line.
#[track_caller]
fn report(faults: &[String]) {
    assert!(faults.is_empty(), "\n\n{}\n", faults.join("\n"));
}

/// Applies a rule to every file.
#[track_caller]
fn everywhere(rule: impl Fn(&Source) -> Vec<String>) {
    report(&sources().iter().flat_map(rule).collect::<Vec<_>>());
}

#[test]
fn arrows_between_crates_point_down() {
    report(&arrows::faults(&sources()));
}

#[test]
fn files_and_functions_are_short() {
    everywhere(sizes::faults);
}

#[test]
fn files_say_what_they_own() {
    everywhere(words::opening);
}

#[test]
fn files_have_names_that_say_something() {
    everywhere(words::names);
}

#[test]
fn nothing_is_left_for_later_and_no_machine_is_named() {
    everywhere(words::banned);
}

#[test]
fn a_test_that_cannot_run_says_so_where_it_is_read() {
    everywhere(words::skips);
}

#[test]
fn only_the_roof_prints_and_only_named_files_do_io() {
    report(&syntax::everywhere(&sources()));
}

#[test]
fn every_error_has_a_test_and_help_names_a_verb_that_exists() {
    report(&words::errors(&sources()));
}

#[test]
fn what_ships_is_under_permissive_licences() {
    report(&licences::faults(&root()));
}
