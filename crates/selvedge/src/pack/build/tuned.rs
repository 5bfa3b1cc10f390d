//! Packing for the cache that a program will run behind, by runs of it.
//!
//! Owns the flags, and running the program to learn from it. What is tried then, and what decides, is `pack::tune`'s.

use std::path::{Path, PathBuf};

use ::pack::chain;
use ::pack::profile::Training;
use ::pack::sweep::{Input, Ran, Subject, as_it_is};
use ::pack::tune::{self, Effort, Goal};
use ::pack::{Packed, Program, Settings, SweepError};
use isa::Cycles;
use selvedge::error::{Error, PackFault};

use super::Arguments;
use crate::pack::runs;

/// For which cache a program is packed.
#[derive(clap::Args)]
#[command(next_help_heading = "Packing for a cache")]
pub struct Tuning {
    /// Pack for a direct-mapped instruction cache of so many bytes, 256 to 16384: of many ways, take the one with
    /// the fewest misses in training runs. `all` packs for 1024 bytes, and weighs it against a way, but
    /// does not rule it out, that another cache is worse off with it than without packing
    #[arg(long, value_name = "BYTES", value_parser = goal, requires = "runs", conflicts_with = "profile")]
    for_cache: Option<Goal>,
    /// What the program is told when it runs to be learnt from, as `pack sweep` takes it
    #[arg(long, value_name = "FILE", requires = "for_cache")]
    runs: Option<PathBuf>,
    /// The inputs that are learnt from [default: the first three]
    #[arg(long, value_name = "INPUT", value_delimiter = ',', requires = "for_cache")]
    train: Vec<String>,
    /// Cycles after which a run that is learnt from is given up
    #[arg(long, value_name = "CYCLES", default_value_t = Cycles::MAX, hide_default_value = true,
        requires = "for_cache")]
    limit: Cycles,
}

/// Reads what is aimed at.
fn goal(text: &str) -> Result<Goal, String> {
    if text == "all" {
        return Ok(Goal::default());
    }
    let goal = text.parse().ok().map(Goal::of_cache).filter(|goal| goal.weights.iter().any(|&one| one > 0.0));
    goal.ok_or_else(|| format!("found `{text}`, expected a power of two from 256 to 16384, or all"))
}

/// A program that was packed so.
pub struct Tuned {
    pub program: Program,
    /// How it was asked to be packed.
    pub settings: Settings,
    pub packed: Packed,
    /// The inputs that were learnt from.
    pub trained: Vec<String>,
}

impl Tuning {
    /// Whether it is asked for.
    pub fn is_asked(&self) -> bool {
        self.for_cache.is_some()
    }

    /// The files that it reads.
    pub fn paths(&self) -> Option<&Path> {
        self.runs.as_deref()
    }
}

/// A program packed for the cache that was asked for, if one was.
pub fn tuned(arguments: &Arguments) -> Result<Option<Tuned>, Error> {
    let (path, tuning) = (&arguments.program, &arguments.tuning);
    let Some((goal, runs)) = tuning.for_cache.as_ref().zip(tuning.paths()) else { return Ok(None) };
    let name = runs::name(path);
    let inputs = runs::inputs(runs, &name, tuning.limit)?;
    if inputs.is_empty() && tuning.train.is_empty() {
        return Err(PackFault::NoInput.of(runs));
    }
    let [training, _] = runs::parted(runs, inputs, [&tuning.train, &[]])?;
    let Subject { program, user, training, .. } = runs::subject(path, &name, [training, Vec::new()])?;
    let plain = as_it_is(&program);
    let learn = |input: &Input| {
        let ran = Ran::of(&plain, input, &chain::Settings::default(), &user)?;
        Ok(Training::of(ran.stream))
    };
    let learnt: Result<Vec<Training>, SweepError> = training.iter().map(learn).collect();
    let learnt = learnt.map_err(|error| PackFault::from(error).of(path))?;
    let settings = arguments.packing.settings_for_caches();
    let packed = tune::pack(&program, &learnt, &settings, goal, &Effort::default());
    let packed = packed.map_err(|error| PackFault::from(error).of(path))?;
    let trained = training.into_iter().map(|input| input.name).collect();
    Ok(Some(Tuned { program, settings, packed, trained }))
}
