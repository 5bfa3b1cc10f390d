//! Laws of SPARC's words and texts that need no other tool.

use isa::sparc::bits::{CONSTANT, Field};
use isa::sparc::table::{OPCODES, Operand, ROWS};
use isa::sparc::{Instruction, Opcode, TextError, text};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_legal_word_survives_decoding_encoding_printing_and_parsing(word: u32) {
        if let Some(instruction) = Instruction::decode(word) {
            prop_assert_eq!(instruction.encode(), Ok(word), "{}", instruction);
            let line = instruction.to_string();
            prop_assert_eq!(text::parse(&line), Ok(instruction), "{}", line);
        }
    }
}

/// Every combination of the least, the greatest and a middle value of the fields of an instruction's operands.
fn extremes(opcode: Opcode) -> Vec<Instruction> {
    let mut found = vec![Instruction::new(opcode)];
    for &(field, range) in opcode.row().operands.iter().flat_map(|operand: &Operand| operand.fields()) {
        let middle = range.first + (range.last / 2 - range.first / 2) / range.step * range.step;
        let values = [range.first, middle, range.last];
        let with = |from: &Instruction, value: i32| {
            let mut next = *from;
            match field {
                Field::Rd | Field::Annul => next.rd = value as u8,
                Field::Rs1 => next.rs1 = value as u8,
                Field::Rs2 => next.rs2 = value as u8,
                Field::Second => (next.rs2, next.k) = (CONSTANT, value),
                Field::Middle | Field::Low => next.k = value,
            }
            next
        };
        let mut next: Vec<Instruction> =
            found.iter().flat_map(|from| values.map(|value| with(from, value))).collect();
        if field == Field::Second {
            next.extend(
                found.iter().flat_map(|from| [0, 13, 31].map(|rs2| Instruction { rs2, k: 0, ..*from })),
            );
        }
        found = next;
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
fn the_table_is_in_the_order_of_its_opcodes() {
    for (index, row) in ROWS.iter().enumerate() {
        assert_eq!((row.opcode as usize, row.opcode.row().pattern), (index, row.pattern));
    }
}

#[test]
fn words_with_bits_that_the_manual_leaves_unused_are_none() {
    // add with asi bits, a shift by 32, an odd pair, rd %psr with a source, asr 3, a trap of 128.
    for word in [0x8000_0020, 0x8128_2020, 0xc218_0000, 0x8148_4000, 0x8140_c000, 0x91d0_2080] {
        assert_eq!(Instruction::decode(word), None, "{word:#010x}");
    }
    // What code compression takes as its escape is `unimp` or nothing.
    for word in [0x0000_0000, 0x003f_ffff, 0x0040_0000, 0x3e00_0000] {
        let opcode = Instruction::decode(word).map(|instruction| instruction.opcode);
        assert_eq!(opcode, (word < 1 << 22).then_some(Opcode::Unimp), "{word:#010x}");
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
        ("add %o0, %o1, %o2", "{%o0, %o1, window} => {%o2}"),
        ("add %g1, %g2, %g3", "{%g1, %g2} => {%g3}"),
        ("mov 1, %l0", "{window} => {%l0}"),
        ("addxcc %o0, 3, %g0", "{%o0, icc, window} => {icc}"),
        ("ld [%fp + -4], %l0", "{%fp, window, memory} => {%l0}"),
        ("std %l2, [%g0 + %sp]", "{%sp, %l2, %l3, window} => {memory}"),
        ("ldd [%l0], %o4", "{%l0, window, memory} => {%o4, %o5}"),
        ("swap [%o0], %o1", "{%o0, %o1, window, memory} => {%o1, memory}"),
        ("mulscc %o0, %o1, %o0", "{%o0, %o1, icc, y, window} => {%o0, icc, y}"),
        ("udiv %o0, 5, %o0", "{%o0, y, window} => {%o0}"),
        ("ba .+8", "{} => {}"),
        ("bleu,a .-8", "{icc} => {}"),
        ("call .+64", "{window} => {%o7}"),
        ("retl", "{%o7, window} => {}"),
        ("save %sp, -96, %sp", "{%sp, window} => {%sp, window}"),
        ("wr %g0, 3, %y", "{} => {y}"),
        ("te 5", "{all} => {all}"),
        ("sethi %hi(0x1000), %g1", "{} => {%g1}"),
    ];
    for (line, both) in expected {
        assert_eq!(sets(line), both, "{line}");
    }
}

#[test]
fn what_must_stay_in_order_shares_a_place() {
    let parse = |line: &str| text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let ordered = |first: &str, second: &str| {
        let (first, second) = (parse(first), parse(second));
        let (reads, writes) = (first.reads(), first.writes());
        writes.meets(second.reads().union(second.writes())) || reads.meets(second.writes())
    };
    for (first, second) in [
        ("save %sp, -96, %sp", "mov 1, %l0"),
        ("mov 1, %l0", "restore"),
        ("call .+8", "save %sp, -96, %sp"),
        ("st %g1, [%g2]", "ta 16"),
        ("ta 16", "mov 1, %g1"),
        ("wr %g0, 0, %psr", "mov %i0, %g1"),
    ] {
        assert!(ordered(first, second), "{first}; {second}");
    }
    for (first, second) in [("save %sp, -96, %sp", "mov 1, %g1"), ("mov 1, %l0", "mov 1, %l1")] {
        assert!(!ordered(first, second), "{first}; {second}");
    }
}

#[test]
fn a_wrong_line_is_told_what_it_should_be() {
    let error = |line: &str| text::parse(line).expect_err(line);
    assert_eq!(error("adc %o0").to_string(), "unknown instruction: found `adc`");
    let words = "operands of `add` do not fit: found `%o0,%o1`, expected `rs1, reg_or_imm, rd`";
    assert_eq!(error("add %o0,%o1").to_string().replace(", %o1", ",%o1"), words);
    let words = "operand of `add` out of range: found 4096, expected -4096 to 4095";
    assert_eq!(error("add %o0, 4096, %o0").to_string(), words);
    let words = "operand of `be` out of range: found 2, expected -8388608 to 8388604 in steps of 4";
    assert_eq!(error("be .+2").to_string(), words);
    assert!(matches!(error("add,a %o0, 1, %o0"), TextError::Operands { .. }));
    assert!(matches!(error("ldd [%o0], %o1"), TextError::Range(_)));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(line in "[a-z]{0,6}(,a)? ?[%a-z0-9+\\-\\[\\], .()x]{0,30}") {
        let _ = text::parse(&line);
    }
}
