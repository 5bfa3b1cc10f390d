//! Programs that are only sealed, of any processor: binutils read the same sections from them before and after, byte for
//! byte; and a program of Arm's, which nothing here executes, runs under qemu-arm before it is sealed and after it was
//! unsealed.

mod corpus;
mod made;

use std::path::{Path, PathBuf};
use std::process::Command;

use made::{IMAGE, Part, Seeded, counted, device, elf, seals};
use pack::image::Kind;
use pack::integrity::Integrity;
use pack::lines::Choice;
use pack::sealed::{Settings, Unsealed, seal_under_given_nonce};
use pack::sections::Machine;
use pack::{Container, Sections, forms};

const ARM: Machine = Machine { number: 40, flags: 0x0500_0200, is_big_endian: false };
const POWER: Machine = Machine { number: 20, flags: 0, is_big_endian: true };

/// A file in a fresh folder.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("write the file");
    path
}

/// Whether a tool is here. Under CI a missing tool is a failure, elsewhere a printed skip.
fn has(tool: &str, what: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
        eprintln!("skip: {what}: {tool} is not installed");
    }
    found
}

/// The sections that are loaded, as readelf has them: name, address, and bytes.
fn sections(name: &str, elf: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let path = file(name, elf);
    let output = Command::new("readelf").args(["-W", "-S"]).arg(&path).output().expect("it was there before");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = Vec::new();
    for line in text.lines() {
        // [number] name type address offset size entries flags link info alignment
        let Some((_, row)) = line.split_once(']') else { continue };
        let words: Vec<&str> = row.split_whitespace().collect();
        let [name, "PROGBITS", address, offset, size, _, flags, ..] = words[..] else { continue };
        let number = |digits: &str| usize::from_str_radix(digits, 16).expect("readelf prints digits");
        if flags.contains('A') && number(size) > 0 {
            let bytes = elf[number(offset)..number(offset) + number(size)].to_vec();
            found.push((name.to_owned(), number(address) as u32, bytes));
        }
    }
    found.sort_by_key(|section| section.1);
    found
}

/// What comes back from a container, as an ELF file.
fn unsealed(elf: &[u8], number: usize, tags: Option<(u8, u8)>) -> Vec<u8> {
    let sections = Sections::parse(elf).expect("it is a program");
    let image = Unsealed::from(sections);
    let (seal, key) = seals(&mut Seeded::new()).swap_remove(number);
    let settings = Settings {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity: tags.and_then(|(lines, bytes)| Integrity::new(lines, bytes).ok()),
        image: IMAGE,
        tables_first: Some(0x7000_0000),
    };
    let container = seal_under_given_nonce(&image, &settings, seal, &key, &device(2));
    let bytes = container.expect("it can be sealed").to_bytes();
    let read = Container::parse(&bytes).expect("it was written so");
    // What is sealed is in no form that who programs flash is given.
    let sealed = forms::elf::elf(&read);
    for section in image.sections.sections.iter().filter(|section| section.kind == Kind::Code) {
        let begin = &section.bytes[..16];
        assert!(!sealed.windows(16).any(|window| window == begin), "{}", section.name);
    }
    forms::elf::elf(&made::unlock(&read, 2).opened().expect("nothing was changed"))
}

const TAGS: [Option<(u8, u8)>; 3] = [None, Some((1, 16)), Some((8, 8))];

/// Small programs of two processors whose code is not packed here.
fn others() -> [(&'static str, Vec<u8>); 2] {
    let part = |name, flags, first, bytes| Part { name, flags, kind: 1, virtual_first: first, first, bytes };
    [("arm", ARM), ("power", POWER)].map(|(name, machine)| {
        let parts = [
            part(".vectors", 6, 0x0800_0000, counted(0x40, 1)),
            part(".text", 6, 0x0800_0100, counted(0x123, 2)),
            part(".rodata", 2, 0x0800_2000, counted(0x35, 3)),
            part(".data", 3, 0x2000_0000, counted(0x21, 4)),
        ];
        (name, elf(machine, 0x0800_0101, &parts, true))
    })
}

#[test]
fn binutils_read_the_same_sections_before_sealing_and_after_unsealing() {
    if !has("readelf", "sections before and after") {
        return;
    }
    let corpus = ["sparc", "rv32"].into_iter().flat_map(|folder| {
        let names = if corpus::soak() { &corpus::PROGRAMS[..] } else { &corpus::PROGRAMS[2..5] };
        names.iter().map(move |name| (folder, *name))
    });
    let read = |(folder, name): (&str, &str)| {
        let path = corpus::root("corpus").join(folder).join(name).with_extension("elf");
        std::fs::read(path).expect("the corpus has it")
    };
    let corpus = corpus.map(|(folder, name)| (format!("{folder}-{name}"), read((folder, name))));
    let others = others().into_iter().map(|(name, elf)| (name.to_owned(), elf));
    for (number, (name, elf)) in corpus.chain(others).enumerate() {
        let before = sections(&format!("{name}.elf"), &elf);
        assert!(before.len() > 2, "{name}: {} sections", before.len());
        for seal in 0..6 {
            let after = unsealed(&elf, seal, TAGS[(number + seal) % 3]);
            let mut after = sections(&format!("{name}-{seal}.elf"), &after);
            after.retain(|(name, _, _)| name != ".tags");
            assert_eq!(after.len(), before.len(), "{name} {seal}");
            for (after, before) in after.iter().zip(&before) {
                assert_eq!((&after.0, after.1), (&before.0, before.1), "{name} {seal}");
                assert!(after.2 == before.2, "{name} {seal}: section {} differs", before.0);
            }
        }
    }
}

/// A program of Arm's that writes a word by a call of Linux and ends with a status (Arm's reference manual, A32).
fn arm_program() -> Vec<u8> {
    const CODE: u32 = 0x0001_0000;
    const WORDS: u32 = 0x0002_0000;
    let code = [
        0xe3a0_7004, // mov r7, #4
        0xe3a0_0001, // mov r0, #1
        0xe59f_1010, // ldr r1, [pc, #16]
        0xe3a0_2007, // mov r2, #7
        0xef00_0000, // svc #0
        0xe3a0_7001, // mov r7, #1
        0xe3a0_0005, // mov r0, #5
        0xef00_0000, // svc #0
        WORDS,
    ];
    let part = |name, flags, first, bytes| Part { name, flags, kind: 1, virtual_first: first, first, bytes };
    let code: Vec<u8> = code.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    elf(ARM, CODE, &[part(".text", 6, CODE, code), part(".rodata", 2, WORDS, b"sealed\n".to_vec())], true)
}

/// The same file with each segment's bytes at an offset that a page of memory can be mapped from.
fn paged(elf: &[u8]) -> Vec<u8> {
    const PAGE_BYTES: usize = 0x1_0000;
    let word = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes")) as usize;
    let count = usize::from(u16::from_le_bytes([elf[44], elf[45]]));
    let mut file = elf.to_vec();
    for header in (0..count).map(|number| word(28) + 32 * number) {
        let (offset, address, bytes) = (word(header + 4), word(header + 8), word(header + 16));
        let to = file.len().next_multiple_of(PAGE_BYTES) + address % PAGE_BYTES;
        file.resize(to, 0);
        file.extend_from_slice(&elf[offset..offset + bytes]);
        file[header + 4..header + 8].copy_from_slice(&(to as u32).to_le_bytes());
        file[header + 28..header + 32].copy_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
    }
    file
}

#[test]
fn a_program_of_arm_s_runs_under_qemu_before_it_is_sealed_and_after_it_was_unsealed() {
    if !has("qemu-arm", "a sealed program of Arm's") {
        return;
    }
    let ran = |name: &str, elf: &[u8]| {
        let output =
            Command::new("qemu-arm").arg(executable(name, elf)).output().expect("it was there before");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let expected = (Some(5), "sealed\n".to_owned());
    let elf = arm_program();
    assert_eq!(ran("before", &paged(&elf)), expected);
    for (seal, tags) in (0..6).flat_map(|seal| TAGS.map(|tags| (seal, tags))) {
        assert_eq!(ran(&format!("after-{seal}"), &paged(&unsealed(&elf, seal, tags))), expected, "{seal}");
    }
}

/// A file that may be executed.
fn executable(name: &str, bytes: &[u8]) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = file(name, bytes);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}
