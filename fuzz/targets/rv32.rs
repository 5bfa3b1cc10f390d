//! Looks for images for RV32IM, and words in them, on which the reader or what runs them panics or hangs.
//!
//! The bytes are read as a file; and they are the words of a small one. Each runs under Linux for a few thousand
//! instructions. Words are also taken apart, put together again and printed.
#![no_main]

use isa::rv32::{Files, Image, Instruction, User, text, user};
use libfuzzer_sys::fuzz_target;

const CODE: u32 = 0x1_0000;
/// An instruction takes a cycle at least.
const CYCLES: u64 = 5_000;

/// A linked program of these words, which can be neither longer nor elsewhere than its header says.
fn program(words: &[u8]) -> Vec<u8> {
    let words = &words[..words.len() / 4 * 4];
    let put =
        |file: &mut Vec<u8>, words: &[u32]| file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    // A linked program for machine 243; its header has 52 bytes, each of two program headers has 32.
    put(&mut file, &[243 << 16 | 2, 1, CODE, 52, 0, 0, 32 << 16 | 52, 40 << 16 | 2, 0]);
    let bytes = words.len() as u32;
    put(&mut file, &[1, 116, CODE, CODE, bytes, bytes, 5, 4]);
    put(&mut file, &[1, 0, 0x100_0000, 0, 0, 0x1000, 6, 4]);
    file.extend(words);
    file
}

fn run(image: &Image) {
    if let Ok(mut program) = User::new(image, &["program"], Files::default(), user::Settings::default()) {
        program.run(CYCLES, &mut ());
    }
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(image) = Image::parse(bytes) {
        run(&image);
    }
    if bytes.len() >= 4 {
        run(&Image::parse(&program(bytes)).expect("its header is sound"));
        let word = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
        if let Some(instruction) = Instruction::decode(word) {
            assert_eq!(instruction.encode(), Ok(word));
            assert_eq!(text::parse(&instruction.to_string()), Ok(instruction));
        }
    }
});
