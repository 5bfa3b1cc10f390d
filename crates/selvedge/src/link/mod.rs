//! The link from a node to the store: what a deployment says, and the keys that it needs.

pub mod bridge;
pub mod carrier;
pub mod catalogue;
pub mod certificates;
pub mod check;
mod chip;
pub mod deployment;
pub mod device;
mod diagnostic;
mod draft;
pub mod eeproms;
pub mod filters;
mod folder;
pub mod grid;
pub mod journal;
pub mod keeping;
pub mod keys;
pub mod launch;
pub mod layout;
pub mod leads;
mod problem;
pub mod provision;
pub mod quantity;
mod readiness;
mod recording;
pub mod reservations;
mod schedule;
pub mod sealing;
mod section;
pub mod service;
pub mod simulation;
pub mod waveform;

pub use chip::{CHIPS, Chip};
pub use diagnostic::Problems;
pub use recording::Recording;
