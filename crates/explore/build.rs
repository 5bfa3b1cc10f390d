//! Compiles `firmware/crypto` for this machine, with its routines counting, for `src/native.rs`.
//!
//! Owns which files that are: all of the folders of layers, of limbs of 16 and of 32 bits each where they have limbs, and
//! what exploration asks them by. Files in assembly are a processor's and are left out; of the leaves of long numbers,
//! which have the same names in every variant, the plain ones are taken: all variants count the same.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of which every file is compiled once for each width of limbs.
const OF_LIMBS: [&str; 4] = ["crypto/mp", "crypto/modular", "crypto/curve", "crypto/primitives"];
/// Folders of which every file is compiled once.
const PLAIN: [&str; 2] = ["crypto/block", "crypto/hash"];
/// Other leaves in place of `mpn_c.c`.
const OTHER_LEAVES: &str = "mpn_unrolled.c";
/// What asks those of limbs.
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
    let asking = ["bench/explore.c", "bench/explore_symmetric.c", "bench/estimate.c", "crypto/rc4_c8.c"];
    let plain = PLAIN.iter().flat_map(|folder| sources(&firmware.join(folder)));
    library(&firmware).files(plain.chain(asking.map(|file| firmware.join(file)))).compile("explored");
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
        .filter(|path| !path.ends_with(OTHER_LEAVES))
        .collect();
    sources.sort();
    sources
}
