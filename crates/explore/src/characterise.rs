//! Characterising: which requests a routine's model is made of, and making all models of a processor.
//!
//! Owns the plan of requests and what comes of it as samples: what a routine counted natively, and its local cycles in
//! the simulator, for the same request. Routines are measured where they are used, in powers and whole operations, since
//! caches make their cycles depend on what is around them; a routine that is rarely used there is called alone, too.
//! Regression is `model`'s, operands are `workload`'s.
//!
//! The domain is numbers of up to 3072 bits in both radices: moduli of every length with exponents as long as can be
//! afforded, and the longest exponents with short moduli.

use std::collections::BTreeMap;

use crate::candidate::{Candidate, Crt, Method, Multiplication, Radix};
use crate::error::Error;
use crate::limits::{ALONE_WEIGHT, MODEXP_PRODUCTS, SAMPLES_LEAST, WHOLE_ENOUGH};
use crate::measure::Bench;
use crate::model::{Models, Origin, Sample};
use crate::native::{self, FEATURES_MAX, ROUTINES};
use crate::request::Request;
use crate::space::Space;
use crate::threads;
use crate::workload::{BASIC, Draw, Key};

/// Lengths of keys in bits, and how many operations with each there are.
const KEYS: [(u16, usize); 6] = [(512, 48), (768, 48), (1024, 48), (1536, 48), (2048, 48), (3072, 48)];
/// The shortest exponents in bits: all windows are full.
const EXPONENT_BITS_LEAST: usize = 16;
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

/// Private operations with keys of all usual lengths, with exponents as long as can be afforded: every multiplication,
/// use of the factors, kind of caching and radix as often as the others.
fn keys(seed: u64, depth: Depth, plan: &mut Vec<Planned>) -> Result<(), Error> {
    let mut draw = Draw::new(seed ^ 1, Radix::Limbs32);
    let candidates = Space::All.candidates();
    for (bits, count) in KEYS {
        let key = Key::generate(seed, bits)?;
        let mut groups: BTreeMap<_, Vec<Candidate>> = BTreeMap::new();
        for &candidate in &candidates {
            let of = (candidate.radix, candidate.crt, candidate.multiplication);
            groups.entry(of).or_default().push(candidate);
        }
        let groups: Vec<Vec<Candidate>> = groups.into_values().collect();
        for turn in 0..count * depth.0 {
            // Any number that is prime to that of groups meets them all.
            let group = &groups[turn * 7 % groups.len()];
            let candidate = group[draw.within(0, group.len() - 1)];
            let limbs = usize::from(bits) / usize::from(candidate.radix.limb_bits());
            let limbs = if candidate.crt == Crt::Whole { limbs } else { limbs / 2 };
            let exponent_bits = MODEXP_PRODUCTS / (limbs * limbs);
            // In constant time, all bits are looked at that an exponent may have.
            if candidate.method == Method::Fixed
                && exponent_bits < limbs * usize::from(candidate.radix.limb_bits())
            {
                continue;
            }
            let request = key.shortened(exponent_bits.max(EXPONENT_BITS_LEAST)).private(candidate, seed);
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
            (routine, Sample { features: counted.map(|feature| feature as f64), local_cycles, weight: 1.0 })
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
