//! Looks for models and blocks of compressed code on which who reads or decodes them panics or hangs: any tables of any
//! code, and sound ones with changes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pack::code::Code;
use pack::code::onfill::stored::{compress, expand, seen};
use pack::code::packet::Dictionary;
use pack::image::{Kind, Section};
use pack::{Image, Target};

/// An image of some instructions and numbers.
fn image(target: Target) -> Image {
    let words = (0..600u32).map(|number| match number % 5 {
        0 => 0x0100_0000,
        1 => 0x8200_6000 | number % 37 << 14 | number % 11,
        2 => 0x4000_0000 | number % 90,
        3 => 0x0010_0013 | number % 32 << 7,
        _ => (number % 17).wrapping_mul(0x9e37_79b1),
    });
    let bytes = words.flat_map(|word| target.bytes(word)).collect();
    let code = Section { name: ".text".into(), kind: Kind::Code, first: 0x1014, bytes };
    Image {
        target,
        entry: code.first,
        sections: vec![code],
        zeros: Vec::new(),
        dictionary: Dictionary::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    }
}

/// It compressed by each code, for each target.
static COMPRESSED: LazyLock<Vec<Image>> = LazyLock::new(|| {
    let all = [Target::Sparc, Target::Rv32].into_iter().flat_map(|target| {
        Code::on_fill().map(move |code| compress(&image(target), code, 64).expect("it has few kinds").0)
    });
    all.collect()
});

fn read(image: &Image) {
    let _ = (seen(image), expand(image));
}

fuzz_target!(|script: &[u8]| {
    let Some((&number, script)) = script.split_first() else { return };
    let mut image = COMPRESSED[usize::from(number) % COMPRESSED.len()].clone();
    // Tables of nothing known, behind a head that is sound.
    let mut other = image.clone();
    other.sections[0].bytes.truncate(12);
    other.sections[0].bytes.extend(script);
    read(&other);
    // Bytes put at places.
    for command in script.chunks_exact(4) {
        let section = &mut image.sections[usize::from(command[0] & 1)];
        let at = usize::from(u16::from_le_bytes([command[1], command[2]])) % section.bytes.len();
        section.bytes[at] = command[3];
    }
    read(&image);
});
