//! Compiles `firmware/crypto` for this machine, with its routines counting, for `src/native.rs`.
//!
//! Owns which files that are: all of the folders of layers, of limbs of 16 and of 32 bits each where they have limbs, and
//! what exploration asks them by. Files in assembly are a processor's and are left out; of the leaves of long numbers,
//! which have the same names in every variant, those in `native/` are taken where this machine has words for them, and
//! else the plain ones: all variants count the same, and answer so.
//!
//! And what is told of them: the ways to multiply residues, a line of `multiplications.def` each, as a choice for
//! `src/candidate.rs`; and the digest of all sources, those for processors too (`src/sources.rs`), by which an edited
//! library is known.

#[path = "src/sources.rs"]
mod sources;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sources::{ASKING_LIMBS, File, OF_LIMBS, PLAIN};

/// The leaves that any machine compiles, below `crypto/mp`, and those for words of 64 bits in which the lowest limb is first.
const LEAVES: [&str; 2] = ["mpn_c.c", "mpn_unrolled.c"];
const LEAVES_OF_WORDS: &str = "native/mpn_host.c";
const WIDTHS: [&str; 2] = ["16", "32"];

fn main() {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo runs this"));
    let firmware = manifest.join("../../firmware");
    println!("cargo::rerun-if-changed={}", firmware.join("crypto").display());
    println!("cargo::rerun-if-changed={}", firmware.join("bench").display());
    println!("cargo::rerun-if-changed={LEAVES_OF_WORDS}");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo runs this"));
    fs::write(out.join("multiplications.rs"), multiplications(&firmware))
        .expect("cargo's folder can be written");
    let all_of = |folder: &str| -> Result<Vec<File>, String> {
        files(&firmware.join(folder)).into_iter().map(read).collect()
    };
    let digest = sources::digest(all_of).unwrap_or_else(|error| panic!("{error}"));
    println!("cargo::rustc-env=EXPLORE_SOURCES={digest}");
    let has_words = [("CARGO_CFG_TARGET_POINTER_WIDTH", "64"), ("CARGO_CFG_TARGET_ENDIAN", "little")]
        .iter()
        .all(|(name, value)| env::var(name).is_ok_and(|found| found == *value));
    let leaves = match has_words {
        true => manifest.join(LEAVES_OF_WORDS),
        false => firmware.join("crypto/mp").join(LEAVES[0]),
    };
    for width in WIDTHS {
        let files = OF_LIMBS.iter().flat_map(|folder| compiled(&firmware.join(folder)));
        let files = files.chain(ASKING_LIMBS.map(|file| firmware.join(file))).chain([leaves.clone()]);
        library(&firmware).define("LIMB_BITS", width).files(files).compile(&format!("limbs{width}"));
    }
    let asking = ["bench/explore.c", "bench/explore_symmetric.c", "bench/estimate.c", "crypto/rc4_c8.c"];
    let plain = PLAIN.iter().flat_map(|folder| compiled(&firmware.join(folder)));
    library(&firmware).files(plain.chain(asking.map(|file| firmware.join(file)))).compile("explored");
}

/// A file for the digest.
fn read(path: PathBuf) -> Result<File, String> {
    let bytes = fs::read(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok((path.file_name().unwrap_or_default().as_encoded_bytes().to_vec(), bytes))
}

/// The choice that the lines of `multiplications.def` are, by their names.
fn multiplications(firmware: &Path) -> String {
    let path = firmware.join("crypto/multiplications.def");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let (mut variants, mut switches) = (String::new(), String::new());
    for line in text.lines().filter_map(|line| line.strip_prefix("MULTIPLICATION(")) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let [_, name, _, _, switch, ..] = fields[..] else { panic!("`{}`: {line}", path.display()) };
        let variant = name[..1].to_uppercase() + &name[1..];
        let switch = switch[..1].to_owned() + &switch[1..].to_lowercase();
        variants += &format!("/// `modmul_{name}.c`.\n{variant} \"{name}\"\n");
        switches += &format!("Multiplication::{variant} => Switches::{switch},\n");
    }
    format!(
        "choices! {{\n/// How two residues are multiplied; `firmware/crypto/modular/modmul.h` says what each does.\n\
         Multiplication, \"multiplication\":\n{variants}}}\n\
         impl Multiplication {{\n/// What candidates of it differ in.\n\
         pub fn switches(self) -> Switches {{ match self {{\n{switches}}} }}\n}}\n"
    )
}

fn library(firmware: &Path) -> cc::Build {
    let mut library = cc::Build::new();
    library.include(firmware).include(firmware.join("crypto")).define("SELVEDGE_COUNT", None);
    library.opt_level(2).std("c11").warnings(true).extra_warnings(true);
    library
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("a folder of ours can be read").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The files of a folder that are compiled.
fn compiled(folder: &Path) -> Vec<PathBuf> {
    let mut files = files(folder);
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.retain(|path| !LEAVES.iter().any(|leaves| path.ends_with(leaves)));
    files
}
