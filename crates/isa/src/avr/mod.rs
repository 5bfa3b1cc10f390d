//! The 8-bit AVR: ATmega128 and ATmega328P, cycle-exact, with their peripherals.

pub mod adc;
pub mod peripheral;
pub mod spi;
pub mod timer;
pub mod usart;

#[cfg(test)]
mod stepping;
