//! The evaluator against the simulator: random straight code, with random bits hidden from the evaluator.

use isa::avr::{ATMEGA128, Chip, CoreType, Image, Instruction, Opcode, Stop};

use super::{Byte, Values};
use crate::program::{Flow, Origin, Step};

const INSTRUCTIONS: usize = 2_000;

/// xorshift64*, from a seed that a failure prints.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn byte(&mut self) -> u8 {
        (self.next() >> 32) as u8
    }
}

/// Whether an instruction only computes: it neither jumps nor waits nor needs memory or peripherals.
fn computes(instruction: &Instruction) -> bool {
    use Opcode::*;
    match instruction.opcode {
        In | Out => instruction.k == 0x3f,
        Add | Adc | Adiw | Sub | Subi | Sbc | Sbci | Sbiw | And | Andi | Or | Ori | Eor | Com | Neg | Inc
        | Dec | Mul | Muls | Mulsu | Fmul | Fmuls | Fmulsu | Cp | Cpc | Cpi | Mov | Movw | Ldi | Lsr
        | Ror | Asr | Swap | Bst | Bld | Nop => true,
        // Interrupts are off in the simulator, and none would come; yet SREG.I is like any other bit.
        Bset | Bclr => true,
        _ => false,
    }
}

fn step(instruction: Instruction) -> Step {
    Step {
        instruction,
        expression: None,
        flow: Flow::Next,
        directives: Vec::new(),
        origin: Origin::Line { text: 0, line: 1 },
    }
}

/// Every bit that is known is the simulator's.
fn assert_agrees(values: &Values, chip: &Chip, instruction: &Instruction, seed: u64) {
    for number in 0..32 {
        let Byte { bits, known } = values.register(number);
        let found = chip.register(number);
        assert_eq!(bits, found & known, "r{number} after {instruction:?}, seed {seed}");
    }
    let Byte { bits, known } = values.sreg;
    assert_eq!(bits, chip.sreg() & known, "SREG after {instruction:?}, seed {seed}");
}

/// Runs random code; hides each bit with probability 1 in `hidden` now and then. Says how many bits were known.
fn run(seed: u64, hides: bool) -> u64 {
    let mut random = Random(seed | 1);
    let mut code = Vec::new();
    while code.len() < INSTRUCTIONS {
        let word = random.next() as u16;
        code.extend(Instruction::decode(word, None).filter(computes));
    }
    let words = code.iter().map(|instruction| instruction.encode().expect("decoded").0);
    let mut flash: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
    flash.extend([0x98, 0x95]);
    let mut chip = Chip::new(&ATMEGA128);
    chip.load(&Image::from_flash(ATMEGA128.architecture, flash)).expect("it fits");
    let mut values = Values::unknown();
    for number in 0..32 {
        let value = random.byte();
        chip.set_register(number, value);
        values.set_register(number, Byte::of(value));
    }
    values.sreg = Byte::of(chip.sreg());
    let mut known = 0;
    for instruction in &code {
        if hides {
            let number = random.byte() & 31;
            let mask = random.byte() | random.byte();
            let byte = values.register(number);
            values.set_register(number, byte.keep(mask));
            values.sreg = values.sreg.keep(random.byte() | random.byte() | random.byte());
            // Otherwise soon nothing would be known.
            let again = random.byte() & 31;
            values.set_register(again, Byte::masked(chip.register(again), random.byte() | random.byte()));
            values.sreg = Byte::masked(chip.sreg(), values.sreg.known | random.byte() & random.byte());
        }
        values.execute(&step(*instruction), CoreType::AvrePc2);
        let limit = chip.cycle() + 1;
        assert_eq!(chip.run_until(limit, &mut ()), Stop::Reached);
        assert_agrees(&values, &chip, instruction, seed);
        known += (0..32).map(|number| u64::from(values.register(number).known.count_ones())).sum::<u64>();
    }
    known
}

#[test]
fn known_operands_give_the_results_and_flags_of_the_simulator() {
    for seed in 1..=20 {
        assert_eq!(run(seed, false), INSTRUCTIONS as u64 * 256, "every bit stays known, seed {seed}");
    }
}

#[test]
fn what_is_known_of_partly_known_operands_is_true() {
    for seed in 1..=40 {
        let known = run(seed * 7919, true);
        assert!(
            known > INSTRUCTIONS as u64 * 64,
            "too little stays known to test anything: {known}, seed {seed}"
        );
    }
}

#[test]
fn a_marker_bit_is_followed_through_a_byte_that_is_not_known() {
    let mut values = Values::unknown();
    let execute = |values: &mut Values, opcode, d, r, b| {
        values.execute(&step(Instruction { opcode, d, r, b, k: 0 }), CoreType::AvrePc2);
    };
    execute(&mut values, Opcode::Bset, 0, 0, 0);
    execute(&mut values, Opcode::Adc, 18, 18, 0);
    for shift in 1..=8 {
        assert_eq!(values.flag(super::Z), if shift == 1 { Some(false) } else { values.flag(super::Z) });
        execute(&mut values, Opcode::Add, 18, 18, 0);
        let expected = if shift < 8 { Some(false) } else { Some(true) };
        assert_eq!(values.flag(super::Z), expected, "after {shift} shifts");
    }
    assert_eq!(values.flag(super::C), Some(true));
}
