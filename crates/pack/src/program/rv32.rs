//! The relocations of RV32.
//!
//! Owns: which of them say where code is, how several say it together, and checking that the linker's values stand
//! where they say (RISC-V ELF psABI, chapter "Relocations"). Whether the linker relaxed does not matter: its
//! relocations are those of the instructions that it left.
//!
//! # Addresses by their distance
//! AUIPC adds to its own address, and packing moves it. A program here lies where it was linked, so every AUIPC that a
//! relocation names becomes the LUI that leaves the upper part of the address itself, and the instructions with its low
//! part get that of the address: both then mean the same wherever they stand, and those for data may be in packets. In
//! between the register holds another number, as the manual's `la`, `call` and `tail` allow. An AUIPC without a
//! relocation reads its own address, which `flow` refuses.

use std::collections::{BTreeMap, HashMap};

use object::elf;

use super::{Form, Program, Relocation};
use crate::error::Error;
use crate::target::Target;

/// What `e_flags` may not have: compressed instructions, floating-point arguments, half of the registers.
pub(super) const EXTENSIONS: u32 = elf::EF_RISCV_RVC.0 | elf::EF_RISCV_FLOAT_ABI | elf::EF_RISCV_RVE.0;

const LUI: u32 = 0b011_0111;
const AUIPC: u32 = 0b001_0111;
const OPCODE: u32 = 0x7f;
const LOAD: u32 = 0b000_0011;
const STORE: u32 = 0b010_0011;
const IMMEDIATE: u32 = 0b001_0011;
const JALR: u32 = 0b110_0111;

/// Keeps the references of a program, and rewrites its AUIPC.
///
/// # Errors
/// A relocation for code that is not known here or for an instruction that has no such part, one without the other that it goes with, or whose value is not in the
/// program.
pub(super) fn read(program: &mut Program, relocations: &[Relocation]) -> Result<(), Error> {
    let by_distance = |relocation: &&Relocation| relocation.r_type == elf::R_RISCV_PCREL_HI20;
    // By the address of an AUIPC: where it leads.
    let highs: HashMap<u32, u32> =
        relocations.iter().filter(by_distance).map(|relocation| (relocation.at, relocation.to)).collect();
    check_pairs(program, relocations, &highs)?;
    let mut differences: BTreeMap<u32, [Option<&Relocation>; 2]> = BTreeMap::new();
    for relocation in relocations {
        let &Relocation { at, r_type, to, .. } = relocation;
        match r_type {
            elf::R_RISCV_NONE | elf::R_RISCV_RELAX | elf::R_RISCV_ALIGN => {}
            // Distances from registers that point at variables.
            elf::R_RISCV_TPREL_HI20
            | elf::R_RISCV_TPREL_LO12_I
            | elf::R_RISCV_TPREL_LO12_S
            | elf::R_RISCV_TPREL_ADD
            | elf::R_RISCV_TPREL_I
            | elf::R_RISCV_TPREL_S => {}
            elf::R_RISCV_ADD32 => differences.entry(at).or_default()[0] = Some(relocation),
            elf::R_RISCV_SUB32 => differences.entry(at).or_default()[1] = Some(relocation),
            elf::R_RISCV_32 => whole(program, relocation, Form::Word, to)?,
            elf::R_RISCV_32_PCREL => whole(program, relocation, Form::Difference { from: at }, to)?,
            elf::R_RISCV_HI20 => part(program, relocation, Form::High20)?,
            elf::R_RISCV_LO12_I => part(program, relocation, Form::Low12)?,
            elf::R_RISCV_LO12_S => part(program, relocation, Form::Low12Stored)?,
            elf::R_RISCV_BRANCH | elf::R_RISCV_JAL => distance(program, relocation)?,
            elf::R_RISCV_PCREL_HI20 => absolute(program, relocation, Form::High20, to)?,
            elf::R_RISCV_PCREL_LO12_I => absolute(program, relocation, Form::Low12, highs[&to])?,
            elf::R_RISCV_PCREL_LO12_S => absolute(program, relocation, Form::Low12Stored, highs[&to])?,
            elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
                absolute(program, relocation, Form::High20, to)?;
                let jump = Relocation { at: at.wrapping_add(4), ..*relocation };
                absolute(program, &jump, Form::Low12, to)?;
            }
            _ if program.code_at(to).is_none() => {}
            _ => return Err(unknown(relocation)),
        }
    }
    for pair in differences.values() {
        subtract(program, *pair)?;
    }
    Ok(())
}

fn unknown(relocation: &Relocation) -> Error {
    Error::Relocation { at: relocation.at, found: relocation.r_type.0, to: relocation.to }
}

fn check(at: u32, found: u32, expected: u32) -> Result<(), Error> {
    if found == expected { Ok(()) } else { Err(Error::Changed { at, found, expected }) }
}

/// Checks that what is added to the addresses of AUIPC are the addresses of their relocations, before anything is
/// rewritten.
fn check_pairs(
    program: &Program,
    relocations: &[Relocation],
    highs: &HashMap<u32, u32>,
) -> Result<(), Error> {
    for relocation in relocations {
        let &Relocation { at, r_type, to, .. } = relocation;
        match r_type {
            elf::R_RISCV_PCREL_HI20 => {
                check_high(at, program.relocated_word(relocation, at)?, to)?;
            }
            elf::R_RISCV_PCREL_LO12_I | elf::R_RISCV_PCREL_LO12_S => {
                let Some(&address) = highs.get(&to) else { return Err(Error::ApartHalves { at, to }) };
                let word = program.relocated_word(relocation, at)?;
                let base = program.word_at(to).map_or(0, |high| base(to, high));
                let is_store = r_type == elf::R_RISCV_PCREL_LO12_S;
                check(at, low(word, is_store), address.wrapping_sub(base) & 0xfff)?;
            }
            elf::R_RISCV_CALL | elf::R_RISCV_CALL_PLT => {
                let (high, jump_at) = (program.relocated_word(relocation, at)?, at.wrapping_add(4));
                let jump = program.relocated_word(relocation, jump_at)?;
                // To a weak symbol that nothing defines the linker goes from register 0 on.
                if jump >> 15 & 0x1f == 0 {
                    check(at, Target::Rv32.high(to), 0)?;
                    check(jump_at, low(jump, false), to & 0xfff)?;
                } else {
                    check_high(at, high, to)?;
                    check(jump_at, low(jump, false), to.wrapping_sub(base(at, high)) & 0xfff)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What an instruction adds the high part to: AUIPC its address, and nothing LUI, which the linker makes of it for a
/// weak symbol that nothing defines.
fn base(at: u32, high: u32) -> u32 {
    if high & OPCODE == LUI { 0 } else { at }
}

/// Checks an instruction with a high part.
fn check_high(at: u32, word: u32, to: u32) -> Result<(), Error> {
    if word & OPCODE != LUI {
        check(at, word & OPCODE, AUIPC)?;
    }
    check(at, word & !0xfff, Target::Rv32.high(to.wrapping_sub(base(at, word))))
}

/// The low part in a word.
fn low(word: u32, is_store: bool) -> u32 {
    if is_store { word >> 25 << 5 | word >> 7 & 0x1f } else { word >> 20 }
}

/// All of an address, or of a distance, in a word.
fn whole(program: &mut Program, relocation: &Relocation, form: Form, to: u32) -> Result<(), Error> {
    let at = relocation.at;
    let word = program.relocated_word(relocation, at)?;
    let expected = form.patch(Target::Rv32, word, at, to).expect("it has room for all of it");
    check(at, word, expected)?;
    program.refer(relocation, form, to)
}

/// A part of an address of code, in an instruction.
fn part(program: &mut Program, relocation: &Relocation, form: Form) -> Result<(), Error> {
    if program.code_at(relocation.to).is_none() {
        return Ok(());
    }
    whole(program, relocation, form, relocation.to)
}

fn distance(program: &mut Program, relocation: &Relocation) -> Result<(), Error> {
    let &Relocation { at, to, .. } = relocation;
    if program.code_at(to).is_none() {
        return Ok(());
    }
    let word = program.relocated_word(relocation, at)?;
    let goes = Target::Rv32.distance(word).map(|words| at.wrapping_add((words << 2) as u32));
    check(at, goes.unwrap_or(word), to)?;
    program.refer(relocation, Form::Distance, to)
}

/// Rewrites a part of a distance to that of the address.
fn absolute(program: &mut Program, relocation: &Relocation, form: Form, to: u32) -> Result<(), Error> {
    let at = relocation.at;
    program.check_part(relocation, form)?;
    let word = program.relocated_word(relocation, at)?;
    let word = if form == Form::High20 { word & !OPCODE | LUI } else { word };
    let changed = form.patch(Target::Rv32, word, at, to).expect("it has room for every address");
    program.sections[relocation.section].set_word(Target::Rv32, at, changed);
    program.refer(relocation, form, to)
}

/// Whether a word is an instruction with this part of an address (The RISC-V Instruction Set Manual, volume I, chapter
/// "RV32I"). A distance is where [`Target::distance`] finds one.
pub(super) fn has_part(form: Form, word: u32) -> bool {
    let is_shift = word >> 12 & 3 == 1;
    match (form, word & OPCODE) {
        (Form::High20, LUI | AUIPC) | (Form::Low12, LOAD | JALR) | (Form::Low12Stored, STORE) => true,
        (Form::Low12, IMMEDIATE) => !is_shift,
        (Form::Distance, _) => Target::Rv32.distance(word).is_some(),
        _ => false,
    }
}

/// What one relocation adds and another subtracts in the same word.
fn subtract(program: &mut Program, pair: [Option<&Relocation>; 2]) -> Result<(), Error> {
    if let [Some(added), Some(subtracted)] = pair {
        let form = Form::Difference { from: subtracted.to };
        let names_code = [added, subtracted].iter().any(|one| program.code_at(one.to).is_some());
        return if names_code { whole(program, added, form, added.to) } else { Ok(()) };
    }
    match pair.into_iter().flatten().find(|alone| program.code_at(alone.to).is_some()) {
        Some(alone) => Err(unknown(alone)),
        None => Ok(()),
    }
}
