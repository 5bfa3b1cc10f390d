//! The engine, through nothing but its PDUs.
//!
//! `asking` asks; `keys` holds what an owner and others can do, `store` what survives,
//! `second` another library where vectors are thin, `parts` that parts make the whole, `rubbish` any requests.

mod asking;
mod keys;
mod parts;
mod rubbish;
mod second;
mod store;
