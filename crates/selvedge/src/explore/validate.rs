//! `selvedge explore validate`: what models say beside what the simulator counts.
//!
//! Owns the verb, which groups are told apart, and the table. Choosing and comparing are the tool's.

use std::path::PathBuf;

use ::explore::estimate::State;
use ::explore::kept::{Provenance, SOURCES, TOOL};
use ::explore::measure::Bench;
use ::explore::model::Models;
use ::explore::rank::Accuracy;
use ::explore::subject::{Family, Material, Subject};
use ::explore::validate::{self, Compared, Estimator};
use report::table::{Column, Entry, Table};
use selvedge::error::Error;
use selvedge::whole;
use serde_json::{Value, json};

use super::keeping::Part;
use super::{doubt, image_of, made_of, once, read_models};
use crate::output::Output;
use crate::papers::spread::progress;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore validate --models vex5.ndjson\n  \
    selvedge explore validate --models pico.ndjson --space all --size 512,1024,2048 --count 60 --top 20\n  \
    selvedge explore validate --models vex5.ndjson --analytic --count 60 --top 0 --out formulas.json\n\
    The first size has --count candidates of all kinds, each with a key of its own; each size has the\n\
    --top that models rank first, cold and warm, with the key that they are ranked with.\n\
    What is measured is kept in FILE.part until FILE is there: a run that is interrupted goes on.")]
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
    /// Judge formulas of counts, not native runs
    #[arg(long)]
    analytic: bool,
    /// Where the comparison goes, as --json has it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The source tree [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

/// What is compared together.
struct Group {
    name: String,
    /// Whether it is what a ranking puts first, in its order.
    is_ranked: bool,
    compared: Vec<Compared>,
}

/// How accurate a group is.
struct Judged<'a> {
    group: &'a str,
    rows: usize,
    accuracy: Accuracy,
    /// Not of all groups together, which have other sizes each.
    tau: Option<f64>,
    /// Of a ranking alone.
    regret: Option<f64>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let family = Family::read(&arguments.space)?;
    let default = if let Family::Private(_) = family { &[512][..] } else { family.sizes() };
    let sizes = if arguments.size.is_empty() { default } else { &arguments.size };
    let sizes = &once(sizes.iter().copied())[..];
    sizes.iter().try_for_each(|&size| family.check(size))?;
    let models = read_models(&arguments.models)?;
    let (_, profile) = made_of(&models)?;
    let image = image_of(arguments.root.as_ref(), &models, false)?;
    let estimator = match arguments.analytic {
        true => Estimator::analytic(family, &models, arguments.seed)?,
        false => Estimator::Native(&models),
    };
    let part = Part::of(arguments.out.as_ref());
    let kept = part.as_ref().map(|part| part.measurements(&image, profile)).transpose()?;
    let bench = Bench::new(&image, profile);
    let bench = if let Some(kept) = &kept { bench.keeping(kept) } else { bench };
    let material = Material::new(family, sizes, arguments.seed)?;
    let groups = groups(arguments, family, sizes, &estimator, &bench, &material)?;
    let mode = if arguments.analytic { "analytic" } else { "native" };
    let value = value(&groups, &models, &Provenance::new(&models, mode, arguments.seed));
    if let Some(path) = &arguments.out {
        whole::write(path, format!("{value}\n").as_bytes())?;
    }
    output.put(&text(&groups, &models), &value)?;
    part.map_or(Ok(()), Part::end)
}

fn groups(
    arguments: &Arguments,
    family: Family,
    sizes: &[u32],
    estimator: &Estimator,
    bench: &Bench,
    material: &Material,
) -> Result<Vec<Group>, Error> {
    let subjects = family.subjects();
    let unit = family.unit();
    let of_all = validate::stratified(&subjects, arguments.count, arguments.seed);
    let name = format!("{} of all kinds, {} {unit}", of_all.len(), sizes[0]);
    let of_all: Vec<(Subject, u32)> = of_all.into_iter().map(|subject| (subject, sizes[0])).collect();
    let mut ranked: Vec<((u32, State), Vec<Subject>)> = Vec::new();
    if arguments.top > 0 {
        let bar = progress(2 * subjects.len() * sizes.len());
        for of in sizes.iter().flat_map(|&size| [(size, State::Cold), (size, State::Warm)]) {
            let first = validate::first(&subjects, of, arguments.top, estimator, material, || bar.inc(1))?;
            ranked.push((of, first));
        }
        bar.finish_and_clear();
    }
    let bar = progress(of_all.len() + ranked.iter().map(|(_, first)| first.len()).sum::<usize>());
    let compared = validate::compare(bench, estimator, arguments.seed, &of_all, || bar.inc(1))?;
    let mut groups = vec![Group { name, is_ranked: false, compared }];
    for (of, first) in ranked {
        let name = format!("first {} {}, {} {unit}", first.len(), of.1.word(), of.0);
        let compared = validate::compare_first(bench, estimator, material, of, &first, || bar.inc(1))?;
        groups.push(Group { name, is_ranked: true, compared });
    }
    bar.finish_and_clear();
    Ok(groups)
}

/// How accurate groups are, and all of them together; a group of fewer than two says nothing.
fn accuracies(groups: &[Group]) -> Vec<Judged<'_>> {
    let all: Vec<(f64, f64)> =
        groups.iter().flat_map(|group| group.compared.iter().map(Compared::pair)).collect();
    let each = groups.iter().filter_map(|group| {
        let pairs: Vec<(f64, f64)> = group.compared.iter().map(Compared::pair).collect();
        let accuracy = Accuracy::of(&pairs)?;
        let regret = if group.is_ranked { validate::regret(&group.compared) } else { None };
        Some(Judged { group: &group.name, rows: pairs.len(), accuracy, tau: Some(accuracy.tau), regret })
    });
    let mut judged: Vec<Judged> = each.collect();
    let of_all = Accuracy::of(&all);
    let rows = all.len();
    judged.extend(of_all.map(|accuracy| Judged { group: "all", rows, accuracy, tau: None, regret: None }));
    judged
}

fn text(groups: &[Group], models: &Models) -> String {
    let columns = [
        Column::new("candidate"),
        Column::new("size"),
        Column::new("state"),
        Column::new("estimate").unit("cycles").decimals(0),
        Column::new("simulator").unit("cycles"),
        Column::new("error").unit("%").decimals(2),
        Column::new("doubt"),
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
            doubt(&compared.outside).into(),
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
    let or_nothing = |number: Option<f64>| number.map_or(Entry::from(""), Entry::from);
    for Judged { group, rows, accuracy, tau, regret } in accuracies(groups) {
        table.push([
            group.to_owned().into(),
            rows.into(),
            (100.0 * accuracy.error_mean).into(),
            (100.0 * accuracy.error_most).into(),
            or_nothing(tau),
            or_nothing(regret.map(|regret| 100.0 * regret)),
        ]);
    }
    let all = groups.iter().flat_map(|group| &group.compared);
    let doubts: Vec<&Compared> = all.filter(|compared| !compared.outside.is_empty()).collect();
    let said = doubts.first().map_or(String::new(), |first| {
        format!("{} rows are doubtful, such as {}: {}\n", doubts.len(), first.subject, first.outside[0])
    });
    rows.text(None) + &table.text(None) + &stack(groups) + &said
}

/// What models say of the stack, beside the simulator; nothing where they say nothing.
fn stack(groups: &[Group]) -> String {
    let all = groups.iter().flat_map(|group| &group.compared);
    let off: Vec<Option<u64>> = all.map(Compared::stack_off_bytes).collect();
    let Some(most) = off.iter().flatten().max() else { return String::new() };
    let [same, unknown] = [Some(0), None].map(|of| off.iter().filter(|off| **off == of).count());
    let unknown = if unknown == 0 { String::new() } else { format!(", and unknown in {unknown}") };
    format!("Stack: as in the simulator in {same} of {} rows, at most {most} bytes off{unknown}\n", off.len())
}

fn value(groups: &[Group], models: &Models, provenance: &Provenance) -> Value {
    let from = serde_json::to_value(provenance).expect("it is numbers and names");
    let compared = |compared: &Compared| {
        let mut row = json!({
            "subject": compared.subject, "size": compared.size, "state": compared.state.word(),
            "estimate_cycles": compared.estimate, "measured_cycles": compared.measured,
            "error": compared.error(), "outside": compared.outside,
            "stack_bytes": compared.stack_bytes, "measured_stack_bytes": compared.measured_stack_bytes,
        });
        let fields = from.as_object().into_iter().flatten();
        row.as_object_mut()
            .expect("it is one")
            .extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        row
    };
    let group = |group: &Group| {
        let rows: Vec<Value> = group.compared.iter().map(compared).collect();
        json!({ "name": group.name, "rows": rows })
    };
    let judged = |Judged { group, rows, accuracy, tau, regret }: Judged| {
        json!({
            "group": group, "rows": rows, "error_mean": accuracy.error_mean, "error_most": accuracy.error_most,
            "tau": tau, "regret": regret,
        })
    };
    json!({
        "tool": TOOL, "sources": SOURCES, "models_tool": models.origin.tool,
        "models_sources": models.origin.sources, "layout": models.origin.layout,
        "profile": models.origin.profile, "leaves": models.origin.leaves, "compiler": models.origin.compiler,
        "models_seed": models.origin.seed, "seed": provenance.seed, "mode": provenance.mode,
        "accuracy": accuracies(groups).into_iter().map(judged).collect::<Vec<_>>(),
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
    })
}
