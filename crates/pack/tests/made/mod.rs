//! What the tests of sealing are made of: randomness from a printed seed, every seal, a small image, and an ELF file of
//! any machine.
#![allow(dead_code)] // each test file uses some of it

use std::sync::OnceLock;

use cipher::{OsRandomness, Randomness};
use pack::code::packet::Dictionary;
use pack::image::{Kind, Moved, PackedText, Section, Zeros};
use pack::integrity::{ImageName, Integrity};
use pack::keys::{DeviceKey, ImageKey};
use pack::lines::Choice;
use pack::seal::{Row, SEALS, Seal};
use pack::sealed::{Expected, Settings, Unlocked, Unsealed, seal_under_given_nonce};
use pack::sections::{Machine, Sections};
use pack::{Container, SealError, Target, sealed};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Randomness that can be had again.
pub struct Seeded(pub ChaCha20Rng);

impl Randomness for Seeded {
    fn fill(&mut self, bytes: &mut [u8]) -> std::io::Result<()> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl Seeded {
    /// From `SELVEDGE_SEED`, or else from a seed that is fresh in each run: one for all of it, so that setting it brings
    /// the run back. Each test says it, as what others have printed is not shown; a bench says it once.
    pub fn new() -> Seeded {
        static SEED: OnceLock<u64> = OnceLock::new();
        // As cargo calls a bench.
        let is_said = std::env::args().any(|argument| argument == "--bench") && SEED.get().is_some();
        let seed = *SEED.get_or_init(|| match std::env::var("SELVEDGE_SEED") {
            Ok(seed) => seed.parse().expect("SELVEDGE_SEED is a number"),
            Err(_) => {
                let mut bytes = [0; 8];
                OsRandomness.fill(&mut bytes).expect("the operating system has randomness");
                u64::from_le_bytes(bytes)
            }
        });
        if !is_said {
            println!("SELVEDGE_SEED={seed}");
        }
        Seeded::from(seed)
    }

    /// That many random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// So many of them, drawn.
    pub fn some<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        for place in 0..count {
            let left = all.len() - place;
            all.swap(place, place + self.0.next_u32() as usize % left);
        }
        all.truncate(count);
        all
    }
}

impl From<u64> for Seeded {
    fn from(seed: u64) -> Seeded {
        Seeded(ChaCha20Rng::seed_from_u64(seed))
    }
}

/// Every seal, with a nonce and a key.
pub fn seals(randomness: &mut Seeded) -> Vec<(Seal, ImageKey)> {
    let with_key = |row: &Row| {
        let seal = row.fresh(IMAGE.version, randomness).expect("a seed has randomness");
        (seal, ImageKey::random(row, randomness).expect("a seed has randomness"))
    };
    SEALS.iter().map(with_key).collect()
}

/// A device key, of 16 or of 32 bytes.
pub fn device(byte: u8) -> DeviceKey {
    let length = if byte.is_multiple_of(2) { 16 } else { 32 };
    DeviceKey::from_bytes(&vec![byte; length]).expect("a length that it may have")
}

/// Bytes that are all different from those around them.
pub fn counted(count: u32, from: u32) -> Vec<u8> {
    (from..from + count).map(|number| (number.wrapping_mul(0x9e37_79b1) >> 24) as u8 | 1).collect()
}

/// A small image of a machine: code of two sections that touch, constants that end inside a line, data elsewhere, zeros
/// behind it in its last line, a dictionary, packed text on both sides of a constant, and a map.
pub fn image(machine: Machine) -> Unsealed {
    let section = |name: &str, kind, first, count| Section {
        name: name.into(),
        kind,
        first,
        bytes: counted(count, first),
    };
    let sections = vec![
        section(".traps", Kind::Code, 0x1000, 0x30),
        section(".text", Kind::Code, 0x1030, 0x9c),
        section(".rodata", Kind::Constants, 0x10d0, 0x0d),
        section(".data", Kind::Data, 0x2004, 0x41),
    ];
    let zeros = vec![Zeros { first: 0x2048, bytes: 0x100 }];
    Unsealed {
        sections: Sections { machine, entry: 0x1030, sections, zeros },
        dictionary: Dictionary::new((0..7).map(|word| 0x0102_0304 * (word + 1)).collect()).expect("seven"),
        packed_text: [(0x1030, 0x40), (0x1074, 0x58)]
            .map(|(first, bytes)| PackedText { first, bytes })
            .into(),
        map: (0..9).map(|word| Moved { old: 0x4000 + 4 * word, new: 0x1030 + word }).collect(),
    }
}

/// Which image it is.
pub const IMAGE: ImageName = ImageName { version: 0x0001_0003, id: *b"selvedge" };

/// Where the tables of the image of the tests are: far from what it writes.
pub const TABLES: u32 = 0x8000;

/// How the image of the tests is sealed when nothing else is said.
pub fn settings(seal: Seal) -> Settings {
    Settings {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity: None,
        image: IMAGE,
        tables_first: Some(TABLES),
    }
}

/// Seals with randomness from a printed seed.
pub fn seal(
    image: &Unsealed,
    settings: &Settings,
    key: &ImageKey,
    device: &DeviceKey,
) -> Result<Container, SealError> {
    sealed::seal(image, settings, key, device, &mut Seeded::new())
}

/// A container with its keys, when nothing is expected of it.
pub fn unlock(container: &Container, byte: u8) -> Unlocked<'_> {
    container
        .unlock(&device(byte), &Expected::default())
        .expect("it is its key, and its description as it was")
}

/// The image of the tests, sealed under [`device`] of 2.
pub fn sealed(seal_and_key: &(Seal, ImageKey), integrity: Option<(u8, u8)>) -> Container {
    let integrity = integrity.map(|(lines, bytes)| Integrity::new(lines, bytes).expect("it exists"));
    let settings = Settings { integrity, ..settings(seal_and_key.0) };
    let (image, (seal, key)) = (image(Machine::of(Target::Sparc)), seal_and_key);
    seal_under_given_nonce(&image, &settings, *seal, key, &device(2)).expect("the image can be sealed")
}

/// A section of an ELF file: its name, its flags (1 write, 2 alloc, 4 execute), its type, where it is used, where it is
/// loaded, and what it holds or how many zeros.
pub struct Part {
    pub name: &'static str,
    pub flags: u32,
    pub kind: u32,
    pub virtual_first: u32,
    pub first: u32,
    pub bytes: Vec<u8>,
}

/// A linked ELF file: a segment for each section that has bytes, and section headers if they are asked for.
pub fn elf(machine: Machine, entry: u32, parts: &[Part], with_sections: bool) -> Vec<u8> {
    let word = |file: &mut Vec<u8>, words: &[u32]| {
        file.extend(words.iter().flat_map(|&word| machine.bytes(word)));
    };
    let half = |file: &mut Vec<u8>, halves: &[u16]| {
        for half in halves {
            file.extend(if machine.is_big_endian { half.to_be_bytes() } else { half.to_le_bytes() });
        }
    };
    let loaded: Vec<&Part> = parts.iter().filter(|part| part.kind != 8).collect();
    let mut names = vec![0];
    let mut offset = 52 + 32 * loaded.len() as u32;
    let (mut programs, mut sections, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    word(&mut sections, &[0; 10]);
    for part in parts {
        let bytes = part.bytes.len() as u32;
        let name = names.len() as u32;
        word(&mut sections, &[name, part.kind, part.flags, part.virtual_first, offset, bytes, 0, 0, 1, 0]);
        names.extend(part.name.bytes().chain([0]));
        if part.kind != 8 {
            let rights = 4 | (part.flags & 1) << 1 | part.flags >> 2 & 1;
            word(&mut programs, &[1, offset, part.virtual_first, part.first, bytes, bytes, rights, 1]);
            memory.extend_from_slice(&part.bytes);
            offset += bytes;
        }
    }
    let name = names.len() as u32;
    names.extend(b".shstrtab\0");
    word(&mut sections, &[name, 3, 0, 0, offset, names.len() as u32, 0, 0, 1, 0]);
    let mut file = b"\x7fELF\x01".to_vec();
    file.extend([if machine.is_big_endian { 2 } else { 1 }, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    half(&mut file, &[2, machine.number]);
    let count = if with_sections { parts.len() as u16 + 2 } else { 0 };
    let sections_at = if with_sections { offset + names.len() as u32 } else { 0 };
    word(&mut file, &[1, entry, 52, sections_at, machine.flags]);
    half(&mut file, &[52, 32, loaded.len() as u16, 40, count, count.saturating_sub(1)]);
    for piece in [programs, memory, names, if with_sections { sections } else { Vec::new() }] {
        file.extend(piece);
    }
    file
}
