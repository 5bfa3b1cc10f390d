//! Compressed code in a sealed container is expanded to what it was, by every code and seal, and not to where something
//! else is.

mod made;

use made::{Seeded, device, seal, seals, settings, unlock};
use pack::code::Code;
use pack::code::onfill::stored::{BLOCK_BYTES, compress};
use pack::image::{Kind, Section, Zeros};
use pack::integrity::Integrity;
use pack::lines::{Entry, Role};
use pack::sealed::{Settings, Unsealed, expanded};
use pack::sections::Machine;
use pack::{Container, Image, RunError, Target};

const CODE_FIRST: u32 = 0x1008;
const CODE_BYTES: u32 = 4 * 901;
const DATA_FIRST: u32 = 0x2000;

/// Code of few different words, some constants among them, and data.
fn plain(target: Target) -> Image {
    let word = |number: u32| {
        if number.is_multiple_of(37) { number.wrapping_mul(0x9e37_79b1) } else { 0x1010 + number % 5 }
    };
    let code = (0..CODE_BYTES / 4).flat_map(|number| target.bytes(word(number)));
    let section =
        |name: &str, kind, first, bytes: Vec<u8>| Section { name: name.to_owned(), kind, first, bytes };
    Image {
        target,
        entry: CODE_FIRST,
        sections: vec![
            section(".text", Kind::Code, CODE_FIRST, code.collect()),
            section(".data", Kind::Data, DATA_FIRST, vec![7; 33]),
        ],
        zeros: vec![Zeros { first: 0x3000, bytes: 64 }],
        dictionary: Default::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    }
}

/// What an expanded container has in memory.
fn held(container: &Container) -> Vec<Section> {
    let section = |entry: &Entry| {
        let Role::Program(kind) = entry.role else { panic!("{entry:?}") };
        let bytes = container.memory(entry.first, entry.bytes).expect("it is there").to_vec();
        Section { name: entry.name.clone(), kind, first: entry.first, bytes }
    };
    container.entries().iter().map(section).collect()
}

#[test]
fn every_code_under_every_seal_is_expanded_to_the_plain_program() {
    let mut randomness = Seeded::new();
    let kinds = [None, Some((1, 8)), Some((8, 16))];
    for target in [Target::Sparc, Target::Rv32] {
        let plain = plain(target);
        for (number, code) in Code::on_fill().enumerate() {
            for (turn, (seal_of, key)) in seals(&mut randomness).into_iter().enumerate() {
                let block_bytes = BLOCK_BYTES[(number + turn) % 3];
                let (image, _) = compress(&plain, code, block_bytes).expect("it becomes smaller");
                let integrity = kinds[(number + turn) % kinds.len()];
                let integrity =
                    integrity.map(|(lines, bytes)| Integrity::new(lines, bytes).expect("it exists"));
                let settings = Settings { integrity, ..settings(seal_of) };
                let container = seal(&Unsealed::from(image), &settings, &key, &device(3));
                let container = container.expect("it can be sealed");
                let read = Container::parse(&container.to_bytes()).expect("it was written");
                let opened = unlock(&read, 3).opened().expect("its tags match");
                let expanded = expanded(opened).expect("it can be expanded");
                let what = format!("{} {block_bytes} {seal_of}", code.name());
                assert_eq!(held(&expanded), plain.sections, "{what}");
                assert_eq!((expanded.zeros(), expanded.entry()), (&plain.zeros[..], plain.entry));
                assert!(expanded.integrity().is_none() && expanded.groups().is_none(), "{what}");
            }
        }
    }
}

#[test]
fn what_is_not_compressed_is_opened_as_it_is() {
    let (seal_of, key) = seals(&mut Seeded::new()).swap_remove(1);
    let image = made::image(Machine::of(Target::Sparc));
    let container = seal(&image, &settings(seal_of), &key, &device(2)).expect("it can be sealed");
    let opened = unlock(&container, 2).opened().expect("it has no tags");
    assert_eq!(expanded(opened.clone()), Ok(opened));
}

#[test]
fn a_model_that_says_another_place_or_another_machine_is_refused() {
    let (seal_of, key) = seals(&mut Seeded::new()).swap_remove(1);
    let (image, _) = compress(&plain(Target::Sparc), Code::Fields, 64).expect("it becomes smaller");
    let opened = |image: Image, number: u16| {
        let mut unsealed = Unsealed::from(image);
        unsealed.sections.machine.number = number;
        let container = seal(&unsealed, &settings(seal_of), &key, &device(2)).expect("it can be sealed");
        unlock(&container, 2).opened().expect("it has no tags")
    };
    let number = Machine::of(Target::Sparc).number;
    assert_eq!(expanded(opened(image.clone(), 40)), Err(RunError::Machine { found: 40 }));
    // The plain code would end behind where data begins.
    let mut moved = image;
    let model = moved.sections.iter_mut().find(|section| section.kind == Kind::Model).expect("there is one");
    model.bytes[..4].copy_from_slice(&(CODE_FIRST + 0x400).to_be_bytes());
    assert_eq!(expanded(opened(moved, number)), Err(RunError::Sections { address: DATA_FIRST }));
}
