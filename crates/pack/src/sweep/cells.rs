//! What a sweep says, cell by cell.
//!
//! Owns: means and spreads of what was measured ([`Measured::cell`]) and the paper's rule for a cache's size. A cell is
//! a program behind a cache. Its values are means over the orders of functions, each over the inputs; a table's mean is
//! over programs.

use isa::Cycles;

use super::Way;
use super::filled::Filled;
use super::runs::Behind;
use super::stacks::Geometry;
use crate::packing::Report;

/// The cycles of a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// Of memory.
    pub memory_cycles: Cycles,
    /// Of the cipher, behind it.
    pub cipher_cycles: Cycles,
}

impl Default for Penalty {
    /// The paper's.
    fn default() -> Penalty {
        Penalty { memory_cycles: 80, cipher_cycles: 40 }
    }
}

impl Penalty {
    /// Of both.
    pub fn sealed_cycles(self) -> Cycles {
        self.memory_cycles + self.cipher_cycles
    }
}

/// A program with its functions in one order.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// What the order was drawn from; `None` for the program's or the packer's own.
    pub seed: Option<u64>,
    /// The unpacked program in this order, by input.
    pub plain: Vec<Behind>,
    /// The packed one.
    pub packed: Vec<Behind>,
    /// What packing did.
    pub report: Report,
}

/// What was measured of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its name.
    pub program: String,
    /// The names of the inputs.
    pub inputs: Vec<String>,
    /// The caches, in the order of every list of misses.
    pub caches: Vec<Geometry>,
    /// The unpacked program as it was linked, by input.
    pub given: Vec<Behind>,
    /// In orders that were drawn.
    pub orders: Vec<Ordered>,
    /// In the packer's own.
    pub placed: Ordered,
    /// The ratio of the smallest image, whose dictionary follows no profile.
    pub ratio_static: f64,
}

/// Runs of a program that was made smaller in another way, by input.
#[derive(Clone, Debug, PartialEq)]
pub enum OtherRuns {
    /// Of packets.
    Packets(Vec<Behind>),
    /// Of blocks that are decoded on fill.
    OnFill(Vec<Filled>),
    /// Of the program as it is, since it would not become smaller.
    AsItIs(Vec<Behind>),
}

impl OtherRuns {
    /// By input, cycles with AES, and lines that are deciphered.
    fn took(&self, cache: usize, penalty: Penalty) -> Vec<(f64, f64)> {
        match self {
            OtherRuns::Packets(runs) | OtherRuns::AsItIs(runs) => {
                let took = |run: &Behind| {
                    let cycles = run.total_cycles(cache, penalty.sealed_cycles());
                    (cycles as f64, run.misses[cache] as f64)
                };
                runs.iter().map(took).collect()
            }
            OtherRuns::OnFill(runs) => {
                let took =
                    |run: &Filled| (run.total_cycles(cache, penalty) as f64, run.fills[cache].lines as f64);
                runs.iter().map(took).collect()
            }
        }
    }
}

/// A program that was made smaller in another way, with its functions in one order.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherOrdered {
    /// Its code with all tables, in parts of the program's.
    pub ratio: f64,
    /// Its runs.
    pub runs: OtherRuns,
}

/// Another way, with functions in the orders that were drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// Which.
    pub way: Way,
    /// By order, as in [`Measured::orders`].
    pub orders: Vec<OtherOrdered>,
}

impl Other {
    /// The share of the program that its images take: its mean over the orders.
    pub fn ratio(&self) -> f64 {
        Spread::of(self.orders.iter().map(|order| order.ratio)).map_or(1.0, |spread| spread.mean)
    }

    /// In how many of the orders the program stayed as it is, since it would not become smaller.
    pub fn as_it_is(&self) -> usize {
        self.orders.iter().filter(|order| matches!(order.runs, OtherRuns::AsItIs(_))).count()
    }
}

/// A program that was made smaller in another way behind a cache, beside the plain one in the same order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherCell {
    /// With AES, beside plain.
    pub packed: Spread,
    /// The same beside AES alone.
    pub packed_to_aes: Spread,
    /// Lines that are deciphered, beside AES alone.
    pub lines_left: Spread,
}

/// Some values of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of these; `None` of none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let (mut count, mut sum, mut least, mut most) = (0u32, 0.0, f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            count += 1;
            sum += value;
            (least, most) = (f64::min(least, value), f64::max(most, value));
        }
        (count > 0).then(|| Spread { mean: sum / f64::from(count), least, most })
    }
}

/// A program behind a cache; every value but the first two in parts of what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The cache.
    pub cache: Geometry,
    /// The share of words that the unpacked program finds in it, as it was linked.
    pub hits: f64,
    /// Cycles with AES alone, beside none, in the same order.
    pub aes: Spread,
    /// The same if every word that the cache is asked for took one cycle, as where only misses count.
    pub aes_ideal: Spread,
    /// Packed, with AES, beside plain in the same order.
    pub packed: Spread,
    /// The same beside AES alone.
    pub packed_to_aes: Spread,
    /// Lines that are deciphered, beside AES alone: AES unit cycles, bytes over the bus, and blocks alike.
    pub lines_left: Spread,
    /// Words that the cache is asked for, beside plain.
    pub accesses: Spread,
    /// Plain in the packer's order, beside plain as it was linked.
    pub placed_plain: f64,
    /// AES alone in the packer's order, beside that.
    pub placed_aes: f64,
    /// Packed in the packer's order, with AES, beside that.
    pub placed: f64,
    /// Lines that are deciphered then, beside AES alone as it was linked.
    pub placed_lines_left: f64,
}

impl Measured {
    /// What is measured behind one of the caches.
    ///
    /// # Panics
    /// Without an order or an input.
    pub fn cell(&self, cache: usize, penalty: Penalty) -> Cell {
        let (plain_cycles, sealed_cycles) = (penalty.memory_cycles, penalty.sealed_cycles());
        let cycles = |miss_cycles: Cycles| move |run: &Behind| run.total_cycles(cache, miss_cycles) as f64;
        let lines = |run: &Behind| run.misses[cache] as f64;
        let accesses = |run: &Behind| run.accesses as f64;
        let spread = |value: &dyn Fn(&Ordered) -> f64| {
            Spread::of(self.orders.iter().map(value)).expect("there is an order")
        };
        let (plain, sealed) = (cycles(plain_cycles), cycles(sealed_cycles));
        let ideal =
            |miss_cycles: Cycles| move |run: &Behind| (run.accesses + miss_cycles * run.misses[cache]) as f64;
        let (ideal, ideal_sealed) = (ideal(plain_cycles), ideal(sealed_cycles));
        let asked = self.given.iter().map(|run| run.accesses).sum::<u64>() as f64;
        let lacked = self.given.iter().map(|run| run.misses[cache]).sum::<u64>() as f64;
        Cell {
            cache: self.caches[cache],
            hits: 1.0 - lacked / asked,
            aes: spread(&|order| mean(&order.plain, sealed, &order.plain, plain)),
            aes_ideal: spread(&|order| mean(&order.plain, ideal_sealed, &order.plain, ideal)),
            packed: spread(&|order| mean(&order.packed, sealed, &order.plain, plain)),
            packed_to_aes: spread(&|order| mean(&order.packed, sealed, &order.plain, sealed)),
            lines_left: spread(&|order| mean(&order.packed, lines, &order.plain, lines)),
            accesses: spread(&|order| mean(&order.packed, accesses, &order.plain, accesses)),
            placed_plain: mean(&self.placed.plain, plain, &self.given, plain),
            placed_aes: mean(&self.placed.plain, sealed, &self.given, plain),
            placed: mean(&self.placed.packed, sealed, &self.given, plain),
            placed_lines_left: mean(&self.placed.packed, lines, &self.given, lines),
        }
    }

    /// The same of a cache, if it is one of them.
    pub fn cell_of(&self, cache: Geometry, penalty: Penalty) -> Option<Cell> {
        let number = self.caches.iter().position(|&other| other == cache)?;
        Some(self.cell(number, penalty))
    }

    /// What another way is behind one of the caches, measured in the same orders.
    ///
    /// # Panics
    /// Without an order or an input.
    pub fn other(&self, other: &Other, cache: usize, penalty: Penalty) -> OtherCell {
        let pairs = || self.orders.iter().zip(&other.orders);
        let spread = |value: &dyn Fn(&Behind, (f64, f64)) -> f64| {
            let of_order = |(plain, other): (&Ordered, &OtherOrdered)| {
                let took = other.runs.took(cache, penalty);
                let values = plain.plain.iter().zip(took).map(|(plain, took)| value(plain, took));
                Spread::of(values).expect("there is an input").mean
            };
            Spread::of(pairs().map(of_order)).expect("there is an order")
        };
        let part = |of: f64, whole: u64| if whole == 0 { 1.0 } else { of / whole as f64 };
        OtherCell {
            packed: spread(&|plain, took| part(took.0, plain.total_cycles(cache, penalty.memory_cycles))),
            packed_to_aes: spread(&|plain, took| {
                part(took.0, plain.total_cycles(cache, penalty.sealed_cycles()))
            }),
            lines_left: spread(&|plain, took| part(took.1, plain.misses[cache])),
        }
    }

    /// The paper's size of a direct-mapped cache: the first of those measured behind which twice as much does not
    /// bring so many hits more, in parts of all accesses (the paper says 5 %).
    pub fn sized(&self, least_gain: f64) -> Geometry {
        let direct = (0..self.caches.len()).filter(|&cache| self.caches[cache].ways == 1);
        let mut direct: Vec<usize> = direct.collect();
        direct.sort_by_key(|&cache| self.caches[cache].bytes);
        let hits = |cache: usize| self.cell(cache, Penalty::default()).hits;
        let enough = direct.windows(2).find(|pair| hits(pair[1]) - hits(pair[0]) <= least_gain);
        let chosen = enough.map_or_else(|| direct[direct.len() - 1], |pair| pair[0]);
        self.caches[chosen]
    }

    /// The share of the program that the images drawn take, the dictionary with it: its mean over the orders.
    pub fn ratio(&self) -> f64 {
        Spread::of(self.orders.iter().map(|order| order.report.ratio())).map_or(1.0, |spread| spread.mean)
    }
}

/// The mean over inputs of one value in parts of another. Nothing in parts of nothing is all of it.
fn mean(of: &[Behind], value: impl Fn(&Behind) -> f64, to: &[Behind], base: impl Fn(&Behind) -> f64) -> f64 {
    let parts = of.iter().zip(to).map(|(of, to)| {
        let (value, base) = (value(of), base(to));
        if base == 0.0 { 1.0 } else { value / base }
    });
    Spread::of(parts).expect("there is an input").mean
}
