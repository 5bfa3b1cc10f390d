//! ELF images: what avr-gcc links is read, what nobody linked is refused with words.

use std::path::Path;
use std::process::Command;

use isa::avr::image::{Image, Space};
use isa::avr::{ATMEGA128, ImageError};
use proptest::prelude::*;

/// An ELF file of one flash segment, written by hand from the ELF specification: header, one program header,
/// content.
fn elf(machine: u16, kind: u16, flags: u32, load: u32, content: &[u8]) -> Vec<u8> {
    let mut file = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0];
    file.resize(16, 0);
    let words16 =
        |file: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    let words32 =
        |file: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| file.extend(v.to_le_bytes()));
    words16(&mut file, &[kind, machine]);
    words32(&mut file, &[1, 0, 52, 0, flags]);
    words16(&mut file, &[52, 32, 1, 0, 0, 0]);
    let bytes = content.len() as u32;
    words32(&mut file, &[1, 84, load, load, bytes, bytes, 5, 1]);
    file.extend(content);
    file
}

#[test]
fn a_hand_written_file_is_read() {
    let image = Image::parse(&elf(83, 2, 51, 0x10, &[1, 2, 3])).expect("a well-formed file");
    assert_eq!(image.architecture, 51);
    assert_eq!((image.flash[0].address, &image.flash[0].bytes[..]), (0x10, &[1, 2, 3][..]));
}

#[test]
fn errors_name_what_was_found_and_expected() {
    let words = |file: &[u8]| Image::parse(file).expect_err("a file to refuse").to_string();
    assert!(words(b"").starts_with("not a readable 32-bit ELF file: "));
    assert!(words(&elf(83, 2, 51, 0, &[0; 8])[..80]).starts_with("not a readable 32-bit ELF file: "));
    assert_eq!(
        words(&elf(62, 2, 51, 0, &[0])),
        "not an AVR program: found machine 62, expected 83\nhelp: link it with avr-gcc"
    );
    assert_eq!(
        words(&elf(83, 1, 51, 0, &[0])),
        "not a linked program: found ELF type 1, expected 2\nhelp: link it with avr-gcc"
    );
    assert_eq!(
        words(&elf(83, 2, 51, 0x7f_fffe, &[0; 4])),
        "segment outside flash: found 0x7ffffe to 0x800002, expected at most 0x800000"
    );
    assert_eq!(
        words(&elf(83, 2, 51, 0x80_0100, &[0; 4])),
        "segment has no memory: found load address 0x800100, expected flash or EEPROM"
    );
    assert_eq!(words(&elf(83, 2, 51, 0, &[])), "program is empty: found no segment to load");
}

#[test]
fn what_avr_gcc_links_has_its_data_in_flash_and_its_symbols_in_their_spaces() {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        eprintln!("skip: reading what avr-gcc links: avr-gcc is not installed");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image");
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    let source = "#include <avr/eeprom.h>
        volatile unsigned data = 0xBEEF; volatile char bss[7]; unsigned char EEMEM stored[3] = { 1, 2, 3 };
        int main(void) { bss[0] = data; return 0; }";
    std::fs::write(folder.join("a.c"), source).expect("write the source");
    let arguments = ["-mmcu=atmega128", "-Os", "a.c", "-o", "a.elf"];
    let status = Command::new("avr-gcc").args(arguments).current_dir(&folder).status().expect("avr-gcc runs");
    assert!(status.success());
    let file = std::fs::read(folder.join("a.elf")).expect("read what avr-gcc linked");
    let image = Image::parse(&file).expect("what avr-gcc links is an image");

    assert_eq!(image.architecture, ATMEGA128.architecture);
    let symbol = |name: &str| image.symbol(name).unwrap_or_else(|| panic!("symbol {name}"));
    assert_eq!((symbol("data").space, symbol("data").bytes), (Space::Data, 2));
    assert_eq!((symbol("bss").space, symbol("bss").bytes), (Space::Data, 7));
    assert_eq!((symbol("stored").space, symbol("stored").address), (Space::Eeprom, 0));
    assert!(symbol("main").function && symbol("main").space == Space::Flash);
    assert_eq!(image.eeprom[0].bytes, [1, 2, 3]);
    let end_of_code = symbol("_etext").address;
    let behind = image.flash.iter().find(|segment| {
        segment.address <= end_of_code && {
            let at = (end_of_code - segment.address) as usize;
            segment.bytes.get(at..at + 2) == Some(&[0xef, 0xbe])
        }
    });
    assert!(behind.is_some(), "the initial value of `data` lies in flash behind the code");

    for cut in (0..file.len()).step_by(97) {
        let _ = Image::parse(&file[..cut]);
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Image::parse(&bytes);
    }

    #[test]
    fn no_damage_makes_the_reader_panic(damage in proptest::collection::vec((0..120_usize, any::<u8>()), 1..8)) {
        let mut file = elf(83, 2, 51, 0, &[0x55; 40]);
        for (at, value) in damage {
            file[at] = value;
        }
        match Image::parse(&file) {
            Ok(image) => prop_assert!(image.flash.iter().all(|segment| !segment.bytes.is_empty())),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn overlapping_segments_are_refused() {
    let mut file = elf(83, 2, 51, 0, &[0x55; 40]);
    // A second program header over the content's first bytes: load 20 bytes at flash 30.
    file[44] = 2;
    for (index, value) in [1_u32, 84, 30, 30, 20, 20, 5, 1].into_iter().enumerate() {
        file[84 + 4 * index..88 + 4 * index].copy_from_slice(&value.to_le_bytes());
    }
    assert_eq!(Image::parse(&file), Err(ImageError::Overlap { address: 30 }));
}
