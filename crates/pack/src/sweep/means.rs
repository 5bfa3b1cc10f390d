//! What a sweep says of several programs: means over them behind one cache, and the worst of all that was measured.
//!
//! Owns: which values a table's last line has ([`Means`]), what is worst beside AES alone ([`Worst`]), and what is
//! wanted of both. Values of one program are `sweep::cells`'.

use super::cells::{Cell, Measured, Penalty, Spread};
use super::runs::Behind;
use super::stacks::Geometry;

/// Means over programs behind one cache, each in parts of what it is compared with in [`Cell`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    /// Cycles with AES alone, in the same order.
    pub aes: f64,
    /// The same if every word that the cache is asked for took one cycle.
    pub aes_ideal: f64,
    /// Packed, with AES, in the same order.
    pub packed: f64,
    /// Lines that are deciphered, in the same order.
    pub lines_left: f64,
    /// Words that the cache is asked for, in the same order.
    pub accesses: f64,
    /// The image in the orders that were drawn.
    pub ratio: f64,
    /// Plain in the packer's own order.
    pub placed_plain: f64,
    /// AES alone in it.
    pub placed_aes: f64,
    /// Packed, with AES, in it.
    pub placed: f64,
    /// Lines that are deciphered in it.
    pub placed_lines_left: f64,
    /// The image in it.
    pub placed_ratio: f64,
    /// The smallest image.
    pub ratio_static: f64,
}

impl Means {
    /// Over these programs.
    ///
    /// # Panics
    /// Without a program, or one that was not measured behind the cache.
    pub fn of(all: &[&Measured], cache: Geometry, penalty: Penalty) -> Means {
        let cell = |measured: &Measured| measured.cell_of(cache, penalty).expect("it was measured");
        let cells: Vec<Cell> = all.iter().map(|measured| cell(measured)).collect();
        let mean = |value: fn(&Cell) -> f64| over(cells.iter().map(value));
        let of_program = |value: fn(&Measured) -> f64| over(all.iter().map(|measured| value(measured)));
        Means {
            aes: mean(|cell| cell.aes.mean),
            aes_ideal: mean(|cell| cell.aes_ideal.mean),
            packed: mean(|cell| cell.packed.mean),
            lines_left: mean(|cell| cell.lines_left.mean),
            accesses: mean(|cell| cell.accesses.mean),
            ratio: of_program(Measured::ratio),
            placed_plain: mean(|cell| cell.placed_plain),
            placed_aes: mean(|cell| cell.placed_aes),
            placed: mean(|cell| cell.placed),
            placed_lines_left: mean(|cell| cell.placed_lines_left),
            placed_ratio: of_program(|measured| measured.placed.report.ratio()),
            ratio_static: of_program(|measured| measured.ratio_static),
        }
    }
}

/// What a mean has to be.
pub struct Wanted {
    /// What it is of.
    pub metric: &'static str,
    /// At most so much.
    pub at_most: f64,
    of: fn(&Means) -> f64,
}

impl Wanted {
    /// The value that it is about.
    pub fn value(&self, means: &Means) -> f64 {
        (self.of)(means)
    }
}

/// What is wanted of the means over the paper's six behind its cache.
pub const WANTED: [Wanted; 6] = [
    Wanted { metric: "cycles with AES and packing", at_most: 0.90, of: |means| means.packed },
    Wanted { metric: "AES cycles left", at_most: 0.509, of: |means| means.lines_left },
    Wanted { metric: "cycles with AES and packing, own order", at_most: 0.80, of: |means| means.placed },
    Wanted { metric: "AES cycles left, own order", at_most: 0.45, of: |means| means.placed_lines_left },
    Wanted { metric: "compression ratio", at_most: 0.91, of: |means| means.ratio },
    Wanted { metric: "compression ratio, static dictionary", at_most: 0.86, of: |means| means.ratio_static },
];
/// What is wanted of the worst cell's mean and of its worst order, beside AES alone.
pub const WORST_MAX: [f64; 2] = [1.00, 1.02];

fn over(values: impl Iterator<Item = f64>) -> f64 {
    Spread::of(values).expect("there is a program").mean
}

/// What is worst beside AES alone, of all programs and caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst<'a> {
    /// How much it takes, in parts of AES alone.
    pub share: f64,
    /// The program.
    pub program: &'a str,
    /// The cache.
    pub cache: Geometry,
    /// What the order was drawn from; `None` for the mean over the orders.
    pub seed: Option<u64>,
}

impl<'a> Worst<'a> {
    /// The cell whose mean over the orders is the greatest; `None` without a program.
    pub fn mean(all: &[&'a Measured], penalty: Penalty) -> Option<Worst<'a>> {
        let cells = all.iter().flat_map(|measured| {
            (0..measured.caches.len()).map(|cache| {
                let share = measured.cell(cache, penalty).packed_to_aes.mean;
                Worst { share, program: &measured.program, cache: measured.caches[cache], seed: None }
            })
        });
        cells.max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// The order of a cell that is the greatest; `None` without a program.
    pub fn order(all: &[&'a Measured], penalty: Penalty) -> Option<Worst<'a>> {
        let cells =
            all.iter().flat_map(|measured| measured.orders.iter().map(move |order| (measured, order)));
        let shares = cells.flat_map(|(measured, order)| {
            measured.caches.iter().enumerate().map(move |(number, &cache)| {
                let cycles = |run: &Behind| run.total_cycles(number, penalty.sealed_cycles()) as f64;
                let shares = order.packed.iter().zip(&order.plain).map(|(a, b)| cycles(a) / cycles(b));
                let share = Spread::of(shares).expect("there is an input").mean;
                Worst { share, program: &measured.program, cache, seed: order.seed }
            })
        });
        shares.max_by(|a, b| a.share.total_cmp(&b.share))
    }
}
