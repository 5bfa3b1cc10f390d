//! Images that are sealed, verified and unsealed; and containers that something happened to.

mod made;

use made::{IMAGE, Part, Seeded, TABLES, counted, device, elf, image, seal, sealed, seals, settings, unlock};
use pack::container::{MAGIC, VERSION, with_checksum};
use pack::image::{Kind, Section, Zeros};
use pack::integrity::{ImageName, Integrity};
use pack::limits::{FAULTS_KEPT, ZEROS_BYTES_MAX};
use pack::lines::{Choice, FILLER, Role};
use pack::seal::{SEALS, Seal};
use pack::sealed::{Expected, Settings, Unsealed, seal_under_given_nonce};
use pack::sections::Machine;
use pack::{Container, SealError, Sections, Target};
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
                let unlocked = unlock(&read, 3);
                let verified = unlocked.verify();
                assert_eq!(verified.faults, []);
                assert_eq!(verified.plain_bytes, 0);
                let lines = verified.tagged_lines + verified.untagged_lines;
                assert_eq!(verified.tagged_lines, if integrity.is_some() { lines } else { 0 });
                assert_eq!(verified.tags, read.groups().map_or(0, |groups| groups.count()));
                assert_eq!(verified.is_legacy, seal_of == Seal::Ecb);
                assert_eq!(unlocked.unseal().unwrap(), image(machine), "{seal_of}");
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
        assert_eq!((word(20), word(24), word(28)), (0, 0x1030, IMAGE.version));
        assert_eq!(bytes[32..40], *b"selvedge");
        assert_eq!(bytes[40..52], seal.start());
        assert_eq!((bytes[52], bytes[53], half(54), half(56), half(58), word(60)), (4, 8, 6, 1, 2, 9));
        let mut at = 64 + usize::from(bytes[19]);
        assert_eq!(bytes[64..at], device(2).wrap_key(key));
        let tags = TABLES + 32_u32.next_multiple_of(seal.row().granule_bytes);
        let sections: [(&str, [u8; 2], u32, u32); 6] = [
            (".traps", [0, 1], 0x1000, 0x30),
            (".text", [0, 1], 0x1030, 0x9c),
            (".rodata", [1, 1], 0x10d0, 0x0d),
            (".data", [2, 1], 0x2004, 0x41),
            // Where it was said; then, at the next granule, tags of groups of four lines: of 0x1000 to 0x10e0, of
            // 0x2000 to 0x2050, and of the dictionary's two lines.
            (".dictionary", [3, 1], TABLES, 28),
            (".tags", [4, 0], tags, 8 * (4 + 2 + 1)),
        ];
        for (name, kind_and_sealed, first, length) in sections {
            assert_eq!(bytes[at..at + 2], kind_and_sealed, "{name}");
            assert_eq!((usize::from(bytes[at + 2]), bytes[at + 3]), (name.len(), 0));
            assert_eq!((word(at + 4), word(at + 8)), (first, length), "{name}");
            assert_eq!(bytes[at + 12..at + 12 + name.len()], *name.as_bytes());
            at += 12 + name.len();
        }
        assert_eq!((word(at), word(at + 4)), (0x2048, 0x100));
        at += 8;
        assert_eq!([word(at), word(at + 4), word(at + 8), word(at + 12)], [0x1030, 0x40, 0x1074, 0x58]);
        at += 16;
        assert_eq!((word(at), word(at + 4)), (0x4000, 0x1030));
        let memory_bytes = 0xe0 + 0x50 + 0x20 + 8 * 7;
        assert_eq!(at + 9 * 8 + 16 + memory_bytes, bytes.len());
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
                let (unlocked, faults) = (unlock(&changed, 2), std::slice::from_ref(&fault));
                let verified = unlocked.verify();
                assert_eq!((verified.faults.as_slice(), verified.fault_count), (faults, 1));
                assert_eq!(unlocked.unseal(), Err(fault));
            }
        }
    }
}

/// Whatever stands in the description: it is refused, or its key does not unwrap, or its tag does not match; and
/// nothing of it is taken before.
#[test]
fn a_changed_description_is_refused_or_found_by_its_tag() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let container = sealed(&seal_and_key, Some((4, 8)));
        let bytes = container.to_bytes();
        let memory_bytes: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
        let (mut unread, mut unwrapped, mut untagged) = (0, 0, 0);
        for bit in 16 * 8..(bytes.len() - memory_bytes) * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let Ok(read) = Container::parse(&with_checksum(changed)) else {
                unread += 1;
                continue;
            };
            match read.unlock(&device(2), &Expected::default()).map(|_| ()) {
                Err(SealError::OtherDeviceKey) => unwrapped += 1,
                Err(SealError::DescriptionTag) => untagged += 1,
                other => panic!("bit {bit}: {other:?}"),
            }
        }
        assert_eq!(unwrapped, 8 * usize::from(bytes[19]), "every bit of the wrapped key");
        // Machine, entry, version and id, the map's new places, and the tag itself, at least.
        assert!(untagged > 8 * (2 + 4 + 4 + 4 + 8 + 9 * 4 + 16), "{untagged} bits found by the tag");
        assert!(unread > 8 * 8, "{unread} bits refused");
    }
}

/// Nothing vouches for the id and the version of a container without tags: it is refused by the same name as where
/// tags are expected, even where both are what was asked for.
#[test]
fn what_a_device_expects_is_asked_before_it_is_given_anything_and_only_tags_can_answer() {
    let none = Expected::default();
    assert_eq!((none.tags, none.id, none.least_version), (false, None, 0));
    for seal_and_key in seals(&mut Seeded::new()) {
        for (integrity, has_tags) in [(None, false), (Some((4, 8)), true)] {
            let container = sealed(&seal_and_key, integrity);
            let asked = |expected: &Expected| container.unlock(&device(2), expected).map(|_| ());
            let least_version = IMAGE.version;
            assert_eq!(asked(&none), Ok(()));
            for met in [
                Expected { tags: true, ..none },
                Expected { id: Some(IMAGE.id), ..none },
                Expected { least_version, ..none },
                Expected { tags: true, id: Some(IMAGE.id), least_version },
            ] {
                let expected = if has_tags { Ok(()) } else { Err(SealError::NoTags) };
                assert_eq!(asked(&met), expected, "{met:?}");
            }
            if !has_tags {
                continue;
            }
            let other = SealError::OtherImage { found: IMAGE.id, expected: *b"selvedgf" };
            assert_eq!(asked(&Expected { id: Some(*b"selvedgf"), ..none }), Err(other));
            let least = IMAGE.version + 1;
            let old = SealError::OldImage { found: IMAGE.version, least };
            assert_eq!(asked(&Expected { least_version: least, ..none }), Err(old));
        }
    }
}

/// The memory of one container under the description of another that is laid out the same.
fn grafted(description: &Container, memory: &Container) -> Container {
    let (mut bytes, other) = (description.to_bytes(), memory.to_bytes());
    let memory = bytes.len() - description.spans().iter().map(|span| span.bytes.len()).sum::<usize>();
    bytes[memory..].copy_from_slice(&other[memory..]);
    Container::parse(&with_checksum(bytes)).unwrap()
}

#[test]
fn lines_of_another_address_version_or_image_are_found() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let integrity = Some(Integrity::new(1, 16).unwrap());
        let made = |name: ImageName| {
            let settings = Settings { integrity, image: name, ..settings(seal_of) };
            let image = image(Machine::of(Target::Sparc));
            seal_under_given_nonce(&image, &settings, seal_of, &key, &device(2)).unwrap()
        };
        let container = made(IMAGE);
        let bytes = container.to_bytes();
        let memory = bytes.len() - container.spans().iter().map(|span| span.bytes.len()).sum::<usize>();
        let tags = bytes.len() - container.entry_of(Role::Tags).unwrap().bytes as usize;
        // A line and its tag, put where another is.
        let mut moved = bytes.clone();
        moved.copy_within(memory..memory + 16, memory + 32);
        moved.copy_within(tags..tags + 16, tags + 32);
        let faults = unlock(&Container::parse(&with_checksum(moved)).unwrap(), 2).verify().faults;
        assert_eq!(faults, [SealError::Tag { index: 2, first: 0x1020, lines: 1 }]);
        // All lines of an image with another name, under the same key and nonce.
        let groups = container.groups().unwrap().count();
        for other in [ImageName { version: 2, ..IMAGE }, ImageName { id: *b"selvedgf", ..IMAGE }] {
            assert_eq!(unlock(&grafted(&container, &made(other)), 2).verify().fault_count, groups);
        }
        assert_eq!(unlock(&grafted(&container, &made(IMAGE)), 2).verify().fault_count, 0);
    }
}

#[test]
fn the_first_faults_are_kept_and_all_are_counted() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let image = of(vec![section("a", 0x1000, 16 * 100)]);
    let settings = Settings { integrity: Some(Integrity::new(1, 8).unwrap()), ..settings(seal_of) };
    let container = seal(&image, &settings, &key, &device(2)).unwrap();
    let mut bytes = container.to_bytes();
    let memory = bytes.len() - 100 * (16 + 8);
    // All lines but the first three, and the last.
    bytes[memory + 3 * 16..memory + 99 * 16].iter_mut().for_each(|byte| *byte ^= 0x55);
    let changed = Container::parse(&with_checksum(bytes)).unwrap();
    let verified = unlock(&changed, 2).verify();
    assert_eq!((verified.tags, verified.fault_count), (100, 96));
    let fault = |index: u32| SealError::Tag { index, first: 0x1000 + 16 * index, lines: 1 };
    assert_eq!(verified.faults, (3..3 + FAULTS_KEPT as u32).map(fault).collect::<Vec<_>>());
    let unlocked = unlock(&changed, 2);
    assert_eq!(unlocked.unseal(), Err(fault(3)));
    assert_eq!((unlocked.verify_group(2), unlocked.verify_group(3)), (Ok(()), Err(fault(3))));
}

#[test]
fn a_legacy_seal_is_refused_where_it_seals_and_marked_where_it_is_read() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let strict = Settings { allow_legacy: false, ..settings(seal_of) };
        let made = seal(&image(Machine::of(Target::Sparc)), &strict, &key, &device(2)).map(|_| ());
        let refused = Err(SealError::Legacy { seal: seal_of.row().seal });
        assert_eq!(made, if seal_of == Seal::Ecb { refused } else { Ok(()) });
    }
}

#[test]
fn a_nonce_is_drawn_for_each_image_and_otfdec_s_version_is_the_image_s() {
    let mut randomness = Seeded::new();
    for (seal_of, key) in seals(&mut randomness) {
        let image = image(Machine::of(Target::Sparc));
        let mut made =
            || pack::sealed::seal(&image, &settings(seal_of), &key, &device(2), &mut randomness).unwrap();
        let row = seal_of.row();
        assert_eq!(made().seal() != made().seal(), row.nonce_bytes > 0, "{seal_of}");
        if row.layout == Some("otfdec") {
            let start = made().seal().start();
            assert_eq!(u16::from_le_bytes([start[8], start[9]]), IMAGE.version as u16);
        }
    }
    let broken = |_: &mut [u8]| Err(std::io::Error::other("no noise"));
    let (seal_of, key) = seals(&mut Seeded::new()).remove(3);
    let image = image(Machine::of(Target::Sparc));
    let made = pack::sealed::seal(&image, &settings(seal_of), &key, &device(2), &mut Noise(broken));
    assert_eq!(made, Err(SealError::Randomness { why: "no noise".into() }));
}

/// Randomness from a function.
struct Noise<F>(F);

impl<F: FnMut(&mut [u8]) -> std::io::Result<()>> cipher::Randomness for Noise<F> {
    fn fill(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.0(bytes)
    }
}

#[test]
fn an_image_for_another_device_is_refused_by_name() {
    for seal_and_key in seals(&mut Seeded::new()) {
        let container = sealed(&seal_and_key, None);
        for byte in [3, 4, 5] {
            let refused = container.unlock(&device(byte), &Expected::default()).map(|_| ());
            assert_eq!(refused, Err(SealError::OtherDeviceKey));
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
        let verified = unlock(&container, 2).verify();
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
    let unsealed = unlock(&container, 2).unseal().unwrap();
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
        let image = Unsealed::from(sections);
        for (seal_of, key) in seals(&mut Seeded::new()) {
            for integrity in [None, Some(Integrity::new(4, 8).unwrap())] {
                let settings = Settings { integrity, ..settings(seal_of) };
                let container = seal(&image, &settings, &key, &device(2)).unwrap();
                let read = Container::parse(&container.to_bytes()).unwrap();
                assert_eq!(unlock(&read, 2).unseal().as_ref(), Ok(&image), "{seal_of}");
            }
        }
    }
}

/// Sections of an image for a choice of them.
fn choose(choice: Choice) -> Result<Vec<String>, SealError> {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let settings = Settings { choice, ..settings(seal_of) };
    let container = seal(&image(Machine::of(Target::Sparc)), &settings, &key, &device(2))?;
    let unlocked = unlock(&container, 2);
    assert_eq!(unlocked.unseal().unwrap(), image(Machine::of(Target::Sparc)));
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
    Unsealed::from(sections)
}

#[test]
fn two_sections_in_one_line_are_sealed_both_or_not_at_all() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let image = of(vec![section("a", 0x104, 5), section("b", 0x10c, 0x14), section("c", 0x130, 3)]);
    let sealed = |exclude: &[&str]| {
        let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
        let settings = Settings { choice: Choice { exclude, ..Choice::default() }, ..settings(seal_of) };
        seal(&image, &settings, &key, &device(2)).map(|container| {
            let unlocked = unlock(&container, 2);
            assert_eq!(unlocked.unseal().unwrap(), image);
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
        let (cipher, authenticator) = unlock(&container, 2).into_keys();
        assert!(authenticator.is_none());
        for span in container.spans() {
            let mut bytes = span.bytes.clone();
            cipher.open_all(span.first, &mut bytes);
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
        // Behind the first is no room: what lies there is zero at the start.
        let mut image = of(vec![section("first", 0, 1), section("last", u32::MAX - 2, 2)]);
        image.sections.zeros = vec![Zeros { first: 0x10, bytes: 0x2ff0 }];
        let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
        let read = Container::parse(&container.to_bytes()).unwrap();
        let unlocked = unlock(&read, 2);
        assert_eq!(unlocked.unseal().unwrap(), image);
        let integrity = Some(Integrity::new(8, 16).unwrap());
        let full = Settings { integrity, tables_first: None, ..settings(seal_of) };
        let granule_bytes = seal_of.row().granule_bytes;
        let refused = SealError::TablesPlace { first: 1 << 32, bytes: 32, granule_bytes };
        assert_eq!(seal(&image, &full, &key, &device(2)), Err(refused));
        let placed = Settings { tables_first: Some(0x4000), ..full };
        let container = seal(&image, &placed, &key, &device(2)).unwrap();
        assert_eq!(unlock(&container, 2).unseal().unwrap(), image);
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
    let image = Unsealed::from(sections);
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let integrity = Some(Integrity::new(4, 16).unwrap());
        let settings = Settings { integrity, tables_first: Some(0x0801_0000), ..settings(seal_of) };
        let container = seal(&image, &settings, &key, &device(2)).unwrap();
        assert_eq!(unlock(&container, 2).unseal().unwrap(), image);
        assert_eq!(container.entry_of(Role::Tags).unwrap().first, 0x0801_0000);
        // Nobody says that initialisers in flash are not written where they lie.
        let placed = Settings { tables_first: None, ..settings };
        let refused = SealError::TablesFirst { behind: "`.data`, which is data".into() };
        assert_eq!(seal(&image, &placed, &key, &device(2)), Err(refused));
    }
}

#[test]
fn memory_that_is_not_sealed_shares_no_granule_with_what_is() {
    for (seal_of, key) in seals(&mut Seeded::new()) {
        let granule_bytes = seal_of.row().granule_bytes;
        let image =
            of(vec![section("a", 0x10_0000, 5), section("b", 0x10_0010, 5), section("c", 0x10_1000, 5)]);
        let exclude = vec!["b".to_owned()];
        let settings = Settings { choice: Choice { exclude, ..Choice::default() }, ..settings(seal_of) };
        let (lower, upper) = ("a".into(), "b".into());
        let shared = SealError::SharedGranule { address: 0x10_0000, granule_bytes, lower, upper };
        let made = seal(&image, &settings, &key, &device(2)).map(|_| ());
        assert_eq!(made, if granule_bytes > 16 { Err(shared.clone()) } else { Ok(()) }, "{seal_of}");
        // As a container that somebody else made: of two sections that are sealed, one is not.
        let whole = Settings { choice: Choice::default(), ..settings };
        let mut bytes = seal(&image, &whole, &key, &device(2)).unwrap().to_bytes();
        let second = 64 + usize::from(bytes[19]) + 13;
        bytes[second + 1] = 0;
        bytes.truncate(bytes.len() - 11);
        let (start, length) = (bytes.len() - 16 - 5 - 16, bytes.len() as u32);
        bytes[start] = 0;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        let read = Container::parse(&with_checksum(bytes)).map(|_| ());
        assert_eq!(read, if granule_bytes > 16 { Err(shared) } else { Ok(()) }, "{seal_of}");
    }
}

#[test]
fn a_name_with_a_zero_in_it_is_refused() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let image = of(vec![section("a\0b", 0x1000, 16)]);
    let made = seal(&image, &settings(seal_of), &key, &device(2));
    assert_eq!(made, Err(SealError::Name { name: "a\0b".into() }));
    let image = of(vec![section("a_b", 0x1000, 16)]);
    let mut bytes = seal(&image, &settings(seal_of), &key, &device(2)).unwrap().to_bytes();
    let at = 64 + 40 + 12;
    assert_eq!(bytes[at..at + 3], *b"a_b");
    bytes[at + 1] = 0;
    let name = "a section's name";
    let refused = SealError::Field { name, at, found: 3, expected: "bytes of UTF-8 without a zero" };
    assert_eq!(Container::parse(&with_checksum(bytes)), Err(refused));
}

#[test]
fn an_image_whose_zeros_overlap_or_pass_memory_is_a_bug_of_who_made_it() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let zeros = |first, bytes| Zeros { first, bytes };
    for wrong in [
        vec![zeros(0x40, 16), zeros(0x20, 16)],
        vec![zeros(0x20, 16), zeros(0x2f, 1)],
        vec![zeros(0x20, 0)],
        vec![zeros(u32::MAX, 2)],
    ] {
        let mut image = of(vec![section("a", 0x1000, 16)]);
        image.sections.zeros = wrong;
        let made = std::panic::catch_unwind(|| seal(&image, &settings(seal_of), &key, &device(2)));
        let words = made.unwrap_err();
        let words = words.downcast_ref::<&str>().expect("an assertion has words");
        assert_eq!(*words, "zeros ascend, and end with memory");
    }
}

/// Who runs an image makes all memory that it says is zero.
#[test]
fn more_zeros_than_are_taken_are_named_where_they_are_sealed_and_where_they_are_read() {
    let found = ZEROS_BYTES_MAX + 1;
    let refused = SealError::TooMany { what: "bytes of zeros", found, limit: ZEROS_BYTES_MAX };
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let mut image = of(vec![section("a", 0x1000, 16)]);
    let half = (ZEROS_BYTES_MAX / 2) as u32;
    image.sections.zeros =
        vec![Zeros { first: 0x10_0000, bytes: half }, Zeros { first: 0x4000_0000, bytes: half + 1 }];
    let made = seal(&image, &settings(seal_of), &key, &device(2));
    assert_eq!(made, Err(refused.clone()));
    // As a container that somebody else made: what it has, and longer.
    let bytes = sealed(&(seal_of, key), Some((4, 8))).to_bytes();
    let zeros = [0x2048_u32, 0x100].map(u32::to_le_bytes).concat();
    let at = bytes.windows(8).position(|window| window == zeros).expect("it has zeros") + 4;
    let read = |length: u64| {
        let mut longer = bytes.clone();
        longer[at..at + 4].copy_from_slice(&(length as u32).to_le_bytes());
        Container::parse(&with_checksum(longer)).map(|_| ())
    };
    assert_eq!(read(ZEROS_BYTES_MAX), Ok(()));
    assert_eq!(read(found), Err(refused));
}

/// Each field that is wrong is named with its own offset.
#[test]
fn wrong_fields_are_named_where_they_stand() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let bytes = sealed(&(seal_of, key), Some((4, 8))).to_bytes();
    let records = 64 + usize::from(bytes[19]);
    let names = [".traps", ".text", ".rodata", ".data"].map(|name| 12 + name.len());
    let dictionary = records + names.iter().sum::<usize>();
    let tags = dictionary + 12 + ".dictionary".len();
    let zeros = tags + 12 + ".tags".len();
    let text = zeros + 8;
    let map = text + 16;
    let fields = [
        ("a flag", 6, 7),
        ("the seal", 18, 9),
        ("the wrapped key's length", 19, 24),
        ("what a section holds", records, 7),
        ("the number of sections of blocks", records, 5),
        ("whether a section is sealed", records + 1, 2),
        ("a reserved field", records + 3, 1),
        ("a length", records + 8, 0),
        ("a first address", records + names[0] + 4 + 1, 0),
        ("whether the dictionary is sealed", dictionary + 1, 0),
        ("the dictionary's length", dictionary + 8, 27),
        ("the number of dictionaries", tags, 3),
        ("whether the table of tags is sealed", tags + 1, 1),
        ("the table's length", tags + 8, 1),
        ("the number of tables of tags", tags, 4),
        ("the flag of tags", tags, 1),
        ("a length", zeros + 4 + 1, 0),
        ("a length", text + 4, 0),
        ("a first address", text + 8, 0),
        ("an old address", map + 8, 0),
    ];
    for (name, at, byte) in fields {
        let mut changed = bytes.clone();
        changed[at] = byte;
        // Where a field has more bytes than that one, the offset is of its first; the flag stands in the head.
        let expected = match name {
            "a length" if at == zeros + 5 => at - 1,
            "a first address" if at == records + names[0] + 5 => at - 1,
            "the flag of tags" => 6,
            "the number of tables of tags" => {
                // Initialisers become another table, which fits the five groups that are left.
                let data = dictionary - names[3];
                changed[data..data + 2].copy_from_slice(&[4, 0]);
                changed[data + 8] = 8 * 5;
                at
            }
            _ => at,
        };
        match Container::parse(&with_checksum(changed)) {
            Err(SealError::Field { name: found, at, .. }) => assert_eq!((found, at), (name, expected)),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// A container has one form only: what is read is written as the same bytes.
#[test]
fn what_is_read_from_changed_bytes_is_written_as_the_same() {
    let mut randomness = Seeded::new();
    for seal_and_key in seals(&mut randomness) {
        for integrity in [None, Some((4, 8))] {
            let bytes = sealed(&seal_and_key, integrity).to_bytes();
            let (mut unread, mut locked, mut taken) = (0, 0, 0);
            for _ in 0..500 {
                let mut changed = bytes.clone();
                for place in randomness.bytes(2).chunks(2) {
                    // Mostly where descriptions are.
                    changed[16 + usize::from(place[0]) % 240] = place[1];
                }
                let changed = with_checksum(changed);
                let Ok(read) = Container::parse(&changed) else {
                    unread += 1;
                    continue;
                };
                assert_eq!(read.to_bytes(), changed);
                let Ok(unlocked) = read.unlock(&device(2), &Expected::default()) else {
                    locked += 1;
                    continue;
                };
                assert_eq!(unlocked.unseal().err(), unlocked.verify().faults.first().cloned());
                taken += 1;
            }
            let counts = (unread, locked, taken);
            assert!(unread > 20 && locked > 20, "{} {integrity:?} {counts:?}", seal_and_key.0);
            // Without tags whatever can be read is taken; with them what was changed is not.
            assert!(integrity.is_some() || taken > 20, "{} {counts:?}", seal_and_key.0);
        }
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
            sections.push(Section { name: format!("s{index}"), kind: Kind::Code, first: next + gap, bytes });
            next += gap + length;
        }
        let image = of(sections);
        let (seal_of, key) = seals(&mut randomness).remove(number);
        let integrity = integrity.map(|(lines, bytes)| Integrity::new(lines, bytes).unwrap());
        let settings = Settings { integrity, tables_first: None, ..settings(seal_of) };
        let container = seal(&image, &settings, &key, &device(2)).unwrap();
        let read = Container::parse(&container.to_bytes()).unwrap();
        prop_assert_eq!(&read, &container);
        prop_assert_eq!(unlock(&read, 2).unseal().unwrap(), image);
    }
}
