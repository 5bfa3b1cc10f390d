//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.

pub mod atmega128;
pub mod atmega328p;
pub mod bits;
pub mod error;
pub mod external;
pub mod image;
pub mod peripheral;
pub mod places;
pub mod profile;
pub mod table;
pub mod text;
pub mod timing;

pub use atmega128::ATMEGA128;
pub use atmega328p::ATMEGA328P;
pub use bits::Instruction;
pub use error::{Fault, FaultKind, ImageError, TextError, Unencodable};
pub use image::Image;
pub use places::Set;
pub use profile::Profile;
pub use table::Opcode;
pub use timing::{CoreType, Cost};
