//! What a program is made of, as far as packing and sealing it go: what is known before either is done.
//!
//! Owns: counts of words and of why they stay words ([`Words`]), where a profile says that time goes ([`heat`]), and
//! lines that a seal without addresses would show to be equal ([`Lines`]). What packing makes of it is `packing`'s
//! report.

use std::collections::{BTreeMap, HashMap};

use crate::code::dict::template;
use crate::code::packet::{ENTRIES_MAX, ENTRIES_SHORT};
use crate::error::Error;
use crate::flow::{Choice, Flow, Reason, Role};
use crate::image::Section;
use crate::lines::FILLER;
use crate::profile::Profile;
use crate::program::Program;
use crate::seal::{LINE_BYTES, Line};

/// The words of a program's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// All of them.
    pub all: u32,
    /// Different ones.
    pub different: u32,
    /// Those that may be in packets; none without relocations, since nothing says then which words are addresses.
    pub free: u32,
    /// How many of the free ones the dictionary's first 64 and all 256 entries would be, if they were those that occur
    /// most often. A branch counts without its distance.
    pub most_frequent: [u32; 2],
    /// Those that may not, by the reason.
    pub pinned: BTreeMap<Reason, u32>,
    /// Places that something jumps to: each begins a word.
    pub leaders: u32,
    /// Words that fill room between functions, and that packing leaves out.
    pub padding: u32,
}

impl Words {
    /// Counts the words of a program.
    ///
    /// # Errors
    /// What in the program cannot be followed.
    pub fn of(program: &Program, choice: &Choice) -> Result<Words, Error> {
        let mut different: HashMap<u32, u32> = HashMap::new();
        let code = program.code().flat_map(|section| section.bytes.as_chunks().0);
        code.for_each(|&word| *different.entry(program.target.word(word)).or_default() += 1);
        let all = different.values().sum();
        let mut words = Words { all, different: different.len() as u32, ..Words::default() };
        if !program.relocated {
            return Ok(words);
        }
        let flow = Flow::of(program, choice)?;
        words.padding = flow.padding_words;
        let mut templates: HashMap<u32, u32> = HashMap::new();
        for item in &flow.items {
            words.leaders += u32::from(item.leader);
            match item.role {
                Role::Pinned(reason) => *words.pinned.entry(reason).or_default() += 1,
                Role::Free | Role::Branch => {
                    words.free += 1;
                    *templates.entry(template(flow.target, item.word)).or_default() += 1;
                }
            }
        }
        let mut counts: Vec<u32> = templates.into_values().collect();
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        words.most_frequent = [ENTRIES_SHORT, ENTRIES_MAX].map(|entries| counts.iter().take(entries).sum());
        Ok(words)
    }
}

/// A function and how often its instructions are executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heat {
    /// Its name; empty for what has none.
    pub name: String,
    /// Its first address.
    pub first: u32,
    /// How many words it has.
    pub words: u32,
    /// Executions of all its instructions.
    pub executions: u64,
}

/// The functions that a profile has seen, those with the most executions first.
///
/// # Errors
/// What in the program cannot be followed.
pub fn heat(program: &Program, choice: &Choice, profile: &Profile) -> Result<Vec<Heat>, Error> {
    let flow = Flow::of(program, choice)?;
    let of_piece = |piece: &crate::flow::Piece| {
        let items = &flow.items[piece.items.clone()];
        Heat {
            name: piece.name.clone(),
            first: items.first().map_or(0, |item| item.old),
            words: items.len() as u32,
            executions: items.iter().map(|item| profile.executions(item.old)).sum(),
        }
    };
    let mut heats: Vec<Heat> = flow.pieces.iter().map(of_piece).filter(|heat| heat.executions > 0).collect();
    heats.sort_by_key(|heat| (std::cmp::Reverse(heat.executions), heat.first));
    Ok(heats)
}

/// Lines of 16 bytes as a seal sees them, what is in no section filled as sealing fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// How many there are.
    pub all: u32,
    /// Those that another one is equal to: a seal that does not depend on addresses shows them.
    pub repeated: u32,
    /// How often the most frequent one occurs.
    pub most_copies: u32,
}

impl Lines {
    /// Counts the lines of sections that ascend.
    pub fn of(sections: &[Section]) -> Lines {
        let mut lines: HashMap<Line, u32> = HashMap::new();
        let mut open: Option<(u32, Line)> = None;
        for section in sections {
            let mut rest = &section.bytes[..];
            let mut address = section.first;
            while !rest.is_empty() {
                let inside = address as usize % LINE_BYTES;
                let (now, after) = rest.split_at(rest.len().min(LINE_BYTES - inside));
                let first = address - inside as u32;
                // Two sections may share a line.
                let (_, mut line) = match open.take() {
                    Some(last) if last.0 == first => last,
                    last => {
                        last.into_iter().for_each(|(_, line)| *lines.entry(line).or_default() += 1);
                        (first, [FILLER; LINE_BYTES])
                    }
                };
                line[inside..inside + now.len()].copy_from_slice(now);
                open = Some((first, line));
                (rest, address) = (after, address.wrapping_add(now.len() as u32));
            }
        }
        open.into_iter().for_each(|(_, line)| *lines.entry(line).or_default() += 1);
        let repeated = lines.values().filter(|&&copies| copies > 1);
        Lines {
            all: lines.values().sum(),
            repeated: repeated.sum(),
            most_copies: lines.values().copied().max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Kind;

    fn section(first: u32, bytes: Vec<u8>) -> Section {
        Section { name: "a".into(), kind: Kind::Constants, first, bytes }
    }

    #[test]
    fn lines_are_counted_by_what_they_hold_and_shared_ones_once() {
        let lines = |sections: &[Section]| {
            let Lines { all, repeated, most_copies } = Lines::of(sections);
            [all, repeated, most_copies]
        };
        assert_eq!(lines(&[]), [0, 0, 0]);
        // Three equal lines, and one that ends with filler.
        assert_eq!(lines(&[section(0x20, vec![7; 57])]), [4, 3, 3]);
        // The end of one and the beginning of the next make a line like the others.
        assert_eq!(lines(&[section(0x20, vec![7; 20]), section(0x34, vec![7; 12])]), [2, 2, 2]);
        // A gap between them is filled.
        assert_eq!(lines(&[section(0x20, vec![7; 20]), section(0x36, vec![7; 10])]), [2, 0, 1]);
        // The last line that there is.
        assert_eq!(lines(&[section(0xffff_fff8, vec![7; 8])]), [1, 0, 1]);
    }
}
