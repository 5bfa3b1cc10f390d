//! Woven functions run the same on our chip and on simavr, instruction by instruction, and write SPDR at the same cycles
//! with the same bytes: the second witness of what `selvedge weave` proves.

#[path = "../../crates/cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../crates/cipher/tests/soak/mod.rs"]
mod soak;
#[path = "../../crates/selvedge/tests/woven/mod.rs"]
mod woven;

use std::path::Path;
use std::process::Command;

use isa::avr::image::Space;
use isa::avr::{Image, Opcode};
use seeded::seeded;
use soak::is_soak;
use witness::lockstep::Lockstep;
use woven::{Expected, Guest, Input, Pair, Unbuilt, build, pairs};

/// More than the longest call.
const INSTRUCTIONS_MAX: u64 = 4_000_000;
const SPDR: u16 = 0x2F;

/// The command line, built from the workspace beside this one as its own tests have it: with other features, or with what
/// cargo says of this package, which a build script looks at, much of it would be compiled once more.
fn selvedge() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cargo = Command::new(env!("CARGO"));
    for (name, _) in std::env::vars_os() {
        if ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|of_this| name.to_string_lossy().starts_with(of_this))
        {
            cargo.env_remove(name);
        }
    }
    let built = cargo
        .current_dir(&root)
        .args(["test", "--locked", "-q", "--workspace", "--no-run", "--test", "cli"])
        .status();
    assert!(built.expect("cargo runs").success(), "selvedge is built");
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), Into::into);
    folder.join("debug/selvedge").display().to_string()
}

/// Where SPDR is written: our cycle at the end of the instruction, and simavr's.
fn run(image: &Image, pair: &Pair, input: &Input, at: &str) -> Vec<(u64, u64, u8, u8)> {
    let address =
        |name: &str| image.symbol(name).unwrap_or_else(|| panic!("the program has a `{name}`")).address;
    let entry = image
        .symbol("woven")
        .filter(|symbol| symbol.space == Space::Flash)
        .expect("the woven function")
        .address;
    let mut lockstep = Lockstep::new(pair.profile, image);
    let until = |lockstep: &mut Lockstep, done: &dyn Fn(&Lockstep) -> bool| {
        for _ in 0..INSTRUCTIONS_MAX {
            if done(lockstep) {
                return;
            }
            lockstep.step().unwrap_or_else(|difference| panic!("{at}: {difference}"));
        }
        panic!("{at}: it does not end");
    };
    until(&mut lockstep, &|lockstep| lockstep.simavr.pc() == entry);
    let (host, guest) = (address("host_memory") as u16, address("guest_memory") as u16);
    for (from, bytes) in [(host, &input.host), (guest, &input.guest)] {
        bytes.iter().enumerate().for_each(|(offset, &byte)| lockstep.set_memory(from + offset as u16, byte));
    }
    for (number, &value) in input.registers(pair, host, guest).iter().enumerate() {
        lockstep.set_register(number as u8, value);
    }
    let mut written = Vec::new();
    for _ in 0..INSTRUCTIONS_MAX {
        let next = lockstep.next().expect("code");
        if next.opcode == Opcode::Break {
            assert_eq!(lockstep.memory_difference(), None, "{at}: address, ours, simavr's");
            return written;
        }
        let is_write = next.opcode == Opcode::Out && next.k == i32::from(SPDR - 0x20);
        let value = lockstep.simavr.registers()[usize::from(next.r)];
        lockstep.step().unwrap_or_else(|difference| panic!("{at}: {difference}"));
        if is_write {
            let theirs = lockstep.simavr.data()[usize::from(SPDR)];
            written.push((lockstep.chip.cycle(), lockstep.simavr.cycle(), value, theirs));
        }
    }
    panic!("{at}: it does not return");
}

#[test]
fn woven_functions_write_at_the_same_cycles_on_both_simulators() {
    let (mut rng, selvedge) = (seeded(), selvedge());
    let mut writes = 0;
    for (index, pair) in pairs().iter().enumerate() {
        let (Guest::SpiTx(period), Expected::Woven) = (pair.guest, pair.expected) else {
            continue;
        };
        if !is_soak() && !index.is_multiple_of(32) {
            continue;
        }
        let scratch = std::env::temp_dir().join(format!("witness-woven-{}-{index}", std::process::id()));
        std::fs::create_dir_all(&scratch).expect("a temporary folder");
        let built = build(&selvedge, &scratch, pair, true);
        std::fs::remove_dir_all(&scratch).expect("it is ours");
        let built = match built {
            Ok(built) => built,
            Err(Unbuilt::NoCompiler) => {
                println!("skip: woven functions on simavr: avr-gcc is not installed");
                return;
            }
            Err(Unbuilt::Refused(words) | Unbuilt::Faulty(words)) => panic!("{}: {words}", pair.name()),
        };
        for (units, count) in [(3, 40), (24, 5), (0, 2)] {
            let input = Input::random(&mut rng, pair, units, count);
            let at = format!("{}, {units} units, {count} bytes", pair.name());
            let written = run(&built.woven, pair, &input, &at);
            assert_eq!(written.len(), count, "{at}");
            for pair in written.windows(2) {
                assert_eq!(pair[1].0 - pair[0].0, u64::from(period), "{at}: ours");
                assert_eq!(pair[1].1 - pair[0].1, u64::from(period), "{at}: simavr's");
            }
            let bytes: Vec<u8> = written.iter().map(|&(_, _, value, _)| value).collect();
            assert_eq!(bytes, input.guest[..count], "{at}: what is sent");
            writes += written.len();
        }
        println!("{}: in step", pair.name());
    }
    assert!(writes > 0);
    println!("{writes} writes of SPDR at the same cycles");
}
