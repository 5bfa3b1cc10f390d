//! What stops a chip: BREAK, and what the chip does not define, as values that name the place.

mod assembler;

use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Fault, FaultKind, Image, ImageError, Profile, ResetCause, Stop};

fn fault(profile: &'static Profile, source: &str) -> Fault {
    let mut chip = assembler::chip(profile, source);
    match chip.run_until(100_000, &mut ()) {
        Stop::Fault(fault) => {
            assert_eq!(chip.fault(), Some(fault));
            // It stands still from then on.
            let cycle = chip.cycle();
            assert_eq!(chip.run_until(200_000, &mut ()), Stop::Fault(fault));
            assert_eq!(chip.cycle(), cycle);
            fault
        }
        stop => panic!("{source}: {stop:?}"),
    }
}

#[test]
fn a_break_ends_a_run_and_the_next_run_goes_on_behind_it() {
    let mut chip = assembler::chip(&ATMEGA128, "break |inc r20 |break");
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    assert_eq!((chip.pc(), chip.cycle(), chip.register(20)), (2, 1, 0));
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    assert_eq!((chip.pc(), chip.cycle(), chip.register(20)), (6, 3, 1));
}

#[test]
fn erased_flash_is_no_instruction() {
    let mut chip = Chip::new(&ATMEGA128);
    let expected = Fault { address: 0, kind: FaultKind::IllegalInstruction { word: 0xffff } };
    assert_eq!(chip.run_until(100, &mut ()), Stop::Fault(expected));
    assert_eq!(expected.to_string(), "fault at flash address 0x0: word 0xffff is no instruction");
}

#[test]
fn elpm_is_no_instruction_of_the_atmega328p() {
    let found = fault(&ATMEGA328P, "nop |elpm r0, Z");
    assert_eq!(found, Fault { address: 2, kind: FaultKind::IllegalInstruction { word: 0x9006 } });
}

#[test]
fn a_program_counter_past_the_flash_faults() {
    assert_eq!(fault(&ATMEGA328P, "jmp 0x8000").kind, FaultKind::PastFlash);
    assert_eq!(fault(&ATMEGA128, "rjmp .-4").kind, FaultKind::PastFlash);
    // The last word of the flash is an instruction that ends at its end.
    let mut flash = vec![0; 0x8000];
    flash[..4].copy_from_slice(&[0x0c, 0x94, 0xff, 0x3f]);
    let mut chip = Chip::new(&ATMEGA328P);
    chip.load(&Image::from_flash(5, flash)).expect("it fits");
    assert_eq!(
        chip.run_until(100, &mut ()),
        Stop::Fault(Fault { address: 0x8000, kind: FaultKind::PastFlash })
    );
}

#[test]
fn data_addresses_without_memory_fault() {
    let found = fault(&ATMEGA128, "lds r0, 0x10ff |lds r0, 0x1100");
    assert_eq!(found, Fault { address: 4, kind: FaultKind::NoMemory { address: 0x1100 } });
    assert_eq!(found.to_string(), "fault at flash address 0x4: no memory at data address 0x1100");
    assert_eq!(fault(&ATMEGA328P, "sts 0x0900, r0").kind, FaultKind::NoMemory { address: 0x900 });
    assert_eq!(fault(&ATMEGA128, "in r0, 0x3d |sts 0x60, r0").kind, FaultKind::NoMemory { address: 0x60 });
    assert_eq!(fault(&ATMEGA328P, "lds r0, 0x20").kind, FaultKind::NoMemory { address: 0x20 });
}

#[test]
fn a_stack_that_was_not_set_up_faults() {
    for source in ["push r0", "rcall .+0", "call 4", "icall"] {
        let found = fault(&ATMEGA128, source);
        assert_eq!(found, Fault { address: 0, kind: FaultKind::StackInRegisters { pointer: 0 } }, "{source}");
    }
    // The ATmega328P's stack pointer begins at the end of its memory.
    let mut chip = assembler::chip(&ATMEGA328P, "push r0 |break");
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    assert_eq!(chip.sp(), 0x08fe);
}

#[test]
fn an_interrupt_without_a_stack_faults() {
    // INT0's low level, which an open pin has.
    let found = fault(&ATMEGA128, "ldi r16, 1 |out EIMSK, r16 |sei |again: |rjmp again");
    assert_eq!(found.kind, FaultKind::StackInRegisters { pointer: 0 });
}

#[test]
fn what_is_not_modelled_faults_when_it_is_asked_for() {
    let found = fault(&ATMEGA128, "ldi r16, 0x84 |out TWCR, r16".replace("out TWCR", "sts TWCR").as_str());
    assert_eq!(found.kind, FaultKind::Unmodelled { register: "TWCR", value: 0x84 });
    assert_eq!(found.to_string(), "fault at flash address 0x2: wrote 0x84 to TWCR, which is not modelled");
    assert_eq!(
        fault(&ATMEGA328P, "ldi r16, 2 |out MCUCR, r16").kind,
        FaultKind::Unmodelled { register: "MCUCR", value: 2 }
    );
    // Switching the comparator off, and writing what is there anyway, asks for nothing.
    let mut chip =
        assembler::chip(&ATMEGA328P, "ldi r16, 0x80 |out ACSR, r16 |sts TWCR, r0 |sts CLKPR, r16 |break");
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
}

#[test]
fn a_reserved_sleep_mode_faults() {
    let found = fault(&ATMEGA328P, "ldi r16, 0x09 |out SMCR, r16 |sleep");
    assert_eq!(found, Fault { address: 4, kind: FaultKind::ReservedSleepMode { bits: 4 } });
}

#[test]
fn a_reset_ends_a_fault() {
    let mut chip = assembler::chip(&ATMEGA128, "push r0");
    assert!(matches!(chip.run_until(100, &mut ()), Stop::Fault(_)));
    chip.reset(ResetCause::External, &mut ());
    assert_eq!((chip.fault(), chip.pc()), (None, 0));
}

#[test]
fn an_image_that_does_not_fit_changes_nothing() {
    let mut chip = assembler::chip(&ATMEGA328P, "inc r20 |break");
    let before = chip.flash().to_vec();
    let refuse =
        |chip: &mut Chip, image: &Image| chip.load(image).expect_err("an image to refuse").to_string();
    assert_eq!(
        refuse(&mut chip, &Image::from_flash(5, vec![0; 0x8001])),
        "segment outside flash: found 0x0 to 0x8001, expected at most 0x8000"
    );
    assert_eq!(
        refuse(&mut chip, &Image::from_flash(51, vec![0; 2])),
        "program is for another AVR: found avr51, expected avr5 or a part of it\nhelp: compile it with the chip's -mmcu"
    );
    let mut image = Image::from_flash(5, vec![0; 2]);
    image.eeprom.push(isa::avr::image::Segment { address: 0x3ff, bytes: vec![1, 2] });
    assert_eq!(
        refuse(&mut chip, &image),
        "segment outside EEPROM: found 0x3ff to 0x401, expected at most 0x400"
    );
    assert_eq!(
        chip.set_eeprom(&[0; 1025]).map_err(|error| matches!(error, ImageError::Outside { .. })),
        Err(true)
    );
    assert_eq!(chip.flash(), before);
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
}
