//! Looks for bytes on which the reader of linked ELF files panics or hangs.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|elf: &[u8]| {
    let _ = isa::avr::Image::parse(elf);
    let _ = weave::linked::program(elf, "main");
});
