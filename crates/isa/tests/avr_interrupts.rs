//! When interrupts are taken, what they cost, and how the core sleeps and wakes.

mod assembler;

use isa::Cycles;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Drive, Observer, Pin, Settings, SleepMode, Stop};

/// What happened, in words with cycles.
#[derive(Default, Clone, PartialEq, Debug)]
struct Story {
    fetches: Vec<(Cycles, u32)>,
    events: Vec<String>,
}

impl isa::Observer for Story {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.fetches.push((cycle, address));
    }
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.events.push(format!("{cycle} load {address:#x} {value:#x}"));
    }
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.events.push(format!("{cycle} store {address:#x} {value:#x}"));
    }
    fn retire(&mut self, cycle: Cycles, address: u32) {
        self.events.push(format!("{cycle} retire {address:#x}"));
    }
}

impl Observer for Story {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        self.events.push(format!("{cycle} interrupt {vector}"));
    }
    fn interrupt_ends(&mut self, cycle: Cycles) {
        self.events.push(format!("{cycle} ends"));
    }
    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.events.push(format!("{cycle} P{}{} {drive:?}", char::from(pin.port), pin.bit));
    }
    fn level(&mut self, cycle: Cycles, pin: Pin, high: bool) {
        self.events.push(format!("{cycle} P{}{} {high}", char::from(pin.port), pin.bit));
    }
    fn sleep(&mut self, cycle: Cycles, mode: SleepMode) {
        self.events.push(format!("{cycle} sleep {mode:?}"));
    }
    fn wake(&mut self, cycle: Cycles) {
        self.events.push(format!("{cycle} wake"));
    }
}

impl Story {
    /// The cycle in which the instruction at `address` was fetched first.
    fn fetched(&self, address: u32) -> Cycles {
        let found = self.fetches.iter().find(|fetch| fetch.1 == address);
        found.unwrap_or_else(|| panic!("{address:#x} was not executed: {:?}", self.events)).0
    }

    fn happened(&self, event: &str) -> bool {
        self.events.iter().any(|found| found == event)
    }
}

/// INT0 (falling edge, PD0) with its handler at 0x100; the program begins at 0x200.
fn int0_source(program: &str) -> String {
    format!(
        "jmp start |jmp handler |.org 0x100 |handler: |inc r20 |reti |.org 0x200 |start:
         ldi r16, 0x10 |out SPH, r16 |ldi r16, 2 |sts EICRA, r16 |ldi r16, 1 |out EIMSK, r16 |{program}"
    )
}
/// Cycles of the lines before the program: the jump, two loads and stores, and STS.
const INT0_SET_UP: Cycles = 3 + 2 + 1 + 2 + 2;
const HANDLER: u32 = 0x100;
const PD0: Pin = Pin { port: b'D', bit: 0 };
const INT0: u32 = 4;

fn int0(program: &str) -> Chip {
    let mut chip = assembler::chip(&ATMEGA128, &int0_source(program));
    chip.set_input(PD0, Some(true), 0, &mut ());
    chip
}

/// Runs with a falling edge of INT0's pin at `edge`.
fn run(chip: &mut Chip, edge: Cycles, limit: Cycles) -> Story {
    let mut story = Story::default();
    chip.set_input(PD0, Some(false), edge, &mut story);
    assert_eq!(chip.run_until(limit, &mut story), Stop::Reached);
    story
}

#[test]
fn an_interrupt_takes_four_cycles_to_its_vector_and_the_vectors_jump_three() {
    let mut chip = int0("sei |nop |nop |nop |nop |nop |nop |nop |nop |again: |rjmp again");
    let edge = INT0_SET_UP + 4;
    let story = run(&mut chip, edge, edge + 12);
    assert!(story.happened(&format!("{edge} interrupt 1")));
    assert_eq!(story.fetched(INT0), edge + 4);
    assert_eq!(story.fetched(HANDLER), edge + 7);
}

#[test]
fn an_interrupt_waits_for_the_instruction_that_it_falls_into() {
    let mut chip = int0("sei |nop |call 0x220 |.org 0x220 |again: |rjmp again");
    // CALL runs from `call` to `call + 4`.
    let call = INT0_SET_UP + 2;
    for late in 1..=4 {
        let mut chip = chip.clone();
        let story = run(&mut chip, call + late, call + 12);
        assert_eq!(story.fetched(INT0), call + 4 + 4, "edge {late} cycles into CALL");
    }
    let story = run(&mut chip, call, call + 12);
    assert_eq!(story.fetched(INT0), call + 4, "the edge comes before CALL begins");
}

#[test]
fn one_instruction_runs_after_sei() {
    for (second, clocks) in [("nop", 1), ("lds r0, 256", 2), ("rjmp .+0", 2)] {
        let mut chip = int0(&format!("nop |nop |sei |{second} |nop |again: |rjmp again"));
        let sei = INT0_SET_UP + 2;
        let story = run(&mut chip, sei - 1, sei + 20);
        assert_eq!(story.fetched(INT0), sei + 1 + clocks + 4, "{second}");
    }
}

#[test]
fn one_instruction_runs_after_out_sets_the_interrupt_bit() {
    let mut chip = int0("ldi r17, 0x80 |nop |out SREG, r17 |nop |nop |again: |rjmp again");
    let out = INT0_SET_UP + 2;
    let story = run(&mut chip, out - 1, out + 20);
    assert_eq!(story.fetched(INT0), out + 2 + 4);
}

#[test]
fn sei_followed_by_cli_takes_no_interrupt() {
    let mut chip = int0("nop |sei |cli |again: |rjmp again");
    let story = run(&mut chip, INT0_SET_UP, INT0_SET_UP + 50);
    assert!(story.fetches.iter().all(|fetch| fetch.1 != INT0));
}

#[test]
fn one_instruction_of_the_program_runs_between_two_interrupts() {
    // The handler is level-triggered: INT0 stays low, so the request never goes away.
    let source = int0_source("sei |nop |again: |inc r21 |rjmp again").replace("ldi r16, 2", "ldi r16, 0");
    let mut chip = assembler::chip(&ATMEGA128, &source);
    let mut story = Story::default();
    assert_eq!(chip.run_until(2000, &mut story), Stop::Reached);
    let handled = u32::from(chip.register(20));
    let program: Vec<u32> = story.fetches.iter().map(|f| f.1).filter(|&a| a >= 0x200).collect();
    assert!(handled > 50);
    // Six lines of set-up and SEI stand before the first.
    let instructions = program.len() as u32 - 7;
    assert!(instructions.abs_diff(handled) <= 1, "{instructions} instructions, {handled} interrupts");
}

#[test]
fn the_lower_vector_goes_first() {
    let source = "jmp start |jmp first |jmp second |.org 0x100 |first: |inc r20 |reti |second: |inc r21 |reti |.org 0x200
        start: |ldi r16, 0x10 |out SPH, r16 |ldi r16, 0x0a |sts EICRA, r16 |ldi r16, 3 |out EIMSK, r16
        nop |nop |nop |nop |sei |nop |again: |rjmp again";
    let mut chip = assembler::chip(&ATMEGA128, source);
    let mut story = Story::default();
    for bit in [1, 0] {
        chip.set_input(Pin { port: b'D', bit }, Some(true), 0, &mut story);
        chip.set_input(Pin { port: b'D', bit }, Some(false), 12, &mut story);
    }
    assert_eq!(chip.run_until(100, &mut story), Stop::Reached);
    assert!(story.fetched(4) < story.fetched(8));
    assert_eq!((chip.register(20), chip.register(21)), (1, 1));
}

#[test]
fn waking_from_idle_takes_four_cycles_more() {
    let mut chip = int0("ldi r16, 0x20 |out MCUCR, r16 |sei |sleep |nop |again: |rjmp again");
    let asleep = INT0_SET_UP + 4;
    let edge = asleep + 1000;
    let story = run(&mut chip, edge, edge + 30);
    assert!(story.happened(&format!("{asleep} sleep Idle")));
    assert!(story.happened(&format!("{edge} wake")));
    assert_eq!(story.fetched(INT0), edge + 4 + 4);
    assert_eq!(chip.asleep_cycles(SleepMode::Idle), 1000);
    assert_eq!(chip.awake_cycles(), chip.cycle() - 1000);
    assert_eq!(chip.register(20), 1);
}

#[test]
fn waking_from_power_down_takes_the_oscillators_start_up_first() {
    let source = int0_source("ldi r16, 0x30 |out MCUCR, r16 |sei |sleep |nop |again: |rjmp again");
    let settings = Settings { startup_cycles: 258, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, &source);
    chip.set_input(PD0, Some(true), 0, &mut ());
    let edge = INT0_SET_UP + 4 + 5000;
    let story = run(&mut chip, edge, edge + 300);
    assert!(story.happened(&format!("{} wake", edge + 258)));
    assert_eq!(story.fetched(INT0), edge + 258 + 4 + 4);
    assert_eq!(chip.asleep_cycles(SleepMode::PowerDown), 5000 + 258);
}

#[test]
fn an_edge_that_needs_the_io_clock_does_not_wake_from_power_down() {
    // INT4 of the ATmega128 detects edges with the I/O clock, levels without.
    let source = |sense: u8| {
        format!(
            "jmp start |.org 0x14 |jmp handler |.org 0x100 |handler: |reti |.org 0x200 |start:
             ldi r16, 0x10 |out SPH, r16 |ldi r16, {sense} |out EICRB, r16 |ldi r16, 0x10 |out EIMSK, r16
             ldi r16, 0x30 |out MCUCR, r16 |sei |sleep |again: |rjmp again"
        )
    };
    let pe4 = Pin { port: b'E', bit: 4 };
    for (sense, wakes) in [(2, false), (0, true)] {
        let mut chip = assembler::chip(&ATMEGA128, &source(sense));
        chip.set_input(pe4, Some(true), 0, &mut ());
        chip.set_input(pe4, Some(false), 1000, &mut ());
        let stop = chip.run_until(100_000, &mut ());
        assert_eq!(stop == Stop::Reached && !chip.is_asleep(), wakes, "sense control {sense}");
    }
}

#[test]
fn a_pin_change_wakes_the_atmega328p_from_power_down() {
    let source = "jmp start |.org 0xc |jmp handler |.org 0x80 |handler: |inc r20 |reti |start:
        ldi r16, 1 |sts PCICR, r16 |ldi r16, 4 |sts PCMSK0, r16 |ldi r16, 5 |out SMCR, r16 |sei |sleep |again: |rjmp again";
    let mut chip = assembler::chip(&ATMEGA328P, source);
    chip.set_input(Pin { port: b'B', bit: 2 }, Some(true), 500, &mut ());
    assert_eq!(chip.run_until(20_000, &mut ()), Stop::Reached);
    assert_eq!((chip.register(20), chip.is_asleep()), (1, false));
}

#[test]
fn a_sleeper_without_interrupts_is_halted_and_has_no_next_wake() {
    let mut chip = int0("ldi r16, 0x20 |out MCUCR, r16 |cli |sleep |break");
    assert_eq!(chip.run_until(10_000, &mut ()), Stop::Halted);
    assert_eq!((chip.cycle(), chip.next_wake(), chip.is_asleep()), (10_000, None, true));
    // An edge changes nothing while I is clear.
    chip.set_input(PD0, Some(false), 10_500, &mut ());
    assert_eq!(chip.next_wake(), Some(10_500));
    assert_eq!(chip.run_until(20_000, &mut ()), Stop::Halted);
}

#[test]
fn sleep_without_its_enable_bit_is_one_cycle_of_nothing() {
    let mut chip = int0("sleep |break");
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    assert_eq!(chip.cycle(), INT0_SET_UP + 2);
}

#[test]
fn a_pin_that_is_written_reads_back_two_cycles_later() {
    let mut chip = int0("ldi r16, 0xff |out DDRB, r16 |out PORTB, r16 |in r17, PINB |in r18, PINB |break");
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    assert_eq!((chip.register(17), chip.register(18)), (0, 0xff));
}

#[test]
fn pins_resolve_from_direction_output_and_pull_up() {
    let mut chip = int0(
        "ldi r16, 0x03 |out DDRB, r16 |ldi r16, 0x05 |out PORTB, r16 |nop |in r17, PINB |break
         sbi PINB, 0 |in r18, PORTB |break",
    );
    chip.set_input(Pin { port: b'B', bit: 3 }, Some(true), 0, &mut ());
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    let drives = [0, 1, 2, 3].map(|bit| chip.drive(Pin { port: b'B', bit }));
    assert_eq!(drives, [Drive::High, Drive::Low, Drive::PullUp, Drive::Floating]);
    assert_eq!(chip.register(17), 0b1101);
    // Writing PINx toggles on the ATmega328P only.
    assert_eq!(chip.run_until(2000, &mut ()), Stop::Break);
    assert_eq!(chip.register(18), 0x05);
    let mut newer =
        assembler::chip(&ATMEGA328P, "ldi r16, 5 |out PORTB, r16 |sbi PINB, 0 |in r18, PORTB |break");
    assert_eq!(newer.run_until(1000, &mut ()), Stop::Break);
    assert_eq!(newer.register(18), 0x04);
}

#[test]
fn sbi_on_flags_clears_its_own_bit_on_the_atmega328p() {
    let source = "ldi r16, 0x0a |sts EICRA, r16 |nop |nop |nop |nop |nop |nop |nop |nop
        in r17, EIFR |sbi EIFR, 1 |in r18, EIFR |break";
    let mut chip = assembler::chip(&ATMEGA328P, source);
    for bit in [2, 3] {
        chip.set_input(Pin { port: b'D', bit }, Some(true), 0, &mut ());
        chip.set_input(Pin { port: b'D', bit }, Some(false), 5, &mut ());
    }
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    assert_eq!((chip.register(17), chip.register(18)), (3, 1));
}

/// A program with something of everything: interrupts, pins, sleep, calls, skips, loops.
fn busy_chip() -> Chip {
    let mut chip = int0(
        "ldi r16, 0xff |out DDRB, r16 |ldi r16, 0x20 |out MCUCR, r16 |sei
         loop: |inc r22 |out PORTB, r22 |rcall sub |sbrc r22, 3 |sleep |in r23, PIND |push r23 |pop r24 |rjmp loop
         sub: |ld r1, X+ |sbrs r22, 0 |sts 0x150, r22 |adiw r24, 3 |ret",
    );
    for at in (0..3000).step_by(37) {
        chip.set_input(PD0, Some(at % 2 == 0), at, &mut ());
    }
    chip
}

#[test]
fn a_run_cut_into_single_cycles_is_the_same_run() {
    let (mut whole, mut story) = (busy_chip(), Story::default());
    assert_eq!(whole.run_until(2500, &mut story), Stop::Reached);
    assert!(story.events.iter().any(|event| event.contains("sleep")));
    assert!(story.events.iter().filter(|event| event.contains("interrupt")).count() > 10);
    for step in [1, 2, 3, 7, 100] {
        let (mut cut, mut cut_story) = (busy_chip(), Story::default());
        let mut limit = 0;
        while limit < 2500 {
            limit += step;
            assert_eq!(cut.run_until(limit.min(2500), &mut cut_story), Stop::Reached);
        }
        assert_eq!(cut_story, story, "in steps of {step}");
        assert_eq!((cut.cycle(), cut.pc(), cut.sreg()), (whole.cycle(), whole.pc(), whole.sreg()));
    }
}

#[test]
fn a_watched_run_is_the_same_run() {
    let (mut whole, mut story) = (busy_chip(), Story::default());
    assert_eq!(whole.run_until(2500, &mut story), Stop::Reached);
    let (mut watched, mut watched_story) = (busy_chip(), Story::default());
    let mut watch = isa::avr::Watch::new();
    watch.drives = true;
    watch.add(ATMEGA128.register("PIND").expect("PIND").address);
    let (mut pins, mut accesses) = (0, 0);
    loop {
        match watched.run_watched(2500, &watch, &mut watched_story) {
            Stop::Pin => pins += 1,
            Stop::Access { address } => {
                accesses += 1;
                assert_eq!(address, 0x30);
            }
            stop => break assert_eq!(stop, Stop::Reached),
        }
    }
    assert_eq!(watched_story, story);
    let reads = story.events.iter().filter(|event| event.contains("load 0x30 ")).count();
    assert!(accesses == reads && reads > 10, "{accesses} stops, {reads} reads");
    assert!(pins > 10);
}

#[test]
fn a_clone_is_a_snapshot() {
    let (mut first, mut story) = (busy_chip(), Story::default());
    assert_eq!(first.run_until(1000, &mut ()), Stop::Reached);
    let mut second = first.clone();
    assert_eq!(first.run_until(2500, &mut story), Stop::Reached);
    let mut again = Story::default();
    assert_eq!(second.run_until(2500, &mut again), Stop::Reached);
    assert_eq!(again, story);
    fn sent<T: Send>(_: T) {}
    sent(second);
}
