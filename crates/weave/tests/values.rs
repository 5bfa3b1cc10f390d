//! What is said to be known, against the simulator.

mod assembly;

use assembly::{Places, machine, program};
use isa::avr::Stop;
use proptest::prelude::*;
use weave::cfg::Cfg;
use weave::registers::Registers;
use weave::values::{Base, Half, Value};

/// Arithmetic on constants, symbols and what was there, with forward branches, skips and the stack.
fn random() -> impl Strategy<Value = String> {
    let line =
        (0..34_u8, 16..32_u8, 0..32_u8, 0..8_u8, any::<u8>()).prop_map(|(kind, high, low, bit, byte)| {
            let even = 24 + (bit & 6);
            match kind {
                0..6 => format!("ldi r{high}, {byte}"),
                6 => format!("ldi r{high}, lo8(table+{byte})"),
                7 => format!("ldi r{high}, hi8(table+{byte})"),
                8 => format!("ldi r{even}, lo8(table+{byte})\n ldi r{}, hi8(table+{byte})", even + 1),
                9 => format!("mov r{low}, r{high}"),
                10 => format!("movw r{}, r{even}", low & !1),
                11 => format!("add r{low}, r{high}"),
                12 => format!("adc r{low}, r{high}"),
                13 => format!("add r{even}, r{high}\n adc r{}, r{low}", even + 1),
                14 => format!("sub r{low}, r{high}"),
                15 => format!("sbc r{low}, r{high}"),
                16 => format!("subi r{even}, {byte}\n sbci r{}, {}", even + 1, byte.rotate_left(3)),
                17 => format!("sbci r{high}, {byte}"),
                18 => format!("cp r{low}, r{high}"),
                19 => format!("cpc r{low}, r{high}"),
                20 => format!("cpi r{high}, {byte}"),
                21 => format!("adiw r{even}, {}", byte & 63),
                22 => format!("sbiw r{even}, {}", byte & 63),
                23 => format!("{} r{low}, r{high}", ["and", "or", "eor", "and"][usize::from(bit & 3)]),
                24 => format!("{} r{high}, {byte}", if bit & 1 == 0 { "andi" } else { "ori" }),
                25 => format!(
                    "{} r{low}",
                    ["inc", "dec", "com", "neg", "lsr", "ror", "asr", "swap"][usize::from(bit)]
                ),
                26 => format!(
                    "{} r{}, r{}",
                    ["mul", "muls", "mulsu", "fmul", "fmuls", "fmulsu"][usize::from(bit % 6)],
                    16 + (low & 7),
                    16 + (high & 7)
                ),
                27 => format!("bst r{low}, {bit}"),
                28 => format!("bld r{high}, {bit}"),
                29 => format!("{} {}", if byte & 1 == 0 { "bset" } else { "bclr" }, bit % 7),
                30 => format!("sbrc r{low}, {bit}"),
                31 => format!("brbs {}, .", bit % 6),
                32 => format!("push r{low}\n eor r{low}, r{low}\n pop r{high}"),
                _ => format!("cpse r{low}, r{high}"),
            }
        });
    (prop::collection::vec(line, 1..30), prop::collection::vec(any::<prop::sample::Index>(), 30)).prop_map(
        |(lines, jumps)| {
            let count = lines.len();
            let mut text = "f: nop\n".to_owned();
            for (index, line) in lines.into_iter().enumerate() {
                let line = match line.strip_suffix(", .") {
                    Some(branch) => format!("{branch}, .L{}", index + 1 + jumps[index].index(count - index)),
                    None => line,
                };
                // A skip over half of a pair of lines would leave the stack uneven.
                let guard = if line.starts_with("push") || line.starts_with("add r") { "nop\n " } else { "" };
                text += &format!(".L{index}: {guard}{line}\n");
            }
            text + &format!(".L{count}: nop\n nop\n rjmp .Lend\n.Lend: ret\n")
        },
    )
}

/// One instruction on known registers with known flags before it.
fn single() -> impl Strategy<Value = String> {
    let registers = (16..24_u8, 16..24_u8, 0..4_u8, any::<u8>());
    (0..30_usize, registers, any::<[u8; 3]>(), 0..128_u8).prop_map(
        |(kind, (d, r, pair, k), values, flags)| {
            let [a, b, c] = values;
            let (even, flag, bit) = (24 + 2 * pair, k % 7, k & 7);
            let two = [
                "add", "adc", "sub", "sbc", "cp", "cpc", "and", "or", "eor", "mul", "muls", "mulsu", "fmul",
                "fmuls", "fmulsu", "mov",
            ];
            let one = ["inc", "dec", "com", "neg", "lsr", "ror", "asr", "swap"];
            let line = match kind {
                0..16 => format!("{} r{d}, r{r}", two[kind]),
                16..24 => format!("{} r{d}", one[kind - 16]),
                24 => format!("subi r{d}, {k}\n sbci r{r}, {c}"),
                25 => format!("cpi r{d}, {k}\n cpc r{r}, r{d}"),
                26 => format!("adiw r{even}, {}", k & 63),
                27 => format!("sbiw r{even}, {}", k & 63),
                28 => format!("bst r{d}, {bit}\n bld r{r}, {}", c & 7),
                _ => format!("bset {flag}\n andi r{d}, {k}\n ori r{r}, {c}"),
            };
            let mut text = "f: nop\n".to_owned();
            for register in 16..32 {
                text += &format!("ldi r{register}, {}\n", if register & 1 == 0 { a } else { b });
            }
            text += &format!("ldi r{d}, {c}\n");
            for bit in 0..7 {
                text += &format!("{} {bit}\n", if flags >> bit & 1 == 1 { "bset" } else { "bclr" });
            }
            text + &format!("{line}\n rjmp .Lend\n.Lend: ret\n")
        },
    )
}

proptest! {
    #[test]
    fn what_is_computed_of_known_operands_is_known_and_right(text in single()) {
        let program = program(&text);
        let cfg = Cfg::of(&program, &program.functions[0]).expect("its control flow is known");
        let values = Registers::of(&program).values(&program, &cfg);
        let state = values.before(1);
        let mut machine = machine(&program, "f", &Places::new());
        prop_assert_eq!(machine.chip.run_until(10_000, &mut ()), Stop::Break);
        for number in 16..32 {
            let found = state.registers[usize::from(number)];
            prop_assert_eq!(found, Value::Known(machine.chip.register(number)), "r{}\n{}", number, text);
        }
        if text.contains("mul") {
            prop_assert_eq!([0, 1].map(|number| state.registers[number]), [0, 1].map(|number| Value::Known(machine.chip.register(number))));
        }
        for (bit, &flag) in state.flags.iter().enumerate().take(7) {
            prop_assert_eq!(flag, Some(machine.chip.sreg() >> bit & 1 == 1), "flag {}\n{}", bit, text);
        }
    }

    #[test]
    fn what_is_known_is_so(text in random(), mut entry: [u8; 32], place in 0x100..0x1000_u16) {
        entry[1] = 0;
        let program = program(&text);
        let cfg = Cfg::of(&program, &program.functions[0]).expect("its control flow is known");
        let registers = Registers::of(&program);
        let values = registers.values(&program, &cfg);
        let last = cfg.block_of(cfg.end - 1).expect("it is reached");
        let state = values.before(last);
        let mut machine = machine(&program, "f", &Places::from([("table".to_owned(), place)]));
        for (number, &value) in (0..).zip(&entry) {
            machine.chip.set_register(number, value);
        }
        prop_assert_eq!(machine.chip.run_until(10_000, &mut ()), Stop::Break);
        for (number, &value) in (0..).zip(&state.registers) {
            let expected = match value {
                Value::Known(byte) => byte,
                Value::Part { base, offset: Some(offset), half } => {
                    let start = match base {
                        Base::Symbol(_) => place,
                        Base::Entry(low) => u16::from_le_bytes([entry[usize::from(low)], entry[usize::from(low) + 1]]),
                        Base::Frame => continue,
                    };
                    let [low, high] = start.wrapping_add(offset).to_le_bytes();
                    if half == Half::Low { low } else { high }
                }
                _ => continue,
            };
            prop_assert_eq!(machine.chip.register(number), expected, "r{} is {:?}\n{}", number, value, text);
        }
        for (bit, flag) in state.flags.iter().enumerate().take(7) {
            // That no object wraps round the data space is taken for granted, and not so of random bytes.
            if let Some(flag) = flag.filter(|_| bit != 0 || !text.contains("cpc")) {
                prop_assert_eq!(machine.chip.sreg() >> bit & 1 == 1, flag, "flag {}\n{}", bit, text);
            }
        }
    }
}
