//! Whether a linked image keeps time: its directives, which the linker has carried along, are proved.

use std::collections::{BTreeMap, BTreeSet};

use ::weave::linked::{self, LinkedError, Record};
use ::weave::proof::{self, prove};
use isa::avr::image::{Image, Space};

use super::Fault;
use crate::error::Error;
use crate::link::Chip;

/// Proves every timed function of a linked image. Invariant: no image is kept or returned whose clocks are not proved,
/// because the linker may change cycles (`-mrelax`).
pub(super) fn keeps_time(elf: &[u8], chip: &Chip) -> Result<(), Fault> {
    let linked = |why| Fault::Linked { chip: chip.name, why };
    let records = linked::records(elf).map_err(linked)?;
    let image = Image::parse(elf).map_err(|why| linked(LinkedError::Image(why)))?;
    for function in timed(&image, &records) {
        let program = linked::from_image(&image, &records, function, Some(chip.name)).map_err(linked)?;
        let function = program.function(function).expect("it was asked for and found");
        prove(&program, function, proof::Options::default())
            .map_err(|violation| Fault::Untimed { chip: chip.name, violation })?;
    }
    Ok(())
}

/// The functions of a linked image that have a clock: those that are woven, and those that are timed by hand.
///
/// # Errors
/// [`Error::Linked`] for what is no image, or has directives that cannot be read.
pub fn timed_functions(elf: &[u8]) -> Result<BTreeSet<String>, Error> {
    let records = linked::records(elf)?;
    let image = Image::parse(elf)?;
    Ok(timed(&image, &records).into_iter().map(str::to_owned).collect())
}

fn timed<'a>(image: &'a Image, records: &[Record]) -> BTreeSet<&'a str> {
    let clocks = records.iter().filter(|record| record.text.starts_with("clock "));
    let addresses: BTreeSet<u32> = clocks.map(|record| record.address).collect();
    let starts = image.symbols.iter().filter(|symbol| symbol.space == Space::Flash);
    let starts: BTreeMap<u32, &str> = starts.map(|symbol| (symbol.address, symbol.name.as_str())).collect();
    let functions = addresses.iter().filter_map(|&address| starts.range(..=address).next_back());
    functions.map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::Class;
    use crate::link::CHIPS;
    use crate::toolchain::Besides;
    use crate::toolchain::tests::{compiler, tree};

    /// A store to SPDR every 34 cycles, some of them in a callee that is called the long way, and interrupts off.
    const SEND: &str = r#"
        .macro weave text
7701:   .pushsection .weave,"",@progbits
        .long 7701b
        .asciz "\text"
        .popsection
        .endm
        .section .text.send,"ax",@progbits
        .global send
        .type send, @function
send:   weave "clock tx period=34"
        in r19, 0x3f
        cli
        ldi r24, 16
1:      weave "event tx at=0"
        out 0x0f, r18
        call pause
        .rept 5
        nop
        .endr
        dec r24
        brne 1b
        weave "over tx"
        out 0x3f, r19
        ret
        .size send, .-send
        .section .text.pause,"ax",@progbits
        .global pause
        .type pause, @function
pause:  ldi r25, 5
1:      dec r25
        brne 1b
        nop
        nop
        ret
        .size pause, .-pause
"#;

    #[test]
    fn an_image_whose_timed_function_the_linker_changes_is_not_built() {
        let Some(compiler) = compiler() else { return };
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("firmware/node");
        fs::create_dir_all(&folder).unwrap();
        let sources =
            "flag -Os\nlink -Wl,--gc-sections\nlink -Wl,-T,weave.ld\nsource main.c\nsource send.S\n";
        fs::copy(tree().join("firmware/node/weave.ld"), folder.join("weave.ld")).unwrap();
        fs::write(folder.join("sources.txt"), sources).unwrap();
        fs::write(folder.join("main.c"), "void send(void);\nint main(void) { send(); return 0; }\n").unwrap();
        fs::write(folder.join("send.S"), SEND).unwrap();
        let chip = CHIPS.iter().find(|chip| chip.name == "atmega128").unwrap();
        let cache = scratch.path().join("cache");
        let build = || compiler.node_image(scratch.path(), chip, Besides::Nothing, Some(&cache));
        let image = build().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(linked::records(&image.elf).unwrap().len(), 3, "its directives outlive --gc-sections");
        fs::write(folder.join("sources.txt"), format!("flag -mrelax\n{sources}")).unwrap();
        let refused = build().expect_err("a shorter call moves the event");
        assert_eq!(refused.class(), Class::Input);
        let words = refused.to_string();
        assert!(words.contains("at cycle 33, expected cycle 34") && words.contains("path:"), "{words}");
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 1, "what is refused is not kept");
    }
}
