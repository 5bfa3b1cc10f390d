//! `selvedge paper bus`: what a cipher on the bus costs, and what packing pays back.
//!
//! The paper is E. Wanderley, G. Gogniat, J.-P. Diguet, "Bus Decryption Overhead Minimization with Code Compression".
//! Owns the verb and the order of the work: `measure` packs and runs the programs of corpus/, `witness` runs what was
//! sealed through the whole chain, `area` reads what synthesis said, `rows`, `tables` and `page` show.

use std::fs;
use std::path::PathBuf;

use ::pack::sweep::Settings;
use ::pack::tune::Effort;
use report::paper::{PaperRow, ndjson};
use report::table::Table;
use selvedge::error::Error;
use selvedge::{toolchain, whole};

use crate::output::Output;
use area::Area;
use measure::{Instructions, Measurement, PROGRAMS};

mod area;
mod measure;
mod page;
mod rows;
mod tables;
#[cfg(test)]
mod tests;
mod witness;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge paper bus --out out/bus\n  \
                        selvedge paper bus --json > bus.ndjson\n  \
                        selvedge paper bus --instructions sparc --program search,susan --seeds 2\n\n\
                        Cycles are counted, so they are the same on every machine. Means over the paper's six\n\
                        programs are there when all six are measured.")]
pub struct Arguments {
    /// Only these programs [default: the paper's six, and three more]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(PROGRAMS))]
    program: Vec<String>,
    /// Only in these instructions
    #[arg(long, value_enum, value_name = "SET", value_delimiter = ',')]
    instructions: Vec<Instructions>,
    /// How many orders of functions are drawn
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Try few ways to pack, to see that it works
    #[arg(long)]
    quick: bool,
    /// Tables as Markdown has them
    #[arg(long)]
    markdown: bool,
    /// A folder for the page, bus.html, and the rows, bus.ndjson
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Selvedge's source tree, for programs and what they read [default: the working folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// What there is to show.
pub struct Shown<'a> {
    /// Programs.
    measurement: &'a Measurement,
    /// Hardware.
    area: &'a Area,
    /// The rows of all.
    rows: &'a [PaperRow],
    /// What gives it again.
    source: &'a str,
}

fn is_asked<T: PartialEq<U>, U>(asked: &[T], value: &U) -> bool {
    asked.is_empty() || asked.iter().any(|other| other == value)
}

impl Arguments {
    fn settings(&self) -> Settings {
        let quick = Effort { dynamic_percents: vec![50], left_out: 2, spaced: 2, exchanges: 99 };
        let effort = if self.quick { quick } else { Effort::default() };
        Settings { seeds: (1..=self.seeds).collect(), effort, ..Settings::default() }
    }

    fn source(&self) -> String {
        let quick = if self.quick { " --quick" } else { "" };
        format!("selvedge paper bus --seeds {}{quick}", self.seeds)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let root = toolchain::root(arguments.root.as_deref())?;
    let area = Area::read(&root)?;
    let mut cases = Vec::new();
    for instructions in Instructions::ALL.into_iter().filter(|set| is_asked(&arguments.instructions, set)) {
        for name in PROGRAMS.into_iter().filter(|name| is_asked(&arguments.program, name)) {
            cases.push(measure::Case::read(&root, instructions, name)?);
        }
    }
    let measurement = Measurement::of(&cases, &arguments.settings())?;
    let source = arguments.source();
    let rows = rows::rows(&measurement, &area, &source);
    let shown = Shown { measurement: &measurement, area: &area, rows: &rows, source: &source };
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        whole::write(&folder.join("bus.ndjson"), ndjson(&rows).as_bytes())?;
        whole::write(&folder.join("bus.html"), page::html(&shown).as_bytes())?;
    }
    if output.is_json() {
        return output.text(&ndjson(&rows));
    }
    let text = |table: &Table| if arguments.markdown { table.markdown() } else { table.text(None) };
    output.text(&tables::all(&shown).iter().map(|table| text(table) + "\n").collect::<String>())
}
