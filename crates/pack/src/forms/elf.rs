//! An ELF file of a sealed image: a segment for each piece of memory, a section for each section.
//!
//! It is a file of its own and no copy of the one that was sealed: symbols, debugging information and above all
//! relocations, which repeat the words that they are for, would tell what is sealed. Addresses are load addresses, and
//! segments ascend and share none. Debuggers take symbols from the file that the image was made of.

use object::elf;

use crate::container::Container;
use crate::image::{Kind, Zeros};
use crate::lines::Role;

const HEADER_BYTES: usize = 52;
const PROGRAM_HEADER_BYTES: usize = 32;
const SECTION_HEADER_BYTES: usize = 40;
/// The name of the section of names.
const NAMES: &str = ".shstrtab";

/// The bytes of the file.
pub fn elf(container: &Container) -> Vec<u8> {
    Writer::new(container).file()
}

/// What of the zeros is not loaded: a sealed line's filler is zero where zeros begin inside it, and what else is loaded
/// where they will be is there first.
fn unloaded(container: &Container) -> Vec<Zeros> {
    let mut pieces = Vec::new();
    for zeros in container.zeros() {
        let end = u64::from(zeros.first) + u64::from(zeros.bytes);
        let mut from = u64::from(zeros.first);
        let spans = container.spans().iter().map(|span| span.extent());
        let taken =
            spans.filter(|span| u64::from(span.first) < end).map(|span| (span.first.into(), span.end));
        for (first, behind) in taken.chain([(end, end)]) {
            if from < first {
                pieces.push(Zeros { first: from as u32, bytes: (first - from) as u32 });
            }
            from = from.max(behind);
        }
    }
    pieces
}

struct Writer<'a> {
    container: &'a Container,
    /// The names of sections, each with a zero behind it.
    names: Vec<u8>,
    sections: Vec<[u32; 10]>,
}

impl<'a> Writer<'a> {
    fn new(container: &'a Container) -> Writer<'a> {
        Writer { container, names: vec![0], sections: vec![[0; 10]] }
    }

    fn file(mut self) -> Vec<u8> {
        let (spans, zeros) = (self.container.spans(), unloaded(self.container));
        let segments = spans.len() + zeros.len();
        let mut offset = HEADER_BYTES + segments * PROGRAM_HEADER_BYTES;
        let mut headers: Vec<[u32; 8]> = Vec::new();
        for span in spans {
            let length = span.bytes.len() as u32;
            let flags = elf::PF_R.0 | self.rights(span.first, span.extent().end);
            headers.push([elf::PT_LOAD.0, offset as u32, span.first, span.first, length, length, flags, 1]);
            self.add_sections(span.first, span.extent().end, offset as u32);
            offset += span.bytes.len();
        }
        for zeros in zeros {
            let flags = elf::PF_R.0 | elf::PF_W.0;
            headers.push([elf::PT_LOAD.0, offset as u32, zeros.first, zeros.first, 0, zeros.bytes, flags, 1]);
            let rights = elf::SHF_ALLOC.0 | elf::SHF_WRITE.0;
            self.add(".bss", elf::SHT_NOBITS.0, rights, [zeros.first, offset as u32, zeros.bytes]);
        }
        headers.sort_unstable_by_key(|header| header[2]);
        let end = |header: &[u32; 8]| u64::from(header[2]) + u64::from(header[5]);
        assert!(headers.is_sorted_by(|a, b| end(a) <= b[2].into()), "segments are disjoint");
        // Its own name is in it, so it is added before it is measured.
        let names_offset = offset as u32;
        self.add(NAMES, elf::SHT_STRTAB.0, 0, [0, names_offset, 0]);
        let names_bytes = self.names.len();
        self.sections.last_mut().expect("it was added")[5] = names_bytes as u32;
        let mut file = self.header(segments, offset + names_bytes);
        self.extend(&mut file, headers.iter().flatten());
        spans.iter().for_each(|span| file.extend_from_slice(&span.bytes));
        file.extend_from_slice(&self.names);
        self.extend(&mut file, self.sections.iter().flatten());
        file
    }

    /// Sections of a piece of memory, which lies at an offset.
    fn add_sections(&mut self, first: u32, end: u64, offset: u32) {
        let container = self.container;
        let inside = |address: u32| address >= first && u64::from(address) < end;
        for entry in container.entries().iter().filter(|entry| inside(entry.first)) {
            let rights = match entry.role {
                Role::Program(Kind::Code) => elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0,
                Role::Program(Kind::Data) => elf::SHF_ALLOC.0 | elf::SHF_WRITE.0,
                Role::Program(_) | Role::Dictionary | Role::Tags => elf::SHF_ALLOC.0,
            };
            let place = [entry.first, offset + (entry.first - first), entry.bytes];
            self.add(&entry.name, elf::SHT_PROGBITS.0, rights, place);
        }
    }

    /// A section with its address, its offset and its length.
    fn add(&mut self, name: &str, kind: u32, flags: u64, [first, offset, bytes]: [u32; 3]) {
        self.sections.push([self.names.len() as u32, kind, flags as u32, first, offset, bytes, 0, 0, 1, 0]);
        self.names.extend(name.bytes().chain([0]));
    }

    /// What may be done with a piece of memory, but for reading it.
    fn rights(&self, first: u32, end: u64) -> u32 {
        let inside = |address: u32| address >= first && u64::from(address) < end;
        let entries = self.container.entries().iter().filter(|entry| inside(entry.first));
        let rights = entries.map(|entry| match entry.role {
            Role::Program(Kind::Code) => elf::PF_X.0,
            Role::Program(Kind::Data) => elf::PF_W.0,
            Role::Program(_) | Role::Dictionary | Role::Tags => 0,
        });
        rights.fold(0, |all, right| all | right)
    }

    fn header(&self, segments: usize, sections_offset: usize) -> Vec<u8> {
        let machine = self.container.machine();
        let order = if machine.is_big_endian { elf::ELFDATA2MSB } else { elf::ELFDATA2LSB };
        let mut file = elf::ELFMAG.to_vec();
        file.extend([elf::ELFCLASS32.0, order.0, 1]);
        file.resize(16, 0);
        let half = |halves: &[usize]| -> Vec<u8> {
            let halves = halves.iter().map(|&half| half as u16);
            let bytes =
                |half: u16| if machine.is_big_endian { half.to_be_bytes() } else { half.to_le_bytes() };
            halves.flat_map(bytes).collect()
        };
        file.extend(half(&[elf::ET_EXEC.0.into(), machine.number.into()]));
        let words = [1, self.container.entry(), HEADER_BYTES as u32, sections_offset as u32, machine.flags];
        self.extend(&mut file, words.iter());
        let sections = self.sections.len();
        file.extend(half(&[HEADER_BYTES, PROGRAM_HEADER_BYTES, segments]));
        file.extend(half(&[SECTION_HEADER_BYTES, sections, sections - 1]));
        file
    }

    fn extend<'w>(&self, file: &mut Vec<u8>, words: impl Iterator<Item = &'w u32>) {
        let machine = self.container.machine();
        file.extend(words.flat_map(|&word| machine.bytes(word)));
    }
}
