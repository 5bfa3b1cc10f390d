//! Compiles `firmware/crypto` for this machine, with its routines counting, for `src/native.rs`.
//!
//! Owns which files that are: all of the folders of layers, for limbs of 16 and of 32 bits each, and what exploration
//! asks them by. Files in assembly are a processor's and are left out.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of which every file is compiled once for each width of limbs.
const OF_LIMBS: [&str; 4] = ["crypto/mp", "crypto/modular", "crypto/curve", "crypto/primitives"];
/// What asks them.
const ASKING: [&str; 3] = ["bench/explore_mpn.c", "bench/explore_modular.c", "bench/explore_primitives.c"];
const WIDTHS: [&str; 2] = ["16", "32"];

fn main() {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo runs this"));
    let firmware = manifest.join("../../firmware");
    println!("cargo::rerun-if-changed={}", firmware.join("crypto").display());
    println!("cargo::rerun-if-changed={}", firmware.join("bench").display());
    for width in WIDTHS {
        let sources = OF_LIMBS.iter().flat_map(|folder| sources(&firmware.join(folder)));
        let sources = sources.chain(ASKING.map(|file| firmware.join(file)));
        library(&firmware).define("LIMB_BITS", width).files(sources).compile(&format!("limbs{width}"));
    }
    let once = ["bench/explore.c", "bench/estimate.c"].map(|file| firmware.join(file));
    library(&firmware).files(once).compile("explored");
}

fn library(firmware: &Path) -> cc::Build {
    let mut library = cc::Build::new();
    library.include(firmware).include(firmware.join("crypto")).define("SELVEDGE_COUNT", None);
    library.opt_level(2).std("c11").warnings(true).extra_warnings(true);
    library
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder of ours can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    sources
}
