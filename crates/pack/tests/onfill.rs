//! Codes that are decoded on fill: what is compressed is decoded, of the whole corpus and of anything; it is smaller by
//! what is said of it; and no bytes make a decoder panic.

mod corpus;

use pack::code::Code;
use pack::code::onfill::stored::{BLOCK_BYTES, Report, Stored, compress, expand, seen};
use pack::image::{Kind, Section};
use pack::{Error, Image, Program, RunError, Target};
use proptest::prelude::*;

const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

/// A program of the corpus as it is; `None`, and said, where the corpus is not.
fn program(name: &str) -> Option<Image> {
    let path = corpus::root("corpus/sparc").join(name).with_extension("elf");
    let Ok(bytes) = std::fs::read(path) else {
        assert!(std::env::var_os("CI").is_none(), "corpus/sparc is missing, and under CI it must not be");
        eprintln!("skip: compressing {name}: there is no corpus");
        return None;
    };
    Some(Image::from(&Program::parse(&bytes).expect("it is a program")))
}

/// An image of nothing but this code.
fn image(target: Target, first: u32, words: &[u32]) -> Image {
    let bytes = words.iter().flat_map(|&word| target.bytes(word)).collect();
    let code = Section { name: ".text".to_owned(), kind: Kind::Code, first, bytes };
    Image {
        target,
        entry: first,
        sections: vec![code],
        zeros: Vec::new(),
        dictionary: Default::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    }
}

/// Compresses and expands again.
fn there_and_back(image: &Image, code: Code, block_bytes: u32) -> Report {
    let what = format!("{} {block_bytes}", code.name());
    let (compressed, report) = compress(image, code, block_bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
    let code = |image: &Image| image.code().map(|section| section.bytes.len()).sum::<usize>();
    assert_eq!(code(&compressed) + report.plain_bytes as usize, code(image), "{what}");
    let stored: usize = compressed
        .sections
        .iter()
        .filter(|section| matches!(section.kind, Kind::Model | Kind::Blocks))
        .map(|section| section.bytes.len().next_multiple_of(16))
        .sum();
    assert_eq!(stored as u32, report.model_bytes + report.table_bytes + report.blocks_bytes, "{what}");
    let expanded = expand(&compressed).expect("it was compressed");
    assert!(*expanded == *image, "{what}");
    report
}

#[test]
fn every_program_is_what_it_was_when_it_was_compressed_by_any_code() {
    for name in PROGRAMS {
        let Some(image) = program(name) else { return };
        for code in Code::on_fill() {
            // All lengths in a long run; elsewhere of the smallest program.
            let all = corpus::soak() || name == "search";
            for &block_bytes in &BLOCK_BYTES[if all { 0 } else { 2 }..] {
                let report = there_and_back(&image, code, block_bytes);
                println!("{name} {} {block_bytes}: {:.2} % {report:?}", code.name(), 100.0 * report.ratio());
            }
        }
    }
}

#[test]
fn the_best_code_takes_at_most_58_percent_of_the_code_with_all_its_tables() {
    let mut sum = 0.0;
    for name in PROGRAMS {
        let Some(image) = program(name) else { return };
        let ratio = there_and_back(&image, Code::Fields, 64).ratio();
        println!("{name}: {:.2} %", 100.0 * ratio);
        assert!(ratio <= 0.58, "{name}: {ratio}");
        sum += ratio;
    }
    println!("mean: {:.2} %", 100.0 * sum / PROGRAMS.len() as f64);
}

/// Words of few kinds, of anything, and of instructions that have much in common.
fn words() -> impl Strategy<Value = Vec<u32>> {
    let word = prop_oneof![
        4 => Just(0x0100_0000u32),
        3 => (0u32..64).prop_map(|number| 0x8200_6000 | number << 14 | number),
        2 => (0u32..0x2000).prop_map(|number| 0x4000_0000 | number),
        2 => (0u32..32).prop_map(|register| 0x13 | register << 7 | register << 15 | 0x0010_0000),
        1 => any::<u32>(),
    ];
    prop::collection::vec(word, 1..700)
}

fn targets() -> impl Strategy<Value = Target> {
    prop_oneof![Just(Target::Sparc), Just(Target::Rv32)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_words_are_what_they_were(target in targets(), words in words(), lead in 0u32..16, ends: bool) {
        // Some end with the last line of memory but one.
        let end = u32::MAX - 15;
        let first = if ends { end - 4 * words.len() as u32 } else { 0x4000_1000 + 4 * lead };
        let image = image(target, first, &words);
        for code in Code::on_fill() {
            for block_bytes in BLOCK_BYTES {
                match compress(&image, code, block_bytes) {
                    Ok(_) => { there_and_back(&image, code, block_bytes); }
                    Err(error) => prop_assert!(matches!(error, Error::NotSmaller { .. }), "{}", error),
                }
            }
        }
    }

    #[test]
    fn no_model_and_no_blocks_make_a_decoder_panic(
        target in targets(),
        words in words(),
        number in 0u8..6,
        changes in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), any::<u8>()), 0..6),
        tables in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut words = words;
        words.extend([0x0100_0000; 400]);
        for code in Code::on_fill() {
            let (mut image, _) = compress(&image(target, 0x1000, &words), code, 64).expect("it has few kinds");
            for (in_model, index, byte) in &changes {
                let section = &mut image.sections[usize::from(!in_model)];
                let at = index.index(section.bytes.len());
                section.bytes[at] = *byte;
            }
            let _ = (seen(&image), expand(&image));
            // Tables of nothing known.
            let model = &mut image.sections[0].bytes;
            model.truncate(12);
            model[8] = number;
            model.extend(&tables);
            let _ = (seen(&image), expand(&image));
        }
    }
}

#[test]
fn what_cannot_be_compressed_is_said() {
    let nops = image(Target::Sparc, 0x1000, &[0x0100_0000; 64]);
    let refused =
        |image: &Image, code, block_bytes| compress(image, code, block_bytes).map(|_| ()).unwrap_err();
    for code in [Code::None, Code::Compacket] {
        let words = refused(&nops, code, 64).to_string();
        let name = code.name();
        let expected =
            format!("code `{name}` is not decoded on fill: expected codepack, bitmask, huffman or fields");
        assert_eq!(words, expected);
    }
    let words = refused(&nops, Code::Huffman, 128).to_string();
    assert_eq!(words, "block of 128 bytes: expected 16, 32 or 64");
    let (compressed, _) = compress(&nops, Code::Huffman, 64).expect("it has one word");
    let words = refused(&compressed, Code::Huffman, 64).to_string();
    assert_eq!(words, "image is packed already: expected one whose instructions are plain");
    let short = image(Target::Sparc, 0x1000, &[1, 2, 3]);
    let words = refused(&short, Code::Codepack, 64).to_string();
    assert!(words.starts_with("code compressed with its tables: found "), "{words}");
    assert!(words.ends_with(" bytes, expected at most the 12 that it takes plain"), "{words}");
    let mut last = nops.clone();
    last.sections[0].first = u32::MAX - 255;
    assert!(matches!(refused(&last, Code::Fields, 64), Error::Overlap { .. }));
    let mut none = nops.clone();
    none.sections.clear();
    assert_eq!(refused(&none, Code::Fields, 64), Error::NoCode);
    let mut cut = nops;
    cut.sections[0].bytes.pop();
    assert!(matches!(refused(&cut, Code::Fields, 64), Error::Unaligned { bytes: 255, .. }));
}

/// What reading says of compressed code of which a byte of the model is another one.
fn of_changed(at: usize, byte: u8) -> String {
    let (mut compressed, _) = compress(&image(Target::Sparc, 0x1000, &[0x0100_0000; 64]), Code::Fields, 64)
        .expect("it has one word");
    compressed.sections[0].bytes[at] = byte;
    Stored::of(&compressed).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_model_that_says_what_cannot_be_is_named() {
    let begin = "model of compressed code, ";
    for (at, byte, words) in [
        (3, 2, "the code's length at 4: found 256, expected words, at most 64 MiB, in memory"),
        (4, 255, "the code's length at 4: found 4278190336, expected words, at most 64 MiB, in memory"),
        (8, 0, "the code at 8: found 0, expected a code's number"),
        (9, 7, "a block's length at 9: found 7, expected 4, 5 or 6"),
        (10, 1, "a reserved field at 10: found 256, expected 0"),
        (5, 1, "its blocks at 0: found 20, expected lines behind a line address table"),
    ] {
        assert_eq!(of_changed(at, byte).strip_prefix(begin), Some(words));
    }
    let tables = of_changed(12, 255);
    assert!(tables.starts_with("model of compressed code, its tables at 12: found "), "{tables}");
    assert!(tables.ends_with(", expected tables of the code"), "{tables}");
    let plain = image(Target::Sparc, 0x1000, &[0x0100_0000; 64]);
    let (whole, _) = compress(&plain, Code::Fields, 64).expect("it has one word");
    let mut alone = whole.clone();
    alone.sections.pop();
    let words = Stored::of(&alone).map(|_| ()).unwrap_err().to_string();
    assert_eq!(words, "compressed code: found 1 models and 0 sections of blocks, expected one of each");
    let mut cut = whole.clone();
    cut.sections[0].bytes.truncate(5);
    let words = Stored::of(&cut).map(|_| ()).unwrap_err().to_string();
    assert_eq!(words, "model of compressed code, its length at 0: found 5, expected 12 bytes and its tables");
    // The first record says that the first block is where none is.
    let mut outside = whole;
    outside.sections[1].bytes[0] = 1;
    let error = expand(&outside).map(|_| ()).unwrap_err();
    assert_eq!(error, RunError::Block { address: 0x1000 });
    let words = "compressed block of 0x00001000: found bytes that its code does not write";
    assert_eq!(error.to_string(), words);
    assert!(Stored::of(&plain).expect("nothing is wrong with it").is_none());
}
