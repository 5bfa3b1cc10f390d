//! What is measured for the paper: the space, how long macro-models and the simulator take for it, how far they are
//! apart, and who calls whom in a private operation.

use std::collections::BTreeSet;
use std::time::Instant;

use ::explore::analytic::Analytic;
use ::explore::candidate::Candidate;
use ::explore::estimate::{self, Row};
use ::explore::measure::Bench;
use ::explore::model::Models;
use ::explore::native::ROUTINES;
use ::explore::rank::Accuracy;
use ::explore::space::Space;
use ::explore::subject::{Family, Material, Subject};
use ::explore::validate::{self, Compared, Estimator};
use ::explore::{native, threads};
use isa::rv32::CallGraph;
use selvedge::error::Error;

use crate::papers::spread::progress;

/// The paper's size, and its family in the reading that a library of multi-precision arithmetic leads to.
const BITS: u32 = 1024;
const FAMILY: Family = Family::Private(Space::PaperA);
/// As many as the paper simulated.
const SIX: usize = 6;
/// What the private operation of figure 4 is made of here: products of factors, and divisions.
const FIGURE: &str = "divide/kary-4/gauss/fresh/32";

/// Products of long numbers, of both layers that have them: where figure 4 says `mpz_mul`, ours calls one or the other.
const PRODUCTS: [&str; 2] = ["mpz32_mul", "mpn32_mul"];

/// What was counted, which is the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Of each axis, how many choices: multiplications, block sizes, uses of the theorem, radices, caching.
    pub axes: [usize; 5],
    /// Candidates of the first reading, and of both readings together.
    pub candidates: [usize; 2],
    /// How often a private operation calls: products, powers, remainders, sums, differences.
    pub calls: [u64; 5],
    /// Functions that call products of long numbers, and are none themselves, by name.
    pub callers: Vec<String>,
}

/// What was measured.
pub struct Measurement {
    /// What of it is counted.
    pub counted: Counted,
    /// Seconds for all candidates by native runs and models, on all cores.
    pub all_s: f64,
    /// Seconds for as many as the paper simulated, one after the other, and for the same by models.
    pub six_s: [f64; 2],
    /// Of these, how many times as fast native runs are, and formulas; geometric means.
    pub faster: [f64; 2],
    /// Mean absolute errors of native runs and of formulas, in parts of one.
    pub errors: [f64; 2],
}

fn distinct<T: Ord>(of: impl Fn(&Candidate) -> T) -> usize {
    Space::PaperA.candidates().iter().map(of).collect::<BTreeSet<T>>().len()
}

/// Calls into functions whose names say what they do, from where a private operation computes.
fn calls(graph: &CallGraph, into: &[&str]) -> u64 {
    let inside = ["rsa32_private", "crt32_gauss", "crt32_garner"];
    let edges = graph.edges.iter().filter(|edge| {
        let (caller, callee) = (&graph.functions[edge.caller].name, &graph.functions[edge.callee].name);
        inside.contains(&caller.as_str()) && into.contains(&callee.as_str())
    });
    edges.map(|edge| edge.calls).sum()
}

/// Functions of a graph that call products, and are none themselves: a product of one layer by way of the other is one.
fn callers(graph: &CallGraph) -> BTreeSet<&str> {
    let name = |at: usize| graph.functions[at].name.as_str();
    let into = graph.edges.iter().filter(|edge| PRODUCTS.contains(&name(edge.callee)));
    into.map(|edge| name(edge.caller)).filter(|caller| !PRODUCTS.contains(caller)).collect()
}

/// Nothing that is told here may be doubtful.
fn check(subject: &str, outside: &[String]) -> Result<(), ::explore::Error> {
    match outside.first() {
        None => Ok(()),
        Some(why) => Err(::explore::Error::Doubtful { subject: subject.to_owned(), why: why.clone() }),
    }
}

/// These rows, of which none is doubtful.
fn checked(rows: Vec<Row>) -> Result<Vec<Row>, ::explore::Error> {
    rows.iter().try_for_each(|row| check(&row.subject, &row.outside))?;
    Ok(rows)
}

impl Counted {
    /// On this bench, with the key of this material.
    ///
    /// # Panics
    /// When the library counts other calls natively than the graph has.
    pub fn of(bench: &Bench, material: &Material) -> Result<Counted, Error> {
        let request = material.key(BITS).shortened(8).private(FIGURE.parse()?, material.seed());
        let graph = bench.calls(&request)?;
        let native = native::run(&request)?;
        for (at, routine) in ROUTINES.iter().enumerate() {
            let calls = graph.function(&routine.name).map_or(0, |function| function.calls);
            assert_eq!(native.counts().of(at)[0], calls, "calls of {}", routine.name);
        }
        Ok(Counted {
            axes: [
                distinct(|candidate| candidate.multiplication),
                distinct(|candidate| candidate.window_bits),
                distinct(|candidate| candidate.crt),
                distinct(|candidate| candidate.radix),
                distinct(|candidate| candidate.caching),
            ],
            candidates: [FAMILY.subjects().len(), both_readings()],
            calls: [
                calls(&graph, &PRODUCTS),
                calls(&graph, &["modexp32_exponentiate", "modexp32_residue"]),
                calls(&graph, &["mpz32_mod", "modmul32_reduce"]),
                calls(&graph, &["mpz32_add", "mpn32_add_n"]),
                calls(&graph, &["mpz32_sub", "mpn32_sub_n"]),
            ],
            callers: callers(&graph).into_iter().map(str::to_owned).collect(),
        })
    }
}

impl Measurement {
    /// Of these models, and the bench that they were made with.
    pub fn of(bench: &Bench, models: &Models, seed: u64) -> Result<Measurement, Error> {
        let material = Material::new(FAMILY, &[BITS], seed)?;
        let begin = Instant::now();
        rank(&material, models)?;
        let all_s = begin.elapsed().as_secs_f64();
        let six = validate::stratified(&FAMILY.subjects(), SIX, seed);
        let (six_s, faster, by_formula) = race(bench, models, &material, &six, seed)?;
        let asked: Vec<(Subject, u32)> = six.into_iter().map(|subject| (subject, BITS)).collect();
        let compared = validate::compare(bench, &Estimator::Native(models), seed, &asked, || ())?;
        compared.iter().try_for_each(|row| check(&row.subject, &row.outside))?;
        let pairs: Vec<(f64, f64)> = compared.iter().map(Compared::pair).collect();
        let natively = Accuracy::of(&pairs).expect("there are six").error_mean;
        let off =
            compared.iter().zip(&by_formula).map(|(row, cycles)| (cycles / row.measured as f64 - 1.0).abs());
        Ok(Measurement {
            counted: Counted::of(bench, &material)?,
            all_s,
            six_s,
            faster,
            errors: [natively, off.sum::<f64>() / compared.len() as f64],
        })
    }
}

fn both_readings() -> usize {
    let both = Space::PaperA.candidates().into_iter().chain(Space::PaperB.candidates());
    both.collect::<BTreeSet<_>>().len()
}

/// All candidates by native runs and models, on all cores.
fn rank(material: &Material, models: &Models) -> Result<(), Error> {
    let subjects = FAMILY.subjects();
    let bar = progress(subjects.len());
    let estimate = |subject: &Subject| {
        let native = native::run(&material.request(subject, BITS)?)?;
        checked(estimate::rows(subject, BITS, &native, models)?)
    };
    threads::each(&subjects, estimate, |_, _| bar.inc(1))?;
    bar.finish_and_clear();
    Ok(())
}

type Raced = ([f64; 2], [f64; 2], Vec<f64>);

/// The same candidates on the simulator, natively and by formulas: seconds of the first two, how many times as fast the
/// others are (formulas of all candidates, a share of that), and cycles by formulas as the rows of a comparison are
/// ordered.
fn race(
    bench: &Bench,
    models: &Models,
    material: &Material,
    subjects: &[Subject],
    seed: u64,
) -> Result<Raced, Error> {
    let (mut seconds, mut logarithms, mut cycles) = ([0.0; 2], [0.0; 2], Vec::new());
    let all = FAMILY.subjects();
    // A share of all: the parts of candidates, and a key, are run natively first, once for those that have them alike.
    let begin = Instant::now();
    let mut analytic = Analytic::new(FAMILY, models, seed)?;
    for subject in &all {
        analytic.rows(subject, BITS)?;
    }
    let by_formula = begin.elapsed().as_secs_f64() / all.len() as f64;
    for subject in subjects {
        let request = material.request(subject, BITS)?;
        let begin = Instant::now();
        bench.run_unwatched(&request)?;
        let simulated = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        estimate::rows(subject, BITS, &native::run(&request)?, models)?;
        let natively = begin.elapsed().as_secs_f64();
        cycles.extend(checked(analytic.rows(subject, BITS)?)?.iter().map(|row| row.cycles));
        seconds[0] += simulated;
        seconds[1] += natively;
        logarithms[0] += (simulated / natively).ln();
        logarithms[1] += (simulated / by_formula).ln();
    }
    let mean = |sum: f64| (sum / subjects.len() as f64).exp();
    Ok((seconds, logarithms.map(mean), cycles))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ::explore::image::{Choice, Image, Leaves};
    use isa::rv32::Profile;

    use super::*;

    #[test]
    fn what_is_counted_is_what_the_document_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let image = match Image::make(&root, &Choice::of(Leaves::Plain), None) {
            Ok(image) => image,
            Err(error @ (::explore::Error::NoCompiler { .. } | ::explore::Error::NoLibrary)) => {
                assert!(std::env::var_os("CI").is_none(), "{error}");
                println!("skip: figure 4: {error}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let material = Material::new(FAMILY, &[BITS], 1001).expect("the library makes keys");
        let bench = Bench::new(&image, Profile::Vex5);
        let counted = Counted::of(&bench, &material).expect("it is done");
        let callers = ["crt32_gauss", "crt32_setup", "modmul32_divide_multiply", "mpz32_gcdext"];
        let ours = ours(DOCUMENT);
        let (calls, of_callers) = ours.split_at(counted.calls.len());
        let expected = Counted {
            axes: [5, 5, 3, 2, 3],
            candidates: [450, 720],
            calls: calls.try_into().expect("a line for each"),
            callers: callers.map(str::to_owned).to_vec(),
        };
        assert_eq!(counted, expected);
        assert_eq!(of_callers, [counted.callers.len() as u64]);
        let [candidates, both] = counted.candidates;
        assert!(DOCUMENT.contains(&format!("chooses among {candidates} ways")));
        assert!(DOCUMENT.contains(&format!("Both together have {both} candidates")));
    }

    const DOCUMENT: &str = include_str!("../../../../../docs/paper-platform.md");

    /// The third column of a document's table.
    fn ours(document: &str) -> Vec<u64> {
        let lines = document.lines().filter(|line| line.starts_with('|')).skip(2);
        let cells = lines.map(|line| line.split('|').nth(3).expect("it has three columns"));
        cells.map(|cell| cell.trim().parse::<u64>().expect("a count")).collect()
    }
}
