//! The C of `firmware/crypto` against the official vectors and against this crate, in the host's sanitizers;
//! and that it compiles for the chips.
//!
//! The C side is `firmware/bench/main.c`, one program per variant, which answers one fixed-size record per
//! call. What only runs on a chip (the assembly) is tested where a chip is.

mod seeded;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cipher::{Aead, Suite, vectors};
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};

/// Every variant that is plain C, with its suite.
const PORTABLE: [(&str, Suite); 3] = [
    ("ascon_aead128_c64", Suite::AsconAead128),
    ("ascon_aead128_c8", Suite::AsconAead128),
    ("aes128_ccm_c8", Suite::Aes128Ccm),
];

/// Sizes and offsets of `firmware/bench/bench.h`.
mod bench {
    pub const INPUT_BYTES: usize = 374;
    pub const OUTPUT_BYTES: usize = 273;
    pub const KEY: usize = 6;
    pub const NONCE: usize = 22;
    pub const TAG: usize = 38;
    pub const AD: usize = 54;
    pub const MESSAGE: usize = 118;
    pub const MESSAGE_BYTES_MAX: usize = 256;
    pub const AD_BYTES_MAX: usize = 64;
    pub const TAG_OUT: usize = 1;
    pub const RESULT: usize = 17;
}

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// One call of a variant.
struct Call {
    open: bool,
    shift: u8,
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    message: Vec<u8>,
    tag: Vec<u8>,
}

/// What came of it. `tag` is 16 bytes, of which a shorter tag is the beginning.
struct Answer {
    status: u8,
    tag: Vec<u8>,
    message: Vec<u8>,
}

impl Call {
    fn to_record(&self) -> Vec<u8> {
        assert!(self.message.len() <= bench::MESSAGE_BYTES_MAX && self.ad.len() <= bench::AD_BYTES_MAX);
        let mut record = vec![0; bench::INPUT_BYTES];
        record[0] = if self.open { 2 } else { 1 };
        record[1] = self.shift;
        record[2..4].copy_from_slice(&(self.message.len() as u16).to_le_bytes());
        record[4..6].copy_from_slice(&(self.ad.len() as u16).to_le_bytes());
        for (offset, bytes) in [
            (bench::KEY, &self.key),
            (bench::NONCE, &self.nonce),
            (bench::TAG, &self.tag),
            (bench::AD, &self.ad),
            (bench::MESSAGE, &self.message),
        ] {
            record[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        record
    }
}

/// A variant, compiled for this machine with the sanitizers on.
struct Variant {
    program: PathBuf,
    _folder: tempfile::TempDir,
}

impl Variant {
    fn build(name: &str) -> Variant {
        Variant::build_with(name, &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    }

    fn build_with(name: &str, flags: &[&str]) -> Variant {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join(name);
        // The tests of this workspace build AWS-LC, so there is a C compiler wherever they run.
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let output = Command::new(compiler)
            .args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .args(flags)
            .arg(format!("-DBENCH_VARIANT={name}"))
            .arg(firmware().join("bench/main.c"))
            .arg(firmware().join("crypto").join(name).with_extension("c"))
            .arg("-o")
            .arg(&program)
            .output()
            .expect("the C compiler runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        Variant { program, _folder: folder }
    }

    fn run(&self, calls: &[Call]) -> Vec<Answer> {
        self.run_by(Command::new(&self.program), calls).expect("the bench fails, see its words above")
    }

    /// Answers, or the exit code with which `command`, which starts the program, ended.
    fn run_by(&self, mut command: Command, calls: &[Call]) -> Result<Vec<Answer>, Option<i32>> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the bench starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let records: Vec<u8> = calls.iter().flat_map(Call::to_record).collect();
        // From a thread, so that neither side waits for the other with both pipes full.
        let writer = std::thread::spawn(move || stdin.write_all(&records));
        let output = child.wait_with_output().expect("the bench ends");
        let written = writer.join().expect("the writer ends");
        if !output.status.success() {
            return Err(output.status.code());
        }
        written.expect("the bench takes all records");
        assert_eq!(output.stdout.len(), calls.len() * bench::OUTPUT_BYTES);
        let answer = |(call, record): (&Call, &[u8])| Answer {
            status: record[0],
            tag: record[bench::TAG_OUT..bench::RESULT].to_vec(),
            message: record[bench::RESULT..][..call.message.len()].to_vec(),
        };
        Ok(calls.iter().zip(output.stdout.chunks(bench::OUTPUT_BYTES)).map(answer).collect())
    }
}

#[test]
fn the_record_is_the_one_that_bench_h_draws() {
    let header = std::fs::read_to_string(firmware().join("bench/bench.h")).expect("bench.h is there");
    let define = |name: &str| -> usize {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define BENCH_{name} ")));
        let value = line.and_then(|rest| rest.split_whitespace().next()).expect(name);
        value.parse().expect(name)
    };
    for (name, expected) in [
        ("INPUT_BYTES", bench::INPUT_BYTES),
        ("OUTPUT_BYTES", bench::OUTPUT_BYTES),
        ("KEY", bench::KEY),
        ("NONCE", bench::NONCE),
        ("TAG", bench::TAG),
        ("AD", bench::AD),
        ("MESSAGE", bench::MESSAGE),
        ("MESSAGE_BYTES_MAX", bench::MESSAGE_BYTES_MAX),
        ("AD_BYTES_MAX", bench::AD_BYTES_MAX),
        ("TAG_OUT", bench::TAG_OUT),
        ("RESULT", bench::RESULT),
    ] {
        assert_eq!(define(name), expected, "BENCH_{name}");
    }
}

/// Lengths that the bench's buffers hold; all of the two node suites' vectors but some with long data.
fn fits(vector: &vectors::AeadVector, suite: Suite) -> bool {
    vector.sealed.len() - suite.row().tag_bytes <= bench::MESSAGE_BYTES_MAX
        && vector.associated_data.len() <= bench::AD_BYTES_MAX
}

#[test]
fn every_portable_variant_meets_the_official_vectors() {
    for (name, suite) in PORTABLE {
        let variant = Variant::build(name);
        let vectors: Vec<_> = vectors::aead(suite).into_iter().filter(|vector| fits(vector, suite)).collect();
        assert!(vectors.len() > 20, "{name} has {} vectors", vectors.len());
        let calls: Vec<Call> = vectors
            .iter()
            .zip((0..8).cycle())
            .flat_map(|(vector, shift)| both_ways(vector, suite, shift))
            .collect();
        for (vector, answers) in vectors.iter().zip(variant.run(&calls).chunks(2)) {
            let [sealed, opened] = answers else { panic!("two answers for a vector") };
            let at = format!("{name}, the vector at line {}", vector.line);
            let plaintext = vector.plaintext.as_ref().expect("the node suites have no vectors to reject");
            let tag = &sealed.tag[..suite.row().tag_bytes];
            assert_eq!(sealed.status, 1, "{at}");
            assert_eq!([&sealed.message, tag].concat(), vector.sealed, "{at}");
            assert_eq!((opened.status, &opened.message), (1, plaintext), "{at}");
        }
    }
}

/// The seal and the open of `vector`.
fn both_ways(vector: &vectors::AeadVector, suite: Suite, shift: u8) -> [Call; 2] {
    let (ciphertext, tag) = vector.sealed.split_at(vector.sealed.len() - suite.row().tag_bytes);
    let call = |open, message: &[u8], tag: &[u8]| Call {
        open,
        shift,
        key: vector.key.clone(),
        nonce: vector.nonce.clone(),
        ad: vector.associated_data.clone(),
        message: message.to_vec(),
        tag: tag.to_vec(),
    };
    [call(false, vector.plaintext.as_deref().unwrap_or_default(), &[]), call(true, ciphertext, tag)]
}

#[test]
fn every_portable_variant_agrees_with_the_library_at_every_length_and_alignment() {
    let mut rng = seeded();
    for (name, suite) in PORTABLE {
        let row = suite.row();
        let mut calls = Vec::new();
        let mut expected = Vec::new();
        for length in 0..=bench::MESSAGE_BYTES_MAX {
            let ad_length = rng.next_u32() as usize % (bench::AD_BYTES_MAX + 1);
            let mut random = |length| random_bytes(&mut rng, length);
            let (key, nonce, ad, plaintext) =
                (random(row.key_bytes), random(row.nonce_bytes), random(ad_length), random(length));
            let shift = random(1)[0] % 8;
            let damage = usize::from(random(1)[0]) % (8 * row.tag_bytes);
            let mut sealed = plaintext.clone();
            let tag = Aead::new(suite, &key).seal(&nonce, &ad, &mut sealed).as_ref().to_vec();
            let mut wrong_tag = tag.clone();
            wrong_tag[damage / 8] ^= 1 << (damage % 8);
            let call = |open, message: &[u8], tag: &[u8]| Call {
                open,
                shift,
                key: key.clone(),
                nonce: nonce.clone(),
                ad: ad.clone(),
                message: message.to_vec(),
                tag: tag.to_vec(),
            };
            calls.push(call(false, &plaintext, &[]));
            expected.push((1, sealed.clone(), Some(tag.clone())));
            calls.push(call(true, &sealed, &tag));
            expected.push((1, plaintext, None));
            calls.push(call(true, &sealed, &wrong_tag));
            expected.push((0, vec![0; length], None));
        }
        for (index, (answer, (status, message, tag))) in
            Variant::build(name).run(&calls).iter().zip(expected).enumerate()
        {
            let at = format!("{name}, {} bytes, call {}", message.len(), index % 3);
            assert_eq!((answer.status, &answer.message), (status, &message), "{at}");
            if let Some(tag) = tag {
                assert_eq!(answer.tag[..row.tag_bytes], tag, "{at}");
            }
        }
    }
}

/// What valgrind is told to end with when it found an error.
const TAINTED: i32 = 77;

/// Runs `name` with its key, nonce, tag and message tainted; the error is valgrind's exit code.
fn run_tainted(name: &str, suite: Suite, words: Stdio) -> Result<Vec<Answer>, Option<i32>> {
    let row = suite.row();
    let call = |open, length| Call {
        open,
        shift: 0,
        key: vec![1; row.key_bytes],
        nonce: vec![2; row.nonce_bytes],
        ad: vec![3; 21],
        message: vec![4; length],
        tag: vec![5; row.tag_bytes],
    };
    let variant = Variant::build_with(name, &["-O2", "-DSECRET_TAINT"]);
    let mut command = Command::new("valgrind");
    command.args(["--quiet", &format!("--error-exitcode={TAINTED}")]).arg(&variant.program).stderr(words);
    variant.run_by(command, &[call(false, 0), call(false, 37), call(true, 32), call(true, 37)])
}

#[test]
fn no_branch_and_no_address_depends_on_a_secret_except_in_the_table_driven_variant() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skip: secrets under valgrind: valgrind is not installed");
        return;
    }
    for (name, suite) in PORTABLE {
        // The one that looks its S-box up, as its file says; it also shows that the taint arrives.
        if name == "aes128_ccm_c8" {
            assert_eq!(run_tainted(name, suite, Stdio::null()).err(), Some(Some(TAINTED)), "{name}");
        } else {
            let answers = run_tainted(name, suite, Stdio::inherit());
            assert_eq!(answers.map(|answers| answers.len()), Ok(4), "{name}");
        }
    }
}

/// Every file of a variant: all that lies in `firmware/crypto` and is no header.
fn variant_files() -> Vec<PathBuf> {
    let folder = firmware().join("crypto");
    let entries = std::fs::read_dir(&folder).expect("firmware/crypto is there");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "c" || extension == "S"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_variant_compiles_for_both_chips_without_a_warning() {
    let files = variant_files();
    assert!(files.len() >= 5, "{files:?}");
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        eprintln!("skip: variants for both chips: avr-gcc is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for chip in ["atmega128", "atmega328p"] {
        for file in &files {
            let output = Command::new("avr-gcc")
                .arg(format!("-mmcu={chip}"))
                .args(["-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-c"])
                .arg(file)
                .arg("-o")
                .arg(folder.path().join("object.o"))
                .output()
                .expect("avr-gcc runs");
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} for {chip}: {words}", file.display());
        }
    }
}

#[test]
fn every_portable_variant_in_the_folder_is_tested() {
    let on_chips_only = ["aes128_ccm_avr", "ascon_aead128_avr"];
    let mut names: Vec<String> = variant_files()
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .map(|path| path.file_stem().expect("a file has a stem").to_string_lossy().into_owned())
        .filter(|name| !on_chips_only.contains(&name.as_str()))
        .collect();
    let mut tested = PORTABLE.map(|(name, _)| name.to_owned());
    names.sort();
    tested.sort();
    assert_eq!(names, tested);
}
