//! The codes that make programs smaller, a file each.

pub mod packet;
