//! What is measured: ways to compute, what they are given, and the cells of the paper's tables and figure that these
//! span.
//!
//! Owns the names that rows carry, and which of our cells stands beside a printed one.

use clap::ValueEnum;
use collect::aes::intra::{Meeting, Split, Threads, Version};

use super::class::Class;

/// Lengths of keys.
pub const KEY_BYTES: [usize; 3] = [16, 24, 32];
/// Samples of the paper's waveform (table 2).
pub const SAMPLES: usize = 1024;
/// Lengths of waveforms for figure 11, which prints none.
const LENGTHS: [usize; 6] = [64, 128, 256, 512, 1024, 2048];

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Table 1: one block
    Table1,
    /// Figure 4: the expansion of a key
    Expansion,
    /// Table 2: a waveform of 1024 samples
    Table2,
    /// Figure 11: waveforms of several lengths
    Figure11,
    /// The same waveform from 64 nodes at once, as a server computes today
    Batch,
    /// Equation 7: a waveform on its way, from samples to samples
    Path,
}

/// The paper's name for a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// One thread.
    Basic,
    /// Implicit core assignment.
    Ica,
    /// Explicit core assignment.
    Eca,
}

impl Name {
    /// In the order of the tables' columns.
    pub const ALL: [Name; 3] = [Name::Basic, Name::Ica, Name::Eca];

    /// As it is printed.
    pub fn words(self) -> &'static str {
        match self {
            Name::Basic => "Basic",
            Name::Ica => "ICA",
            Name::Eca => "ECA",
        }
    }
}

/// A way to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The paper's, in a version, and what goes to which thread.
    Paper(Version, Split),
    /// The CPU's instructions for AES, as many blocks at once as its registers hold, on one core.
    Lanes,
    /// The same, and the parts of a waveform dealt to all cores (section 3.1).
    Cores,
}

impl How {
    /// As the paper has it: four threads that sleep while they wait, and meet behind each step of a block (section
    /// 3.2).
    pub fn of_paper(name: Name) -> How {
        How::team(name, Threads::Four, Meeting::Blocking, Split::Steps)
    }

    fn team(name: Name, threads: Threads, meeting: Meeting, split: Split) -> How {
        let version = match name {
            Name::Basic => Version::Basic,
            Name::Ica => Version::Ica(threads, meeting),
            Name::Eca => Version::Eca(threads, meeting),
        };
        How::Paper(version, split)
    }

    /// The version that it is, as the paper has it.
    pub fn printed(self) -> Option<Name> {
        Name::ALL.into_iter().find(|&name| How::of_paper(name) == self)
    }

    /// Its name in rows.
    pub fn words(self) -> String {
        let (name, threads, meeting, split) = match self {
            How::Paper(Version::Basic, _) => return "Basic".to_owned(),
            How::Lanes => return "today, one core".to_owned(),
            How::Cores => return "today, all cores".to_owned(),
            How::Paper(Version::Ica(threads, meeting), split) => ("ICA", threads, meeting, split),
            How::Paper(Version::Eca(threads, meeting), split) => ("ECA", threads, meeting, split),
        };
        let threads = match threads {
            Threads::Two => 2,
            Threads::Four => 4,
        };
        let meeting = match meeting {
            Meeting::Spinning => "spin",
            Meeting::Blocking => "sleep",
        };
        match split {
            Split::Steps => format!("{name}, {threads} threads that {meeting}"),
            Split::Subvectors => format!("{name}, {threads} threads, a chain each"),
        }
    }

    /// Whether it is one of several threads that look for each other instead of sleeping.
    pub fn spins(self) -> bool {
        let is_spinning = |version: Version| match version {
            Version::Basic => false,
            Version::Ica(_, meeting) | Version::Eca(_, meeting) => meeting == Meeting::Spinning,
        };
        matches!(self, How::Paper(version, _) if is_spinning(version))
    }
}

/// What "a double representation, i.e. requires 32 bits" may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    F32,
    /// A double of today.
    F64,
}

impl Width {
    /// Its name in rows.
    pub fn words(self) -> &'static str {
        match self {
            Width::F32 => "f32",
            Width::F64 => "f64",
        }
    }

    fn blocks(self, samples: usize) -> usize {
        match self {
            Width::F32 => samples / 4,
            Width::F64 => samples / 2,
        }
    }
}

/// What a way is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// One block.
    Block,
    /// A waveform in four chains.
    Waveform {
        /// How many.
        samples: usize,
        /// How wide.
        width: Width,
    },
}

impl Input {
    /// How many blocks that is.
    pub fn blocks(self) -> usize {
        match self {
            Input::Block => 1,
            Input::Waveform { samples, width } => width.blocks(samples),
        }
    }

    /// Its name in rows.
    pub fn words(self) -> String {
        match self {
            Input::Block => "one block".to_owned(),
            Input::Waveform { samples, width } => format!("{samples} samples of {}", width.words()),
        }
    }
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Where it is shown.
    pub part: Part,
    /// What is computed.
    pub input: Input,
    /// Under a key of this length.
    pub key_bytes: usize,
    /// How.
    pub how: How,
    /// In which class.
    pub class: Class,
}

/// `AES-128` and so on.
pub fn aes(key_bytes: usize) -> String {
    format!("AES-{}", 8 * key_bytes)
}

impl Cell {
    /// Its name in rows.
    pub fn name(&self) -> String {
        let Cell { input, key_bytes, how, class, .. } = *self;
        format!("{}, {}, {}, {}", aes(key_bytes), input.words(), how.words(), class.name())
    }

    /// The printed cell that it stands beside: the paper measured on a real-time system, and counts 32 bits a sample.
    pub fn printed(&self) -> Option<Name> {
        let is_printed = match (self.part, self.input) {
            (Part::Table1, _) => true,
            (Part::Table2, Input::Waveform { width, .. }) => width == Width::F32,
            _ => false,
        };
        self.how.printed().filter(|_| is_printed && self.class == Class::Fifo)
    }

    /// The cells of tables 1 and 2 and figure 11; the quick form has the shortest waveforms of the figure alone.
    pub fn all(is_quick: bool) -> Vec<Cell> {
        let mut cells = Vec::new();
        for class in Class::ALL {
            for key_bytes in KEY_BYTES {
                let blocks = hows_of_block().into_iter().map(|how| (Input::Block, how));
                cells.extend(blocks.map(|(input, how)| Cell {
                    part: Part::Table1,
                    input,
                    key_bytes,
                    how,
                    class,
                }));
                for width in [Width::F32, Width::F64] {
                    let input = Input::Waveform { samples: SAMPLES, width };
                    let cell = |how| Cell { part: Part::Table2, input, key_bytes, how, class };
                    cells.extend(hows_of_waveform().into_iter().map(cell));
                }
            }
        }
        let lengths = if is_quick { &LENGTHS[..2] } else { &LENGTHS };
        for how in hows_of_figure() {
            for &samples in lengths {
                let input = Input::Waveform { samples, width: Width::F32 };
                cells.push(Cell { part: Part::Figure11, input, key_bytes: 16, how, class: Class::Fifo });
            }
        }
        cells.retain(Cell::is_sensible);
        cells
    }

    /// By deadlines a thread that gives its turn away waits for its next period, so that spinning says nothing; and a
    /// waveform whose threads sleep is measured for one length of keys.
    fn is_sensible(&self) -> bool {
        let is_waveform = self.part == Part::Table2;
        let of_waveform = || self.key_bytes == 16 && self.input.blocks() == 256 && self.how != How::Cores;
        self.class != Class::Deadline || (!self.how.spins() && (!is_waveform || of_waveform()))
    }
}

fn teams(splits: &[(Threads, Meeting, Split)]) -> Vec<How> {
    let both =
        |name| splits.iter().map(move |&(threads, meeting, split)| How::team(name, threads, meeting, split));
    [Name::Ica, Name::Eca].into_iter().flat_map(both).collect()
}

/// The ways of table 1.
pub fn hows_of_block() -> Vec<How> {
    use Meeting::{Blocking, Spinning};
    use Threads::{Four, Two};
    let mut hows = vec![How::of_paper(Name::Basic)];
    hows.extend(teams(&[
        (Four, Blocking, Split::Steps),
        (Four, Spinning, Split::Steps),
        (Two, Blocking, Split::Steps),
        (Two, Spinning, Split::Steps),
    ]));
    hows.push(How::Lanes);
    hows
}

fn hows_of_waveform() -> Vec<How> {
    use Meeting::{Blocking, Spinning};
    use Threads::{Four, Two};
    let mut hows = vec![How::of_paper(Name::Basic)];
    hows.extend(teams(&[
        (Four, Blocking, Split::Steps),
        (Two, Spinning, Split::Steps),
        (Four, Blocking, Split::Subvectors),
    ]));
    hows.extend([How::Lanes, How::Cores]);
    hows
}

fn hows_of_figure() -> Vec<How> {
    let spinning = How::team(Name::Ica, Threads::Two, Meeting::Spinning, Split::Steps);
    let mut hows = Name::ALL.map(How::of_paper).to_vec();
    hows.extend([spinning, How::Lanes]);
    hows
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_cell_has_a_name_of_its_own_and_each_printed_one_stands_beside_one_cell() {
        for is_quick in [true, false] {
            let cells = Cell::all(is_quick);
            let names: HashSet<_> = cells.iter().map(|cell| (cell.part as u8, cell.name())).collect();
            assert_eq!(names.len(), cells.len());
            for part in [Part::Table1, Part::Table2] {
                for key_bytes in KEY_BYTES {
                    for name in Name::ALL {
                        let is_it = |cell: &&Cell| {
                            (cell.part, cell.key_bytes, cell.printed()) == (part, key_bytes, Some(name))
                        };
                        assert_eq!(cells.iter().filter(is_it).count(), 1, "{part:?}, {key_bytes}, {name:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_papers_waveform_is_four_chains_of_64_blocks_and_of_doubles_twice_as_many() {
        let blocks = |width| Input::Waveform { samples: SAMPLES, width }.blocks();
        assert_eq!((blocks(Width::F32), blocks(Width::F64)), (4 * 64, 4 * 128));
    }
}
