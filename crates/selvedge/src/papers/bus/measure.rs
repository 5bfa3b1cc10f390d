//! What is measured: the programs of corpus/, packed and run in every order, shared out over the cores of this machine.
//!
//! Owns which programs, cores, codes and caches; and the parts of the work. What is done in each part is
//! `pack::sweep`'s and `witness`'.

use std::fs;
use std::path::{Path, PathBuf};

use ::pack::SweepError;
use ::pack::code::Code;
use ::pack::code::dict;
use ::pack::place::Order;
use ::pack::sweep::why::{self, Bounds, Cause};
use ::pack::sweep::{
    Geometry, Images, Measured, Ordered, Other, OtherOrdered, Penalty, Settings, Subject, Sweep, Way, Worst,
};
use clap::ValueEnum;
use isa::Cycles;
use isa::sparc::{Timing, machine, user};
use selvedge::error::{Error, PackFault};

use super::witness::{Native, Witnessed, witness};
use crate::pack::runs;
use crate::papers::spread::{on_all_cores, progress};

/// The programs: the paper's six first.
pub const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];
/// How many of them the paper has.
pub const SIX: usize = 6;
/// The paper's cache, as far as that is known: it says neither which of its caches had which size.
pub const CACHE: Geometry = Geometry::direct(1024);
/// The same with any place for each line.
pub const FULL: Geometry = Geometry::full(1024);

/// Other ways to make code smaller, measured in the first of the orders.
pub const WAYS: [Way; 6] = [
    Way::Packets(dict::Choice::Static),
    Way::Packets(dict::Choice::Dynamic),
    on_fill(Code::Codepack),
    on_fill(Code::Bitmask),
    on_fill(Code::Huffman),
    on_fill(Code::Fields),
];

/// In the largest blocks that may be decoded for one access.
const fn on_fill(code: Code) -> Way {
    Way::OnFill { code, block_bytes: 64 }
}

/// Sets of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Instructions {
    /// SPARC V8, which the paper has
    Sparc,
    /// RV32IM
    Rv32,
}

impl Instructions {
    /// All.
    pub const ALL: [Instructions; 2] = [Instructions::Sparc, Instructions::Rv32];

    /// The cores whose cycles are counted.
    pub fn cores(self) -> &'static [&'static str] {
        match self {
            Instructions::Sparc => &["LEON2", "LEON3"],
            Instructions::Rv32 => &["Ibex"],
        }
    }

    fn folder(self) -> &'static str {
        match self {
            Instructions::Sparc => "sparc",
            Instructions::Rv32 => "rv32",
        }
    }
}

/// A program, and what it is told.
pub struct Case {
    path: PathBuf,
    instructions: Instructions,
    subject: Subject,
    cores: Vec<user::Settings>,
    native: Native,
}

impl Case {
    /// From the source tree.
    pub fn read(root: &Path, instructions: Instructions, name: &str) -> Result<Case, Error> {
        let path = root.join("corpus").join(instructions.folder()).join(name).with_extension("elf");
        let runs = root.join("data/workload/runs.txt");
        let parts = runs::parted_in_two(&runs, runs::inputs(&runs, name, Cycles::MAX)?, [&[], &[]])?;
        let subject = runs::subject(&path, name, parts)?;
        // RV32's cycles are Ibex', whatever stands here.
        let timings = [Timing::leon2(), Timing::leon3()];
        let on = |timing| {
            let machine = machine::Settings { timing, ..subject.user.machine.clone() };
            user::Settings { machine, ..subject.user.clone() }
        };
        let cores = timings.into_iter().take(instructions.cores().len()).map(on).collect();
        let outputs = root.join("corpus/outputs.csv");
        let text = fs::read_to_string(&outputs).map_err(|error| Error::io("read", &outputs, error))?;
        Ok(Case { path, instructions, native: Native::of(&text, name), subject, cores })
    }

    /// An error with the file.
    fn refused(&self) -> impl Fn(SweepError) -> Error + '_ {
        |error| PackFault::from(error).of(&self.path)
    }
}

/// What was found of a program.
pub struct Found {
    /// In which instructions.
    pub instructions: Instructions,
    /// By core.
    pub measured: Vec<Measured>,
    /// Other ways, by [`WAYS`].
    pub others: Vec<Other>,
    /// What the packer's own order leaves behind caches of the paper's size.
    pub bounds: Bounds,
    /// Sealed, and run through the whole chain.
    pub witnessed: Vec<Witnessed>,
}

impl Found {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.measured[0].program
    }
}

/// The order that is worst beside AES alone, and why.
pub struct Reason {
    /// Its program.
    pub program: String,
    /// How much it takes, in parts of AES alone.
    pub share: f64,
    /// Behind which cache.
    pub cache: Geometry,
    /// What it was drawn from.
    pub seed: u64,
    /// Why.
    pub cause: Cause,
}

/// All that was measured.
pub struct Measurement {
    /// By program.
    pub found: Vec<Found>,
    /// On the first core of SPARC.
    pub reason: Option<Reason>,
}

/// A part of the work, with the number of its program.
#[derive(Clone, Copy)]
enum Part {
    Order(usize, Order),
    Others(usize),
}

/// What came of it.
enum Done {
    Order { ordered: Vec<Ordered>, witnessed: Vec<Witnessed>, bounds: Option<Bounds> },
    Others(Vec<OtherOrdered>),
}

impl Measurement {
    /// Of these programs.
    pub fn of(cases: &[Case], settings: &Settings) -> Result<Measurement, Error> {
        // What takes longest first, so that no core waits for another at the end.
        let programs = 0..cases.len();
        let mut parts: Vec<Part> = programs.clone().map(|at| Part::Order(at, Order::Hot)).collect();
        for at in programs.clone() {
            parts.extend(settings.seeds.iter().map(|&seed| Part::Order(at, Order::Seeded(seed))));
        }
        parts.extend(programs.map(Part::Others));
        let bar = progress(2 * cases.len() + parts.len() + 1);
        let each: Vec<&Case> = cases.iter().collect();
        let sweeps = on_all_cores(&each, &bar, |&case| {
            Sweep::new(&case.subject, settings, &case.cores, &mut |_| {}).map_err(case.refused())
        })?;
        let done = on_all_cores(&parts, &bar, |&part| {
            let (Part::Order(at, _) | Part::Others(at)) = part;
            done(part, &cases[at], &sweeps[at], settings)
        })?;
        let mut all: Vec<Vec<(Part, Done)>> = cases.iter().map(|_| Vec::new()).collect();
        for (part, done) in parts.into_iter().zip(done) {
            let (Part::Order(at, _) | Part::Others(at)) = part;
            all[at].push((part, done));
        }
        let found = cases.iter().zip(&sweeps).zip(all);
        let found = found.map(|((case, sweep), done)| {
            bar.inc(1);
            together(case, sweep, done)
        });
        let found = found.collect::<Result<Vec<Found>, Error>>()?;
        let reason = reason(cases, &sweeps, &found)?;
        bar.finish_and_clear();
        Ok(Measurement { found, reason })
    }

    /// The programs in a set of instructions, on one of its cores.
    pub fn on(&self, instructions: Instructions, core: usize) -> Vec<&Measured> {
        let found = self.found.iter().filter(|found| found.instructions == instructions);
        found.map(|found| &found.measured[core]).collect()
    }

    /// The paper's six, if all are there.
    pub fn six(&self, instructions: Instructions, core: usize) -> Option<Vec<&Measured>> {
        let mut all = self.on(instructions, core);
        all.retain(|measured| PROGRAMS[..SIX].contains(&measured.program.as_str()));
        (all.len() == SIX).then_some(all)
    }
}

fn done(part: Part, case: &Case, sweep: &Sweep<'_>, settings: &Settings) -> Result<Done, Error> {
    let order = match part {
        Part::Order(_, order) => order,
        Part::Others(_) => {
            return sweep.others(settings.seeds[0], &WAYS).map(Done::Others).map_err(case.refused());
        }
    };
    let images = sweep.images(order).map_err(case.refused())?;
    let ordered = sweep.ordered(&images).map_err(case.refused())?;
    let is_witnessed = order == Order::Hot || order == Order::Seeded(settings.seeds[0]);
    let witnessed = match is_witnessed {
        true => case.witnessed(&images, &ordered, settings)?,
        false => Vec::new(),
    };
    let bounds = (order == Order::Hot).then(|| why::bounds(sweep, &images, CACHE.bytes)).transpose();
    Ok(Done::Order { ordered, witnessed, bounds: bounds.map_err(case.refused())? })
}

impl Case {
    /// The packed image of an order sealed, and run on every core and input.
    fn witnessed(
        &self,
        images: &Images,
        ordered: &[Ordered],
        settings: &Settings,
    ) -> Result<Vec<Witnessed>, Error> {
        let cache = settings.caches.iter().position(|&cache| cache == CACHE).expect("it is swept");
        let packed = &images.packed.image;
        let mut all = Vec::new();
        for ((user, name), ordered) in self.cores.iter().zip(self.instructions.cores()).zip(ordered) {
            for (input, behind) in self.subject.measured.iter().zip(&ordered.packed) {
                let predicted = behind.total_cycles(cache, Penalty::default().sealed_cycles());
                let found = witness(packed, input, user, &self.native);
                let found = found.map_err(|fault| fault.of(&self.path))?;
                let (core, seed) = (*name, ordered.seed);
                all.push(Witnessed { core, input: input.name.clone(), seed, predicted, found });
            }
        }
        Ok(all)
    }
}

/// All that was found of a program.
fn together(case: &Case, sweep: &Sweep<'_>, done: Vec<(Part, Done)>) -> Result<Found, Error> {
    let (mut orders, mut placed, mut others) = (Vec::new(), None, Vec::new());
    let (mut witnessed, mut bounds) = (Vec::new(), None);
    for (part, done) in done {
        match done {
            Done::Others(ordered) => {
                let other = |(way, ordered)| Other { way, orders: vec![ordered] };
                others = WAYS.into_iter().zip(ordered).map(other).collect();
            }
            Done::Order { ordered, witnessed: more, bounds: found } => {
                witnessed.extend(more);
                bounds = bounds.or(found);
                match part {
                    Part::Order(_, Order::Hot) => placed = Some(ordered),
                    _ => orders.push(ordered),
                }
            }
        }
    }
    let placed = placed.expect("every program has it");
    let measured = sweep.measured(orders, placed).map_err(case.refused())?;
    let bounds = bounds.expect("the packer's own order has them");
    Ok(Found { instructions: case.instructions, measured, others, bounds, witnessed })
}

/// Makes the images of the worst order again, and asks why.
fn reason(cases: &[Case], sweeps: &[Sweep<'_>], found: &[Found]) -> Result<Option<Reason>, Error> {
    let of_sparc = || found.iter().filter(|found| found.instructions == Instructions::Sparc);
    let first: Vec<&Measured> = of_sparc().map(|found| &found.measured[0]).collect();
    let Some(worst) = Worst::order(&first, Penalty::default()) else { return Ok(None) };
    let seed = worst.seed.expect("it was drawn");
    let is_it = |found: &Found| {
        found.instructions == Instructions::Sparc && found.measured[0].program == worst.program
    };
    let at = found.iter().position(is_it).expect("it was found there");
    let cause = sweeps[at].images(Order::Seeded(seed));
    let cause = cause.and_then(|images| why::cause(&sweeps[at], &images, worst.cache));
    let cause = cause.map_err(cases[at].refused())?;
    let (program, share, cache) = (worst.program.to_owned(), worst.share, worst.cache);
    Ok(Some(Reason { program, share, cache, seed, cause }))
}
