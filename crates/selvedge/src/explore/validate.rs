//! `selvedge explore validate`: what models say beside what the simulator counts.
//!
//! Owns the verb, which groups are told apart, and the table. Choosing and comparing are the tool's.

use std::path::PathBuf;

use ::explore::estimate::State;
use ::explore::kept::{SOURCES, TOOL};
use ::explore::measure::Bench;
use ::explore::model::Models;
use ::explore::rank::Accuracy;
use ::explore::subject::{Family, Material, Subject};
use ::explore::validate::{self, Compared};
use report::table::{Column, Table};
use selvedge::error::Error;
use serde_json::{Value, json};

use super::{image_of, made_of, read_models};
use crate::output::Output;
use crate::papers::spread::progress;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore validate --models vex5.ndjson\n  \
    selvedge explore validate --models pico.ndjson --space all --size 512,1024,2048 --count 60 --top 20\n\
    The first size has --count candidates of all kinds; each has the --top that models rank first, cold and warm.")]
pub struct Arguments {
    /// Models of a processor, as `explore model` writes them
    #[arg(long, value_name = "FILE")]
    models: PathBuf,
    /// Of what candidates are: paper-a, paper-b, all, aes, des, sha256 or ecc
    #[arg(long, value_name = "SPACE", default_value = "all")]
    space: String,
    /// Sizes [default: 512 bits, or the family's own]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', alias = "bits")]
    size: Vec<u32>,
    /// How many of all kinds
    #[arg(long, value_name = "N", default_value_t = 60)]
    count: usize,
    /// How many that are ranked first, of each size
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// What keys and operands are drawn from: not what models were made with
    #[arg(long, value_name = "N", default_value_t = 1001)]
    seed: u64,
    /// The source tree [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

/// What is compared together.
struct Group {
    name: String,
    compared: Vec<Compared>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let family = Family::read(&arguments.space)?;
    let default = if let Family::Private(_) = family { &[512][..] } else { family.sizes() };
    let sizes = if arguments.size.is_empty() { default } else { &arguments.size };
    sizes.iter().try_for_each(|&size| family.check(size))?;
    let models = read_models(&arguments.models)?;
    let (_, profile) = made_of(&models)?;
    let image = image_of(arguments.root.as_ref(), &models, false)?;
    let bench = Bench::new(&image, profile);
    let material = Material::new(family, sizes, arguments.seed)?;
    let groups = groups(arguments, family, sizes, &models, &bench, &material)?;
    output.put(&text(&groups, &models), &value(&groups, &models, arguments.seed))
}

fn groups(
    arguments: &Arguments,
    family: Family,
    sizes: &[u32],
    models: &Models,
    bench: &Bench,
    material: &Material,
) -> Result<Vec<Group>, Error> {
    let subjects = family.subjects();
    let unit = family.unit();
    let mut asked: Vec<(String, Vec<(Subject, u32)>)> = Vec::new();
    let of_all = validate::stratified(&subjects, arguments.count, arguments.seed);
    let named = format!("{} of all kinds, {} {unit}", of_all.len(), sizes[0]);
    asked.push((named, of_all.into_iter().map(|subject| (subject, sizes[0])).collect()));
    if arguments.top > 0 {
        let bar = progress(2 * subjects.len() * sizes.len());
        for (size, state) in sizes.iter().flat_map(|&size| [(size, State::Cold), (size, State::Warm)]) {
            let of = (size, state);
            let first = validate::first(&subjects, of, arguments.top, models, material, || bar.inc(1))?;
            let named = format!("first {} {}, {size} {unit}", first.len(), state.word());
            asked.push((named, first.into_iter().map(|subject| (subject, size)).collect()));
        }
        bar.finish_and_clear();
    }
    let bar = progress(asked.iter().map(|(_, group)| group.len()).sum());
    let mut groups = Vec::new();
    for (name, group) in asked {
        let compared = validate::compare(bench, models, arguments.seed, &group, || bar.inc(1))?;
        groups.push(Group { name, compared });
    }
    bar.finish_and_clear();
    Ok(groups)
}

/// How accurate groups are, and all of them together; a group of fewer than two says nothing.
fn accuracies(groups: &[Group]) -> Vec<(&str, usize, Accuracy)> {
    let all: Vec<(f64, f64)> =
        groups.iter().flat_map(|group| group.compared.iter().map(Compared::pair)).collect();
    let of = |group: &Group| {
        let pairs: Vec<(f64, f64)> = group.compared.iter().map(Compared::pair).collect();
        Some((pairs.len(), Accuracy::of(&pairs)?))
    };
    let each = groups.iter().filter_map(|group| of(group).map(|(n, a)| (group.name.as_str(), n, a)));
    let mut rows: Vec<_> = each.collect();
    rows.extend(Accuracy::of(&all).map(|accuracy| ("all", all.len(), accuracy)));
    rows
}

fn text(groups: &[Group], models: &Models) -> String {
    let columns = [
        Column::new("candidate"),
        Column::new("size"),
        Column::new("state"),
        Column::new("estimate").unit("cycles").decimals(0),
        Column::new("simulator").unit("cycles"),
        Column::new("error").unit("%").decimals(2),
    ];
    let mut rows =
        Table::new(format!("Estimates beside the simulator on {}", models.origin.profile), columns);
    for compared in groups.iter().flat_map(|group| &group.compared) {
        rows.push([
            compared.subject.clone().into(),
            compared.size.into(),
            compared.state.word().into(),
            compared.estimate.into(),
            compared.measured.into(),
            (100.0 * compared.error()).into(),
        ]);
    }
    let columns = [
        Column::new("group"),
        Column::new("rows"),
        Column::new("mean error").unit("%").decimals(2),
        Column::new("most").unit("%").decimals(2),
        Column::new("tau").decimals(4),
        Column::new("regret").unit("%").decimals(2),
    ];
    let mut table = Table::new("Accuracy", columns);
    for (name, count, accuracy) in accuracies(groups) {
        table.push([
            name.to_owned().into(),
            count.into(),
            (100.0 * accuracy.error_mean).into(),
            (100.0 * accuracy.error_most).into(),
            accuracy.tau.into(),
            (100.0 * accuracy.regret).into(),
        ]);
    }
    rows.text(None) + &table.text(None)
}

fn value(groups: &[Group], models: &Models, seed: u64) -> Value {
    let compared = |compared: &Compared| {
        json!({
            "subject": compared.subject, "size": compared.size, "state": compared.state.word(),
            "estimate_cycles": compared.estimate, "measured_cycles": compared.measured,
            "error": compared.error(), "outside": compared.outside,
        })
    };
    let group = |group: &Group| {
        let rows: Vec<Value> = group.compared.iter().map(compared).collect();
        json!({ "name": group.name, "rows": rows })
    };
    let accuracy = |(name, count, accuracy): (&str, usize, Accuracy)| {
        json!({
            "group": name, "rows": count, "error_mean": accuracy.error_mean, "error_most": accuracy.error_most,
            "tau": accuracy.tau, "regret": accuracy.regret,
        })
    };
    json!({
        "tool": TOOL, "sources": SOURCES, "models_tool": models.origin.tool, "layout": models.origin.layout,
        "profile": models.origin.profile, "leaves": models.origin.leaves, "compiler": models.origin.compiler,
        "models_seed": models.origin.seed, "seed": seed,
        "accuracy": accuracies(groups).into_iter().map(accuracy).collect::<Vec<_>>(),
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
    })
}
