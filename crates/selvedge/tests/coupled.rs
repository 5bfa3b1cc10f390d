//! Direct coupling: what the host produces leaves the chip in the host's register, at the rate of the line.

use std::path::{Path, PathBuf};
use std::process::Command;

use isa::Cycles;
use isa::avr::{ATMEGA128, Chip, Image, Stop};

/// SPDR of the ATmega128 in data space.
const SPDR: u32 = 0x2F;
/// More than key setup and 32 bytes.
const CYCLES_MAX: Cycles = 100_000;

#[derive(Default)]
struct Sent(Vec<(Cycles, u8)>);

impl isa::Observer for Sent {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == SPDR {
            self.0.push((cycle, value));
        }
    }
}

impl isa::avr::Observer for Sent {}

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn weave(host: &str, function: &str, arguments: &str, period: u32, out: &Path) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["weave", "--couple", "--name", "coupled", "--chip", "atmega128"])
        .arg(tree(host))
        .args(["--host", function, "--host-arguments", arguments, "--guest-fn", "spi_tx", "--guest"])
        .arg(tree("firmware/node/guest_spi_tx.S"))
        .args(["-D", &format!("PERIOD={period}"), "-o"])
        .arg(out.join("coupled.s"))
        .arg("--header")
        .arg(out.join("coupled.h"))
        .output()
        .expect("selvedge runs")
}

#[test]
fn a_coupled_rc4_sends_its_keystream_at_line_rate_with_a_write_every_18_cycles() {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        println!("skip: a coupled RC4: avr-gcc is not installed");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let woven = weave("firmware/crypto/rc4_avr32.S", "rc4_avr32_crypt", "2", 18, scratch.path());
    assert!(woven.status.success(), "{}", String::from_utf8_lossy(&woven.stderr));
    let first = cipher::vectors::crypt(cipher::vectors::RC4).into_iter().next().expect("there are vectors");
    let expected: Vec<u8> = cipher::vectors::crypt(cipher::vectors::RC4)
        .into_iter()
        .filter(|vector| vector.key == first.key && vector.skipped_bytes < 32)
        .flat_map(|vector| vector.ciphertext)
        .collect();
    let key: Vec<String> = first.key.iter().map(u8::to_string).collect();
    let elf = scratch.path().join("coupled.elf");
    let linked = Command::new("avr-gcc")
        .args(["-mmcu=atmega128", "-std=gnu99", "-O2", "-Wall", "-Werror", "-Wno-comment"])
        .arg(format!("-DKEY={}", key.join(",")))
        .arg("-I")
        .arg(tree("firmware/crypto"))
        .arg("-I")
        .arg(scratch.path())
        .args(["crates/selvedge/tests/woven/coupled.c"].map(tree))
        // The one that sets the state up, and the one that has the message.
        .args(["firmware/crypto/rc4_avr.S", "firmware/crypto/rc4_avr32.S"].map(tree))
        .arg(scratch.path().join("coupled.s"))
        .arg("-o")
        .arg(&elf)
        .output()
        .expect("avr-gcc runs");
    assert!(linked.status.success(), "{}", String::from_utf8_lossy(&linked.stderr));
    let bytes = std::fs::read(&elf).expect("avr-gcc has written it");

    let program = weave::linked::program(&bytes, "coupled").expect("its directives are in it");
    let function = program.function("coupled").expect("it was asked for");
    weave::proof::prove(&program, function, weave::proof::Options::default()).expect("it is proved, linked");

    let mut chip = Chip::new(&ATMEGA128);
    chip.load(&Image::parse(&bytes).expect("an image")).expect("it fits the chip");
    let mut sent = Sent::default();
    assert_eq!(chip.run_until(CYCLES_MAX, &mut sent), Stop::Break);
    let (times, values): (Vec<Cycles>, Vec<u8>) = sent.0.into_iter().unzip();
    assert_eq!(values, expected, "what is sent is the key stream of RFC 6229");
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 18), "{times:?}");
}

#[test]
fn a_host_that_is_slower_than_the_line_is_not_coupled_and_one_without_products_neither() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    for (host, function, arguments, period, words) in [
        ("firmware/crypto/rc4_avr32.S", "rc4_avr32_crypt", "2", 15, "longer than a period of 15 cycles"),
        ("firmware/crypto/crc16_avr.S", "crc16_avr_update", "2,2,2", 130, "produces nothing"),
    ] {
        let refused = weave(host, function, arguments, period, scratch.path());
        let said = String::from_utf8_lossy(&refused.stderr);
        if said.contains("avr-gcc") && Command::new("avr-gcc").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
            println!("skip: refused couplings: avr-gcc is not installed");
            return;
        }
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(!scratch.path().join("coupled.s").exists(), "nothing is written");
    }
}
