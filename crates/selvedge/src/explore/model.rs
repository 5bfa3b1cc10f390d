//! `selvedge explore model`: macro-models of the library's routines on a processor.
//!
//! Owns the verb: what is asked for, the file of models, and the table of what each routine comes to.

use std::path::PathBuf;

use ::explore::characterise;
use ::explore::image::{Choice, Leaves};
use ::explore::limits::SAMPLES_LEAST;
use ::explore::measure::Bench;
use ::explore::model::{Model, Models};
use ::explore::plan::{self, Depth};
use ::explore::stored;
use report::table::{Column, Entry, Table};
use selvedge::error::Error;
use selvedge::whole;

use super::keeping::Part;
use super::{Processor, image, leaves};
use crate::output::Output;
use crate::papers::spread::progress;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore model --profile vex5 --out vex5.ndjson\n  \
    selvedge explore model --profile vex5-tcm --leaves rv32 --seed 7 --depth 2 --out tcm.ndjson\n\
    A routine's local cycles are a sum of terms of what it counts, which are chosen by cross-validation.\n\
    What is measured is kept in FILE.part until FILE is there: a run that is interrupted goes on.")]
pub struct Arguments {
    /// The processor
    #[arg(long, value_enum, default_value = "vex5")]
    profile: Processor,
    /// The leaves of the basic layer that are linked: c, unrolled or rv32
    #[arg(long, value_name = "LEAVES", default_value = "c", value_parser = leaves)]
    leaves: Leaves,
    /// How the compiler optimises
    #[arg(long, value_name = "LEVEL", default_value = "-O2", allow_hyphen_values = true)]
    level: String,
    /// How files are ordered and moved in memory; 0 is as they come
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    layout: u64,
    /// What inputs are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How often everything is measured with other inputs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
    depth: u8,
    /// Where the models go
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The source tree [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let choice =
        Choice { level: arguments.level.clone(), layout: arguments.layout, ..Choice::of(arguments.leaves) };
    let image = image(arguments.root.as_ref(), &choice)?;
    let profile = arguments.profile.profile();
    let part = Part::of(arguments.out.as_ref());
    let kept = part.as_ref().map(|part| part.measurements(&image, profile)).transpose()?;
    let bench = Bench::new(&image, profile);
    let bench = if let Some(kept) = &kept { bench.keeping(kept) } else { bench };
    let plan = plan::plan(arguments.seed, Depth(arguments.depth.into()))?;
    let bar = progress(plan.len());
    let samples = characterise::sample(&bench, &plan, || bar.inc(1))?;
    bar.finish_and_clear();
    let models = samples.fit(&bench, arguments.seed)?;
    let text = stored::write(&models);
    if let Some(path) = &arguments.out {
        whole::write(path, text.as_bytes())?;
    }
    match output.is_json() {
        true => output.text(&text),
        false => output.text(&shown(&models)),
    }?;
    part.map_or(Ok(()), Part::end)
}

/// A line for each routine that has a model, and what all of them come to.
fn shown(models: &Models) -> String {
    let origin = &models.origin;
    let title =
        format!("Local cycles on {} with leaves `{}`, {}", origin.profile, origin.leaves, origin.compiler);
    let columns = [
        Column::new("routine"),
        Column::new("cycles"),
        Column::new("runs"),
        Column::new("held-out error").unit("%").decimals(2),
        Column::new("most").unit("%").decimals(1),
        Column::new("code").unit("bytes"),
        Column::new("tables").unit("bytes"),
        Column::new("stack").unit("bytes"),
    ];
    let mut table = Table::new(title, columns);
    for model in models.routines.iter().flatten() {
        let of = |tables: &Vec<(String, u32)>| tables.iter().map(|table| table.1).sum::<u32>();
        let tables = model.tables.as_ref().map(of);
        table.push([
            model.routine.clone().into(),
            terms(model).into(),
            model.samples.into(),
            (100.0 * model.held_out_error).into(),
            (100.0 * model.held_out_error_most).into(),
            model.code_bytes.into(),
            tables.map_or(Entry::from("?"), Entry::from),
            model.stack.as_ref().map_or(Entry::from("?"), |stack| stack.own_bytes.into()),
        ]);
    }
    let without: Vec<&str> = models.without().collect();
    let said = format!(
        "Without a model, since fewer than {SAMPLES_LEAST} of the requests call them while they are timed: {}\n",
        without.join(", ")
    );
    table.text(None) + if without.is_empty() { "" } else { &said }
}

/// A model's terms, each with its standard error.
fn terms(model: &Model) -> String {
    let term = |term: &::explore::model::Term| match term.error_cycles >= 0.005 {
        true => format!("{:.2}±{:.2} {}", term.cycles, term.error_cycles, term.word()),
        false => format!("{:.2} {}", term.cycles, term.word()),
    };
    model.terms.iter().map(term).collect::<Vec<_>>().join(" + ").replace("+ -", "- ")
}
