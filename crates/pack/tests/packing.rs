//! Packed programs of the corpus against the program, word by word, by a reader that knows nothing of how they came to
//! be; and how that reader finds what is wrong.

mod corpus;
mod made;

use std::collections::{BTreeMap, BTreeSet};

use corpus::{program, soak};
use isa::sparc::Instruction;
use made::Seeded;
use pack::canonical::canonical;
use pack::check::sparc::do_the_same;
use pack::check::{Fault, check};
use pack::code::dict;
use pack::code::packet::Packet;
use pack::flow::Choice;
use pack::image::{Kind, PackedText, Zeros};
use pack::packing::{Assignment, Nothing};
use pack::place::Order;
use pack::{Error, Image, Profile, Program, Settings, Target, pack};
use proptest::prelude::*;

/// A profile without a run: any counts will do for what is only checked and not measured.
fn drawn(program: &Program, seed: u64) -> Profile {
    let code = program.code().filter(|section| section.name == ".text");
    let words = code.flat_map(|section| (section.first..).step_by(4).take(section.bytes.len() / 4));
    Profile::new(words.map(|at| (at, u64::from(at).wrapping_mul(seed | 1) >> 7 & 0xff)))
}

fn switches() -> Vec<Settings> {
    let base = Settings::default();
    let link_slots = Choice { link_slots: true, ..Choice::default() };
    let split = Choice { split: true, ..Choice::default() };
    vec![
        base.clone(),
        Settings { assignment: Assignment::Greedy, far_branches: false, canonical: false, ..base.clone() },
        Settings { assignment: Assignment::Optimal, entries: 64, order: Order::Seeded(3), ..base.clone() },
        Settings { dictionary: dict::Choice::Dynamic, order: Order::Hot, ..base.clone() },
        Settings { choice: link_slots, order: Order::Seeded(4), ..base.clone() },
        Settings { assignment: Assignment::Words, order: Order::Seeded(5), ..base.clone() },
        Settings { choice: split, order: Order::Hot, ..base },
    ]
}

#[test]
fn every_packet_of_every_program_says_what_the_program_says() {
    let mut seeded = Seeded::new();
    for name in corpus::PROGRAMS {
        let program = program(name);
        let profile = drawn(&program, 5);
        // Elsewhere than in a long run, two that the seed draws for each program.
        let all = switches();
        let settings = if soak() { all } else { seeded.some(all, 2) };
        for settings in settings {
            let packed = pack(&program, std::slice::from_ref(&profile), &settings)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let packs = settings.assignment != Assignment::Words;
            assert!(packed.report.ratio() < 1.0 || !packs, "{name}: {settings:?}");
            let faults = check(&program, &packed.image, &settings.choice).expect("it was followed before");
            let told: Vec<String> = faults.iter().take(8).map(ToString::to_string).collect();
            assert!(faults.is_empty(), "{name}: {} faults: {told:#?} {settings:?}", faults.len());
        }
    }
}

#[test]
fn a_changed_bit_is_found_in_every_field_of_a_packet() {
    let program = program("search");
    let packed = pack(&program, &[], &Settings::default()).unwrap();
    let text = packed.image.sections.iter().position(|section| section.name == ".text").unwrap();
    // In other words a bit may make an instruction that does the same: `or %g0, 1, %o0` is `xor %g0, 1, %o0`.
    let words = packed.image.sections[text].bytes.as_chunks().0.iter().enumerate();
    let packets: Vec<usize> = words
        .filter(|(_, word)| Packet::of_word(Target::Sparc, u32::from_be_bytes(**word)).is_some())
        .map(|(at, _)| 4 * at)
        .collect();
    for step in 0..28 {
        let at = packets[step * 7919 % packets.len()];
        let mut image = packed.image.clone();
        let bytes: &mut [u8; 4] = (&mut image.sections[text].bytes[at..at + 4]).try_into().unwrap();
        let payload = Target::Sparc.payload_of_word(u32::from_be_bytes(*bytes)).unwrap();
        *bytes = Target::Sparc.word_of_payload(payload ^ 1 << step).to_be_bytes();
        let faults = check(&program, &image, &Choice::default()).unwrap();
        assert!(!faults.is_empty(), "byte {at}, bit {step} of the payload");
    }
}

/// The words of a packed program by their old addresses, and the words that stand alone.
fn alone(program: &Program, image: &Image) -> BTreeMap<u32, (u32, u32)> {
    let new_of: BTreeMap<u32, u32> = image.map.iter().map(|moved| (moved.old, moved.new)).collect();
    let taken: BTreeSet<u32> = new_of.values().copied().collect();
    let is_alone = |new: &u32| new & 3 == 0 && !taken.contains(&(new + 1));
    let alone = new_of.into_iter().filter(|(_, new)| is_alone(new));
    alone.filter_map(|(old, new)| Some((old, (new, program.word_at(old)?)))).collect()
}

/// An image in which two words that stand alone have changed places.
fn swapped(image: &Image, (old, new): (u32, u32), (other_old, other_new): (u32, u32)) -> Image {
    let mut image = image.clone();
    let section = image.sections.iter_mut().find(|section| section.contains(new)).expect("it is code");
    let [word, other] = [new, other_new].map(|new| section.word(Target::Sparc, new).expect("it is code"));
    section.set_word(Target::Sparc, new, other);
    section.set_word(Target::Sparc, other_new, word);
    for moved in &mut image.map {
        match moved.old {
            this if this == old => moved.new = other_new,
            this if this == other_old => moved.new = new,
            _ => {}
        }
    }
    image
}

#[test]
fn another_instruction_stands_behind_a_call_only_where_nobody_can_tell() {
    let program = program("dijkstra");
    let image = pack(&program, &[], &Settings::default()).unwrap().image;
    let new_of: BTreeMap<u32, u32> = image.map.iter().map(|moved| (moved.old, moved.new)).collect();
    let is_call = |&&(old, _): &&(u32, u32)| program.word_at(old).is_some_and(|word| word >> 30 == 1);
    let olds: Vec<(u32, u32)> = new_of.iter().map(|(&old, &new)| (old, new)).collect();
    let calls: Vec<(u32, u32)> = olds.iter().filter(is_call).copied().collect();
    let exchanged =
        calls.iter().filter(|(old, new)| new_of.get(&(old + 4)).is_some_and(|&delay| delay != new + 4));
    assert!(exchanged.count() * 20 > calls.len(), "hardly any of {} calls", calls.len());
    // What the call or the delay instruction needs is found behind the call.
    let (alone, mut refused) = (alone(&program, &image), 0);
    for &(call, new) in &calls {
        let Some((&before, &(place, word))) = alone.range(..call).next_back() else { continue };
        let Some(&(delay_place, delay_word)) = alone.get(&(call + 4)) else { continue };
        if (place, delay_place) != (new - 4, new + 4) {
            continue;
        }
        let (Some(first), Some(delay)) = (Instruction::decode(word), Instruction::decode(delay_word)) else {
            continue;
        };
        if first.writes().meets(delay.reads().union(delay.writes())) {
            let other = swapped(&image, (before, place), (call + 4, delay_place));
            let faults = check(&program, &other, &Choice::default()).unwrap();
            let found =
                faults.iter().any(|fault| matches!(fault, Fault::Order { first, .. } if *first == before));
            assert!(found, "{before:#x} {first}; {delay}: {faults:?}");
            refused += 1;
        }
        if refused == 8 {
            break;
        }
    }
    assert!(refused > 0, "no call has such a delay instruction");
}

#[test]
fn without_relocations_nothing_moves_and_it_is_said() {
    let mut program = program("search");
    program.relocated = false;
    let packed = pack(&program, &[], &Settings::default()).unwrap();
    assert_eq!(packed.report.nothing, Some(Nothing::NoRelocations));
    assert_eq!(packed.image.sections, program.sections);
    assert_eq!(packed.report.ratio(), 1.0);
}

#[test]
fn a_profile_comes_back_from_its_text_and_a_bad_line_is_named() {
    let profile = drawn(&program("search"), 9);
    assert!(profile.total() > 0);
    assert_eq!(Profile::parse(&profile.to_string()), Ok(profile));
    let found = Profile::parse("# counts\n0x40001000 7\n40001004 8\n");
    assert_eq!(found, Err(Error::ProfileLine { line: 3, found_bytes: 10 }));
}

#[test]
fn what_may_be_loaded_is_compared_with_the_program_s_constants() {
    let mut constants = 0;
    for name in corpus::PROGRAMS {
        let program = program(name);
        let packed = pack(&program, &[], &Settings { assignment: Assignment::Greedy, ..Settings::default() });
        let image = packed.unwrap().image;
        let loaded = |changed: &[PackedText]| -> Vec<u32> {
            let image = Image { packed_text: changed.to_vec(), ..image.clone() };
            let faults = check(&program, &image, &Choice::default()).unwrap();
            let loaded = faults.into_iter().map(|fault| match fault {
                Fault::Loaded { new } => new,
                other => panic!("{name}: {other}"),
            });
            loaded.collect()
        };
        let text = &image.packed_text;
        assert_eq!(loaded(text), []);
        let PackedText { first, bytes } = text[0];
        let less = [&[PackedText { first, bytes: bytes - 4 }], &text[1..]].concat();
        assert_eq!(loaded(&less), [first + bytes - 4], "{name}: its last instruction");
        let behind = first + bytes;
        if image.sections.iter().any(|section| section.kind == Kind::Code && section.contains(behind)) {
            let more = [&[PackedText { first, bytes: bytes + 4 }], &text[1..]].concat();
            assert_eq!(loaded(&more), [behind], "{name}: the constant behind it");
            constants += 1;
        }
    }
    assert!(constants > 0, "no program has a constant in its code");
}

#[test]
fn an_image_that_differs_beside_its_code_is_found_packed_or_not() {
    let program = program("search");
    let packed = pack(&program, &[], &Settings::default()).unwrap().image;
    assert!(!packed.map.is_empty());
    for image in [packed, Image::from(&program)] {
        let found = |change: &dyn Fn(&mut Image)| {
            let mut changed = image.clone();
            change(&mut changed);
            check(&program, &changed, &Choice::default()).unwrap()
        };
        assert_eq!(found(&|_| {}), []);
        let elsewhere = Fault::Entry { found: image.entry + 4, expected: image.entry };
        assert_eq!(found(&|changed| changed.entry += 4), [elsewhere]);
        let more = Zeros { first: 0xffff_fff0, bytes: 4 };
        assert_eq!(found(&|changed| changed.zeros.push(more)), [Fault::Zeros]);
        let other = Fault::Machine { found: Target::Rv32, expected: Target::Sparc };
        assert_eq!(found(&|changed| changed.target = Target::Rv32), [other]);
        let expected = program.sections.len();
        let last = image.sections.last().expect("it has sections");
        let more = found(&|changed| changed.sections.push(last.clone()));
        assert!(more.contains(&Fault::Sections { found: expected + 1, expected }), "{more:?}");
        let fewer = found(&|changed| changed.sections.truncate(expected - 1));
        assert!(fewer.contains(&Fault::Sections { found: expected - 1, expected }), "{fewer:?}");
    }
}

#[test]
fn settings_that_cannot_be_are_refused_by_name() {
    let program = program("search");
    let refused = |settings: Settings| pack(&program, &[], &settings).expect_err("it cannot be");
    let base = Settings::default;
    assert_eq!(refused(Settings { entries: 257, ..base() }), Error::Entries { found: 257, limit: 256 });
    assert!(matches!(
        refused(Settings { dictionary: dict::Choice::Dynamic, ..base() }),
        Error::NoProfile { .. }
    ));
    assert!(matches!(refused(Settings { order: Order::Hot, ..base() }), Error::NoProfile { .. }));
    let exclude = Choice { exclude: vec!["no_such".into()], ..Choice::default() };
    assert_eq!(refused(Settings { choice: exclude, ..base() }), Error::Function { found: "no_such".into() });
}

#[test]
fn an_order_of_one_seed_is_always_the_same_and_has_every_function_once() {
    let program = program("search");
    let image = |seed| pack(&program, &[], &Settings { order: Order::Seeded(seed), ..Settings::default() });
    let (one, same, other) = (image(1).unwrap(), image(1).unwrap(), image(2).unwrap());
    assert_eq!(one.image, same.image);
    assert_ne!(one.image.map, other.image.map);
    assert_eq!(one.image.map.len(), other.image.map.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn what_stands_for_an_instruction_does_the_same(word: u32, low in 0u32..0x2000, register in 0u32..32) {
        // As drawn; with a second register; with equal registers; with register 0 in each place.
        let with = |mask: u32, bits: u32| word & !mask | bits;
        let words = [
            word,
            0x8000_0000 | with(0xc000_3fe0, 0),
            0x8000_0000 | with(0xc007_ffff, register << 14 | register),
            0x8000_0000 | with(0xc007_ffff, register),
            0x8000_0000 | with(0xc000_3fff, 1 << 13 | low),
            0x8000_0000 | with(0xfe00_3fff, 1 << 13 | low),
            0x8000_0000 | with(0xc007_ffff, 1 << 13 | low),
            with(0xc1c0_0000, 0x0100_0000) & !0x3f_fff8,
        ];
        for word in words {
            let other = canonical(Target::Sparc, word);
            if let (Some(a), Some(b)) = (Instruction::decode(word), Instruction::decode(other)) {
                prop_assert!(do_the_same(a, b), "{word:#010x} {a} and {b}");
                prop_assert_eq!(canonical(Target::Sparc, other), other, "{} is canonical and stays so", b);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..600), header: bool) {
        if header && bytes.len() > 52 {
            bytes[..8].copy_from_slice(&[0x7f, b'E', b'L', b'F', 1, 2, 1, 0]);
            bytes[16..20].copy_from_slice(&[0, 2, 0, 2]);
        }
        let _ = Program::parse(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn a_changed_program_is_packed_or_refused(
        places in proptest::collection::vec((0usize..91_660, any::<u8>()), 1..6)
    ) {
        let mut bytes = corpus::elf("search");
        for (at, value) in places {
            bytes[at] = value;
        }
        if let Ok(program) = Program::parse(&bytes) {
            let _ = pack(&program, &[], &Settings { assignment: Assignment::Greedy, ..Settings::default() });
        }
    }
}
