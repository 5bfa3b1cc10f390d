//! Branches that are too far from where they lead, and get there by a jump that stands near them.
//!
//! Owns: the places behind jumps at which others may stand, since nobody comes along there ([`Weaver::island`]), and
//! which branch finds one in its reach. A branch around a jump costs a cycle each time that it stays; by an island it
//! costs one more only when it leaves.

use super::Weaver;
use crate::item::{self, Item, Label};

/// Jumps of one island.
const JUMPS_MAX: u32 = 4;

/// Words that a branch reaches back, itself included.
const REACH_WORDS: u32 = 64;

impl Weaver<'_> {
    /// An island, behind a jump that is always gone.
    pub(super) fn island(&mut self, fragment: usize) {
        let island = self.label();
        self.fragments[fragment].push(Item::Label(island));
        self.islands.insert(island, Vec::new());
    }

    /// The island that a branch reaches which is written next. It stays in reach when others use it as well.
    pub(super) fn island_in_reach(&self, fragment: usize) -> Option<Label> {
        let mut words = 1 + self.island_words();
        for item in self.fragments[fragment].iter().rev() {
            match item {
                Item::Label(label) if self.islands.contains_key(label) => {
                    let is_free = self.islands[label].len() < JUMPS_MAX as usize && words <= REACH_WORDS;
                    return is_free.then_some(*label);
                }
                Item::Line(line) => words += line.instruction.opcode.words(),
                _ => {}
            }
        }
        None
    }

    /// A jump on an island.
    pub(super) fn jump_from(&mut self, island: Label, to: Label) -> Label {
        let label = self.label();
        self.islands.get_mut(&island).expect("it was found").push((label, to));
        label
    }

    /// Words from an item on, at most: more branches may use islands there.
    pub(super) fn words_at_most(&self, fragment: usize, from: usize) -> u32 {
        let items = &self.fragments[fragment][from..];
        let is_island = |item: &&Item| matches!(item, Item::Label(label) if self.islands.contains_key(label));
        let islands = items.iter().filter(is_island).count() as u32;
        item::words(items) + islands * self.island_words()
    }

    /// Words of an island, at most.
    fn island_words(&self) -> u32 {
        JUMPS_MAX * self.jump(0).instruction.opcode.words()
    }

    /// All that was written, islands included.
    pub(super) fn written(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for item in self.fragments.iter().flatten() {
            items.push(item.clone());
            let Item::Label(label) = item else { continue };
            for &(from, to) in self.islands.get(label).into_iter().flatten() {
                items.extend([Item::Label(from), Item::Line(self.jump(to))]);
            }
        }
        items
    }
}
