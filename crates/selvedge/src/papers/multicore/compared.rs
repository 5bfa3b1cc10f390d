//! What the numbers mean: ratios of what is printed and of what was measured. Measures nothing.

use collect::aes::intra::{Meeting, Split, Threads, Version};
use report::printed::{PrintedCell, read_csv};

use super::batch::{self, NODES};
use super::cells::{Cell, How, Input, KEY_BYTES, Name, Part, SAMPLES, Width, aes};
use super::class::Class;
use super::expansion;
use super::measure::Result;
use super::watch::Times;

/// Tables 1 and 2 as printed.
const PRINTED: &str = include_str!("printed.csv");
/// Blocks of a chain of the paper's waveform, whose time it says to be that of so many single ones.
const CHAIN_BLOCKS: f64 = 64.0;

/// The cells of the paper.
pub struct Printed(Vec<PrintedCell>);

impl Printed {
    /// All of them.
    pub fn read() -> Printed {
        let (cells, errors) = read_csv(PRINTED);
        assert!(errors.is_empty(), "the file is ours: {errors:?}");
        Printed(cells)
    }

    /// A cell of table 1 or 2.
    pub fn cell(&self, part: Part, key_bytes: usize, name: Name) -> &PrintedCell {
        let table = if part == Part::Table1 { "table 1" } else { "table 2" };
        let case = format!("{}, {}", aes(key_bytes), name.words());
        let mut cells = self.0.iter();
        cells.find(|cell| cell.case == case && cell.metric == table).expect("both tables are whole")
    }

    /// Its number in nanoseconds.
    pub fn ns(&self, part: Part, key_bytes: usize, name: Name) -> f64 {
        let printed = self.cell(part, key_bytes, name).printed.as_ref();
        let number = printed.and_then(report::printed::Printed::number).expect("every cell has a number");
        number * if part == Part::Table1 { 1e6 } else { 1e9 }
    }
}

/// A ratio, or a time that says what one comes from.
pub struct Line {
    /// Of what.
    pub case: String,
    /// Which.
    pub what: String,
    /// `x`, `ns` or `%`.
    pub unit: &'static str,
    /// From the paper's numbers.
    pub printed: Option<f64>,
    /// From ours.
    pub ours: Option<f64>,
}

/// All that was measured, where it is looked for.
pub struct Measured<'a> {
    /// Tables and figure.
    pub results: &'a [Result],
    /// Expansions of keys.
    pub expansions: &'a [expansion::Result],
    /// Batches.
    pub batches: &'a [batch::Result],
}

impl Measured<'_> {
    /// A cell's times, if there are any.
    pub fn times(&self, wanted: &Cell) -> Option<&Times> {
        self.results.iter().find(|result| result.cell == *wanted)?.found.times()
    }

    /// The class that ratios are of: real time, where it was permitted.
    fn class(&self) -> Class {
        let is_real_time =
            |result: &Result| result.cell.class == Class::Fifo && result.found.times().is_some();
        let is_expansion =
            |result: &expansion::Result| result.case.class == Class::Fifo && result.found.is_ok();
        let is_permitted = self.results.iter().any(is_real_time) || self.expansions.iter().any(is_expansion);
        if is_permitted { Class::Fifo } else { Class::Other }
    }

    /// The median of both ways of a cell.
    fn both_ns(&self, part: Part, key_bytes: usize, how: How) -> Option<f64> {
        let input = match part {
            Part::Table1 => Input::Block,
            _ => Input::Waveform { samples: SAMPLES, width: Width::F32 },
        };
        let class = self.class();
        Some(self.times(&Cell { part, input, key_bytes, how, class })?.both.median_ns)
    }

    /// A waveform of a batch, both ways.
    fn batch_ns(&self, key_bytes: usize, is_one_core: bool) -> Option<f64> {
        let is_it = |result: &&batch::Result| {
            result.case.key_bytes == key_bytes && (result.case.cores.get() == 1) == is_one_core
        };
        Some(self.batches.iter().find(is_it)?.found.times()?.both.median_ns / NODES as f64)
    }

    /// Every line that can be said.
    pub fn lines(&self) -> Vec<Line> {
        let printed = Printed::read();
        let mut lines = self.versions(&printed);
        lines.extend(of_paper(&printed));
        lines.extend(self.meetings());
        lines.extend(self.keys());
        lines.extend(self.cores());
        lines.extend(self.since(&printed));
        lines.retain(|line| line.ours.is_some() || line.printed.is_some());
        lines
    }

    /// What threads inside a block gain or cost.
    fn versions(&self, printed: &Printed) -> Vec<Line> {
        let mut lines = Vec::new();
        for part in [Part::Table1, Part::Table2] {
            for key_bytes in KEY_BYTES {
                for name in [Name::Ica, Name::Eca] {
                    let ours = |name| self.both_ns(part, key_bytes, How::of_paper(name));
                    let theirs = |name| printed.ns(part, key_bytes, name);
                    lines.push(Line {
                        case: format!("{}, {}", aes(key_bytes), input_words(part)),
                        what: format!("{} over Basic, {}", name.words(), self.class().name()),
                        unit: "x",
                        printed: Some(theirs(name) / theirs(Name::Basic)),
                        ours: ratio(ours(name), ours(Name::Basic)),
                    });
                }
            }
        }
        lines
    }

    /// What a block's time is made of, when threads meet.
    fn meetings(&self) -> Vec<Line> {
        let case = "AES-128, one block, both ways".to_owned();
        let line = |what: String, ours| Line { case: case.clone(), what, unit: "ns", printed: None, ours };
        let both = |how| self.both_ns(Part::Table1, 16, how);
        let mut lines =
            vec![line(format!("Basic, {}", self.class().name()), both(How::of_paper(Name::Basic)))];
        for (threads, words) in [(Threads::Four, 4), (Threads::Two, 2)] {
            for (meeting, meets) in [(Meeting::Blocking, "sleep"), (Meeting::Spinning, "spin")] {
                let how = How::Paper(Version::Ica(threads, meeting), Split::Steps);
                let each = both(how).map(|both_ns| both_ns / (2.0 * meetings(16)));
                let what =
                    format!("ICA, {words} threads that {meets}, over its {} meetings", 2.0 * meetings(16));
                lines.push(line(what, each));
            }
        }
        lines
    }

    /// What threads inside an expansion gain or cost.
    fn keys(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for key_bytes in KEY_BYTES {
            let of = |how| {
                let case = expansion::Case { key_bytes, how, class: self.class() };
                let found = &self.expansions.iter().find(|result| result.case == case)?.found;
                Some(found.as_ref().ok()?.1.median_ns)
            };
            let spinning = How::Paper(Version::Eca(Threads::Two, Meeting::Spinning), Split::Steps);
            for (words, how) in [
                ("ICA", How::of_paper(Name::Ica)),
                ("ECA", How::of_paper(Name::Eca)),
                ("ECA, 2 threads that spin,", spinning),
            ] {
                lines.push(Line {
                    case: format!("{}, a key", aes(key_bytes)),
                    what: format!("{words} over Basic, {}", self.class().name()),
                    unit: "x",
                    printed: None,
                    ours: ratio(of(how), of(How::of_paper(Name::Basic))),
                });
            }
        }
        lines
    }

    /// What more cores give, by blocks and chains instead of by steps.
    fn cores(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for key_bytes in KEY_BYTES {
            let mut push = |case: String, what: &str, ours| {
                let case = format!("{}, {case}", aes(key_bytes));
                lines.push(Line { case, what: what.to_owned(), unit: "x", printed: None, ours });
            };
            let both = |how| self.both_ns(Part::Table2, key_bytes, how);
            let dealt = How::Paper(Version::Eca(Threads::Four, Meeting::Blocking), Split::Subvectors);
            let one = format!("{SAMPLES} samples");
            push(
                one.clone(),
                "Basic over chains on all cores (ECA)",
                ratio(both(How::of_paper(Name::Basic)), both(dealt)),
            );
            push(one, "today, one core over all cores", ratio(both(How::Lanes), both(How::Cores)));
            let many = format!("{NODES} x {SAMPLES} samples");
            let all = self.batch_ns(key_bytes, false);
            push(many, "today, one core over all cores", ratio(self.batch_ns(key_bytes, true), all));
        }
        lines
    }

    /// How far today is from the paper's best.
    fn since(&self, printed: &Printed) -> Vec<Line> {
        let mut lines = Vec::new();
        for key_bytes in KEY_BYTES {
            let theirs = Some(printed.ns(Part::Table2, key_bytes, Name::Ica));
            let both = |how| self.both_ns(Part::Table2, key_bytes, how);
            for (what, ours) in [
                ("the paper's ICA over our Basic", both(How::of_paper(Name::Basic))),
                ("the paper's ICA over today, one core", both(How::Lanes)),
                ("the paper's ICA over one of 64 waveforms, one core", self.batch_ns(key_bytes, true)),
            ] {
                let case = format!("{}, {SAMPLES} samples", aes(key_bytes));
                lines.push(Line {
                    case,
                    what: what.to_owned(),
                    unit: "x",
                    printed: None,
                    ours: ratio(theirs, ours),
                });
            }
        }
        lines
    }
}

/// How often the threads of a block meet: before and behind each round's rows, at its begin, and at its end.
fn meetings(key_bytes: usize) -> f64 {
    let rounds = key_bytes / 4 + 6;
    (2 * rounds + 2) as f64
}

/// Table 2 by table 1: the text says that a waveform takes 64 times a block.
fn of_paper(printed: &Printed) -> Vec<Line> {
    let line = |key_bytes, name: Name| Line {
        case: format!("{}, {}, printed", aes(key_bytes), name.words()),
        what: "table 2 over 64 times table 1".to_owned(),
        unit: "x",
        printed: Some(
            printed.ns(Part::Table2, key_bytes, name)
                / (CHAIN_BLOCKS * printed.ns(Part::Table1, key_bytes, name)),
        ),
        ours: None,
    };
    KEY_BYTES.into_iter().flat_map(|key_bytes| Name::ALL.map(|name| line(key_bytes, name))).collect()
}

fn ratio(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below?)
}

fn input_words(part: Part) -> String {
    if part == Part::Table1 { "one block".to_owned() } else { format!("{SAMPLES} samples") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_waveform_takes_more_than_its_text_says() {
        let ratios: Vec<f64> = of_paper(&Printed::read()).iter().map(|line| line.printed.unwrap()).collect();
        // 9.83 s and 64 times 75.35 ms; 11.21 s and 64 times 57.35 ms.
        assert_eq!(format!("{:.2} {:.2}", ratios[0], ratios[7]), "2.04 3.05");
        assert!(ratios.iter().all(|ratio| (1.6..3.1).contains(ratio)), "{ratios:?}");
    }

    #[test]
    fn a_block_of_aes_128_has_22_meetings() {
        assert_eq!([16, 24, 32].map(meetings), [22.0, 26.0, 30.0]);
    }
}
