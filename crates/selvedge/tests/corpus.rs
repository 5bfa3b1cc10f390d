//! The committed programs of `corpus/` are what their sidecars say, and print what the same sources print natively.
//!
//! Under qemu's user emulation; for SPARC on an emulated LEON3 without a system as well, where the image's own
//! handlers spill and fill register windows. A sample of the runs in a short test, all in a long one. Leaves
//! building, and what a native build prints, to `scripts/corpus.sh`.

#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rand_chacha::rand_core::Rng;
use sha2::{Digest, Sha256};

use soak::is_soak;

const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "search", "susan", "pegwit", "bzip2", "minigzip", "lua"];
const INPUTS: usize = 5;
const CORPUS_BYTES_MAX: u64 = 20 << 20;
/// What a run on an emulated LEON may take, which is a second when nothing else computes.
const PATIENCE_S: &str = "120";

/// A processor that the programs are compiled for.
struct Target {
    folder: &'static str,
    emulator: &'static str,
    objdump: &'static str,
    /// What an ELF header says of it.
    machine: u16,
    is_big_endian: bool,
    /// Whether a disassembled instruction is beyond it: mnemonic, operands.
    is_beyond: fn(&str, &str) -> bool,
}

const TARGETS: [Target; 2] = [
    Target {
        folder: "sparc",
        emulator: "qemu-sparc",
        objdump: "sparc64-linux-gnu-objdump",
        machine: 2,
        is_big_endian: true,
        // objdump knows what V8 has of an ELF file for V8: the rest is `unknown`.
        is_beyond: |mnemonic, operands| {
            let is_float = mnemonic.starts_with('f') && mnemonic != "flush";
            let is_moved = operands.split("%f").skip(1).any(|rest| !rest.starts_with('p'));
            mnemonic == "unknown" || is_float || is_moved
        },
    },
    Target {
        folder: "rv32",
        emulator: "qemu-riscv32",
        objdump: "riscv64-unknown-elf-objdump",
        machine: 243,
        is_big_endian: false,
        is_beyond: |mnemonic, _| {
            let is_float = mnemonic.starts_with('f') && !mnemonic.starts_with("fence");
            mnemonic.starts_with(".") || mnemonic.starts_with("c.") || mnemonic == "unimp" || is_float
        },
    },
];

/// A line of `data/workload/runs.txt`, and what `corpus/outputs.csv` says of it.
struct Run {
    program: String,
    input: String,
    arguments: Vec<String>,
    stdin: Option<String>,
    output_sha256: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

fn workload() -> PathBuf {
    root().join("data/workload")
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn runs() -> Vec<Run> {
    let outputs = fs::read_to_string(root().join("corpus/outputs.csv")).expect("it is committed");
    let output_of = |program: &str, input: &str| {
        let begin = format!("{program},{input},");
        let line = outputs.lines().find(|line| line.starts_with(&begin));
        let line = line.unwrap_or_else(|| panic!("corpus/outputs.csv has no line of {program} {input}"));
        line.rsplit(',').next().expect("a line has columns").to_string()
    };
    let text = fs::read_to_string(workload().join("runs.txt")).expect("it is committed");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let run = |line: &str| {
        let (words, stdin) = line.split_once(" < ").map_or((line, None), |(words, file)| (words, Some(file)));
        let mut words = words.split(' ').map(String::from);
        let (program, input) = (words.next().expect("a program"), words.next().expect("an input"));
        let output_sha256 = output_of(&program, &input);
        Run { program, input, arguments: words.collect(), stdin: stdin.map(String::from), output_sha256 }
    };
    lines.map(run).collect()
}

/// All runs in a long test, one of each program in a short one.
fn sample() -> Vec<Run> {
    let mut runs = runs();
    if !is_soak() {
        let mut rng = seeded::seeded();
        let kept = PROGRAMS.map(|program| (program, rng.next_u32() as usize % INPUTS));
        let mut seen = PROGRAMS.map(|_| 0);
        runs.retain(|run| {
            let index = PROGRAMS.iter().position(|program| *program == run.program).expect("one of the nine");
            seen[index] += 1;
            seen[index] - 1 == kept[index].1
        });
        assert_eq!(runs.len(), PROGRAMS.len());
    }
    runs
}

/// Whether `program` can be started; says so where it cannot.
fn is_there(program: &str, what: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skip: {what}: {program} is not installed");
    }
    found
}

fn image(target: &Target, program: &str) -> PathBuf {
    root().join("corpus").join(target.folder).join(format!("{program}.elf"))
}

#[test]
fn every_program_has_five_inputs_and_stays_what_its_sidecar_says() {
    let runs = runs();
    let mut bytes_total = 0;
    for program in PROGRAMS {
        assert_eq!(runs.iter().filter(|run| run.program == program).count(), INPUTS, "{program}");
        for target in &TARGETS {
            let path = image(target, program);
            let elf = fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
            let sidecar = fs::read_to_string(path.with_extension("elf.txt")).expect("a sidecar");
            assert!(sidecar.contains(&format!("sha256: {}\n", sha256(&elf))), "{}", path.display());
            assert!(sidecar.contains(&format!(" -o {program}.elf ")), "no command: {}", path.display());
            let half = |at: usize| {
                let bytes = [elf[at], elf[at + 1]];
                if target.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
            };
            // Class, kind and machine: an executable of 32 bits that no other processor takes.
            assert_eq!((&elf[..5], half(16), half(18)), (&b"\x7fELF\x01"[..], 2, target.machine));
            bytes_total += elf.len() as u64;
        }
    }
    assert_eq!(runs.len(), PROGRAMS.len() * INPUTS);
    assert!(
        bytes_total <= CORPUS_BYTES_MAX,
        "found {bytes_total} bytes, expected at most {CORPUS_BYTES_MAX}"
    );
}

/// One of our own and one of a package's, for both instruction sets; in long runs, as the C library is built first.
#[test]
fn programs_that_are_built_again_are_the_same_byte_for_byte() {
    if !is_soak() || !is_there("sparc64-linux-gnu-gcc-12", "building programs of corpus/ again") {
        return;
    }
    let built =
        Command::new("scripts/corpus.sh").args(["same", "search", "minigzip"]).current_dir(root()).output();
    let built = built.expect("the script is in the tree");
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{told}");
    let said = "search minigzip are what is built here, byte for byte\n";
    assert!(built.stdout.ends_with(said.as_bytes()), "{told}");
}

#[test]
fn programs_print_what_their_sources_print_natively() {
    let sample = sample();
    for target in &TARGETS {
        if !is_there(target.emulator, "programs of corpus/") {
            continue;
        }
        for run in &sample {
            let stdin =
                run.stdin.as_ref().map(|file| fs::File::open(workload().join(file)).expect("an input"));
            let output = Command::new(target.emulator)
                .arg(image(target, &run.program))
                .args(&run.arguments)
                .current_dir(workload())
                .stdin(stdin.map_or(Stdio::null(), Stdio::from))
                .output()
                .expect("the emulator starts");
            let says = String::from_utf8_lossy(&output.stderr);
            let name = format!("{} {} on {}: {says}", run.program, run.input, target.folder);
            assert!(output.status.success(), "{name}");
            assert_eq!(sha256(&output.stdout), run.output_sha256, "{name}");
        }
    }
}

#[test]
fn no_program_has_an_instruction_that_its_processor_lacks() {
    for target in &TARGETS {
        if !is_there(target.objdump, "instructions of corpus/") {
            continue;
        }
        for program in PROGRAMS {
            let objdump = Command::new(target.objdump)
                .args(["--disassemble", "--no-show-raw-insn"])
                .arg(image(target, program))
                .output()
                .expect("objdump starts");
            let text = String::from_utf8(objdump.stdout).expect("objdump prints text");
            let mut instructions = 0;
            for line in text.lines() {
                // An address, a mnemonic and its operands, by tabs and spaces.
                let Some((address, rest)) = line.split_once(":\t") else { continue };
                let (mnemonic, operands) =
                    rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
                instructions += 1;
                assert!(!(target.is_beyond)(mnemonic, operands), "{program} at {address}: {rest}");
            }
            assert!(instructions > 3_000, "found {instructions} instructions in {program}");
        }
    }
}

/// One entry of the archive that an image reads where there is no system (cpio, `newc`).
fn entry(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut fields = [0; 13];
    fields[6] = bytes.len();
    fields[11] = name.len() + 1;
    let mut entry = b"070701".to_vec();
    entry.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
    for part in [[name.as_bytes(), b"\0"].concat().as_slice(), bytes] {
        entry.extend(part);
        entry.resize(entry.len().next_multiple_of(4), 0);
    }
    entry
}

/// Everything that a run reads.
fn disk(run: &Run) -> Vec<u8> {
    let arguments = [&run.program].into_iter().chain(&run.arguments);
    let mut disk =
        entry("arguments", &arguments.flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect::<Vec<_>>());
    let read = |file: &str| fs::read(workload().join(file)).expect("an input");
    if let Some(file) = &run.stdin {
        disk.extend(entry("stdin", &read(file)));
    }
    for file in run.arguments.iter().filter(|word| workload().join(word).is_file()) {
        disk.extend(entry(file, &read(file)));
    }
    disk.extend(entry("TRAILER!!!", b""));
    disk
}

#[test]
fn a_leon_without_a_system_runs_them_with_the_window_handlers_of_the_image() {
    let machine = "qemu-system-sparc";
    if !is_there(machine, "programs of corpus/ without a system") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for run in &sample() {
        // The processor begins where the table of traps does.
        let mut elf = fs::read(image(&TARGETS[0], &run.program)).expect("it is committed");
        elf[24..28].copy_from_slice(&0x4000_0000_u32.to_be_bytes());
        let path = |name: &str| folder.path().join(name);
        fs::write(path("image"), elf).expect("it can be written");
        fs::write(path("disk"), disk(run)).expect("it can be written");
        let status = Command::new("timeout")
            .args([PATIENCE_S, machine, "-M", "leon3_generic", "-no-reboot"])
            .args(["-display", "none", "-monitor", "none"])
            .args(["-serial", "file:output", "-kernel", "image"])
            .args(["-device", "loader,file=disk,addr=0x42000000,force-raw=on"])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .status()
            .expect("qemu starts");
        let output = fs::read(path("output")).expect("qemu writes it");
        let name = format!("{} {}", run.program, run.input);
        assert!(status.success(), "{name}");
        assert_eq!(sha256(&output), run.output_sha256, "{name}");
    }
}

/// The x coordinate of a secret number's point on sect233k1, in hexadecimal digits, as OpenSSL has it.
fn public_by_openssl(secret: &[u8; 30]) -> String {
    // An ECPrivateKey (RFC 5915): version 1, the number, the curve's name.
    let der =
        [b"\x30\x2c\x02\x01\x01\x04\x1e", &secret[..], b"\xa0\x07\x06\x05\x2b\x81\x04\x00\x1a"].concat();
    let mut openssl = Command::new("openssl")
        .args(["ec", "-inform", "DER", "-pubout", "-outform", "DER", "-conv_form", "uncompressed"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl starts");
    openssl.stdin.take().expect("it is a pipe").write_all(&der).expect("openssl reads it");
    let public = openssl.wait_with_output().expect("openssl ends").stdout;
    assert!(public.len() > 60, "openssl knows no sect233k1");
    // It ends with x and y.
    public[public.len() - 60..public.len() - 30].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn pegwits_public_keys_are_those_that_openssl_computes() {
    if !is_there("openssl", "the points of pegwit") {
        return;
    }
    for index in 0..INPUTS {
        let key = |kind| fs::read_to_string(workload().join(format!("keys/{index}.{kind}"))).expect("a key");
        let secret = key("secret");
        let byte = |at: usize| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16).expect("two digits");
        assert_eq!(public_by_openssl(&std::array::from_fn(byte)), key("public").trim());
    }
}

#[test]
fn what_pegwit_encrypts_is_opened_by_its_key_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let sealed = folder.path().join("sealed");
    for target in &TARGETS {
        if !is_there(target.emulator, "programs of corpus/") {
            continue;
        }
        let pegwit = |words: &[&str]| {
            let mut command = Command::new(target.emulator);
            command.arg(image(target, "pegwit")).args(words).current_dir(workload());
            command.output().expect("the emulator starts")
        };
        let message = "images/testorig.jpg";
        let encrypted = pegwit(&["e", "keys/0.public", "keys/1.secret", message]);
        assert!(encrypted.status.success());
        fs::write(&sealed, &encrypted.stdout).expect("it can be written");
        let path = sealed.to_str().expect("a name in UTF-8");
        let opened = pegwit(&["d", "keys/0.secret", path]);
        assert_eq!(opened.stdout, fs::read(workload().join(message)).expect("an input"));
        let refused = pegwit(&["d", "keys/1.secret", path]);
        let says = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
        assert!(says.ends_with(": was not encrypted for this key\n"), "{says}");
    }
}
