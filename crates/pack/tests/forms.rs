//! What a sealed image is written as for other tools, read back by binutils and by the plain reader.

mod made;

use std::path::{Path, PathBuf};
use std::process::Command;

use made::{Seeded, device, image, seal, sealed, seals, settings};
use pack::image::{Section, Zeros};
use pack::lines::{FILLER, Role};
use pack::sealed::Unsealed;
use pack::sections::Machine;
use pack::{Container, SealError, Sections, Target, forms};

/// The images of the tests, one of each seal.
fn containers() -> Vec<Container> {
    let mut randomness = Seeded::new();
    seals(&mut randomness).iter().map(|seal_and_key| sealed(seal_and_key, Some((4, 8)))).collect()
}

/// A byte of memory.
fn byte(container: &Container, address: u32) -> u8 {
    container.memory(address, 1).map_or(FILLER, |bytes| bytes[0])
}

#[test]
fn raw_memory_holds_every_span_and_filler_between_them() {
    for container in containers() {
        let (first, bytes) = forms::bin::bin(&container).unwrap();
        let tags = container.entry_of(Role::Tags).unwrap();
        assert_eq!((first, u64::from(first) + bytes.len() as u64), (0x1000, tags.end()));
        for (address, &found) in (first..).zip(&bytes) {
            assert_eq!(found, byte(&container, address), "{address:#x}");
        }
    }
}

#[test]
fn raw_memory_that_would_be_mostly_gaps_is_refused() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let mut image = image(Machine::of(Target::Rv32));
    let last = Section { first: 0xf000_0000, ..image.sections.sections[0].clone() };
    image.sections.sections.push(last);
    let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
    assert!(matches!(forms::bin::bin(&container), Err(SealError::Gaps { .. })));
}

/// A fresh folder, with a file in it.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forms");
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("write the file");
    path
}

/// Whether a tool of binutils is here. Under CI a missing tool is a failure, elsewhere a printed skip.
fn has(tool: &str, what: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
        eprintln!("skip: {what}: {tool} is not installed");
    }
    found
}

fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output().expect(tool);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.is_empty(), "{tool} {arguments:?}: {words}");
    String::from_utf8(output.stdout).expect("binutils print ASCII")
}

#[test]
fn binutils_make_the_same_memory_of_intel_hex() {
    if !has("objcopy", "Intel HEX by binutils") {
        return;
    }
    let mut made = containers();
    // Records that end with the upper half of their addresses, and the last byte of memory.
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let mut image = image(Machine::of(Target::Sparc));
    image.sections.sections.truncate(1);
    image.sections.zeros = Vec::<Zeros>::new();
    image.sections.sections[0].first = 0x2_fff8;
    made.push(seal(&image, &settings(seal_of), &key, &device(2)).unwrap());
    image.dictionary = Default::default();
    image.sections.sections[0].first = u32::MAX - 0x2f;
    made.push(seal(&image, &settings(seal_of), &key, &device(2)).unwrap());
    for (number, container) in made.iter().enumerate() {
        let text = file(&format!("{number}.hex"), forms::hex::hex(container).as_bytes());
        let raw = file(&format!("{number}.bin"), &[]);
        let (from, to) = (text.to_str().unwrap(), raw.to_str().unwrap());
        run("objcopy", &["-I", "ihex", "-O", "binary", "--gap-fill", "0", from, to]);
        assert_eq!(std::fs::read(&raw).unwrap(), forms::bin::bin(container).unwrap().1, "{number}");
    }
}

#[test]
fn the_plain_reader_reads_what_is_written_as_elf() {
    for container in containers() {
        let read = Sections::parse(&forms::elf::elf(&container)).unwrap();
        assert_eq!((read.machine, read.entry), (container.machine(), container.entry()));
        // Zeros begin inside the last sealed line of initialisers, whose filler is zero.
        assert_eq!(container.zeros(), [Zeros { first: 0x2048, bytes: 0x100 }]);
        assert_eq!(read.zeros, [Zeros { first: 0x2050, bytes: 0xf8 }]);
        assert_eq!(read.sections.len(), container.entries().len());
        for (section, entry) in read.sections.iter().zip(container.entries()) {
            assert_eq!((&section.name, section.first), (&entry.name, entry.first));
            assert_eq!(section.bytes, container.memory(entry.first, entry.bytes).unwrap());
            if let Role::Program(kind) = entry.role {
                assert_eq!(section.kind, kind, "{}", section.name);
            }
        }
    }
}

/// The segments of an ELF file of a big-endian machine: each a first address and the first behind it.
fn segments(file: &[u8]) -> Vec<(u64, u64)> {
    let word = |at: usize| u64::from(u32::from_be_bytes(file[at..at + 4].try_into().unwrap()));
    let count = u16::from_be_bytes([file[44], file[45]]);
    (0..usize::from(count))
        .map(|number| 52 + 32 * number)
        .map(|at| (word(at + 8), word(at + 8) + word(at + 20)))
        .collect()
}

#[test]
fn segments_ascend_and_share_no_memory_wherever_zeros_lie() {
    let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
    let mut image = image(Machine::of(Target::Sparc));
    let piece = |first, bytes| Zeros { first, bytes };
    let dictionary = (0x8000, 0x8020);
    let loaded = [(0x1000, 0x10e0), (0x2000, 0x2050), dictionary];
    for (zeros, expected) in [
        (vec![], vec![]),
        // Inside a line, from a line on into free memory, over a whole piece of memory, and below all of it.
        (vec![piece(0x2048, 8)], vec![]),
        (vec![piece(0x2048, 0x100)], vec![(0x2050, 0x2148)]),
        (vec![piece(0x0800, 0x2000)], vec![(0x0800, 0x1000), (0x10e0, 0x2000), (0x2050, 0x2800)]),
        (vec![piece(0x0f00, 0x100), piece(0x1100, 4)], vec![(0x0f00, 0x1000), (0x1100, 0x1104)]),
    ] {
        image.sections.zeros = zeros;
        let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
        let mut expected: Vec<(u64, u64)> = expected.into_iter().chain(loaded).collect();
        expected.sort_unstable();
        assert_eq!(segments(&forms::elf::elf(&container)), expected);
    }
}

#[test]
fn binutils_read_what_is_written_as_elf_without_a_warning() {
    if !has("readelf", "ELF files by binutils") {
        return;
    }
    for machine in [Machine::of(Target::Sparc), Machine::of(Target::Rv32)] {
        let (seal_of, key) = seals(&mut Seeded::new()).remove(1);
        let image: Unsealed = image(machine);
        let container = seal(&image, &settings(seal_of), &key, &device(2)).unwrap();
        let path = file(&format!("{}.elf", machine.number), &forms::elf::elf(&container));
        let shown = run("readelf", &["-W", "-h", "-l", "-S", path.to_str().unwrap()]);
        for words in ["EXEC (Executable file)", "0x1030", ".rodata", ".dictionary", ".bss", ".shstrtab"] {
            assert!(shown.contains(words), "no `{words}` in\n{shown}");
        }
    }
}
