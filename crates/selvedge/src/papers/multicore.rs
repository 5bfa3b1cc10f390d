//! `selvedge paper multicore`: what dealing AES to cores costs and gives, as the paper does it and as one does today.
//!
//! The paper is P. Bilski, W. Winiecki, "Multicore implementation of the AES algorithm in the measurement system".
//! Owns the verb and the order of the work: `cells` says what is measured, `measure`, `expansion`, `batch` and `path`
//! do it by the stopwatch in `watch`, `compared` makes ratios, `rows`, `tables` and `page` show.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use report::paper::ndjson;
use report::table::Table;
use selvedge::error::Error;
use selvedge::whole;

use super::spread::progress;
use crate::machine::{Began, Machine};
use crate::output::Output;
use cells::{Cell, Part};
use class::Class;
use compared::{Line, Measured};
use measure::{Material, Result};
use watch::Effort;

mod batch;
mod cells;
mod class;
mod compared;
mod expansion;
mod measure;
mod page;
mod path;
mod rows;
mod statistics;
mod tables;
#[cfg(test)]
mod tests;
mod watch;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge paper multicore --out out/multicore\n  \
                        selvedge paper multicore --json > multicore.ndjson\n  \
                        selvedge paper multicore --part table2,path --class other --markdown\n\n\
                        All times are of this machine while it does what it does. A class that the system does not \
                        permit has its words instead of a time.")]
pub struct Arguments {
    /// Only these parts [default: all]
    #[arg(long, value_enum, value_name = "PART", value_delimiter = ',')]
    part: Vec<Part>,
    /// Only in these scheduling classes
    #[arg(long, value_enum, value_name = "CLASS", value_delimiter = ',')]
    class: Vec<Class>,
    /// Few repetitions and the shortest waveforms of figure 11, to see that it works
    #[arg(long)]
    quick: bool,
    /// The seed of keys and plaintext
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Tables as Markdown has them
    #[arg(long)]
    markdown: bool,
    /// A folder for the page, multicore.html, and the rows, multicore.ndjson
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What there is to show.
pub struct Shown<'a> {
    /// Tables, figure, expansions and batches.
    measured: Measured<'a>,
    /// Equation 7.
    paths: &'a [path::Result],
    /// What they mean.
    lines: &'a [Line],
    /// Where it was measured.
    machine: &'a Machine,
    /// What gives it again.
    source: &'a str,
}

impl Arguments {
    fn is_part(&self, part: Part) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn is_class(&self, class: Class) -> bool {
        self.class.is_empty() || self.class.contains(&class)
    }

    fn cells(&self) -> Vec<Cell> {
        let is_wanted = |cell: &Cell| self.is_part(cell.part) && self.is_class(cell.class);
        Cell::all(self.quick).into_iter().filter(is_wanted).collect()
    }

    fn expansions(&self) -> Vec<expansion::Case> {
        let is_wanted = |case: &expansion::Case| self.is_part(Part::Expansion) && self.is_class(case.class);
        expansion::Case::all().into_iter().filter(is_wanted).collect()
    }

    fn batches(&self) -> Vec<batch::Case> {
        let is_wanted = self.is_part(Part::Batch) && self.is_class(Class::Other);
        if is_wanted { batch::Case::all() } else { Vec::new() }
    }

    fn paths(&self) -> Vec<path::Case> {
        let is_wanted = |case: &path::Case| self.is_part(Part::Path) && self.is_class(case.class);
        path::Case::all().into_iter().filter(is_wanted).collect()
    }

    fn effort(&self) -> Effort {
        match self.quick {
            true => Effort { turns_min: 1, turns_max: 3, time: Duration::ZERO },
            false => Effort { turns_min: 3, turns_max: 1000, time: Duration::from_millis(120) },
        }
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> std::result::Result<(), Error> {
    let (cells, expansions) = (arguments.cells(), arguments.expansions());
    let (batches, paths) = (arguments.batches(), arguments.paths());
    let count = cells.len() + expansions.len() + batches.len() + paths.len();
    if count == 0 {
        let words = "no cell is all that is asked for, leave out one of --part, --class\n";
        clap::Error::raw(clap::error::ErrorKind::ValueValidation, words).exit();
    }
    let (began, material, effort) = (Began::now(), Material::new(arguments.seed), arguments.effort());
    let bar = progress(count);
    // One behind the other: what is measured has the machine to itself, as far as that is ours.
    let results: Vec<Result> = bar
        .wrap_iter(cells.into_iter())
        .map(|cell| Result { cell, found: measure::cell(&cell, &material, &effort) })
        .collect();
    let expansions: Vec<expansion::Result> =
        bar.wrap_iter(expansions.iter()).map(|case| expansion::expansion(case, &material, &effort)).collect();
    let batches: Vec<batch::Result> = bar
        .wrap_iter(batches.into_iter())
        .map(|case| batch::Result { case, found: batch::batch(&case, &material, &effort) })
        .collect();
    let paths: Vec<path::Result> =
        bar.wrap_iter(paths.iter()).map(|case| path::path(case, &material, &effort)).collect();
    bar.finish_and_clear();
    let machine = began.ended();
    let measured = Measured { results: &results, expansions: &expansions, batches: &batches };
    let lines = measured.lines();
    let source = format!("selvedge paper multicore --seed {}; {}", arguments.seed, machine.words());
    let shown = Shown { measured, paths: &paths, lines: &lines, machine: &machine, source: &source };
    let rows = rows::rows(&shown);
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        whole::write(&folder.join("multicore.ndjson"), ndjson(&rows).as_bytes())?;
        whole::write(&folder.join("multicore.html"), page::html(&shown).as_bytes())?;
    }
    if output.is_json() {
        return output.text(&ndjson(&rows));
    }
    let text = |table: &Table| if arguments.markdown { table.markdown() } else { table.text(None) };
    output.text(&tables::all(&shown).iter().map(|table| text(table) + "\n").collect::<String>())
}
