//! Every word this tool says when something is wrong with its input.
//!
//! Owns: the closed error enums, their fields, their words. Bugs of this crate are assertions and not here. What a
//! running program does that ends its run is the simulator's (`isa::sparc::Fault`).

use std::fmt;

use crate::seal::{LINE_BYTES, SEALS};

mod run;

pub use run::{RunError, SweepError};

/// Why a program is not packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not a 32-bit ELF file, or one that ends early or contradicts itself.
    Elf {
        /// What the reader of ELF said.
        why: String,
    },
    /// The file is for a processor whose code is not packed.
    Machine {
        /// `e_machine` as found; 2 is SPARC, 243 is RISC-V.
        found: u16,
    },
    /// The file is for RISC-V with more than RV32IM, or with half of its registers.
    Extensions {
        /// `e_flags` as found.
        found: u32,
    },
    /// The file is an object or a library, not a linked program.
    NotLinked {
        /// `e_type` as found; 2 is a linked program.
        found: u16,
    },
    /// There are no instructions in it.
    NoCode,
    /// The program begins where no instruction can.
    Entry {
        /// The address as found.
        found: u32,
    },
    /// A section of instructions begins or ends inside a word.
    Unaligned {
        /// The section.
        section: String,
        /// Its first address.
        first: u32,
        /// Its length in bytes.
        bytes: u64,
    },
    /// Two sections claim the same address, or one lies past the end of memory.
    Overlap {
        /// The section.
        section: String,
        /// Its first address.
        first: u32,
    },
    /// More to load than this tool takes.
    TooLarge {
        /// How much it is, in bytes.
        found_bytes: u64,
        /// How much it may be.
        limit_bytes: u64,
    },
    /// Instructions that the program may write to.
    Writable {
        /// The section.
        section: String,
    },
    /// A relocation whose value depends on where code is, of a type that is not known here.
    Relocation {
        /// What it changes.
        at: u32,
        /// Its type as found.
        found: u32,
        /// What it refers to.
        to: u32,
    },
    /// A relocation for a word that is no instruction with such a part of an address.
    Unrelocatable {
        /// What it changes.
        at: u32,
        /// Its type.
        r_type: u32,
        /// The word as found.
        found: u32,
    },
    /// A relocation that says something else than what stands in the file.
    Changed {
        /// The address.
        at: u32,
        /// What the file has there, as an address or a part of one.
        found: u32,
        /// What the relocation says.
        expected: u32,
    },
    /// A call of the place behind itself, or an AUIPC that no relocation names: the program reads its own address and
    /// computes with it.
    ReadsItsPlace {
        /// The address of the instruction.
        at: u32,
    },
    /// A branch that does not reach where its target went.
    TooFar {
        /// The address of the branch.
        at: u32,
        /// Where it goes in the program.
        to: u32,
        /// How far that is in the image, in words.
        distance_words: i64,
    },
    /// A branch or a call to where no instruction is.
    NoTarget {
        /// The address of the branch.
        at: u32,
        /// Where it goes.
        to: u32,
    },
    /// The low part of an address whose high part is another address's, too far apart to be kept together.
    ApartHalves {
        /// The address of the instruction with the low part.
        at: u32,
        /// What it refers to.
        to: u32,
    },
    /// A function that was named is not in the program.
    Function {
        /// The name.
        found: String,
    },
    /// A dictionary of more entries than packets can name, or of none.
    Entries {
        /// How many were asked for.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A share that is no percentage.
    Share {
        /// The number as found.
        found: u8,
    },
    /// A code that is not decoded on fill, where one is asked for that is.
    NotOnFill {
        /// Its name.
        found: &'static str,
    },
    /// A block of compressed code of a length that there is not.
    BlockBytes {
        /// The length found, in bytes.
        found_bytes: u32,
    },
    /// An image that is packed or compressed already.
    Packed,
    /// Compressed code that would not be smaller.
    NotSmaller {
        /// What it takes with all that it needs, in bytes.
        found_bytes: u32,
        /// What the plain code takes.
        limit_bytes: u32,
    },
    /// What was asked for follows a profile, and none was given.
    NoProfile {
        /// What needs it.
        what: &'static str,
    },
    /// A line of a profile's text that is not an address and a count. It is not kept: it may be a key that was named
    /// by mistake.
    ProfileLine {
        /// Its number, from 1.
        line: usize,
        /// How long it is, in bytes.
        found_bytes: usize,
    },
    /// A profile of another program.
    ProfileAddress {
        /// An address with a count where the program has no instruction.
        found: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Elf { why } => write!(f, "not a 32-bit ELF file: {why}"),
            Error::Machine { found } => {
                write!(
                    f,
                    "code of another processor: found e_machine {found}, expected 2 (SPARC, high byte first) \
                     or 243 (RISC-V, low byte first)"
                )
            }
            Error::Extensions { found } => write!(
                f,
                "code of another RISC-V than RV32IM: found e_flags {found:#x}, expected 0\n\
                 help: compile it, and every library that it is linked with, with -march=rv32im -mabi=ilp32"
            ),
            Error::NotLinked { found } => {
                write!(f, "not a linked program: found e_type {found}, expected 2\nhelp: link it first")
            }
            Error::NoCode => f.write_str("nothing to pack: found no section of instructions"),
            Error::Entry { found } => {
                write!(f, "entry {found:#010x} is no instruction: expected an address in a section of code")
            }
            Error::Unaligned { section, first, bytes } => write!(
                f,
                "section `{section}` is not made of words: found {bytes} bytes from {first:#010x} on, \
                 expected multiples of 4"
            ),
            Error::Overlap { section, first } => write!(
                f,
                "section `{section}` at {first:#010x} shares addresses with another or passes the end of memory"
            ),
            Error::TooLarge { found_bytes, limit_bytes } => {
                write!(f, "program too large: found {found_bytes} bytes, expected at most {limit_bytes}")
            }
            Error::Writable { section } => write!(
                f,
                "section `{section}` is written and executed: code that changes cannot be packed\n\
                 help: put it into a section of its own and exclude that"
            ),
            Error::Relocation { at, found, to } => write!(
                f,
                "relocation of type {found} at {at:#010x}: it refers to code at {to:#010x}, and how is not known"
            ),
            Error::Unrelocatable { at, r_type, found } => write!(
                f,
                "relocation of type {r_type} at {at:#010x}: found the word {found:#010x}, expected an instruction with such \
                 a part of an address\n\
                 help: pack the file as the linker left it"
            ),
            Error::Changed { at, found, expected } => write!(
                f,
                "relocation at {at:#010x} disagrees with the program: found {found:#x}, expected {expected:#x}\n\
                 help: pack the file as the linker left it"
            ),
            Error::ReadsItsPlace { at } => write!(
                f,
                "instruction at {at:#010x} reads its own address: what the program computes from it would be wrong\n\
                 help: compile without -fpic, or exclude the function"
            ),
            Error::TooFar { at, to, distance_words } => write!(
                f,
                "branch at {at:#010x} to {to:#010x} is {distance_words} words long in the image, \
                 farther than it reaches\nhelp: keep the order of functions, or exclude the two"
            ),
            Error::NoTarget { at, to } => {
                write!(f, "branch at {at:#010x} goes to {to:#010x}, where no instruction is")
            }
            Error::ApartHalves { at, to } => write!(
                f,
                "low part of address {to:#010x} at {at:#010x}: no high part of an address near it is in the program"
            ),
            Error::Function { found } => write!(f, "no function `{found}` in the program"),
            Error::Entries { found, limit } => {
                write!(f, "dictionary of {found} entries: expected 1 to {limit}")
            }
            Error::Share { found } => write!(f, "share of {found} %: expected 0 to 100"),
            Error::NotOnFill { found } => {
                write!(
                    f,
                    "code `{found}` is not decoded on fill: expected codepack, bitmask, huffman or fields"
                )
            }
            Error::BlockBytes { found_bytes } => {
                write!(f, "block of {found_bytes} bytes: expected 16, 32 or 64")
            }
            Error::Packed => {
                f.write_str("image is packed already: expected one whose instructions are plain")
            }
            Error::NotSmaller { found_bytes, limit_bytes } => write!(
                f,
                "code compressed with its tables: found {found_bytes} bytes, expected at most the {limit_bytes} that \
                 it takes plain"
            ),
            Error::NoProfile { what } => {
                write!(f, "{what} needs a profile, found none\nhelp: run the program on a few inputs first")
            }
            Error::ProfileLine { line, found_bytes } => write!(
                f,
                "profile, line {line}: found {found_bytes} bytes of something else, expected an address behind `0x` \
                 and a count"
            ),
            Error::ProfileAddress { found } => {
                write!(f, "profile of another program: it counts {found:#010x}, where no instruction is")
            }
        }
    }
}

impl std::error::Error for Error {}

/// Why bytes are no linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// Not an ELF file at all. Of what is in it nothing is kept: it may be a key that was named by mistake.
    NotElf {
        /// How long it is, in bytes.
        found_bytes: usize,
    },
    /// An ELF file of 64 bits.
    Class64,
    /// An ELF file that ends early or contradicts itself.
    Elf {
        /// What the reader of ELF said.
        why: String,
    },
    /// An object, or a program that lies nowhere yet.
    NotLinked {
        /// `e_type` as found; 2 is a linked program.
        found: u16,
    },
    /// Nothing in it is loaded.
    Empty,
    /// A section whose bytes are a segment's and whose address is not.
    SectionPlace {
        /// Its name.
        name: String,
        /// The address that it says.
        found: u32,
        /// The address that its segment has for these bytes.
        expected: u64,
    },
    /// Two sections claim the same address.
    Overlap {
        /// The first address that is claimed twice.
        address: u32,
    },
    /// A section or segment lies past the end of memory.
    Outside {
        /// Its first address.
        first: u32,
        /// Its length in bytes.
        bytes: u64,
    },
    /// More than this tool takes.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: u64,
        /// How many are taken.
        limit: u64,
    },
}

impl fmt::Display for ElfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElfError::NotElf { found_bytes } => {
                write!(
                    f,
                    "not an ELF file: found {found_bytes} bytes that begin otherwise, expected [7f, 45, 4c, 46] \
                     at its start"
                )
            }
            ElfError::Class64 => f.write_str("found an ELF file of 64 bits, expected one of 32"),
            ElfError::Elf { why } => write!(f, "not a whole ELF file: {why}"),
            ElfError::NotLinked { found } => write!(
                f,
                "found an ELF file of type {found}, expected 2: a program that is linked to its addresses\n\
                 help: link it, without `-r`, `-shared` and `-pie`"
            ),
            ElfError::Empty => f.write_str("found nothing that is loaded, expected a section at least"),
            ElfError::SectionPlace { name, found, expected } => write!(
                f,
                "section `{}` is used at {found:#010x}, expected {expected:#010x}, where its segment has its bytes",
                name.escape_debug()
            ),
            ElfError::Overlap { address } => {
                write!(f, "two sections lie at {address:#010x}, expected one")
            }
            ElfError::Outside { first, bytes } => {
                write!(
                    f,
                    "{bytes} bytes from {first:#010x} lie past the end of memory, expected them below 2^32"
                )
            }
            ElfError::TooMany { what, found, limit } => {
                write!(f, "found {found} {what}, expected at most {limit}")
            }
        }
    }
}

impl std::error::Error for ElfError {}

/// Why an image cannot be sealed, or a container cannot be read, verified or unsealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealError {
    /// No seal has this name.
    UnknownSeal {
        /// The name.
        found: String,
    },
    /// The seal has other layouts, or none, or needs one.
    UnknownLayout {
        /// The seal.
        seal: &'static str,
        /// The layout, if one was given.
        found: Option<String>,
    },
    /// The seal shows which lines are equal.
    Legacy {
        /// The seal.
        seal: &'static str,
    },
    /// A region of OTFDEC that does not exist.
    Region {
        /// Its number.
        found: u8,
    },
    /// A MAC over so many lines, or of so many bytes, does not exist.
    Integrity {
        /// Lines that a tag is for.
        lines: u8,
        /// Bytes of a tag.
        tag_bytes: u8,
    },
    /// An image key of another length.
    ImageKey {
        /// Its length in bytes.
        found_bytes: usize,
        /// What the seal takes.
        expected_bytes: usize,
    },
    /// Both halves of a key for XTS are the same.
    EqualHalves,
    /// A device key of another length.
    DeviceKey {
        /// Its length in bytes.
        found_bytes: usize,
    },
    /// The image key is wrapped under another device key, or its wrapping was changed: the two cannot be told apart.
    OtherDeviceKey,
    /// There was no randomness for a nonce.
    Randomness {
        /// What its source said.
        why: String,
    },
    /// Tags were expected, or an id or a version, for which nothing vouches but tags.
    NoTags,
    /// Another image was expected.
    OtherImage {
        /// Its id.
        found: [u8; 8],
        /// The id that was expected.
        expected: [u8; 8],
    },
    /// A newer image was expected.
    OldImage {
        /// Its version.
        found: u32,
        /// The oldest that is taken.
        least: u32,
    },
    /// A section's name that no ELF file can have.
    Name {
        /// The name.
        name: String,
    },
    /// A section was named that is not there.
    NoSuchSection {
        /// The name.
        name: String,
    },
    /// A section is to be sealed and not to be sealed.
    Contradiction {
        /// Its name.
        name: String,
    },
    /// Nothing is to be sealed.
    NothingToSeal,
    /// Of two sections in one line only one is to be sealed.
    SharedLine {
        /// The line.
        address: u32,
        /// The lower section.
        lower: String,
        /// The higher one.
        upper: String,
    },
    /// Of two sections in one granule of the seal only one is to be sealed.
    SharedGranule {
        /// The granule.
        address: u32,
        /// How long a granule is.
        granule_bytes: u32,
        /// The lower section.
        lower: String,
        /// The higher one.
        upper: String,
    },
    /// The tables do not fit where they should go.
    TablesPlace {
        /// The first address that was asked for, or tried last.
        first: u64,
        /// How long they are.
        bytes: u64,
        /// What their address must be a multiple of.
        granule_bytes: u32,
    },
    /// A program may grow to where the tables would go.
    TablesFirst {
        /// What they would lie behind.
        behind: String,
    },
    /// Bytes that are no container. None of them is kept: they may be a key that was named by mistake.
    Magic {
        /// How many there are.
        found_bytes: usize,
    },
    /// A container of another version.
    Version {
        /// The version.
        found: u16,
        /// What is read here.
        expected: u16,
    },
    /// A container that ends too early, or too late.
    Length {
        /// What there is, in bytes.
        found: u64,
        /// What it says, or needs at least.
        expected: u64,
    },
    /// A container that something happened to.
    Checksum {
        /// The sum of what is there.
        found: u32,
        /// The sum that it says.
        expected: u32,
    },
    /// A field of a container that says what cannot be.
    Field {
        /// Which.
        name: &'static str,
        /// Its offset in the container.
        at: usize,
        /// What it says.
        found: u64,
        /// What it may say.
        expected: &'static str,
    },
    /// More than is taken.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        found: u64,
        /// How many are taken.
        limit: u64,
    },
    /// More gaps than raw memory is written with.
    Gaps {
        /// How many bytes there would be.
        found: u64,
        /// How many are written.
        limit: u64,
    },
    /// What describes the image is not what was sealed.
    DescriptionTag,
    /// Lines are not what was sealed.
    Tag {
        /// The tag's number.
        index: u32,
        /// The address of the first line that it is for.
        first: u32,
        /// How many lines it is for.
        lines: u32,
    },
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SealError::UnknownSeal { found } => {
                let mut names: Vec<_> = SEALS.iter().map(|row| row.seal).collect();
                names.dedup();
                write!(f, "unknown seal `{}`, expected {}", found.escape_debug(), one_of(&names))
            }
            SealError::UnknownLayout { seal, found } => {
                let rows = SEALS.iter().filter(|row| row.seal == *seal);
                let expected = one_of(&rows.filter_map(|row| row.layout).collect::<Vec<_>>());
                match found {
                    Some(found) => {
                        write!(f, "seal `{seal}` has no layout `{}`, expected {expected}", found.escape_debug())
                    }
                    None => write!(f, "seal `{seal}` needs a layout, expected {expected}"),
                }
            }
            SealError::Legacy { seal } => write!(
                f,
                "seal `{seal}` shows which lines are equal, expected one that depends on the address\n\
                 help: take `ctr` or `xts`; to measure as the paper did, allow legacy seals"
            ),
            SealError::Region { found } => write!(f, "found region {found} of OTFDEC, expected 1 to 4"),
            SealError::Integrity { lines, tag_bytes } => write!(
                f,
                "found a tag of {tag_bytes} bytes over {lines} lines, expected 8 or 16 bytes over 1, 4 or 8 lines"
            ),
            SealError::ImageKey { found_bytes, expected_bytes } => {
                write!(f, "found an image key of {found_bytes} bytes, expected {expected_bytes}")
            }
            SealError::EqualHalves => {
                f.write_str("both halves of the image key are the same, expected two keys for `xts`")
            }
            SealError::DeviceKey { found_bytes } => {
                write!(f, "found a device key of {found_bytes} bytes, expected 16 or 32")
            }
            SealError::OtherDeviceKey => f.write_str(
                "the image key does not unwrap under this device key: it is for another device, or was changed\n\
                 help: give the device key that the image was sealed with, or take another copy of it",
            ),
            SealError::Randomness { why } => write!(f, "found no randomness for a nonce: {why}"),
            SealError::NoTags => f.write_str(
                "found an image without tags, expected one with them\n\
                 help: seal it with tags",
            ),
            SealError::OtherImage { found, expected } => write!(
                f,
                "found the image `{}`, expected `{}`",
                found.escape_ascii(),
                expected.escape_ascii()
            ),
            SealError::OldImage { found, least } => {
                write!(f, "found an image of version {found}, expected {least} or a newer one")
            }
            SealError::Name { name } => {
                write!(f, "section `{}` has a zero in its name, expected none", name.escape_debug())
            }
            SealError::NoSuchSection { name } => {
                write!(f, "no section is called `{}`, expected one that is loaded", name.escape_debug())
            }
            SealError::Contradiction { name } => {
                write!(f, "section `{}` is both included and excluded, expected one of it", name.escape_debug())
            }
            SealError::NothingToSeal => f.write_str("found no section to seal, expected one at least"),
            SealError::SharedLine { address, lower, upper } => write!(
                f,
                "sections `{}` and `{}` share the line at {address:#010x}, expected both sealed or neither\n\
                 help: align the second to {LINE_BYTES} bytes, or include or exclude both",
                lower.escape_debug(),
                upper.escape_debug()
            ),
            SealError::SharedGranule { address, granule_bytes, lower, upper } => write!(
                f,
                "sections `{}` and `{}` share the granule of {granule_bytes} bytes at {address:#010x}, \
                 expected both sealed or neither\n\
                 help: align the second to {granule_bytes} bytes, or include or exclude both",
                lower.escape_debug(),
                upper.escape_debug()
            ),
            SealError::TablesPlace { first, bytes, granule_bytes } => write!(
                f,
                "found no room for {bytes} bytes of tables at {first:#010x}, expected free memory from a multiple \
                 of {granule_bytes} on\n\
                 help: give the tables another address"
            ),
            SealError::TablesFirst { behind } => write!(
                f,
                "tables would lie behind {behind}, where a program may grow, expected code or constants\n\
                 help: give the tables an address in memory that the program never uses"
            ),
            SealError::Magic { found_bytes } => {
                write!(
                    f,
                    "not a sealed image: found {found_bytes} bytes that begin otherwise, expected [93, 53, 50, 4b] \
                     at its start"
                )
            }
            SealError::Version { found, expected } => {
                write!(f, "found a container of version {found}, expected {expected}")
            }
            SealError::Length { found, expected } => {
                write!(f, "found {found} bytes, expected {expected}: the container was cut or added to")
            }
            SealError::Checksum { found, expected } => write!(
                f,
                "found the checksum {found:#010x}, expected {expected:#010x}: the container was damaged\n\
                 help: take another copy of it"
            ),
            SealError::Field { name, at, found, expected } => {
                write!(f, "{name} at offset {at} is {found}, expected {expected}")
            }
            SealError::TooMany { what, found, limit } => {
                write!(f, "found {found} {what}, expected at most {limit}")
            }
            SealError::Gaps { found, limit } => write!(
                f,
                "found {found} bytes of raw memory with its gaps, expected at most {limit}\n\
                 help: write Intel HEX or ELF, which leave gaps out"
            ),
            SealError::DescriptionTag => f.write_str(
                "the description is not as sealed: machine, entry, seal, nonce, key, version, \
                 id, sections, zeros or map",
            ),
            SealError::Tag { index, first, lines } => write!(
                f,
                "tag {index} does not match: of {lines} lines from {first:#010x}, one is not as sealed"
            ),
        }
    }
}

impl std::error::Error for SealError {}

/// Names to choose from.
fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".into() } else { names.join(" or ") }
}
