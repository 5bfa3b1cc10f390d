//! A program as it lies in memory, packed or not, before it is sealed.
//!
//! Owns: what there is at which address, what of it is code and of which kind, and the address map between a program
//! and its packed form. How it came to be is `program`'s and `code`'s; sealing it is `seal`'s, running it `chain`'s.

use crate::code::packet::Dictionary;
use crate::program::Program;
use crate::target::Target;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Instructions, packets, and constants between them.
    Code,
    /// What is only read.
    Constants,
    /// What is copied or changed: initialisers.
    Data,
    /// What decoding compressed code needs: a boot reads it (`code::onfill::stored`).
    Model,
    /// Compressed code, and the table of where its blocks are. Its addresses are the bus's: for the core, plain code is
    /// where the model says.
    Blocks,
}

impl Kind {
    /// Of what kind it counts where sections are chosen: what stands for code is code.
    pub const fn chosen_as(self) -> Kind {
        match self {
            Kind::Model | Kind::Blocks => Kind::Code,
            other => other,
        }
    }
}

/// Bytes at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name in the ELF file.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// First address.
    pub first: u32,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Memory that is zero at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zeros {
    /// First address.
    pub first: u32,
    /// How many.
    pub bytes: u32,
}

/// Where an instruction of the program is after packing: a word's address, its slot in bits 1:0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The address in the program.
    pub old: u32,
    /// The place in the image.
    pub new: u32,
}

/// Addresses of packed code: instructions, in packets or words, and what fills room between them. The program has its
/// own constants elsewhere, and nothing here is what it would mean by these addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedText {
    /// First address.
    pub first: u32,
    /// How many bytes.
    pub bytes: u32,
}

/// A program in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its instruction set.
    pub target: Target,
    /// Where it begins.
    pub entry: u32,
    /// What is loaded, by ascending address, without overlaps.
    pub sections: Vec<Section>,
    /// What is zero at the start, by ascending address.
    pub zeros: Vec<Zeros>,
    /// The instructions that its packets name; empty when nothing is packed.
    pub dictionary: Dictionary,
    /// What of its code no load may be from, by ascending address: the sections that were packed, but for the constants
    /// in them; empty when nothing moved.
    pub packed_text: Vec<PackedText>,
    /// Where its instructions went, by ascending old address; empty when nothing moved.
    pub map: Vec<Moved>,
}

/// A program as it is.
impl From<&Program> for Image {
    fn from(program: &Program) -> Image {
        Image {
            target: program.target,
            entry: program.entry,
            sections: program.sections.clone(),
            zeros: program.zeros.clone(),
            dictionary: Dictionary::default(),
            packed_text: Vec::new(),
            map: Vec::new(),
        }
    }
}

impl Image {
    /// The sections of instructions.
    pub fn code(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| section.kind == Kind::Code)
    }
}
