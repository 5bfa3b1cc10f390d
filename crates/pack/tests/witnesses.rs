//! Foreign witnesses of the seals: OpenSSL line by line, NXP's and Infineon's own tools byte for byte, and Python's
//! cryptography, which is OpenSSL's library, for XTS, wrapped keys and tags.
//!
//! The Python packages are in `target/python`, where `scripts/install.sh` puts them. What each counter should be is
//! written down here once more, as the reference has it, and not taken from the code that it is a witness of.

mod made;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use made::{IMAGE, Seeded, sealed, seals};
use pack::image::Kind;
use pack::lines::Role;
use pack::seal::otfdec::Otfdec;
use pack::seal::{Layout, LineCipher, Seal};

/// Lines at addresses that have something in each of their bytes.
const ADDRESSES: [u32; 6] = [0, 0x10, 0x1234_5670, 0x7fff_fff0, 0x9000_0000, 0xffff_fff0];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a program prints for what it is given; `None` when it cannot be started.
fn ask(program: &Path, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().expect("it was piped").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{} {arguments:?}: {words}", program.display());
    Some(output.stdout)
}

/// OpenSSL's answer for a line.
fn openssl(cipher: &str, key: &[u8], start: Option<u128>, line: &[u8]) -> Option<Vec<u8>> {
    let (key, start) = (hex(key), start.map(|start| format!("{start:032x}")));
    let mut arguments = vec!["enc", cipher, "-nopad", "-K", &key];
    arguments.extend(start.iter().flat_map(|start| ["-iv", start]));
    ask(Path::new("openssl"), &arguments, line)
}

fn skip(what: &str, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}, and under CI it must be there");
    eprintln!("skip: {what}: {why}");
}

/// The number that a seal's reference would have OpenSSL start from for a line, and the line of it that is added.
fn counter(seal: Seal, address: u32) -> Option<u128> {
    let start = seal.start();
    let number = |bytes: &[u8]| bytes.iter().fold(0u128, |number, &byte| number << 8 | u128::from(byte));
    let address_wide = u128::from(address);
    match seal.row().layout? {
        "otfdec" => {
            let version = u128::from(start[8]) | u128::from(start[9]) << 8;
            let region = u128::from(start[10]);
            Some(number(&start[..8]) << 64 | version << 32 | region << 28 | address_wide >> 4)
        }
        "otfad" | "otfad-swapped" => {
            let (high, low) = (number(&start[..4]), number(&start[4..8]));
            Some(high << 96 | low << 64 | (high ^ low) << 32 | address_wide)
        }
        _ => Some(u128::from(address.swap_bytes()) << 96 | number(&start)),
    }
}

/// How a layout puts OpenSSL's keystream into memory.
fn in_memory(layout: &str, stream: &[u8]) -> Vec<u8> {
    match layout {
        "otfdec" => stream.iter().rev().copied().collect(),
        "otfad-swapped" => stream.chunks(8).flat_map(|half| half.iter().rev().copied()).collect(),
        _ => stream.to_vec(),
    }
}

fn added(line: &[u8], other: &[u8]) -> Vec<u8> {
    line.iter().zip(other).map(|(line, other)| line ^ other).collect()
}

#[test]
fn openssl_seals_every_line_the_same() {
    let mut randomness = Seeded::new();
    let mut seals = seals(&mut randomness);
    // A region and a version that are not zero.
    let otfdec = Otfdec::new(randomness.bytes(8).try_into().unwrap(), 0xa55a, 3).unwrap();
    let key = seals[2].1.clone();
    seals.push((Seal::Ctr(Layout::Otfdec(otfdec)), key));
    for (seal, key) in seals {
        let cipher = LineCipher::new(seal, key.expose());
        for address in ADDRESSES {
            let plain: [u8; 16] = randomness.bytes(16).try_into().unwrap();
            let mut line = plain;
            cipher.seal(address, &mut line);
            let answer = match seal {
                Seal::Ecb => openssl("-aes-128-ecb", key.expose(), None, &plain),
                // The program does no XTS: what clause 5.3.1 says of a unit of one block.
                Seal::Xts => {
                    let (lines, tweaks) = key.expose().split_at(16);
                    let unit = u128::from(address / 16).to_le_bytes();
                    openssl("-aes-128-ecb", tweaks, None, &unit).and_then(|tweak| {
                        let tweaked = openssl("-aes-128-ecb", lines, None, &added(&plain, &tweak))?;
                        Some(added(&tweaked, &tweak))
                    })
                }
                Seal::Ctr(_) => {
                    let stream = openssl("-aes-128-ctr", key.expose(), counter(seal, address), &[0; 16]);
                    stream.map(|stream| added(&plain, &in_memory(seal.row().layout.unwrap(), &stream)))
                }
            };
            let Some(answer) = answer else { return skip("lines by OpenSSL", "openssl is not installed") };
            assert_eq!(hex(&line), hex(&answer), "{seal} {address:#010x}");
        }
    }
}

/// Python with the packages of `scripts/install.sh`, if it has this one.
fn python(module: &str, what: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let asks = format!("import sys, importlib.util; sys.exit(importlib.util.find_spec('{module}') is None)");
    if Command::new(&python).args(["-c", &asks]).output().is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    skip(what, &format!("target/python has no {module}"));
    None
}

/// What a script beside this file answers to each of these questions: a line for a line, words of hexadecimal digits.
fn answers(python: &Path, name: &str, questions: &[String]) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness").join(name);
    let path = path.to_str().expect("a path is UTF-8");
    let printed = ask(python, &[path], questions.join("\n").as_bytes()).expect("python was found");
    let answers: Vec<_> = String::from_utf8(printed).expect("digits").lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), questions.len());
    answers
}

/// Some lines from an address on, sealed here and by a script that is given the seal's start.
fn same_as(python: &Path, name: &str, wanted: impl Fn(Seal) -> bool) {
    let mut randomness = Seeded::new();
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    for (seal, key) in seals(&mut randomness).into_iter().filter(|(seal, _)| wanted(*seal)) {
        let cipher = LineCipher::new(seal, key.expose());
        for first in [0x6000_1000, 0x3000_0400, 0xffff_fc00_u32] {
            let plain = randomness.bytes(40 * 16);
            let mut bytes = plain.clone();
            cipher.seal_all(first, &mut bytes);
            let (layout, start) = (seal.row().layout.unwrap_or("none"), hex(&seal.start()));
            questions.push(format!("{layout} {} {start} {first:08x} {}", hex(key.expose()), hex(&plain)));
            expected.push(hex(&bytes));
        }
    }
    assert!(!questions.is_empty());
    assert_eq!(answers(python, name, &questions), expected);
}

#[test]
fn nxp_s_spsdk_makes_the_same_image_for_otfad() {
    let Some(python) = python("spsdk", "images for OTFAD by spsdk") else { return };
    same_as(&python, "otfad.py", |seal| matches!(seal, Seal::Ctr(Layout::Otfad(_))));
}

#[test]
fn infineon_s_edgeprotecttools_make_the_same_image_for_xip() {
    let Some(python) = python("edgeprotecttools", "images for XIP by edgeprotecttools") else { return };
    same_as(&python, "xip.py", |seal| matches!(seal, Seal::Ctr(Layout::McubootXip(_))));
}

#[test]
fn python_s_cryptography_makes_the_same_lines_for_xts() {
    let Some(python) = python("cryptography", "lines for XTS by cryptography") else { return };
    same_as(&python, "xts.py", |seal| seal == Seal::Xts);
}

#[test]
fn python_s_cryptography_unwraps_the_key_and_makes_the_same_tags() {
    let Some(python) = python("cryptography", "keys and tags by cryptography") else { return };
    let (mut questions, mut expected) = (Vec::new(), Vec::new());
    for seal_and_key in seals(&mut Seeded::new()) {
        let (container, key) = (sealed(&seal_and_key, Some((4, 16))), &seal_and_key.1);
        let bytes = container.to_bytes();
        let wrapped = hex(&bytes[64..64 + usize::from(bytes[19])]);
        questions.push(format!("unwrap {} {wrapped}", hex(&[2; 16])));
        expected.push(hex(key.expose()));
        // Under the key of another device it is nothing.
        questions.push(format!("unwrap {} {wrapped}", hex(&[4; 16])));
        expected.push("refused".into());
        let tag_key = hex(key.tag_key().expose());
        questions.push(format!("tag-key {}", hex(key.expose())));
        expected.push(tag_key.clone());
        let table = container.entry_of(Role::Tags).unwrap();
        let code = container.entry_of(Role::Program(Kind::Code)).unwrap();
        // The second group of the image: its address, its version and its name before its lines.
        let first = code.first + 64;
        let mut message = [first.to_le_bytes(), IMAGE.version.to_le_bytes()].concat();
        message.extend(b"selvedge");
        message.extend(container.memory(first, 64).unwrap());
        questions.push(format!("cmac {tag_key} {}", hex(&message)));
        expected.push(hex(container.memory(table.first + 16, 16).unwrap()));
        // The description: what stands for its address, then all but the checksum, up to its own tag.
        let memory_bytes: usize = container.spans().iter().map(|span| span.bytes.len()).sum();
        let (before, _) = bytes.split_at(bytes.len() - memory_bytes);
        let (description, tag) = before.split_at(before.len() - 16);
        let mut message = [u32::MAX.to_le_bytes(), IMAGE.version.to_le_bytes()].concat();
        message.extend(b"selvedge");
        message.extend(description[..12].iter().chain(&description[16..]));
        questions.push(format!("cmac {tag_key} {}", hex(&message)));
        expected.push(hex(tag));
    }
    assert_eq!(answers(&python, "keys.py", &questions), expected);
}
