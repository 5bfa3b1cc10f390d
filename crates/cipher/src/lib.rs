//! The cipher suites by name, the keys and how they are derived, and the project's only test vectors.
//!
//! Owns: which suites exist and how long their keys, nonces and tags are ([`suites`]); secrets that wipe
//! themselves ([`keys`]); every derivation of one key from another ([`mod@derive`]); every nonce rule
//! ([`nonces`]). The ciphers themselves are well-kept libraries; the C of `firmware/crypto` is tested here
//! against them. Leaves to others: the bytes of frames, batches and segments, and every file and socket.
//!
//! Invariant: a secret is reachable only through a method named `expose`, is wiped when it is dropped, and is
//! in no `Debug`, `Display` or error of this crate.

pub mod derive;
pub mod error;
pub mod keys;
pub mod limits;
pub mod nonces;
pub mod suites;
pub mod vectors;

pub use derive::{CellKey, CellMaster, NodeMaster, StoreMaster, TrafficKey};
pub use error::{Error, Rejected};
pub use keys::Key;
pub use nonces::{NonceSource, OsRandomness, Randomness};
pub use suites::{Aead, Suite, Tag};
