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

/// Prints a table by three functions, and needs no C library.
const OWN: &str = r#"
static long call(long number, long first, long second, long third) {
    register long a0 __asm__("a0") = first;
    register long a1 __asm__("a1") = second;
    register long a2 __asm__("a2") = third;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}
__attribute__((noinline)) static unsigned collatz(unsigned n) {
    unsigned steps = 0;
    for (; n != 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}
__attribute__((noinline)) static void print(unsigned n) {
    char text[12];
    int at = sizeof text;
    text[--at] = '\n';
    do text[--at] = '0' + n % 10; while (n /= 10);
    call(64, 1, (long)(text + at), (long)sizeof text - at);
}
void _start(void) {
    for (unsigned n = 1; n <= 100; n++) print(collatz(n));
    call(93, 0, 0, 0);
}
"#;

#[test]
fn the_four_commands_take_a_program_that_was_linked_a_moment_ago() {
    const COMPILER: &str = "riscv64-unknown-elf-gcc";
    if Command::new(COMPILER).arg("--version").output().is_err() {
        println!("skip: packing a program of one's own: {COMPILER} is not installed");
        return;
    }
    let folder = folder();
    std::fs::write(folder.path().join("own.c"), OWN).expect("a temporary folder takes it");
    typed(&folder, &format!("{COMPILER} -march=rv32im -mabi=ilp32 -O2 -nostdlib -Wl,-q own.c -o own.elf"));
    let block = &blocks("docs/pack.md")[0];
    let own = block
        .replace("corpus/sparc/minigzip.elf", "own.elf")
        .replace(" --stdin README.md > readme.gz", " > printed");
    assert!(!own.contains("corpus") && own.contains("> printed"), "{own}");
    taken(&typed(&folder, &own));
    let printed = std::fs::read_to_string(folder.path().join("printed")).expect("it was printed");
    let steps = |mut n: u32| {
        let step = |n: u32| if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
        (0_u32..)
            .find(|_| {
                n == 1 || {
                    n = step(n);
                    false
                }
            })
            .expect("all of these end")
    };
    let expected: String = (1..=100).map(|n| format!("{}\n", steps(n))).collect();
    assert_eq!(printed, expected);
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
