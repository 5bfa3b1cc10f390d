//! Laws of RV32IM's words and texts that need no other tool.

use isa::rv32::table::{OPCODES, ROWS};
use isa::rv32::{Instruction, Opcode, TextError, text};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_legal_word_survives_decoding_encoding_printing_and_parsing(
        word: u32, row in 0..ROWS.len(), of_row: bool
    ) {
        // Half of them are instructions for sure, or only their unused bits are others.
        let digits = ROWS[row].pattern.bytes().filter(|&digit| digit != b' ');
        let fixed = digits.enumerate().fold(word, |word, (index, digit)| match digit {
            b'0' => word & !(1 << (31 - index)),
            b'1' => word | 1 << (31 - index),
            _ => word,
        });
        let word = if of_row { fixed } else { word };
        let decoded = Instruction::decode(word);
        prop_assert!(!of_row || decoded.is_some_and(|found| found.opcode == ROWS[row].opcode), "{:#010x}", word);
        if let Some(instruction) = decoded {
            prop_assert_eq!(instruction.encode(), Ok(word), "{}", instruction);
            let line = instruction.to_string();
            prop_assert_eq!(text::parse(&line), Ok(instruction), "{}", line);
        }
    }
}

/// Every combination of the least, the greatest and a middle value of the fields of an instruction's operands.
fn extremes(opcode: Opcode) -> Vec<Instruction> {
    let mut found = vec![Instruction::new(opcode)];
    for &(field, range) in opcode.row().operands.iter().flat_map(|operand| operand.fields()) {
        let middle = range.first + (range.last / 2 - range.first / 2) / range.step * range.step;
        let with = |from: &Instruction, value: i32| {
            let mut next = *from;
            next.set_field(field, value);
            next
        };
        let values = [range.first, middle, range.last];
        found = found.iter().flat_map(|from| values.map(|value| with(from, value))).collect();
    }
    found
}

#[test]
fn every_instruction_has_words_and_each_is_its_own() {
    for &opcode in OPCODES {
        for instruction in extremes(opcode) {
            let word = instruction.encode().unwrap_or_else(|error| panic!("{opcode:?}: {error}"));
            assert_eq!(Instruction::decode(word), Some(instruction), "{word:#010x} {opcode:?}");
            let line = instruction.to_string();
            assert_eq!(text::parse(&line), Ok(instruction), "{line}");
        }
    }
}

#[test]
fn the_table_is_in_the_order_of_its_opcodes_and_no_word_is_of_two_lines() {
    for (index, row) in ROWS.iter().enumerate() {
        assert_eq!((row.opcode as usize, row.opcode.row().pattern), (index, row.pattern));
    }
    let digits = |pattern: &str| pattern.chars().filter(|&digit| digit != ' ').collect::<Vec<char>>();
    for (index, row) in ROWS.iter().enumerate() {
        for other in &ROWS[..index] {
            let mut pairs = digits(row.pattern).into_iter().zip(digits(other.pattern));
            let differ = pairs.any(|(a, b)| a.is_ascii_digit() && b.is_ascii_digit() && a != b);
            assert!(differ, "{} and {}", row.mnemonic, other.mnemonic);
        }
    }
}

#[test]
fn words_that_the_manual_leaves_to_others_are_none() {
    // A shift by 32, fence with a destination, fence.i, ecall with a source, mret, a branch of no kind, ld, flw, lr.w,
    // and custom-0 to custom-3, of which what is packed may make use.
    let others = [
        0x0200_1013,
        0x0ff0_008f,
        0x0000_100f,
        0x0000_8073,
        0x3020_0073,
        0x0000_2063,
        0x0000_3003,
        0x0000_2007,
        0x1000_202f,
        0x0000_000b,
        0x0000_002b,
        0x0000_005b,
        0x0000_007b,
    ];
    for word in others {
        assert_eq!(Instruction::decode(word), None, "{word:#010x}");
        assert!(!Instruction::is_compressed(word), "{word:#010x}");
    }
    // Whatever its low bits say is compressed, is so and no instruction.
    for word in [0x0000_0000, 0x0001_0001, 0x0000_8082, 0xffff_fffe] {
        assert!(Instruction::is_compressed(word) && Instruction::decode(word).is_none(), "{word:#010x}");
    }
}

/// The printed set of a line's reads and writes.
fn sets(line: &str) -> String {
    let instruction = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    format!("{:?} => {:?}", instruction.reads(), instruction.writes())
}

#[test]
fn reads_and_writes_are_of_this_instruction() {
    let expected = [
        ("add a0, a1, a2", "{a1, a2} => {a0}"),
        ("addi a0, zero, 1", "{} => {a0}"),
        ("sub zero, t0, t0", "{t0} => {}"),
        ("lui gp, 0x12345", "{} => {gp}"),
        ("auipc s11, 1", "{} => {s11}"),
        ("lbu t6, -1(s0)", "{s0, memory} => {t6}"),
        ("sw ra, 12(sp)", "{ra, sp} => {memory}"),
        ("bltu a0, a5, .-8", "{a0, a5} => {}"),
        ("jal ra, .+64", "{} => {ra}"),
        ("jalr zero, 0(ra)", "{ra} => {}"),
        ("mulhsu a0, a1, a2", "{a1, a2} => {a0}"),
        ("fence rw, w", "{memory} => {memory}"),
        ("ecall", "{all} => {all}"),
        ("csrrwi a0, 0x300, 5", "{csr} => {a0, csr}"),
        ("csrrs a0, cycle, t1", "{t1, csr} => {a0, csr}"),
    ];
    for (line, both) in expected {
        assert_eq!(sets(line), both, "{line}");
    }
}

#[test]
fn a_register_has_two_names_and_some_instructions_too() {
    let same = [
        ("add x10, x11, x8", "add a0, a1, s0"),
        ("sw fp, (sp)", "sw s0, 0(sp)"),
        ("addi zero, zero, 0", "nop"),
        ("addi a0, zero, -5", "li a0, -5"),
        ("addi a0, a1, 0", "mv a0, a1"),
        ("jalr zero, 0(ra)", "ret"),
        ("jalr zero, 0(t0)", "jr t0"),
        ("jal zero, .-4", "j .-4"),
        ("bge zero, a0, .+8", "blez a0, .+8"),
        ("csrrs t0, instreth, zero", "csrr t0, 0xc82"),
    ];
    for (long, short) in same {
        let parse = |line: &str| text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(parse(long), parse(short), "{long}");
    }
}

#[test]
fn a_wrong_line_is_told_what_it_should_be() {
    let error = |line: &str| text::parse(line).expect_err(line);
    assert_eq!(error("adc a0").to_string(), "unknown instruction: found `adc`");
    let words = "unknown instruction: found `c.nop`\nhelp: RV32IM has no compressed instructions";
    assert_eq!(error("c.nop").to_string(), words);
    let words = "operands of `add` do not fit: found `a0, a1`, expected `rd, rs1, rs2`";
    assert_eq!(error("add a0, a1").to_string(), words);
    let words = "operand of `addi` out of range: found 2048, expected -2048 to 2047";
    assert_eq!(error("addi a0, a0, 2048").to_string(), words);
    let words = "operand of `beq` out of range: found 3, expected -4096 to 4094 in steps of 2";
    assert_eq!(error("beq a0, a1, .+3").to_string(), words);
    assert!(matches!(error("lw a0, a1"), TextError::Operands { .. }));
    assert!(matches!(error("add a0, a1, x32"), TextError::Operands { .. }));
    assert!(matches!(error("fence wr, w"), TextError::Operands { .. }));
    assert!(matches!(error("addi a0, a0, 0x-5"), TextError::Operands { .. }));
    assert!(matches!(error("csrrwi a0, cycle, 32"), TextError::Range(_)));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(line in "[a-z.]{0,8} ?[a-z0-9+\\-, .()x]{0,30}") {
        let _ = text::parse(&line);
    }
}
