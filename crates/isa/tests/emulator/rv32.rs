//! QEMU as a witness for RV32: every register before every instruction of a program under `qemu-riscv32`.

use std::path::Path;
use std::process::Command;

use isa::elf::Order;
use isa::rv32::{Bus, Machine};

use super::{Lines, Linked, Records, hex};

/// The first address of code and of data in [`elf`].
pub const CODE: u32 = 0x1_0000;
pub const DATA: u32 = 0x100_0000;

/// The state before an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub pc: u32,
    pub registers: [u32; 32],
}

/// What it says, as records.
struct Reader(Lines);

impl Iterator for Reader {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let pc = loop {
            let line = self.0.next()?.ok()?;
            if let Some(rest) = line.trim_start().strip_prefix("pc ") {
                break hex(rest.trim())?;
            }
        };
        let mut registers = [0; 32];
        // Four to a line, each with its two names before it.
        for group in 0..8 {
            let line = self.0.next()?.ok()?;
            let values: Vec<u32> = line.split_whitespace().skip(1).step_by(2).filter_map(hex).collect();
            registers[group * 4..][..4].copy_from_slice(values.get(..4)?);
        }
        Some(Record { pc, registers })
    }
}

/// `qemu-riscv32` as a teller of registers; the command's arguments and input may be added to.
pub fn user(program: &Path) -> Command {
    let mut command = Command::new("qemu-riscv32");
    command.args(["-singlestep", "-d", "cpu,nochain"]).arg(program);
    command
}

/// Starts it.
pub fn records(mut command: Command) -> Records<Record> {
    // What is in its environment stands behind a program's arguments, and decides how those are aligned: nothing.
    command.env_clear();
    Records::reading(command, Reader)
}

/// Ours, as a record.
pub fn record<B: Bus>(machine: &Machine<B>) -> Record {
    Record { pc: machine.pc(), registers: std::array::from_fn(|number| machine.register(number as u8)) }
}

/// A linked program of these words, which begins at one of them, with data that can be written.
pub fn elf(words: &[u32], entry: u32) -> Vec<u8> {
    let (machine, order) = (isa::elf::RISCV, Order::Little);
    super::linked(words, entry, Linked { machine, order, code: CODE, data: DATA })
}
