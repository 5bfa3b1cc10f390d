//! The folders that the library is made of, and the digest of all that is in them, by which an edited library is known.
//!
//! Owns which folders those are. It is a part of `build.rs`, too, which compiles them, and knows nothing of this crate;
//! reading files is the callers'.

use sha2::{Digest, Sha256};

/// Folders of which every file is compiled once for each width of limbs.
pub const OF_LIMBS: [&str; 4] = ["crypto/mp", "crypto/modular", "crypto/curve", "crypto/primitives"];
/// Folders of which every file is compiled once.
pub const PLAIN: [&str; 2] = ["crypto/block", "crypto/hash"];
/// What asks those of limbs.
pub const ASKING_LIMBS: [&str; 3] =
    ["bench/explore_mpn.c", "bench/explore_modular.c", "bench/explore_primitives.c"];
/// Folders that no other list has and that decide what rows say.
const BESIDE: [&str; 3] = ["crypto", "bench", "bench/rv32"];

/// A file: its name without folders, and what is in it.
pub type File = (Vec<u8>, Vec<u8>);

/// The first half of the SHA-256 of every file of the folders, in hexadecimal digits; `files` reads all of a folder of
/// `firmware`, in any order.
///
/// # Errors
/// Those of `files`.
pub fn digest<E>(files: impl Fn(&str) -> Result<Vec<File>, E>) -> Result<String, E> {
    let mut hash = Sha256::new();
    for folder in BESIDE.iter().chain(&OF_LIMBS).chain(&PLAIN) {
        let mut files = files(folder)?;
        files.sort();
        for part in files.iter().flat_map(|(name, bytes)| [name, bytes]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}
