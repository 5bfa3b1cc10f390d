//! Tells the program which sources wove: the digest of all that a woven function follows from but its own text. What was
//! woven is found again by it (`src/toolchain/woven.rs`), by every program of the same sources.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What weaves: crates, by their sources, and the versions of what they are built with.
const WEAVERS: [&str; 3] = ["../weave/src", "../isa/src", "src"];
const VERSIONS: &str = "../../Cargo.lock";

fn main() {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo runs this"));
    let mut hash = Sha256::new();
    for source in WEAVERS.iter().chain([&VERSIONS]) {
        println!("cargo::rerun-if-changed={source}");
        for path in files(&manifest.join(source)) {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
            let name = path.strip_prefix(&manifest).expect("all begin there").as_os_str().as_encoded_bytes();
            for part in [name, &bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
    }
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=SELVEDGE_WEAVER={digest}");
}

/// A file, or all files below a folder, in the order of their names.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.into()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| files(path)).collect()
}
