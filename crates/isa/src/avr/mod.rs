//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.

pub mod adc;
pub mod eeprom;
pub mod peripheral;
pub mod spi;
pub mod spm;
pub mod timer;
pub mod usart;
pub mod watchdog;

#[cfg(test)]
mod stepping;
