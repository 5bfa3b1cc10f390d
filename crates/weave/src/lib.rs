//! Software thread integration for AVR: interleaves a real-time thread (the guest) with a computing one (the
//! host), so that every timed instruction executes at exactly its cycle, and proves it.

mod alu;
pub mod analysis;
pub mod cdg;
pub mod cfg;
pub mod chip;
pub mod directive;
pub mod dominance;
pub mod dump;
pub mod error;
mod expression;
pub mod limits;
pub mod linked;
pub mod loops;
pub mod memory;
pub mod program;
pub mod proof;
pub mod registers;
pub mod slack;
pub mod source;
pub mod time;
mod transfer;
pub mod trips;
pub mod values;
