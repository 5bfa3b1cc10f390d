//! The ATmega328P as data: memories, registers, vectors, pins.
//!
//! Source: ATmega328P datasheet (DS40002061), "Register Summary" and "Interrupt Vectors in ATmega328 and ATmega328P".
//! Owns nothing but numbers; `profile` says what they mean.

use super::external::{self, PIN_CHANGE_FIRST, Register::*};
use super::peripheral::Pin;
use super::profile::{Io, Port, Profile, Register, Vector};
use super::timer::{self, CAPTURE, COMPARE_A, Channel::*, OVERFLOW, Register::*, request};
use super::timing::CoreType;
use super::units::Unit;
use super::{adc, eeprom, spi, spm, usart, watchdog};

/// The ATmega328P.
pub static ATMEGA328P: Profile = Profile {
    name: "ATmega328P",
    core: CoreType::AvrePc2,
    architecture: 5,
    lesser_architectures: &[1, 2, 25, 3, 35, 4],
    flash_bytes: 32 * 1024,
    ram_bytes: 2048,
    eeprom_bytes: 1024,
    stack_reset: 0x08ff,
    rampz: false,
    external_memory: false,
    single_bit_sbi: true,
    pin_write_toggles: true,
    registers: REGISTERS,
    vectors: VECTORS,
    ports: &[
        Port { letter: b'B', pins: 0xff },
        Port { letter: b'C', pins: 0x7f },
        Port { letter: b'D', pins: 0xff },
    ],
    external: external::Config::ATMEGA328P,
    spi: spi::Config::ATMEGA328P,
    timers: timer::Model::Atmega328p,
    timer_inputs: &[pin(b'D', 4), pin(b'D', 5), pin(b'B', 0)],
    usarts: &[usart::Config::ATMEGA328P],
    adc: adc::Config::atmega328p,
    eeprom: eeprom::Model::Atmega328p,
    watchdog: watchdog::Model::Atmega328p,
    spm: spm::Config::atmega328p,
};

/// Interrupt vectors, the most urgent first.
const VECTORS: &[Vector] = &[
    Vector::unused("RESET"),
    Vector::from("INT0", Unit::External, 0),
    Vector::from("INT1", Unit::External, 1),
    Vector::from("PCINT0", Unit::External, PIN_CHANGE_FIRST),
    Vector::from("PCINT1", Unit::External, PIN_CHANGE_FIRST + 1),
    Vector::from("PCINT2", Unit::External, PIN_CHANGE_FIRST + 2),
    Vector::from("WDT", Unit::Watchdog, 0),
    Vector::from("TIMER2_COMPA", Unit::Timers, request(2, COMPARE_A)),
    Vector::from("TIMER2_COMPB", Unit::Timers, request(2, COMPARE_A + 1)),
    Vector::from("TIMER2_OVF", Unit::Timers, request(2, OVERFLOW)),
    Vector::from("TIMER1_CAPT", Unit::Timers, request(1, CAPTURE)),
    Vector::from("TIMER1_COMPA", Unit::Timers, request(1, COMPARE_A)),
    Vector::from("TIMER1_COMPB", Unit::Timers, request(1, COMPARE_A + 1)),
    Vector::from("TIMER1_OVF", Unit::Timers, request(1, OVERFLOW)),
    Vector::from("TIMER0_COMPA", Unit::Timers, request(0, COMPARE_A)),
    Vector::from("TIMER0_COMPB", Unit::Timers, request(0, COMPARE_A + 1)),
    Vector::from("TIMER0_OVF", Unit::Timers, request(0, OVERFLOW)),
    Vector::from("SPI_STC", Unit::Spi, 0),
    Vector::from("USART_RX", Unit::Usart0, 0),
    Vector::from("USART_UDRE", Unit::Usart0, 1),
    Vector::from("USART_TX", Unit::Usart0, 2),
    Vector::from("ADC", Unit::Adc, 0),
    Vector::from("EE_READY", Unit::Eeprom, 0),
    Vector::unused("ANALOG_COMP"),
    Vector::unused("TWI"),
    Vector::from("SPM_READY", Unit::Spm, 0),
];

const fn pin(port: u8, bit: u8) -> Pin {
    Pin { port, bit }
}

const fn row(address: u16, name: &'static str, io: Io, reset: u8) -> Register {
    Register::new(address, name, io, reset)
}

// Data-space address, name, what it is, value after reset.
#[rustfmt::skip]
const REGISTERS: &[Register] = &[
    row(0x23, "PINB",    Io::Input(b'B'),                           0x00),
    row(0x24, "DDRB",    Io::Direction(b'B'),                       0x00),
    row(0x25, "PORTB",   Io::Port(b'B'),                            0x00),
    row(0x26, "PINC",    Io::Input(b'C'),                           0x00),
    row(0x27, "DDRC",    Io::Direction(b'C'),                       0x00),
    row(0x28, "PORTC",   Io::Port(b'C'),                            0x00),
    row(0x29, "PIND",    Io::Input(b'D'),                           0x00),
    row(0x2a, "DDRD",    Io::Direction(b'D'),                       0x00),
    row(0x2b, "PORTD",   Io::Port(b'D'),                            0x00),
    row(0x35, "TIFR0",   Io::Timers(TifrOf(0)),                     0x00),
    row(0x36, "TIFR1",   Io::Timers(TifrOf(1)),                     0x00),
    row(0x37, "TIFR2",   Io::Timers(TifrOf(2)),                     0x00),
    row(0x3b, "PCIFR",   Io::External(Pcifr),                       0x00),
    row(0x3c, "EIFR",    Io::External(Eifr),                        0x00),
    row(0x3d, "EIMSK",   Io::External(Eimsk),                       0x00),
    row(0x3e, "GPIOR0",  Io::Plain { mask: 0xff },                  0x00),
    row(0x3f, "EECR",    Io::Eeprom(eeprom::Register::Eecr),        0x00),
    row(0x40, "EEDR",    Io::Eeprom(eeprom::Register::Eedr),        0x00),
    row(0x41, "EEARL",   Io::Eeprom(eeprom::Register::EearL),       0x00),
    row(0x42, "EEARH",   Io::Eeprom(eeprom::Register::EearH),       0x00),
    row(0x43, "GTCCR",   Io::Timers(Gtccr),                         0x00),
    row(0x44, "TCCR0A",  Io::Timers(TccrA(0)),                      0x00),
    row(0x45, "TCCR0B",  Io::Timers(TccrB(0)),                      0x00),
    row(0x46, "TCNT0",   Io::Timers(Tcnt(0)),                       0x00),
    row(0x47, "OCR0A",   Io::Timers(Ocr(0, A)),                     0x00),
    row(0x48, "OCR0B",   Io::Timers(Ocr(0, B)),                     0x00),
    row(0x4a, "GPIOR1",  Io::Plain { mask: 0xff },                  0x00),
    row(0x4b, "GPIOR2",  Io::Plain { mask: 0xff },                  0x00),
    row(0x4c, "SPCR",    Io::Spi(spi::Register::Spcr),              0x00),
    row(0x4d, "SPSR",    Io::Spi(spi::Register::Spsr),              0x00),
    row(0x4e, "SPDR",    Io::Spi(spi::Register::Spdr),              0x00),
    row(0x50, "ACSR",    Io::Unmodelled { harmless: 0x80 },         0x00),
    row(0x53, "SMCR",    Io::Smcr,                                  0x00),
    row(0x54, "MCUSR",   Io::ResetFlags { kept: 0 },                0x00),
    row(0x55, "MCUCR",   Io::McucrPullUps,                          0x00),
    row(0x57, "SPMCSR",  Io::Spm,                                   0x00),
    row(0x5d, "SPL",     Io::StackLow,                              0xff),
    row(0x5e, "SPH",     Io::StackHigh,                             0x08),
    row(0x5f, "SREG",    Io::Sreg,                                  0x00),
    row(0x60, "WDTCSR",  Io::Watchdog,                              0x00),
    row(0x61, "CLKPR",   Io::Unmodelled { harmless: 0x80 },         0x00),
    row(0x64, "PRR",     Io::Unmodelled { harmless: 0xef },         0x00),
    row(0x66, "OSCCAL",  Io::Unmodelled { harmless: 0 },            0x00),
    row(0x68, "PCICR",   Io::External(Pcicr),                       0x00),
    row(0x69, "EICRA",   Io::External(Eicra),                       0x00),
    row(0x6b, "PCMSK0",  Io::External(Pcmsk(0)),                    0x00),
    row(0x6c, "PCMSK1",  Io::External(Pcmsk(1)),                    0x00),
    row(0x6d, "PCMSK2",  Io::External(Pcmsk(2)),                    0x00),
    row(0x6e, "TIMSK0",  Io::Timers(TimskOf(0)),                    0x00),
    row(0x6f, "TIMSK1",  Io::Timers(TimskOf(1)),                    0x00),
    row(0x70, "TIMSK2",  Io::Timers(TimskOf(2)),                    0x00),
    row(0x78, "ADCL",    Io::Adc(adc::Register::AdcL),              0x00),
    row(0x79, "ADCH",    Io::Adc(adc::Register::AdcH),              0x00),
    row(0x7a, "ADCSRA",  Io::Adc(adc::Register::AdcsrA),            0x00),
    row(0x7b, "ADCSRB",  Io::Adc(adc::Register::AdcsrB),            0x00),
    row(0x7c, "ADMUX",   Io::Adc(adc::Register::Admux),             0x00),
    row(0x7e, "DIDR0",   Io::Plain { mask: 0x3f },                  0x00),
    row(0x7f, "DIDR1",   Io::Plain { mask: 0x03 },                  0x00),
    row(0x80, "TCCR1A",  Io::Timers(TccrA(1)),                      0x00),
    row(0x81, "TCCR1B",  Io::Timers(TccrB(1)),                      0x00),
    row(0x82, "TCCR1C",  Io::Timers(TccrC(1)),                      0x00),
    row(0x84, "TCNT1L",  Io::Timers(TcntL(1)),                      0x00),
    row(0x85, "TCNT1H",  Io::Timers(TcntH(1)),                      0x00),
    row(0x86, "ICR1L",   Io::Timers(IcrL(1)),                       0x00),
    row(0x87, "ICR1H",   Io::Timers(IcrH(1)),                       0x00),
    row(0x88, "OCR1AL",  Io::Timers(OcrL(1, A)),                    0x00),
    row(0x89, "OCR1AH",  Io::Timers(OcrH(1, A)),                    0x00),
    row(0x8a, "OCR1BL",  Io::Timers(OcrL(1, B)),                    0x00),
    row(0x8b, "OCR1BH",  Io::Timers(OcrH(1, B)),                    0x00),
    row(0xb0, "TCCR2A",  Io::Timers(TccrA(2)),                      0x00),
    row(0xb1, "TCCR2B",  Io::Timers(TccrB(2)),                      0x00),
    row(0xb2, "TCNT2",   Io::Timers(Tcnt(2)),                       0x00),
    row(0xb3, "OCR2A",   Io::Timers(Ocr(2, A)),                     0x00),
    row(0xb4, "OCR2B",   Io::Timers(Ocr(2, B)),                     0x00),
    row(0xb6, "ASSR",    Io::Timers(Assr),                          0x00),
    row(0xb8, "TWBR",    Io::Unmodelled { harmless: 0 },            0x00),
    row(0xb9, "TWSR",    Io::Unmodelled { harmless: 0 },            0xf8),
    row(0xba, "TWAR",    Io::Unmodelled { harmless: 0 },            0xfe),
    row(0xbb, "TWDR",    Io::Unmodelled { harmless: 0 },            0xff),
    row(0xbc, "TWCR",    Io::Unmodelled { harmless: 0 },            0x00),
    row(0xbd, "TWAMR",   Io::Unmodelled { harmless: 0 },            0x00),
    row(0xc0, "UCSR0A",  Io::Usart(0, usart::Register::UcsrA),      0x20),
    row(0xc1, "UCSR0B",  Io::Usart(0, usart::Register::UcsrB),      0x00),
    row(0xc2, "UCSR0C",  Io::Usart(0, usart::Register::UcsrC),      0x06),
    row(0xc4, "UBRR0L",  Io::Usart(0, usart::Register::UbrrL),      0x00),
    row(0xc5, "UBRR0H",  Io::Usart(0, usart::Register::UbrrH),      0x00),
    row(0xc6, "UDR0",    Io::Usart(0, usart::Register::Udr),        0x00),
];
