//! The roof: wiring over every tool. What each verb prints is in its own file beside `main.rs`.
//!
//! Owns deployments and keys ([`link`]) and compilers ([`toolchain`]), and what is woven with them ([`weaving`]); leaves every loop over cycles,
//! packets or samples to a tool.

pub mod error;
pub mod exchange;
pub mod limits;
pub mod link;
pub mod stderr;
pub mod toolchain;
pub mod weaving;
pub mod whole;
