//! The words of every error: what was found, what was expected, and help where a fix is known.

use expect_test::{Expect, expect};
use pack::{ElfError, SealError};

fn check(errors: &[&dyn std::fmt::Display], expected: Expect) {
    let words: Vec<String> = errors.iter().map(|error| error.to_string()).collect();
    for words in &words {
        let first = words.chars().next().unwrap();
        assert!(first.is_lowercase() || !first.is_alphabetic(), "{words}");
        assert!(
            !words.ends_with('.') && words.split('\n').skip(1).all(|line| line.starts_with("help: ")),
            "{words}"
        );
    }
    expected.assert_eq(&words.join("\n"));
}

#[test]
fn of_elf_files() {
    check(
        &[
            &ElfError::NotElf { found_bytes: 2 },
            &ElfError::Class64,
            &ElfError::Elf { why: "`.text` lies past the end of the file".into() },
            &ElfError::NotLinked { found: 1 },
            &ElfError::Empty,
            &ElfError::SectionPlace { name: ".data".into(), found: 0x2004, expected: 0x2000 },
            &ElfError::Overlap { address: 0x120 },
            &ElfError::Outside { first: 0xffff_fff0, bytes: 17 },
            &ElfError::TooMany { what: "sections", found: 5000, limit: 4096 },
        ],
        expect![[r#"
            not an ELF file: found 2 bytes that begin otherwise, expected [7f, 45, 4c, 46] at its start
            found an ELF file of 64 bits, expected one of 32
            not a whole ELF file: `.text` lies past the end of the file
            found an ELF file of type 1, expected 2: a program that is linked to its addresses
            help: link it, without `-r`, `-shared` and `-pie`
            found nothing that is loaded, expected a section at least
            section `.data` is used at 0x00002004, expected 0x00002000, where its segment has its bytes
            two sections lie at 0x00000120, expected one
            17 bytes from 0xfffffff0 lie past the end of memory, expected them below 2^32
            found 5000 sections, expected at most 4096"#]],
    );
}

#[test]
fn of_seals_and_keys() {
    check(
        &[
            &SealError::UnknownSeal { found: "rot\u{1b}13".into() },
            &SealError::UnknownLayout { seal: "ctr", found: None },
            &SealError::UnknownLayout { seal: "xts", found: Some("otfad".into()) },
            &SealError::Legacy { seal: "ecb" },
            &SealError::Region { found: 5 },
            &SealError::Integrity { lines: 2, tag_bytes: 8 },
            &SealError::ImageKey { found_bytes: 16, expected_bytes: 32 },
            &SealError::EqualHalves,
            &SealError::DeviceKey { found_bytes: 24 },
            &SealError::OtherDeviceKey,
            &SealError::Randomness { why: "no noise".into() },
        ],
        expect![[r#"
            unknown seal `rot\u{1b}13`, expected `ecb` or `xts` or `ctr`
            seal `ctr` needs a layout, expected `otfdec` or `otfad` or `otfad-swapped` or `mcuboot-xip`
            seal `xts` has no layout `otfad`, expected none
            seal `ecb` shows which lines are equal, expected one that depends on the address
            help: take `ctr` or `xts`; to measure as the paper did, allow legacy seals
            found region 5 of OTFDEC, expected 1 to 4
            found a tag of 8 bytes over 2 lines, expected 8 or 16 bytes over 1, 4 or 8 lines
            found an image key of 16 bytes, expected 32
            both halves of the image key are the same, expected two keys for `xts`
            found a device key of 24 bytes, expected 16 or 32
            the image key does not unwrap under this device key: it is for another device, or was changed
            help: give the device key that the image was sealed with, or take another copy of it
            found no randomness for a nonce: no noise"#]],
    );
}

#[test]
fn of_sections_and_tables() {
    check(
        &[
            &SealError::NoSuchSection { name: ".init".into() },
            &SealError::Contradiction { name: ".text".into() },
            &SealError::NothingToSeal,
            &SealError::SharedLine { address: 0x100, lower: ".text".into(), upper: ".data".into() },
            &SealError::Name { name: "a\0b".into() },
            &SealError::SharedGranule {
                address: 0x1000,
                granule_bytes: 4096,
                lower: ".text".into(),
                upper: ".data".into(),
            },
            &SealError::TablesPlace { first: 0x104, bytes: 40, granule_bytes: 16 },
            &SealError::TablesFirst { behind: "`.data`, which is data".into() },
        ],
        expect![[r#"
            no section is called `.init`, expected one that is loaded
            section `.text` is both included and excluded, expected one of it
            found no section to seal, expected one at least
            sections `.text` and `.data` share the line at 0x00000100, expected both sealed or neither
            help: align the second to 16 bytes, or include or exclude both
            section `a\0b` has a zero in its name, expected none
            sections `.text` and `.data` share the granule of 4096 bytes at 0x00001000, expected both sealed or neither
            help: align the second to 4096 bytes, or include or exclude both
            found no room for 40 bytes of tables at 0x00000104, expected free memory from a multiple of 16 on
            help: give the tables another address
            tables would lie behind `.data`, which is data, where a program may grow, expected code or constants
            help: give the tables an address in memory that the program never uses"#]],
    );
}

#[test]
fn of_containers_and_tags() {
    check(
        &[
            &SealError::Magic { found_bytes: 65 },
            &SealError::Version { found: 2, expected: 1 },
            &SealError::Length { found: 63, expected: 64 },
            &SealError::Checksum { found: 1, expected: 0xdead_beef },
            &SealError::Field { name: "a flag", at: 6, found: 4, expected: "0 but for bits 0 and 1" },
            &SealError::TooMany { what: "pieces of zeros", found: 5000, limit: 4096 },
            &SealError::Gaps { found: 1 << 31, limit: 1 << 28 },
            &SealError::NoTags,
            &SealError::OtherImage { found: *b"selvedg\0", expected: *b"selvedge" },
            &SealError::OldImage { found: 3, least: 4 },
            &SealError::DescriptionTag,
            &SealError::Tag { index: 3, first: 0x4000_0040, lines: 4 },
        ],
        expect![[r#"
            not a sealed image: found 65 bytes that begin otherwise, expected [93, 53, 50, 4b] at its start
            found a container of version 2, expected 1
            found 63 bytes, expected 64: the container was cut or added to
            found the checksum 0x00000001, expected 0xdeadbeef: the container was damaged
            help: take another copy of it
            a flag at offset 6 is 4, expected 0 but for bits 0 and 1
            found 5000 pieces of zeros, expected at most 4096
            found 2147483648 bytes of raw memory with its gaps, expected at most 268435456
            help: write Intel HEX or ELF, which leave gaps out
            found an image without tags, expected one with them
            help: seal it with tags
            found the image `selvedg\x00`, expected `selvedge`
            found an image of version 3, expected 4 or a newer one
            the description is not as sealed: machine, entry, seal, nonce, key, version, id, sections, zeros or map
            tag 3 does not match: of 4 lines from 0x40000040, one is not as sealed"#]],
    );
}
