//! Bits that registers have and lack, and what they hold after reset, as the datasheets draw them.

mod assembler;

use isa::avr::{ATMEGA128, ATMEGA328P, Profile, Stop};

/// What `register` reads after all its bits were written.
fn kept(profile: &'static Profile, register: &str) -> u8 {
    let source = format!("ldi r16, 0xff |sts {register}, r16 |lds r24, {register} |break");
    let mut chip = assembler::chip(profile, &source);
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    chip.register(24)
}

#[test]
fn ports_have_the_bits_of_their_pins_alone() {
    // ATmega128, "Port G Data Register": PORTG4 to PORTG0. ATmega328P, "The Port C Data Register": bit 7 is "-".
    for (profile, register, pins) in [
        (&ATMEGA128, "PORTF", 0xff),
        (&ATMEGA128, "PORTG", 0x1f),
        (&ATMEGA128, "DDRG", 0x1f),
        (&ATMEGA328P, "PORTB", 0xff),
        (&ATMEGA328P, "PORTC", 0x7f),
        (&ATMEGA328P, "DDRC", 0x7f),
    ] {
        assert_eq!(kept(profile, register), pins, "{register} of the {}", profile.name);
    }
}

#[test]
fn rampz_has_one_bit_and_elpm_wraps_with_it() {
    // ATmega128, "RAM Page Z Select Register": bits 7 to 1 "will always be read as zero".
    assert_eq!(kept(&ATMEGA128, "RAMPZ"), 1);
    // The last byte of flash holds 0xff, the first is that of the first instruction.
    let source = "ldi r16, 1 |out RAMPZ, r16 |ldi r30, 0xff |ldi r31, 0xff
        elpm r20, Z+ |in r24, RAMPZ |elpm r21, Z |break";
    let mut chip = assembler::chip(&ATMEGA128, source);
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    assert_eq!([20, 21, 24, 30, 31].map(|r| chip.register(r)), [0xff, chip.flash()[0], 0, 0, 0]);
}

#[test]
fn the_stack_pointer_begins_at_zero_on_the_atmega128_and_at_the_end_of_ram_on_the_atmega328p() {
    // "Stack Pointer", initial values: 0 and RAMEND.
    for (profile, first) in [(&ATMEGA128, 0), (&ATMEGA328P, 0x08ff)] {
        assert_eq!(assembler::chip(profile, "nop").sp(), first, "{}", profile.name);
    }
}
