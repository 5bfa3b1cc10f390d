//! What README and docs/pack.md tell a new user to type works, word for word, in a folder that has `corpus/` and `data/`.

mod packed;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use packed::root;

/// The blocks of a document that a shell reads.
fn blocks(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(document)).expect("the repository has it");
    let mut blocks = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, behind)) = rest.split_once("```sh\n") {
        let (block, behind) = behind.split_once("```\n").expect("a block ends");
        blocks.push(block.to_owned());
        rest = behind;
    }
    blocks
}

/// Runs the blocks of `pack` one after the other; what the last command of each takes, in percent of plain.
fn works(document: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["corpus", "data", "README.md"] {
        symlink(root().join(name), folder.path().join(name)).expect("a temporary folder takes it");
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_selvedge")).parent().expect("it is in a folder");
    let path = std::env::var("PATH").expect("there is one");
    let blocks = blocks(document).into_iter().filter(|block| block.contains("selvedge pack "));
    let mut taken = Vec::new();
    for block in blocks {
        let shell = Command::new("sh")
            .args(["-eu", "-c", &block])
            .current_dir(folder.path())
            .env("PATH", format!("{}:{path}", binary.display()))
            .stdin(Stdio::null())
            .output()
            .expect("there is a shell");
        let told = String::from_utf8_lossy(&shell.stderr).into_owned();
        assert!(shell.status.success(), "{document}:\n{block}\n{told}");
        // The last of them compares, and says so.
        let last = told.lines().rev().find_map(|line| line.strip_suffix(" % of plain")?.rsplit(' ').next());
        taken.push(last.unwrap_or_else(|| panic!("{document}:\n{block}\n{told}")).to_owned());
    }
    taken
}

/// What the table of a document says that an image takes.
fn said(document: &str, image: &str) -> String {
    let text = std::fs::read_to_string(root().join(document)).expect("the repository has it");
    let row = text.lines().find_map(|line| line.strip_prefix(&format!("| {image} |")));
    let cell = row.and_then(|row| row.strip_suffix(" % |")?.rsplit(' ').next());
    cell.unwrap_or_else(|| panic!("{document}: no row of `{image}`")).to_owned()
}

#[test]
fn what_the_readme_says_of_firmware_of_one_s_own_works() {
    assert_eq!(works("README.md").len(), 1);
}

#[test]
fn what_the_page_on_packing_says_works_and_takes_what_its_table_says() {
    let taken = works("docs/pack.md");
    let images = ["and going on meanwhile, where stores wait", "and tagged, going on meanwhile"];
    // The first one is of another input than the table.
    assert_eq!(taken[1..], images.map(|image| said("docs/pack.md", image)));
}
