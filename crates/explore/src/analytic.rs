//! What a candidate of exponentiation takes, from formulas for how often its parts are done.
//!
//! Owns the formulas, and what the parts take: each part is run natively once for a multiplication and a length, and
//! its counts are worth what models say. A candidate is then a sum, and as doubtful as each of its parts. What differs
//! from a native run of it is that exponents are random ones here, of which the expected number of windows is computed
//! exactly.

use std::collections::HashMap;

use crate::candidate::{Caching, Candidate, Crt, Method, Radix};
use crate::error::Error;
use crate::estimate::{Row, State};
use crate::limits::ANALYTIC_DRAWS;
use crate::model::{Estimate, Models};
use crate::native::{self, FEATURES_MAX, ROUTINES};
use crate::request::Request;
use crate::subject::{Family, Subject};
use crate::workload::{Draw, Key};

/// Windows of an exponent, as features of the routine that walks through it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Walk {
    squares: f64,
    products: f64,
    /// Of the routine of the method, calls first.
    features: [f64; FEATURES_MAX],
    /// Powers that are looked up in constant time.
    gathers: f64,
}

/// Expected windows of what is left of an exponent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sliding {
    zeros: f64,
    windows: f64,
    window_bits: f64,
    trimmed: f64,
}

impl Sliding {
    fn plus(self, part: f64, other: Sliding) -> Sliding {
        Sliding {
            zeros: self.zeros + part * other.zeros,
            windows: self.windows + part * other.windows,
            window_bits: self.window_bits + part * other.window_bits,
            trimmed: self.trimmed + part * other.trimmed,
        }
    }

    /// A window that begins at a one with so many bits to take, and what is behind it.
    fn window(rest: &[Sliding], left: usize, window_bits: usize) -> Sliding {
        let longest = left.min(window_bits);
        let mut sum = Sliding::default();
        for trimmed in 0..longest {
            // The zeros at its end, of bits that are random but for the first.
            let likely = match trimmed + 1 == longest {
                true => 0.5f64.powi(trimmed as i32),
                false => 0.5f64.powi(trimmed as i32 + 1),
            };
            let own = Sliding {
                zeros: trimmed as f64,
                windows: 1.0,
                window_bits: (longest - trimmed) as f64,
                trimmed: trimmed as f64,
            };
            sum = sum.plus(likely, own);
        }
        sum.plus(1.0, rest[left - longest])
    }
}

/// Of an exponent of so many bits of which the first is a one and the others are random; the bits of its first window
/// too.
fn sliding(bits: usize, window_bits: usize) -> (Sliding, f64) {
    let mut rest = vec![Sliding::default()];
    for left in 1..bits {
        let zero = Sliding { zeros: 1.0, ..Sliding::default() }.plus(1.0, rest[left - 1]);
        let half = Sliding::default().plus(0.5, zero);
        rest.push(half.plus(0.5, Sliding::window(&rest, left, window_bits)));
    }
    let first = Sliding::window(&[Sliding::default(); 1].repeat(bits + 1), bits, window_bits);
    (Sliding::window(&rest, bits, window_bits), first.window_bits)
}

fn walk(candidate: &Candidate, bits: usize) -> Walk {
    let window_bits = usize::from(candidate.window_bits);
    // The highest digit has what the others leave.
    let digits = (bits - 1) / window_bits;
    let (place, top_bits) = ((digits * window_bits) as f64, (bits - digits * window_bits) as f64);
    let digits = digits as f64;
    match candidate.method {
        Method::Binary => {
            let squares = (bits - 1) as f64;
            let products = squares / 2.0;
            Walk { squares, products, features: [1.0, squares, products, 0.0, 0.0, 0.0], gathers: 0.0 }
        }
        Method::Kary => {
            let products = digits * (1.0 - 0.5f64.powi(window_bits as i32));
            let features = [1.0, digits, place, top_bits, products, 0.0];
            Walk { squares: place, products, features, gathers: 0.0 }
        }
        Method::Sliding => {
            let (all, first_bits) = sliding(bits, window_bits);
            let features = [1.0, all.zeros, all.windows, all.window_bits, first_bits, all.trimmed];
            let squares = all.zeros + all.window_bits - first_bits;
            Walk { squares, products: all.windows - 1.0, features, gathers: 0.0 }
        }
        Method::Fixed => {
            let features = [1.0, digits, place, top_bits, 0.0, 0.0];
            Walk { squares: place, products: digits, features, gathers: digits + 1.0 }
        }
    }
}

/// What something takes, and why that is doubtful.
#[derive(Clone, Debug, Default, PartialEq)]
struct Worth {
    cycles: f64,
    /// Where routines are asked beyond what they were characterised for: each routine and feature once.
    outside: Vec<Error>,
}

impl Worth {
    /// The same and so many of another.
    fn plus(mut self, count: f64, other: &Worth) -> Worth {
        if count != 0.0 {
            self.cycles += count * other.cycles;
            for error in &other.outside {
                if !self.outside.iter().any(|known| asked(known) == asked(error)) {
                    self.outside.push(error.clone());
                }
            }
        }
        self
    }
}

/// The routine that is asked beyond what it was characterised for, and the feature.
fn asked(error: &Error) -> Option<(&str, &str)> {
    match error {
        Error::OutOfDomain { routine, feature, .. } => Some((routine, feature)),
        _ => None,
    }
}

/// What products of residues take.
#[derive(Clone, Debug)]
struct Products {
    square: Worth,
    product: Worth,
    /// By the residue of 1, which is short where residues are numbers themselves; nothing where nobody asks.
    by_one: Worth,
}

/// The parts of candidates that multiply alike.
type Alike = (Candidate, usize);

/// Estimates without running candidates.
pub struct Analytic<'a> {
    models: &'a Models,
    seed: u64,
    keys: HashMap<u32, Key>,
    /// What products take.
    products: HashMap<Alike, Products>,
    /// Everything but powers and exponent, cold and warm.
    bases: HashMap<(Candidate, u32), Vec<Worth>>,
    walks: HashMap<(Method, u8, usize), Walk>,
}

impl<'a> Analytic<'a> {
    /// By these models.
    ///
    /// # Errors
    /// The family is not exponentiation.
    pub fn new(family: Family, models: &'a Models, seed: u64) -> Result<Analytic<'a>, Error> {
        let (keys, products, bases, walks) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        match family {
            Family::Private(_) => Ok(Analytic { models, seed, keys, products, bases, walks }),
            _ => Err(Error::NoFormula { family: family.word() }),
        }
    }

    /// The same, with the key of a size, which is made otherwise.
    pub fn with(mut self, key: &Key) -> Analytic<'a> {
        self.keys.insert(key.bits.into(), key.clone());
        self
    }

    /// The rows of a subject: cold, and warm if it keeps something. Memory and code are a native run's to tell.
    ///
    /// # Errors
    /// A routine has no model, or the library refuses.
    ///
    /// # Panics
    /// When it is no candidate of exponentiation.
    pub fn rows(&mut self, subject: &Subject, size: u32) -> Result<Vec<Row>, Error> {
        let Subject::Private(candidate) = subject else { panic!("`{subject}` is no way of exponentiation") };
        let worth = self.candidate(candidate, size)?;
        let row = |(worth, state): (Worth, State)| Row {
            subject: subject.to_string(),
            size,
            state,
            cycles: worth.cycles,
            ram_bytes: None,
            stack_bytes: None,
            code_bytes: None,
            table_bytes: None,
            constant_time: None,
            verdict: None,
            outside: worth.outside.iter().map(Error::to_string).collect(),
        };
        Ok(worth.into_iter().zip([State::Cold, State::Warm]).map(row).collect())
    }

    /// What a candidate takes, cold, and warm if it keeps something.
    fn candidate(&mut self, candidate: &Candidate, size: u32) -> Result<Vec<Worth>, Error> {
        let halves = if candidate.crt == Crt::Whole { 1.0 } else { 2.0 };
        let bits = size as usize / halves as usize;
        let limbs = bits / usize::from(candidate.radix.limb_bits());
        let base = self.base(candidate, size)?;
        let main = self.main(candidate, bits)?;
        let powers = self.powers(candidate, limbs)?;
        let of = |(worth, state): (Worth, State)| {
            let is_there = candidate.caching == Caching::Tables && state == State::Warm;
            let worth = worth.plus(halves, &main);
            if is_there { worth } else { worth.plus(halves, &powers) }
        };
        Ok(base.into_iter().zip([State::Cold, State::Warm]).map(of).collect())
    }

    /// What walking through an exponent of so many bits takes.
    fn main(&mut self, candidate: &Candidate, bits: usize) -> Result<Worth, Error> {
        let limbs = bits / usize::from(candidate.radix.limb_bits());
        let walk = *self.walks.entry((candidate.method, candidate.window_bits, bits)).or_insert_with(|| {
            // An exponent is below a modulus of `bits` bits and half of the time a bit shorter; all bits of one are
            // looked at in constant time.
            let is_fixed = candidate.method == Method::Fixed;
            walk(candidate, if is_fixed { bits } else { bits - 1 })
        });
        let entries = f64::from(1u32 << candidate.window_bits);
        let gathered = walk.gathers * entries;
        let gather = [walk.gathers, gathered, gathered * limbs as f64, 0.0, 0.0, 0.0];
        // In constant time a digit of 0 is a product, too.
        let ones = match candidate.method {
            Method::Fixed => 0.5f64.powi(candidate.window_bits.into()),
            _ => 0.0,
        };
        let walked = self
            .worth(candidate.radix, method_routine(candidate.method), &walk.features)?
            .plus(1.0, &self.worth(candidate.radix, "mpn_gather", &gather)?);
        let Products { square, product, by_one } = self.products(candidate, limbs)?;
        Ok(walked
            .plus(walk.squares, square)
            .plus(walk.products * (1.0 - ones), product)
            .plus(walk.products * ones, by_one))
    }

    /// What a table of powers takes beside that of the binary method.
    fn powers(&mut self, candidate: &Candidate, limbs: usize) -> Result<Worth, Error> {
        let count = f64::from(1u32 << candidate.window_bits);
        let (squares, products, features) = match candidate.method {
            Method::Binary => return Ok(Worth::default()),
            Method::Sliding => {
                let products = count / 2.0 - 1.0;
                (if count > 2.0 { 1.0 } else { 0.0 }, products, [1.0, products, 0.0, 0.0, 1.0, 0.0])
            }
            Method::Kary | Method::Fixed => {
                let pairs = count / 2.0 - 1.0;
                let is_fixed = f64::from(candidate.method == Method::Fixed);
                (pairs, pairs, [1.0, 0.0, pairs, is_fixed, 0.0, 0.0])
            }
        };
        let local = self.worth(candidate.radix, "modexp_powers", &features)?;
        // The call is among what is the same for all.
        let plainest = self.worth(candidate.radix, "modexp_powers", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
        let local = Worth { cycles: local.cycles - plainest.cycles, ..local };
        let Products { square, product, .. } = self.products(candidate, limbs)?;
        Ok(local.plus(squares, square).plus(products, product))
    }

    /// What features of a routine are worth; a name is as in the library's source, without its radix.
    fn worth(&self, radix: Radix, name: &str, features: &[f64; FEATURES_MAX]) -> Result<Worth, Error> {
        let symbol = symbol(radix, name);
        let routine = ROUTINES.iter().position(|routine| routine.name == symbol);
        let routine = routine.unwrap_or_else(|| panic!("the library has no `{symbol}`"));
        self.counted(routine, features)
    }

    /// What a routine's features are worth.
    fn counted(&self, routine: usize, features: &[f64; FEATURES_MAX]) -> Result<Worth, Error> {
        if features[0] == 0.0 {
            return Ok(Worth::default());
        }
        let outside = self.models.outside(routine, features)?.into_iter().collect();
        Ok(Worth { cycles: self.models.worth(routine, features)?, outside })
    }

    /// What products of residues of so many limbs take, mean of some.
    fn products(&mut self, candidate: &Candidate, limbs: usize) -> Result<&Products, Error> {
        let alike = (multiplying_alike(candidate), limbs);
        if !self.products.contains_key(&alike) {
            let mut draw = Draw::new(self.seed, candidate.radix);
            let square = self.product(|| draw.modmul("modmul_square", alike.0, limbs))?;
            let product = self.product(|| draw.modmul("modmul_multiply", alike.0, limbs))?;
            let by_one = match candidate.method {
                Method::Fixed => self.product(|| draw.modmul_by_one("modmul_multiply", alike.0, limbs))?,
                _ => Worth::default(),
            };
            self.products.insert(alike, Products { square, product, by_one });
        }
        Ok(&self.products[&alike])
    }

    /// What a product takes, of which there is a request each time.
    fn product(&self, mut draw: impl FnMut() -> Request) -> Result<Worth, Error> {
        let mut sums = vec![[0.0; FEATURES_MAX]; ROUTINES.len()];
        for _ in 0..ANALYTIC_DRAWS {
            for (routine, counted) in native::run(&draw())?.counts().called() {
                let pairs = sums[routine].iter_mut().zip(counted);
                pairs.for_each(|(sum, count)| *sum += *count as f64);
            }
        }
        let part = f64::from(ANALYTIC_DRAWS).recip();
        sums.iter().enumerate().try_fold(Worth::default(), |worth, (routine, features)| {
            Ok(worth.plus(part, &self.counted(routine, features)?))
        })
    }

    /// What an operation with the least window takes, without walking through its exponent.
    fn base(&mut self, candidate: &Candidate, size: u32) -> Result<Vec<Worth>, Error> {
        let alike =
            Candidate { crt: candidate.crt, caching: candidate.caching, ..multiplying_alike(candidate) };
        if let Some(found) = self.bases.get(&(alike, size)) {
            return Ok(found.clone());
        }
        if !self.keys.contains_key(&size) {
            self.keys.insert(size, Key::generate(self.seed, size as u16)?);
        }
        let halves = if candidate.crt == Crt::Whole { 1 } else { 2 };
        let name = method_routine(alike.method);
        // In constant time all bits of an exponent are looked at, so that none is short.
        let (key, walked) = match alike.method {
            Method::Fixed => (self.keys[&size].clone(), self.main(&alike, size as usize / halves)?),
            _ => {
                let walked = self.worth(candidate.radix, name, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?;
                (self.keys[&size].shortened(1), walked)
            }
        };
        let request = key.private(alike, self.seed);
        let request = if alike.caching == Caching::Nothing { request } else { request.warm() };
        let mut base = self.estimated(&request)?;
        let walking = symbol(candidate.radix, name);
        for worth in &mut base {
            worth.cycles -= halves as f64 * walked.cycles;
            // What walks through an exponent is asked for less here than a candidate asks it, which `main` looks at.
            worth.outside.retain(|error| asked(error).is_none_or(|(routine, _)| routine != walking));
        }
        self.bases.insert((alike, size), base.clone());
        Ok(base)
    }

    /// What a native run is worth, each time.
    fn estimated(&self, request: &Request) -> Result<Vec<Worth>, Error> {
        let native = native::run(request)?;
        let worth = |counts| {
            let Estimate { cycles, outside, .. } = self.models.estimate(counts)?;
            Ok(Worth { cycles, outside })
        };
        native.turns.iter().map(worth).collect()
    }
}

/// The plainest candidate that multiplies as this one: in constant time, or not.
fn multiplying_alike(candidate: &Candidate) -> Candidate {
    let (crt, caching) = (Crt::Whole, Caching::Nothing);
    let method = if candidate.method == Method::Fixed { Method::Fixed } else { Method::Binary };
    Candidate { method, window_bits: 1, crt, caching, ..*candidate }
}

/// A routine's name for a radix, of its name in the library's source.
fn symbol(radix: Radix, name: &str) -> String {
    let (prefix, rest) = name.split_once('_').expect("routines of limbs have two words");
    format!("{prefix}{}_{rest}", radix.word())
}

fn method_routine(method: Method) -> &'static str {
    match method {
        Method::Binary => "modexp_binary",
        Method::Kary => "modexp_kary",
        Method::Sliding => "modexp_sliding",
        Method::Fixed => "modexp_fixed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;
    use crate::{stored, workload};

    /// What the library counts of a method, mean over random exponents of so many bits.
    fn counted(candidate: Candidate, bits: usize) -> [f64; FEATURES_MAX] {
        let name = method_routine(candidate.method).replace("modexp_", "modexp32_");
        let routine = ROUTINES.iter().position(|routine| routine.name == name).expect("there is one");
        let mut draw = Draw::new(7, Radix::Limbs32);
        let turns = 400;
        let mut mean = [0.0; FEATURES_MAX];
        for _ in 0..turns {
            let request = draw.modexp(candidate, 2, bits / 32);
            let counts = native::run(&request).expect("it is one").turns.remove(0);
            for (mean, count) in mean.iter_mut().zip(counts.of(routine)) {
                *mean += *count as f64 / f64::from(turns);
            }
        }
        mean
    }

    #[test]
    fn expected_windows_are_those_that_the_library_counts_on_average() {
        for (method, windows) in
            [(Method::Binary, 1..=1), (Method::Kary, 2..=5), (Method::Sliding, 2..=5), (Method::Fixed, 1..=5)]
        {
            for window_bits in windows {
                let candidate = Candidate { method, window_bits, ..workload::fast() };
                let bits = 96;
                let (expected, found) = (walk(&candidate, bits).features, counted(candidate, bits));
                for (expected, found) in expected.iter().zip(found) {
                    let slack = 0.02 * expected.abs() + 0.1;
                    assert!((expected - found).abs() < slack, "{candidate}: {expected} and {found}");
                }
            }
        }
    }

    #[test]
    fn a_candidate_beyond_what_a_routine_was_characterised_for_says_so() {
        let mut models = stored::read(include_str!("../models/vex5.ndjson")).expect("it is one");
        let candidate = Candidate { crt: Crt::Whole, radix: Radix::Limbs32, ..workload::fast() };
        let outside = |models: &Models| {
            let mut analytic = Analytic::new(Family::Private(Space::All), models, 7).expect("it is a space");
            let rows = analytic.rows(&Subject::Private(candidate), 512).expect("there are models");
            rows.into_iter().map(|row| row.outside).collect::<Vec<_>>()
        };
        assert_eq!(outside(&models), [Vec::<String>::new(), Vec::new()]);
        // What walks through the exponent, what is called for a product alone, and what only prepares.
        let mut narrow = |routine: &str, feature: &str, most: f64| {
            let model = models.routines.iter_mut().flatten().find(|model| model.routine == routine);
            let domain = &mut model.expect("it has a model").domain;
            let range = domain.iter_mut().find(|range| range.feature == feature).expect("it is counted");
            range.most = most;
        };
        narrow("modexp32_sliding", "windows", 60.0);
        narrow("modmul32_cios_multiply", "rows", 15.0);
        narrow("modmul32_setup", "doublings", 1.0);
        let [cold, warm] = outside(&models).try_into().expect("it keeps something");
        let names = |outside: &[String], name: &str| outside.iter().any(|error| error.contains(name));
        for name in ["`modexp32_sliding`", "`modmul32_cios_multiply`"] {
            assert!(names(&cold, name) && names(&warm, name), "{name}: {cold:?}, {warm:?}");
        }
        assert!(names(&cold, "`modmul32_setup`") && !names(&warm, "`modmul32_setup`"), "{cold:?}, {warm:?}");
        assert_eq!((cold.len(), warm.len()), (3, 2), "{cold:?}, {warm:?}");
    }
}
