//! The relocations of SPARC V8.
//!
//! Owns: which of them say where code is, and checking that the linker's values stand where they say (System V ABI,
//! SPARC supplement, chapter 4).

use object::elf;

use super::{Form, Program, Relocation};
use crate::error::Error;

const CALL: u32 = 1;
const BICC: u32 = 2;
const SETHI: u32 = 4;
/// The bit that says that the second operand is a constant.
const IMMEDIATE: u32 = 1 << 13;

/// Keeps the references of a program.
///
/// # Errors
/// A relocation for code that is not known here, for an instruction that has no such part, or whose value is not in the
/// program.
pub(super) fn read(program: &mut Program, relocations: &[Relocation]) -> Result<(), Error> {
    for relocation in relocations {
        if program.code_at(relocation.to).is_none() {
            continue;
        }
        let Some(form) = form(relocation)? else { continue };
        let &Relocation { at, to, .. } = relocation;
        let word = program.relocated_word(relocation, at)?;
        let (found, expected) = match form {
            Form::High22 => (word & 0x3f_ffff, to >> 10),
            Form::Low10 => (word & 0x3ff, to & 0x3ff),
            Form::Distance if word >> 30 == CALL => (at.wrapping_add(word << 2), to),
            Form::Distance => (at.wrapping_add(((word << 10) as i32 >> 8) as u32), to),
            _ => (word, to),
        };
        if found != expected {
            return Err(Error::Changed { at, found, expected });
        }
        program.refer(relocation, form, to)?;
    }
    Ok(())
}

/// What a relocation leaves where it stands; `None` when it says nothing about the place of code.
fn form(relocation: &Relocation) -> Result<Option<Form>, Error> {
    let &Relocation { at, r_type, to, .. } = relocation;
    Ok(match r_type {
        elf::R_SPARC_NONE => None,
        elf::R_SPARC_32 | elf::R_SPARC_UA32 => Some(Form::Word),
        elf::R_SPARC_HI22 => Some(Form::High22),
        elf::R_SPARC_LO10 => Some(Form::Low10),
        elf::R_SPARC_WDISP30 | elf::R_SPARC_WPLT30 | elf::R_SPARC_WDISP22 => Some(Form::Distance),
        _ => return Err(Error::Relocation { at, found: r_type.0, to }),
    })
}

/// Whether a word is an instruction with this part of an address (The SPARC Architecture Manual, version 8, figure 5-1).
pub(super) fn has_part(form: Form, word: u32) -> bool {
    let (op, op2) = (word >> 30, word >> 22 & 7);
    match form {
        Form::High22 => (op, op2) == (0, SETHI),
        Form::Low10 => op >= 2 && word & IMMEDIATE != 0,
        Form::Distance => op == CALL || (op, op2) == (0, BICC),
        _ => false,
    }
}
