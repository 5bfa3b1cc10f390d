//! Files that are no program to pack, run or seal, each refused by name: not an ELF, another machine, not linked, an
//! entry inside a word, code that the program writes, relocations that are not known. And files that were cut, at every
//! length: no reader takes one for another program. RV32's own refusals are in `rv32_refused`.

mod corpus;
mod made;
mod packets;

use isa::error::ImageError;
use made::{IMAGE, Seeded, counted, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Protection, Settings, sealed};
use pack::image::{Kind, Section};
use pack::integrity::Integrity;
use pack::lines::Choice;
use pack::program::Function;
use pack::sealed::{Settings as Sealing, Unsealed, seal_under_given_nonce};
use pack::sections::Machine;
use pack::{Container, ElfError, Error, Program, RunError, SealError, Sections, Target, pack};
use packets::{CODE, plain};

/// A SPARC program that is changed.
struct File(Vec<u8>);

impl File {
    fn new() -> File {
        File(corpus::elf("search"))
    }

    fn half(&self, at: usize) -> usize {
        u16::from_be_bytes([self.0[at], self.0[at + 1]]).into()
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.0[at..at + 4].try_into().expect("four bytes"))
    }

    fn put(&mut self, at: usize, word: u32) {
        self.0[at..at + 4].copy_from_slice(&word.to_be_bytes());
    }

    /// Where the header of a section stands.
    fn header(&self, name: &str) -> usize {
        let first = self.word(32) as usize;
        let names = self.word(first + 40 * self.half(50) + 16) as usize;
        let is_named = |at: &usize| {
            self.0[names + self.word(*at) as usize..].starts_with(format!("{name}\0").as_bytes())
        };
        (0..self.half(48)).map(|number| first + 40 * number).find(is_named).expect("it has such a section")
    }

    /// Where the headers of its segments stand.
    fn segments(&self) -> impl Iterator<Item = usize> {
        let (first, count) = (self.word(28) as usize, self.half(44));
        (0..count).map(move |number| first + 32 * number)
    }

    /// Where the relocations of a type stand.
    fn relocations(&self, r_type: u8) -> impl Iterator<Item = usize> {
        let header = self.header(".rela.text");
        let (first, bytes) = (self.word(header + 16) as usize, self.word(header + 20) as usize);
        (first..first + bytes).step_by(12).filter(move |at| self.0[at + 7] == r_type)
    }

    /// Where the first one stands.
    fn relocation(&self, r_type: u8) -> usize {
        self.relocations(r_type).next().expect("it has such a one")
    }
}

/// What the packer says of a changed program.
fn refused(change: impl FnOnce(&mut File)) -> Error {
    let mut file = File::new();
    change(&mut file);
    Program::parse(&file.0).expect_err("it was changed")
}

/// Offsets in an ELF header, and in that of a section.
const TYPE: usize = 16;
const MACHINE: usize = 18;
const ENTRY: usize = 24;
const FLAGS: usize = 8;
const ADDRESS: usize = 12;
const LENGTH: usize = 20;

#[test]
fn what_is_no_elf_file_is_named() {
    for bytes in [&b""[..], b"PK\x03\x04", b"\x7fELF", &[0; 600]] {
        let error = Program::parse(bytes).expect_err("it is none");
        assert!(matches!(error, Error::Elf { .. }), "{error:?}");
        assert!(error.to_string().starts_with("not a 32-bit ELF file: "), "{error}");
    }
    // Of 64 bits.
    assert!(matches!(refused(|file| file.0[4] = 2), Error::Elf { .. }));
}

#[test]
fn another_machine_is_named_by_every_reader() {
    for found in [18, 40, 183] {
        let mut file = File::new();
        file.0[MACHINE + 1] = found;
        let found = found.into();
        assert_eq!(Program::parse(&file.0), Err(Error::Machine { found }));
        let expected = Err(ImageError::Machine { found, expected: 2 });
        assert_eq!(isa::sparc::Image::parse(&file.0).map(|_| ()), expected);
        // It can be sealed all the same.
        assert_eq!(Sections::parse(&file.0).map(|sections| sections.machine.number), Ok(found));
    }
    // Each instruction set has its own readers.
    let rv32 = std::fs::read(corpus::root("corpus/rv32/search.elf")).expect("the corpus has it");
    let expected = Err(ImageError::Machine { found: 243, expected: 2 });
    assert_eq!(isa::sparc::Image::parse(&rv32).map(|_| ()), expected);
    let expected = Err(ImageError::Machine { found: 2, expected: 243 });
    assert_eq!(isa::rv32::Image::parse(&File::new().0).map(|_| ()), expected);
}

#[test]
fn code_of_sparc_that_reads_its_own_address_is_named_by_its_place() {
    let program = |lines: &[&str]| {
        let bytes = lines.iter().flat_map(|line| packets::word_of(line).to_be_bytes()).collect();
        let name = ".text".to_owned();
        Program {
            target: Target::Sparc,
            entry: CODE,
            sections: vec![Section { name, kind: Kind::Code, first: CODE, bytes }],
            zeros: Vec::new(),
            functions: vec![Function { name: "begin".into(), first: CODE, bytes: 4 * lines.len() as u32 }],
            references: Vec::new(),
            relocated: true,
        }
    };
    let asked = |lines: &[&str]| pack(&program(lines), &[], &pack::Settings::default());
    // As `-fpic` code finds itself: a call to what is behind its delay instruction, for the address that it leaves.
    let reads = ["nop", "call .+8", "sethi %hi(0x1000), %l7", "add %l7, %o7, %l7", "jmp %i7 + 8", "restore"];
    assert_eq!(asked(&reads).err(), Some(Error::ReadsItsPlace { at: CODE + 4 }));
    // Wherever nothing leads, nothing reads.
    let unreached = ["jmp %o7 + 8", "nop", "call .+8", "nop", "nop"];
    assert_eq!(asked(&unreached).err(), None);
    // A call one word further is one.
    let calls = ["save %sp, -96, %sp", "call .+12", "nop", "nop", "jmp %i7 + 8", "restore"];
    assert_eq!(asked(&calls).err(), None);
}

#[test]
fn an_object_and_a_library_are_named() {
    for found in [1, 3] {
        assert_eq!(refused(|file| file.0[TYPE + 1] = found), Error::NotLinked { found: found.into() });
        let mut file = File::new();
        file.0[TYPE + 1] = found;
        let expected = Err(ImageError::NotLinked { found: found.into() });
        assert_eq!(isa::sparc::Image::parse(&file.0).map(|_| ()), expected);
        assert_eq!(Sections::parse(&file.0), Err(ElfError::NotLinked { found: found.into() }));
    }
}

#[test]
fn an_entry_that_is_no_instruction_is_named() {
    let entry = File::new().word(ENTRY);
    let data = File::new();
    let data = data.word(data.header(".data") + ADDRESS);
    for found in [entry + 1, entry + 2, entry + 3, data, 0, u32::MAX, u32::MAX - 3] {
        assert_eq!(refused(|file| file.put(ENTRY, found)), Error::Entry { found });
        let mut file = File::new();
        file.put(ENTRY, found);
        let image = isa::sparc::Image::parse(&file.0).map(|_| ());
        assert_eq!(image, Err(ImageError::Entry { found }));
    }
}

/// A slot is no place to begin at: nothing has told what is behind it.
#[test]
fn an_image_that_begins_inside_a_word_ends_by_name_at_once() {
    let mut image = packets::image(&[plain("mov 1, %g1"), plain("ta 0")]);
    for slot in 1..4 {
        image.entry = packets::CODE + slot;
        let user = isa::sparc::user::Settings::default();
        let (none, settings, files) = (Protection::default(), Settings::default(), Default::default());
        let started = run::under_linux(&image, &none, &settings, &[], files, user);
        let outcome = run::finish(&mut started.expect("it fits"), 1000, &mut ());
        let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
        let trap = isa::sparc::Trap::ILLEGAL_INSTRUCTION;
        assert_eq!(fault.kind, isa::sparc::FaultKind::Unfetched { trap });
        assert_eq!((fault.pc, outcome.spent.instructions), (image.entry, 0));
    }
}

#[test]
fn sections_that_cannot_be_code_are_named() {
    let name = || ".text".to_owned();
    let header = File::new().header(".text");
    let (first, bytes) = (File::new().word(header + ADDRESS), File::new().word(header + LENGTH));
    let shorter = refused(|file| file.put(header + LENGTH, bytes - 2));
    assert_eq!(shorter, Error::Unaligned { section: name(), first, bytes: u64::from(bytes) - 2 });
    // Neither its table of traps nor its text is executed.
    let none = refused(|file| {
        for name in [".traps", ".text"] {
            let header = file.header(name);
            file.put(header + FLAGS, file.word(header + FLAGS) & !4);
        }
    });
    assert_eq!(none, Error::NoCode);
    let over = refused(|file| {
        let header = file.header(".rodata");
        file.put(header + ADDRESS, first + 16);
    });
    assert!(matches!(over, Error::Overlap { first: found, .. } if found == first + 16), "{over:?}");
    let past = refused(|file| {
        let header = file.header(".data");
        file.put(header + ADDRESS, u32::MAX - 8);
    });
    assert!(matches!(past, Error::Overlap { first, .. } if first == u32::MAX - 8), "{past:?}");
    let large = refused(|file| {
        let header = file.header(".bss");
        file.put(header + LENGTH, 1 << 28);
    });
    assert!(matches!(large, Error::TooLarge { limit_bytes, .. } if limit_bytes == 1 << 28), "{large:?}");
}

#[test]
fn code_that_the_program_writes_is_named_and_may_be_left_out_of_its_segment() {
    let written = |segments: bool| {
        let mut file = File::new();
        let header = file.header(".text");
        file.put(header + FLAGS, file.word(header + FLAGS) | 1);
        for segment in file.segments().collect::<Vec<_>>().into_iter().filter(|_| segments) {
            file.put(segment + 24, file.word(segment + 24) | 2);
        }
        Program::parse(&file.0).map(|_| ())
    };
    assert_eq!(written(true), Err(Error::Writable { section: ".text".into() }));
    // Where its segment says that it is not written, it is not.
    assert_eq!(written(false), Ok(()));
}

#[test]
fn relocations_that_are_unknown_or_untrue_are_named() {
    const HI22: u8 = 9;
    const LO10: u8 = 12;
    const WDISP30: u8 = 7;
    /// An offset into a table of addresses, which is not made for a program at a fixed place.
    const GOT10: u8 = 13;
    let mut seen = 0;
    for r_type in [HI22, LO10, WDISP30] {
        let at = File::new().relocation(r_type);
        let place = File::new().word(at);
        // Some of these are of data, which does not move: nothing is asked of them.
        let mut file = File::new();
        file.0[at + 7] = GOT10;
        match Program::parse(&file.0) {
            Ok(_) => assert_ne!(r_type, WDISP30),
            Err(error) => {
                assert!(matches!(error, Error::Relocation { at, found: 13, .. } if at == place), "{error}");
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
    let at = File::new().relocation(WDISP30);
    let place = File::new().word(at);
    let changed = refused(|file| file.put(at + 8, file.word(at + 8).wrapping_add(4)));
    assert!(matches!(changed, Error::Changed { at, .. } if at == place), "{changed:?}");
}

#[test]
fn a_relocation_of_an_instruction_without_such_a_part_of_an_address_is_named() {
    /// Of each type, and the bit of the instruction without which it is another one: SETHI becomes no instruction, and a
    /// constant a register.
    const BITS: [(u8, u32); 2] = [(9, 1 << 24), (12, 1 << 13)];
    let whole = File::new();
    let text = whole.header(".text");
    let (first, offset) = (whole.word(text + ADDRESS), whole.word(text + 16));
    for (r_type, bit) in BITS {
        let mut seen = 0;
        for at in whole.relocations(r_type).take(400) {
            let place = whole.word(at);
            let mut file = File::new();
            let found = file.word((place - first + offset) as usize) ^ bit;
            file.put((place - first + offset) as usize, found);
            // Those of data say nothing about code.
            if let Err(error) = Program::parse(&file.0) {
                assert_eq!(error, Error::Unrelocatable { at: place, r_type: r_type.into(), found });
                seen += 1;
            }
        }
        assert!(seen > 0, "type {r_type}");
    }
}

/// Every length of a file: all of them in a long run, else those of a drawn remainder, and the last ones.
fn lengths(whole: usize, randomness: &mut Seeded) -> Vec<usize> {
    let step = if corpus::soak() { 1 } else { 61 };
    let drawn = usize::from(randomness.bytes(1)[0]) % step;
    (drawn..whole).step_by(step).chain(whole.saturating_sub(64)..whole).collect()
}

#[test]
fn a_program_that_was_cut_is_no_other_program_at_any_length() {
    let mut randomness = Seeded::new();
    for name in ["sparc/search.elf", "rv32/search.elf"] {
        let whole = std::fs::read(corpus::root("corpus").join(name)).expect("the corpus has it");
        let program = Program::parse(&whole).expect("it is whole");
        let sections = Sections::parse(&whole).expect("it is whole");
        for length in lengths(whole.len(), &mut randomness) {
            let cut = &whole[..length];
            match Program::parse(cut) {
                Ok(read) => assert_eq!(read, program, "{name} {length}"),
                Err(error) => assert!(matches!(error, Error::Elf { .. }), "{name} {length}: {error}"),
            }
            match Sections::parse(cut) {
                Ok(read) => assert_eq!(read, sections, "{name} {length}"),
                Err(error) => {
                    let named = matches!(error, ElfError::Elf { .. } | ElfError::NotElf { .. });
                    assert!(named, "{name} {length}: {error}");
                }
            }
            let named = |read: Result<(), ImageError>| {
                if let Err(error) = read {
                    assert!(matches!(error, ImageError::Elf { .. }), "{name} {length}: {error}");
                }
            };
            match program.target {
                Target::Sparc => named(isa::sparc::Image::parse(cut).map(|read| {
                    assert_eq!(Ok(read), isa::sparc::Image::parse(&whole), "{length}");
                })),
                Target::Rv32 => named(isa::rv32::Image::parse(cut).map(|read| {
                    assert_eq!(Ok(read), isa::rv32::Image::parse(&whole), "{length}");
                })),
            }
        }
    }
}

/// A packed program in a container, as a boot finds it.
fn packed_container(tags: bool) -> Container {
    let program = corpus::program("search");
    let settings =
        pack::Settings { assignment: pack::packing::Assignment::Greedy, ..pack::Settings::default() };
    let image = pack::pack(&program, &[], &settings).expect("it can be packed").image;
    let (seal, key) = seals(&mut Seeded::new()).swap_remove(1);
    let settings = Sealing {
        seal: seal.row(),
        allow_legacy: false,
        choice: Choice::default(),
        integrity: Integrity::new(4, 8).ok().filter(|_| tags),
        image: IMAGE,
        tables_first: Some(0x3000_0000),
    };
    let made = seal_under_given_nonce(&Unsealed::from(image), &settings, seal, &key, &device(2));
    made.expect("it can be sealed")
}

#[test]
fn a_packed_program_s_container_that_was_cut_is_refused_at_any_length() {
    let mut randomness = Seeded::new();
    let bytes = packed_container(true).to_bytes();
    for length in lengths(bytes.len(), &mut randomness) {
        let error = Container::parse(&bytes[..length]).expect_err("it was cut");
        let named = matches!(error, SealError::Length { .. } | SealError::Magic { .. });
        assert!(named, "{length}: {error}");
    }
}

/// One byte in 7 in a long run, else one in 97; its checksum is as wrong, or repaired.
#[test]
fn a_packed_program_s_container_with_a_changed_byte_is_refused_or_the_same() {
    let mut randomness = Seeded::new();
    let container = packed_container(true);
    let bytes = container.to_bytes();
    let whole = made::unlock(&container, 2).unseal().expect("nothing was changed");
    let step = if corpus::soak() { 7 } else { 97 };
    for at in (usize::from(randomness.bytes(1)[0]) % step..bytes.len()).step_by(step) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (randomness.bytes(1)[0] % 8);
        assert!(Container::parse(&changed).is_err(), "{at}");
        let repaired = pack::container::with_checksum(changed);
        let Ok(read) = Container::parse(&repaired) else { continue };
        let expected = pack::sealed::Expected::default();
        let Ok(unlocked) = read.unlock(&device(2), &expected) else { continue };
        match unlocked.unseal() {
            Ok(image) => assert_eq!(image, whole, "{at}"),
            Err(error) => assert!(matches!(error, SealError::Tag { .. }), "{at}: {error}"),
        }
    }
}

#[test]
fn a_container_for_another_machine_is_sealed_verified_and_not_run() {
    let arm = Machine { number: 40, flags: 0x0500_0200, is_big_endian: false };
    for seal_and_key in seals(&mut Seeded::new()) {
        let image = made::image(arm);
        let image = Unsealed::from(image.sections);
        let (seal, key) = &seal_and_key;
        let settings = Sealing { integrity: Integrity::new(1, 16).ok(), ..made::settings(*seal) };
        let made = seal_under_given_nonce(&image, &settings, *seal, key, &device(2));
        let container =
            Container::parse(&made.expect("it can be sealed").to_bytes()).expect("it was written so");
        assert_eq!(made::unlock(&container, 2).verify().fault_count, 0);
        assert_eq!(made::unlock(&container, 2).unseal(), Ok(image));
        let booted = sealed::boot(made::unlock(&container, 2)).map(|_| ());
        assert_eq!(booted, Err(RunError::Machine { found: 40 }));
    }
}

#[test]
fn an_image_of_one_core_is_not_run_on_the_other() {
    let mut image = packets::image(&[plain("ta 0")]);
    let (none, settings) = (Protection::default(), Settings::default());
    image.target = Target::Rv32;
    let user = isa::sparc::user::Settings::default();
    let started = run::under_linux(&image, &none, &settings, &[], Default::default(), user);
    let (found, expected) = (Target::Rv32, Target::Sparc);
    assert_eq!(started.map(|_| ()).err(), Some(RunError::RunTarget { found, expected }));
    // Where RV32 has no stack.
    image.target = Target::Sparc;
    image.entry = 0x1_0000;
    image.sections[0].first = image.entry;
    image.zeros.clear();
    let user = isa::rv32::user::Settings::default();
    let started = run::rv32::under_linux(&image, &none, &settings, &[], Default::default(), user);
    let (found, expected) = (Target::Sparc, Target::Rv32);
    assert_eq!(started.map(|_| ()).err(), Some(RunError::RunTarget { found, expected }));
    // Nor is one without instructions.
    let mut nothing = packets::image(&[plain("ta 0")]);
    nothing.sections[0].kind = pack::image::Kind::Constants;
    nothing.sections[0].bytes = counted(16, 1);
    let user = isa::sparc::user::Settings::default();
    let started = run::under_linux(&nothing, &none, &settings, &[], Default::default(), user);
    assert_eq!(started.map(|_| ()).err(), Some(RunError::NoCode));
}

/// Sections of code between words, packed text beside and behind them: what a container without tags may say.
#[test]
fn a_container_whose_code_does_not_begin_with_a_word_is_refused_when_it_is_run() {
    for (machine, target) in
        [(Machine::of(Target::Sparc), Target::Sparc), (Machine::of(Target::Rv32), Target::Rv32)]
    {
        for first in [0x1001u32, 0x1002, 0x1003] {
            let mut image = made::image(machine);
            image.sections.sections[0].first = first;
            image.sections.sections[0].bytes = counted(0x2d, first);
            image.packed_text = vec![pack::image::PackedText { first, bytes: 0xf000_0000 }];
            let (seal, key) = seals(&mut Seeded::new()).swap_remove(1);
            let settings = made::settings(seal);
            let made = seal_under_given_nonce(&image, &settings, seal, &key, &device(2));
            let bytes = made.expect("it can be sealed").to_bytes();
            let container = Container::parse(&bytes).expect("it was written so");
            let booted = sealed::boot(made::unlock(&container, 2)).expect("it has no tags");
            let (image, protection) = booted;
            let settings = Settings::default();
            let started = match target {
                Target::Sparc => {
                    let user = isa::sparc::user::Settings::default();
                    run::under_linux(&image, &protection, &settings, &[], Default::default(), user)
                        .map(|_| ())
                }
                Target::Rv32 => {
                    let user = isa::rv32::user::Settings::default();
                    let started =
                        run::rv32::under_linux(&image, &protection, &settings, &[], Default::default(), user);
                    started.map(|_| ())
                }
            };
            assert_eq!(started, Err(RunError::CodeAlignment { first }));
        }
    }
}
