//! `selvedge pack sweep`: what packing does to a program behind many caches, with its functions in many orders.
//!
//! Owns the verb, reading what a program is told, the table and the page. Each image is run once; what all caches make
//! of that is `pack::sweep`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ::pack::Program;
use ::pack::sweep::{self, Cell, Geometry, Input, Measured, Penalty, Settings, Spread, Subject};
use isa::Cycles;
use isa::sparc::Files;
use isa::sparc::user;
use report::chart::{Axis, Lines, Panels};
use report::page::{Page, Section};
use report::table::{Column, Entry, Table};
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::{Value, json};

use super::{check_own_places, paths, read, traps, windows};
use crate::output::Output;
use crate::papers::spread::progress;

/// Inputs that are learnt from when nobody says which.
const TRAINED: usize = 3;
/// The paper's rule: a cache is large enough when one twice as large does not bring so many hits more.
const LEAST_GAIN: f64 = 0.05;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack sweep corpus/sparc/search.elf --runs data/workload/runs.txt --html search.html\n  \
    selvedge pack sweep my.elf --runs my.runs --train a,b,c --measure d,e --seeds 4 --json\n\
    A line of the runs is `PROGRAM INPUT ARGUMENT...`, with `< FILE` behind it for standard input; lines of\n\
    other programs are passed over, and files are beside it. Cycles are of LEON2, seals as in the paper.")]
pub struct Arguments {
    /// The program: a linked ELF file, with its relocations (`-Wl,-q`)
    #[arg(value_name = "ELF")]
    program: PathBuf,
    /// What it is told
    #[arg(long, value_name = "FILE")]
    runs: PathBuf,
    /// The inputs that the packer learns from [default: the first three]
    #[arg(long, value_name = "INPUT", value_delimiter = ',')]
    train: Vec<String>,
    /// The inputs that are measured [default: the others]
    #[arg(long, value_name = "INPUT", value_delimiter = ',')]
    measure: Vec<String>,
    /// How many orders of functions are drawn
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Cycles of memory for a line
    #[arg(long, value_name = "CYCLES", default_value_t = Penalty::default().memory_cycles)]
    memory: Cycles,
    /// Cycles of the cipher behind it
    #[arg(long, value_name = "CYCLES", default_value_t = Penalty::default().cipher_cycles)]
    cipher: Cycles,
    /// Write what is printed as a page, too, with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Arguments {
    /// The name of the program in the runs.
    fn name(&self) -> String {
        self.program.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What the program is told, in the order of the file.
    fn inputs(&self) -> Result<Vec<Input>, Error> {
        let text = String::from_utf8(read(&self.runs)?).map_err(|_| PackFault::NotText.of(&self.runs))?;
        let (name, folder) = (self.name(), self.runs.parent().unwrap_or(Path::new("")));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let of_program = lines.filter_map(|line| line.strip_prefix(&name)?.strip_prefix(' '));
        of_program.map(|line| input(&name, line, folder)).collect()
    }

    /// What is learnt from, and what is measured.
    fn parted(&self, inputs: Vec<Input>) -> Result<[Vec<Input>; 2], Error> {
        let known: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
        if let Some(found) = self.train.iter().chain(&self.measure).find(|name| !known.contains(name)) {
            return Err(PackFault::WhichInput { found: Some(found.clone()), inputs: known }.of(&self.runs));
        }
        let first: Vec<String> = known.iter().take(TRAINED).cloned().collect();
        let trained = if self.train.is_empty() { &first } else { &self.train };
        let is_measured = |name: &String| match self.measure.is_empty() {
            true => !trained.contains(name),
            false => self.measure.contains(name),
        };
        let of = |keep: &dyn Fn(&String) -> bool| {
            inputs.iter().filter(|input| keep(&input.name)).cloned().collect()
        };
        let parts: [Vec<Input>; 2] = [of(&|name| trained.contains(name)), of(&is_measured)];
        match parts.iter().any(Vec::is_empty) {
            true => Err(PackFault::WhichInput { found: None, inputs: known }.of(&self.runs)),
            false => Ok(parts),
        }
    }
}

/// An input from its line: its name, and what the program is told.
fn input(program: &str, line: &str, folder: &Path) -> Result<Input, Error> {
    let (words, stdin) =
        line.split_once(" < ").map_or((line, None), |(words, file)| (words, Some(file.trim())));
    let mut words = words.split_whitespace().map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let arguments: Vec<String> = [program.to_owned()].into_iter().chain(words).collect();
    let mut named = BTreeMap::new();
    for argument in &arguments[1..] {
        let path = folder.join(argument);
        if path.is_file() {
            named.insert(argument.clone(), read(&path)?);
        }
    }
    let stdin = stdin.map(|file| read(&folder.join(file))).transpose()?;
    Ok(Input { name, arguments, files: Files::new(named, stdin.unwrap_or_default()) })
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.program;
    check_own_places(&[path, &arguments.runs], &paths([&arguments.html]))?;
    let program = Program::parse(&read(path)?).map_err(|error| PackFault::from(error).of(path))?;
    let [training, measured] = arguments.parted(arguments.inputs()?)?;
    let user = user::Settings { windows: windows(traps(&program.sections)), ..user::Settings::default() };
    let subject = Subject { name: arguments.name(), program, user, training, measured };
    let settings = Settings { seeds: (1..=arguments.seeds).collect(), ..Settings::default() };
    // Learning, the program as it is, each order that is drawn, and the packer's own.
    let bar = progress(settings.seeds.len() + 3);
    let swept = sweep::sweep(&subject, &settings, &mut |_| bar.inc(1));
    bar.finish_and_clear();
    let measured = swept.map_err(|error| PackFault::from(error).of(path))?;
    let penalty = Penalty { memory_cycles: arguments.memory, cipher_cycles: arguments.cipher };
    let cells: Vec<Cell> = (0..measured.caches.len()).map(|cache| measured.cell(cache, penalty)).collect();
    let shown = Shown { measured, cells, seeds: arguments.seeds };
    if let Some(path) = &arguments.html {
        whole::write(path, shown.page().as_bytes())?;
    }
    output.put(&shown.text(), &shown.value())
}

/// What was measured.
struct Shown {
    measured: Measured,
    cells: Vec<Cell>,
    seeds: u64,
}

fn ways(cache: Geometry) -> String {
    if cache.is_full() { "all".into() } else { cache.ways.to_string() }
}

/// A mean in percent, with the least and the most.
fn spread(spread: Spread) -> String {
    format!("{:.1} ({:.1} to {:.1})", 100.0 * spread.mean, 100.0 * spread.least, 100.0 * spread.most)
}

impl Shown {
    fn table(&self) -> Table {
        let columns = [
            Column::new("cache").unit("bytes"),
            Column::new("ways"),
            Column::new("AES alone").unit("%"),
            Column::new("packed and AES").unit("%"),
            Column::new("beside AES alone").unit("%"),
            Column::new("lines deciphered").unit("%"),
            Column::new("placed, packed, AES").unit("%").decimals(1),
            Column::new("placed, AES").unit("%").decimals(1),
            Column::new("placed").unit("%").decimals(1),
        ];
        let mut table = Table::new("Cycles, mean over orders (least to most)", columns);
        for cell in &self.cells {
            let spreads = [cell.aes, cell.packed, cell.packed_to_aes, cell.lines_left];
            let placed = [cell.placed, cell.placed_aes, cell.placed_plain].map(|share| 100.0 * share);
            let cells = [Entry::from(cell.cache.bytes), ways(cell.cache).into()];
            let cells = cells.into_iter().chain(spreads.map(|each| Entry::from(spread(each))));
            table.push(cells.chain(placed.map(Entry::from)));
        }
        table
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let sized = self.measured.sized(LEAST_GAIN);
        vec![
            ("measured on", self.measured.inputs.join(", ")),
            ("orders of functions", format!("{}, drawn from the seeds 1 to {0}", self.seeds)),
            ("code in parts of plain, dictionary counted", format!("{:.1} %", 100.0 * self.measured.ratio())),
            ("the smallest, for no profile", format!("{:.1} %", 100.0 * self.measured.ratio_static)),
            ("the paper's rule takes", format!("a cache of {} bytes", sized.bytes)),
        ]
    }

    fn text(&self) -> String {
        let facts = self.facts().into_iter().map(|(name, words)| format!("{name}: {words}\n"));
        self.table().text(None) + &facts.collect::<String>()
    }

    fn value(&self) -> Value {
        let spread =
            |Spread { mean, least, most }: Spread| json!({ "mean": mean, "least": least, "most": most });
        let cell = |cell: &Cell| {
            json!({
                "cache_bytes": cell.cache.bytes, "ways": cell.cache.ways, "hits": cell.hits,
                "aes": spread(cell.aes), "packed": spread(cell.packed),
                "packed_to_aes": spread(cell.packed_to_aes), "lines_left": spread(cell.lines_left),
                "accesses": spread(cell.accesses), "placed_plain": cell.placed_plain,
                "placed_aes": cell.placed_aes, "placed": cell.placed,
                "placed_lines_left": cell.placed_lines_left,
            })
        };
        json!({
            "program": self.measured.program, "inputs": self.measured.inputs, "seeds": self.seeds,
            "ratio": self.measured.ratio(), "ratio_static": self.measured.ratio_static,
            "sized_bytes": self.measured.sized(LEAST_GAIN).bytes,
            "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    }

    /// Over the size of caches with so many ways, with the least and the most of any order.
    fn chart(&self, title: &str, keep: impl Fn(Geometry) -> bool) -> Lines {
        let points = |of: &dyn Fn(&Cell) -> f64| {
            let cells = self.cells.iter().filter(|cell| keep(cell.cache));
            cells.map(|cell| (f64::from(cell.cache.bytes), 100.0 * of(cell))).collect::<Vec<_>>()
        };
        let cycles = Axis::linear("cycles, in parts of the plain program's", "%");
        Lines::new(title, Axis::log("instruction cache", "bytes"), cycles, Panels::Together)
            .series("AES alone", points(&|cell| cell.aes.mean))
            .series("packed and AES", points(&|cell| cell.packed.mean))
            .series("packed, least of any order", points(&|cell| cell.packed.least))
            .series("packed, most of any order", points(&|cell| cell.packed.most))
            .series("placed and packed and AES", points(&|cell| cell.placed))
    }

    fn page(&self) -> String {
        let mut facts = Table::new("What was found", ["fact", "value"].map(Column::new));
        for (fact, words) in self.facts() {
            facts.push([fact.into(), words.into()]);
        }
        let lead =
            "Cycles of a program that is sealed, and of one that is packed and sealed, beside the plain one.";
        let caption = "The same order of functions on both sides, but where it says placed: there the packer's own \
                       order stands beside the linker's.";
        let charts = Section::new("Over caches")
            .chart(self.chart("Direct-mapped", |cache| cache.ways == 1), caption)
            .chart(self.chart("Fully associative", Geometry::is_full), caption);
        Page::new(format!("{}: packed behind many caches", self.measured.program), lead)
            .section(Section::new("Result").table(facts, ""))
            .section(charts)
            .section(Section::new("In numbers").table(self.table(), caption))
            .provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .provenance("command", "selvedge pack sweep")
            .html()
    }
}
