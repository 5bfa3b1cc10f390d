//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.

pub mod bits;
pub mod peripheral;
pub mod places;
pub mod table;
pub mod text;

pub use bits::Instruction;
pub use places::Set;
pub use table::{CoreType, Opcode};
