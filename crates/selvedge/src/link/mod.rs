//! The link from a node to the store: what a deployment says, and the keys that it needs.

pub mod certificates;
mod chip;
pub mod deployment;
mod diagnostic;
mod draft;
mod folder;
pub mod keys;
mod problem;
pub mod provision;
pub(crate) mod quantity;
mod recording;
mod schedule;
mod section;

pub use chip::{CHIPS, Chip};
pub use diagnostic::Problems;
pub use recording::Recording;
