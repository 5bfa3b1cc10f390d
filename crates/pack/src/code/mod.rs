//! The codes that make programs smaller, a file each; [`table`] names them.

pub mod assign;
pub mod dict;
pub mod onfill;
pub mod packet;
pub mod table;

pub use table::Code;
