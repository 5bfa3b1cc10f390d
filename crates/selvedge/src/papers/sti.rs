//! `selvedge paper sti`: what sharing a processor between a cipher and SPI costs, by each scheme.
//!
//! The paper is P. Ganesan, A. G. Dean, "Enhancing the AvrX Kernel with Efficient Secure Communication Using Software
//! Thread Integration", RTAS 2004. Owns the verb and the order of the work: `cells` says what is measured, `program`
//! builds, `trace` runs, `measure` judges, `rows` and `page` show.

use std::env;
use std::fs;
use std::path::PathBuf;

use report::paper::ndjson;
use selvedge::error::Error;
use selvedge::toolchain::{self, Compiler};

use super::spread::{on_all_cores, progress};
use crate::output::Output;
use cells::{Build, Case, Cell, Cipher, DIVIDERS, Direction, HOSTS, Scheme, Table};
use even::Even;
use measure::Bench;
use page::Shown;
use program::Builder;
use rows::Result;
use selvedge::whole;

mod cells;
mod even;
mod measure;
mod page;
mod program;
mod rows;
mod system;
mod tables;
mod terms;
mod trace;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge paper sti --out out/sti\n  \
                        selvedge paper sti --json > sti.ndjson\n  \
                        selvedge paper sti --cipher rc4 --build textbook-o0 --divider 8,16,32\n\n\
                        A cell that cannot be says why in its row. Nothing is kept between runs.")]
pub struct Arguments {
    /// The tables to measure [default: all]
    #[arg(long, value_enum, value_name = "TABLE", value_delimiter = ',')]
    table: Vec<Table>,
    /// Only these ciphers
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    cipher: Vec<Cipher>,
    /// Only in this code
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    build: Vec<Build>,
    /// Only this way
    #[arg(long, value_enum, value_name = "WAY", value_delimiter = ',')]
    direction: Vec<Direction>,
    /// Only these ways of sharing the processor
    #[arg(long, value_enum, value_name = "NAME", value_delimiter = ',')]
    scheme: Vec<Scheme>,
    /// Only these dividers of the SPI's clock
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = divider)]
    divider: Vec<u32>,
    /// The seed of keys and messages
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A folder for the page, sti.html, and the rows, sti.ndjson
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Selvedge's source tree, for ciphers and schemes [default: the working folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

fn divider(text: &str) -> std::result::Result<u32, String> {
    let divider = text.parse().ok().filter(|divider| DIVIDERS.contains(divider));
    divider.ok_or_else(|| format!("found `{text}`, expected one of {DIVIDERS:?}"))
}

fn is_asked<T: PartialEq>(asked: &[T], value: &T) -> bool {
    asked.is_empty() || asked.contains(value)
}

impl Arguments {
    /// The cells of whole nodes that are asked for: none where ciphers are chosen from.
    fn systems(&self) -> Vec<system::Case> {
        let is_of_ciphers = self.table.is_empty()
            && !(self.cipher.is_empty()
                && self.build.is_empty()
                && self.direction.is_empty()
                && self.scheme.is_empty());
        if is_of_ciphers || !is_asked(&self.table, &Table::System) {
            return Vec::new();
        }
        let is_wanted = |case: &system::Case| {
            is_asked(&self.divider, &case.divider.into()) && is_asked(&self.scheme, &case.scheme())
        };
        system::Case::all().filter(is_wanted).collect()
    }

    /// The cases and cells that are asked for.
    fn cells(&self) -> (Vec<Case>, Vec<Cell>) {
        let is_wanted = |host: &&cells::Host| {
            is_asked(&self.table, &host.table)
                && is_asked(&self.cipher, &host.cipher)
                && is_asked(&self.build, &host.build)
        };
        let directions = |host: &'static cells::Host| {
            let directions = host.directions().iter().copied();
            directions.filter(|direction| is_asked(&self.direction, direction))
        };
        let cases: Vec<Case> = HOSTS
            .iter()
            .filter(is_wanted)
            .flat_map(|host| directions(host).map(move |direction| Case { host, direction }))
            .collect();
        let mut cells = Vec::new();
        for (case, Case { host, .. }) in cases.iter().enumerate() {
            for &scheme in host.schemes().iter().filter(|scheme| is_asked(&self.scheme, scheme)) {
                let dividers = host.dividers().iter().filter(|divider| is_asked(&self.divider, divider));
                cells.extend(dividers.map(|&divider| Cell { case, scheme, divider }));
            }
        }
        (cases, cells)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> std::result::Result<(), Error> {
    let root = toolchain::root(arguments.root.as_deref())?;
    let compiler = Compiler::find(&env::var_os("PATH").unwrap_or_default())?;
    let builder = Builder::new(&compiler, &root)?;
    let (cases, cells) = arguments.cells();
    let systems = arguments.systems();
    if cells.is_empty() && systems.is_empty() {
        let words = "no cell is all that is asked for, leave out one of --table, --cipher, --build, --scheme, --divider\n";
        clap::Error::raw(clap::error::ErrorKind::ValueValidation, words).exit();
    }
    let bar = progress(cases.len() + cells.len() + systems.len());
    let benches = on_all_cores(&cases, &bar, |&case| Bench::new(&builder, case, arguments.seed))?;
    let results = on_all_cores(&cells, &bar, |&cell| {
        let bench = &benches[cell.case];
        Ok(Result { bench, cell, found: bench.measure(&builder, &cell)? })
    })?;
    let systems = match systems.is_empty() {
        true => Vec::new(),
        false => {
            let bench = system::bench::Bench::new(&compiler, &root)?;
            on_all_cores(&systems, &bar, |&case| {
                Ok(system::shown::Result { case, found: system::measure(&bench, case)? })
            })?
        }
    };
    bar.finish_and_clear();
    let source = format!("selvedge paper sti --seed {}", arguments.seed);
    let mut rows = rows::rows(&benches, &results, &source);
    rows.extend(system::shown::rows(&systems, "selvedge paper sti --table system"));
    if let Some(folder) = &arguments.out {
        let page =
            Shown { benches: &benches, results: &results, systems: &systems, rows: &rows, source: &source };
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        whole::write(&folder.join("sti.ndjson"), ndjson(&rows).as_bytes())?;
        whole::write(&folder.join("sti.html"), page.html().as_bytes())?;
    }
    if output.is_json() {
        return output.text(&ndjson(&rows));
    }
    let cases = benches.iter().map(|bench| tables::of_case(bench, &results));
    let evens = Even::all(&benches, &results);
    let evens = (!evens.is_empty()).then(|| tables::of_evens(&evens));
    let nodes = (!systems.is_empty()).then(|| system::shown::tables(&systems)).into_iter().flatten();
    output.text(&cases.chain(evens).chain(nodes).map(|table| table.text(None) + "\n").collect::<String>())
}
