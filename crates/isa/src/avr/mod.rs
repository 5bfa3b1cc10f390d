//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.

pub mod adc;
pub mod atmega128;
pub mod atmega328p;
pub mod bits;
pub mod chip;
pub mod eeprom;
pub mod error;
mod exec;
pub mod external;
pub mod image;
mod io;
mod machine;
pub mod observer;
pub mod peripheral;
pub mod places;
mod ports;
pub mod profile;
mod sleep;
pub mod spi;
pub mod spm;
mod status;
#[cfg(test)]
mod stepping;
pub mod table;
pub mod text;
pub mod timer;
pub mod timing;
mod units;
pub mod usart;
pub mod vcd;
pub mod watchdog;

pub use atmega128::ATMEGA128;
pub use atmega328p::ATMEGA328P;
pub use bits::Instruction;
pub use chip::{Chip, ResetCause, Settings, Stop, Watch};
pub use error::{Fault, FaultKind, ImageError, TextError, Unencodable};
pub use image::Image;
pub use observer::{Observer, SleepMode};
pub use peripheral::{Drive, Effect, Pin};
pub use places::Set;
pub use profile::Profile;
pub use table::Opcode;
pub use timing::{CoreType, Cost};
pub use units::Unit;
