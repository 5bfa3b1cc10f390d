//! Compressed code behind the chain: it runs as plain code does, what it takes is counted by hand, constants among
//! instructions are loaded from it, and whatever is changed of it ends the run.

mod packets;

use std::sync::Arc;

use isa::Cycles;
use isa::sparc::machine::Settings as Core;
use isa::sparc::{Board, FaultKind, Machine, Timing, Trap};
use pack::chain::integrity::{Check, Group};
use pack::chain::onfill::Settings as Decoder;
use pack::chain::run::{self, End};
use pack::chain::{Chain, Decoding, LineCipher, Outcome, Protection, Settings, Shape, Unsealed, Work};
use pack::code::Code;
use pack::code::onfill::stored::{BLOCK_BYTES, Stored, compress};
use pack::image::{Image, Kind};
use packets::{CODE, DATA, Word, mixed, plain};

const MEMORY_BYTES: u32 = 0x2_0000;
/// How programs end here: with traps off, the first one ends them.
const ENDED: FaultKind = FaultKind::ErrorMode { trap: Trap::software(0) };
/// Lines of 16 bytes of the program whose cycles are counted: so many that each of its blocks, of two bytes but for the
/// last one, lies in one line.
const LINES: usize = 36;
const PLAIN: Decoder = Decoder { table_cache: None, decode_cycles: 0, has_buffer: false };

/// Has run on a board on which everything takes a cycle.
fn ran(image: &Image, protection: &Protection, settings: &Settings) -> (Machine<Board<Chain>>, Outcome) {
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    let started = run::on_board(image, protection, settings, core, MEMORY_BYTES, &[]);
    let mut machine = started.expect("it fits");
    let outcome = run::finish_board(&mut machine, 1_000_000, &mut ());
    (machine, outcome)
}

/// Lines of four words that do nothing, the last of which ends the program.
fn nothing(lines: usize) -> Image {
    let mut words = vec![plain("nop"); 4 * lines - 1];
    words.push(plain("ta 0"));
    packets::image(&words)
}

fn compressed(image: &Image, code: Code, block_bytes: u32) -> Image {
    compress(image, code, block_bytes).expect("it becomes smaller").0
}

/// Cycles but for one an instruction, and what was decoded.
fn cost(image: &Image, protection: &Protection, settings: &Settings) -> (Cycles, Decoding, Outcome) {
    let (_, outcome) = ran(image, protection, settings);
    assert_eq!(outcome.end, end(&outcome), "{:?}", outcome.end);
    (outcome.cycles - outcome.spent.instructions, outcome.counts.transfers.decoding, outcome)
}

/// The expected end, at the place where it was.
fn end(outcome: &Outcome) -> End {
    match outcome.end {
        End::Fault(fault) => End::Fault(isa::sparc::Fault { kind: ENDED, ..fault }),
        other => other,
    }
}

#[test]
fn a_block_takes_its_record_its_bytes_and_its_instructions() {
    let image = compressed(&nothing(LINES), Code::Fields, 64);
    let (protection, blocks) = (Protection::default(), LINES as Cycles / 4);
    let with = |onfill: Decoder| Settings { onfill, ..Settings::default() };
    assert_eq!(Stored::of(&image).expect("it is one").expect("it is compressed").blocks().len(), 2 * 8 + 6);
    // Neither a cache of the table nor a buffer: each line brings the record and the block.
    let (cycles, decoding, outcome) = cost(&image, &protection, &with(PLAIN));
    assert_eq!(cycles, LINES as Cycles * (80 + 80));
    assert_eq!((decoding.blocks, decoding.record_fills), (LINES as u64, LINES as u64));
    let transfers = outcome.counts.transfers;
    assert_eq!((outcome.counts.misses, transfers.fills), (LINES as u64, 2 * LINES as u64));
    assert_eq!(transfers.bus_bytes, 16 * 2 * LINES as u64);
    // A buffer: each block once. A cache: the record of the first 16 blocks once, and there are no others.
    let buffered = Decoder { has_buffer: true, ..PLAIN };
    let (cycles, decoding, _) = cost(&image, &protection, &with(buffered));
    assert_eq!(cycles, blocks * (80 + 80));
    assert_eq!((decoding.blocks, decoding.buffer_hits), (blocks, 3 * blocks));
    let cached = Decoder { table_cache: Some(Shape::direct(16)), ..buffered };
    let (cycles, decoding, _) = cost(&image, &protection, &with(cached));
    assert_eq!(cycles, 80 + blocks * 80);
    assert_eq!((decoding.record_fills, decoding.record_hits), (1, blocks - 1));
    // A line's instructions are decoded before it is used.
    let (cycles, decoding, _) = cost(&image, &protection, &with(Decoder { decode_cycles: 3, ..PLAIN }));
    let to_line_ends = (4 + 8 + 12 + 16) * 3;
    assert_eq!(cycles, LINES as Cycles * (80 + 80) + blocks * to_line_ends);
    assert_eq!(decoding.decode_cycles, blocks * to_line_ends);
    // With a buffer, others are decoded while these four run, in a cycle each.
    let (cycles, _, _) = cost(&image, &protection, &with(Decoder { decode_cycles: 3, ..cached }));
    assert_eq!(cycles, 80 + blocks * (80 + 12 + 3 * (12 - 4)));
    let (cycles, _, _) = cost(&image, &protection, &with(Decoder { decode_cycles: 1, ..cached }));
    assert_eq!(cycles, 80 + blocks * (80 + 4));
}

#[test]
fn records_and_blocks_go_through_the_decipher() {
    let image = compressed(&nothing(LINES), Code::Fields, 64);
    for (work, fill_cycles) in [(Work::Block, 120), (Work::Pad, 81), (Work::Tweak, 122)] {
        let protection = Protection::cost_of_code(&image, work);
        let onfill = Decoder { has_buffer: true, table_cache: Some(Shape::direct(16)), ..PLAIN };
        let (cycles, _, outcome) = cost(&image, &protection, &Settings { onfill, ..Settings::default() });
        assert_eq!(cycles, (1 + 9) * fill_cycles, "{work:?}");
        assert_eq!(outcome.counts.transfers.blocks.lines, 1 + 9);
    }
}

/// A program that computes with the number of each word, in blocks of all kinds.
fn sums(words: u32) -> Vec<Word> {
    let mut all = vec![plain("mov 0, %g1")];
    for number in 0..words {
        let register = 1 + mixed(number.into()) % 7;
        all.push(plain(&format!("add %g1, {}, %g{register}", mixed(u64::from(number) << 8) % 4000)));
        all.push(plain(&format!("add %g1, %g{register}, %g1")));
    }
    all.push(plain("ta 0"));
    all
}

#[test]
fn lines_and_blocks_of_any_length_run_as_plain_code_does() {
    // It begins and ends inside blocks.
    let mut plain_image = packets::image(&sums(701));
    plain_image.sections[0].first += 20;
    plain_image.entry += 20;
    let (expected, _) = ran(&plain_image, &Protection::default(), &Settings::default());
    for code in Code::on_fill() {
        for block_bytes in BLOCK_BYTES {
            let image = compressed(&plain_image, code, block_bytes);
            for line_bytes in [16, 32, 64] {
                for has_buffer in [false, true] {
                    let cache = Shape { line_bytes, ..Shape::direct(256) };
                    let onfill = Decoder { has_buffer, ..Decoder::default() };
                    let settings = Settings { cache, onfill, ..Settings::default() };
                    let (machine, outcome) = ran(&image, &Protection::default(), &settings);
                    assert_eq!(outcome.end, end(&outcome));
                    let registers = |machine: &Machine<Board<Chain>>| {
                        (1..8).map(|register| machine.register(register)).collect::<Vec<u32>>()
                    };
                    let what = format!("{} {block_bytes} {line_bytes}", code.name());
                    assert_eq!(registers(&machine), registers(&expected), "{what}");
                }
            }
        }
    }
}

#[test]
fn constants_among_compressed_instructions_are_loaded_at_their_plain_addresses() {
    let mut words = vec![plain(&format!("sethi %hi({CODE:#x}), %g1"))];
    let at = |word: u32| word * 4;
    words.extend([
        plain(&format!("ld [%g1 + {}], %g2", at(9))),
        plain(&format!("ldd [%g1 + {}], %g4", at(10))),
        plain(&format!("ldub [%g1 + {}], %g3", at(9) + 1)),
        plain(&format!("sethi %hi({DATA:#x}), %g6")),
        plain("st %g2, [%g6]"),
        plain("ld [%g6], %g7"),
        plain("nop"),
        plain("ta 0"),
        Word::Number(0x1234_5678),
        Word::Number(0x9abc_def0),
        Word::Number(0x0800_0100),
    ]);
    words.extend(vec![plain("nop"); 400]);
    for code in Code::on_fill() {
        let image = compressed(&packets::image(&words), code, 64);
        for data in [
            pack::chain::Data::Ideal,
            pack::chain::Data::Uncached(TIMING),
            pack::chain::Data::Cached(Shape::direct(64), TIMING),
        ] {
            let settings = Settings { data, ..Settings::default() };
            let protection = Protection::cost_of_code(&image, Work::Block);
            let (machine, outcome) = ran(&image, &protection, &settings);
            assert_eq!(outcome.end, end(&outcome));
            let found = [2, 3, 4, 5, 7].map(|register| machine.register(register));
            assert_eq!(found, [0x1234_5678, 0x34, 0x9abc_def0, 0x0800_0100, 0x1234_5678]);
            assert_eq!(outcome.counts.constants, 3);
        }
    }
}

const TIMING: pack::chain::DataTiming =
    pack::chain::DataTiming { first_cycles: 80, next_cycles: 4, store_cycles: 0 };

#[test]
fn a_store_to_compressed_code_ends_the_run() {
    let mut words =
        vec![plain(&format!("sethi %hi({CODE:#x}), %g1")), plain("st %g0, [%g1 + 64]"), plain("ta 0")];
    words.extend(vec![plain("nop"); 400]);
    let image = compressed(&packets::image(&words), Code::Fields, 64);
    let (_, outcome) = ran(&image, &Protection::default(), &Settings::default());
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    assert_eq!(fault.kind, FaultKind::StoredToCode { address: CODE + 64 });
}

/// Sums with a key, in the place of MACs, over each line of what stands for code.
struct Sums {
    first: u32,
    end: u32,
    macs: u32,
}

impl Sums {
    fn mac(first: u32, line: &[u8]) -> [u8; 8] {
        line.iter().fold(mixed(first.into()), |sum, &byte| mixed(sum ^ u64::from(byte))).to_be_bytes()
    }
}

impl Check for Sums {
    fn group(&self, address: u32) -> Option<Group> {
        let first = address & !15;
        let inside = (self.first..self.end).contains(&first);
        inside.then(|| Group { first, bytes: 16, mac: self.macs + (first - self.first) / 2 })
    }

    fn mac_bytes(&self) -> u32 {
        8
    }

    fn is_sound(&self, group: Group, lines: &[u8], mac: &[u8]) -> bool {
        Sums::mac(group.first, lines) == mac
    }
}

/// Inverts every bit.
struct Inverted;

impl LineCipher for Inverted {
    fn open(&self, _address: u32, line: &mut [u8; 16]) {
        line.iter_mut().for_each(|byte| *byte = !*byte);
    }

    fn work(&self) -> Work {
        Work::Pad
    }
}

/// What stands for an image's code, inverted, with a sum for each line, and a bit of memory that is another one.
fn protected(image: &Image, flipped: Option<(u32, u8)>) -> Protection {
    let stands_for = image.sections.iter().filter(|section| section.kind.chosen_as() == Kind::Code);
    let first = stands_for.clone().map(|section| section.first).min().expect("there is code");
    let last = stands_for.clone().next_back().expect("there is code");
    let end = (last.first + last.bytes.len() as u32).next_multiple_of(16);
    let mut bytes = vec![!0; (end - first) as usize];
    for section in stands_for {
        let at = (section.first - first) as usize;
        bytes[at..at + section.bytes.len()].iter_mut().zip(&section.bytes).for_each(|(to, from)| *to = !from);
    }
    let macs = 0x4000_8000;
    let sums = bytes.chunks(16).zip((first..).step_by(16)).flat_map(|(line, at)| Sums::mac(at, line));
    let sums: Vec<u8> = sums.collect();
    if let Some((address, bit)) = flipped {
        bytes[(address - first) as usize] ^= 1 << bit;
    }
    Protection {
        memory: Some(vec![(first, bytes), (macs, sums)]),
        cipher: Some(Arc::new(Inverted)),
        sealed: std::iter::once(first..end).collect(),
        check: Some(Arc::new(Sums { first, end, macs })),
    }
}

#[test]
fn a_flipped_bit_in_the_table_or_a_block_that_is_used_ends_the_run_with_its_line() {
    let image = compressed(&packets::image(&sums(120)), Code::Fields, 64);
    let stored = Stored::of(&image).expect("it was made so").expect("it is compressed");
    let (sound, outcome) = ran(&image, &protected(&image, None), &Settings::default());
    assert_eq!(outcome.end, end(&outcome));
    let (expected, _) = ran(&packets::image(&sums(120)), &Protection::default(), &Settings::default());
    assert_eq!(sound.register(1), expected.register(1));
    // All of it is executed, and so all but what is left of the last line is used.
    for line in (stored.table().start..stored.blocks().end).step_by(16) {
        for speculative in [false, true] {
            let random = mixed(line.into());
            let protection = protected(&image, Some((line + (random % 16) as u32, (random >> 8) as u8 % 8)));
            let mut settings = Settings::default();
            settings.integrity.speculative = speculative;
            let (_, outcome) = ran(&image, &protection, &settings);
            let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
            assert_eq!(fault.kind, FaultKind::LineCheck { line }, "{speculative}");
        }
    }
}

#[test]
fn without_checks_changed_bytes_are_other_instructions_or_none() {
    let image = compressed(&packets::image(&sums(120)), Code::Huffman, 32);
    let stored = Stored::of(&image).expect("it was made so").expect("it is compressed");
    let (sound, _) = ran(&image, &Protection::default(), &Settings::default());
    let mut others = 0;
    for (number, address) in (stored.table().start..stored.blocks().end).enumerate() {
        let mut protection = protected(&image, Some((address, (mixed(number as u64) % 8) as u8)));
        protection.check = None;
        let (machine, outcome) = ran(&image, &protection, &Settings::default());
        assert!(matches!(outcome.end, End::Fault(_) | End::Reached), "{:?}", outcome.end);
        others += u32::from(outcome.end != end(&outcome) || machine.register(1) != sound.register(1));
    }
    println!("{others} of {} changes change what it computes", stored.blocks().end - stored.table().start);
    assert!(others > 100, "{others}");
}

#[test]
fn an_image_without_compressed_code_is_brought_as_it_stands() {
    let image = packets::image(&sums(20));
    let lines = run::lines(&image, &Protection::default(), &Settings::default()).expect("it has code");
    assert!(matches!(lines, pack::chain::Lines::Stored(_)));
    let without = Protection { cipher: Some(Arc::new(Unsealed(Work::Block))), ..Protection::default() };
    let (_, outcome) = ran(&image, &without, &Settings::default());
    assert_eq!(outcome.counts.transfers.decoding, Decoding::default());
}
