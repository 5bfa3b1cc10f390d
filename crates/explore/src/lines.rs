//! Which line of which source an instruction of an image is of.
//!
//! Owns asking the compiler's `addr2line`. Only images that tell of secrets have lines: others are compiled without.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::error::Error;
use crate::image::Image;

/// Of the package `binutils-riscv64-unknown-elf`.
const PROGRAM: &str = "riscv64-unknown-elf-addr2line";
/// The folder that sources are named from.
const FOLDER: &str = "/firmware/";

/// The line of each address, as `crypto/block/aes_t4.c:31`; `?` where there is none.
///
/// # Errors
/// The program is missing, or fails.
pub fn of(image: &Image, addresses: &[u32]) -> Result<Vec<String>, Error> {
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let io_error = |action, path: &Path, error: io::Error| Error::Io {
        action,
        path: path.to_path_buf(),
        why: error.to_string(),
    };
    let file = tempfile::NamedTempFile::new()
        .map_err(|error| io_error("create a file in", &std::env::temp_dir(), error))?;
    fs::write(file.path(), image.elf()).map_err(|error| io_error("write", file.path(), error))?;
    let mut command = Command::new(PROGRAM);
    command.arg("-e").arg(file.path()).args(addresses.iter().map(|address| format!("{address:#x}")));
    let output = command.env("LC_ALL", "C").output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::NoCompiler { program: PROGRAM, package: "binutils-riscv64-unknown-elf" }
        }
        _ => io_error("run", Path::new(PROGRAM), error),
    })?;
    let words = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<String> = words.lines().map(place).collect();
    if lines.len() != addresses.len() {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::Compile { what: PROGRAM.to_owned(), words });
    }
    Ok(lines)
}

/// A line as it is said, from the folder of sources on.
fn place(said: &str) -> String {
    let said = said.split(" (discriminator").next().unwrap_or(said);
    let parts = Path::new(said).components();
    let mut names: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
    // `a/../b` is b: the compiler is given paths from other folders.
    while let Some(up) = names.iter().skip(1).position(|name| name == "..").map(|place| place + 1) {
        names.drain(up - 1..=up);
    }
    let path = names.join("/");
    match path.rsplit_once(FOLDER) {
        Some((_, line)) => line.to_owned(),
        None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_from_the_folder_of_sources_on() {
        assert_eq!(place("/a/crates/../firmware/crypto/modular/../mp/carry.h:31"), "crypto/mp/carry.h:31");
        assert_eq!(place("/a/firmware/crypto/rc4_c8.c:7 (discriminator 3)"), "crypto/rc4_c8.c:7");
        assert_eq!(place("??:0"), "?");
    }
}
