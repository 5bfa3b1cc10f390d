//! The limits of what this tool takes and tries.
//!
//! Owns every such number, with why it is what it is.

/// From which likeness on (Jaro-Winkler, 1 is equal) a name is taken for a misspelt one.
pub const LIKENESS_LEAST: f64 = 0.8;
/// Parts into which measurements are cut to judge a model by those that it was not fitted to.
pub const FOLDS: usize = 5;
/// The fewest measurements of a routine for a model: two in each part.
pub const SAMPLES_LEAST: usize = 2 * FOLDS;
/// What a model with more terms must save of the held-out error to be taken, as a part of it.
pub const TERM_GAIN_LEAST: f64 = 0.02;
/// Terms that go with a length otherwise than straight, at most: a square and a bend, or two bends.
pub const BENT_TERMS_MOST: usize = 2;
/// Below this mean error, in parts of one, a model is exact but for rounding.
pub const ERROR_FLOOR: f64 = 1e-9;
/// How far beyond what was characterised a call may lie, as a part of it: rounding, not extrapolation.
pub const DOMAIN_SLACK: f64 = 1e-9;
/// How large a term may be against what it is fitted to: two larger ones that cancel are features that measurements
/// do not tell apart.
pub const LIKENESS_MOST: f64 = 100.0;
/// From how many measurements in whole operations on those that are alone count little.
pub const WHOLE_ENOUGH: usize = 4 * SAMPLES_LEAST;
/// How much they count then.
pub const ALONE_WEIGHT: f64 = 0.1;
/// Operands that the mean of a product of residues is taken over, where data decide.
pub const ANALYTIC_DRAWS: u32 = 8;
/// Bits of exponents where secrets are followed: some windows of every width.
pub const SECRET_EXPONENT_BITS: usize = 24;
/// Products of limbs that a power of a characterisation may take, about: a second of simulation at most.
pub const MODEXP_PRODUCTS: usize = 200_000;

const _: () = assert!(SAMPLES_LEAST >= 2 * FOLDS && FOLDS >= 2);
