//! The texts of compilers and people, read: without loss, with the flow they have, and with the words that an
//! assembler makes of them. The fixtures say in their first line how they were made: those of compilers from
//! `ring.c`, and `*_avr.s`, which are full of macros, from `firmware/crypto`.

mod tools;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::avr::{CoreType, Instruction};
use object::{Object, ObjectSection, ObjectSymbol};
use weave::directive::Parameters;
use weave::program::{Callee, Flow, Origin, Point, Program};
use weave::source::{Listing, Source};

const FUNCTIONS: &[&str] = &["ring_put", "ring_get", "rotate", "weigh", "drain", "named", "main"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/source")
}

/// The fixtures of compilers, by name.
fn fixtures() -> Vec<(String, Source)> {
    let entries = std::fs::read_dir(folder()).expect("the folder of fixtures");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("ASCII"));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".s")).collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    let read = |name: String| {
        let text = std::fs::read_to_string(folder().join(&name)).expect("a fixture");
        let source = Source::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
        (name, source)
    };
    names.into_iter().map(read).collect()
}

/// The functions of a fixture that are asked for.
fn roots(name: &str) -> &'static [&'static str] {
    match name {
        "hand.s" => &["first", "falls", "unnamed"],
        "macros.s" => &["odd"],
        "aes128_avr.s" => &["aes128_avr_init", "aes128_avr_encrypt"],
        "aes128_ctr_avr.s" => &["aes128_ctr_avr_crypt"],
        "ascon_p_avr.s" => &["ascon_p_avr"],
        "chacha20_avr.s" => &["chacha20_avr_init", "chacha20_avr_crypt"],
        "rc5_avr.s" => &["rc5_avr_init", "rc5_avr_encrypt", "rc5_avr_decrypt"],
        _ => FUNCTIONS,
    }
}

fn program(source: &Source, roots: &[&str]) -> (Program, Listing) {
    let sources = std::slice::from_ref(source);
    Program::read(sources, roots, &Parameters::new(), Some(CoreType::AvrePc2))
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_text_comes_back_byte_for_byte() {
    for (name, source) in fixtures() {
        let text = std::fs::read_to_string(folder().join(&name)).unwrap();
        assert_eq!(source.text(), text);
        let lines: String = (1..=source.lines()).map(|number| source.line(number)).collect();
        assert_eq!(lines, text);
    }
}

#[test]
fn every_function_of_every_compiler_is_read() {
    for (name, source) in fixtures() {
        let (program, listing) = program(&source, roots(&name));
        for function in roots(&name) {
            assert!(program.function(function).is_some(), "{name}: {function}");
        }
        assert_eq!(listing.extents.len(), program.functions.len());
        let mut end = 0;
        for (function, extent) in program.functions.iter().zip(&listing.extents) {
            assert_eq!(function.entry, end, "{name}: {}", function.name);
            end = function.end;
            let label = format!("{}:", function.name.split('@').next().unwrap());
            let local = function.name.contains('@');
            assert!(
                local || source.line(*extent.lines.start()).starts_with(&label),
                "{name}: {}",
                function.name
            );
            for step in &program.code[function.entry..function.end] {
                let Origin::Line { line, .. } = step.origin else { panic!("a text has lines") };
                assert!(extent.lines.contains(&line), "{name}: {}", function.name);
            }
        }
        assert_eq!(end, program.code.len());
    }
}

fn run(tool: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(tool).args(arguments).current_dir(folder).output().expect(tool);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{tool} {arguments:?}: {words}");
    String::from_utf8(output.stdout).expect("text")
}

/// Assembles with the fixture's own toolchain and links without relaxation.
fn linked(name: &str, text: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("a.s"), text).expect("write the text");
    if name.contains("clang") {
        run("clang", &["--target=avr", "-mmcu=atmega128", "-c", "a.s", "-o", "a.o"], folder);
    } else {
        run("avr-as", &["-mmcu=avr51", "a.s", "-o", "a.o"], folder);
    }
    let options = ["-mavr51", "--no-relax", "-Ttext=0", "-e", "0", "--unresolved-symbols=ignore-all"];
    run("avr-ld", &[&options[..], &["a.o", "-o", "a.elf"]].concat(), folder);
    std::fs::read(folder.join("a.elf")).expect("read what the linker wrote")
}

/// The address of every point, from the symbols of the functions and of the labels in them, and the lengths of the
/// instructions.
fn addresses(elf: &object::File, program: &Program, listing: &Listing) -> Vec<u64> {
    let mut addresses = Vec::new();
    let named = listing.labels.iter().filter_map(|((_, name), point)| {
        let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(name))?;
        Some((*point, symbol.address()))
    });
    let named: BTreeMap<Point, u64> = named.collect();
    for function in &program.functions {
        let symbol = elf.symbols().find(|symbol| symbol.name() == Ok(&function.name));
        // A function at a local label has no symbol: it is told by what calls it, below.
        let Some(symbol) = symbol else {
            assert!(function.name.contains('@'), "{} is not in the ELF", function.name);
            addresses.extend(std::iter::repeat_n(u64::MAX, function.end - function.entry));
            continue;
        };
        let mut address = symbol.address();
        for point in function.entry..function.end {
            let here = *named.get(&point).unwrap_or(&address);
            // Only data may stand between two instructions, and no fixture has more of it.
            assert!((0..=8).contains(&(here - address)), "{} at point {point}", function.name);
            addresses.push(here);
            address = here + 2 * u64::from(program.code[point].instruction.opcode.words());
        }
        assert!(
            symbol.size() == 0 || address == symbol.address() + symbol.size(),
            "the end of {}",
            function.name
        );
    }
    addresses
}

/// Checks one instruction against the words at its address.
fn check_step(program: &Program, point: Point, addresses: &[u64], code: &[u8], place: &str) {
    let step = &program.code[point];
    let at = addresses[point] as usize;
    let word = |at: usize| code.get(at..at + 2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let first = word(at).expect("code");
    let theirs = Instruction::decode(first, word(at + 2)).unwrap_or_else(|| panic!("{place}: {first:#06x}"));
    if step.expression.is_none() {
        assert_eq!(step.instruction, theirs, "{place}: ours is `{}`, theirs `{theirs}`", step.instruction);
    } else {
        let without = Instruction { k: 0, b: step.instruction.b, ..theirs };
        assert_eq!(step.instruction, without, "{place}: ours is `{}`, theirs `{theirs}`", step.instruction);
    }
    let operands = theirs.opcode.row().operands;
    let words = i64::from(theirs.opcode.words());
    let goes_to = match operands.last() {
        Some(isa::avr::table::Operand::Address22) => Some(i64::from(theirs.k) * 2),
        Some(isa::avr::table::Operand::Relative7 | isa::avr::table::Operand::Relative12) => {
            Some(at as i64 + 2 * words + i64::from(theirs.k) * 2)
        }
        _ => None,
    };
    let expected = match &step.flow {
        Flow::Branch(to) | Flow::Jump(to) | Flow::Call(Callee::Known(to)) => Some(*to),
        Flow::TailCall(Callee::Known(to)) if goes_to.is_some() => Some(*to),
        // Falling into the next function.
        Flow::TailCall(Callee::Known(to)) => {
            assert_eq!(addresses[*to], at as u64 + 2 * words as u64, "{place}");
            None
        }
        _ => None,
    };
    if let Some(to) = expected
        && addresses[to] != u64::MAX
    {
        assert_eq!(goes_to, Some(addresses[to] as i64), "{place}: `{theirs}`");
    }
}

#[test]
fn instructions_and_targets_are_what_assembler_and_linker_make_of_them() {
    if !tools::present("texts against the assemblers", &["avr-as", "avr-ld", "clang"]) {
        return;
    }
    let mut compared = 0;
    for (name, source) in fixtures() {
        let (program, listing) = program(&source, roots(&name));
        let bytes = linked(&name, source.text());
        let elf = object::File::parse(&*bytes).expect("an ELF file");
        let section = elf.section_by_name(".text").expect("code");
        let (code, start) = (section.data().expect("code"), section.address());
        assert_eq!(start, 0);
        let addresses = addresses(&elf, &program, &listing);
        for point in (0..program.code.len()).filter(|point| addresses[*point] != u64::MAX) {
            let Origin::Line { line, .. } = program.code[point].origin else { panic!("a text has lines") };
            let place = format!("{name}:{line}: {}", source.line(line).trim());
            check_step(&program, point, &addresses, code, &place);
            compared += 1;
        }
    }
    assert!(compared > 4000, "{compared}");
}

#[test]
fn local_labels_of_two_texts_are_each_their_own() {
    let text = |name: &str, more: &str| {
        format!(
            ".global {name}\n.type {name}, @function\n{name}: {more}\n.L3: dec r24\n brne .L3\n1: rjmp 1b\n"
        )
    };
    let sources = [("one", "nop"), ("two", "rcall one\n nop")]
        .map(|(name, more)| Source::parse(&format!("{name}.s"), &text(name, more)).unwrap());
    let read = Program::read(&sources, &["two"], &Parameters::new(), Some(CoreType::AvrePc2));
    let (program, listing) = read.unwrap_or_else(|error| panic!("{error}"));
    for (unit, name) in ["one", "two"].into_iter().enumerate() {
        let function = program.function(name).expect("both are reached");
        let local = listing.labels[&(unit, ".L3".to_owned())];
        let branch = function.end - 2;
        assert_eq!(local, branch - 1, "{name}");
        assert_eq!(program.code[branch].flow, Flow::Branch(local), "{name}");
        assert_eq!(program.code[branch + 1].flow, Flow::Jump(branch + 1), "{name}");
    }
}

#[test]
fn what_a_macro_makes_is_on_the_line_of_its_use_and_a_repetition_on_its_own() {
    let text = ".macro two a\n nop\n .rept 2\n com \\a\n .endr\n.endm\nf: two r2\n .irp r, 3, 4\n inc r\\r\n two r5\n .endr\n ret\n";
    let source = Source::parse("lines.s", text).unwrap();
    let (program, listing) = program(&source, &["f"]);
    let lines: Vec<Origin> = program.code.iter().map(|step| step.origin).collect();
    let expected = [7, 7, 7, 9, 10, 10, 10, 9, 10, 10, 10, 12];
    assert_eq!(lines, expected.map(|line| Origin::Line { text: 0, line }));
    assert_eq!(listing.extents[0].lines, 7..=12);
    assert_eq!((source.text(), source.lines()), (text, 12));
}

#[test]
fn gnu_as_takes_a_whole_text_in_its_words_which_say_the_same() {
    if !tools::present("clang's text in GNU as's words", &["avr-as", "avr-ld", "clang"]) {
        return;
    }
    let mut rewritten = 0;
    for (name, source) in fixtures() {
        let gnu = source.gnu_text();
        if !name.contains("clang") {
            assert_eq!(gnu, source.text(), "{name}");
            continue;
        }
        assert_ne!(gnu, source.text(), "{name}");
        linked(&name.replace("clang", "gnu"), &gnu);
        // The two place common symbols differently, so one of them assembles both texts.
        let both = [linked(&name, source.text()), linked(&format!("{name} in GNU words"), &gnu)];
        let [theirs, ours] = both.map(|elf| {
            let file = object::File::parse(&elf[..]).expect("an ELF file");
            [".text", ".data"]
                .map(|name| file.section_by_name(name).map(|found| found.data().unwrap().to_vec()))
        });
        assert_eq!(theirs, ours, "{name}");
        rewritten += 1;
    }
    assert_eq!(rewritten, 2);
}
