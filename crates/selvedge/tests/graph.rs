//! `selvedge node build --graph`: what is drawn is what the images of a cell have registered.
//!
//! The program is `graph/main.c`, which registers all eight; of those that are woven the build is given one, and that for
//! the ATmega128.

mod tree;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use selvedge::toolchain::Compiler;
use tempfile::TempDir;

/// `graph/main.c`, with so many frames in each pipe that both chips have room for them.
const SOURCES: &str = "flag -std=gnu99\nflag -Os\nflag -Wall\nflag -Wextra\nflag -Werror\nflag -ffunction-sections\n\
    flag -fdata-sections\nflag -fshort-enums\nflag -DPLAIN_FRAMES_MAX=2\nflag -DSEALED_FRAMES_MAX=1\n\
    flag -DHEARD_FRAMES_MAX=3\nflag -DOPENED_FRAMES_MAX=1\nflag -DSENT_BYTES_MAX=64\nlink -Wl,--gc-sections\n\
    link -Wl,-T,weave.ld\nsource main.c\nsource controller.c\nsource policy.c\nsource stand_clear.S\nsource kernel.S\n";

/// A tree with this program and sources; none after saying that there is no avr-gcc.
fn tree(main: &str, sources: &str) -> Option<TempDir> {
    if Compiler::find(&env::var_os("PATH").unwrap_or_default()).is_err() {
        println!("skip: drawings of thread controllers: found no avr-gcc");
        return None;
    }
    let tree = tree::copied();
    let node = tree.path().join("firmware/node");
    fs::write(node.join("main.c"), main).expect("it can be written");
    fs::write(node.join("sources.txt"), sources).expect("it can be written");
    // One is enough to be seen; each takes seconds.
    let list = node.join("filters_ascon.txt");
    let lines = fs::read_to_string(&list).expect("the list");
    let is_kept = |line: &&str| !line.starts_with("woven ") || line.starts_with("woven ascon_open_transmit ");
    let kept: Vec<&str> = lines.lines().filter(is_kept).collect();
    fs::write(&list, kept.join("\n")).expect("it can be written");
    Some(tree)
}

/// `selvedge node build` with these options.
fn build(tree: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let deployment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deployments/ecg.toml");
    command.args(["node", "build", deployment, "--out", "out", "--root", "."]).args(options);
    command.current_dir(tree).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().expect("it runs")
}

/// The words of a drawing's blocks, in order; without the markup around them.
fn texts(drawing: &str) -> Vec<&str> {
    drawing.split("<text ").skip(1).map(|text| text.split(['>', '<']).nth(1).unwrap_or("")).collect()
}

#[test]
fn what_an_image_registers_is_drawn_and_what_its_chip_has_no_room_for_is_missing() {
    let Some(tree) = tree(include_str!("graph/main.c"), SOURCES) else { return };
    for name in ["controller.svg", "controller.html"] {
        let output = build(tree.path(), &["--graph", name]);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
        assert!(String::from_utf8_lossy(&output.stdout).ends_with(&format!("thread controllers: {name}\n")));
    }
    let read = |name: &str| fs::read_to_string(tree.path().join(name)).expect("it was written");
    let drawing = read("controller.svg");
    let (large, small) =
        drawing.split_once("(node 4: atmega328p)</text>").expect("one drawing for each image");
    let (large, small) = (texts(large), texts(small));
    assert!(large.contains(&"Pipes and filters (nodes 1, 2, 3: atmega128)"), "{large:?}");
    for name in ["line_transmit", "room for 3 frames", "missing: its halves run in turn"] {
        assert!(large.contains(&name) && small.contains(&name), "{name}");
    }
    let woven = "ascon_open_transmit, woven";
    assert!(large.contains(&woven) && !small.contains(&woven), "it is woven for the ATmega128 alone");
    assert!(large.contains(&"5 of 8 filters registered") && small.contains(&"4 of 8 filters registered"));
    // The policy's first row and its last one, and the tasks with their priorities.
    for name in
        ["0 due", "done: a frame is due, possible now", "7 nothing waits", "left: otherwise", "250", "mac"]
    {
        assert!(large.contains(&name), "{name}: {large:?}");
    }
    let page = read("controller.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<h2 id=\"node-4-atmega328p\">"));
    assert_eq!(page.matches("<caption>Policy</caption>").count(), 2, "one for each image");
}

#[test]
fn an_image_without_a_controller_is_told_and_nothing_is_written() {
    // What is woven asks the sampler.
    let main = "volatile char sampler_matches_before[2], sampler_following[2], sampler_code[2], sampler_start_bits, \
                sampler_fetched;\nint main(void) { return 0; }\n";
    let Some(tree) = tree(main, "flag -Os\nsource main.c\n") else { return };
    let output = build(tree.path(), &["--graph", "controller.html"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: the image of node 1 has no thread controller to draw\n\
         help: a program that calls `controller_register` and `controller_start` has one \
         (firmware/node/controller.h)\n"
    );
    let is_written = |name: &str| tree.path().join(name).exists();
    assert!(!is_written("controller.html") && !is_written("out/cell-7/atmega328p.elf"));
    assert!(build(tree.path(), &[]).status.success(), "the image itself is fine");
    assert!(is_written("out/cell-7/atmega328p.elf"));
}
