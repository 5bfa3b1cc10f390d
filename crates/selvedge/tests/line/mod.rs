//! The other end of a line: who answers a woven guest, and who reads what it sends. Knows levels and cycles only.

pub mod dmx;
pub mod spi;
