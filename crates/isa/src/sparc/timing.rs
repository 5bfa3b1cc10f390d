//! What takes how many cycles on which LEON, from data files.
//!
//! Owns: the classes that the table sorts instructions into, and the files of LEON2 and LEON3. When a cycle is spent
//! is `machine`'s, and the form of the files is `crate::costs`'. No program here has LEON's cycles to compare with:
//! what is concluded from them has to hold on both. A number for which no public source was found says so where its
//! source would stand, and its comment what else it may be.

use super::error::TimingError;
use super::table::{Opcode, ROWS};
use crate::costs;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $word:literal)*) => {
        /// What instructions of the table cost the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Class { $($(#[$doc])* $name,)* }

        const CLASS_NAMES: &[&str] = &[$($word),*];
    };
}

classes! {
    /// Everything that has no class of its own.
    Single "single"
    /// Bicc.
    Branch "branch"
    /// CALL.
    Call "call"
    /// JMPL and RETT.
    Jump "jump"
    /// Loads of at most a word.
    Load "load"
    /// LDD.
    LoadTwo "load_two"
    /// Stores of at most a word.
    Store "store"
    /// STD.
    StoreTwo "store_two"
    /// LDSTUB and SWAP.
    Swap "swap"
    /// UMUL.
    UnsignedMul "unsigned_mul"
    /// SMUL.
    SignedMul "signed_mul"
    /// UDIV and SDIV.
    Divide "divide"
    /// What traps, because the unit it is for is not there.
    Unit "unit"
}

/// What costs cycles beside the instructions.
const OTHER_NAMES: [&str; 4] = ["trap", "annulled", "load_use", "icc_branch"];
/// Waits that a core may not have at all; everything else takes a cycle at least.
const WAITS: [&str; 2] = ["load_use", "icc_branch"];

/// The cycles of one core. Caches and memory are not in it: they are the bus'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// By class.
    class_cycles: [u8; CLASS_NAMES.len()],
    /// From the trapped instruction to the first of its handler.
    pub trap_cycles: u8,
    /// An instruction that a branch annulled.
    pub annulled_cycles: u8,
    /// What an instruction waits that uses what the one before it loaded.
    pub load_use_cycles: u8,
    /// What a conditional branch or trap waits for condition codes that the instruction before it set.
    pub icc_branch_cycles: u8,
}

impl Timing {
    /// LEON2 as in the AT697E.
    pub fn leon2() -> Timing {
        Timing::parse(include_str!("leon2.csv")).expect("the file is ours, and tested")
    }

    /// LEON3.
    pub fn leon3() -> Timing {
        Timing::parse(include_str!("leon3.csv")).expect("the file is ours, and tested")
    }

    /// One cycle for everything and no interlocks: cycles are instructions.
    pub fn ideal() -> Timing {
        Timing {
            class_cycles: [1; CLASS_NAMES.len()],
            trap_cycles: 1,
            annulled_cycles: 1,
            load_use_cycles: 0,
            icc_branch_cycles: 0,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The first line that is wrong, or what no line tells.
    pub fn parse(text: &str) -> Result<Timing, TimingError> {
        let names: Vec<&'static str> = CLASS_NAMES.iter().chain(&OTHER_NAMES).copied().collect();
        let cycles = costs::read(text, &names, &WAITS)?;
        let (of_classes, others) = cycles.split_at(CLASS_NAMES.len());
        Ok(Timing {
            class_cycles: std::array::from_fn(|index| of_classes[index]),
            trap_cycles: others[0],
            annulled_cycles: others[1],
            load_use_cycles: others[2],
            icc_branch_cycles: others[3],
        })
    }

    /// The cycles of an instruction that waits for nothing.
    pub fn cycles(&self, opcode: Opcode) -> u8 {
        self.class_cycles[opcode.row().class as usize]
    }

    /// The same for the machine's loop, by opcode.
    pub(super) fn by_opcode(&self) -> [u8; ROWS.len()] {
        std::array::from_fn(|index| self.cycles(ROWS[index].opcode))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(change: impl Fn(&str) -> Option<String>) -> String {
        let lines = include_str!("leon2.csv").lines();
        lines.filter_map(change).map(|line| line + "\n").collect()
    }

    #[test]
    fn both_cores_have_files_and_differ() {
        let (leon2, leon3) = (Timing::leon2(), Timing::leon3());
        assert_eq!((leon2.cycles(Opcode::Jmpl), leon3.cycles(Opcode::Jmpl)), (2, 3));
        assert_eq!((leon2.cycles(Opcode::Sdivcc), leon3.cycles(Opcode::Udiv)), (35, 35));
        assert_eq!((leon2.trap_cycles, leon3.trap_cycles), (4, 5));
        assert_eq!(leon2.cycles(Opcode::Add), 1);
    }

    /// Name, source and comment of each line.
    fn sources(text: &str) -> Vec<[&str; 3]> {
        let cells = text.lines().skip(1).map(|line| line.splitn(4, ',').collect::<Vec<_>>());
        cells.map(|cells| [cells[0], cells[2], cells[3]]).collect()
    }

    #[test]
    fn every_number_has_a_public_source_but_these_which_tell_their_range() {
        let without = |text: &'static str| {
            let sources = sources(text);
            assert!(sources.iter().all(|[_, source, _]| !source.is_empty() && !source.contains("recalled")));
            let none = sources.into_iter().filter(|[_, source, _]| *source == "no public source found");
            let none = none.inspect(|[name, _, comment]| assert!(comment.contains(" to "), "{name}"));
            none.map(|[name, ..]| name).collect::<Vec<_>>()
        };
        assert_eq!(without(include_str!("leon2.csv")), ["call", "annulled", "icc_branch"]);
        assert_eq!(without(include_str!("leon3.csv")), Vec::<&str>::new());
    }

    #[test]
    fn a_wrong_line_is_named() {
        let parse = |text: String| Timing::parse(&text).expect_err("it is wrong").to_string();
        let replace = |from: &'static str, to: &'static str| text(move |line| Some(line.replace(from, to)));
        assert!(
            parse(replace("name,cycles", "name,clocks")).starts_with("timing line 1: found `name,clocks")
        );
        assert_eq!(
            parse(replace("branch,1", "brunch,1")),
            "timing line 3: nothing called `brunch` takes time"
        );
        assert_eq!(parse(replace("branch,1", "single,1")), "timing line 3: `single` is told twice");
        let cycles = parse(replace("single,1", "single,300"));
        assert_eq!(cycles, "timing line 2: found `300`, expected 1 to 255 cycles");
        let cycles = parse(replace("annulled,1", "annulled,0"));
        assert_eq!(cycles, "timing line 16: found `0`, expected 1 to 255 cycles");
        let cycles = parse(replace("load_use,1", "load_use,-1"));
        assert_eq!(cycles, "timing line 17: found `-1`, expected 0 to 255 cycles");
        let without = text(|line| Some(line.replace("load_use,1", "load_use,0")));
        assert_eq!(Timing::parse(&without).expect("a core may not wait").load_use_cycles, 0);
        let lines = |kept: usize| include_str!("leon2.csv").lines().take(kept).collect::<Vec<_>>().join("\n");
        assert_eq!(parse(lines(2)), "timing lacks a line for `branch`");
        assert_eq!(parse(lines(1) + "\nsingle,1"), "timing line 2: found 2 cells, expected 4");
        assert_eq!(parse(lines(1) + "\nsingle,1,,"), "timing line 2: the number has no source");
    }
}
