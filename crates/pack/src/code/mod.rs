//! The codes that make programs smaller, a file each.

pub mod assign;
pub mod dict;
pub mod packet;
