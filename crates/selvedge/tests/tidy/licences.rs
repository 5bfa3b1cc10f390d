//! The licences of what ships: everything that `selvedge` links, by what cargo says of it.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Command;

use spdx::{Expression, LicenseItem};

/// Licences under which what ships may be passed on with notice alone, and MPL-2.0, whose copyleft ends at
/// its own files.
const PERMITTED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "OpenSSL",
    "Unicode-3.0",
    "Zlib",
];

pub fn faults(root: &Path) -> Vec<String> {
    let cargo = env::var_os("CARGO").expect("cargo runs the tests");
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--package", "selvedge", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}\t{l}"])
        .current_dir(root)
        .output()
        .expect("cargo runs again");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo prints UTF-8");
    let packages: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    assert!(packages.len() > 10, "cargo tree lists {} packages: this is not the product", packages.len());
    packages.iter().filter_map(|(package, licence)| fault(package, licence)).collect()
}

fn fault(package: &str, licence: &str) -> Option<String> {
    // cargo appends ` (*)` to a package that it has printed before.
    let licence = licence.trim_end_matches(" (*)");
    let advice = "take another library, or keep it in a leaf package";
    match Expression::parse_mode(licence, spdx::ParseMode::LAX) {
        Err(_) => Some(format!("{package}: licence `{licence}` is no SPDX expression: {advice}")),
        Ok(expression) if expression.evaluate(|requirement| is_permitted(&requirement.license)) => None,
        Ok(_) => Some(format!("{package}: licence `{licence}` is not permissive: {advice}")),
    }
}

fn is_permitted(licence: &LicenseItem) -> bool {
    licence.id().is_some_and(|id| PERMITTED.contains(&id.name))
}

#[test]
fn copyleft_and_silence_are_found() {
    for sound in
        ["MIT", "MIT OR Apache-2.0", "GPL-2.0-only OR MIT", "MIT/Apache-2.0", "ISC AND (Apache-2.0 OR ISC)"]
    {
        assert_eq!(fault("a v1", sound), None);
    }
    for wrong in ["GPL-3.0-only", "LGPL-2.1-or-later", "AGPL-3.0", "MIT AND GPL-3.0-or-later", ""] {
        assert!(fault("a v1", wrong).is_some(), "{wrong}");
    }
}
