//! Where everything lies after packing.
//!
//! Owns: addresses of words ([`Layout::of`]) and the image made of them ([`Layout::image`]): branches and calls sent to
//! where their targets went, code addresses in instructions, tables and data written anew, the map old to new. Which
//! instructions share a word is `code::assign`'s, the order of functions `place`'s.
//!
//! Sections of code begin where they did and end earlier; every other section stays at its addresses, so that nothing
//! but addresses of code changes in it. What becomes free lies behind the packed code. Fixed sections (`.traps`) keep
//! their words, but for addresses of code in them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::code::assign::{Group, Reach};
use crate::code::dict::template;
use crate::code::packet::{Branch, Dictionary, Packet, SLOTS_MAX};
use crate::error::Error;
use crate::flow::{Flow, Reason, Role};
use crate::image::{Image, Moved, PackedText};
use crate::place::Placement;
use crate::program::{Form, Program, Reference};

/// The most that a low part of an address can be away from the address whose high part it takes.
const TIE_BYTES_MAX: u32 = 1 << 10;
/// What constants in code may need: the alignment of a double word.
const CONSTANT_BYTES: u32 = 8;

/// A run of instructions that is entered at its first one, cut into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its instructions, by their number in [`Flow::items`].
    pub items: Range<usize>,
    /// Its words; instructions by the same numbers.
    pub groups: Vec<Group>,
}

/// The addresses of a packed program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The new place of each item: its word's address, the slot in bits 1:0.
    pub places: Vec<u32>,
    /// Every word with its address, ascending in each section; `None` fills room that is left free.
    pub words: Vec<(u32, Option<Group>)>,
    /// First address and first address behind, of each section that was moved.
    pub sections: Vec<(u32, u32)>,
}

/// What an item's address must be: a remainder of a power of two.
pub type Alignments = BTreeMap<usize, (u32, u32)>;

/// The alignments that a program needs: constants that are not addresses keep that of a double word; what one high
/// part serves lies within what it serves.
///
/// # Errors
/// A low part without a high part near it.
pub fn alignments(flow: &Flow) -> Result<Alignments, Error> {
    let mut alignments = Alignments::new();
    for (index, item) in flow.items.iter().enumerate() {
        let number = item.role == Role::Pinned(Reason::Constant) && item.refers.is_none();
        let first = index == 0 || flow.items[index - 1].role != Role::Pinned(Reason::Constant);
        if number && first {
            alignments.insert(index, (CONSTANT_BYTES, item.old % CONSTANT_BYTES));
        }
    }
    for &(high, low) in &flow.ties {
        let bytes = (low - high + 4).next_power_of_two().max(CONSTANT_BYTES);
        let index = flow.index(high & !3).filter(|_| high < low && bytes <= TIE_BYTES_MAX);
        let index = index.ok_or(Error::ApartHalves { at: low, to: low })?;
        let (found, remainder) = alignments.get(&index).copied().unwrap_or((4, 0));
        if remainder == 0 {
            alignments.insert(index, (bytes.max(found), 0));
        }
    }
    Ok(alignments)
}

impl Layout {
    /// Gives every word its address: pieces as they are placed, each with its regions.
    pub fn of(
        flow: &Flow,
        placement: &Placement,
        regions: &[Vec<Region>],
        alignments: &Alignments,
    ) -> Layout {
        let mut layout =
            Layout { places: vec![0; flow.items.len()], words: Vec::new(), sections: Vec::new() };
        let mut next: BTreeMap<u32, u32> = BTreeMap::new();
        let placed = placement.units.iter().zip(&placement.room_words).flat_map(|(unit, &room_words)| {
            unit.iter()
                .enumerate()
                .map(move |(number, &piece)| (piece, if number == 0 { room_words } else { 0 }))
        });
        for (piece, room_words) in placed {
            let section = flow.pieces[piece].section;
            let mut at = next.get(&section).copied().unwrap_or(section);
            for _ in 0..room_words {
                layout.words.push((at, None));
                at += 4;
            }
            for group in regions[piece].iter().flat_map(|region| &region.groups) {
                if let Some(&(modulus, remainder)) = alignments.get(&(group.items[0] as usize)) {
                    while at % modulus != remainder {
                        layout.words.push((at, None));
                        at += 4;
                    }
                }
                for (slot, &item) in group.items().iter().enumerate() {
                    layout.places[item as usize] = at | slot as u32;
                }
                layout.words.push((at, Some(*group)));
                at += 4;
            }
            next.insert(section, at);
        }
        layout.words.sort_unstable_by_key(|word| word.0);
        layout.sections = next.into_iter().collect();
        layout
    }

    /// The place of what was at an address of the program.
    pub fn place(&self, flow: &Flow, old: u32) -> u32 {
        flow.index(old & !3).map_or(old, |index| self.places[index] + (old & 3))
    }

    /// How far the branch of an item goes, in words from its own word.
    pub fn distance_words(&self, flow: &Flow, item: usize) -> Option<i64> {
        let (Form::Distance, to) = flow.items[item].refers? else { return None };
        let from = self.places[item] & !3;
        Some((i64::from(self.place(flow, to)) - i64::from(from)) / 4)
    }

    /// Branches in packets that have no room for their distance, as it is now.
    pub fn too_far(&self, flow: &Flow) -> Vec<usize> {
        let packed = self.words.iter().filter_map(|word| word.1).filter(|group| group.format.is_some());
        let mut found = Vec::new();
        for group in packed {
            let reach = group.format.and_then(|format| format.reach_words());
            for &item in group.items() {
                if let (Some((least, most)), Some(distance)) =
                    (reach, self.distance_words(flow, item as usize))
                    && !(i64::from(least)..=i64::from(most)).contains(&distance)
                {
                    found.push(item as usize);
                }
            }
        }
        found
    }

    /// How far each branch goes, as a class.
    pub fn reach(&self, flow: &Flow, item: usize) -> Option<Reach> {
        self.distance_words(flow, item).map(Reach::of_words)
    }

    /// The image.
    ///
    /// # Errors
    /// A part of an address that lost the other part's place, and a branch that does not reach where its target went.
    pub fn image(&self, program: &Program, flow: &Flow, dictionary: &Dictionary) -> Result<Image, Error> {
        let mut sections = program.sections.clone();
        let entries = numbers(dictionary);
        for &(first, end) in &self.sections {
            let section = sections.iter_mut().find(|section| section.first == first);
            let section = section.expect("pieces are of sections of the program");
            section.bytes = Vec::with_capacity((end - first) as usize);
            let words = self.words.iter().filter(|word| (first..end).contains(&word.0));
            for &(at, group) in words {
                let word = match group {
                    Some(group) => self.word(flow, &entries, at, &group)?,
                    None => flow.target.nop(),
                };
                section.bytes.extend(flow.target.bytes(word));
            }
        }
        for reference in &flow.outside {
            let section = sections.iter_mut().find(|section| section.contains(reference.at));
            let section = section.expect("references were read from sections of the program");
            let word = section.word(flow.target, reference.at).expect("the reader looked at it");
            let patched = self.patch(flow, word, reference.at, *reference)?;
            section.set_word(flow.target, reference.at, patched);
        }
        self.check_ties(flow)?;
        let map = flow.items.iter().zip(&self.places).map(|(item, &new)| Moved { old: item.old, new });
        Ok(Image {
            target: program.target,
            entry: self.place(flow, program.entry),
            sections,
            zeros: program.zeros.clone(),
            dictionary: dictionary.clone(),
            packed_text: self.packed_text(flow),
            map: map.collect(),
        })
    }

    /// All words but constants.
    fn packed_text(&self, flow: &Flow) -> Vec<PackedText> {
        let (constants, mut found) = (flow.constants(), Vec::<PackedText>::new());
        let is_constant = |group: &Group| constants[group.items[0] as usize];
        let packed = self.words.iter().filter(|word| !word.1.as_ref().is_some_and(is_constant));
        for &(at, _) in packed {
            match found.last_mut().filter(|last| last.first + last.bytes == at) {
                Some(last) => last.bytes += 4,
                None => found.push(PackedText { first: at, bytes: 4 }),
            }
        }
        found
    }

    fn word(&self, flow: &Flow, entries: &HashMap<u32, u8>, at: u32, group: &Group) -> Result<u32, Error> {
        let Some(format) = group.format else {
            let item = &flow.items[group.items[0] as usize];
            return match item.refers {
                Some((form, to)) => self.patch(flow, item.word, at, Reference { at: item.old, form, to }),
                None => Ok(item.word),
            };
        };
        let mut packet = Packet { format, slots: group.slots, indexes: [0; SLOTS_MAX], branch: None };
        for (slot, &item) in group.items().iter().enumerate() {
            packet.indexes[slot] = entries[&template(flow.target, flow.items[item as usize].word)];
            if let Some(distance) = self.distance_words(flow, item as usize) {
                packet.branch = Some(Branch { slot: slot as u8, distance_words: distance as i16 });
            }
        }
        Ok(packet.word(flow.target).expect("the format was chosen for these"))
    }

    /// A word at its place, with what the program has it say about the place of code.
    fn patch(&self, flow: &Flow, word: u32, at: u32, reference: Reference) -> Result<u32, Error> {
        let form = match reference.form {
            Form::Difference { from } => Form::Difference { from: self.place(flow, from) },
            other => other,
        };
        let to = self.place(flow, reference.to);
        let distance_words = (i64::from(to) - i64::from(at)) / 4;
        let too_far = Error::TooFar { at: reference.at, to: reference.to, distance_words };
        form.patch(flow.target, word, at, to).ok_or(too_far)
    }

    fn check_ties(&self, flow: &Flow) -> Result<(), Error> {
        for &(high, low) in &flow.ties {
            if flow.target.high(self.place(flow, high)) != flow.target.high(self.place(flow, low)) {
                return Err(Error::ApartHalves { at: low, to: low });
            }
        }
        Ok(())
    }
}

/// The number of each entry.
fn numbers(dictionary: &Dictionary) -> HashMap<u32, u8> {
    dictionary.entries().iter().enumerate().map(|(number, &word)| (word, number as u8)).collect()
}
