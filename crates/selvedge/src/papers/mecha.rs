//! `selvedge paper mecha`: what many applications wait for one crypto device, by each way to share it.
//!
//! The paper is P. Derry, L. A. M. Ari, M. Iqbal, H. Kim, "MECHA: Multithreaded and Efficient Cryptographic Hardware
//! Access". Owns the verb and the order of the work: `sweep` simulates, `explain` says which settings give what the paper
//! prints, `witness` runs the same in processes, `rows`, `tables` and `page` show.

use std::fs;
use std::path::PathBuf;

use report::paper::ndjson;
use report::table::Table;
use selvedge::error::Error;
use selvedge::whole;

use super::spread::{on_all_cores, progress};
use crate::output::Output;
use explain::Explained;
use page::Shown;
use sweep::{Point, Swept};
use witness::Witnessed;

mod explain;
mod page;
mod rows;
mod sweep;
mod tables;
mod witness;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge paper mecha --out out/mecha\n  \
                        selvedge paper mecha --simulated --json > mecha.ndjson\n  \
                        selvedge paper mecha --simulated --pdu-bytes 1024,65536 --instances 5,80\n\n\
                        Simulated time is exact and the same in each run; processes take the time that they take.")]
pub struct Arguments {
    /// Only in simulated time: no process is started
    #[arg(long)]
    simulated: bool,
    /// Only requests of these lengths, headers included
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = pdu_bytes)]
    pdu_bytes: Vec<usize>,
    /// Only so many applications
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = instances)]
    instances: Vec<usize>,
    /// How often processes are measured, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// Tables as Markdown has them
    #[arg(long)]
    markdown: bool,
    /// A folder for the page, mecha.html, and the rows, mecha.ndjson
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn pdu_bytes(text: &str) -> Result<usize, String> {
    one_of(text, &sweep::PDU_BYTES)
}

fn instances(text: &str) -> Result<usize, String> {
    one_of(text, &sweep::COUNTS)
}

fn one_of(text: &str, known: &[usize]) -> Result<usize, String> {
    let found = text.parse().ok().filter(|found| known.contains(found));
    found.ok_or_else(|| format!("found `{text}`, expected one of {known:?}"))
}

impl Arguments {
    fn points(&self) -> Vec<Point> {
        let is_asked = |asked: &[usize], value| asked.is_empty() || asked.contains(&value);
        let is_wanted = |point: &Point| {
            is_asked(&self.pdu_bytes, point.work.pdu_bytes) && is_asked(&self.instances, point.work.count)
        };
        Point::all().into_iter().filter(is_wanted).collect()
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let points = arguments.points();
    let bar = progress(points.len());
    let took = on_all_cores(&points, &bar, |point| Ok(point.simulate()))?;
    let swept = Swept::new(points, took);
    let explained = Explained::all(&swept);
    bar.finish_and_clear();
    let witnessed = match arguments.simulated {
        true => Vec::new(),
        false => Witnessed::all(arguments.rounds)?,
    };
    let rows = rows::rows(&swept, &explained, &witnessed);
    if let Some(folder) = &arguments.out {
        let page = Shown { swept: &swept, explained: &explained, witnessed: &witnessed, rows: &rows };
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        whole::write(&folder.join("mecha.ndjson"), ndjson(&rows).as_bytes())?;
        whole::write(&folder.join("mecha.html"), page.html().as_bytes())?;
    }
    if output.is_json() {
        return output.text(&ndjson(&rows));
    }
    let tables = tables::all(&swept, &explained, &witnessed, &rows);
    let text = |table: &Table| if arguments.markdown { table.markdown() } else { table.text(None) };
    output.text(&tables.iter().map(|table| text(table) + "\n").collect::<String>())
}
