//! The bridge: takes a cell's frames into its spool, has them sealed, sends them to the server, and frees them on
//! the server's receipt.
//!
//! Owns the order of those steps. Two tasks share the work: [`serve`] talks to the cell and owns the spool;
//! `uplink` talks to the broker and the server. It opens no frame and holds no key: batches are sealed, and
//! receipts opened, by the crypto core.
//!
//! Invariant: a batch leaves the spool only when a receipt that the crypto core has opened names its number and
//! nonce and tag of exactly what was sent.

pub mod contents;
mod file;
pub mod record;
mod reserve;
mod serve;
pub mod spool;
mod uplink;
mod way;
pub mod wire;

pub use serve::{Config, Stats, serve};
pub use uplink::Faults;
pub use way::{Address, Server};
