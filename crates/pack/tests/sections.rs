//! The plain reader of ELF files: what it reads, and files that are wrong.

mod made;

use made::{Part, counted, elf};
use pack::image::{Kind, Zeros};
use pack::limits::{IMAGE_BYTES_MAX, NAME_BYTES_MAX};
use pack::sections::Machine;
use pack::{ElfError, Sections};
use proptest::prelude::*;

const ARM: Machine = Machine { number: 40, flags: 0x0500_0200, is_big_endian: false };
const POWER: Machine = Machine { number: 20, flags: 0, is_big_endian: true };
/// Types of sections.
const PROGRAM: u32 = 1;
const NOBITS: u32 = 8;

fn part(name: &'static str, flags: u32, kind: u32, virtual_first: u32, first: u32, bytes: Vec<u8>) -> Part {
    Part { name, flags, kind, virtual_first, first, bytes }
}

/// Code, constants, initialisers that are loaded behind them, and zeros; a section that is not loaded.
fn parts() -> Vec<Part> {
    vec![
        part(".text", 6, PROGRAM, 0x100, 0x100, counted(0x21, 1)),
        part(".rodata", 2, PROGRAM, 0x124, 0x124, counted(7, 2)),
        part(".data", 3, PROGRAM, 0x2000, 0x130, counted(0x12, 3)),
        part(".bss", 3, NOBITS, 0x2014, 0, vec![0; 0x30]),
        part(".comment", 0, NOBITS, 0, 0, vec![0; 5]),
    ]
}

#[test]
fn sections_of_any_machine_are_read_with_their_load_addresses() {
    for machine in [ARM, POWER] {
        let read = Sections::parse(&elf(machine, 0x101, &parts(), true)).unwrap();
        assert_eq!((read.machine, read.entry), (machine, 0x101));
        let expected = [
            (".text", Kind::Code, 0x100, 0),
            (".rodata", Kind::Constants, 0x124, 1),
            (".data", Kind::Data, 0x130, 2),
        ];
        assert_eq!(read.sections.len(), expected.len());
        for (section, (name, kind, first, number)) in read.sections.iter().zip(expected) {
            assert_eq!((section.name.as_str(), section.kind, section.first), (name, kind, first));
            assert_eq!(section.bytes, parts()[number].bytes);
        }
        assert_eq!(read.zeros, [Zeros { first: 0x2014, bytes: 0x30 }]);
    }
}

#[test]
fn a_file_without_sections_has_its_segments() {
    let read = Sections::parse(&elf(ARM, 0x101, &parts(), false)).unwrap();
    let found: Vec<_> = read.sections.iter().map(|s| (s.name.as_str(), s.kind, s.first)).collect();
    let expected = [
        ("segment 0", Kind::Code, 0x100),
        ("segment 1", Kind::Constants, 0x124),
        ("segment 2", Kind::Data, 0x130),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_without_physical_addresses_is_loaded_where_it_is_used() {
    let mut parts = parts();
    parts.iter_mut().for_each(|part| part.first = 0);
    let read = Sections::parse(&elf(ARM, 0x101, &parts, true)).unwrap();
    assert_eq!(read.sections.iter().map(|section| section.first).collect::<Vec<_>>(), [0x100, 0x124, 0x2000]);
}

#[test]
fn what_is_written_into_memory_that_is_not_writable_is_constants() {
    let mut file = elf(ARM, 0x101, &parts(), true);
    // The rights of the third segment: read alone.
    let rights = 52 + 2 * 32 + 24;
    file[rights] = 4;
    assert_eq!(Sections::parse(&file).unwrap().sections[2].kind, Kind::Constants);
}

#[test]
fn bytes_of_segments_that_are_in_no_section_are_counted() {
    let file = elf(ARM, 0x101, &parts(), true);
    assert_eq!(Sections::parse_counting(&file).unwrap().1, 0);
    // Constants that are not for memory: the section is left out, the segment is loaded all the same.
    let mut file = file;
    let sections_at = u32::from_le_bytes(file[32..36].try_into().unwrap()) as usize;
    file[sections_at + 2 * 40 + 8] = 0;
    let (read, left_out) = Sections::parse_counting(&file).unwrap();
    assert_eq!((read.sections.len(), left_out), (2, 7));
    assert_eq!(Sections::parse_counting(&elf(ARM, 0x101, &parts(), false)).unwrap().1, 0);
}

#[test]
fn a_section_whose_address_is_not_its_segment_s_is_named() {
    let mut file = elf(ARM, 0x101, &parts(), true);
    let sections_at = u32::from_le_bytes(file[32..36].try_into().unwrap()) as usize;
    let address = sections_at + 3 * 40 + 12;
    file[address] = 4;
    let misplaced = ElfError::SectionPlace { name: ".data".into(), found: 0x2004, expected: 0x2000 };
    assert_eq!(Sections::parse(&file), Err(misplaced));
    // The first segment: longer in the file than in memory.
    let longer = refused(|file| file[52 + 20] = 0x20);
    assert_eq!(longer, ElfError::Elf { why: "a segment has more bytes in the file than in memory".into() });
}

/// What the reader says of a changed file.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> ElfError {
    let mut file = elf(ARM, 0x101, &parts(), true);
    change(&mut file);
    Sections::parse(&file).expect_err("it is wrong")
}

#[test]
fn what_is_no_linked_program_of_32_bits_is_named() {
    assert_eq!(refused(|file| file.clear()), ElfError::NotElf { found_bytes: 0 });
    assert!(matches!(refused(|file| file[0] = b':'), ElfError::NotElf { found_bytes: 4.. }));
    assert_eq!(refused(|file| file[4] = 2), ElfError::Class64);
    for kind in [1, 3] {
        assert_eq!(refused(|file| file[16] = kind), ElfError::NotLinked { found: kind.into() });
    }
    assert!(matches!(refused(|file| file.truncate(60)), ElfError::Elf { .. }));
    // No program headers, so nothing is loaded.
    assert_eq!(refused(|file| file[44] = 0), ElfError::Empty);
}

#[test]
fn sections_in_each_other_s_place_or_past_memory_are_named() {
    let mut parts = parts();
    parts[1].first = 0x120;
    assert_eq!(Sections::parse(&elf(ARM, 0, &parts, true)), Err(ElfError::Overlap { address: 0x120 }));
    parts[1].first = u32::MAX - 3;
    let outside = Err(ElfError::Outside { first: u32::MAX - 3, bytes: 7 });
    assert_eq!(Sections::parse(&elf(ARM, 0, &parts, true)), outside);
    assert_eq!(Sections::parse(&elf(ARM, 0, &parts, false)), outside);
}

#[test]
fn more_than_is_taken_is_named_before_memory_is_made_for_it() {
    let huge = |file: &mut Vec<u8>| file[52 + 16..52 + 20].copy_from_slice(&u32::MAX.to_le_bytes());
    let ElfError::TooMany { what, limit, .. } = refused(huge) else { panic!("it is too much") };
    assert_eq!((what, limit), ("bytes to load", IMAGE_BYTES_MAX));
    let name: &'static str = "n".repeat(NAME_BYTES_MAX + 1).leak();
    let mut parts = parts();
    parts[0].name = name;
    let (found, limit) = (name.len() as u64, NAME_BYTES_MAX as u64);
    let expected = Err(ElfError::TooMany { what: "bytes of a section's name", found, limit });
    assert_eq!(Sections::parse(&elf(ARM, 0, &parts, true)), expected);
}

#[test]
fn errors_say_what_was_found_and_expected() {
    let words = refused(|file| file[0] = b':').to_string();
    assert_eq!(
        words,
        "not an ELF file: found 531 bytes that begin otherwise, expected [7f, 45, 4c, 46] at its start"
    );
    assert_eq!(refused(|file| file[4] = 2).to_string(), "found an ELF file of 64 bits, expected one of 32");
    assert!(refused(|file| file[16] = 1).to_string().contains("help: link it"));
}

/// A program of the corpus, if that is here.
fn program(name: &str) -> Option<Vec<u8>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
    let found = std::fs::read(path).ok();
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "corpus/{name} is missing, and under CI it must not be");
        eprintln!("skip: sections of {name}: there is no corpus");
    }
    found
}

/// As `readelf -S` has them.
#[test]
fn programs_of_the_corpus_are_read() {
    for (name, machine, names) in [
        ("sparc/search.elf", 2, [".traps", ".text", ".rodata", ".data"].as_slice()),
        ("rv32/search.elf", 243, &[".text", ".rodata", ".data"]),
    ] {
        let Some(file) = program(name) else { return };
        let read = Sections::parse(&file).unwrap();
        assert_eq!(read.machine.number, machine);
        assert_eq!(read.sections.iter().map(|section| section.name.as_str()).collect::<Vec<_>>(), names);
        // On RISC-V it is marked as written, and lies where nothing can be.
        let constants = read.sections.iter().find(|section| section.name == ".rodata").unwrap();
        assert_eq!(constants.kind, Kind::Constants);
        assert_eq!(read.zeros.len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_file_makes_nothing_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), with_sections: bool,
    ) {
        let mut file = elf(ARM, 0x101, &parts(), with_sections);
        for (place, byte) in changes {
            let at = place.index(file.len());
            file[at] = byte;
        }
        if let Ok(read) = Sections::parse(&file) {
            prop_assert!(read.sections.iter().all(|section| !section.bytes.is_empty()));
        }
    }

    #[test]
    fn a_cut_file_makes_nothing_panic(length in any::<prop::sample::Index>()) {
        let file = elf(ARM, 0x101, &parts(), true);
        let _ = Sections::parse(&file[..length.index(file.len())]);
    }
}
