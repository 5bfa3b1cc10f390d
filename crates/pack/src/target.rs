//! The instruction sets whose code can be packed, and which of their words are free.
//!
//! Owns: how a packet's 28 bits lie in a word that is no instruction, how far branches go that packets may hold, and
//! what of an instruction set is a number. What the bits mean is `code::packet`'s, what instructions do `flow`'s.

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// SPARC V8. Big-endian.
    Sparc,
    /// RV32IM without compressed instructions. Little-endian.
    Rv32,
}

/// How many bits of a word a packet may use.
pub const PAYLOAD_BITS: u32 = 28;
/// SPARC: `op` (31:30) and the upper two bits of `op2` (24:23) are zero in UNIMP and in what V8 leaves without a
/// meaning (V8 manual, section 5.1.2 and appendix F); the paper says op = 00, op2 = 00X.
const SPARC_FIXED: u32 = 0b11 << 30 | 0b11 << 23;
/// RV32: `10` in bits 1:0 begins a compressed instruction, of which there are none here; the two highest bits are zero.
/// The word of only zeros stays illegal, as the manual has it.
const RV32_FIXED: u32 = 0b11 << 30 | 0b11;
const RV32_PACKET: u32 = 0b10;

impl Target {
    /// The word that holds these 28 bits.
    pub const fn word_of_payload(self, payload: u32) -> u32 {
        assert!(payload >> PAYLOAD_BITS == 0);
        match self {
            Target::Sparc => payload >> 23 << 25 | payload & 0x7f_ffff,
            Target::Rv32 => payload << 2 | RV32_PACKET,
        }
    }

    /// The 28 bits in a word; `None` when it is an instruction and not a packet.
    pub const fn payload_of_word(self, word: u32) -> Option<u32> {
        match self {
            Target::Sparc if word & SPARC_FIXED == 0 => Some(word >> 25 << 23 | word & 0x7f_ffff),
            Target::Rv32 if word & RV32_FIXED == RV32_PACKET => Some(word >> 2),
            _ => None,
        }
    }

    /// A word from memory.
    pub const fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Target::Sparc => u32::from_be_bytes(bytes),
            Target::Rv32 => u32::from_le_bytes(bytes),
        }
    }

    /// A word for memory.
    pub const fn bytes(self, word: u32) -> [u8; 4] {
        match self {
            Target::Sparc => word.to_be_bytes(),
            Target::Rv32 => word.to_le_bytes(),
        }
    }
}

/// A conditional branch of RV32 (unprivileged manual, section 2.5): opcode 1100011.
const RV32_BRANCH: u32 = 0b110_0011;
/// The bits of its distance.
const RV32_BRANCH_DISTANCE: u32 = 0xfe00_0f80;
/// JAL: opcode 1101111.
const RV32_JUMP: u32 = 0b110_1111;
/// The bits of its distance.
const RV32_JUMP_DISTANCE: u32 = 0xffff_f000;
/// The distance of a Bicc (V8 manual, appendix B.21): 22 bits of words.
const SPARC_DISTANCE: u32 = 0x3f_ffff;

/// Pieces of a distance of RV32: how many bits, the lowest one's number in the distance and in the word.
type Pieces = [(u32, u32, u32); 4];
const RV32_BRANCH_PIECES: Pieces = [(4, 1, 8), (6, 5, 25), (1, 11, 7), (1, 12, 31)];
const RV32_JUMP_PIECES: Pieces = [(10, 1, 21), (1, 11, 20), (8, 12, 12), (1, 20, 31)];

/// The distance in a word, in bytes; the last piece is its sign.
const fn gathered(pieces: &Pieces, word: u32) -> i32 {
    let (mut bits, mut number) = (0, 0);
    while number < pieces.len() {
        let (count, of, at) = pieces[number];
        bits |= (word >> at & ((1 << count) - 1)) << of;
        number += 1;
    }
    let unused = 31 - pieces[3].1;
    (bits << unused) as i32 >> unused
}

/// The pieces of a distance in bytes, where they stand in a word.
const fn scattered(pieces: &Pieces, bytes: u32) -> u32 {
    let (mut word, mut number) = (0, 0);
    while number < pieces.len() {
        let (count, of, at) = pieces[number];
        word |= (bytes >> of & ((1 << count) - 1)) << at;
        number += 1;
    }
    word
}

impl Target {
    /// Whether an instruction is a branch that packets may hold: Bicc; or a conditional branch or JAL of RV32, whose
    /// link the core knows from the place behind it.
    pub const fn is_branch(self, word: u32) -> bool {
        match self {
            Target::Sparc => word >> 30 == 0 && word >> 22 & 7 == 0b010,
            Target::Rv32 => matches!(word & 0x7f, RV32_BRANCH | RV32_JUMP),
        }
    }

    /// How far a branch goes, in words from itself; `None` for what is no branch, or not to a word.
    pub const fn distance(self, word: u32) -> Option<i32> {
        if !self.is_branch(word) {
            return None;
        }
        let bytes = match self {
            Target::Sparc => ((word << 10) as i32) >> 8,
            Target::Rv32 if word & 0x7f == RV32_JUMP => gathered(&RV32_JUMP_PIECES, word),
            Target::Rv32 => gathered(&RV32_BRANCH_PIECES, word),
        };
        if bytes % 4 == 0 { Some(bytes / 4) } else { None }
    }

    /// A branch with another distance; `None` for what is no branch, or too far for it.
    pub const fn with_distance(self, word: u32, words: i32) -> Option<u32> {
        if !self.is_branch(word) {
            return None;
        }
        let bytes = (words << 2) as u32;
        let changed = match self {
            Target::Sparc => word & !SPARC_DISTANCE | words as u32 & SPARC_DISTANCE,
            Target::Rv32 if word & 0x7f == RV32_JUMP => {
                word & !RV32_JUMP_DISTANCE | scattered(&RV32_JUMP_PIECES, bytes)
            }
            Target::Rv32 => word & !RV32_BRANCH_DISTANCE | scattered(&RV32_BRANCH_PIECES, bytes),
        };
        match self.distance(changed) {
            Some(found) if found == words => Some(changed),
            _ => None,
        }
    }

    /// The part of an address that LUI or SETHI leaves, where the part that is added to it later is as it must be: 12
    /// bits with a sign, or 10 without.
    pub const fn high(self, address: u32) -> u32 {
        match self {
            Target::Sparc => address & !0x3ff,
            Target::Rv32 => address.wrapping_add(0x800) & !0xfff,
        }
    }

    /// What fills room: an instruction that does nothing.
    pub const fn nop(self) -> u32 {
        match self {
            // SETHI 0, %g0.
            Target::Sparc => 0x0100_0000,
            // ADDI x0, x0, 0.
            Target::Rv32 => 0x0000_0013,
        }
    }

    /// How many instructions behind a transfer of control are executed before it.
    pub const fn delay_words(self) -> usize {
        match self {
            Target::Sparc => 1,
            Target::Rv32 => 0,
        }
    }
}
