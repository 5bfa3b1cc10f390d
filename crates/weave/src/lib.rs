//! Software thread integration for AVR: interleaves a real-time thread (the guest) with a computing one (the
//! host), so that every timed instruction executes at exactly its cycle, and proves it.

pub mod chip;
pub mod directive;
pub mod error;
mod expression;
pub mod limits;
pub mod program;
pub mod source;
