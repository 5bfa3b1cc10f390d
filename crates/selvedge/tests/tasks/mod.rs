//! Programs of tasks on simulated chips: how avr-gcc makes them, where they begin, and how deep their stacks were.
#![allow(dead_code)] // each program that includes it uses some of it

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::Cycles;
use isa::avr::image::Space;
use isa::avr::{Chip, Image, Profile, Stop};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs avr-gcc on files of `firmware`; none after saying that there is no avr-gcc.
pub fn compile(profile: &Profile, flags: &[&str], sources: &[&str], out: &Path) -> Option<()> {
    let firmware = root().join("firmware");
    let mut command = Command::new("avr-gcc");
    command.arg(format!("-mmcu={}", profile.name.to_lowercase()));
    command.args(["-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror"]).args(flags);
    command.arg("-I").arg(firmware.join("node"));
    command.args(sources.iter().map(|source| firmware.join(source)));
    let Ok(output) = command.arg("-o").arg(out).output() else {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        println!("skip: programs of tasks: avr-gcc is not installed");
        return None;
    };
    assert!(output.status.success(), "{sources:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// A program of these sources, linked; none after saying that there is no avr-gcc.
pub fn elf(profile: &Profile, flags: &[&str], sources: &[&str]) -> Option<Vec<u8>> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let elf = scratch.path().join("program.elf");
    compile(profile, flags, sources, &elf)?;
    Some(fs::read(&elf).expect("it was linked"))
}

/// The same, as what is loaded of it.
pub fn image(profile: &Profile, flags: &[&str], sources: &[&str]) -> Option<Image> {
    let elf = elf(profile, flags, sources)?;
    Some(Image::parse(&elf).expect("what avr-gcc links is an image"))
}

/// Where something of the program's is in data space.
pub fn data(image: &Image, name: &str) -> u16 {
    let symbol = image.symbol(name).unwrap_or_else(|| panic!("the program has a `{name}`"));
    assert_eq!(symbol.space, Space::Data, "{name}");
    symbol.address as u16
}

/// A chip whose program has come to its main.
pub fn at_main(profile: &'static Profile, image: &Image) -> Chip {
    let main = image.symbol("main").expect("each program has one").address;
    let mut chip = Chip::new(profile);
    chip.load(image).expect("the program fits the chip");
    while chip.pc() != main {
        assert_eq!(chip.run_until(chip.cycle() + 1, &mut ()), Stop::Reached, "it comes to main");
    }
    chip
}

/// A task's stack, and how deep it was.
#[derive(Clone)]
pub struct Stack {
    pub task: String,
    pub range: Range<u32>,
    pub lowest: u32,
}

/// Those of all tasks: who sees stores into them.
#[derive(Clone, Default)]
pub struct Stacks(pub Vec<Stack>);

impl Stacks {
    /// All of a program.
    pub fn of(image: &Image) -> Stacks {
        let stack = |symbol: &isa::avr::image::Symbol| {
            let task = symbol.name.strip_suffix("Stk")?.to_owned();
            let range = symbol.address..symbol.address + symbol.bytes;
            Some(Stack { task, lowest: range.end, range })
        };
        Stacks(image.symbols.iter().filter_map(stack).collect())
    }

    /// Prints how deep they were; fails when one is full.
    pub fn check(self) {
        for Stack { task, range, lowest } in self.0 {
            println!("    {task}: {} of {} bytes of its stack", range.end - lowest, range.len());
            assert!(lowest > range.start, "{task}: its stack is full");
        }
    }
}

impl isa::Observer for Stacks {
    fn store(&mut self, _cycle: Cycles, address: u32, _value: u8) {
        if let Some(stack) = self.0.iter_mut().find(|stack| stack.range.contains(&address)) {
            stack.lowest = stack.lowest.min(address);
        }
    }
}

impl isa::avr::Observer for Stacks {}
