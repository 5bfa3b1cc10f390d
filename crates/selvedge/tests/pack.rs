//! `selvedge pack` as a new user meets it: from an ELF file in four commands to a sealed image that runs; and what is
//! said of every file that is wrong. What needs neither a key nor a changed file is in `cli/pack`.
//!
//! Which bits are flipped is random, from a printed seed; `SELVEDGE_SOAK=1` flips many.

mod packed;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use cipher::OsRandomness;
use expect_test::expect;
use pack::code::Code;
use pack::code::onfill::stored::{Stored, compress};
use pack::container::with_checksum;
use pack::image::Kind;
use pack::lines::Role;
use pack::seal::Row;
use pack::sealed::{self, Unsealed};
use pack::{Container, DeviceKey, Image, ImageKey, Program};
use packed::{Bench, native, root};
use rand_chacha::rand_core::Rng;
use seeded::seeded;
use serde_json::Value;
use soak::is_soak;

/// Bits that are flipped, one after the other.
const FLIPS: usize = 6;
const SOAK_FLIPS: usize = 400;

#[test]
fn four_commands_lead_from_a_program_to_a_sealed_image_that_prints_the_same() {
    let bench = Bench::new();
    let analysis = bench.value("analyze search.elf");
    let ratio = &analysis["packing"]["report"]["ratio"];
    assert!(ratio.as_f64().is_some_and(|ratio| ratio < 1.0), "{analysis}");
    bench.done("key -o device.key");
    let mode = fs::metadata(bench.path("device.key")).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let built =
        bench.value("build search.elf -o search.spk --device-key device.key --integrity 4 --id search");
    assert_eq!(built["packing"]["ratio"], *ratio);
    let run = "run search.spk --device-key device.key --against search.elf --file p --file t";
    let ran = bench.value(&format!("{run} -- p t"));
    let (bytes, sha256) = native();
    assert_eq!((ran["stdout_bytes"].as_u64(), ran["stdout_sha256"].as_str()), (Some(bytes), Some(&*sha256)));
    // Its tags are checked, and cost something.
    assert!(ran["run"]["groups_checked"].as_u64() > Some(0) && ran["of_plain"].as_f64() > Some(0.0), "{ran}");
    assert_eq!(ran["windows"], "image");
    let printed = bench.done(&format!("{run} --stdout printed -- p t"));
    assert!(printed.stdout.is_empty() && bench.read("printed").len() as u64 == bytes);
}

#[test]
fn every_seal_runs_with_and_without_tags_and_is_opened_again() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let (_, sha256) = native();
    for (number, seal) in SEALS.into_iter().enumerate() {
        let tags = ["", "--integrity 1", "--integrity 8x16"][number % 3];
        bench.done(&format!("build search.elf -o search.spk --device-key device.key --seal {seal} {tags}"));
        let verified = bench.value("verify search.spk --device-key device.key");
        assert_eq!(
            (verified["tags"] == 0, &verified["faults"]),
            (tags.is_empty(), &Value::from(0)),
            "{seal}"
        );
        let ran = bench.value("run search.spk --device-key device.key --file p --file t -- p t");
        assert_eq!(ran["stdout_sha256"].as_str(), Some(&*sha256), "{seal} {tags}");
    }
}

#[test]
fn what_is_only_sealed_is_of_any_processor_and_is_unsealed_as_it_was() {
    let bench = Bench::new();
    bench.done("key -o device.key --bits 128");
    // As if for Arm; nothing of it is looked at.
    let mut elf = bench.read("search.elf");
    elf[18..20].copy_from_slice(&40u16.to_be_bytes());
    bench.write("arm.elf", &elf);
    let built = bench.value("build arm.elf -o arm.spk --device-key device.key --scheme none");
    assert_eq!((&built["packing"], &built["image"]["machine"]), (&Value::Null, &Value::from(40)));
    bench.done("unseal arm.spk --device-key device.key -o opened.elf");
    let [before, after] = ["arm.elf", "opened.elf"].map(|file| {
        pack::Sections::parse(&bench.read(file)).unwrap_or_else(|error| panic!("`{file}`: {error}"))
    });
    assert_eq!((before.sections, before.entry), (after.sections, after.entry));
    bench.refused(
        "build arm.elf -o arm.spk --device-key device.key",
        1,
        expect![[r#"
        error: `arm.elf`: code of another processor: found e_machine 40, expected 2 (SPARC, high byte first) or 243 (RISC-V, low byte first)
        help: `--scheme none` seals a program of any processor as it is
    "#]],
    );
    let analysis = bench.value("analyze arm.elf");
    assert!(analysis["packing"].is_null() && analysis["lines"]["all"].as_u64() > Some(3000), "{analysis}");
}

#[test]
fn other_forms_hold_the_memory_of_the_container() {
    let bench = Bench::built("--bin search.bin --hex search.hex --elf search.sealed.elf --no-map");
    let container = Container::parse(&bench.read("search.spk")).expect("it was built");
    let (first, bytes) = pack::forms::bin::bin(&container).expect("it has no great gaps");
    assert_eq!((first, bench.read("search.bin") == bytes), (0x4000_0000, true));
    assert!(bench.read("search.hex") == pack::forms::hex::hex(&container).as_bytes());
    assert!(bench.read("search.sealed.elf") == pack::forms::elf::elf(&container));
    assert!(container.map().is_empty());
}

#[test]
fn a_profile_of_a_run_makes_an_image_that_fetches_less() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    bench.done("run search.elf --file p --file t --profile-out search.profile -- p t");
    let of = |more: &str| {
        let build = "build search.elf -o search.spk --device-key device.key --profile search.profile";
        let built = bench.value(&format!("{build} {more}"));
        let fetches = &built["packing"]["fetches"][0];
        fetches["packed"].as_f64().expect("counted") / fetches["plain"].as_f64().expect("counted")
    };
    let (fixed, dynamic) = (of("--dictionary static"), of("--dictionary dynamic --order hot"));
    assert!(dynamic < 0.6 && dynamic < fixed, "{dynamic} {fixed}");
    bench.refused("run search.spk --device-key device.key --profile-out p", 2, expect![[r#"
        error: `search.spk`: found a sealed image, expected an ELF file: a profile is a program's before it is packed
    "#]]);
}

/// Every seal, as flags say it.
const SEALS: [&str; 6] = [
    "xts",
    "ctr --layout otfdec --tables 0x42000000",
    "ctr --layout otfad --tables 0x42000000",
    "ctr --layout otfad-swapped --tables 0x42000000",
    "ctr --layout mcuboot-xip --tables 0x42000000",
    "ecb --allow-legacy",
];

/// Whether two ELF files have the same in memory.
fn is_same_memory(bench: &Bench, files: [&str; 2]) -> bool {
    let [one, other] = files.map(|file| {
        let sections = pack::Sections::parse(&bench.read(file));
        sections.unwrap_or_else(|error| panic!("`{file}`: {error}"))
    });
    (one.sections, one.entry, one.machine) == (other.sections, other.entry, other.machine)
}

#[test]
fn compressed_code_is_sealed_by_every_seal_and_is_expanded_again() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let (_, sha256) = native();
    let schemes = ["codepack", "bitmask", "huffman", "fields"];
    for (number, seal) in SEALS.into_iter().enumerate() {
        for (turn, scheme) in schemes.into_iter().enumerate() {
            let tags = ["", "--integrity 1", "--integrity 8x16"][(number + turn) % 3];
            let block = [16, 32, 64][(number + turn) % 3];
            let tables = if seal.contains("--tables") { "" } else { "--tables 0x42000000" };
            let what = format!("{scheme} {block} {seal} {tags}");
            let built = bench.value(&format!(
                "build search.elf -o search.spk --device-key device.key --scheme {scheme} --block {block} \
                 --seal {seal} {tables} {tags}"
            ));
            let compression = &built["compression"];
            assert!(compression["ratio"].as_f64() < Some(1.0) && compression["code"] == scheme, "{built}");
            assert!(built["packing"].is_null() && compression["block_bytes"] == block, "{built}");
            let verified = bench.value("verify search.spk --device-key device.key");
            assert_eq!((verified["tags"] == 0, &verified["faults"]), (tags.is_empty(), &0.into()), "{what}");
            bench.done("unseal search.spk --device-key device.key -o opened.elf");
            assert!(is_same_memory(&bench, ["search.elf", "opened.elf"]), "{what}");
            // Each seal and each code is run.
            if turn == number % schemes.len() {
                let ran = bench.value("run search.spk --device-key device.key --file p --file t -- p t");
                assert_eq!(ran["stdout_sha256"].as_str(), Some(&*sha256), "{what}");
                assert!(ran["run"]["blocks_decoded"].as_u64() > Some(0), "{what}");
            }
        }
    }
}

#[test]
fn a_decoder_that_keeps_less_waits_longer() {
    let bench = Bench::built("--scheme fields");
    let cycles = |more: &str| {
        let ran =
            bench.value(&format!("run search.spk --device-key device.key {more} --file p --file t -- p t"));
        let count = |key: &str| ran["run"][key].as_u64().expect("it is counted");
        [count("cycles"), count("record_fills"), count("block_hits"), count("decode_cycles")]
    };
    let base = cycles("");
    let slow = cycles("--decode 4");
    assert!(slow[0] > base[0] && slow[3] > base[3] && slow[1] == base[1], "{base:?} {slow:?}");
    let without_table = cycles("--table-cache none");
    assert!(without_table[0] > base[0] && without_table[1] > base[1], "{base:?} {without_table:?}");
    let without_buffer = cycles("--no-buffer");
    assert!(without_buffer[0] > base[0] && without_buffer[2] == 0, "{base:?} {without_buffer:?}");
}

#[test]
fn a_flipped_bit_in_compressed_code_is_found_and_not_executed() {
    let bench = Bench::built("--scheme huffman --integrity 1 --tables 0x42000000");
    let whole = bench.read("search.spk");
    let container = Container::parse(&whole).expect("it was built");
    let plain = Program::parse(&bench.read("search.elf")).expect("it is a program");
    let (image, _) = compress(&Image::from(&plain), Code::Huffman, 64).expect("it becomes smaller");
    let stored = Stored::of(&image).expect("it was made so").expect("it is compressed");
    let memory: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
    let record = stored.record(stored.block(container.entry()));
    let at = container.spans().iter().fold((whole.len() - memory, None), |(at, found), span| {
        let inside = record.checked_sub(span.first).filter(|&inside| (inside as usize) < span.bytes.len());
        (at + span.bytes.len(), found.or(inside.map(|inside| at + inside as usize)))
    });
    let mut changed = whole.clone();
    changed[at.1.expect("the record is in its memory")] ^= 4;
    bench.write("changed.spk", &with_checksum(changed));
    let output = bench.ran("verify changed.spk --device-key device.key");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = format!("of 1 lines from {record:#010x}, one is not as sealed\n");
    assert!(output.status.code() == Some(1) && told.ends_with(&words), "{told}");
    let output = bench.ran("run changed.spk --device-key device.key --file p --file t -- p t");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = format!(
        "the tag of the lines from {record:#010x} on does not match: memory is not as it was sealed\n"
    );
    assert!(output.stdout.is_empty() && told.ends_with(&words), "{told}");
    assert_eq!(output.status.code(), Some(1));
    // A model that is not the one that was sealed is not even booted.
    let model = container.entry_of(Role::Program(Kind::Model)).expect("there is one").first;
    let mut changed = whole;
    let at = changed.len() - memory + (model - container.spans()[0].first) as usize;
    assert!(container.spans()[0].extent().end > model.into(), "it is in the first piece of memory");
    changed[at] ^= 1;
    bench.write("changed.spk", &with_checksum(changed));
    bench.refused(
        "run changed.spk --device-key device.key",
        1,
        expect![[r#"
        error: `changed.spk`: the tag of the lines from 0x40001000 on does not match at boot: memory is not as it was sealed
    "#]],
    );
}

#[test]
fn a_program_of_rv32_is_packed_compressed_sealed_and_run_like_one_of_sparc() {
    let bench = Bench::rv32();
    bench.done("key -o device.key");
    let (bytes, sha256) = native();
    bench.done("run search.elf --file p --file t --profile-out search.profile -- p t");
    let analysis = bench.value("analyze search.elf --profile search.profile");
    assert_eq!(
        (&analysis["machine"], analysis["packing"]["codes"].as_array().map(Vec::len)),
        (&243.into(), Some(7))
    );
    for more in [
        "--integrity 4",
        "--profile search.profile --dictionary blend=50 --order hot --seal ctr --layout mcuboot-xip",
        "--scheme fields --integrity 1",
        "--scheme codepack --seal ecb --allow-legacy",
        "--scheme none",
    ] {
        bench.done(&format!("build search.elf -o search.spk --device-key device.key {more}"));
        let verified = bench.value("verify search.spk --device-key device.key");
        assert_eq!(verified["image"]["machine"], 243, "{more}");
        let run = "run search.spk --device-key device.key --against search.elf --file p --file t";
        let ran = bench.value(&format!("{run} -- p t"));
        let printed = (ran["stdout_bytes"].as_u64(), ran["stdout_sha256"].as_str());
        assert_eq!(printed, (Some(bytes), Some(&*sha256)), "{more}");
        assert!(ran["windows"].is_null() && ran["of_plain"].as_f64() > Some(0.0), "{ran}");
        bench.done("unseal search.spk --device-key device.key -o opened.elf");
        let is_as_it_was = more.starts_with("--scheme");
        assert_eq!(is_same_memory(&bench, ["search.elf", "opened.elf"]), is_as_it_was, "{more}");
    }
    fs::copy(root().join("corpus/sparc/search.elf"), bench.path("sparc.elf")).expect("the corpus has it");
    let with = |more: &str| format!("run search.spk --device-key device.key {more}");
    bench.refused(
        &with("--board"),
        2,
        expect![[r#"
        error: `search.spk`: found a program for RV32IM, expected one for SPARC V8, which `--board` is for
    "#]],
    );
    bench.refused(&with("--timing leon3"), 2, expect![[r#"
        error: `search.spk`: found a program for RV32IM, expected one for SPARC V8, which `--timing leon3` is for
    "#]]);
    bench.refused(
        &with("--against sparc.elf"),
        2,
        expect![[r#"
        error: `sparc.elf`: found a program for SPARC V8, expected one for RV32IM, which the image is for
    "#]],
    );
    bench.refused("run sparc.elf --timing ibex", 2, expect![[r#"
        error: `sparc.elf`: found a program for SPARC V8, expected one for RV32IM, which `--timing ibex` is for
    "#]]);
}

#[test]
fn a_boot_is_counted_apart_and_takes_longer_the_more_it_reads() {
    let bench = Bench::built("--integrity 1 --tables 0x42000000");
    let boot = |image: &str, more: &str| {
        let ran =
            bench.value(&format!("run {image} --device-key device.key {more} --file p --file t -- p t"));
        let count = |key: &str| ran["run"][key].as_u64().expect("it is counted");
        (count("boot_cycles"), count("cycles"))
    };
    let (plain, sealed) = (boot("search.elf", "").0, boot("search.spk", ""));
    assert!(0 < plain && plain < sealed.0, "{plain} {sealed:?}");
    let slow = boot("search.spk", "--cipher 400");
    assert!(slow.0 > sealed.0 && slow.1 > sealed.1, "{slow:?} {sealed:?}");
    // A dictionary of fewer entries is read sooner.
    let few = "--integrity 1 --tables 0x42000000 --entries 64";
    bench.done(&format!("build search.elf -o search.spk --device-key device.key {few}"));
    assert!(boot("search.spk", "").0 < sealed.0);
}

#[test]
fn nothing_of_a_key_is_printed_that_stands_where_another_file_should() {
    let bench = Bench::built("");
    let [begin, end] = ["build device.key -o x.spk --device-key device.key", "--device-key device.key"];
    for arguments in [
        begin.to_owned(),
        format!("{begin} --scheme none"),
        format!("{begin} --scheme fields"),
        "run device.key".into(),
        "analyze device.key".into(),
        "analyze search.elf --profile device.key".into(),
        format!("verify device.key {end}"),
        format!("unseal device.key -o x.elf {end}"),
        format!("run search.spk --against device.key {end}"),
        "sweep search.elf --runs device.key".into(),
        "sweep device.key --runs p".into(),
    ] {
        let output = bench.ran(&arguments);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).expect("text");
        assert!(output.status.code() > Some(0) && told.starts_with("error: "), "{arguments}: {told}");
        // Neither its digits, nor what they are as bytes of text.
        let key = String::from_utf8(bench.read("device.key")).expect("digits");
        let begin: Vec<String> = key.bytes().take(4).map(|byte| format!("{byte:02x}")).collect();
        assert!(!told.contains(&key[..8]) && !told.contains(&begin.join(", ")), "{arguments}: {told}");
    }
    bench.refused("run device.key", 1, expect![[r#"
        error: `device.key`: not an ELF file: found 65 bytes that begin otherwise, expected [7f, 45, 4c, 46] at its start
    "#]]);
    bench.refused(&format!("verify device.key {end}"), 1, expect![[r#"
        error: `device.key`: not a sealed image: found 65 bytes that begin otherwise, expected [93, 53, 50, 4b] at its start
    "#]]);
    bench.refused("analyze search.elf --profile device.key", 1, expect![[r#"
        error: `device.key`: profile, line 1: found 64 bytes of something else, expected an address behind `0x` and a count
    "#]]);
}

/// SETHI of an address into %g1, and a word that adds the rest of it.
fn at_address(address: u32, word: u32) -> [u32; 2] {
    [0x0300_0000 | address >> 10, word | 1 << 14 | 1 << 13 | address & 0x3ff]
}
const LD_G2: u32 = 0xc400_0000;
const ST_G0: u32 = 0xc020_0000;

/// A container for the device's key of an image that begins with these words instead of its own.
fn sealed_with(bench: &Bench, mut image: Image, words: [u32; 2]) {
    let entry = image.entry;
    let section = image.sections.iter_mut().find(|section| {
        entry.checked_sub(section.first).is_some_and(|inside| (inside as usize) < section.bytes.len())
    });
    let section = section.expect("it begins in a section");
    let at = (entry - section.first) as usize;
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    section.bytes[at..at + 8].copy_from_slice(&bytes);
    let digits = String::from_utf8(bench.read("device.key")).expect("digits");
    let pairs = digits.trim().as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("digits"));
    let key: Vec<u8> = pairs.map(|pair| u8::from_str_radix(pair, 16).expect("digits")).collect();
    let device = DeviceKey::from_bytes(&key).expect("it has the length");
    let row = Row::named("xts", None, false).expect("there is one");
    let settings = sealed::Settings {
        seal: row,
        allow_legacy: false,
        choice: Default::default(),
        integrity: None,
        image: Default::default(),
        tables_first: None,
    };
    let key = ImageKey::random(row, &mut OsRandomness).expect("there is randomness");
    let container = sealed::seal(&Unsealed::from(image), &settings, &key, &device, &mut OsRandomness);
    bench.write("search.spk", &container.expect("it can be sealed").to_bytes());
}

#[test]
fn a_program_that_stores_to_its_code_or_loads_packed_code_as_data_is_ended_by_name() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let program = Program::parse(&bench.read("search.elf")).expect("it is a program");
    let packed = pack::pack(&program, &[], &pack::Settings::default()).expect("it can be packed").image;
    // Where an instruction is that is not the first of its word.
    let several = packed.map.iter().find(|moved| moved.new & 3 != 0 && moved.new & !3 > packed.entry + 64);
    let several = several.expect("something is packed").new & !3;
    let ended = |words: &str| {
        let output = bench.ran("run search.spk --device-key device.key");
        let told = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{told}");
        assert!(told.ends_with(words), "{told}");
    };
    let entry = packed.entry;
    sealed_with(&bench, packed.clone(), at_address(several, LD_G2));
    ended(&format!(
        "error: `search.spk`: fault at {:#010x}: loaded from {several:#010x}, where packed instructions are\n\
         help: keep constants in a section of their own\n",
        entry + 4
    ));
    sealed_with(&bench, packed, at_address(entry, ST_G0));
    let stored = |at: u32, address: u32| {
        format!(
            "error: `search.spk`: fault at {at:#010x}: stored to {address:#010x}, which is executed\n\
             help: code that changes cannot be run\n"
        )
    };
    ended(&stored(entry + 4, entry));
    sealed_with(&bench, Image::from(&program), at_address(program.entry + 64, ST_G0));
    ended(&stored(program.entry + 4, program.entry + 64));
}

#[test]
fn programs_that_cannot_be_packed_are_refused_by_name() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let elf = bench.read("search.elf");
    let changed = |file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = elf.clone();
        change(&mut bytes);
        bench.write(file, &bytes);
    };
    changed("cut.elf", &|bytes| bytes.truncate(1000));
    changed("object.elf", &|bytes| bytes[16..18].copy_from_slice(&1u16.to_be_bytes()));
    changed("entry.elf", &|bytes| bytes[27] |= 2);
    changed("written.elf", &|bytes| {
        // The flags of the section at index 3, `.text`, and of its segment, the first: it may be written.
        let at = section_header(bytes, 3) + 8;
        bytes[at + 3] |= 1;
        bytes[52 + 27] |= 2;
    });
    let build = |file: &str| format!("build {file} -o x.spk --device-key device.key");
    bench.refused(
        &build("cut.elf"),
        1,
        expect![[r#"
        error: `cut.elf`: not a 32-bit ELF file: Invalid ELF section header offset/size/alignment
    "#]],
    );
    bench.refused(
        &build("object.elf"),
        1,
        expect![[r#"
        error: `object.elf`: not a linked program: found e_type 1, expected 2
        help: link it first
    "#]],
    );
    bench.refused(
        &build("entry.elf"),
        1,
        expect![[r#"
        error: `entry.elf`: entry 0x40001002 is no instruction: expected an address in a section of code
    "#]],
    );
    bench.refused(
        &build("written.elf"),
        1,
        expect![[r#"
        error: `written.elf`: section `.text` is written and executed: code that changes cannot be packed
        help: put it into a section of its own and exclude that
    "#]],
    );
    bench.refused(
        "run entry.elf",
        1,
        expect![[r#"
        error: `entry.elf`: entry is no word of a segment of instructions: found 0x40001002
    "#]],
    );
    assert!(!bench.path("x.spk").exists());
}

#[test]
fn what_is_no_elf_file_is_neither_packed_nor_sealed() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let build = |file: &str| format!("build {file} -o x.spk --device-key device.key");
    bench.refused(
        &build("p"),
        1,
        expect![[r#"
        error: `p`: not a 32-bit ELF file: Unsupported ELF header
    "#]],
    );
    bench.refused(
        &format!("{} --scheme none", build("p")),
        1,
        expect![[r#"
            error: `p`: not an ELF file: found 663 bytes that begin otherwise, expected [7f, 45, 4c, 46] at its start
        "#]],
    );
}

/// Where the header of a section stands in an ELF file of SPARC.
fn section_header(elf: &[u8], index: usize) -> usize {
    let number = |at: usize, bytes: usize| {
        elf[at..at + bytes].iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte))
    };
    number(32, 4) + index * number(46, 2)
}

#[test]
fn a_program_without_relocations_is_sealed_and_not_packed_and_that_is_said() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let mut elf = bench.read("search.elf");
    for index in [2, 4, 6, 8] {
        // From a table of relocations to something that nobody reads.
        let at = section_header(&elf, index) + 4;
        assert_eq!(elf[at..at + 4], [0, 0, 0, 4]);
        elf[at + 3] = 1;
    }
    bench.write("search.elf", &elf);
    let built = bench.done("build search.elf -o search.spk --device-key device.key");
    let told = String::from_utf8(built.stdout).expect("text");
    let expected = "nothing is packed: the file has no relocations, which say what of it are addresses of code\n\
                    help: link it with `-Wl,-q`, or take a code that is decoded on fill, such as `--scheme fields`\n";
    assert!(told.ends_with(expected), "{told}");
    let fewer = bench.value("build search.elf -o fewer.spk --device-key device.key --scheme fields");
    assert!(fewer["compression"]["ratio"].as_f64().is_some_and(|ratio| ratio < 0.6), "{fewer}");
    let ran =
        bench.value("run search.spk --device-key device.key --against search.elf --file p --file t -- p t");
    assert_eq!(ran["stdout_sha256"].as_str(), Some(&*native().1));
}

#[test]
fn keys_that_are_not_the_devices_open_nothing() {
    let bench = Bench::built("--integrity 1 --tables 0x42000000");
    bench.done("key -o other.key");
    bench.refused("run search.spk --device-key other.key", 1, expect![[r#"
        error: `search.spk`: the image key does not unwrap under this device key: it is for another device, or was changed
        help: give the device key that the image was sealed with, or take another copy of it
    "#]]);
    bench.refused(
        "verify search.spk",
        2,
        expect![[r#"
        error: `search.spk`: the image is sealed, found no device key, expected the one that it was built for
        help: name its file with `--device-key`
    "#]],
    );
    bench.write("short.key", b"00ff\n");
    fs::set_permissions(bench.path("short.key"), Permissions::from_mode(0o600)).expect("it is ours");
    bench.refused(
        "verify search.spk --device-key short.key",
        1,
        expect![[r#"
        error: `short.key`: found 5 bytes that are no device key, expected 32 or 64 hex digits and a newline
        help: `selvedge pack key` makes one
    "#]],
    );
    fs::set_permissions(bench.path("device.key"), Permissions::from_mode(0o640)).expect("it is ours");
    bench.refused(
        "verify search.spk --device-key device.key",
        1,
        expect![[r#"
        error: `device.key`: mode is 0640, expected 0600
        help: `chmod 0600 device.key` if you are sure that nobody else has read it, else delete it
    "#]],
    );
}

#[test]
fn an_image_that_is_not_expected_is_refused() {
    let bench = Bench::built("--id search --image-version 3 --integrity 8 --tables 0x42000000");
    let verify = |more: &str| format!("verify search.spk --device-key device.key {more}");
    bench.done(&verify("--expect-id search --expect-version 3"));
    bench.refused(
        &verify("--expect-id other"),
        1,
        expect![[r#"
        error: `search.spk`: found the image `search\x00\x00`, expected `other\x00\x00\x00`
    "#]],
    );
    bench.refused(
        &verify("--expect-version 4"),
        1,
        expect![[r#"
        error: `search.spk`: found an image of version 3, expected 4 or a newer one
    "#]],
    );
    // Nothing vouches for what an image without tags says of itself.
    let bench = Bench::built("--id search --image-version 3");
    for expected in ["--expect-tags", "--expect-id search", "--expect-version 3"] {
        bench.refused(
            &verify(expected),
            1,
            expect![[r#"
            error: `search.spk`: found an image without tags, expected one with them
            help: seal it with tags: `pack build --integrity 8`
        "#]],
        );
    }
}

#[test]
fn containers_that_were_cut_or_changed_are_refused_and_no_change_of_a_line_is_executed() {
    let bench = Bench::built("--integrity 1 --tables 0x42000000");
    let whole = bench.read("search.spk");
    let verify = "verify changed.spk --device-key device.key";
    bench.write("changed.spk", &whole[..whole.len() / 2]);
    let output = bench.ran(verify);
    let [found, expected] = [whole.len() / 2, whole.len()];
    let words = format!("found {found} bytes, expected {expected}: the container was cut or added to");
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr)),
        (Some(1), format!("error: `changed.spk`: {words}\n").into())
    );
    bench.write("changed.spk", &whole[..10]);
    bench.refused(
        verify,
        1,
        expect![[r#"
        error: `changed.spk`: found 10 bytes, expected 64: the container was cut or added to
    "#]],
    );
    let flipped = |bit: usize| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    };
    let container = Container::parse(&whole).expect("it was built");
    let memory: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
    let memory_at = whole.len() - memory;
    bench.write("changed.spk", &flipped(8 * memory_at));
    let output = bench.ran(verify);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("the container was damaged"), "{told}");
    // Somebody who knows the format puts the checksum right: in the description, and in any line.
    bench.write("changed.spk", &with_checksum(flipped(8 * 30)));
    bench.refused(verify, 1, expect![[r#"
        error: `changed.spk`: the description is not as sealed: machine, entry, seal, nonce, key, version, id, sections, zeros or map
    "#]]);
    let mut rng = seeded();
    for _ in 0..if is_soak() { SOAK_FLIPS } else { FLIPS } {
        let bit = 8 * memory_at + (rng.next_u64() % (8 * memory as u64)) as usize;
        bench.write("changed.spk", &with_checksum(flipped(bit)));
        let output = bench.ran(verify);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "bit {bit}: {told}");
        assert!(told.contains("does not match: of 1 lines from 0x4"), "bit {bit}: {told}");
    }
    // The first line that is executed: the run ends there, with nothing printed.
    let entry_at = container.spans().iter().fold((memory_at, None), |(at, found), span| {
        let inside =
            container.entry().checked_sub(span.first).filter(|&inside| (inside as usize) < span.bytes.len());
        (at + span.bytes.len(), found.or(inside.map(|inside| at + inside as usize)))
    });
    let entry_at = entry_at.1.expect("it begins in its memory");
    bench.write("changed.spk", &with_checksum(flipped(8 * entry_at)));
    let output = bench.ran("run changed.spk --device-key device.key --file p --file t -- p t");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!(
        "error: `changed.spk`: fault at {0:#010x}: the tag of the lines from {0:#010x} on does not match: \
         memory is not as it was sealed\n",
        container.entry()
    );
    assert!(output.stdout.is_empty() && told.ends_with(&expected), "{told}");
}

#[test]
fn the_map_of_addresses_says_where_every_instruction_went() {
    let bench = Bench::built("--integrity 4");
    let told = bench.value("unseal search.spk --device-key device.key -o opened.elf --map search.csv");
    let text = String::from_utf8(bench.read("search.csv")).expect("text");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("old,new,slot"));
    let number = |cell: &str| {
        let digits = cell.strip_prefix("0x").unwrap_or_else(|| panic!("{cell}"));
        u32::from_str_radix(digits, 16).expect("an address")
    };
    let rows: Vec<[u32; 3]> = lines
        .map(|line| match line.split(',').collect::<Vec<_>>()[..] {
            [old, new, slot] => [number(old), number(new), slot.parse().expect("a number")],
            _ => panic!("{line}"),
        })
        .collect();
    assert_eq!(told["map_instructions"].as_u64(), Some(rows.len() as u64));
    // Another way to the same: the packer's own.
    let program = Program::parse(&bench.read("search.elf")).expect("it is a program");
    let map = pack::pack(&program, &[], &pack::Settings::default()).expect("it can be packed").image.map;
    let expected = map.iter().map(|moved| [moved.old, moved.new & !3, moved.new & 3]);
    assert!(rows.into_iter().eq(expected));
    // And where nobody knows.
    for more in ["--no-map", "--scheme none"] {
        bench.done(&format!("build search.elf -o search.spk --device-key device.key {more}"));
        bench.refused(
            "unseal search.spk --device-key device.key -o other.elf --map search.csv",
            2,
            expect![[r#"
            error: `search.spk`: found no address map, expected one: nothing moved in the image, or `--no-map` left it out
        "#]],
        );
        assert!(!bench.path("other.elf").exists());
    }
}

#[test]
fn a_program_that_compressing_would_not_make_smaller_is_sealed_as_it_is_and_that_is_said() {
    let bench = Bench::new();
    bench.done("key -o device.key");
    let mut elf = bench.read("search.elf");
    let program = Program::parse(&elf).expect("it is a program");
    let text = program.code().find(|section| section.name == ".text").expect("it has one");
    let at = section_header(&elf, 3);
    let word = |elf: &[u8], at: usize| u32::from_be_bytes(elf[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(&elf, at + 12), text.first, "the section at index 3 is `.text`");
    let bytes_at = word(&elf, at + 16) as usize;
    // Noise in place of every word that no relocation is for.
    let mut rng = seeded();
    for offset in (0..text.bytes.len()).step_by(4) {
        let address = text.first + offset as u32;
        if program.references.iter().all(|reference| reference.at & !3 != address) {
            let noise = rng.next_u32().to_be_bytes();
            elf[bytes_at + offset..bytes_at + offset + 4].copy_from_slice(&noise);
        }
    }
    bench.write("noise.elf", &elf);
    for scheme in ["codepack", "bitmask", "huffman", "fields"] {
        let build = format!("build noise.elf -o noise.spk --device-key device.key --scheme {scheme}");
        let built = bench.value(&build);
        let compression = &built["compression"];
        assert_eq!((&compression["nothing"], &compression["ratio"]), (&"no gain".into(), &1.0.into()));
        let told = String::from_utf8(bench.done(&build).stdout).expect("text");
        let code_bytes = text.bytes.len();
        let end = format!("bytes, and the code takes {code_bytes}\n");
        assert!(told.contains("nothing is compressed: code and tables would take ") && told.contains(&end));
        bench.done("unseal noise.spk --device-key device.key -o opened.elf");
        assert!(is_same_memory(&bench, ["noise.elf", "opened.elf"]), "{scheme}");
    }
}
