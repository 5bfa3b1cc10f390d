//! A cell.
#![allow(missing_docs)]
pub mod beacon;
pub mod bus;
pub mod clock;
pub mod feed;
pub mod gateway;
pub mod inject;
pub mod limits;
