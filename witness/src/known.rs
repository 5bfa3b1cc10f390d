//! What simavr is known to do otherwise than the chip, and what stands for it on our side.
//!
//! Owns: the list of what random programs leave out. Every line has a program that shows the difference on both
//! simulators, so that a line which is no longer true fails; the datasheet's section; and the test of
//! `crates/isa` that holds our chip to the datasheet where simavr cannot be asked.
//! "Manual" is the AVR Instruction Set Manual (DS40002198), "128" the ATmega128's datasheet (doc 2467), "328P"
//! the ATmega328P's (DS40002061).

use isa::avr::{ATMEGA128, ATMEGA328P, Profile};

/// What the two are asked when the program has come to its BREAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A register.
    Register(u8),
    /// The stack pointer.
    StackPointer,
    /// The cycles since reset.
    Cycles,
}

/// A difference.
#[derive(Debug)]
pub struct Known {
    /// What the chip does.
    pub chip: &'static str,
    /// What simavr does.
    pub simavr: &'static str,
    /// Who says what the chip does.
    pub source: &'static str,
    /// A test of `crates/isa`: its file, and its name.
    pub test: (&'static str, &'static str),
    /// On which chip it is shown.
    pub profile: &'static Profile,
    /// The program that shows it; `|` ends a line.
    pub program: &'static str,
    /// Where it shows.
    pub shows: Shows,
    /// What our chip has there.
    pub ours: u64,
    /// What simavr has there.
    pub theirs: u64,
}

const INTERRUPTS: &str = "tests/avr_interrupts.rs";
const PERIPHERALS: &str = "tests/avr_peripherals.rs";
const REGISTERS: &str = "tests/avr_registers.rs";

/// Every known difference that a program of one chip can show.
pub const KNOWN: &[Known] = &[
    Known {
        chip: "takes four cycles from an instruction's end to the interrupt vector",
        simavr: "takes none",
        source: "128, \"Interrupt Response Time\"",
        test: (INTERRUPTS, "an_interrupt_takes_four_cycles_to_its_vector_and_the_vectors_jump_three"),
        profile: &ATMEGA128,
        // The falling edge of PD0, which the program itself drives, waits for SEI.
        program: "jmp start |break |.org 0x100 |start: |ldi r16, 0x10 |out SPH, r16 |sbi DDRD, 0 |sbi PORTD, 0
            |ldi r16, 2 |sts EICRA, r16 |ldi r16, 1 |out EIFR, r16 |out EIMSK, r16 |cbi PORTD, 0 |nop |nop |nop
            |sei |nop |nop |nop |nop",
        shows: Shows::Cycles,
        ours: 3 + 2 + 4 + 3 + 1 + 1 + 1 + 2 + 3 + 2 + 4,
        theirs: 3 + 2 + 4 + 3 + 1 + 1 + 1 + 2 + 3 + 2,
    },
    Known {
        chip: "wakes four cycles after the interrupt that ends sleep, before its entry",
        simavr: "wakes at once",
        source: "128, \"Interrupt Response Time\"",
        test: (INTERRUPTS, "waking_from_idle_takes_four_cycles_more"),
        profile: &ATMEGA128,
        program: "jmp start |.org 0x40 |break |.org 0x100 |start: |ldi r16, 0x10 |out SPH, r16 |ldi r16, 1
            |out TIMSK, r16 |ldi r16, 0x20 |out MCUCR, r16 |ldi r16, 1 |out TCCR0, r16 |sei |sleep",
        shows: Shows::Cycles,
        // TCCR0 is written in cycle 10; the flag rises 257 cycles later.
        ours: 10 + 257 + 4 + 4,
        theirs: 10 + 257,
    },
    Known {
        chip: "does not sleep while the sleep enable bit is clear",
        simavr: "sleeps",
        source: "128, \"MCU Control Register\", SE",
        test: (INTERRUPTS, "sleep_without_its_enable_bit_is_one_cycle_of_nothing"),
        profile: &ATMEGA328P,
        program: "ldi r24, 1 |sleep |ldi r24, 2 |break",
        shows: Shows::Register(24),
        ours: 2,
        theirs: 1,
    },
    Known {
        chip: "shows a written pin to IN two cycles later, through its synchronizer",
        simavr: "shows it at once",
        source: "128, \"Reading the Pin Value\"",
        test: (INTERRUPTS, "a_pin_that_is_written_reads_back_two_cycles_later"),
        profile: &ATMEGA128,
        program: "ldi r16, 0xff |out DDRB, r16 |out PORTB, r16 |in r24, PINB |break",
        shows: Shows::Register(24),
        ours: 0,
        theirs: 0xff,
    },
    Known {
        chip: "ignores what is written to PINx (newer chips toggle PORTx)",
        simavr: "toggles PORTx",
        source: "128, \"Register Description for I/O Ports\": PINx is read-only",
        test: (INTERRUPTS, "pins_resolve_from_direction_output_and_pull_up"),
        profile: &ATMEGA128,
        program: "ldi r16, 0x0f |out PINB, r16 |in r24, PORTB |break",
        shows: Shows::Register(24),
        ours: 0,
        theirs: 0x0f,
    },
    Known {
        chip: "has five pins at port G, and no bits for others",
        simavr: "keeps all eight bits",
        source: "128, \"Port G Data Register\"",
        test: (REGISTERS, "ports_have_the_bits_of_their_pins_alone"),
        profile: &ATMEGA128,
        program: "ldi r16, 0xff |sts PORTG, r16 |lds r24, PORTG |break",
        shows: Shows::Register(24),
        ours: 0x1f,
        theirs: 0xff,
    },
    Known {
        chip: "has one bit in RAMPZ; the others read zero",
        simavr: "keeps all eight bits, and reads past its flash with them",
        source: "128, \"RAM Page Z Select Register\"",
        test: (REGISTERS, "rampz_has_one_bit_and_elpm_wraps_with_it"),
        profile: &ATMEGA128,
        program: "ldi r16, 0xfe |out RAMPZ, r16 |in r24, RAMPZ |break",
        shows: Shows::Register(24),
        ours: 0,
        theirs: 0xfe,
    },
    Known {
        chip: "carries from the last byte of flash to the first",
        simavr: "carries into a bit of RAMPZ that is not there",
        source: "128, \"RAM Page Z Select Register\"; manual, ELPM",
        test: (REGISTERS, "rampz_has_one_bit_and_elpm_wraps_with_it"),
        profile: &ATMEGA128,
        program: "ldi r16, 1 |out RAMPZ, r16 |ldi r30, 0xff |ldi r31, 0xff |elpm r0, Z+ |in r24, RAMPZ |break",
        shows: Shows::Register(24),
        ours: 0,
        theirs: 2,
    },
    Known {
        chip: "begins with a stack pointer of zero",
        simavr: "begins with the end of its RAM, as newer chips do",
        source: "128, \"Stack Pointer\"",
        test: (
            REGISTERS,
            "the_stack_pointer_begins_at_zero_on_the_atmega128_and_at_the_end_of_ram_on_the_atmega328p",
        ),
        profile: &ATMEGA128,
        program: "nop |break",
        shows: Shows::StackPointer,
        ours: 0,
        theirs: 0x10ff,
    },
    Known {
        chip: "sets SPIF 17 cycles after a byte was written at f/2",
        simavr: "sets it after 16",
        source: "measured on hardware, see `isa::avr::spi`; 128, \"SPI Status Register\"",
        test: (PERIPHERALS, "spif_of_a_byte_at_half_the_clock_reads_set_17_cycles_after_the_write"),
        profile: &ATMEGA128,
        program: "ldi r16, 7 |out DDRB, r16 |ldi r16, 0x50 |out SPCR, r16 |ldi r16, 1 |out SPSR, r16
            |out SPDR, r16 |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop |nop
            |in r24, SPSR |break",
        shows: Shows::Register(24),
        ours: 0x01,
        theirs: 0x81,
    },
    Known {
        chip: "sets WCOL and loses a byte that is written while another is shifted",
        simavr: "starts anew with the second byte",
        source: "128, \"SPI Status Register\", WCOL",
        test: (PERIPHERALS, "bytes_written_every_18_cycles_at_half_the_clock_all_arrive_and_17_lose_one"),
        profile: &ATMEGA128,
        program: "ldi r16, 7 |out DDRB, r16 |ldi r16, 0x50 |out SPCR, r16 |out SPDR, r16 |nop |out SPDR, r16
            |in r24, SPSR |break",
        shows: Shows::Register(24),
        ours: 0x40,
        theirs: 0x00,
    },
    Known {
        chip: "sends ten bits for a character of eight without parity",
        simavr: "sends eleven",
        source: "128, \"USART\", \"Frame Formats\"",
        test: (PERIPHERALS, "a_usart_sends_and_receives_whole_characters"),
        profile: &ATMEGA128,
        // UDR0 is written in cycle 3, sixteen cycles are a bit, and from cycle 4 on there is a look every three.
        program: "out UBRR0L, r0 |ldi r16, 8 |out UCSR0B, r16 |out UDR0, r16 |wait: |sbis UCSR0A, 6 |rjmp wait |break",
        shows: Shows::Cycles,
        ours: 4 + 3 * 54 + 2,
        theirs: 4 + 3 * 59 + 2,
    },
    Known {
        chip: "stands still for four cycles when EEPROM is read",
        simavr: "does not",
        source: "128, \"EEPROM Control Register\", EERE",
        test: (PERIPHERALS, "the_eeprom_writes_reads_back_and_stalls_the_core"),
        profile: &ATMEGA128,
        program: "sbi EECR, 0 |nop |break",
        shows: Shows::Cycles,
        ours: 2 + 4 + 1,
        theirs: 2 + 1,
    },
    Known {
        chip: "holds the upper byte of a 16-bit register in TEMP until the lower one is written",
        simavr: "writes it at once",
        source: "128, \"Accessing 16-bit Registers\"",
        test: ("src/avr/timer/tests.rs", "sixteen_bit_count_is_read_and_written_whole_through_temp"),
        profile: &ATMEGA128,
        program: "ldi r16, 0x12 |out OCR1AH, r16 |in r24, OCR1AH |break",
        shows: Shows::Register(24),
        ours: 0,
        theirs: 0x12,
    },
];
