//! The engine, through nothing but its PDUs.
//!
//! `asking` asks; `vectors` holds the official vectors against every operation, `keys` what an owner and others can do,
//! `rubbish` any requests.

mod asking;
mod keys;
mod rubbish;
mod vectors;
