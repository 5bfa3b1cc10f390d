//! What README and docs/pack.md tell a new user to type works, word for word, in a folder that has `corpus/` and `data/`.

mod packed;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::HashMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use cipher::{OsRandomness, Randomness};
use packed::root;
use soak::is_soak;
use tempfile::TempDir;

fn text(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).expect("the repository has it")
}

/// A folder in which a new user types.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["corpus", "data", "README.md"] {
        symlink(root().join(name), folder.path().join(name)).expect("a temporary folder takes it");
    }
    folder
}

/// Runs a block of a document in a folder; what it tells on standard error.
fn typed(folder: &TempDir, block: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_selvedge")).parent().expect("it is in a folder");
    let path = std::env::var("PATH").expect("there is one");
    let shell = Command::new("sh")
        .args(["-eu", "-c", block])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", binary.display()))
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let told = String::from_utf8_lossy(&shell.stderr).into_owned();
    assert!(shell.status.success(), "{block}\n{told}");
    told
}

/// What a run says that it takes, in percent of plain: the last line of those that compare.
fn taken(told: &str) -> String {
    let last = told.lines().rev().find_map(|line| line.strip_suffix(" % of plain")?.rsplit(' ').next());
    last.unwrap_or_else(|| panic!("nothing is compared: {told}")).to_owned()
}

/// The blocks of a document that a shell reads and `pack` answers.
fn blocks(document: &str) -> Vec<String> {
    let text = text(document);
    let mut blocks = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, behind)) = rest.split_once("```sh\n") {
        let (block, behind) = behind.split_once("```\n").expect("a block ends");
        blocks.push(block.to_owned());
        rest = behind;
    }
    blocks.retain(|block| block.contains("selvedge pack "));
    blocks
}

/// A row of the table of images, as what stands in its columns.
struct Row {
    image: String,
    /// Flags of `build`, with those that the row before has where it says so.
    build: String,
    /// Flags of `run`.
    run: String,
    /// Cycles in percent of plain.
    cycles: String,
}

/// The table of a document whose columns are an image, flags of `build` and of `run`, and cycles.
fn table(document: &str) -> Vec<Row> {
    let text = text(document);
    let lines = text.lines().skip_while(|line| !line.starts_with("| image | `build` | `run` |"));
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[image, build, run, cycles] = cells.as_slice() else { panic!("{document}: {line}") };
        let flags = |cell: &str| cell.split('`').nth(1).unwrap_or_default().to_owned();
        let mut flags_of_build = flags(build);
        if build.starts_with("the same") {
            let before = rows.last().unwrap_or_else(|| panic!("{document}: the same as what: {line}"));
            flags_of_build = format!("{} {flags_of_build}", before.build).trim_end().to_owned();
        }
        let cycles = cycles.strip_suffix(" %").unwrap_or_else(|| panic!("{document}: {line}"));
        rows.push(Row {
            image: image.to_owned(),
            build: flags_of_build,
            run: flags(run),
            cycles: cycles.to_owned(),
        });
    }
    rows
}

/// The seed of a test: `SELVEDGE_SEED`, or else a fresh one. It is printed, so that a failure can be repeated.
fn seed() -> u64 {
    let seed = match std::env::var("SELVEDGE_SEED") {
        Ok(seed) => seed.parse().expect("SELVEDGE_SEED is a number"),
        Err(_) => {
            let mut bytes = [0; 8];
            OsRandomness.fill(&mut bytes).expect("the operating system has randomness");
            u64::from_le_bytes(bytes)
        }
    };
    println!("SELVEDGE_SEED={seed}");
    seed
}

#[test]
fn what_the_readme_says_of_firmware_of_one_s_own_works() {
    let blocks = blocks("README.md");
    assert_eq!(blocks.len(), 1);
    taken(&typed(&folder(), &blocks[0]));
}

/// Packing for a cache tries many ways: such an image that no block has is built in every other run, and in a long one.
#[test]
fn what_the_page_on_packing_says_works_and_takes_what_its_table_says() {
    let (folder, rows) = (folder(), table("docs/pack.md"));
    let taken_by_blocks: Vec<String> =
        blocks("docs/pack.md").iter().map(|block| taken(&typed(&folder, block))).collect();
    assert_eq!(rows.len(), 8, "a row was added: is it compared?");
    // The first block is of another input than the table.
    let of_blocks = ["and going on meanwhile, where stores wait", "and tagged, going on meanwhile"];
    let of_blocks: HashMap<&str, &String> = of_blocks.into_iter().zip(&taken_by_blocks[1..]).collect();
    assert_eq!((of_blocks.len(), taken_by_blocks.len()), (2, 3));
    let builds_dear = is_soak() || seed().is_multiple_of(2);
    let program = "corpus/sparc/minigzip.elf";
    let (mut built, mut compared) = (None, 0);
    for Row { image, build, run, cycles } in &rows {
        if let Some(&found) = of_blocks.get(image.as_str()) {
            assert_eq!(found, cycles, "{image}");
            compared += 1;
            continue;
        }
        if build.contains("--for-cache") && !builds_dear {
            println!("not compared: {image}");
            continue;
        }
        let opened = "row.spk --device-key device.key";
        if built != Some(build) {
            typed(&folder, &format!("selvedge pack build {program} -o {opened} {build}"));
            built = Some(build);
        }
        let flags = format!("--against {program} --stdin data/workload/texts/wizard.txt {run}");
        let told = typed(&folder, &format!("selvedge pack run {opened} {flags} > row.gz"));
        assert_eq!(taken(&told), *cycles, "{image}");
        compared += 1;
    }
    assert_eq!(compared, if builds_dear { 8 } else { 7 });
}
