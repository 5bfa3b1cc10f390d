//! What a loader leaves in a board's memory for the start files of `corpus/`: an archive of arguments, standard input
//! and files (cpio, `newc`).
//!
//! Owns the archive's form. Who reads it is `firmware/workload/start/serve.c`; a program of one's own may ignore it.

use isa::sparc::Files;

/// Where it is.
pub const ARCHIVE_FIRST: u32 = 0x4200_0000;
/// How wide a field of a header is, in hex digits.
const MAGIC: &[u8] = b"070701";
/// A regular file that its owner may write.
const MODE: usize = 0o100_644;

/// The archive's bytes.
pub fn archive(arguments: &[&str], files: &Files) -> Vec<u8> {
    let told: Vec<u8> = arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect();
    let streams = [("arguments", &told), ("stdin", &files.input)];
    let named = files.named.iter().map(|(name, bytes)| (name.as_str(), bytes));
    let mut archive = Vec::new();
    for (name, bytes) in streams.into_iter().chain(named).chain([("TRAILER!!!", &Vec::new())]) {
        let fields = [0, MODE, 0, 0, 1, 0, bytes.len(), 0, 0, 0, 0, name.len() + 1, 0];
        archive.extend(MAGIC);
        fields.iter().for_each(|field| archive.extend(format!("{field:08x}").bytes()));
        archive.extend(name.bytes().chain([0]));
        pad(&mut archive);
        archive.extend(bytes);
        pad(&mut archive);
    }
    archive
}

/// Names and contents begin at multiples of four bytes.
fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}
