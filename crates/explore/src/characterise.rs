//! Characterising: making all models of a processor.
//!
//! Owns what comes of a plan of requests as samples: what a routine counted natively, and its local cycles in the
//! simulator, for the same request. What is asked is `plan`'s, regression is `fit`'s.

use std::collections::BTreeSet;

use crate::error::Error;
use crate::fit::Sample;
use crate::frames::Frames;
use crate::limits::{ALONE_WEIGHT, SAMPLES_LEAST, WHOLE_ENOUGH};
use crate::measure::Bench;
use crate::model::{Models, Origin, Stack};
use crate::native::{self, ROUTINES};
use crate::plan::Planned;
use crate::threads;

/// What routines counted and took, by their place in [`ROUTINES`].
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// In whole operations.
    pub whole: Vec<Vec<Sample>>,
    /// Alone.
    pub alone: Vec<Vec<Sample>>,
    /// Which constants of the image they read: a routine's place, and that of a constant.
    pub read: BTreeSet<(usize, usize)>,
    /// What they took of the stack.
    pub frames: Frames,
}

/// Measures what was planned, on all cores. `done` hears of each request.
///
/// # Errors
/// The library refuses one, or the program fails.
///
/// # Panics
/// When the program answers something else than the library does natively.
pub fn sample(bench: &Bench, plan: &[Planned], done: impl Fn() + Sync) -> Result<Samples, Error> {
    let measure = |planned: &Planned| {
        let native = native::run(&planned.request)?;
        let measured = bench.measure_one(&planned.request)?;
        assert_eq!(native.response, measured.response, "{:?}", planned.request);
        let mut samples = Vec::new();
        for (counts, turn) in native.turns.iter().zip(&measured.turns) {
            samples.extend(counts.called().map(|(routine, counted)| {
                let local_cycles = turn.local_cycles[routine] as f64;
                let features = counted.map(|feature| feature as f64);
                let (extents, request) = (counts.extents(routine), 0);
                (routine, Sample { features, extents, local_cycles, weight: 1.0, request })
            }));
        }
        Ok((samples, measured))
    };
    let results = threads::each(plan, measure, |_, _| done())?;
    let none = || vec![Vec::new(); ROUTINES.len()];
    let (read, frames) = (BTreeSet::new(), Frames::default());
    let mut samples = Samples { whole: none(), alone: none(), read, frames };
    for (request, (planned, (of, measured))) in plan.iter().zip(results).enumerate() {
        samples.read.extend(measured.read);
        samples.frames.extend(&measured.frames);
        let into = if planned.is_whole { &mut samples.whole } else { &mut samples.alone };
        of.into_iter().for_each(|(routine, sample)| into[routine].push(Sample { request, ..sample }));
    }
    Ok(samples)
}

impl Samples {
    /// What models are fitted to: where there are enough measurements in whole operations, those that are alone count
    /// little, and widen the domain.
    pub fn chosen(&self) -> Vec<Vec<Sample>> {
        let pairs = self.whole.iter().zip(&self.alone);
        let choose = |(whole, alone): (&Vec<Sample>, &Vec<Sample>)| {
            let weight = if whole.len() >= WHOLE_ENOUGH { ALONE_WEIGHT } else { 1.0 };
            let alone = alone.iter().map(|sample| Sample { weight, ..*sample });
            whole.iter().copied().chain(alone).collect()
        };
        pairs.map(choose).collect()
    }

    /// The models of all routines of which there are measurements enough, for where they were measured.
    ///
    /// # Errors
    /// None so far: a routine with too few measurements has no model, which estimates tell.
    pub fn fit(&self, bench: &Bench, seed: u64) -> Result<Models, Error> {
        let mut chosen = self.chosen();
        chosen.iter_mut().filter(|samples| samples.len() < SAMPLES_LEAST).for_each(Vec::clear);
        let mut models = Models::fit(origin(bench, seed), &chosen)?;
        for (place, model) in models.routines.iter_mut().enumerate() {
            let Some(model) = model else { continue };
            model.code_bytes = bench.image().code_bytes(&model.routine).unwrap_or(0);
            let read = self.read.range((place, 0)..(place + 1, 0));
            let table = |&(_, at): &(usize, usize)| {
                let constant = &bench.image().constants[at];
                // Two files may have a table of one name.
                (format!("{}@{:x}", constant.name, constant.address), constant.bytes)
            };
            model.tables = Some(read.map(table).collect());
            model.stack = self.stack(place);
        }
        Ok(models)
    }

    /// What a routine took of the stack.
    fn stack(&self, place: usize) -> Option<Stack> {
        let own_bytes = *self.frames.own_bytes.get(&place)?;
        let callees = self.frames.callee_bytes.range((place, 0)..(place + 1, 0));
        let callee_bytes = callees.map(|(&(_, callee), &bytes)| (callee, bytes)).collect();
        Some(Stack { own_bytes, callee_bytes })
    }
}

/// The origin of models that are made with this bench and seed.
fn origin(bench: &Bench, seed: u64) -> Origin {
    let image = bench.image();
    Origin {
        instruction_set: crate::image::INSTRUCTION_SET.to_owned(),
        profile: bench.profile().name().to_owned(),
        leaves: image.choice.leaves.word().to_owned(),
        layout: image.choice.layout,
        compiler: image.compiler.clone(),
        tool: crate::kept::TOOL.to_owned(),
        sources: crate::kept::SOURCES.to_owned(),
        seed,
    }
}
