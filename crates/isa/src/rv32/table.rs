//! The RV32IM instruction table: one line per instruction of RV32I, of the extension M, and of Zicsr.
//!
//! Owns: mnemonics, operands, bit patterns, what each instruction reads and writes, and its class for timing.
//! Everything else in this room is derived from it; a line added here makes the compiler name what is owed.
//! Source: The RISC-V Instruction Set Manual, Volume I: Unprivileged ISA, chapter "RV32/64G Instruction Set Listings",
//! whose patterns are repeated as printed, registers and constants by their letters.
//! Leaves out what a program here never needs: compressed instructions (two low bits that are not 11), FENCE.I, which
//! is for code that changes, and the privileged architecture. The opcodes custom-0 to custom-3 (0001011, 0101011,
//! 1011011, 1111011) have no line: an instruction of one's own is a line of a table that a machine is given (`custom`),
//! and all of them are [`Opcode::Custom`] here.

use super::places::Place;
use super::timing::Class;

/// An operand as it stands in assembly text, with its letters in the bit patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// `d`: the destination register.
    Rd,
    /// `a`: the first source register.
    Rs1,
    /// `b`: the second source register, or what is stored.
    Rs2,
    /// `k`: a constant of -2048 to 2047.
    Immediate,
    /// `k`: a shift count of 0 to 31.
    Count,
    /// `k` and `a`: an address, the sum of a register and a constant of -2048 to 2047, as `k(a)`.
    Address,
    /// `k` and `a`: the same, the constant in two pieces.
    StoreAddress,
    /// `k`: a distance in bytes, 12 bits of half-words in four pieces.
    Branch,
    /// `k`: a distance in bytes, 20 bits of half-words in four pieces.
    Jump,
    /// `k`: the upper 20 bits of a constant.
    High,
    /// `k`: the number of a state register, 0 to 4095.
    Csr,
    /// `a`: a constant of 0 to 31.
    Bits,
    /// `k`: what is ordered before a fence, the upper four bits.
    Before,
    /// `k`: what is ordered behind a fence, the lower four bits.
    After,
}

/// One line of the table.
#[derive(Debug)]
pub struct Row {
    /// The instruction.
    pub opcode: Opcode,
    /// As GNU as spells it.
    pub mnemonic: &'static str,
    /// Operands in the order of the text.
    pub operands: &'static [Operand],
    /// 32 digits and field letters, blanks between the fields.
    pub pattern: &'static str,
    /// For timing.
    pub class: Class,
    /// What it reads, by role.
    pub reads: &'static [Place],
    /// What it writes, by role.
    pub writes: &'static [Place],
}

macro_rules! instructions {
    ($(
        $(#[$doc:meta])*
        $name:ident $mnemonic:literal ($($operand:ident),*) $pattern:literal
        $class:ident ($($read:ident)* => $($write:ident)*)
    )*) => {
        /// Every instruction, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode {
            $($(#[$doc])* $name,)*
            /// One of one's own, which no line is of.
            Custom,
        }

        /// The table, in the order of [`Opcode`].
        pub const ROWS: &[Row] = &[$(Row {
            opcode: Opcode::$name,
            mnemonic: $mnemonic,
            operands: { const OPERANDS: &[Operand] = &[$(Operand::$operand),*]; OPERANDS },
            pattern: $pattern,
            class: Class::$class,
            reads: { const READS: &[Place] = &[$(Place::$read),*]; READS },
            writes: { const WRITES: &[Place] = &[$(Place::$write),*]; WRITES },
        }),*];

        /// Every instruction of the table, in its order.
        pub const OPCODES: &[Opcode] = &[$(Opcode::$name),*];
    };
}

// Columns: name, mnemonic, operands, pattern, class, (reads => writes).
#[rustfmt::skip]
instructions! {
    // Constants
    /// Set the upper 20 bits, clear the others.
    Lui      "lui"        (Rd, High) "kkkkkkkkkkkkkkkkkkkk ddddd 0110111" Single ( => Rd)
    /// Add the upper 20 bits of a constant to the address of the instruction's word.
    Auipc    "auipc"      (Rd, High) "kkkkkkkkkkkkkkkkkkkk ddddd 0010111" Single ( => Rd)

    // Jumps
    /// Jump and leave behind where to come back to.
    Jal      "jal"        (Rd, Jump) "kkkkkkkkkkkkkkkkkkkk ddddd 1101111" Jump ( => Rd)
    /// Jump to the sum of a register and a constant, and leave behind where to come back to.
    Jalr     "jalr"       (Rd, Address) "kkkkkkkkkkkk aaaaa 000 ddddd 1100111" JumpRegister (Rs1 => Rd)

    // Branches
    /// Branch on equal.
    Beq      "beq"        (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 000 kkkkk 1100011" Branch (Rs1 Rs2 => )
    /// Branch on not equal.
    Bne      "bne"        (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 001 kkkkk 1100011" Branch (Rs1 Rs2 => )
    /// Branch on less.
    Blt      "blt"        (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 100 kkkkk 1100011" Branch (Rs1 Rs2 => )
    /// Branch on greater or equal.
    Bge      "bge"        (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 101 kkkkk 1100011" Branch (Rs1 Rs2 => )
    /// Branch on less, unsigned.
    Bltu     "bltu"       (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 110 kkkkk 1100011" Branch (Rs1 Rs2 => )
    /// Branch on greater or equal, unsigned.
    Bgeu     "bgeu"       (Rs1, Rs2, Branch) "kkkkkkk bbbbb aaaaa 111 kkkkk 1100011" Branch (Rs1 Rs2 => )

    // Loads
    /// Load a signed byte.
    Lb       "lb"         (Rd, Address) "kkkkkkkkkkkk aaaaa 000 ddddd 0000011" Load (Rs1 Memory => Rd)
    /// Load a signed half-word.
    Lh       "lh"         (Rd, Address) "kkkkkkkkkkkk aaaaa 001 ddddd 0000011" Load (Rs1 Memory => Rd)
    /// Load a word.
    Lw       "lw"         (Rd, Address) "kkkkkkkkkkkk aaaaa 010 ddddd 0000011" Load (Rs1 Memory => Rd)
    /// Load an unsigned byte.
    Lbu      "lbu"        (Rd, Address) "kkkkkkkkkkkk aaaaa 100 ddddd 0000011" Load (Rs1 Memory => Rd)
    /// Load an unsigned half-word.
    Lhu      "lhu"        (Rd, Address) "kkkkkkkkkkkk aaaaa 101 ddddd 0000011" Load (Rs1 Memory => Rd)

    // Stores
    /// Store a byte.
    Sb       "sb"         (Rs2, StoreAddress) "kkkkkkk bbbbb aaaaa 000 kkkkk 0100011" Store (Rs1 Rs2 => Memory)
    /// Store a half-word.
    Sh       "sh"         (Rs2, StoreAddress) "kkkkkkk bbbbb aaaaa 001 kkkkk 0100011" Store (Rs1 Rs2 => Memory)
    /// Store a word.
    Sw       "sw"         (Rs2, StoreAddress) "kkkkkkk bbbbb aaaaa 010 kkkkk 0100011" Store (Rs1 Rs2 => Memory)

    // Arithmetic with a constant
    /// Add a constant.
    Addi     "addi"       (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 000 ddddd 0010011" Single (Rs1 => Rd)
    /// Whether it is less than a constant.
    Slti     "slti"       (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 010 ddddd 0010011" Single (Rs1 => Rd)
    /// Whether it is less than a constant, unsigned.
    Sltiu    "sltiu"      (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 011 ddddd 0010011" Single (Rs1 => Rd)
    /// Exclusive or with a constant.
    Xori     "xori"       (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 100 ddddd 0010011" Single (Rs1 => Rd)
    /// Or with a constant.
    Ori      "ori"        (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 110 ddddd 0010011" Single (Rs1 => Rd)
    /// And with a constant.
    Andi     "andi"       (Rd, Rs1, Immediate) "kkkkkkkkkkkk aaaaa 111 ddddd 0010011" Single (Rs1 => Rd)
    /// Shift left by a constant.
    Slli     "slli"       (Rd, Rs1, Count) "0000000 kkkkk aaaaa 001 ddddd 0010011" Shift (Rs1 => Rd)
    /// Shift right by a constant, filling with zeros.
    Srli     "srli"       (Rd, Rs1, Count) "0000000 kkkkk aaaaa 101 ddddd 0010011" Shift (Rs1 => Rd)
    /// Shift right by a constant, filling with the sign.
    Srai     "srai"       (Rd, Rs1, Count) "0100000 kkkkk aaaaa 101 ddddd 0010011" Shift (Rs1 => Rd)

    // Arithmetic
    /// Add.
    Add      "add"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 000 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// Subtract.
    Sub      "sub"        (Rd, Rs1, Rs2) "0100000 bbbbb aaaaa 000 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// Shift left.
    Sll      "sll"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 001 ddddd 0110011" Shift (Rs1 Rs2 => Rd)
    /// Whether the first is less than the second.
    Slt      "slt"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 010 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// Whether the first is less than the second, unsigned.
    Sltu     "sltu"       (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 011 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// Exclusive or.
    Xor      "xor"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 100 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// Shift right, filling with zeros.
    Srl      "srl"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 101 ddddd 0110011" Shift (Rs1 Rs2 => Rd)
    /// Shift right, filling with the sign.
    Sra      "sra"        (Rd, Rs1, Rs2) "0100000 bbbbb aaaaa 101 ddddd 0110011" Shift (Rs1 Rs2 => Rd)
    /// Or.
    Or       "or"         (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 110 ddddd 0110011" Single (Rs1 Rs2 => Rd)
    /// And.
    And      "and"        (Rd, Rs1, Rs2) "0000000 bbbbb aaaaa 111 ddddd 0110011" Single (Rs1 Rs2 => Rd)

    // Multiplication and division (extension M)
    /// The lower word of a product.
    Mul      "mul"        (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 000 ddddd 0110011" Multiply (Rs1 Rs2 => Rd)
    /// The upper word of a signed product.
    Mulh     "mulh"       (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 001 ddddd 0110011" MultiplyHigh (Rs1 Rs2 => Rd)
    /// The upper word of a product of a signed and an unsigned number.
    Mulhsu   "mulhsu"     (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 010 ddddd 0110011" MultiplyHigh (Rs1 Rs2 => Rd)
    /// The upper word of an unsigned product.
    Mulhu    "mulhu"      (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 011 ddddd 0110011" MultiplyHigh (Rs1 Rs2 => Rd)
    /// Divide signed numbers.
    Div      "div"        (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 100 ddddd 0110011" Divide (Rs1 Rs2 => Rd)
    /// Divide unsigned numbers.
    Divu     "divu"       (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 101 ddddd 0110011" Divide (Rs1 Rs2 => Rd)
    /// The remainder of signed numbers.
    Rem      "rem"        (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 110 ddddd 0110011" Divide (Rs1 Rs2 => Rd)
    /// The remainder of unsigned numbers.
    Remu     "remu"       (Rd, Rs1, Rs2) "0000001 bbbbb aaaaa 111 ddddd 0110011" Divide (Rs1 Rs2 => Rd)

    // Order, the environment, and state registers (extension Zicsr)
    /// Order accesses before it and behind it.
    Fence    "fence"      (Before, After) "0000 kkkk kkkk 00000 000 00000 0001111" Fence (Memory => Memory)
    /// The same for total store ordering.
    FenceTso "fence.tso"  () "1000 0011 0011 00000 000 00000 0001111" Fence (Memory => Memory)
    /// Call the environment.
    Ecall    "ecall"      () "000000000000 00000 000 00000 1110011" System (Everything => Everything)
    /// Stop for a debugger.
    Ebreak   "ebreak"     () "000000000001 00000 000 00000 1110011" System (Everything => Everything)
    /// Exchange a state register and a register.
    Csrrw    "csrrw"      (Rd, Csr, Rs1) "kkkkkkkkkkkk aaaaa 001 ddddd 1110011" Csr (Rs1 Csr => Rd Csr)
    /// Read a state register, and set bits in it.
    Csrrs    "csrrs"      (Rd, Csr, Rs1) "kkkkkkkkkkkk aaaaa 010 ddddd 1110011" Csr (Rs1 Csr => Rd Csr)
    /// Read a state register, and clear bits in it.
    Csrrc    "csrrc"      (Rd, Csr, Rs1) "kkkkkkkkkkkk aaaaa 011 ddddd 1110011" Csr (Rs1 Csr => Rd Csr)
    /// Read a state register, and write a constant to it.
    Csrrwi   "csrrwi"     (Rd, Csr, Bits) "kkkkkkkkkkkk aaaaa 101 ddddd 1110011" Csr (Csr => Rd Csr)
    /// Read a state register, and set constant bits in it.
    Csrrsi   "csrrsi"     (Rd, Csr, Bits) "kkkkkkkkkkkk aaaaa 110 ddddd 1110011" Csr (Csr => Rd Csr)
    /// Read a state register, and clear constant bits in it.
    Csrrci   "csrrci"     (Rd, Csr, Bits) "kkkkkkkkkkkk aaaaa 111 ddddd 1110011" Csr (Csr => Rd Csr)
}

/// What there is to know of instructions of one's own without their table.
const CUSTOM: Row = Row {
    opcode: Opcode::Custom,
    mnemonic: ".4byte",
    operands: &[],
    pattern: "",
    class: Class::Custom,
    reads: &[Place::Everything],
    writes: &[Place::Everything],
};

/// How many opcodes there are, [`Opcode::Custom`] among them.
pub const OPCODE_COUNT: usize = ROWS.len() + 1;

impl Opcode {
    /// Its line of the table.
    pub const fn row(self) -> &'static Row {
        Opcode::row_at(self as usize)
    }

    /// The same by its number.
    pub(super) const fn row_at(index: usize) -> &'static Row {
        if index < ROWS.len() { &ROWS[index] } else { &CUSTOM }
    }
}
