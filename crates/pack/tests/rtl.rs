//! The Verilog of `rtl/`, simulated, says of every word and every line what the Rust code says.
//!
//! Words are those of packed programs and random ones of every class that there is; lines are random ones under every
//! seal, and official vectors. The decipher takes as many cycles as `chain::decipher` says of a unit like it.

mod corpus;
mod made;
mod rv32;
mod verilated;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use corpus::soak;
use made::{Seeded, seals};
use pack::chain::decipher::{Decipher, Timing};
use pack::chain::expand::Expander;
use pack::chain::{Unsealed, Work};
use pack::code::dict;
use pack::code::packet::{Dictionary, Packet};
use pack::image::Kind;
use pack::seal::otfdec::Otfdec;
use pack::seal::{LINE_BYTES, Layout, Line, LineCipher, Seal};
use pack::{Profile, Program, Settings, Target, pack};
use verilated::{Model, faults, modules, sources, synthesis};

#[test]
fn verilator_has_nothing_to_say_against_any_module() {
    let modules = modules();
    assert!(modules.contains(&"decompressor".to_owned()) && modules.contains(&"decipher".to_owned()));
    let mut every: Vec<_> = modules.iter().map(|module| (module.as_str(), vec![])).collect();
    every.extend([("decompressor", vec![("TARGET", 1)]), ("decompressor", vec![("INDEX_BITS", 6)])]);
    every.extend([2, 5, 10].map(|rounds| ("decipher", vec![("ROUNDS", rounds)])));
    every.extend([1 << 0, 1 << 1, 0b11_1100].map(|seals| ("decipher", vec![("SEALS", seals)])));
    for (module, parameters) in every {
        let Some(said) = faults(module, &parameters) else { return };
        assert_eq!(said, "", "{module} {parameters:?}");
    }
}

#[test]
fn what_synthesis_said_is_of_this_verilog_by_this_script() {
    let text = synthesis();
    let found = text.lines().find_map(|line| line.strip_prefix("rtl,sources,")?.strip_suffix(",sha256"));
    let help = "help: scripts/rtl.sh synth --csv >synthesis.csv && mv synthesis.csv rtl";
    let what = "rtl/synthesis.csv is of another rtl/*.v or scripts/rtl.sh";
    assert_eq!(found, Some(sources().as_str()), "{what}; {help}");
}

/// What a number of the page is of, by its unit and the words behind it.
fn metric(unit: &str, behind: &[&str]) -> &'static str {
    match (unit, behind) {
        ("GE", _) => "area",
        ("bits", _) => "memory",
        (_, ["to", "the", "memory", ..]) => "index_delay",
        (_, ["behind", "it", ..]) => "entry_delay",
        (_, ["in", "a", "fetch", ..]) => "fetch_delay",
        (_, ["from", "anywhere", ..]) => "output_delay",
        (_, []) => "period",
        (_, other) => panic!("a delay of what: {other:?}"),
    }
}

#[test]
fn what_the_page_says_of_synthesis_is_what_it_said() {
    let (page, synthesis) = (verilated::page(), synthesis());
    let known: Vec<[&str; 4]> = synthesis
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>().try_into().expect("a line has four cells"))
        .collect();
    let mut compared = 0;
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")) {
        let (part, cells) = row;
        let words: Vec<&str> = cells.split([' ', ',', '|']).filter(|word| !word.is_empty()).collect();
        for (at, pair) in
            words.windows(2).enumerate().filter(|(_, pair)| ["GE", "bits", "ns"].contains(&pair[1]))
        {
            let metric = metric(pair[1], &words[at + 2..]);
            let is_said = known.contains(&[part, metric, pair[0], pair[1]]);
            assert!(is_said, "{part}, {metric}: {} {}; help: scripts/rtl.sh synth", pair[0], pair[1]);
            compared += 1;
        }
    }
    assert_eq!(compared, 3 + 2 * 2 + 2 * 3 + 4 * 2, "a part's area and its paths");
}

/// The decompressor for an instruction set.
fn decompressor(target: Target) -> Option<Model> {
    Model::new("decompressor", &[("TARGET", (target == Target::Rv32).into())])
}

/// What the Rust code says of a word, in the words of `decompressor_tb.cpp`.
fn expanded(expander: &mut Expander<u32>, target: Target, dictionary: &Dictionary, word: u32) -> String {
    expander.hold(word);
    let packet = Packet::of_word(target, word).and_then(|packet| dictionary.expand(target, &packet));
    let slots: Vec<_> = (0..4).map(|slot| expander.slot(slot)).collect();
    let mut text = format!("{} {}", u8::from(packet.is_some()), slots.iter().flatten().count());
    for (slot, held) in slots.iter().enumerate() {
        match held {
            Some((word, true)) => write!(text, " {}:{word:08x}", slot + 1),
            Some((word, false)) => write!(text, " 0:{word:08x}"),
            None => write!(text, " -"),
        }
        .expect("a string takes it");
    }
    text
}

/// Loads the dictionary and asks each word.
fn compare_words(model: &Model, target: Target, dictionary: &Dictionary, words: &[u32]) {
    let mut questions = "reset\n".to_owned();
    for (index, entry) in dictionary.entries().iter().enumerate() {
        writeln!(questions, "entry {index:x} {entry:08x}").expect("a string takes it");
    }
    words.iter().for_each(|word| writeln!(questions, "word {word:08x}").expect("a string takes it"));
    let answers = model.answers(&questions);
    assert_eq!(answers.len(), words.len());
    let mut expander = Expander::new(target, dictionary.clone(), Some);
    for (&word, answer) in words.iter().zip(answers) {
        let expected = expanded(&mut expander, target, dictionary, word);
        assert_eq!(answer, expected, "{target:?} {word:#010x}, {} entries", dictionary.entries().len());
    }
}

/// A profile without a run: any counts will do for a dictionary that is no static one.
fn drawn(program: &Program) -> Profile {
    let words = program.code().flat_map(|section| (section.first..).step_by(4).take(section.bytes.len() / 4));
    Profile::new(words.map(|at| (at, u64::from(at).wrapping_mul(0x9e37_79b9) >> 9 & 0xff)))
}

/// Every program of an instruction set.
fn programs(target: Target) -> impl Iterator<Item = (&'static str, Program)> {
    let names = match target {
        Target::Sparc => corpus::PROGRAMS,
        Target::Rv32 => rv32::PROGRAMS,
    };
    let program = match target {
        Target::Sparc => corpus::program,
        Target::Rv32 => rv32::program,
    };
    names.into_iter().map(move |name| (name, program(name)))
}

#[test]
fn every_word_of_packed_programs_expands_as_in_rust() {
    let base = Settings::default();
    let profiled =
        Settings { dictionary: dict::Choice::Blend { dynamic_percent: 50 }, ..Settings::default() };
    let more = [
        profiled.clone(),
        Settings { dictionary: dict::Choice::Dynamic, ..base.clone() },
        Settings { entries: 64, ..base.clone() },
        Settings { far_branches: false, canonical: false, ..base.clone() },
    ];
    for target in [Target::Sparc, Target::Rv32] {
        let Some(model) = decompressor(target) else { return };
        for (name, program) in programs(target) {
            let profile = drawn(&program);
            let others = match name {
                _ if soak() => &more[..],
                // One dictionary that a profile chose, of a program of each.
                "search" => &more[..1],
                _ => &[],
            };
            for settings in [&base].into_iter().chain(others) {
                let packed = pack(&program, std::slice::from_ref(&profile), settings);
                let image = packed.unwrap_or_else(|error| panic!("{name}: {error}")).image;
                let code = image.sections.iter().filter(|section| section.kind == Kind::Code);
                let words = code.flat_map(|section| section.bytes.chunks_exact(4));
                let words: Vec<u32> =
                    words.map(|bytes| target.word(bytes.try_into().expect("four bytes"))).collect();
                let packets = words.iter().filter(|&&word| Packet::of_word(target, word).is_some()).count();
                assert!(packets > words.len() / 20, "{name} has {packets} packets in {} words", words.len());
                compare_words(&model, target, &image.dictionary, &words);
                println!("{target:?} {name}: {packets} packets, {} words", words.len());
            }
        }
    }
}

/// What there is among words, and thus what a test must have met: each format by its slots, and each reason for a word
/// to be none.
fn class(target: Target, dictionary: &Dictionary, word: u32) -> String {
    let Some(payload) = target.payload_of_word(word) else { return "instruction".into() };
    let Some(packet) = Packet::of_payload(payload) else { return "no form".into() };
    let named = &packet.indexes[..packet.slots.into()];
    let lacks = named.iter().any(|&index| usize::from(index) >= dictionary.entries().len());
    match dictionary.expand(target, &packet) {
        Some((_, slots)) => format!("{:?} of {slots}", packet.format),
        None if lacks => "no entry".into(),
        None => "no branch".into(),
    }
}

/// The classes.
const CLASSES: [&str; 15] = [
    "FarBranch of 2",
    "Four of 1",
    "Four of 2",
    "Four of 3",
    "Four of 4",
    "Three of 1",
    "Three of 2",
    "Three of 3",
    "ThreeBranch of 3",
    "TwoBranch of 1",
    "TwoBranch of 2",
    "instruction",
    "no branch",
    "no entry",
    "no form",
];

fn number(randomness: &mut Seeded) -> u32 {
    u32::from_le_bytes(randomness.bytes(4).try_into().expect("four bytes"))
}

/// Random entries, every other one a branch.
fn random_dictionary(randomness: &mut Seeded, target: Target, entries: usize) -> Dictionary {
    let entry = |at: usize| {
        let word = number(randomness);
        match (at % 2, target) {
            (0, _) => word,
            (_, Target::Sparc) => word & 0x3e3f_ffff | 0b010 << 22,
            (_, Target::Rv32) => word & !0x7f | 0b110_0011,
        }
    };
    Dictionary::new((0..entries).map(entry).collect()).expect("it is short enough")
}

/// A random word that is likely a packet: with zeros at its end, as packets that are not full have, or in its middle.
fn random_word(randomness: &mut Seeded, target: Target) -> u32 {
    let (word, how) = (number(randomness), number(randomness));
    let payload = word & ((1 << 28) - 1);
    let zeros = [0, 6, 8, 12, 16, 18];
    match how % 8 {
        0 => word,
        1 => target.word_of_payload(payload & !0xff00),
        _ => target.word_of_payload(payload >> zeros[how as usize / 8 % 6] << zeros[how as usize / 8 % 6]),
    }
}

#[test]
fn words_of_every_class_expand_as_in_rust() {
    let mut randomness = Seeded::new();
    let words_each = if soak() { 100_000 } else { 5_000 };
    for target in [Target::Sparc, Target::Rv32] {
        let Some(model) = decompressor(target) else { return };
        let mut met: BTreeMap<String, u32> = BTreeMap::new();
        for entries in [0, 1, 2, 17, 63, 64, 65, 128, 200, 255, 256, 256, 256] {
            let dictionary = random_dictionary(&mut randomness, target, entries);
            let words: Vec<u32> = (0..words_each).map(|_| random_word(&mut randomness, target)).collect();
            for &word in &words {
                *met.entry(class(target, &dictionary, word)).or_default() += 1;
            }
            compare_words(&model, target, &dictionary, &words);
        }
        println!("{target:?}: {met:?}");
        assert!(met.keys().eq(CLASSES.iter()), "{target:?}: {met:?}");
        assert!(met.values().all(|&count| count >= 100), "{target:?}: {met:?}");
    }
}

#[test]
fn a_dictionary_of_64_entries_expands_as_in_rust() {
    let mut randomness = Seeded::new();
    let Some(model) = Model::new("decompressor", &[("INDEX_BITS", 6)]) else { return };
    for entries in [0, 33, 64] {
        let dictionary = random_dictionary(&mut randomness, Target::Sparc, entries);
        let words: Vec<u32> = (0..5_000).map(|_| random_word(&mut randomness, Target::Sparc)).collect();
        compare_words(&model, Target::Sparc, &dictionary, &words);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Brings a seal and its key, in the words of `decipher_tb.cpp`.
fn keyed(seal: Seal, key: &[u8]) -> String {
    let (number, start) = (seal.row().number, hex(&seal.start()));
    let (lines, tweaks) = key.split_at(LINE_BYTES);
    let tweaks = if tweaks.is_empty() { String::new() } else { format!("tweak {}\n", hex(tweaks)) };
    format!("seal {number:x} {start}\n{tweaks}key {}\n", hex(lines))
}

/// The line of an answer, and the cycles since it was asked for.
fn opened(answer: &str) -> (String, u64) {
    let words: Vec<_> = answer.split(' ').collect();
    let [line, asked, _taken] = words[..] else { panic!("{answer}") };
    (line.to_owned(), asked.parse().expect("a number of cycles"))
}

/// How a decipher of so many rounds a cycle does its work, as `chain::decipher` counts.
fn modelled(seal: Seal, rounds: u32, line_comes: u64) -> u64 {
    let block_cycles = 10 / rounds + 1;
    // A line is taken in the cycle behind that of its address at the earliest. What is added to a line is added while
    // it is loaded or read; only in CTR a cycle is there for that and nothing else.
    let (work, sum_cycles) = match seal {
        Seal::Ecb => (Work::Block, 0),
        Seal::Xts => (Work::Tweak, 0),
        Seal::Ctr(_) => (Work::Pad, 1),
    };
    let timing = Timing { latency_cycles: block_cycles, interval_cycles: block_cycles, sum_cycles };
    Decipher::new(Arc::new(Unsealed(work)), timing).opened_at(0, &[line_comes.max(1)])
}

/// What the paper gives its decipher for a line.
const PAPER_CYCLES: u64 = 40;

#[test]
fn lines_under_every_seal_open_as_in_rust_in_the_modelled_cycles() {
    let mut randomness = Seeded::new();
    // Verilator takes as long for each as for all else here: elsewhere than in a long run, what was synthesised and one
    // that the seed draws.
    let more = vec![2, 5, 10];
    let more = if soak() { more } else { randomness.some(more, 1) };
    for rounds in [1].into_iter().chain(more) {
        let Some(model) = Model::new("decipher", &[("ROUNDS", rounds)]) else { return };
        // What was synthesised has one round a cycle.
        let passes = match rounds {
            _ if soak() => 200,
            1 => 10,
            _ => 1,
        };
        for _ in 0..passes {
            let mut seals = seals(&mut randomness);
            let nonce = randomness.bytes(8).try_into().expect("eight bytes");
            let version = number(&mut randomness) as u16;
            let otfdec = Otfdec::new(nonce, version, (version % 4) as u8 + 1).expect("a region of four");
            seals.push((Seal::Ctr(Layout::Otfdec(otfdec)), seals[2].1.clone()));
            for (seal, key) in seals {
                compare_lines(&model, &mut randomness, seal, key.expose(), rounds);
            }
        }
    }
}

fn compare_lines(model: &Model, randomness: &mut Seeded, seal: Seal, key: &[u8], rounds: u32) {
    let cipher = LineCipher::new(seal, key);
    let mut questions = keyed(seal, key);
    let mut expected = Vec::new();
    for count in 0..40 {
        let mut line: Line = randomness.bytes(LINE_BYTES).try_into().expect("a line");
        let address = number(randomness) & !0xf;
        let comes = if count % 4 == 0 { 0 } else { u64::from(number(randomness) % 100) };
        writeln!(questions, "open {address:08x} {} {comes}", hex(&line)).expect("a string takes it");
        cipher.open(address, &mut line);
        expected.push((hex(&line), modelled(seal, rounds, comes)));
        assert!(comes > 0 || modelled(seal, rounds, comes) <= PAPER_CYCLES);
    }
    let answers: Vec<_> = model.answers(&questions).iter().map(|answer| opened(answer)).collect();
    assert_eq!(answers, expected, "{seal}, {rounds} rounds a cycle");
}

/// Asks lines with their keys, each under its own; compares as many bytes as are expected.
fn compare_vectors(questions: &str, expected: &[Vec<u8>]) {
    let Some(model) = Model::new("decipher", &[("ROUNDS", 1)]) else { return };
    let answers = model.answers(questions);
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(opened(answer).0.starts_with(&hex(expected)), "{answer}, expected {}", hex(expected));
    }
}

#[test]
fn nist_s_blocks_of_aes_128_open() {
    let (mut questions, mut expected) = (String::new(), Vec::new());
    for group in cipher::vectors::official().split("Kind = ").filter(|group| group.starts_with("ecb\n")) {
        for vector in cipher::vectors::blocks(&group["ecb\n".len()..]) {
            let Some(key) = vector.text("Key").map(|_| vector.bytes("Key")) else { continue };
            if key.len() != LINE_BYTES {
                continue;
            }
            questions.push_str(&keyed(Seal::Ecb, &key));
            let (plain, sealed) = (vector.bytes("PT"), vector.bytes("CT"));
            for (plain, sealed) in plain.chunks(LINE_BYTES).zip(sealed.chunks(LINE_BYTES)) {
                writeln!(questions, "open 00000000 {} 0", hex(sealed)).expect("a string takes it");
                expected.push(plain.to_vec());
            }
        }
    }
    // GFSbox 7, KeySbox 21, VarKey and VarTxt 128 each, and messages of 1 to 10 blocks, all of them once to be sealed and
    // once to be opened; SP 800-38A has four.
    assert_eq!(expected.len(), 2 * (7 + 21 + 2 * 128 + 55) + 4);
    compare_vectors(&questions, &expected);
}

#[test]
fn counters_of_sp_800_38a_and_rfc_3686_open() {
    let (mut questions, mut expected) = (String::new(), Vec::new());
    for vector in cipher::vectors::crypt(cipher::vectors::AES_128_CTR) {
        let first = u128::from_be_bytes(vector.nonce.clone().try_into().expect("a block"));
        let chunks = vector.plaintext.chunks(LINE_BYTES).zip(vector.ciphertext.chunks(LINE_BYTES));
        for (index, (plain, sealed)) in chunks.enumerate() {
            // MCUboot's layout takes any counter whose first byte ends in zeros, as these do.
            let counter = (first + index as u128).to_be_bytes();
            let address = u32::from_le_bytes(counter[..4].try_into().expect("four bytes"));
            assert_eq!(address % LINE_BYTES as u32, 0);
            let start = counter[4..].try_into().expect("twelve bytes");
            let seal = Seal::from_start(5, &start).expect("any twelve bytes are a nonce");
            let mut line = sealed.to_vec();
            line.resize(LINE_BYTES, 0);
            questions.push_str(&keyed(seal, &vector.key));
            writeln!(questions, "open {address:08x} {} 3", hex(&line)).expect("a string takes it");
            expected.push(plain.to_vec());
        }
    }
    // Four blocks, and messages of 16, 32 and 36 bytes.
    assert_eq!(expected.len(), 4 + 1 + 2 + 3);
    compare_vectors(&questions, &expected);
}

#[test]
fn units_of_ieee_1619_that_have_an_address_open() {
    let (mut questions, mut expected) = (String::new(), Vec::new());
    for vector in cipher::vectors::blocks(cipher::vectors::AES_128_XTS) {
        let unit = vector.bytes("Unit").iter().rev().fold(0u64, |unit, &byte| unit << 8 | u64::from(byte));
        // The units of vectors 2 and 3 are behind the last address.
        let Ok(address) = u32::try_from(unit * LINE_BYTES as u64) else { continue };
        questions.push_str(&keyed(Seal::Xts, &vector.bytes("Key")));
        writeln!(questions, "open {address:08x} {} 0", hex(&vector.bytes("CT")[..LINE_BYTES]))
            .expect("it takes it");
        expected.push(vector.bytes("PT")[..LINE_BYTES].to_vec());
    }
    assert_eq!(expected.len(), 3);
    compare_vectors(&questions, &expected);
}

#[test]
fn a_wiped_decipher_shows_no_line_and_has_no_key() {
    let mut randomness = Seeded::new();
    let Some(model) = Model::new("decipher", &[("ROUNDS", 1)]) else { return };
    for (seal, key) in seals(&mut randomness) {
        let sealed: Line = randomness.bytes(LINE_BYTES).try_into().expect("a line");
        let asks = format!("open 00000010 {} 0\n", hex(&sealed));
        let again = format!("seal {:x} {}\n{asks}", seal.row().number, hex(&seal.start()));
        let questions = format!("{}{asks}wipe\n{again}", keyed(seal, key.expose()));
        let answers = model.answers(&questions);
        let mut line = sealed;
        LineCipher::new(seal, key.expose()).open(0x10, &mut line);
        assert_eq!(opened(&answers[0]).0, hex(&line), "{seal}");
        assert_eq!(answers[1], hex(&[0; LINE_BYTES]), "{seal}");
        let again = opened(&answers[2]).0;
        assert_ne!(again, hex(&line), "{seal}");
        // Zeros are what it then has. Backwards they are not even a key: its last round key is zeros, too.
        if let Seal::Ctr(_) = seal {
            let mut line = sealed;
            LineCipher::new(seal, &[0; LINE_BYTES]).open(0x10, &mut line);
            assert_eq!(again, hex(&line), "{seal}");
        }
    }
}

#[test]
fn a_seal_that_is_not_built_in_opens_nothing() {
    let only_ctr = 0b11_1100;
    let Some(model) = Model::new("decipher", &[("ROUNDS", 1), ("SEALS", only_ctr)]) else { return };
    let mut randomness = Seeded::new();
    let asks = format!("open 00000010 {} 0\n", hex(&[7; LINE_BYTES]));
    for (seal, key) in seals(&mut randomness) {
        if let Seal::Ctr(_) = seal {
            compare_lines(&model, &mut randomness, seal, key.expose(), 1);
        } else {
            assert_eq!(model.answers(&format!("{}{asks}", keyed(seal, key.expose()))), ["never"], "{seal}");
        }
    }
    for number in [6, 7] {
        let questions = format!("seal {number} {}\nkey {}\n{asks}", hex(&[0; 12]), hex(&[1; LINE_BYTES]));
        assert_eq!(model.answers(&questions), ["never"]);
    }
}
