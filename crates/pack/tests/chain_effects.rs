//! Nothing leaves the core before what it was computed with is checked, whatever it is: what a device is told, what a
//! system call is asked, what is stored unless stores are freed; of code as words, packed and compressed, and of
//! constants; under every seal and tag, whether the core waits or goes on. A bit is flipped in every line and every tag.

mod made;
mod packets;
mod rv32;

use isa::sparc::machine::{self, Settings as Core};
use isa::sparc::{Board, Files, Machine, Timing, user};
use isa::{rv32 as riscv, sparc};
use made::{IMAGE, Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Chain, Data, DataTiming, Lines, Protection, Rv32, Settings, Shape, integrity, sealed};
use pack::code::Code;
use pack::code::onfill::stored::{Stored, compress};
use pack::code::packet::Format;
use pack::container::with_checksum;
use pack::image::{Image, Kind, Section};
use pack::integrity::{Groups, Integrity};
use pack::lines::{Choice, Role};
use pack::seal::Seal;
use pack::sealed::{Settings as Sealing, Unsealed, seal_under_given_nonce};
use pack::{Container, ImageKey, RunError};
use packets::{CODE, DATA, packet, plain};

const MEMORY_BYTES: u32 = 0x2_0000;
/// Where dictionary and tags are: far from everything.
const TABLES: u32 = 0x3000_0000;
/// How much a tag is for, and how long it is.
const TAGS: [(u8, u8); 3] = [(1, 8), (4, 16), (8, 8)];
/// How many letters a program lets out, from `a` on.
const LETTERS: u32 = 10;

fn all() -> Vec<u8> {
    (b'a'..).take(LETTERS as usize).collect()
}

/// A program that lets out letters, one after the other, each computed with the one before.
struct Letters {
    image: Image,
    /// For each letter the address that it depends on and that no letter before depends on: of the instruction that
    /// lets it out, or of its constant.
    depends: Vec<u32>,
}

impl Letters {
    /// Those that do not depend on what lies from an address on.
    fn before(&self, first: u32) -> Vec<u8> {
        let count = self.depends.iter().filter(|&&address| address < first).count();
        all()[..count].to_vec()
    }
}

/// An image behind its decipher and checks, as a boot has it from its container.
struct Booted {
    image: Image,
    protection: Protection,
    groups: Groups,
    tags_first: u32,
    tag_bytes: u32,
}

impl Booted {
    fn new(image: &Image, (seal, key): &(Seal, ImageKey), (lines, tag_bytes): (u8, u8)) -> Booted {
        let settings = Sealing {
            seal: seal.row(),
            allow_legacy: true,
            choice: Choice::default(),
            integrity: Integrity::new(lines, tag_bytes).ok(),
            image: IMAGE,
            tables_first: Some(TABLES),
        };
        let unsealed = Unsealed::from(image.clone());
        let container = seal_under_given_nonce(&unsealed, &settings, *seal, key, &device(1));
        let container = Container::parse(&container.expect("it can be sealed").to_bytes());
        let container = container.expect("it was written so");
        let (image, protection) = sealed::boot(made::unlock(&container, 1)).expect("nothing was changed");
        let groups = container.groups().expect("it has tags");
        let tags_first = container.entry_of(Role::Tags).expect("it has tags").first;
        Booted { image, protection, groups, tags_first, tag_bytes: tag_bytes.into() }
    }

    /// A flipped bit in each line from one address to another, and one in each of their tags; each with the first line
    /// of its group.
    fn flips(&self, lines: std::ops::Range<u32>, randomness: &mut Seeded) -> Vec<(Protection, u32)> {
        let mut places: Vec<(u32, u32, u32)> = Vec::new();
        for line in (lines.start & !15..lines.end).step_by(16) {
            let index = self.groups.of_address(line).expect("it is sealed");
            let first = self.groups.place(index).0;
            let tag = (self.tags_first + index * self.tag_bytes, self.tag_bytes, first);
            places.push((line, 16, first));
            if !places.contains(&tag) {
                places.push(tag);
            }
        }
        let mut flip = |(first, bytes, group): (u32, u32, u32)| {
            let random = randomness.bytes(2);
            let mut protection = self.protection.clone();
            let memory = protection.memory.as_mut().expect("a container has memory");
            let piece = memory.iter_mut().rfind(|piece| piece.0 <= first).expect("it is there");
            let at = first - piece.0 + u32::from(random[0]) % bytes;
            piece.1[at as usize] ^= 1 << (random[1] % 8);
            (protection, group)
        };
        places.into_iter().map(&mut flip).collect()
    }
}

/// Checks before lines are used and while the core goes on; each tag over the bus, and from a cache.
fn ways() -> Vec<Settings> {
    let way = |speculative, mac_cache| {
        let integrity = integrity::Settings { latency_cycles: 80, speculative, mac_cache };
        Settings { integrity, ..Settings::default() }
    };
    let small = Some(Shape::direct(64));
    vec![way(false, None), way(false, small), way(true, None), way(true, small)]
}

/// Where an image's code is.
fn code(image: &Image) -> std::ops::Range<u32> {
    let code = image.code().next().expect("it has code");
    code.first..code.first + code.bytes.len() as u32
}

fn on_board(
    image: &Image,
    protection: &Protection,
    settings: &Settings,
) -> (Machine<Board<Chain>>, End, Vec<u8>) {
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    let started = run::on_board(image, protection, settings, core, MEMORY_BYTES, &[]);
    let mut machine = started.expect("it fits");
    // The serial line, and memory.
    machine.set_register(1, 0x8000_0100);
    machine.set_register(3, DATA);
    let outcome = run::finish_board(&mut machine, 1_000_000, &mut ());
    (machine, outcome.end, outcome.output)
}

/// What a core found wrong with a line.
fn failed(end: End) -> Option<u32> {
    match end {
        End::Fault(sparc::Fault { kind: sparc::FaultKind::LineCheck { line }, .. }) => Some(line),
        _ => None,
    }
}

/// Two instructions of each letter, a packet before them, and what ends the program with traps off.
fn on_words(leaves: impl Fn(u32) -> String) -> Letters {
    let mut words = vec![packet(Format::Three, &["mov 96, %g2", "nop", "mov 96, %g2"])];
    let mut depends = Vec::new();
    for number in 0..LETTERS {
        words.push(plain("add %g2, 1, %g2"));
        depends.push(CODE + 4 * words.len() as u32);
        words.extend([plain(&leaves(number)), plain("nop")]);
    }
    words.push(plain("ta 0"));
    Letters { image: packets::image(&words), depends }
}

#[test]
fn what_a_device_is_told_depends_on_no_line_that_fails() {
    let mut randomness = Seeded::new();
    let letters = on_words(|_| "st %g2, [%g1]".to_owned());
    for seal_and_key in seals(&mut randomness) {
        for tags in TAGS {
            let booted = Booted::new(&letters.image, &seal_and_key, tags);
            let flips = booted.flips(code(&letters.image), &mut randomness);
            for settings in ways() {
                let what = format!("{} {tags:?} {:?}", seal_and_key.0, settings.integrity);
                let (_, _, output) = on_board(&booted.image, &booted.protection, &settings);
                assert_eq!(output, all(), "{what}");
                for (changed, group) in &flips {
                    let (_, end, output) = on_board(&booted.image, changed, &settings);
                    assert_eq!(failed(end), Some(*group), "{what}: {end:?}");
                    assert_eq!(output, letters.before(*group), "{what} {group:#x}");
                }
            }
        }
    }
}

#[test]
fn what_is_stored_depends_on_no_line_that_fails_where_stores_are_held() {
    let mut randomness = Seeded::new();
    let letters = on_words(|number| format!("stb %g2, [%g3 + {number}]"));
    let stored = |machine: &Machine<Board<Chain>>| {
        let bytes = machine.bus.memory.ram().read(DATA, LETTERS).expect("there is memory");
        bytes.to_vec()
    };
    for seal_and_key in seals(&mut randomness) {
        for tags in TAGS {
            let booted = Booted::new(&letters.image, &seal_and_key, tags);
            let flips = booted.flips(code(&letters.image), &mut randomness);
            for settings in ways() {
                let (machine, _, _) = on_board(&booted.image, &booted.protection, &settings);
                assert_eq!(stored(&machine), all());
                for (changed, group) in &flips {
                    let (machine, end, _) = on_board(&booted.image, changed, &settings);
                    assert_eq!(failed(end), Some(*group), "{end:?}");
                    let mut expected = letters.before(*group);
                    expected.resize(LETTERS as usize, 0);
                    assert_eq!(stored(&machine), expected, "{} {tags:?} {group:#x}", seal_and_key.0);
                }
            }
        }
    }
}

/// The core has gone on to the load with what it made of a line that fails, and the device is not read.
#[test]
fn a_device_is_not_read_before_the_lines_that_say_so_are_checked() {
    let mut randomness = Seeded::new();
    let words = [
        packet(Format::Three, &["mov 96, %g2", "nop", "mov 96, %g2"]),
        plain("add %g2, 1, %g2"),
        plain("ld [%g1 + 4], %g4"),
        plain("ta 0"),
    ];
    // Counters: another number in the same instruction.
    let seal_and_key = seals(&mut randomness).remove(3);
    let booted = Booted::new(&packets::image(&words), &seal_and_key, (1, 8));
    let settings = ways().remove(2);
    let read = |protection: &Protection| {
        let (machine, end, _) = on_board(&booted.image, protection, &settings);
        (failed(end), machine.register(2), machine.register(4))
    };
    // Its status: nothing is left to send.
    assert_eq!(read(&booted.protection), (None, 97, 6));
    let mut changed = booted.protection.clone();
    let memory = changed.memory.as_mut().expect("a container has memory");
    let piece = memory.iter_mut().rfind(|piece| piece.0 <= CODE).expect("it is there");
    piece.1[(CODE - piece.0) as usize + 7] ^= 2;
    assert_eq!(read(&changed), (Some(CODE), 99, 0));
}

/// A core goes on with a line that fails, and stores, where stores are freed: that is what that gives up.
#[test]
fn what_is_stored_may_depend_on_a_line_that_fails_where_stores_are_not_held() {
    let mut randomness = Seeded::new();
    let letters = on_words(|number| format!("stb %g2, [%g3 + {number}]"));
    // Counters: a flipped bit is a flipped bit, and the same instruction goes on with another number.
    let seal_and_key = seals(&mut randomness).remove(3);
    let booted = Booted::new(&letters.image, &seal_and_key, (1, 8));
    let settings = Settings { holds_stores: false, ..ways().remove(2) };
    // The lowest bit of the first letter's constant.
    let mut changed = booted.protection.clone();
    let memory = changed.memory.as_mut().expect("a container has memory");
    let piece = memory.iter_mut().rfind(|piece| piece.0 <= CODE).expect("it is there");
    piece.1[(CODE - piece.0) as usize + 7] ^= 1;
    let (machine, end, _) = on_board(&booted.image, &changed, &settings);
    assert_eq!(failed(end), Some(CODE));
    let first = machine.bus.memory.ram().read(DATA, 1).expect("there is memory")[0];
    assert_eq!(first, b'`');
}

/// Letters that are constants, far from the code.
fn constant_letters() -> Letters {
    const CONSTANTS: u32 = 0x4000_2000;
    let mut words = vec![plain(&format!("sethi %hi({CONSTANTS:#x}), %g4"))];
    for number in 0..LETTERS {
        words.push(plain(&format!("ld [%g4 + {}], %g2", 4 * number)));
        words.push(plain("st %g2, [%g1]"));
    }
    words.push(plain("ta 0"));
    let mut image = packets::image(&words);
    let bytes = all().into_iter().flat_map(|letter| u32::from(letter).to_be_bytes()).collect();
    let (name, kind) = (".rodata".to_owned(), Kind::Constants);
    image.sections.push(Section { name, kind, first: CONSTANTS, bytes });
    Letters { image, depends: (0..LETTERS).map(|number| CONSTANTS + 4 * number).collect() }
}

#[test]
fn what_a_device_is_told_depends_on_no_constant_that_fails() {
    let mut randomness = Seeded::new();
    let letters = constant_letters();
    let constants = letters.depends[0]..letters.depends[LETTERS as usize - 1] + 4;
    let timing = DataTiming { first_cycles: 10, next_cycles: 1, store_cycles: 0 };
    let reached = [Data::Ideal, Data::Uncached(timing), Data::Cached(Shape::direct(64), timing)];
    for seal_and_key in seals(&mut randomness) {
        for tags in TAGS {
            let booted = Booted::new(&letters.image, &seal_and_key, tags);
            let flips = booted.flips(constants.clone(), &mut randomness);
            for (settings, data) in ways().into_iter().flat_map(|way| reached.map(|data| (way, data))) {
                let settings = Settings { data, ..settings };
                let (_, _, output) = on_board(&booted.image, &booted.protection, &settings);
                assert_eq!(output, all());
                for (changed, group) in &flips {
                    let (_, end, output) = on_board(&booted.image, changed, &settings);
                    let what = format!("{} {tags:?} {data:?} {group:#x}", seal_and_key.0);
                    assert_eq!(failed(end), Some(*group), "{what}: {end:?}");
                    assert_eq!(output, letters.before(*group), "{what}");
                }
            }
        }
    }
}

/// A program's surroundings with little memory, which is made anew for each run.
fn small() -> user::Settings {
    user::Settings { heap_bytes: 0x1000, stack_bytes: 0x4000, ..user::Settings::default() }
}

/// Eight instructions for each letter, the seventh of which calls; and an end with a status.
fn calling(begin: [&str; 4], each: [&str; 8], end: [&str; 4], first: u32) -> (Vec<String>, Vec<u32>) {
    let mut lines: Vec<String> = begin.map(str::to_owned).to_vec();
    let mut depends = Vec::new();
    for _ in 0..LETTERS {
        depends.push(first + 4 * (lines.len() as u32 + 6));
        lines.extend(each.map(str::to_owned));
    }
    lines.extend(end.map(str::to_owned));
    (lines, depends)
}

#[test]
fn what_linux_is_asked_on_sparc_depends_on_no_line_that_fails() {
    let memory = format!("sethi %hi({DATA:#x}), %g3");
    let begin = [memory.as_str(), "mov 96, %g2", "nop", "nop"];
    let each = [
        "add %g2, 1, %g2",
        "stb %g2, [%g3]",
        "mov 1, %o0",
        "or %g0, %g3, %o1",
        "mov 1, %o2",
        "mov 4, %g1",
        "ta 0x10",
        "nop",
    ];
    let (lines, depends) = calling(begin, each, ["mov 1, %g1", "mov 5, %o0", "ta 0x10", "nop"], CODE);
    let words: Vec<packets::Word> = lines.iter().map(|line| plain(line)).collect();
    let letters = Letters { image: packets::image(&words), depends };
    let ran = |image: &Image, protection: &Protection, settings: &Settings| {
        let core = machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() };
        let user = user::Settings { machine: core, ..small() };
        let started = run::under_linux(image, protection, settings, &[], Files::default(), user);
        let outcome = run::finish(&mut started.expect("it fits"), 1_000_000, &mut ());
        (outcome.end, outcome.output)
    };
    let mut randomness = Seeded::new();
    for seal_and_key in seals(&mut randomness) {
        for tags in TAGS {
            let booted = Booted::new(&letters.image, &seal_and_key, tags);
            let flips = booted.flips(code(&letters.image), &mut randomness);
            for settings in ways() {
                let sound = ran(&booted.image, &booted.protection, &settings);
                assert_eq!(sound, (End::Exit(5), all()));
                for (changed, group) in &flips {
                    let (end, output) = ran(&booted.image, changed, &settings);
                    assert_eq!(failed(end), Some(*group), "{} {tags:?}: {end:?}", seal_and_key.0);
                    assert_eq!(output, letters.before(*group), "{} {tags:?} {group:#x}", seal_and_key.0);
                }
            }
        }
    }
}

/// An image of RV32 that has run under Linux' calls.
fn ran_rv32(
    image: &Image,
    protection: &Protection,
    settings: &Settings,
) -> (riscv::User<Chain<Lines, Rv32>>, End<riscv::Fault>, Vec<u8>) {
    let timing = riscv::Timing::ideal();
    let user = riscv::user::Settings { timing, ..riscv::user::Settings::default() };
    let started = run::rv32::under_linux(image, protection, settings, &[], Files::default(), user);
    let mut program = started.expect("it fits");
    let outcome = run::rv32::finish(&mut program, 1_000_000, &mut ());
    (program, outcome.end, outcome.output)
}

#[test]
fn what_linux_is_asked_and_what_is_stored_on_rv32_depends_on_no_line_that_fails() {
    let each = [
        "addi s1, s1, 1",
        "addi t0, t0, 1",
        "addi a0, zero, 1",
        "addi a1, t0, 0",
        "addi a2, zero, 1",
        "sb s1, 0(t0)",
        "ecall",
        "nop",
    ];
    let begin = ["lui t0, 0x100", "addi s1, zero, 96", "addi a7, zero, 64", "nop"];
    let end = ["addi a7, zero, 93", "addi a0, zero, 5", "ecall", "nop"];
    let (lines, depends) = calling(begin, each, end, rv32::CODE);
    let words: Vec<rv32::Word> = lines.iter().map(|line| rv32::plain(line)).collect();
    let letters = Letters { image: rv32::image(&words), depends };
    let mut randomness = Seeded::new();
    for seal_and_key in seals(&mut randomness) {
        for tags in TAGS {
            let booted = Booted::new(&letters.image, &seal_and_key, tags);
            let flips = booted.flips(code(&letters.image), &mut randomness);
            for settings in ways() {
                let (_, end, output) = ran_rv32(&booted.image, &booted.protection, &settings);
                assert_eq!((end, output), (End::Exit(5), all()));
                for (changed, group) in &flips {
                    let (program, end, output) = ran_rv32(&booted.image, changed, &settings);
                    let End::Fault(fault) = end else { panic!("{end:?}") };
                    assert_eq!(fault.kind, riscv::FaultKind::LineCheck { line: *group });
                    assert_eq!(output, letters.before(*group), "{} {tags:?} {group:#x}", seal_and_key.0);
                    // A letter is stored one instruction before it is written.
                    let ram = program.machine.bus.ram().read(rv32::DATA + 1, LETTERS);
                    let ram = ram.expect("there is memory");
                    let stored = letters.depends.iter().filter(|&&address| address - 4 < *group).count();
                    assert_eq!(ram[..stored], all()[..stored]);
                    assert!(ram[stored..].iter().all(|&byte| byte == 0), "{tags:?} {group:#x}: {ram:?}");
                }
            }
        }
    }
}

#[test]
fn what_a_device_is_told_depends_on_no_compressed_block_and_no_record_that_fails() {
    // All of it is executed, and so every line of it is brought.
    let mut words = vec![plain("mov 96, %g2")];
    words.extend(vec![plain("add %g5, 1, %g5"); 400]);
    for _ in 0..LETTERS {
        words.extend([plain("add %g2, 1, %g2"), plain("st %g2, [%g1]")]);
    }
    words.push(plain("ta 0"));
    let plain_image = packets::image(&words);
    let mut randomness = Seeded::new();
    for (number, code) in Code::on_fill().enumerate() {
        let image = compress(&plain_image, code, 64).expect("it becomes smaller").0;
        let stored = Stored::of(&image).expect("it was made so").expect("it is compressed");
        let seal_and_key = seals(&mut randomness).swap_remove([1, 0, 3, 5][number % 4]);
        let booted = Booted::new(&image, &seal_and_key, TAGS[number % 3]);
        let flips = booted.flips(stored.table().start..stored.blocks().end, &mut randomness);
        for settings in ways() {
            let (_, _, output) = on_board(&booted.image, &booted.protection, &settings);
            assert_eq!(output, all(), "{}", code.name());
            for (changed, group) in &flips {
                let (_, end, output) = on_board(&booted.image, changed, &settings);
                assert_eq!(failed(end), Some(*group), "{}: {end:?}", code.name());
                assert!(output.len() < LETTERS as usize, "{}: {group:#x}", code.name());
                assert!(all().starts_with(&output), "{}: {group:#x} {output:?}", code.name());
            }
        }
    }
}

/// A container with a bit of its memory flipped, and a checksum that is right again.
fn flipped(container: &Container, address: u32, bit: u8) -> Container {
    let mut bytes = container.to_bytes();
    let mut at = bytes.len() - container.spans().iter().map(|span| span.bytes.len()).sum::<usize>();
    for span in container.spans() {
        if (span.first..span.first + span.bytes.len() as u32).contains(&address) {
            bytes[at + (address - span.first) as usize] ^= 1 << bit;
        }
        at += span.bytes.len();
    }
    Container::parse(&with_checksum(bytes)).expect("it is laid out as before")
}

#[test]
fn what_a_boot_reads_is_checked_line_by_line_before_the_core_begins() {
    let mut randomness = Seeded::new();
    let mut image = on_words(|_| "st %g2, [%g1]".to_owned()).image;
    let (name, bytes) = (".data".to_owned(), randomness.bytes(100));
    image.sections.push(Section { name, kind: Kind::Data, first: 0x4001_4008, bytes });
    for (seal, key) in seals(&mut randomness) {
        for (lines, tag_bytes) in TAGS {
            let settings = Sealing {
                integrity: Integrity::new(lines, tag_bytes).ok(),
                tables_first: Some(TABLES),
                ..made::settings(seal)
            };
            let unsealed = Unsealed::from(image.clone());
            let whole = seal_under_given_nonce(&unsealed, &settings, seal, &key, &device(1));
            let whole = whole.expect("it can be sealed");
            let groups = whole.groups().expect("it has tags");
            let tags_first = whole.entry_of(Role::Tags).expect("it has tags").first;
            for role in [Role::Dictionary, Role::Program(Kind::Data)] {
                let entry = whole.entry_of(role).expect("it has one");
                for line in (entry.first & !15..entry.first + entry.bytes).step_by(16) {
                    let index = groups.of_address(line).expect("it is sealed");
                    let random = randomness.bytes(3);
                    let in_line = line + u32::from(random[0] % 16);
                    let in_tag = tags_first + index * u32::from(tag_bytes) + u32::from(random[1] % tag_bytes);
                    for address in [in_line, in_tag] {
                        let changed = flipped(&whole, address, random[2] % 8);
                        let booted = sealed::boot(made::unlock(&changed, 1)).map(|_| ());
                        let refused = RunError::BootCheck { line: groups.place(index).0 };
                        assert_eq!(booted, Err(refused), "{seal} {lines} {role:?} {address:#x}");
                    }
                }
            }
        }
    }
}

/// Windows that the environment spills are stored at no time, and wait no less.
#[test]
fn a_window_that_the_environment_spills_depends_on_no_line_that_fails() {
    let mut lines = vec!["save %sp, -96, %sp", "mov 96, %l0"];
    // The last one finds no window free, and the first one's goes to its stack.
    lines.extend(["save %sp, -96, %sp"; 7]);
    lines.extend(["nop", "nop", "nop", "mov 1, %g1", "mov 0, %o0", "ta 0x10", "nop"]);
    let words: Vec<packets::Word> = lines.into_iter().map(plain).collect();
    let image = packets::image(&words);
    // All of it comes at once, long before it is checked.
    let long = Shape { line_bytes: 64, ..Shape::direct(1024) };
    let settings = Settings { cache: long, ..ways().remove(2) };
    let ran = |booted: &Booted, protection: &Protection| {
        let core = machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() };
        let user = user::Settings { machine: core, ..small() };
        let started = run::under_linux(&booted.image, protection, &settings, &[], Files::default(), user);
        let mut program = started.expect("it fits");
        let stack_pointer = program.machine.register(14);
        let outcome = run::finish(&mut program, 1_000_000, &mut ());
        let spilled = program.machine.bus.ram().read(stack_pointer - 96, 4).expect("it is the stack");
        (outcome.end, u32::from_be_bytes(spilled.try_into().expect("four bytes")))
    };
    let seal_and_key = seals(&mut Seeded::new()).remove(3);
    let booted = Booted::new(&image, &seal_and_key, (1, 8));
    assert_eq!(ran(&booted, &booted.protection), (End::Exit(0), 96));
    let mut changed = booted.protection.clone();
    let memory = changed.memory.as_mut().expect("a container has memory");
    let piece = memory.iter_mut().rfind(|piece| piece.0 <= CODE).expect("it is there");
    piece.1[(CODE - piece.0) as usize + 7] ^= 1;
    let (end, spilled) = ran(&booted, &changed);
    assert_eq!((failed(end), spilled), (Some(CODE), 0), "{end:?}");
}
