//! The instruction sets whose code can be packed, and which of their words are free.
//!
//! Owns: how a packet's 28 bits lie in a word that is no instruction. What the bits mean is `code::packet`'s.

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
const RV32_DISTANCE: u32 = 0xfe00_0f80;
/// The distance of a Bicc (V8 manual, appendix B.21): 22 bits of words.
const SPARC_DISTANCE: u32 = 0x3f_ffff;

impl Target {
    /// Whether an instruction is a branch that packets may hold: Bicc, or a conditional branch of RV32.
    pub const fn is_branch(self, word: u32) -> bool {
        match self {
            Target::Sparc => word >> 30 == 0 && word >> 22 & 7 == 0b010,
            Target::Rv32 => word & 0x7f == RV32_BRANCH,
        }
    }

    /// How far a branch goes, in words from itself; `None` for what is no branch, or not to a word.
    pub const fn distance(self, word: u32) -> Option<i32> {
        if !self.is_branch(word) {
            return None;
        }
        let bytes = match self {
            Target::Sparc => ((word << 10) as i32) >> 8,
            Target::Rv32 => {
                let low = word >> 8 & 0xf;
                let middle = word >> 25 & 0x3f;
                let high = word >> 7 & 1;
                ((low << 1 | middle << 5 | high << 11 | word >> 31 << 12) << 19) as i32 >> 19
            }
        };
        if bytes % 4 == 0 { Some(bytes / 4) } else { None }
    }

    /// A branch with another distance; `None` for what is no branch, or too far for it.
    pub const fn with_distance(self, word: u32, words: i32) -> Option<u32> {
        if !self.is_branch(word) {
            return None;
        }
        let changed = match self {
            Target::Sparc => word & !SPARC_DISTANCE | words as u32 & SPARC_DISTANCE,
            Target::Rv32 => {
                let bytes = (words << 2) as u32;
                let low = (bytes >> 1 & 0xf) << 8 | (bytes >> 11 & 1) << 7;
                word & !RV32_DISTANCE | low | (bytes >> 5 & 0x3f) << 25 | (bytes >> 12 & 1) << 31
            }
        };
        match self.distance(changed) {
            Some(found) if found == words => Some(changed),
            _ => None,
        }
    }
}
