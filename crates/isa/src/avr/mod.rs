//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.
//!
//! `table` lists the instructions, and the rest of the core follows from it: `bits` (words), `text` (assembly),
//! `places` (what is read and written), `exec` (what is done). A chip is data (`profile`, `atmega128`,
//! `atmega328p`), a peripheral is a state machine over cycles behind the seam in `peripheral`, and `chip` is the
//! door that users come in by. A line added to the table, the register maps or the list of peripherals (`units`)
//! makes the compiler name what is owed.
//!
//! Not modelled, and a fault when a program asks for it: TWI, the analog comparator (beyond switching it off),
//! clock division (XDIV, CLKPR), OSCCAL, the on-chip debugger, interrupt vectors in the boot section (IVSEL).
//! Not modelled, and without effect: PRR (a unit that is shut off still works), JTD, the brown-out detector, bus
//! keepers, and that external memory takes its pins from the ports.
//!
//! ```
//! use isa::avr::{ATMEGA128, Chip, Image, Stop, text};
//!
//! let program = ["ldi r16, 6", "ldi r17, 7", "mul r16, r17", "break"];
//! let words = program.iter().map(|line| text::parse(line).unwrap().encode().unwrap().0);
//! let flash = words.flat_map(u16::to_le_bytes).collect();
//! let mut chip = Chip::new(&ATMEGA128);
//! chip.load(&Image::from_flash(ATMEGA128.architecture, flash)).unwrap();
//! assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
//! assert_eq!((chip.register(0), chip.cycle()), (42, 5));
//! ```

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
