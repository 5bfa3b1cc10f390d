//! Packed RV32 programs of the corpus against the program, word by word, by a reader that knows nothing of how they
//! came to be; how that reader finds what is wrong; and that rewritten instructions do what they did.

mod made;
mod rv32;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use isa::rv32::{Image, Instruction, Machine, Memory, Opcode, Region, Timing};
use made::Seeded;
use pack::canonical::canonical;
use pack::check::rv32::do_the_same;
use pack::check::{Fault, check};
use pack::code::dict;
use pack::code::packet::Packet;
use pack::flow::{Choice, Effects};
use pack::packing::{Alone, Assignment, Nothing};
use pack::place::Order;
use pack::{Image as PackedImage, Profile, Program, Settings, Target, pack};
use proptest::prelude::*;
use rv32::{CODE, elf, linked, program, word_of};
use soak::is_soak;

/// A profile without a run: any counts will do for what is only checked and not measured.
fn drawn(program: &Program, seed: u64) -> Profile {
    let words = program.code().flat_map(|section| (section.first..).step_by(4).take(section.bytes.len() / 4));
    Profile::new(words.map(|at| (at, u64::from(at).wrapping_mul(seed | 1) >> 7 & 0xff)))
}

fn switches() -> Vec<Settings> {
    let base = Settings::default();
    let link_slots = Choice { link_slots: true, ..Choice::default() };
    vec![
        base.clone(),
        Settings { assignment: Assignment::Greedy, far_branches: false, canonical: false, ..base.clone() },
        Settings { assignment: Assignment::Optimal, entries: 64, order: Order::Seeded(3), ..base.clone() },
        Settings { dictionary: dict::Choice::Dynamic, order: Order::Hot, ..base.clone() },
        Settings { choice: link_slots, order: Order::Seeded(4), ..base },
    ]
}

#[test]
fn every_packet_of_every_program_says_what_the_program_says() {
    let mut seeded = Seeded::new();
    for name in rv32::PROGRAMS {
        let program = program(name);
        let profile = drawn(&program, 5);
        // Elsewhere than in a long run, two that the seed draws for each program.
        let all = switches();
        let settings = if is_soak() { all } else { seeded.some(all, 2) };
        for settings in settings {
            let packed = pack(&program, std::slice::from_ref(&profile), &settings)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(packed.report.nothing, None, "{name}: {settings:?}");
            let faults = check(&program, &packed.image, &settings.choice).expect("it was followed before");
            let told: Vec<String> = faults.iter().take(8).map(ToString::to_string).collect();
            assert!(faults.is_empty(), "{name}: {} faults: {told:#?} {settings:?}", faults.len());
        }
    }
}

#[test]
fn a_changed_bit_is_found_in_every_field_of_a_packet() {
    let program = program("search");
    let packed = pack(&program, &[], &Settings::default()).expect("it can be packed");
    let text = packed.image.sections.iter().position(|section| section.name == ".text").expect("it has one");
    let bytes = &packed.image.sections[text].bytes;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let is_packet = |&at: &usize| Packet::of_word(Target::Rv32, word(at)).is_some();
    let packets: Vec<usize> = (0..bytes.len()).step_by(4).filter(is_packet).collect();
    for step in 0..4 * 28 {
        let at = packets[step * 7919 % packets.len()];
        let payload = Target::Rv32.payload_of_word(word(at)).expect("it is a packet");
        let changed = Target::Rv32.word_of_payload(payload ^ 1 << (step % 28));
        let mut image = packed.image.clone();
        image.sections[text].bytes[at..at + 4].copy_from_slice(&changed.to_le_bytes());
        let faults = check(&program, &image, &Choice::default()).expect("it was followed before");
        assert!(!faults.is_empty(), "{at:#x}: {payload:#09x}, bit {}", step % 28);
    }
}

#[test]
fn instructions_that_depend_on_nothing_are_packed_without_trying_every_set_of_them() {
    // 679,120 sets of at most four for each of 24 partial orders, were each tried.
    let lines = ["nop"; 200].into_iter().chain(["ret"]);
    let program = linked(&lines.map(word_of).collect::<Vec<u32>>(), &[0]);
    let packed = pack(&program, &[], &Settings::default()).expect("it can be packed");
    assert_eq!(check(&program, &packed.image, &Choice::default()), Ok(Vec::new()));
    assert_eq!(packed.report.nothing, None);
}

/// Two stores of a function, through this register.
fn stores(base: &str) -> [u32; 2] {
    ["sw a0, 0", "sw a1, 4"].map(|store| word_of(&format!("{store}({base})")))
}

/// Whether stores through a register may change places: small variables, which may be volatile, are at gp and tp.
const MAY_SWAP: [(&str, bool); 3] = [("gp", false), ("tp", false), ("sp", true)];

#[test]
fn stores_through_gp_and_tp_keep_their_order_and_those_to_the_stack_need_not() {
    for (base, may_swap) in MAY_SWAP {
        let [first, later] = stores(base).map(|word| Effects::of(Target::Rv32, word));
        assert_eq!(first.stays_before(&later), !may_swap, "{base}");
    }
}

/// An image in which two words have changed places.
fn swapped(image: &PackedImage, olds: [u32; 2]) -> PackedImage {
    let mut image = image.clone();
    let [one, other] =
        olds.map(|old| image.map.iter().position(|moved| moved.old == old).expect("it is in the map"));
    let (place, other_place) = (image.map[one].new, image.map[other].new);
    (image.map[one].new, image.map[other].new) = (other_place, place);
    let section = image.sections.iter_mut().find(|section| section.contains(place)).expect("it is code");
    let [word, other_word] =
        [place, other_place].map(|at| section.word(Target::Rv32, at).expect("it is code"));
    section.set_word(Target::Rv32, place, other_word);
    section.set_word(Target::Rv32, other_place, word);
    image
}

#[test]
fn an_image_in_which_stores_through_gp_or_tp_changed_places_is_refused() {
    for (base, may_swap) in MAY_SWAP {
        let [first, later] = stores(base);
        let program = linked(&[word_of("addi a2, a2, 1"), first, later, word_of("ret")], &[0]);
        let settings = Settings { assignment: Assignment::Words, ..Settings::default() };
        let image = pack(&program, &[], &settings).expect("its words can be placed").image;
        assert_eq!(check(&program, &image, &settings.choice), Ok(Vec::new()), "{base}");
        let other = swapped(&image, [CODE + 4, CODE + 8]);
        let order = Fault::Order { first: CODE + 4, second: CODE + 8 };
        let expected = if may_swap { Vec::new() } else { vec![order] };
        assert_eq!(check(&program, &other, &settings.choice), Ok(expected), "{base}");
    }
}

#[test]
fn without_relocations_nothing_moves_and_it_is_said() {
    let mut program = program("search");
    program.relocated = false;
    let packed = pack(&program, &[], &Settings::default()).expect("it is left as it is");
    assert_eq!(packed.report.nothing, Some(Nothing::NoRelocations));
    assert_eq!(packed.image.sections, program.sections);
}

#[test]
fn calls_jumps_and_returns_are_in_packets() {
    let program = program("lua");
    let packed = pack(&program, &[], &Settings::default()).expect("it can be packed");
    let shared = |old: u32, of: &Program| {
        let word = of.word_at(old).and_then(Instruction::decode);
        word.map(|instruction| (instruction.opcode, instruction.rd))
    };
    let new: std::collections::BTreeSet<u32> = packed.image.map.iter().map(|moved| moved.new).collect();
    let in_packet = |new_place: u32| new.contains(&(new_place & !3 | 1));
    let inside = packed.image.map.iter().filter(|moved| in_packet(moved.new));
    let found: std::collections::BTreeSet<_> =
        inside.filter_map(|moved| shared(moved.old, &program)).collect();
    for (opcode, rd) in [(Opcode::Jal, 1), (Opcode::Jal, 0), (Opcode::Jalr, 0), (Opcode::Jalr, 1)] {
        assert!(found.contains(&(opcode, rd)), "{opcode:?} {rd}");
    }
    // The only words that must be are code addresses, traps, and what nothing leads to.
    let pinned: Vec<&Alone> =
        packed.report.alone.keys().filter(|alone| matches!(alone, Alone::Pinned(_))).collect();
    assert!(pinned.len() <= 4, "{pinned:?}");
}

/// What a machine has in a register after two words at an address.
fn after(words: [u32; 2], at: u32, register: u8) -> u32 {
    let bytes = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let region = Region { first: at, bytes, writable: false };
    let mut machine = Machine::new(Memory::new(vec![region], at, 8), Timing::ideal(), at);
    machine.run(2, &mut ());
    machine.register(register)
}

#[test]
fn an_address_that_was_a_distance_is_the_same_wherever_it_is_computed() {
    for name in rv32::PROGRAMS {
        let (before, after_reading) = (Image::parse(&elf(name)).expect("it is an image"), program(name));
        let segment = before.segments.iter().find(|segment| segment.first <= before.code_first);
        let segment = segment.expect("code is in a segment");
        let word = |at: u32| {
            let at = (at - segment.first) as usize;
            u32::from_le_bytes(segment.bytes[at..at + 4].try_into().expect("four bytes"))
        };
        let mut pairs = 0;
        for at in (before.code_first..before.code_first + before.code_bytes - 4).step_by(4) {
            let both = [at, at + 4].map(|at| Instruction::decode(word(at)));
            let [Some(high), Some(low)] = both else { continue };
            if high.opcode != Opcode::Auipc {
                assert!(is_low(high) || after_reading.word_at(at) == Some(word(at)), "{name}: {at:#x}");
                continue;
            }
            let rewritten = [at, at + 4].map(|at| after_reading.word_at(at).expect("it is code"));
            let now = Instruction::decode(rewritten[0]).map(|now| (now.opcode, now.rd));
            assert_eq!(now, Some((Opcode::Lui, high.rd)), "{name}: {at:#x}");
            if low.opcode == Opcode::Addi && low.rs1 == high.rd {
                let expected = after([word(at), word(at + 4)], at, low.rd);
                assert_eq!(after(rewritten, at, low.rd), expected, "{name}: {at:#x}");
                assert_eq!(after(rewritten, 0x4000, low.rd), expected, "{name}: {at:#x}");
                pairs += 1;
            }
        }
        assert!(pairs > 10, "{name}: {pairs}");
    }
}

/// Whether an instruction may have the low part of an address.
fn is_low(instruction: Instruction) -> bool {
    use Opcode::*;
    matches!(instruction.opcode, Addi | Jalr | Lb | Lh | Lw | Lbu | Lhu | Sb | Sh | Sw)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_stands_for_an_instruction_does_the_same(word: u32, low in 0u32..0x1000, register in 0u32..32) {
        // Of each kind: as drawn; with equal registers; with register 0 in each place; with a constant.
        let with = |word: u32, mask: u32, bits: u32| word & !mask | bits;
        for opcode in [0x13, 0x33, 0x37, 0x03, 0x23] {
            let word = with(word, 0x7f, opcode);
            for word in [word, with(word, 0xfe00_0000, 0), with(word, 0xfe00_0000, 0x0200_0000)] {
                let words = [
                    word,
                    with(word, 0x01ff_8000, register << 20 | register << 15),
                    with(word, 0x01f0_0000, 0),
                    with(word, 0x000f_8000, 0),
                    with(word, 0x0000_0f80, 0),
                    with(word, 0xfff0_0000, low << 20),
                    with(word, 0xfff0_0000, 0),
                    with(word, 0xfff0_0000, 0xfff0_0000),
                ];
                for word in words {
                    let other = canonical(Target::Rv32, word);
                    if let (Some(a), Some(b)) = (Instruction::decode(word), Instruction::decode(other)) {
                        prop_assert!(a == b || do_the_same(a, b), "{word:#010x} {a} and {b}");
                        prop_assert_eq!(canonical(Target::Rv32, other), other, "{} is canonical and stays so", b);
                    }
                }
            }
        }
    }
}

#[test]
fn every_pair_of_registers_and_every_constant_that_a_rule_names_does_the_same() {
    // Operations by function and opcode, with registers 0, 1 and 5 in every place.
    let registers = [0u32, 1, 5];
    let mut rules = 0;
    for (high, opcode) in [(0u32, 0x33u32), (0x4000_0000, 0x33), (0x0200_0000, 0x33), (0, 0x13)] {
        for function in 0..8u32 {
            for (rd, rs1) in registers.iter().flat_map(|rd| registers.map(|rs1| (rd, rs1))) {
                let uppers: Vec<u32> = if opcode == 0x33 {
                    registers.iter().map(|rs2| high | rs2 << 20).collect()
                } else {
                    (0..0x1000).map(|constant| constant << 20).collect()
                };
                for upper in uppers {
                    let word = upper | rs1 << 15 | function << 12 | rd << 7 | opcode;
                    let other = canonical(Target::Rv32, word);
                    if let (Some(a), Some(b)) = (Instruction::decode(word), Instruction::decode(other)) {
                        rules += u32::from(a != b);
                        assert!(a == b || do_the_same(a, b), "{word:#010x} {a} and {b}");
                    }
                }
            }
        }
    }
    assert!(rules > 1000, "{rules}");
}

#[test]
fn branches_on_equality_take_their_registers_in_either_order() {
    for (a, b) in [("beq a1, a0, .+8", "beq a0, a1, .+8"), ("bne zero, a0, .-4", "bne a0, zero, .-4")] {
        assert_eq!(canonical(Target::Rv32, rv32::word_of(a)), rv32::word_of(b));
        assert_eq!(canonical(Target::Rv32, rv32::word_of(b)), rv32::word_of(b));
    }
    for line in ["blt a1, a0, .+8", "bgeu a0, a1, .+8", "jal ra, .+8"] {
        assert_eq!(canonical(Target::Rv32, rv32::word_of(line)), rv32::word_of(line));
    }
}
