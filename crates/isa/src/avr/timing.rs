//! Cycles that are not an instruction's own: cores, interrupt entry, wake-up, external memory.
//!
//! Owns: the columns of the instruction table ([`CoreType`], [`Cost`]) and the datasheets' rules about time
//! that hold for whole chips. What a chip consists of is `profile`'s.

use super::table::ROWS;
use crate::Cycles;

/// The processor generations whose cycles the table lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreType {
    /// AVRe+ with a program counter of two bytes on the stack (ATmega128, ATmega328P).
    AvrePc2,
    /// AVRe+ with a program counter of three bytes (ATmega2560).
    AvrePc3,
    /// AVRxm (XMEGA), two-byte program counter, data in internal SRAM.
    Avrxm,
    /// AVRxt (tinyAVR 0/1/2, megaAVR 0, AVR Dx), two-byte program counter, data in internal SRAM.
    Avrxt,
}

/// What an instruction costs on one core, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Without a branch or skip.
    pub cycles: u8,
    /// When it branches, or skips an instruction of one word.
    pub taken_cycles: u8,
    /// When it skips an instruction of two words.
    pub taken_two_words_cycles: u8,
}

impl Cost {
    /// From the manual's spelling `1`, `1/2` or `1/2/3`.
    pub(super) const fn of(printed: &[u8]) -> Cost {
        let last = printed.len() - 1;
        Cost {
            cycles: printed[0],
            taken_cycles: printed[if last < 1 { last } else { 1 }],
            taken_two_words_cycles: printed[last],
        }
    }
}

/// Cycles from the end of an instruction to the first of the interrupt vector
/// (ATmega128 datasheet, "Interrupt Response Time"; the ATmega328P's says the same).
pub const INTERRUPT_ENTRY_CYCLES: Cycles = 4;

/// Cycles that the core stands still after the clock is back, before an interrupt wakes it from sleep
/// (same place: "increased by four clock cycles", "in addition to the start-up time").
pub const WAKE_UP_CYCLES: Cycles = 4;

/// Extra cycles of one byte from or to external memory, by the sector's SRW bits
/// (ATmega128 datasheet, "External Memory Interface", "Timing").
pub const EXTERNAL_BYTE_CYCLES: [Cycles; 4] = [1, 2, 3, 4];

/// Extra cycles of an interrupt, call or return whose two bytes are in external memory (same place).
pub const EXTERNAL_STACK_CYCLES: [Cycles; 4] = [3, 5, 7, 9];

/// Cycles of each instruction that neither branches nor skips, on one core, for a machine's inner loop.
pub(super) const fn base_cycles(core: CoreType) -> [u8; ROWS.len()] {
    let mut cycles = [0; ROWS.len()];
    let mut index = 0;
    while index < cycles.len() {
        cycles[index] = ROWS[index].costs[core as usize].cycles;
        index += 1;
    }
    cycles
}
