//! What synthesis says of the decompressor: rtl/synthesis.csv, which `scripts/rtl.sh synth --csv` prints.
//!
//! Owns reading it, and that it is of the hardware and the script that are there. It is of the expander alone: what a core
//! needs besides, so that its program counter has slots, is not here (`rtl/README.md`), and is in the paper's number.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge::error::{Error, PackFault};
use sha2::{Digest, Sha256};

/// The decompressor without its dictionary, for SPARC.
const PART: &str = "expander-sparc";

/// The decompressor as hardware.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// In gates of the FPGA that the paper counts in.
    pub fpga_gates: f64,
    /// The gates of the paper's whole core, as it prints them.
    pub core_fpga_gates: f64,
    /// In gate equivalents of a 0.18 micron process.
    pub ge: f64,
    /// Beside the logic of a LEON2, in percent.
    pub leon2_logic_percent: f64,
    /// Bits of its dictionary.
    pub dictionary_bits: f64,
}

impl Area {
    /// From the source tree.
    ///
    /// # Errors
    /// Files that cannot be read, and a synthesis of other hardware.
    pub fn read(root: &Path) -> Result<Area, Error> {
        let path = root.join("rtl/synthesis.csv");
        let text = fs::read_to_string(&path).map_err(|error| Error::io("read", &path, error))?;
        let value = |part: &str, metric: &str, unit: &str| {
            let of_line = |line: &str| {
                let cells: Vec<&str> = line.split(',').collect();
                let [found, name, value, of] = cells[..] else { return None };
                ([found, name, of] == [part, metric, unit]).then(|| value.to_owned())
            };
            text.lines().find_map(of_line)
        };
        if value("rtl", "sources", "sha256") != Some(sources(root)?) {
            return Err(PackFault::Stale.of(&path));
        }
        let number = |part: &str, metric: &str, unit: &str| {
            let number = value(part, metric, unit).and_then(|value| value.parse::<f64>().ok());
            number.ok_or_else(|| PackFault::Stale.of(&path))
        };
        Ok(Area {
            fpga_gates: number(PART, "fpga_area", "gates")?,
            core_fpga_gates: number("paper", "core_fpga_area", "gates")?,
            ge: number(PART, "area", "GE")?,
            leon2_logic_percent: number(PART, "share_of_leon2_logic", "%")?,
            dictionary_bits: number("dictionary-256", "memory", "bits")?,
        })
    }
}

/// The digest of all Verilog, one file behind the other by name, and of the script that synthesises it.
fn sources(root: &Path) -> Result<String, Error> {
    let folder = root.join("rtl");
    let listed = fs::read_dir(&folder).map_err(|error| Error::io("read", &folder, error))?;
    let mut files: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "v"));
    files.sort();
    files.push(root.join("scripts/rtl.sh"));
    let mut digest = Sha256::new();
    for path in &files {
        digest.update(fs::read(path).map_err(|error| Error::io("read", path, error))?);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
