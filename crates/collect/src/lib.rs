//! The measurement server: opens every frame, stores it durably, and only then says so.

pub mod batch;
pub mod disk;
pub mod error;
pub mod frame;
pub mod limits;
pub mod read;
pub mod record;
pub mod replay;
pub mod segment;
pub mod store;
