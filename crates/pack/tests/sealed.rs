//! Images that are sealed, verified and unsealed; and containers that something happened to.

mod made;

use made::{Part, Seeded, counted, device, elf, image, sealed, seals, settings};
use pack::code::packet::Dictionary;
use pack::container::{MAGIC, VERSION, with_checksum};
use pack::image::{Kind, Section};
use pack::integrity::{ImageName, Integrity};
use pack::lines::{Choice, FILLER, Role};
use pack::seal::{SEALS, Seal};
use pack::sealed::{Settings, Unsealed, seal};
use pack::sections::Machine;
use pack::{Container, ImageKey, SealError, Sections, Target};
use proptest::prelude::*;

const INTEGRITIES: [Option<(u8, u8)>; 7] =
    [None, Some((1, 8)), Some((1, 16)), Some((4, 8)), Some((4, 16)), Some((8, 8)), Some((8, 16))];

#[test]
fn every_seal_comes_back_as_it_was_with_and_without_tags() {
    for machine in [Machine::of(Target::Sparc), Machine::of(Target::Rv32)] {
        for (seal_of, key) in seals(&mut Seeded::new()) {
            for integrity in INTEGRITIES {
                let integrity = integrity.map(|(lines, bytes)| Integrity::new(lines, bytes).unwrap());
                let settings = Settings { integrity, ..settings(seal_of) };
                let container = seal(&image(machine), &settings, &key, &device(3)).unwrap();
                let read = Container::parse(&container.to_bytes()).unwrap();
                assert_eq!(read, container);
                let unlocked = read.unlock(&device(3)).unwrap();
                let verified = read.verify(&unlocked);
                assert_eq!(verified.faults, []);
                assert_eq!(verified.plain_bytes, 0);
                let lines = verified.tagged_lines + verified.untagged_lines;
                assert_eq!(verified.tagged_lines, if integrity.is_some() { lines } else { 0 });
                assert_eq!(verified.tags, read.groups().map_or(0, |groups| groups.count()));
                assert_eq!(read.unseal(&unlocked).unwrap(), image(machine), "{seal_of}");
            }
        }
    }
}

#[test]
fn no_word_of_what_is_sealed_is_in_a_container() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let bytes = sealed(&seal_and_key, Some((4, 8))).to_bytes();
        let image = image(Machine::of(Target::Sparc));
        let words = image.dictionary.entries().iter().map(|word| word.to_be_bytes());
        let dictionary: Vec<u8> = words.flatten().collect();
        let sections = image.sections.sections.iter().map(|section| &section.bytes);
        for plain in sections.chain([&dictionary]) {
            for piece in plain.windows(6) {
                assert!(!bytes.windows(6).any(|window| window == piece), "{} {piece:02x?}", seal_and_key.0);
            }
        }
        let key = seal_and_key.1.expose();
        assert!(!bytes.windows(8).any(|window| key.windows(8).any(|piece| piece == window)));
    }
}

#[test]
fn a_container_is_laid_out_as_drawn() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let (seal, key) = &seal_and_key;
        let bytes = sealed(&seal_and_key, Some((4, 8))).to_bytes();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
        assert_eq!(bytes[..4], MAGIC);
        assert_eq!((half(4), half(6), word(8)), (VERSION, 0b11, bytes.len() as u32));
        assert_eq!(word(12), crc32c::crc32c_append(crc32c::crc32c(&bytes[..12]), &bytes[16..]));
        assert_eq!(
            (half(16), bytes[18], usize::from(bytes[19])),
            (2, seal.row().number, key.expose().len() + 8)
        );
        assert_eq!((word(20), word(24), word(28)), (0, 0x1030, 3));
        assert_eq!(bytes[32..40], *b"selvedge");
        assert_eq!(bytes[40..52], seal.start());
        assert_eq!((bytes[52], bytes[53], half(54), half(56), half(58), word(60)), (4, 8, 6, 1, 0, 9));
        let mut at = 64 + usize::from(bytes[19]);
        assert_eq!(bytes[64..at], device(2).wrap_key(key));
        let sections: [(&str, [u8; 2], u32, u32); 6] = [
            (".traps", [0, 1], 0x1000, 0x30),
            (".text", [0, 1], 0x1030, 0x9c),
            (".rodata", [1, 1], 0x10d0, 0x0d),
            (".data", [2, 1], 0x2004, 0x41),
            // Behind the zeros, which end at 0x2148; then tags of groups of four lines: of 0x1000 to 0x10e0, of
            // 0x2000 to 0x2050, and of the dictionary's two lines.
            (".dictionary", [3, 1], 0x2150, 28),
            (".tags", [4, 0], 0x2170, 8 * (4 + 2 + 1)),
        ];
        for (name, kind_and_sealed, first, length) in sections {
            assert_eq!(bytes[at..at + 2], kind_and_sealed, "{name}");
            assert_eq!((usize::from(bytes[at + 2]), bytes[at + 3]), (name.len(), 0));
            assert_eq!((word(at + 4), word(at + 8)), (first, length), "{name}");
            assert_eq!(bytes[at + 12..at + 12 + name.len()], *name.as_bytes());
            at += 12 + name.len();
        }
        assert_eq!((word(at), word(at + 4)), (0x2048, 0x100));
        assert_eq!((word(at + 8), word(at + 12)), (0x4000, 0x1030));
        let memory_bytes = 0xe0 + 0x50 + 0x20 + 8 * 7;
        assert_eq!(at + 8 + 9 * 8 + 16 + memory_bytes, bytes.len());
    }
}

#[test]
fn every_cut_and_every_flipped_bit_is_named() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let bytes = sealed(&seal_and_key, Some((8, 8))).to_bytes();
        for length in 0..bytes.len() {
            let error = Container::parse(&bytes[..length]).unwrap_err();
            assert!(matches!(error, SealError::Magic { .. } | SealError::Length { .. }), "{length}: {error}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert!(matches!(Container::parse(&longer), Err(SealError::Length { .. })));
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let error = Container::parse(&changed).unwrap_err();
            let is_expected = match bit / 8 {
                0..4 => matches!(error, SealError::Magic { .. }),
                4..6 => matches!(error, SealError::Version { .. }),
                8..12 => matches!(error, SealError::Length { .. }),
                _ => matches!(error, SealError::Checksum { .. }),
            };
            assert!(is_expected, "bit {bit}: {error}");
        }
    }
}

/// Who repairs the checksum as well is found out by a tag, which says where.
#[test]
fn a_flipped_bit_behind_a_sound_checksum_is_found_by_its_tag() {
    for seal_and_key in seals(&mut Seeded::new()) {
        for integrity in INTEGRITIES.into_iter().flatten() {
            let container = sealed(&seal_and_key, Some(integrity));
            let (bytes, groups) = (container.to_bytes(), container.groups().unwrap());
            let unlocked = container.unlock(&device(2)).unwrap();
            let memory_bytes: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
            let memory = bytes.len() - memory_bytes;
            let addresses: Vec<u32> = container
                .spans()
                .iter()
                .flat_map(|span| (0..span.bytes.len() as u32).map(|offset| span.first + offset))
                .collect();
            for at in memory..bytes.len() {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                let changed = Container::parse(&with_checksum(changed)).unwrap();
                let address = addresses[at - memory];
                let index = groups.of_address(address).unwrap_or_else(|| {
                    let tags = container.entry_of(Role::Tags).unwrap();
                    (address - tags.first) / u32::from(integrity.1)
                });
                let (first, length) = groups.place(index);
                let fault = SealError::Tag { index, first, lines: length / 16 };
                assert_eq!(changed.verify(&unlocked).faults, std::slice::from_ref(&fault));
                assert_eq!(changed.unseal(&unlocked), Err(fault));
            }
        }
    }
}

/// Whatever stands in the description: it is refused, or its tag does not match, or it is another image's key.
#[test]
fn a_changed_description_is_refused_or_found_by_its_tag() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let container = sealed(&seal_and_key, Some((4, 8)));
        let bytes = container.to_bytes();
        let memory_bytes: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
        for bit in 16 * 8..(bytes.len() - memory_bytes) * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let Ok(read) = Container::parse(&with_checksum(changed)) else { continue };
            let Ok(unlocked) = read.unlock(&device(2)) else { continue };
            let faults = read.verify(&unlocked).faults;
            assert!(faults.contains(&SealError::DescriptionTag), "bit {bit}: {faults:?}");
        }
    }
}

#[test]
fn lines_of_another_address_version_or_image_are_found() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let integrity = Some(Integrity::new(1, 16).unwrap());
        let made = |name: ImageName| {
            let settings = Settings { integrity, image: name, ..settings(seal_of) };
            seal(&image(Machine::of(Target::Sparc)), &settings, &key, &device(2)).unwrap()
        };
        let name = ImageName { version: 3, id: *b"selvedge" };
        let container = made(name);
        let unlocked = container.unlock(&device(2)).unwrap();
        let bytes = container.to_bytes();
        let memory = bytes.len() - container.spans().iter().map(|span| span.bytes.len()).sum::<usize>();
        let tags = bytes.len() - container.entry_of(Role::Tags).unwrap().bytes as usize;
        // A line and its tag, put where another is.
        let mut moved = bytes.clone();
        moved.copy_within(memory..memory + 16, memory + 32);
        moved.copy_within(tags..tags + 16, tags + 32);
        let faults = Container::parse(&with_checksum(moved)).unwrap().verify(&unlocked).faults;
        assert_eq!(faults, [SealError::Tag { index: 2, first: 0x1020, lines: 1 }]);
        // All of an image with another name, under the same key.
        for other in [ImageName { version: 2, ..name }, ImageName { id: *b"selvedgf", ..name }] {
            let faults = made(other).verify(&unlocked).faults;
            assert_eq!(faults.len() as u32, 1 + container.groups().unwrap().count());
        }
    }
}

#[test]
fn an_image_for_another_device_is_refused_by_name() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let container = sealed(&seal_and_key, None);
        for byte in [3, 4, 5] {
            assert_eq!(container.unlock(&device(byte)).unwrap_err(), SealError::OtherDeviceKey);
        }
    }
}

#[test]
fn verifying_says_what_has_no_tag_and_what_is_not_sealed() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let choice = Choice { exclude: vec![".data".into()], ..Choice::default() };
    for integrity in [None, Some(Integrity::new(8, 8).unwrap())] {
        let settings = Settings { choice: choice.clone(), integrity, ..settings(seal_of) };
        let container = seal(&image(Machine::of(Target::Sparc)), &settings, &key, &device(2)).unwrap();
        let verified = container.verify(&container.unlock(&device(2)).unwrap());
        let lines = 0xe + 2;
        let expected = if integrity.is_some() { (lines, 0) } else { (0, lines) };
        assert_eq!((verified.tagged_lines, verified.untagged_lines), expected);
        assert_eq!(verified.plain_bytes, 0x41);
    }
}

#[test]
fn an_image_goes_through_a_container_as_it_was() {
    let machine = Machine::of(Target::Rv32);
    let packed = image(machine).into_image().unwrap();
    assert_eq!(packed.target, Target::Rv32);
    let (seal_of, key) = seals(&mut Seeded::new()).remove(3);
    let container = seal(&packed.clone().into(), &settings(seal_of), &key, &device(2)).unwrap();
    let unsealed = container.unseal(&container.unlock(&device(2)).unwrap()).unwrap();
    assert_eq!(unsealed.into_image(), Some(packed));
    assert_eq!(image(Machine { number: 40, ..machine }).into_image(), None);
    assert_eq!(image(Machine { is_big_endian: true, ..machine }).into_image(), None);
}

#[test]
fn programs_of_the_corpus_come_back_from_every_seal() {
    for name in ["sparc/search.elf", "rv32/search.elf"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name);
        let Ok(file) = std::fs::read(path) else {
            assert!(
                std::env::var_os("CI").is_none(),
                "corpus/{name} is missing, and under CI it must not be"
            );
            eprintln!("skip: sealing {name}: there is no corpus");
            return;
        };
        let sections = Sections::parse(&file).unwrap();
        let image = Unsealed { sections, dictionary: Dictionary::default(), map: Vec::new() };
        for (seal_of, key) in seals(&mut Seeded::new()) {
            for integrity in [None, Some(Integrity::new(4, 8).unwrap())] {
                let settings = Settings { integrity, ..settings(seal_of) };
                let container = seal(&image, &settings, &key, &device(2)).unwrap();
                let read = Container::parse(&container.to_bytes()).unwrap();
                assert_eq!(read.unseal(&read.unlock(&device(2)).unwrap()).as_ref(), Ok(&image), "{seal_of}");
            }
        }
    }
}

/// Sections of an image for a choice of them.
fn choose(choice: Choice) -> Result<Vec<String>, SealError> {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let settings = Settings { choice, ..settings(seal_of) };
    let container = seal(&image(Machine::of(Target::Sparc)), &settings, &key, &device(2))?;
    let unlocked = container.unlock(&device(2)).unwrap();
    assert_eq!(container.unseal(&unlocked).unwrap(), image(Machine::of(Target::Sparc)));
    let sealed = container.entries().iter().filter(|entry| entry.is_sealed && entry.role != Role::Dictionary);
    Ok(sealed.map(|entry| entry.name.clone()).collect())
}

#[test]
fn sections_are_chosen_by_kind_and_by_name() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let choice = |kinds: &[Kind], include: &[&str], exclude: &[&str]| Choice {
        kinds: kinds.to_vec(),
        include: names(include),
        exclude: names(exclude),
    };
    let all = [Kind::Code, Kind::Constants, Kind::Data];
    assert_eq!(choose(choice(&all, &[], &[])), Ok(names(&[".traps", ".text", ".rodata", ".data"])));
    assert_eq!(choose(choice(&[Kind::Code], &[], &[])), Ok(names(&[".traps", ".text"])));
    assert_eq!(choose(choice(&[Kind::Code], &[".data"], &[".traps"])), Ok(names(&[".text", ".data"])));
    assert_eq!(choose(choice(&[], &[], &[])), Err(SealError::NothingToSeal));
    let missing = SealError::NoSuchSection { name: ".init".into() };
    assert_eq!(choose(choice(&all, &[], &[".init"])), Err(missing.clone()));
    assert_eq!(choose(choice(&all, &[".init"], &[])), Err(missing));
    let both = SealError::Contradiction { name: ".text".into() };
    assert_eq!(choose(choice(&all, &[".text"], &[".text"])), Err(both));
}

/// A section from an address on.
fn section(name: &str, first: u32, bytes: u32) -> Section {
    Section { name: name.into(), kind: Kind::Code, first, bytes: counted(bytes, first) }
}

fn of(sections: Vec<Section>) -> Unsealed {
    let machine = Machine::of(Target::Rv32);
    let entry = sections[0].first;
    let sections = Sections { machine, entry, sections, zeros: Vec::new() };
    Unsealed { sections, dictionary: Dictionary::default(), map: Vec::new() }
}

#[test]
fn two_sections_in_one_line_are_sealed_both_or_not_at_all() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let image = of(vec![section("a", 0x104, 5), section("b", 0x10c, 0x14), section("c", 0x130, 3)]);
    let sealed = |exclude: &[&str]| {
        let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
        let settings = Settings { choice: Choice { exclude, ..Choice::default() }, ..settings(seal_of) };
        seal(&image, &settings, &key, &device(2)).map(|container| {
            let unlocked = container.unlock(&device(2)).unwrap();
            assert_eq!(container.unseal(&unlocked).unwrap(), image);
            container.spans().iter().map(|span| (span.first, span.bytes.len())).collect::<Vec<_>>()
        })
    };
    let shared = SealError::SharedLine { address: 0x100, lower: "a".into(), upper: "b".into() };
    assert_eq!(sealed(&[]), Ok(vec![(0x100, 0x20), (0x130, 0x10)]));
    assert_eq!(sealed(&["a", "b"]), Ok(vec![(0x104, 5), (0x10c, 0x14), (0x130, 0x10)]));
    assert_eq!(sealed(&["a"]), Err(shared.clone()));
    assert_eq!(sealed(&["b"]), Err(shared));
}

#[test]
fn the_rest_of_a_line_is_filled_and_holds_nothing_old() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let image = of(vec![section("a", 0x104, 5), section("b", 0x12a, 0x0b)]);
        let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
        let unlocked = container.unlock(&device(2)).unwrap();
        for span in container.spans() {
            let mut bytes = span.bytes.clone();
            unlocked.cipher.open_all(span.first, &mut bytes);
            for (address, byte) in (span.first..).zip(bytes) {
                let section = image.sections.sections.iter().find(|section| {
                    address >= section.first && address < section.first + section.bytes.len() as u32
                });
                let expected =
                    section.map_or(FILLER, |section| section.bytes[(address - section.first) as usize]);
                assert_eq!(byte, expected, "{address:#x}");
            }
        }
    }
}

#[test]
fn memory_ends_with_its_last_line() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let image = of(vec![section("first", 0, 1), section("last", u32::MAX - 2, 2)]);
        let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
        let read = Container::parse(&container.to_bytes()).unwrap();
        let unlocked = read.unlock(&device(2)).unwrap();
        assert_eq!(read.unseal(&unlocked).unwrap(), image);
        let integrity = Some(Integrity::new(8, 16).unwrap());
        let full = Settings { integrity, ..settings(seal_of) };
        let refused = SealError::TablesPlace { first: 1 << 32, bytes: 32 };
        assert_eq!(seal(&image, &full, &key, &device(2)), Err(refused));
        let placed = Settings { tables_first: Some(0x40), ..full };
        let container = seal(&image, &placed, &key, &device(2)).unwrap();
        assert_eq!(container.unseal(&container.unlock(&device(2)).unwrap()).unwrap(), image);
    }
}

#[test]
fn an_arm_image_that_is_copied_at_its_start_is_sealed_where_it_is_loaded() {
    let machine = Machine { number: 40, flags: 0x0500_0200, is_big_endian: false };
    let part = |name, flags, kind, virtual_first, first, bytes| Part {
        name,
        flags,
        kind,
        virtual_first,
        first,
        bytes,
    };
    let file = elf(
        machine,
        0x0800_0101,
        &[
            part(".text", 6, 1, 0x0800_0000, 0x0800_0000, counted(0x123, 1)),
            part(".data", 3, 1, 0x2000_0000, 0x0800_0124, counted(0x21, 2)),
            part(".bss", 3, 8, 0x2000_0024, 0, vec![0; 0x40]),
        ],
        true,
    );
    let sections = Sections::parse(&file).unwrap();
    assert_eq!(sections.sections[1].first, 0x0800_0124);
    let image = Unsealed { sections, dictionary: Dictionary::default(), map: Vec::new() };
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let integrity = Some(Integrity::new(4, 16).unwrap());
        let settings = Settings { integrity, ..settings(seal_of) };
        let container = seal(&image, &settings, &key, &device(2)).unwrap();
        assert_eq!(container.unseal(&container.unlock(&device(2)).unwrap()).unwrap(), image);
        // Tags lie behind what is loaded, not behind what is used.
        assert_eq!(container.entry_of(Role::Tags).unwrap().first, 0x0800_0150);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sections_come_back(
        seed: u64, number in 0..SEALS.len(), integrity in prop::sample::select(INTEGRITIES.to_vec()),
        gaps in proptest::collection::vec((0u32..60, 1u32..300), 1..8), first in 0u32..1 << 31,
    ) {
        let mut randomness = Seeded::from(seed);
        let mut next = first;
        let mut sections = Vec::new();
        for (index, (gap, length)) in gaps.into_iter().enumerate() {
            let bytes = randomness.bytes(length as usize);
            sections.push(Section { name: format!("s{index}"), kind: Kind::Data, first: next + gap, bytes });
            next += gap + length;
        }
        let image = of(sections);
        let (seal_of, key) = seals(&mut randomness).remove(number);
        let integrity = integrity.map(|(lines, bytes)| Integrity::new(lines, bytes).unwrap());
        let container = seal(&image, &Settings { integrity, ..settings(seal_of) }, &key, &device(2)).unwrap();
        let read = Container::parse(&container.to_bytes()).unwrap();
        prop_assert_eq!(&read, &container);
        prop_assert_eq!(read.unseal(&read.unlock(&device(2)).unwrap()).unwrap(), image);
    }

    /// A container has one form only: what is read is written as the same bytes.
    #[test]
    fn what_is_read_from_changed_bytes_is_written_as_the_same(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        number in 0..SEALS.len(),
    ) {
        let seal_and_key: (Seal, ImageKey) = seals(&mut Seeded::from(7)).remove(number);
        let mut bytes = sealed(&seal_and_key, Some((4, 8))).to_bytes();
        for (place, byte) in changes {
            // Mostly where descriptions are.
            let at = 16 + place.index(240);
            bytes[at] = byte;
        }
        let bytes = with_checksum(bytes);
        if let Ok(read) = Container::parse(&bytes) {
            prop_assert_eq!(read.to_bytes(), bytes);
            if let Ok(unlocked) = read.unlock(&device(2)) {
                let _ = read.verify(&unlocked);
                let _ = read.unseal(&unlocked);
            }
        }
    }
}
