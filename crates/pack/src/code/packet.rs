//! ComPacket: words that name several instructions of a dictionary.
//!
//! Owns: what the 28 bits of a packet mean ([`Packet`]), and which instructions a packet stands for
//! ([`Dictionary::expand`]). Where packets are worth being made is `assign`'s; which bits of a word are free is
//! [`Target`]'s. The paper draws four formats (figure 1) and leaves their bits open; these are ours, and so is a fifth
//! format, 2F, made of what the four leave over, for branches that go farther:
//!
//! ```text
//!  27  26  25 24  23                                0
//! ┌───┬───┬──────┬───────┬───────┬───────┬───────────┐
//! │ S │ B │  TT  │ index │ index │ index │ index     │  4   S=1 B=0  four indexes of 6 bits; TT + 1 of them count
//! │   │   │      ├───────┴─┬─────┴───┬───┴───────────┤
//! │   │   │      │ index   │ index   │ index         │  3   S=0 B=0  three of 8 bits; TT of them count, 0 is none
//! │   │   │      ├───────┬─┴─────┬───┴───┬───────────┤
//! │   │   │      │ index │ index │ index │ distance  │  3B  S=1 B=1  three of 6 bits; the branch is number TT
//! │   │   │      ├───────┴─┬─────┴───┬───┴───────────┤
//! │   │   │      │ index   │ index   │ distance      │  2B  S=0 B=1  two of 8 bits; TT: 0 the first is the branch,
//! │   │   │      ├───────┬─┴───────┬─┴───────────────┤                1 the second is, 2 the branch is alone
//! │   │   │      │ branch│ index   │ distance        │  2F  B=1 TT=3 a branch's index of 6 bits, another of 8, and
//! └───┴───┴──────┴───────┴─────────┴─────────────────┘                a distance of 10; S: 1 the first is the branch
//! ```
//!
//! A distance is signed and counts words from the packet's own. The dictionary's entry of a branch has its condition
//! and annul bit, and a distance of zero. Everything else is no packet, UNIMP's words with it.

use crate::target::Target;

/// The most instructions of a packet.
pub const SLOTS_MAX: usize = 4;
/// The most entries of a dictionary.
pub const ENTRIES_MAX: usize = 256;
/// The entries that an index of 6 bits reaches.
pub const ENTRIES_SHORT: usize = 64;

/// Which of the four.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// Up to four of the first 64 entries.
    Four,
    /// Up to three of any entries.
    Three,
    /// Three of the first 64, one of them a branch of at most 31 words.
    ThreeBranch,
    /// Two of any, one of them a branch of at most 127 words; or a branch alone.
    TwoBranch,
    /// One of any, and a branch of the first 64 of at most 511 words. Ours, not the paper's.
    FarBranch,
}

/// The branch of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The slot that it is in.
    pub slot: u8,
    /// Where it goes, in words from the packet's own.
    pub distance_words: i16,
}

/// A packet: the dictionary's entries that it names, in the order in which they are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its format.
    pub format: Format,
    /// How many slots count.
    pub slots: u8,
    /// The entries; those past `slots` are zero.
    pub indexes: [u8; SLOTS_MAX],
    /// The branch, in formats that have one.
    pub branch: Option<Branch>,
}

impl Format {
    /// How wide an index is, of what is not the branch.
    pub const fn index_bits(self) -> u32 {
        match self {
            Format::Four | Format::ThreeBranch => 6,
            Format::Three | Format::TwoBranch | Format::FarBranch => 8,
        }
    }

    /// How wide the index of its branch is.
    pub const fn branch_index_bits(self) -> u32 {
        match self {
            Format::FarBranch => 6,
            other => other.index_bits(),
        }
    }

    /// The most slots.
    pub const fn slots_max(self) -> u8 {
        match self {
            Format::Four => 4,
            Format::Three | Format::ThreeBranch => 3,
            Format::TwoBranch | Format::FarBranch => 2,
        }
    }

    /// How far its branch goes at most, in words: from the first of these to the second; `None` without a branch.
    pub const fn reach_words(self) -> Option<(i16, i16)> {
        match self {
            Format::Four | Format::Three => None,
            Format::ThreeBranch => Some((-32, 31)),
            Format::TwoBranch => Some((-128, 127)),
            Format::FarBranch => Some((-512, 511)),
        }
    }
}

impl Packet {
    /// The 28 bits; `None` when the format has no room for what this says.
    pub fn payload(&self) -> Option<u32> {
        if self.format == Format::FarBranch {
            return self.far_payload();
        }
        let width = self.format.index_bits();
        let slots = u32::from(self.slots);
        let tt = match (self.format, self.branch) {
            (Format::Four, None) if (1..=4).contains(&slots) => slots - 1,
            (Format::Three, None) if (1..=3).contains(&slots) => slots,
            (Format::ThreeBranch, Some(branch)) if slots == 3 && branch.slot < 3 => branch.slot.into(),
            (Format::TwoBranch, Some(branch)) if slots == 2 && branch.slot < 2 => branch.slot.into(),
            (Format::TwoBranch, Some(Branch { slot: 0, .. })) if slots == 1 => 2,
            _ => return None,
        };
        let (short, with_branch) = (width == 6, self.branch.is_some());
        let mut payload = u32::from(short) << 27 | u32::from(with_branch) << 26 | tt << 24;
        for (slot, &index) in self.indexes.iter().enumerate() {
            if slot < usize::from(self.slots) {
                let fits = u32::from(index) >> width == 0;
                payload |= fits.then_some(u32::from(index))? << (24 - width * (slot as u32 + 1));
            } else if index != 0 {
                return None;
            }
        }
        if let Some(branch) = self.branch {
            let (least, most) = self.format.reach_words()?;
            let distance =
                (least..=most).contains(&branch.distance_words).then_some(branch.distance_words)?;
            payload |= distance as u32 & ((1 << width) - 1);
        }
        Some(payload)
    }

    /// What 28 bits say; `None` when they are no packet. Every packet has one form only.
    pub fn of_payload(payload: u32) -> Option<Packet> {
        let (short, with_branch) = (payload >> 27 & 1 == 1, payload >> 26 & 1 == 1);
        let tt = (payload >> 24 & 3) as u8;
        if with_branch && tt == 3 {
            return Some(Packet::of_far_payload(payload));
        }
        let (format, slots, branch_slot) = match (short, with_branch, tt) {
            (true, false, _) => (Format::Four, tt + 1, None),
            (false, false, 1..=3) => (Format::Three, tt, None),
            (true, true, 0..=2) => (Format::ThreeBranch, 3, Some(tt)),
            (false, true, 0 | 1) => (Format::TwoBranch, 2, Some(tt)),
            (false, true, 2) => (Format::TwoBranch, 1, Some(0)),
            _ => return None,
        };
        let width = format.index_bits();
        let field = |number: u32| payload >> (24 - width * (number + 1)) & ((1 << width) - 1);
        let mut indexes = [0; SLOTS_MAX];
        for (slot, index) in indexes.iter_mut().enumerate().take(slots.into()) {
            *index = field(slot as u32) as u8;
        }
        let distance = |low: u32| ((low << (32 - width)) as i32 >> (32 - width)) as i16;
        let low = payload & ((1 << width) - 1);
        let branch = branch_slot.map(|slot| Branch { slot, distance_words: distance(low) });
        let packet = Packet { format, slots, indexes, branch };
        (packet.payload() == Some(payload)).then_some(packet)
    }

    fn far_payload(&self) -> Option<u32> {
        let Branch { slot, distance_words } = self.branch?;
        let (least, most) = self.format.reach_words()?;
        let fits = self.slots == 2 && slot < 2 && self.indexes[2..] == [0, 0];
        let (branch, other) = (self.indexes[usize::from(slot & 1)], self.indexes[usize::from(slot & 1 ^ 1)]);
        let fits = fits && branch >> 6 == 0 && (least..=most).contains(&distance_words);
        let fields = u32::from(branch) << 18 | u32::from(other) << 10 | distance_words as u32 & 0x3ff;
        fits.then_some(u32::from(slot == 0) << 27 | 1 << 26 | 3 << 24 | fields)
    }

    fn of_far_payload(payload: u32) -> Packet {
        let slot = (payload >> 27 & 1 ^ 1) as u8;
        let mut indexes = [0; SLOTS_MAX];
        indexes[usize::from(slot)] = (payload >> 18 & 0x3f) as u8;
        indexes[usize::from(slot ^ 1)] = (payload >> 10) as u8;
        let distance_words = ((payload << 22) as i32 >> 22) as i16;
        Packet { format: Format::FarBranch, slots: 2, indexes, branch: Some(Branch { slot, distance_words }) }
    }

    /// The word that it is in memory; `None` when the format has no room for what this says.
    pub fn word(&self, target: Target) -> Option<u32> {
        self.payload().map(|payload| target.word_of_payload(payload))
    }

    /// What a word of memory says; `None` when it is no packet.
    pub fn of_word(target: Target, word: u32) -> Option<Packet> {
        Packet::of_payload(target.payload_of_word(word)?)
    }
}

/// The instructions that packets name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    entries: Vec<u32>,
}

impl Dictionary {
    /// Of these instructions, the ones that short indexes reach first; `None` for more than 256.
    pub fn new(entries: Vec<u32>) -> Option<Dictionary> {
        (entries.len() <= ENTRIES_MAX).then_some(Dictionary { entries })
    }

    /// The instructions.
    pub fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// What it takes, in bytes.
    pub fn bytes(&self) -> u32 {
        self.entries.len() as u32 * 4
    }

    /// The instructions of a packet, its branch with its distance, by slot; `None` when it names no entry, or has a
    /// distance for what is no branch.
    pub fn expand(&self, target: Target, packet: &Packet) -> Option<([u32; SLOTS_MAX], u8)> {
        let mut words = [0; SLOTS_MAX];
        for (word, &index) in words.iter_mut().zip(&packet.indexes).take(packet.slots.into()) {
            *word = *self.entries.get(usize::from(index))?;
        }
        if let Some(branch) = packet.branch {
            let word = &mut words[usize::from(branch.slot)];
            *word = target.with_distance(*word, branch.distance_words.into())?;
        }
        Some((words, packet.slots))
    }
}
