//! Functions out of the archives that avr-gcc links with: what is written assembles to what the archive has.

mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile32;
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use weave::archive::{Archive, ArchiveError};

/// What avr-gcc prints.
fn asked(option: &str) -> PathBuf {
    let output = Command::new("avr-gcc").args(["-mmcu=atmega128", option]).output().expect("avr-gcc runs");
    String::from_utf8_lossy(&output.stdout).trim_end().into()
}

/// The bytes of the section that a symbol is defined in, and whether the symbol begins it.
fn section(object: &[u8], symbol: &str) -> Option<(Vec<u8>, bool)> {
    let file: ElfFile32<Endianness> = ElfFile32::parse(object).ok()?;
    let found = file.symbols().find(|found| found.is_definition() && found.name() == Ok(symbol))?;
    let section = file.section_by_index(found.section_index()?).ok()?;
    Some((section.data().ok()?.to_vec(), found.address() == 0))
}

/// The member of an archive that defines a symbol.
fn member(archive: &[u8], symbol: &str) -> Vec<u8> {
    let file = ArchiveFile::parse(archive).expect("an archive");
    let mut symbols = file.symbols().expect("it has an index").expect("of symbols");
    let found = symbols.find(|found| found.as_ref().is_ok_and(|found| found.name() == symbol.as_bytes()));
    let offset = found.expect("it is in the index").expect("which reads").offset();
    file.member(offset).expect("a member").data(archive).expect("with bytes").to_vec()
}

/// Without what the linker fills in: the assembler leaves it zero, but where it knows a distance.
fn opcodes(bytes: &[u8]) -> Vec<u16> {
    let words = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let opcode = |word: u16| match word >> 12 {
        0xC | 0xD => word & 0xF000,
        0xF if word & 0x0800 == 0 => word & 0xFC07,
        _ => word,
    };
    words.map(opcode).collect()
}

fn assembled(folder: &Path, text: &str) -> Vec<u8> {
    let [source, object] = ["text.s", "text.o"].map(|name| folder.join(name));
    fs::write(&source, text).expect("a file");
    let mut gcc = Command::new("avr-gcc");
    let output =
        gcc.args(["-mmcu=atmega128", "-c", "-o"]).args([&object, &source]).output().expect("avr-gcc runs");
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    fs::read(&object).expect("the object")
}

#[test]
fn what_is_written_assembles_to_the_members_code() {
    if !tools::present("functions of archives", &["avr-gcc"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&str, &[&str]); 3] = [
        (
            "-print-libgcc-file-name",
            &[
                "__mulsi3",
                "__muluhisi3",
                "__udivmodqi4",
                "__udivmodhi4",
                "__udivmodsi4",
                "__ashldi3",
                "__bswapsi2",
            ],
        ),
        ("-print-file-name=libc.a", &["memcpy", "memset", "memmove", "strlen", "strcmp", "memcmp", "strchr"]),
        ("-print-file-name=libm.a", &["__mulsf3", "__fp_round", "__floatsisf"]),
    ];
    let mut whole = 0;
    for (option, symbols) in cases {
        let bytes = fs::read(asked(option)).expect("the compiler's own");
        let archive = Archive::parse("library.a", &bytes).expect("an archive");
        for symbol in symbols {
            let text = archive.function(symbol).expect("it reads").expect("it is there");
            let found = section(&assembled(folder.path(), text.text()), symbol).expect("it is defined").0;
            let (expected, begins) = section(&member(&bytes, symbol), symbol).expect("it is defined");
            // Where not all of the section is of the function, the text is another.
            if begins && found.len() == expected.len() {
                assert_eq!(opcodes(&found), opcodes(&expected), "{symbol}\n{}", text.text());
                whole += 1;
            }
        }
    }
    println!("{whole} functions have all of their member's code");
    assert!(whole >= 12, "only {whole}");
}

#[test]
fn every_function_of_the_library_is_read_or_refused_with_a_reason() {
    if !tools::present("functions of archives", &["avr-gcc"]) {
        return;
    }
    for option in ["-print-libgcc-file-name", "-print-file-name=libc.a", "-print-file-name=libm.a"] {
        let bytes = fs::read(asked(option)).expect("the compiler's own");
        let archive = Archive::parse("library.a", &bytes).expect("an archive");
        let file = ArchiveFile::parse(&bytes[..]).expect("an archive");
        let symbols = file.symbols().expect("it has an index").expect("of symbols");
        let names =
            symbols.map(|found| String::from_utf8_lossy(found.expect("it reads").name()).into_owned());
        let [mut read, mut data, mut refused] = [0; 3];
        for name in names {
            match archive.function(&name) {
                Ok(Some(_)) => read += 1,
                Ok(None) => data += 1,
                Err(ArchiveError::Operand { .. }) => refused += 1,
                // What the startup code runs on through, section behind section.
                Err(ArchiveError::NoInstruction { .. }) => data += 1,
                Err(error) => panic!("{name}: {error}"),
            }
        }
        println!(
            "{option}: {read} are read, {refused} need what only their files can name, {data} are no functions"
        );
        assert!(read > 2 * refused, "{option}: most of it is read");
    }
}

#[test]
fn what_is_no_archive_is_refused() {
    let error = Archive::parse("libgcc.a", b"!<arch>\nnothing").err().expect("it is none");
    assert_eq!(error.to_string().split(':').next(), Some("`libgcc.a` cannot be read"));
    let empty = Archive::parse("libgcc.a", b"!<arch>\n").expect("an empty one");
    assert!(empty.function("memcpy").expect("it reads").is_none());
}
