//! Looks for containers of sealed images, sound checksums with them, on which who reads, verifies, unseals or boots them
//! panics or hangs; for ones that have two forms; and for changes that no tag finds.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use isa::sparc::{Files, Memory};
use isa::{rv32, sparc};
use libfuzzer_sys::fuzz_target;
use pack::chain::{Protection, Settings as Chain, run, sealed};
use pack::code::packet::Dictionary;
use pack::container::with_checksum;
use pack::image::{Kind, Moved, PackedText, Section, Zeros};
use pack::integrity::{ImageName, Integrity};
use pack::lines::Choice;
use pack::seal::{SEALS, START_BYTES, Seal};
use pack::sealed::{Expected, Settings, Unsealed, seal_under_given_nonce};
use pack::sections::Machine;
use pack::{Container, DeviceKey, Image, ImageKey, Sections, Target, forms};

/// An image of every kind of section.
static IMAGE: LazyLock<Unsealed> = LazyLock::new(|| {
    let section = |name: &str, kind, first, bytes| Section {
        name: name.into(),
        kind,
        first,
        bytes: (0..bytes).collect(),
    };
    let sections = vec![
        section(".text", Kind::Code, 0x100, 40),
        section(".rodata", Kind::Constants, 0x130, 7),
        section(".data", Kind::Data, 0x204, 20),
    ];
    let zeros = vec![Zeros { first: 0x218, bytes: 8 }];
    Unsealed {
        sections: Sections { machine: Machine::of(Target::Sparc), entry: 0x100, sections, zeros },
        dictionary: Dictionary::new(vec![1, 2, 3]).expect("three"),
        packed_text: vec![PackedText { first: 0x100, bytes: 36 }],
        map: vec![Moved { old: 0x100, new: 0x101 }, Moved { old: 0x104, new: 0x102 }],
    }
});

/// Its containers: under XTS with tags, and under OTFAD's counters without.
static SEALED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    [(1, Integrity::new(4, 8).ok()), (3, None)].map(|(number, integrity)| {
        let row = &SEALS[number];
        let mut start = [0; START_BYTES];
        start[..row.nonce_bytes].fill(7);
        let seal = Seal::from_start(row.number, &start).expect("its nonce is free");
        let settings = Settings {
            seal: row,
            allow_legacy: false,
            choice: Choice::default(),
            integrity,
            image: ImageName::default(),
            tables_first: Some(0x1000),
        };
        let key: Vec<u8> = (0..row.key_bytes as u8).collect();
        let key = ImageKey::from_bytes(row, &key).expect("its halves differ");
        let sealed = seal_under_given_nonce(&IMAGE, &settings, seal, &key, &device());
        sealed.expect("it can be sealed").to_bytes()
    })
});

fn device() -> DeviceKey {
    DeviceKey::from_bytes(&[1; 16]).expect("a length that it may have")
}

/// A sound container with what a script does to it: a byte put at a place, all behind a place cut off, or bytes added.
fn damaged(sealed: &[u8], script: &[u8]) -> Vec<u8> {
    let mut bytes = sealed.to_vec();
    for command in script.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([command[1], command[2]])) % bytes.len();
        match command[0] & 3 {
            0 | 1 => bytes[at] = command[3],
            2 => bytes.truncate(at.max(64)),
            _ => bytes.extend(vec![command[3]; at]),
        }
    }
    // A length that is right, so that what is behind it is read.
    let length = bytes.len() as u32;
    bytes[8..12].copy_from_slice(&length.to_le_bytes());
    with_checksum(bytes)
}

fn read(bytes: &[u8]) {
    let Ok(container) = Container::parse(bytes) else { return };
    assert_eq!(container.to_bytes(), bytes);
    let _ = forms::bin::bin(&container);
    forms::hex::hex(&container);
    forms::elf::elf(&container);
    let Ok(unlocked) = container.unlock(&device(), &Expected::default()) else { return };
    unlocked.verify();
    if let Ok(image) = unlocked.unseal() {
        assert!(container.integrity().is_none() || image == *IMAGE, "a change was not found");
    }
    let Ok(unlocked) = container.unlock(&device(), &Expected::default()) else { return };
    let Ok((image, protection)) = sealed::boot(unlocked) else { return };
    if let Ok(lines) = run::lines(&image, &protection, &Chain::default()) {
        let _ = run::chain(&image, lines, Memory::new(Vec::new(), 0, 0), &Chain::default());
    }
    begin(&image, &protection);
}

/// How much room a program has for its stack and its heap: enough to begin.
const ROOM_BYTES: u32 = 1 << 16;

/// Puts an image into memory, with all that it says is zero, as who runs it does.
fn begin(image: &Image, protection: &Protection) {
    let files = Files::new(BTreeMap::new(), Vec::new());
    match image.target {
        Target::Sparc => {
            let user = sparc::user::Settings {
                stack_bytes: ROOM_BYTES,
                heap_bytes: ROOM_BYTES,
                ..sparc::user::Settings::default()
            };
            let _ = run::under_linux(image, protection, &Chain::default(), &[], files, user);
        }
        Target::Rv32 => {
            let user = rv32::user::Settings { stack_bytes: ROOM_BYTES, ..rv32::user::Settings::default() };
            let _ = run::rv32::under_linux(image, protection, &Chain::default(), &[], files, user);
        }
    }
}

fuzz_target!(|script: &[u8]| {
    read(script);
    SEALED.iter().for_each(|sealed| read(&damaged(sealed, script)));
});
