//! A second witness of compressed code: a decoder in Python, written from what the formats say, gives the plain code of
//! the corpus, byte for byte.

mod corpus;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pack::code::Code;
use pack::code::onfill::stored::{BLOCK_BYTES, Stored, compress};
use pack::image::{Kind, Section};
use pack::{Image, Program, Target};

const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn skip(what: &str, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}, and under CI it must be there");
    eprintln!("skip: {what}: {why}");
}

/// What the other decoder prints for these questions; `None` where there is no Python.
fn answers(questions: &[String]) -> Option<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/onfill.py");
    let child = Command::new("python3").arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.ok()?;
    // It reads as it answers: both pipes would be full.
    let mut input = child.stdin.take().expect("it was piped");
    let asked = questions.join("\n");
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the other decoder fails");
    writer.join().expect("it does not panic").expect("it reads");
    let answers: Vec<_> =
        String::from_utf8(output.stdout).expect("digits").lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), questions.len());
    Some(answers)
}

/// Asks for every so many blocks of an image in any form, and gives what they are.
fn ask(
    image: &Image,
    target: &str,
    step: u32,
    questions: &mut Vec<String>,
    expected: &mut Vec<(String, String)>,
) {
    let plain = image.code().max_by_key(|section| section.bytes.len()).expect("there is code");
    for code in Code::on_fill() {
        let all = corpus::soak() || plain.bytes.len() < 60_000;
        for &block_bytes in &BLOCK_BYTES[if all { 0 } else { 2 }..] {
            let (compressed, _) = compress(image, code, block_bytes).expect("it becomes smaller");
            let stored = Stored::of(&compressed).expect("it was made so").expect("it is compressed");
            let section = |kind| compressed.sections.iter().find(|section| section.kind == kind);
            let [model, blocks] =
                [Kind::Model, Kind::Blocks].map(|kind| hex(&section(kind).expect("it has one").bytes));
            questions.push(format!("{target} {step} {model} {blocks}"));
            let last = stored.block(stored.code().end - 1);
            let bytes = (0..=last).step_by(step as usize).flat_map(|block| {
                let range = stored.plain(block);
                plain.bytes[(range.start - plain.first) as usize..(range.end - plain.first) as usize].to_vec()
            });
            let what = format!("{} {block_bytes} of {} bytes", code.name(), plain.bytes.len());
            expected.push((what, hex(&bytes.collect::<Vec<u8>>())));
        }
    }
}

fn compare(questions: &[String], expected: &[(String, String)]) {
    let Some(answers) = answers(questions) else {
        return skip("blocks by another decoder", "python3 is not installed");
    };
    for (answer, (what, expected)) in answers.iter().zip(expected) {
        assert!(answer == expected, "{what}");
    }
}

#[test]
fn another_decoder_reads_the_same_of_the_corpus() {
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    for name in PROGRAMS {
        let Ok(bytes) = std::fs::read(corpus::root("corpus/sparc").join(name).with_extension("elf")) else {
            return skip("blocks by another decoder", "there is no corpus");
        };
        let image = Image::from(&Program::parse(&bytes).expect("it is a program"));
        // All of them in a long run; elsewhere some from everywhere.
        let step = if corpus::soak() { 1 } else { 97 };
        ask(&image, "sparc", step, &mut questions, &mut expected);
    }
    compare(&questions, &expected);
}

#[test]
fn another_decoder_reads_the_same_of_rv32() {
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    for name in ["search", "dijkstra"] {
        let Ok(bytes) = std::fs::read(corpus::root("corpus/rv32").join(name).with_extension("elf")) else {
            return skip("blocks of rv32 by another decoder", "there is no corpus");
        };
        let read = pack::Sections::parse(&bytes).expect("it is a program");
        let code = read.sections.into_iter().filter(|section| section.kind == Kind::Code);
        let image = Image {
            target: Target::Rv32,
            entry: read.entry,
            sections: code.collect::<Vec<Section>>(),
            zeros: Vec::new(),
            dictionary: Default::default(),
            packed_text: Vec::new(),
            map: Vec::new(),
        };
        ask(&image, "rv32", if corpus::soak() { 1 } else { 13 }, &mut questions, &mut expected);
    }
    compare(&questions, &expected);
}
