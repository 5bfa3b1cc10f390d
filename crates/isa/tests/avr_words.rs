//! Laws of the AVR words and texts that need no other tool.

use isa::avr::table::{OPCODES, Operand, ROWS};
use isa::avr::{CoreType, Instruction, Opcode, Set, text};
use proptest::prelude::*;

#[test]
fn every_legal_word_survives_decoding_and_encoding() {
    for first in 0..=0xffff_u16 {
        for second in [0, 1, 0x8000, 0xffff] {
            let Some(instruction) = Instruction::decode(first, Some(second)) else { continue };
            let (again, more) = instruction.encode().expect("what was decoded is encodable");
            assert_eq!(again, first, "{instruction}");
            assert_eq!(more, (instruction.opcode.words() == 2).then_some(second), "{instruction}");
        }
    }
}

#[test]
fn every_legal_word_survives_printing_and_parsing() {
    for first in 0..=0xffff_u16 {
        let Some(instruction) = Instruction::decode(first, Some(0x0100)) else { continue };
        let line = instruction.to_string();
        assert_eq!(text::parse(&line), Ok(instruction), "{line}");
    }
}

#[test]
fn a_two_word_instruction_without_its_second_word_is_none() {
    for opcode in OPCODES {
        let (first, second) = Instruction::new(*opcode).encode().unwrap_or((0, None));
        if second.is_some() {
            assert_eq!(Instruction::decode(first, None), None);
        }
    }
    assert_eq!(OPCODES.iter().filter(|opcode| opcode.words() == 2).count(), 4);
}

#[test]
fn the_table_is_in_the_order_of_its_opcodes() {
    for (index, row) in ROWS.iter().enumerate() {
        assert_eq!(row.opcode as usize, index);
        assert_eq!(row.opcode.row().mnemonic, row.mnemonic);
    }
}

/// The printed set of a line's reads and writes.
fn sets(line: &str) -> String {
    let instruction = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    format!("{:?} => {:?}", instruction.reads(), instruction.writes())
}

#[test]
fn implicit_reads_and_writes_are_in_the_sets() {
    let expected = [
        ("mul r4, r5", "{r4, r5} => {r0, r1, C, Z}"),
        ("adiw r26, 1", "{r26, r27} => {r26, r27, C, Z, N, V, S}"),
        ("movw r24, r30", "{r30, r31} => {r24, r25}"),
        ("cpc r1, r2", "{r1, r2, C, Z} => {C, Z, N, V, S, H}"),
        ("ld r2, X+", "{r26, r27, memory} => {r2, r26, r27}"),
        ("std Y+3, r9", "{r9, r28, r29} => {memory}"),
        ("elpm r7, Z+", "{r30, r31, RAMPZ, flash} => {r7, r30, r31, RAMPZ}"),
        ("spm", "{r0, r1, r30, r31, RAMPZ} => {flash}"),
        ("push r3", "{r3, SP} => {SP, memory}"),
        ("reti", "{SP, memory} => {I, SP}"),
        ("brne .+2", "{Z} => {}"),
        ("sei", "{} => {I}"),
        ("bst r1, 2", "{r1} => {T}"),
        ("bld r1, 2", "{r1, T} => {r1}"),
        ("in r0, 0x3f", "{C, Z, N, V, S, H, T, I} => {r0}"),
        ("out 0x3f, r0", "{r0} => {C, Z, N, V, S, H, T, I}"),
        ("out 0x3e, r0", "{r0} => {SP}"),
        ("sbi 0x05, 1", "{io} => {io}"),
    ];
    for (line, sets_expected) in expected {
        assert_eq!(sets(line), sets_expected, "{line}");
    }
    assert!(Set::SREG.contains(Set::status(7)));
}

#[test]
fn cycle_columns_are_the_manuals() {
    let columns = |opcode: Opcode| {
        [CoreType::AvrePc2, CoreType::AvrePc3, CoreType::Avrxm, CoreType::Avrxt].map(|core| {
            let cost = opcode.cost(core);
            [cost.cycles, cost.taken_cycles, cost.taken_two_words_cycles]
        })
    };
    let same = |[e2, e3, xm, xt]: [u8; 4]| [[e2; 3], [e3; 3], [xm; 3], [xt; 3]];
    // The manual's tables "Cycles" of each instruction, for a program counter of two (and, AVRe, three) bytes.
    let printed: &[(&[Opcode], [u8; 4])] = &[
        (&[Opcode::Add, Opcode::Mov, Opcode::Bld, Opcode::Nop, Opcode::In, Opcode::Out], [1, 1, 1, 1]),
        (&[Opcode::Adiw, Opcode::Mul, Opcode::Rjmp, Opcode::Ijmp, Opcode::Pop], [2, 2, 2, 2]),
        (&[Opcode::Lpm, Opcode::LpmZInc, Opcode::ElpmZ, Opcode::Jmp], [3, 3, 3, 3]),
        (&[Opcode::Rcall, Opcode::Icall], [3, 4, 2, 2]),
        (&[Opcode::Call], [4, 5, 3, 3]),
        (&[Opcode::Ret, Opcode::Reti], [4, 5, 4, 4]),
        (&[Opcode::LdX, Opcode::LdXInc, Opcode::LdYInc, Opcode::LdZInc], [2, 2, 2, 2]),
        (&[Opcode::LdXDec, Opcode::LdYDec, Opcode::LddY, Opcode::LdZDec, Opcode::LddZ], [2, 2, 3, 2]),
        (&[Opcode::Lds], [2, 2, 3, 3]),
        (&[Opcode::StX, Opcode::StXInc, Opcode::StYInc, Opcode::StZInc], [2, 2, 1, 1]),
        (&[Opcode::StXDec, Opcode::StYDec, Opcode::StdY, Opcode::StZDec, Opcode::StdZ], [2, 2, 2, 1]),
        (&[Opcode::Sts], [2, 2, 2, 2]),
        (&[Opcode::Push, Opcode::Sbi, Opcode::Cbi], [2, 2, 1, 1]),
    ];
    for (opcodes, cycles) in printed {
        for &opcode in *opcodes {
            assert_eq!(columns(opcode), same(*cycles), "{opcode:?}");
        }
    }
    assert_eq!(columns(Opcode::Brbs), [[1, 2, 2]; 4]);
    assert_eq!(columns(Opcode::Cpse), [[1, 2, 3]; 4]);
    assert_eq!(columns(Opcode::Sbic), [[1, 2, 3], [1, 2, 3], [2, 3, 4], [1, 2, 3]]);
}

#[test]
fn errors_name_what_was_found_and_expected() {
    let words = |line: &str| text::parse(line).expect_err(line).to_string();
    assert_eq!(words("frob r1"), "unknown instruction: found `frob`");
    assert_eq!(words("ldi r15, 1"), "operand of `ldi` out of range: found 15, expected 16 to 31");
    assert_eq!(
        words("adiw r25, 1"),
        "operand of `adiw` out of range: found 25, expected 24 to 30 in steps of 2"
    );
    assert_eq!(words("ldi r16, 256"), "operand of `ldi` out of range: found 256, expected 0 to 255");
    assert_eq!(words("brne .+1"), "flash address is odd: found 1 bytes, expected a multiple of 2");
    assert_eq!(words("ldi r16, foo"), "operand has no value: found `foo`");
    assert_eq!(
        words("lpm r1, X"),
        "operands of `lpm` do not fit: found `r1, X`, expected `` or `Rd, Z` or `Rd, Z+`"
    );
    assert_eq!(words("ld r1"), {
        let shapes =
            ["X", "X+", "-X", "Y+", "-Y", "Z+", "-Z", "Y", "Z"].map(|pointer| format!("`Rd, {pointer}`"));
        format!("operands of `ld` do not fit: found `r1`, expected {}", shapes.join(" or "))
    });
}

#[test]
fn a_resolver_of_a_tool_gives_symbols_their_values() {
    struct Symbols;
    impl text::Resolve for Symbols {
        type Error = String;
        fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, String> {
            match (expression, operand) {
                ("lo8(table)", Operand::K8) => Ok(0x34),
                ("__zero_reg__", Operand::Rd) => Ok(1),
                (".L2", Operand::Relative7) => Ok(-6),
                _ => text::number(expression).ok_or_else(|| format!("no symbol {expression}")),
            }
        }
    }
    let parse = |line: &str| {
        let (mnemonic, operands) = text::split(line);
        text::parse_with(mnemonic, &operands, &mut Symbols).map(|instruction| instruction.to_string())
    };
    assert_eq!(parse("ldi r24, lo8(table)").as_deref(), Ok("ldi r24, 0x34"));
    assert_eq!(parse("clr __zero_reg__").as_deref(), Ok("eor r1, r1"));
    assert_eq!(parse("brne .L2").as_deref(), Ok("brne .-6"));
    assert!(parse("ldi r24, lo8(other)").is_err());
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(line in ".{0,40}") {
        let _ = text::parse(&line);
    }

    #[test]
    fn no_near_instruction_makes_the_parser_panic(
        index in 0..ROWS.len(), operands in "[rRxXyYzZ0-9+,.' ()-]{0,16}"
    ) {
        let _ = text::parse(&format!("{} {operands}", ROWS[index].mnemonic));
    }

    #[test]
    fn no_instruction_makes_the_encoder_panic(
        index in 0..OPCODES.len(), d: u8, r: u8, b: u8, k: i32
    ) {
        let instruction = Instruction { opcode: OPCODES[index], d, r, b, k };
        if let Ok((first, second)) = instruction.encode() {
            prop_assert!(Instruction::decode(first, second).is_some());
        }
    }
}
