//! The packet format, over every word that it has.

use pack::Target;
use pack::code::packet::{Dictionary, Packet};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn what_is_read_from_a_word_is_written_as_the_same_word(word: u32) {
        for target in [Target::Sparc, Target::Rv32] {
            if let Some(packet) = Packet::of_word(target, word) {
                prop_assert_eq!(packet.word(target), Some(word));
            }
        }
    }

    #[test]
    fn a_payload_comes_back_from_its_word(payload in 0u32..1 << 28) {
        for target in [Target::Sparc, Target::Rv32] {
            prop_assert_eq!(target.payload_of_word(target.word_of_payload(payload)), Some(payload));
        }
    }

    #[test]
    fn a_branch_goes_where_it_was_sent(words in -512i32..512) {
        // `bne` with its annul bit on SPARC, `bgeu a0, a1` and `jal ra` on RV32.
        let branches = [(Target::Sparc, 0x3280_0000), (Target::Rv32, 0x00b5_7063), (Target::Rv32, 0x0000_00ef)];
        for (target, branch) in branches {
            let sent = target.with_distance(branch, words).unwrap();
            prop_assert_eq!(target.distance(sent), Some(words));
            prop_assert_eq!(target.with_distance(sent, 0), Some(branch));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn a_distance_of_rv32_is_what_the_core_takes_it_for(word: u32, words in -1i32 << 20..1 << 20) {
        use isa::rv32::{Instruction, table::Operand};
        for word in [word & !0x7f | 0x63, word & !0x7f | 0x6f] {
            let Some(instruction) = Instruction::decode(word) else { continue };
            let least = if instruction.opcode.row().operands.contains(&Operand::Jump) { -1 << 18 } else { -1 << 10 };
            let found = Target::Rv32.distance(word).map(|words| 4 * words);
            prop_assert_eq!(found, Some(instruction.k).filter(|bytes| bytes % 4 == 0));
            let sent = Target::Rv32.with_distance(word, words);
            prop_assert_eq!(sent.is_some(), (least..-least).contains(&words));
            if let Some(sent) = sent.and_then(Instruction::decode) {
                prop_assert_eq!(sent, Instruction { k: 4 * words, ..instruction });
            }
        }
    }
}

#[test]
fn words_that_are_instructions_or_unimplemented_are_no_packets() {
    // UNIMP, SETHI, Bicc, CALL, ADD; and on RV32 an illegal word of zeros, ADDI.
    for word in [0, 0x1234, 0x0100_0000, 0x1080_0004, 0x4000_0001, 0x8000_0000] {
        assert_eq!(Packet::of_word(Target::Sparc, word), None, "{word:#010x}");
    }
    for word in [0, 0x0000_0013] {
        assert_eq!(Packet::of_word(Target::Rv32, word), None, "{word:#010x}");
    }
}

#[test]
fn an_entry_that_the_dictionary_lacks_expands_to_nothing() {
    let dictionary = Dictionary::new(vec![0x0100_0000]).unwrap();
    let first = Packet::of_payload(1 << 24).unwrap();
    assert_eq!(dictionary.expand(Target::Sparc, &first), Some(([0x0100_0000, 0, 0, 0], 1)));
    let second = Packet::of_payload(1 << 24 | 1 << 16).unwrap();
    assert_eq!(dictionary.expand(Target::Sparc, &second), None);
}
