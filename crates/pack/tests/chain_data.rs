//! Data beside the chain: constants among packed instructions come through the cipher, packed instructions are no data,
//! and a data cache changes nothing but time.

mod packets;

use std::sync::Arc;

use isa::sparc::machine::Settings as Core;
use isa::sparc::{Board, FaultKind, Machine, Stop, Timing, Trap};
use pack::chain::{
    Chain, Data, DataTiming, LineCipher, Protection, Replacement, Settings, Shape, Unsealed, Work, run,
};
use pack::code::packet::{Format, Packet};
use pack::image::{Image, Kind, Section};
use pack::target::Target;
use packets::{CODE, DATA, Word, mixed, packet, plain};

const MEMORY_BYTES: u32 = 0x2_0000;

fn start(image: &Image, protection: &Protection, settings: &Settings) -> Machine<Board<Chain>> {
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    run::on_board(image, protection, settings, core, MEMORY_BYTES, &[]).expect("it fits")
}

/// Runs until a trap, which is how it ends with traps off.
fn end(image: &Image, protection: &Protection, settings: &Settings) -> (Machine<Board<Chain>>, FaultKind) {
    let mut machine = start(image, protection, settings);
    match machine.run(1_000_000, &mut ()) {
        Stop::Fault(fault) => (machine, fault.kind),
        stop => panic!("{stop:?}"),
    }
}

const ENDED: FaultKind = FaultKind::ErrorMode { trap: Trap::software(0) };

/// What looks like a packet of the first two entries of a dictionary.
const LIKE_A_PACKET: u32 = 0x0800_0100;

/// Loads a word of the code by its offset: a packet at 4, and constants from 12 on.
fn loading(offset: u32, mnemonic: &str) -> Image {
    let words = [
        plain(&format!("sethi %hi({CODE:#x}), %g1")),
        packet(Format::Three, &["mov 5, %g3", &format!("{mnemonic} [%g1 + {offset}], %g2")]),
        plain("ta 0"),
        Word::Number(0x1234_5678),
        Word::Number(0x9abc_def0),
        Word::Number(LIKE_A_PACKET),
    ];
    packets::image(&words)
}

#[test]
fn constants_among_packed_instructions_are_loaded_and_packets_are_not() {
    let settings = Settings::default();
    let found = Packet::of_word(Target::Sparc, LIKE_A_PACKET).expect("it looks like one");
    assert!(loading(20, "ld").dictionary.expand(Target::Sparc, &found).is_some());
    for (mnemonic, offset, expected) in [
        ("ld", 12, 0x1234_5678),
        ("ld", 16, 0x9abc_def0),
        ("lduh", 14, 0x5678),
        ("ldub", 16, 0x9a),
        ("ld", 20, LIKE_A_PACKET),
    ] {
        let (machine, ended) = end(&loading(offset, mnemonic), &Protection::default(), &settings);
        assert_eq!((machine.register(2), ended), (expected, ENDED), "{mnemonic} {offset}");
        assert_eq!(machine.bus.memory.counts().constants, 1);
    }
    // Words that are packed text end the run, too, where they are instructions.
    let loads = [("ld", 4, 4), ("lduh", 4, 4), ("ldub", 7, 7), ("ldd", 0, 0), ("ld", 8, 8), ("ldd", 8, 8)];
    for (mnemonic, offset, at) in loads {
        let (_, ended) = end(&loading(offset, mnemonic), &Protection::default(), &settings);
        assert_eq!(ended, FaultKind::PackedText { address: CODE + at }, "{mnemonic} {offset}");
    }
}

/// Turns the bytes of a line around.
struct Around;

impl LineCipher for Around {
    fn open(&self, _address: u32, line: &mut [u8; 16]) {
        line.reverse();
    }

    fn work(&self) -> Work {
        Work::Block
    }
}

#[test]
fn constants_of_sealed_lines_are_opened_and_waited_for_unless_data_is_ideal() {
    let image = loading(16, "ld");
    let mut outside = image.sections[0].bytes.clone();
    outside.resize(outside.len().next_multiple_of(16), 0);
    outside.chunks_exact_mut(16).for_each(<[u8]>::reverse);
    let mut protection = Protection::of_code(&image, Arc::new(Around));
    protection.memory = Some(vec![(CODE, outside)]);
    let timing = DataTiming { first_cycles: 10, next_cycles: 1, store_cycles: 0 };
    let cached = Data::Cached(Shape::direct(64), timing);
    for (data, data_cycles) in [(Data::Ideal, 0), (Data::Uncached(timing), 120), (cached, 120)] {
        let (machine, ended) = end(&image, &protection, &Settings { data, ..Settings::default() });
        assert_eq!((machine.register(2), ended), (0x9abc_def0, ENDED));
        assert_eq!(machine.spent().data_cycles, data_cycles, "{data:?}");
    }
}

/// Stores and loads all over two kilobytes, in an order that comes back to some of them: a sum of what it found.
fn churning() -> Image {
    let words = [
        plain("sethi %hi(0x40010000), %g1"),
        plain("mov 2000, %g2"),
        plain("mov 0, %g3"),
        packet(Format::Four, &["umul %g2, 1237, %g4", "and %g4, 2044, %g4", "ld [%g1 + %g4], %g5"]),
        packet(Format::Four, &["add %g3, %g5, %g3", "xor %g4, 1024, %g6", "ldub [%g1 + %g6], %g7"]),
        packet(Format::Three, &["add %g3, %g7, %g3", "st %g3, [%g1 + %g6]", "sth %g2, [%g1 + %g4]"]),
        packet(Format::Three, &["andn %g4, 7, %g6", "ldd [%g1 + %g6], %o0", "xor %g3, %o1, %g3"]),
        packet(Format::ThreeBranch, &["subcc %g2, 1, %g2", "bne .-16", "nop"]),
        plain("ta 0"),
    ];
    packets::image(&words)
}

#[test]
fn a_data_cache_changes_nothing_but_time() {
    let timing = DataTiming { first_cycles: 10, next_cycles: 2, store_cycles: 1 };
    let image = churning();
    let none = Protection::default();
    let (ideal, _) = end(&image, &none, &Settings::default());
    assert_ne!(ideal.register(3), 0);
    let (uncached, _) = end(&image, &none, &Settings { data: Data::Uncached(timing), ..Settings::default() });
    assert_eq!(uncached.register(3), ideal.register(3));
    // Three loads and two stores a round.
    assert_eq!(uncached.spent().data_cycles, 2000 * (3 * 10 + 2));
    for (bytes, ways, line_bytes) in [(256, 1, 16), (512, 2, 32), (1024, 4, 64), (4096, 1, 32)] {
        for replacement in [Replacement::LeastRecentlyUsed, Replacement::Random { seed: mixed(1) }] {
            let shape = Shape { bytes, ways, line_bytes, replacement };
            let data = Data::Cached(shape, timing);
            let (cached, ended) = end(&image, &none, &Settings { data, ..Settings::default() });
            assert_eq!((cached.register(3), ended), (ideal.register(3), ENDED), "{shape:?}");
            let counts = cached.bus.memory.counts();
            assert_eq!(counts.data_accesses, 3 * 2000);
            let miss_cycles = 10 + 2 * (u64::from(line_bytes) / 16 - 1);
            let expected = counts.data_misses * miss_cycles + 2000 * 2;
            assert_eq!(cached.spent().data_cycles, expected, "{shape:?}");
            // All of it fits the last one.
            assert!(bytes < 4096 || counts.data_misses == 2048 / u64::from(line_bytes), "{counts:?}");
        }
    }
}

#[test]
fn a_line_with_constants_and_variables_has_both() {
    let words = [
        plain("sethi %hi(0x40012000), %g1"),
        plain("ld [%g1 + 4], %g2"),
        plain("mov 77, %g3"),
        plain("st %g3, [%g1 + 8]"),
        plain("ld [%g1 + 8], %g4"),
        plain("ld [%g1 + 4], %g5"),
        plain("st %g3, [%g1 + 4]"),
    ];
    let mut image = packets::image(&words);
    let (kind, bytes) = (Kind::Constants, vec![1, 2, 3, 4, 5, 6, 7, 8]);
    image.sections.push(Section { name: ".rodata".to_owned(), kind, first: DATA + 0x2000, bytes });
    let timing = DataTiming { first_cycles: 10, next_cycles: 2, store_cycles: 0 };
    let data = Data::Cached(Shape { line_bytes: 64, ..Shape::direct(256) }, timing);
    let protection = Protection::of_code(&image, Arc::new(Unsealed(Work::Pad)));
    let (machine, ended) = end(&image, &protection, &Settings { data, ..Settings::default() });
    let globals = [2, 4, 5].map(|number| machine.register(number));
    assert_eq!(globals, [0x0506_0708, 77, 0x0506_0708]);
    // The last one stores to what is only read.
    assert_eq!(ended, FaultKind::ErrorMode { trap: Trap::DATA_ACCESS_EXCEPTION });
    let counts = machine.bus.memory.counts();
    assert_eq!((counts.data_accesses, counts.data_misses), (3, 1));
}

#[test]
fn a_store_to_code_ends_the_run() {
    for (offset, at) in [(8, 8), (-4, 0)] {
        let mut image = packets::image(&[
            plain(&format!("sethi %hi({CODE:#x}), %g1")),
            plain(&format!("std %g2, [%g1 + {offset}]")),
            plain("nop"),
        ]);
        // The code begins in the middle of a double word.
        let first = if offset < 0 { CODE + 4 } else { CODE };
        image.sections[0].first = first;
        image.entry = first;
        let mut machine = start(&image, &Protection::default(), &Settings::default());
        machine.step(&mut ());
        machine.set_register(1, first);
        let Stop::Fault(fault) = machine.step(&mut ()) else { panic!("it ends") };
        assert_eq!(fault.kind, FaultKind::StoredToCode { address: first + at });
    }
}
