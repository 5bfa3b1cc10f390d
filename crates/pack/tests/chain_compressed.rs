//! Programs of the corpus compressed by codes that are decoded on fill, sealed and run from their containers: every
//! seal, with and without tags, prints what a native build prints.

mod corpus;
mod made;

use corpus::Run;
use isa::Cycles;
use isa::sparc::user::{self, Windows};
use isa::sparc::{FaultKind, Image as Linked, Timing, machine};
use made::{Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Outcome, Protection, Settings, integrity, sealed};
use pack::code::Code;
use pack::code::onfill::stored::{Stored, compress, expand};
use pack::image::Kind;
use pack::integrity::{ImageName, Integrity};
use pack::lines::{Choice, Role};
use pack::sealed::{Settings as Sealing, Unsealed};
use pack::{Container, Image, Program, RunError};

/// Where tags are: far from what a program loads and from its stack.
const TABLES: u32 = 0x3000_0000;

fn core(program: &Linked) -> user::Settings {
    let table = program.symbol("reset").expect("it has a table of traps").address;
    user::Settings {
        machine: machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() },
        windows: Windows::Image { table },
        ..user::Settings::default()
    }
}

fn plain(run: &Run) -> Image {
    let path = corpus::root("corpus/sparc").join(&run.program).with_extension("elf");
    let program = Program::parse(&std::fs::read(path).expect("the corpus has it")).expect("it is a program");
    Image::from(&program)
}

fn compressed(run: &Run, code: Code) -> Image {
    compress(&plain(run), code, 64).expect("it becomes smaller").0
}

/// An image in a container, read back from its bytes.
fn container(image: &Image, number: usize, tags: Option<(u8, u8)>) -> Container {
    let (seal, key) = seals(&mut Seeded::new()).into_iter().nth(number).expect("there are six");
    let settings = Sealing {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity: tags.map(|(lines, bytes)| Integrity::new(lines, bytes).expect("there are such")),
        image: ImageName { version: 3, id: *b"selvedge" },
        // What compression leaves free has no room for the tags of constants, too.
        tables_first: Some(TABLES),
    };
    let container = made::seal(&Unsealed::from(image.clone()), &settings, &key, &device(1));
    Container::parse(&container.expect("it can be sealed").to_bytes()).expect("it was written so")
}

fn start(run: &Run, image: &Image, protection: &Protection, settings: &Settings) -> Outcome {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let started = run::under_linux(image, protection, settings, &told, files, core(&run.image()));
    run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ())
}

fn run_from(run: &Run, container: &Container, settings: &Settings) -> Outcome {
    let (image, protection) = sealed::boot(made::unlock(container, 1)).expect("nothing was changed");
    start(run, &image, &protection, settings)
}

fn checks(speculative: bool) -> Settings {
    let mac_cache = Some(pack::chain::Shape::direct(256));
    Settings {
        integrity: integrity::Settings { latency_cycles: 80, speculative, mac_cache },
        ..Settings::default()
    }
}

/// Which codes a program is compressed by, and which seals each is sealed with: in a long run all codes, the best one
/// with all seals; elsewhere the best one and another, each with one seal of the three kinds in turn.
fn chosen(number: usize) -> Vec<(Code, Vec<usize>)> {
    let others: Vec<Code> = Code::on_fill().filter(|&code| code != Code::Fields).collect();
    let seal = |number: usize| [0, 1, 2 + number % 4][number % 3];
    if !corpus::soak() {
        let other = others[number / 3 % others.len()];
        return vec![(Code::Fields, vec![seal(number)]), (other, vec![seal(number + 1)])];
    }
    let others = others.into_iter().enumerate().map(|(place, code)| (code, vec![seal(number + place)]));
    std::iter::once((Code::Fields, (0..6).collect())).chain(others).collect()
}

#[test]
fn compressed_and_sealed_programs_print_what_they_print_natively_with_and_without_tags() {
    const TAGS: [(u8, u8); 3] = [(1, 8), (4, 16), (8, 8)];
    for (number, run) in corpus::sample("compressed and sealed programs").iter().enumerate() {
        for (code, seals) in chosen(number) {
            let image = compressed(run, code);
            for seal in seals {
                let tags = TAGS[(number + seal) % 3];
                let every =
                    [(None, Settings::default()), (Some(tags), checks(true)), (Some(tags), checks(false))];
                // What checks do does not depend on the code.
                let every = if code == Code::Fields || corpus::soak() { &every[..] } else { &every[..1] };
                for &(tags, settings) in every {
                    let container = container(&image, seal, tags);
                    assert!(container.entry_of(Role::Program(Kind::Blocks)).expect("it has them").is_sealed);
                    let outcome = run_from(run, &container, &settings);
                    let what = format!("{} {}: {} seal {seal}, {tags:?}", run.program, run.name, code.name());
                    assert_eq!(outcome.end, End::Exit(0), "{what}");
                    assert!(run.is_expected(&outcome.output), "{what}");
                    let (counts, spent) = (outcome.counts, outcome.spent);
                    let decoding = counts.transfers.decoding;
                    assert!(decoding.blocks > 0 && decoding.record_fills > 0, "{what}: {decoding:?}");
                    let executed = spent.instructions + spent.annulled + spent.trap_cycles;
                    let transfers = counts.transfers;
                    let waited = transfers.memory_cycles + transfers.cipher_cycles + decoding.decode_cycles;
                    if tags.is_none() {
                        assert_eq!(outcome.cycles, executed + waited, "{what}");
                    } else {
                        assert!(transfers.checks.groups >= decoding.blocks, "{what}");
                    }
                    println!("{what}: {} cycles, {decoding:?}", outcome.cycles);
                }
            }
        }
    }
}

#[test]
fn a_container_gives_back_what_was_compressed() {
    for run in
        corpus::sample("containers of compressed programs").iter().filter(|run| run.program == "search")
    {
        let (before, image) = (plain(run), compressed(run, Code::Fields));
        let container = container(&image, 1, Some((4, 8)));
        let roles = [Kind::Model, Kind::Blocks].map(|kind| container.entry_of(Role::Program(kind)).cloned());
        assert!(roles.iter().flatten().all(|entry| entry.is_sealed) && roles.iter().all(Option::is_some));
        let unsealed = made::unlock(&container, 1).unseal().expect("nothing was changed");
        let image_again = unsealed.into_image().expect("it is of SPARC");
        assert_eq!(image_again, image);
        let code = expand(&image_again).expect("it was compressed");
        assert_eq!(*code, before);
    }
}

#[test]
fn changes_of_a_sealed_model_are_found_at_boot_and_those_of_blocks_when_they_are_fetched() {
    for run in corpus::sample("changed blocks").iter().filter(|run| run.program == "search") {
        let image = compressed(run, Code::Fields);
        let whole = container(&image, 1, Some((1, 8)));
        let model = whole.entry_of(Role::Program(Kind::Model)).expect("it has one").first;
        let mut bytes = whole.to_bytes();
        let line = whole.memory(model, 16).expect("it is there").to_vec();
        let at = bytes.windows(16).position(|window| window == line).expect("it is in the container");
        bytes[at + 3] ^= 4;
        let changed =
            Container::parse(&pack::container::with_checksum(bytes)).expect("it is laid out as before");
        let refused =
            sealed::boot(made::unlock(&changed, 1)).map(|_| ()).expect_err("its tag does not match");
        assert_eq!(refused, RunError::BootCheck { line: model });
        // The block where the program begins.
        let (booted, mut protection) = sealed::boot(made::unlock(&whole, 1)).expect("nothing was changed");
        let stored = Stored::of(&booted).expect("it was made so").expect("it is compressed");
        let record = stored.record(stored.block(booted.entry));
        let memory = protection.memory.as_mut().expect("it has memory");
        let piece = memory.iter_mut().rfind(|piece| piece.0 <= record).expect("it is there");
        piece.1[(record - piece.0) as usize + 2] ^= 1;
        let outcome = start(run, &booted, &protection, &checks(true));
        let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
        assert_eq!((fault.kind, outcome.output), (FaultKind::LineCheck { line: record }, vec![]));
    }
}

/// What reading a container of compressed code says in which something is changed before it is sealed.
fn misread(change: impl Fn(&mut Image)) -> String {
    let words: Vec<u8> = [0x0100_0000u32; 64].iter().flat_map(|word| word.to_be_bytes()).collect();
    let code = pack::Section { name: ".text".to_owned(), kind: Kind::Code, first: 0x1000, bytes: words };
    let image = Image {
        target: pack::Target::Sparc,
        entry: 0x1000,
        sections: vec![code],
        zeros: Vec::new(),
        dictionary: Default::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    };
    let (mut image, _) = compress(&image, Code::Huffman, 64).expect("it has one word");
    change(&mut image);
    let (seal, key) = seals(&mut Seeded::new()).into_iter().nth(1).expect("there are six");
    let container = made::seal(&Unsealed::from(image), &made::settings(seal), &key, &device(1));
    Container::parse(&container.expect("it can be sealed").to_bytes()).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_container_with_a_model_and_no_blocks_is_refused() {
    let words = misread(|image| image.sections[1].kind = Kind::Code);
    assert_eq!(words, "the number of sections of blocks at offset 104 is 0, expected that of models");
    let words = misread(|image| image.sections[1].kind = Kind::Model);
    assert_eq!(words, "the number of models at offset 104 is 2, expected 0 or 1");
}
