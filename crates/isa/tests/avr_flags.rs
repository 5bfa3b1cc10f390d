//! Results and flags of every arithmetic instruction, for all operands, against the boolean formulas of the AVR
//! Instruction Set Manual, written here bit by bit and without the simulator's tricks.

mod assembler;

use isa::avr::{ATMEGA128, Chip, Stop};

const C: u8 = 1;
const Z: u8 = 2;
const N: u8 = 4;
const V: u8 = 8;
const S: u8 = 16;
const H: u8 = 32;
const T: u8 = 64;

fn bit(value: u32, number: u32) -> bool {
    value >> number & 1 == 1
}

/// SREG with the named flags replaced.
fn with(sreg: u8, flags: &[(u8, bool)]) -> u8 {
    flags.iter().fold(sreg, |sreg, &(flag, value)| if value { sreg | flag } else { sreg & !flag })
}

/// Flags in which S is N xor V, as in every instruction that has both.
fn signed(sreg: u8, n: bool, v: bool, others: &[(u8, bool)]) -> u8 {
    with(with(sreg, &[(N, n), (V, v), (S, n != v)]), others)
}

/// ADD and ADC, by the manual's formulas.
fn add(d: u8, r: u8, carry: u8, sreg: u8) -> (u8, u8) {
    let result = (u32::from(d) + u32::from(r) + u32::from(carry)) as u8;
    let (d, r, x) = (u32::from(d), u32::from(r), u32::from(result));
    let carry_at = |n| bit(d, n) && bit(r, n) || bit(r, n) && !bit(x, n) || !bit(x, n) && bit(d, n);
    let v = bit(d, 7) && bit(r, 7) && !bit(x, 7) || !bit(d, 7) && !bit(r, 7) && bit(x, 7);
    (result, signed(sreg, bit(x, 7), v, &[(H, carry_at(3)), (C, carry_at(7)), (Z, x == 0)]))
}

/// SUB, SBC, CP, CPC and their constants; `keeps_zero` for those that only clear Z.
fn sub(d: u8, r: u8, borrow: u8, sreg: u8, keeps_zero: bool) -> (u8, u8) {
    let result = (256 + u32::from(d) - u32::from(r) - u32::from(borrow)) as u8;
    let (d, r, x) = (u32::from(d), u32::from(r), u32::from(result));
    let borrow_at = |n| !bit(d, n) && bit(r, n) || bit(r, n) && bit(x, n) || bit(x, n) && !bit(d, n);
    let v = bit(d, 7) && !bit(r, 7) && !bit(x, 7) || !bit(d, 7) && bit(r, 7) && bit(x, 7);
    let z = x == 0 && (!keeps_zero || sreg & Z != 0);
    (result, signed(sreg, bit(x, 7), v, &[(H, borrow_at(3)), (C, borrow_at(7)), (Z, z)]))
}

fn logic(result: u8, sreg: u8) -> (u8, u8) {
    (result, signed(sreg, result >= 0x80, false, &[(Z, result == 0)]))
}

fn shifted(result: u8, out: bool, sreg: u8) -> (u8, u8) {
    let n = result >= 0x80;
    (result, signed(sreg, n, n != out, &[(C, out), (Z, result == 0)]))
}

/// Runs `out SREG, r20 | instruction | in r21, SREG | break` over and over.
struct Bench {
    chip: Chip,
}

impl Bench {
    fn new(instruction: &str) -> Bench {
        let source = format!("start:\nout SREG, r20\n{instruction}\nin r21, SREG\nbreak\nrjmp start");
        Bench { chip: assembler::chip(&ATMEGA128, &source) }
    }

    fn run(&mut self, registers: &[(u8, u8)], sreg: u8) {
        for &(number, value) in registers {
            self.chip.set_register(number, value);
        }
        self.chip.set_register(20, sreg);
        assert_eq!(self.chip.run_until(u64::MAX, &mut ()), Stop::Break);
    }

    fn result(&self, number: u8) -> u8 {
        self.chip.register(number)
    }

    fn sreg(&self) -> u8 {
        self.chip.register(21)
    }
}

/// Status registers before the instruction: every flag both ways, C and Z in all combinations.
const SREGS: [u8; 6] = [0, C, Z, C | Z, N | V | H | T, S | V | C | Z | H | N];

/// Checks `instruction r16, r17` for all operands against `expected(d, r, sreg) -> (d, sreg)`.
fn check_two(instruction: &str, expected: impl Fn(u8, u8, u8) -> (u8, u8)) {
    let mut bench = Bench::new(&format!("{instruction} r16, r17"));
    for d in 0..=255 {
        for r in 0..=255 {
            for sreg in SREGS {
                bench.run(&[(16, d), (17, r)], sreg);
                let found = (bench.result(16), bench.sreg());
                assert_eq!(
                    found,
                    expected(d, r, sreg),
                    "{instruction} {d:#x}, {r:#x} with SREG {sreg:#010b}"
                );
            }
        }
    }
}

/// Checks `instruction r16` for all operands.
fn check_one(instruction: &str, expected: impl Fn(u8, u8) -> (u8, u8)) {
    let mut bench = Bench::new(&format!("{instruction} r16"));
    for d in 0..=255 {
        for sreg in 0..0x80 {
            bench.run(&[(16, d)], sreg);
            let found = (bench.result(16), bench.sreg());
            assert_eq!(found, expected(d, sreg), "{instruction} {d:#x} with SREG {sreg:#010b}");
        }
    }
}

#[test]
fn additions_follow_the_manual() {
    check_two("add", |d, r, sreg| add(d, r, 0, sreg));
    check_two("adc", |d, r, sreg| add(d, r, sreg & C, sreg));
}

#[test]
fn subtractions_follow_the_manual() {
    check_two("sub", |d, r, sreg| sub(d, r, 0, sreg, false));
    check_two("sbc", |d, r, sreg| sub(d, r, sreg & C, sreg, true));
}

#[test]
fn comparisons_follow_the_manual_and_change_no_register() {
    check_two("cp", |d, r, sreg| (d, sub(d, r, 0, sreg, false).1));
    check_two("cpc", |d, r, sreg| (d, sub(d, r, sreg & C, sreg, true).1));
}

#[test]
fn logic_follows_the_manual() {
    check_two("and", |d, r, sreg| logic(d & r, sreg));
    check_two("or", |d, r, sreg| logic(d | r, sreg));
    check_two("eor", |d, r, sreg| logic(d ^ r, sreg));
    check_two("mov", |_, r, sreg| (r, sreg));
}

#[test]
fn constants_do_what_registers_do() {
    for constant in [0_u8, 1, 0x0f, 0x10, 0x7f, 0x80, 0xff] {
        let check = |name: &str, expected: &dyn Fn(u8, u8) -> (u8, u8)| {
            let mut bench = Bench::new(&format!("{name} r16, {constant}"));
            for d in 0..=255 {
                for sreg in SREGS {
                    bench.run(&[(16, d)], sreg);
                    assert_eq!(
                        (bench.result(16), bench.sreg()),
                        expected(d, sreg),
                        "{name} {d:#x}, {constant:#x}"
                    );
                }
            }
        };
        check("subi", &|d, sreg| sub(d, constant, 0, sreg, false));
        check("sbci", &|d, sreg| sub(d, constant, sreg & C, sreg, true));
        check("cpi", &|d, sreg| (d, sub(d, constant, 0, sreg, false).1));
        check("andi", &|d, sreg| logic(d & constant, sreg));
        check("ori", &|d, sreg| logic(d | constant, sreg));
        check("ldi", &|_, sreg| (constant, sreg));
    }
}

#[test]
fn single_register_instructions_follow_the_manual() {
    check_one("com", |d, sreg| (!d, signed(sreg, !d >= 0x80, false, &[(Z, d == 0xff), (C, true)])));
    check_one("neg", |d, sreg| {
        let result = (256 - u32::from(d)) as u8;
        let h = bit(u32::from(result), 3) || bit(u32::from(d), 3);
        let flags = [(H, h), (Z, result == 0), (C, result != 0)];
        (result, signed(sreg, result >= 0x80, result == 0x80, &flags))
    });
    check_one("inc", |d, sreg| {
        let result = (u32::from(d) + 1) as u8;
        (result, signed(sreg, result >= 0x80, result == 0x80, &[(Z, result == 0)]))
    });
    check_one("dec", |d, sreg| {
        let result = (u32::from(d) + 255) as u8;
        (result, signed(sreg, result >= 0x80, result == 0x7f, &[(Z, result == 0)]))
    });
    check_one("lsr", |d, sreg| shifted(d / 2, d % 2 == 1, sreg));
    check_one("ror", |d, sreg| shifted(d / 2 + (sreg & C) * 128, d % 2 == 1, sreg));
    check_one("asr", |d, sreg| shifted(((d as i8) >> 1) as u8, d % 2 == 1, sreg));
    check_one("swap", |d, sreg| (d % 16 * 16 + d / 16, sreg));
}

#[test]
fn bits_move_through_t() {
    for number in 0..8 {
        // `swap` twice completes the line, which ends in ` r16`.
        let instructions = format!("bst r16, {number} |bld r16, {} |swap r16 |swap", 7 - number);
        check_one(&instructions, |d, sreg| {
            let set = d >> number & 1 == 1;
            let result = if set { d | 1 << (7 - number) } else { d & !(1 << (7 - number)) };
            (result, with(sreg, &[(T, set)]))
        });
    }
}

/// A multiplication's result and flags from the exact product.
fn product(exact: i32, fraction: bool, sreg: u8) -> (u16, u8) {
    let exact = exact as u32 & 0xffff;
    let result = if fraction { exact << 1 & 0xffff } else { exact };
    (result as u16, with(sreg, &[(C, bit(exact, 15)), (Z, result == 0)]))
}

#[test]
fn multiplications_follow_the_manual() {
    type Exact = fn(u8, u8) -> i32;
    let unsigned: Exact = |d, r| i32::from(d) * i32::from(r);
    let both: Exact = |d, r| i32::from(d as i8) * i32::from(r as i8);
    let mixed: Exact = |d, r| i32::from(d as i8) * i32::from(r);
    let table = [
        ("mul", unsigned, false),
        ("muls", both, false),
        ("mulsu", mixed, false),
        ("fmul", unsigned, true),
        ("fmuls", both, true),
        ("fmulsu", mixed, true),
    ];
    for (name, exact, fraction) in table {
        let mut bench = Bench::new(&format!("{name} r16, r17"));
        for d in 0..=255 {
            for r in 0..=255 {
                for sreg in [0, 0x7f] {
                    bench.run(&[(16, d), (17, r)], sreg);
                    let found = u16::from_le_bytes([bench.result(0), bench.result(1)]);
                    assert_eq!(
                        (found, bench.sreg()),
                        product(exact(d, r), fraction, sreg),
                        "{name} {d:#x}, {r:#x}"
                    );
                }
            }
        }
    }
}

#[test]
fn word_additions_and_subtractions_follow_the_manual() {
    for constant in [0_u32, 1, 2, 31, 63] {
        for (name, adds) in [("adiw", true), ("sbiw", false)] {
            let mut bench = Bench::new(&format!("{name} r26, {constant}"));
            for word in 0..=0xffff_u32 {
                let sreg = if word % 2 == 0 { 0 } else { 0x7f };
                let [low, high] = (word as u16).to_le_bytes();
                bench.run(&[(26, low), (27, high)], sreg);
                let result = if adds { word + constant } else { word + 0x1_0000 - constant } & 0xffff;
                let (before, after) = (bit(word, 15), bit(result, 15));
                let (v, c) = if adds {
                    (!before && after, before && !after)
                } else {
                    (before && !after, !before && after)
                };
                let flags = signed(sreg, after, v, &[(C, c), (Z, result == 0)]);
                let found = u32::from(u16::from_le_bytes([bench.result(26), bench.result(27)]));
                assert_eq!((found, bench.sreg()), (result, flags), "{name} {word:#x}, {constant}");
            }
        }
    }
}

#[test]
fn branches_see_every_flag_both_ways() {
    for number in 0..8 {
        for (name, taken_when) in [("brbs", true), ("brbc", false)] {
            let source = format!(
                "start:\nclr r22\nout SREG, r20\n{name} {number}, over\ninc r22\nover:\nbreak\nrjmp start"
            );
            let mut chip = assembler::chip(&ATMEGA128, &source);
            for sreg in 0..0x80 {
                chip.set_register(20, sreg);
                assert_eq!(chip.run_until(u64::MAX, &mut ()), Stop::Break);
                let taken = chip.register(22) == 0;
                assert_eq!(taken, (sreg >> number & 1 == 1) == taken_when, "{name} {number}, SREG {sreg:#x}");
            }
        }
    }
}
