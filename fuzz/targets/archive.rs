//! Looks for bytes on which the reader of library members panics or hangs: as an archive, and as the one object of an
//! archive that is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weave::archive::Archive;

/// What is asked for.
const SYMBOL: &str = "f";

fuzz_target!(|bytes: &[u8]| {
    for archive in [bytes.to_vec(), of_one(bytes)] {
        if let Ok(archive) = Archive::parse("fuzzed", &archive) {
            let _ = archive.function(SYMBOL);
        }
    }
});

/// An archive whose symbol table has [`SYMBOL`] in its only member.
fn of_one(object: &[u8]) -> Vec<u8> {
    let header =
        |name: &str, len: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{len:<10}`\n", 0, 0, 0, 644);
    let mut symbols = [1u32.to_be_bytes(), [0; 4]].concat();
    symbols.extend(format!("{SYMBOL}\0").bytes());
    let mut archive = format!("!<arch>\n{}", header("/", symbols.len())).into_bytes();
    let member = (archive.len() + symbols.len()) as u32;
    symbols[4..8].copy_from_slice(&member.to_be_bytes());
    archive.extend(symbols);
    archive.extend(header("f.o/", object.len()).bytes());
    archive.extend(object);
    archive
}
