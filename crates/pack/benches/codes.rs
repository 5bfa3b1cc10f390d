//! How small codes make programs that are decoded on fill, and what running those costs: `cargo bench -p pack --bench
//! codes`.
//!
//! Owns: the ratios of the corpus by code and length of a block, all tables counted; and cycles at the paper's point by
//! code, decoder and cache of the line address table. No figure of a decoder's rate is known, so it is swept.

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use std::time::Instant;

use corpus::Run;
use isa::Cycles;
use isa::sparc::user;
use pack::chain::onfill::Settings as Decoder;
use pack::chain::{Protection, Settings, Shape, Work, run};
use pack::code::Code;
use pack::code::onfill::bitmask;
use pack::code::onfill::stored::{BLOCK_BYTES, Report, compress, compress_by};
use pack::code::table::OnFill;
use pack::sealed::Unsealed;
use pack::{Image, Program, Sections};

/// The paper's six, and three more.
const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];
/// The dictionaries of `bitmask`, each alone.
const BITMASKS: [(&str, OnFill); 3] = [
    (
        "256",
        OnFill { number: 2, make: |target, text| bitmask::of_size(target, text, 256), read: bitmask::read },
    ),
    (
        "1024",
        OnFill { number: 2, make: |target, text| bitmask::of_size(target, text, 1024), read: bitmask::read },
    ),
    (
        "2048",
        OnFill { number: 2, make: |target, text| bitmask::of_size(target, text, 2048), read: bitmask::read },
    ),
];

/// A program of RV32, which is read by its sections.
fn rv32(name: &str) -> Image {
    let path = format!("{}/../../corpus/rv32/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    let sections = Sections::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    Unsealed::from(sections).into_image().expect("it is of RV32")
}

fn image(name: &str) -> Image {
    let path = format!("{}/../../corpus/sparc/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    Image::from(&Program::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Prints a row, and gives the means of the nine and of the six.
fn row(what: &str, images: &[Image], compress: impl Fn(&Image) -> Report) -> (f64, f64) {
    let begin = Instant::now();
    let reports: Vec<Report> = images.iter().map(compress).collect();
    let ratios: Vec<f64> = reports.iter().map(Report::ratio).collect();
    let mean = |ratios: &[f64]| ratios.iter().sum::<f64>() / ratios.len() as f64;
    print!("{what:16}");
    ratios.iter().for_each(|ratio| print!("{:9.2}", 100.0 * ratio));
    let (nine, six) = (mean(&ratios), mean(&ratios[..6]));
    let parts = reports.iter().fold([0u64; 4], |sum, report| {
        let parts = [report.plain_bytes, report.model_bytes, report.table_bytes, report.blocks_bytes];
        std::array::from_fn(|part| sum[part] + u64::from(parts[part]))
    });
    let percent = |part: u64| 100.0 * part as f64 / parts[0] as f64;
    let [_, model, table, blocks] = parts.map(percent);
    print!("{:9.2}{:9.2}", 100.0 * nine, 100.0 * six);
    println!("{model:9.2}{table:9.2}{blocks:9.2}  {:.2} s", begin.elapsed().as_secs_f64());
    (nine, six)
}

fn ratios(images: &[Image]) {
    print!("{:16}", "percent of code");
    PROGRAMS.iter().for_each(|name| print!("{name:>9}"));
    println!("{:>9}{:>9}{:>9}{:>9}{:>9}", "nine", "six", "model", "table", "blocks");
    let mut best = (Code::None, (f64::MAX, f64::MAX));
    let mut peer = (f64::MAX, f64::MAX);
    for code in Code::on_fill() {
        for block_bytes in BLOCK_BYTES {
            let name = format!("{} {block_bytes}", code.name());
            let found =
                row(&name, images, |image| compress(image, code, block_bytes).expect("it is smaller").1);
            if found.0 < best.1.0 {
                best = (code, found);
            }
            if code == Code::Codepack && found.0 < peer.0 {
                peer = found;
            }
        }
    }
    for (entries, code) in &BITMASKS {
        let name = format!("bitmask {entries}");
        row(&name, images, |image| compress_by(image, code, 64).expect("it is smaller").1);
    }
    let images_rv32: Vec<Image> = PROGRAMS.iter().map(|name| rv32(name)).collect();
    for code in Code::on_fill() {
        let name = format!("{} rv32", code.name());
        row(&name, &images_rv32, |image| compress(image, code, 64).expect("it is smaller").1);
    }
    let (code, (nine, six)) = best;
    let goal = |what: &str, value: f64, peer: f64| {
        println!(
            "goal\t{what}, {}, part of plain code\t{value:.3}\tcodepack\t{peer:.3}\t<= 0.58",
            code.name()
        );
    };
    goal("best code on fill, nine programs", nine, peer.0);
    goal("best code on fill, the paper's six", six, peer.1);
}

fn cycles(run: &Run, image: &Image, settings: &Settings) -> Cycles {
    let (arguments, files) = run.prepare();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let protection = Protection::cost_of_code(image, Work::Block);
    let started =
        run::under_linux(image, &protection, settings, &arguments, files, user::Settings::default());
    let outcome = run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
    assert!(outcome.end == run::End::Exit(0) && run.is_expected(&outcome.output), "{}", run.program);
    outcome.cycles
}

/// Cycles in parts of those of plain code under the same cipher, by code and decoder.
fn costs() {
    let decoder = Decoder::default();
    let with_table = |bytes| Decoder { table_cache: Some(Shape::direct(bytes)), ..decoder };
    let rows: Vec<(&str, Code, Decoder)> = vec![
        ("codepack", Code::Codepack, decoder),
        ("bitmask", Code::Bitmask, decoder),
        ("huffman", Code::Huffman, decoder),
        ("fields", Code::Fields, decoder),
        ("  at no time", Code::Fields, Decoder { decode_cycles: 0, ..decoder }),
        ("  2 a word", Code::Fields, Decoder { decode_cycles: 2, ..decoder }),
        ("  4 a word", Code::Fields, Decoder { decode_cycles: 4, ..decoder }),
        ("  no buffer", Code::Fields, Decoder { has_buffer: false, ..decoder }),
        ("  no table cache", Code::Fields, Decoder { table_cache: None, ..decoder }),
        ("  table 64 B", Code::Fields, with_table(64)),
        ("  table 1 KiB", Code::Fields, with_table(1024)),
    ];
    let runs: Vec<Run> = corpus::sample("cycles of codes on fill")
        .into_iter()
        .filter(|run| PROGRAMS[..6].contains(&run.program.as_str()))
        .collect();
    println!(
        "\ncycles with AES, in parts of plain code's with AES; 1 KiB direct-mapped, 80 + 40, blocks of 64 bytes"
    );
    print!("{:16}", "");
    runs.iter().for_each(|run| print!("{:>9}", run.program));
    println!("{:>9}", "mean");
    let plain: Vec<Cycles> =
        runs.iter().map(|run| cycles(run, &image(&run.program), &Settings::default())).collect();
    for (name, code, onfill) in rows {
        print!("{name:16}");
        let parts = runs.iter().zip(&plain).map(|(run, &plain)| {
            let (image, _) = compress(&image(&run.program), code, 64).expect("it is smaller");
            let part = cycles(run, &image, &Settings { onfill, ..Settings::default() }) as f64 / plain as f64;
            print!("{part:9.2}");
            part
        });
        let sum: f64 = parts.sum();
        println!("{:9.2}", sum / runs.len() as f64);
    }
}

fn main() {
    let images: Vec<Image> = PROGRAMS.iter().map(|name| image(name)).collect();
    ratios(&images);
    costs();
}
