//! A variant is a file and a line: a copy of the tree gets a variant of AES and a way to multiply residues, and ranks them
//! with nothing else changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use explore::image::{Choice, Image, Leaves};

/// What an example of the tree's own prints.
const RANKED: &str = include_str!("variant/ranked.rs");
/// The crates that the copy has, and the folders of firmware.
const CRATES: [&str; 2] = ["crates/explore", "crates/isa"];
const FIRMWARE: [&str; 2] = ["firmware/crypto", "firmware/bench"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room");
    for entry in fs::read_dir(from).expect("it is ours") {
        let path = entry.expect("it is ours").path();
        let beside = to.join(path.file_name().expect("it has a name"));
        if path.is_dir() {
            copy(&path, &beside);
        } else {
            fs::copy(&path, &beside).expect("there is room");
        }
    }
}

fn text(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: PathBuf, text: impl AsRef<str>) {
    fs::write(&path, text.as_ref()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A manifest without what tests and benches need.
fn plain(manifest: &str) -> String {
    let sections = manifest.split("\n[").filter(|section| {
        let wanted = ["dev-dependencies]", "[bench]]"];
        !wanted.iter().any(|begin| section.starts_with(begin))
    });
    sections.collect::<Vec<_>>().join("\n[")
}

/// A tree of these crates alone.
fn tree(to: &Path) {
    for folder in FIRMWARE {
        copy(&root().join(folder), &to.join(folder));
    }
    for name in CRATES {
        copy(&root().join(name).join("src"), &to.join(name).join("src"));
        write(to.join(name).join("Cargo.toml"), plain(&text(root().join(name).join("Cargo.toml"))));
    }
    copy(&root().join("crates/explore/native"), &to.join("crates/explore/native"));
    fs::copy(root().join("crates/explore/build.rs"), to.join("crates/explore/build.rs"))
        .expect("there is room");
    fs::copy(root().join("Cargo.lock"), to.join("Cargo.lock")).expect("there is room");
    let manifest = text(root().join("Cargo.toml"));
    let (before, after) = manifest.split_once("members = [").expect("it is a workspace");
    let (_, after) = after.split_once(']').expect("the list ends");
    write(to.join("Cargo.toml"), format!("{before}members = [\"crates/explore\", \"crates/isa\"]{after}"));
    fs::create_dir_all(to.join("crates/explore/examples")).expect("there is room");
    write(to.join("crates/explore/examples/ranked.rs"), RANKED);
}

/// A file and a line: AES by four tables under another name, and one of Montgomery's multiplications.
fn add_variants(tree: &Path) {
    let crypto = tree.join("firmware/crypto");
    write(crypto.join("block/aes_again.c"), "#define AES_T4 aes_again\n#include \"aes_t4.c\"\n");
    let line = "VARIANT_AES(again, (calls, words, substitutions), (calls, words, empty), \
                (calls, blocks, rounds, empty))\n";
    let list = text(crypto.join("variants.def"));
    write(
        crypto.join("variants.def"),
        list.replacen("VARIANT_DES(textbook", &format!("{line}VARIANT_DES(textbook"), 1),
    );
    let way = text(crypto.join("modular/modmul_cios.c")).replace("cios", "again");
    write(crypto.join("modular/modmul_again.c"), way);
    let line = "MULTIPLICATION(AGAIN, again, MONTGOMERY, sos_square, SQUARES, (calls, rows))\n";
    write(crypto.join("multiplications.def"), text(crypto.join("multiplications.def")) + line);
}

#[test]
fn a_file_and_a_line_are_a_variant_that_is_modelled_and_ranked() {
    if Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no compiler for RV32");
        println!("skip: a variant in a tree of its own: riscv64-unknown-elf-gcc is not installed");
        return;
    }
    // Always the same one, so that what cargo builds of it takes the place of what it built before.
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("variant");
    let folder = built.join("tree");
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    tree(&folder);
    add_variants(&folder);
    // This program's library is without them: what it counts would stand beside what another one takes.
    let other = Image::make(&folder, &Choice::of(Leaves::Plain), None).expect_err("it is another tree");
    assert!(matches!(other, explore::Error::OtherSources { .. }), "{other}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--offline", "-p", "explore", "--example", "ranked", "--"])
        .arg(&folder)
        .current_dir(&folder)
        .env("CARGO_TARGET_DIR", built)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .output()
        .expect("cargo runs this, too");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    println!("{said}");
    let row = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(&format!("{name} "))).expect(name);
        let numbers: Vec<&str> = line.splitn(3, ' ').collect();
        (numbers[1].parse::<f64>().expect("cycles"), numbers[2].to_owned())
    };
    // The same code: as many cycles, and as much code and tables of its own.
    for (one, other) in [("aes_t4", "aes_again"), ("modmul32_cios_multiply", "modmul32_again_multiply")] {
        let ((cycles, bytes), (again, bytes_again)) = (row(one), row(other));
        assert!(
            (again / cycles - 1.0).abs() < 0.01 && bytes == bytes_again,
            "{one}: {cycles} {again} {bytes} {bytes_again}"
        );
    }
    assert!(said.contains("756 candidates by again") && said.contains("the same power"), "{said}");
}
