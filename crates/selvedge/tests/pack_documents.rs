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

/// Runs the blocks of `pack` one after the other; how many there are.
fn works(document: &str) -> usize {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["corpus", "data", "README.md"] {
        symlink(root().join(name), folder.path().join(name)).expect("a temporary folder takes it");
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_selvedge")).parent().expect("it is in a folder");
    let path = std::env::var("PATH").expect("there is one");
    let blocks = blocks(document).into_iter().filter(|block| block.contains("selvedge pack "));
    let mut count = 0;
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
        assert!(told.contains("% of plain\n"), "{document}:\n{block}\n{told}");
        count += 1;
    }
    count
}

#[test]
fn what_the_readme_says_of_firmware_of_one_s_own_works() {
    assert_eq!(works("README.md"), 1);
}

#[test]
fn what_the_page_on_packing_says_works() {
    assert_eq!(works("docs/pack.md"), 3);
}
