//! What each guest register has to be able to do.
//!
//! Owns: reading it from the guest's code ([`needs`]), and what is said where the host leaves no register that can.

use isa::avr::table::Operand;

use super::pointer::Pointer;
use super::{POINTERS, named_registers};
use crate::error::{Lack, Refusal};
use crate::guest::Guest;
use crate::item::Item;
use crate::program::Program;

/// What a register, or a pair by its lower half, is used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Need {
    pub used: bool,
    pub pair: bool,
    pub high: bool,
    pub middle: bool,
    pub word: bool,
    /// Which of X, Y and Z will do, when it is used as a pointer.
    pub pointers: Option<[bool; 3]>,
}

impl Need {
    /// What would do.
    pub fn lack(&self) -> Lack {
        match self {
            Need { pointers: Some([false, ..]), .. } => Lack::FarPointer,
            Need { pointers: Some(_), .. } | Need { word: true, .. } => Lack::Pointer,
            Need { pair: true, high: true, .. } | Need { pair: true, middle: true, .. } => Lack::Pointer,
            Need { pair: true, .. } => Lack::Pair,
            Need { high: true, .. } | Need { middle: true, .. } => Lack::Constants,
            _ => Lack::Any,
        }
    }
}

/// That the host leaves too few registers.
pub(crate) fn lacking(clock: &str, what: &'static str, lack: Lack) -> Refusal {
    Refusal::RegisterConflict { guest: clock.to_owned(), what, lack }
}

/// The registers that are used, the most demanding first: pointers, words, pairs, then single registers.
pub(super) fn demanding_first(needs: &[Need; 32]) -> Vec<u8> {
    let rank = |need: &Need| match need {
        Need { pointers: Some(which), .. } => which.iter().filter(|able| **able).count(),
        Need { word: true, .. } => 4,
        Need { pair: true, high: true, .. } => 5,
        Need { pair: true, .. } => 6,
        Need { middle: true, .. } => 7,
        Need { high: true, .. } => 8,
        _ => 9,
    };
    let mut order: Vec<u8> = (0..32).filter(|&register| needs[usize::from(register)].used).collect();
    order.sort_by_key(|&register| rank(&needs[usize::from(register)]));
    order
}

/// What the guest's code asks of each register; of a pair, its lower half carries the need.
pub(super) fn needs(guest: &Guest, program: &Program) -> Result<[Need; 32], Refusal> {
    let mut needs = [Need::default(); 32];
    for item in guest.items() {
        let Item::Line(line) = item else { continue };
        let instruction = line.instruction;
        if let Some(pointer) = Pointer::of(&instruction) {
            let need = &mut needs[usize::from(pointer.base)];
            let able = need.pointers.get_or_insert([true; 3]);
            for (index, base) in POINTERS.into_iter().enumerate() {
                able[index] &= pointer.at(base).is_some();
            }
            need.pair = true;
        }
        for &operand in instruction.opcode.row().operands {
            let number = instruction.operand(operand) as usize & 31;
            let need = &mut needs[number];
            match operand {
                Operand::Rd | Operand::Rr => need.used = true,
                Operand::RdHigh | Operand::RrHigh => need.high = true,
                Operand::RdMiddle | Operand::RrMiddle => need.middle = true,
                Operand::RdPair | Operand::RrPair => need.pair = true,
                Operand::RdWord => need.word = true,
                _ => continue,
            }
        }
        let implicit = instruction.reads() | instruction.writes();
        let named = named_registers(&instruction);
        if let Some(register) = implicit.registers().find(|register| !named.contains(register)) {
            return Err(Refusal::GuestOpcode {
                at: program.place(line.origin.expect("what the guest does is written somewhere")),
                mnemonic: instruction.form().0,
                register,
            });
        }
    }
    // A register that is anywhere half of a pair belongs to it.
    for low in (0..32).step_by(2) {
        let (mut lower, upper) = (needs[low], needs[low + 1]);
        let any = |need: Need| need.used || need.high || need.middle || need.word || need.pair;
        if lower.pair || lower.word || lower.pointers.is_some() {
            lower.high |= upper.high;
            lower.middle |= upper.middle;
            lower.pair = true;
            lower.used = true;
            needs[low] = lower;
            needs[low + 1] = Need::default();
        } else {
            needs[low].used = any(lower);
            needs[low + 1].used = any(upper);
        }
    }
    Ok(needs)
}
