//! `selvedge paper platform`: how algorithms are chosen for a security processor before it is built.
//!
//! The paper is S. Ravi, A. Raghunathan, N. Potlapally, M. Sankaradass, "System Design Methodologies for a Wireless
//! Security Processing Platform" (DAC 2002). Owns the verb; `measure` runs both sides, `rows` sets them beside the
//! printed cells. What the paper's custom instructions bring is not measured yet: those rows are missing.

use std::fs;
use std::path::{Path, PathBuf};

use ::explore::characterise;
use ::explore::image::{Choice, Image, Leaves};
use ::explore::kept::TOOL;
use ::explore::measure::Bench;
use ::explore::plan::{self, Depth};
use isa::rv32::Profile;
use report::paper::ndjson;
use report::table::Table;
use selvedge::error::Error;
use selvedge::{toolchain, whole};

use crate::machine::Began;
use crate::output::Output;
use crate::papers::spread::progress;
use measure::Measurement;

mod measure;
mod rows;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  selvedge paper platform\n  selvedge paper platform --json > platform.ndjson\n\
                        Models are made first, which takes minutes. Cycles and calls are the same everywhere;\n\
                        times are this machine's."
)]
pub struct Arguments {
    /// What keys and operands are drawn from
    #[arg(long, value_name = "N", default_value_t = 1001)]
    seed: u64,
    /// Tables as Markdown has them
    #[arg(long)]
    markdown: bool,
    /// A folder for the rows, platform.ndjson
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Selvedge's source tree [default: the working folder]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// What inputs of models are drawn from.
const MODELS_SEED: u64 = 1;

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let began = Began::now();
    let root = arguments.root.as_deref().unwrap_or(Path::new("."));
    let image = Image::make(root, &Choice::of(Leaves::Plain), toolchain::cache_folder().as_deref())?;
    let bench = Bench::new(&image, Profile::Vex5);
    let plan = plan::plan(MODELS_SEED, Depth(1))?;
    let bar = progress(plan.len());
    let samples = characterise::sample(&bench, &plan, || bar.inc(1))?;
    bar.finish_and_clear();
    let models = samples.fit(&bench, MODELS_SEED)?;
    let measured = Measurement::of(&bench, &models, arguments.seed)?;
    let source = format!("selvedge paper platform --seed {}", arguments.seed);
    let timed = format!("{source}; {TOOL}, {}, {}", image.compiler, began.ended().words());
    let rows = rows::rows(&measured, &rows::Source { counted: &source, timed: &timed });
    if let Some(folder) = &arguments.out {
        fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
        whole::write(&folder.join("platform.ndjson"), ndjson(&rows).as_bytes())?;
    }
    if output.is_json() {
        return output.text(&ndjson(&rows));
    }
    let table = Table::of_paper("Choosing algorithms for a security processor", &rows);
    output.text(&if arguments.markdown { table.markdown() } else { table.text(None) })
}
