//! Characterising: which requests a routine's model is made of, and making all models of a processor.
//!
//! Owns the plan of requests and what comes of it as samples: what a routine counted natively, and its local cycles in
//! the simulator, for the same request. Routines are measured where they are used, in powers and whole operations, since
//! caches make their cycles depend on what is around them; a routine that is rarely used there is called alone, too.
//! Regression is `model`'s, operands are `workload`'s.
//!
//! The domain is numbers of up to 3072 bits in both radices: moduli of every length with exponents as long as can be
//! afforded, and the longest exponents with short moduli.

use crate::candidate::{Candidate, Crt, Multiplication, Radix};
use crate::error::Error;
use crate::limits::{MODEXP_PRODUCTS, SAMPLES_LEAST};
use crate::measure::Bench;
use crate::model::{Models, Origin, Sample};
use crate::native::{self, FEATURES_MAX, ROUTINES};
use crate::request::Request;
use crate::space::Space;
use crate::threads;
use crate::workload::{BASIC, Draw, Key};

/// The longest modulus in bits.
pub const BITS_MAX: usize = 3072;

/// How thoroughly routines are characterised: what multiplies the requests of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(pub usize);

/// A request, and whether it calls a routine where it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What is asked.
    pub request: Request,
    /// Whether it is an operation in which routines are used, not one of them alone.
    pub is_whole: bool,
}

/// What is asked to characterise everything that exponentiation calls.
///
/// # Errors
/// The library refuses to make a key.
pub fn plan(seed: u64, depth: Depth) -> Result<Vec<Planned>, Error> {
    let mut plan = Vec::new();
    for &radix in Radix::ALL {
        let mut draw = Draw::new(seed, radix);
        alone(&mut draw, radix, depth, &mut plan);
        powers(&mut draw, radix, depth, &mut plan);
    }
    keys(seed, depth, &mut plan)?;
    Ok(plan)
}

fn limbs_max(radix: Radix) -> usize {
    BITS_MAX / usize::from(radix.limb_bits())
}

/// Operations of the basic layer by themselves.
fn alone(draw: &mut Draw, radix: Radix, depth: Depth, plan: &mut Vec<Planned>) {
    for operation in BASIC {
        // A division by two lengths is quadratic; the rest is not worth fewer.
        for _ in 0..6 * depth.0 {
            let limbs = draw.within(3, limbs_max(radix));
            let request = Request { repeats: 2, ..draw.basic(operation, limbs) };
            plan.push(Planned { request, is_whole: false });
        }
    }
}

/// Powers by every multiplication, method and kind of caching, of moduli of all lengths.
fn powers(draw: &mut Draw, radix: Radix, depth: Depth, plan: &mut Vec<Planned>) {
    let all: Vec<Candidate> = { Space::All.candidates().into_iter() }
        .filter(|candidate| candidate.radix == radix && candidate.crt == Crt::Whole)
        .collect();
    for &multiplication in Multiplication::ALL {
        let of: Vec<&Candidate> =
            all.iter().filter(|candidate| candidate.multiplication == multiplication).collect();
        for turn in 0..24 * depth.0 {
            let candidate = *of[draw.within(0, of.len() - 1)];
            let limbs = length(draw, radix, turn);
            let exponent_limbs = exponent_limbs(draw, radix, limbs);
            let request = draw.modexp(candidate, limbs, exponent_limbs);
            let request = if draw.within(0, 1) == 1 { request.warm() } else { request };
            plan.push(Planned { request, is_whole: true });
        }
    }
}

/// A length of a modulus in limbs: those that keys of usual lengths have, whole or by halves, as often as any.
fn length(draw: &mut Draw, radix: Radix, turn: usize) -> usize {
    let max = limbs_max(radix);
    match turn % 3 {
        0 => max / [12, 6, 4, 3, 2, 1][draw.within(0, 5)],
        1 => draw.within(2, max),
        _ => draw.within(2, max / 6),
    }
}

/// As long an exponent as can be afforded.
fn exponent_limbs(draw: &mut Draw, radix: Radix, limbs: usize) -> usize {
    let bits = MODEXP_PRODUCTS / (limbs * limbs);
    let most = (bits / usize::from(radix.limb_bits())).clamp(1, limbs_max(radix));
    draw.within(most.div_ceil(2), most)
}

/// Private operations with keys of lengths that can be afforded.
fn keys(seed: u64, depth: Depth, plan: &mut Vec<Planned>) -> Result<(), Error> {
    let mut draw = Draw::new(seed ^ 1, Radix::Limbs32);
    let candidates = Space::All.candidates();
    for (bits, count) in [(512, 40), (768, 16), (1024, 8)] {
        let key = Key::generate(seed, bits)?;
        for _ in 0..count * depth.0 {
            let candidate = candidates[draw.within(0, candidates.len() - 1)];
            let is_slow = candidate.crt == Crt::Whole || candidate.radix == Radix::Limbs16;
            if bits == 1024 && is_slow {
                continue;
            }
            let request = key.private(candidate, seed);
            let request = if draw.within(0, 1) == 1 { request.warm() } else { request };
            plan.push(Planned { request, is_whole: true });
        }
    }
    Ok(())
}

/// What routines counted and took, by their place in [`ROUTINES`].
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// In whole operations.
    pub whole: Vec<Vec<Sample>>,
    /// Alone.
    pub alone: Vec<Vec<Sample>>,
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
        let measured = bench.measure(std::slice::from_ref(&planned.request))?.remove(0);
        assert_eq!(native.response, measured.response, "{:?}", planned.request);
        let of = |(routine, counted): (usize, &[u64; FEATURES_MAX])| {
            let local_cycles = measured.local_cycles[routine] as f64;
            (routine, Sample { features: counted.map(|feature| feature as f64), local_cycles })
        };
        Ok(native.counts.called().map(of).collect::<Vec<_>>())
    };
    let results = threads::each(plan, measure, |_, _| done())?;
    let none = || vec![Vec::new(); ROUTINES.len()];
    let mut samples = Samples { whole: none(), alone: none() };
    for (planned, of) in plan.iter().zip(results) {
        let into = if planned.is_whole { &mut samples.whole } else { &mut samples.alone };
        of.into_iter().for_each(|(routine, sample)| into[routine].push(sample));
    }
    Ok(samples)
}

impl Samples {
    /// What models are fitted to: what was measured in whole operations, and where that is not enough, alone.
    pub fn chosen(&self) -> Vec<Vec<Sample>> {
        let pairs = self.whole.iter().zip(&self.alone);
        let choose = |(whole, alone): (&Vec<Sample>, &Vec<Sample>)| match whole.len() >= 4 * SAMPLES_LEAST {
            true => whole.clone(),
            false => [whole.clone(), alone.clone()].concat(),
        };
        pairs.map(choose).collect()
    }

    /// The models of all routines of which there are measurements enough.
    ///
    /// # Errors
    /// None so far: a routine with too few measurements has no model, which estimates tell.
    pub fn fit(&self, origin: Origin) -> Result<Models, Error> {
        let mut chosen = self.chosen();
        chosen.iter_mut().filter(|samples| samples.len() < SAMPLES_LEAST).for_each(Vec::clear);
        Models::fit(origin, &chosen)
    }
}

/// The origin of models that are made with this bench and seed.
pub fn origin(bench: &Bench, seed: u64) -> Origin {
    let image = bench.image();
    Origin {
        instruction_set: crate::image::INSTRUCTION_SET.to_owned(),
        profile: bench.profile().name().to_owned(),
        leaves: image.choice.leaves.word().to_owned(),
        layout: image.choice.layout,
        compiler: image.compiler.clone(),
        seed,
    }
}
