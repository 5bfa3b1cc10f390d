//! The SPARC V8 instruction table: one line per instruction of the integer unit, and what there is of the others.
//!
//! Owns: mnemonics, operands, bit patterns, what each instruction reads and writes, and its class for timing.
//! Everything else in this room is derived from it; a line added here makes the compiler name what is owed.
//! Source: The SPARC Architecture Manual, Version 8, appendix B and F, whose patterns are repeated as printed.
//! Instructions of the floating-point unit and of a coprocessor are decoded as what they are, and trap.
//! Leaves out what V8 lacks: LEON's own UMAC, SMAC and CASA, and all of V9.

use super::places::Place;
use super::timing::Class;

/// An operand as it stands in assembly text, with its letters in the bit patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// `a`: the first source register.
    Rs1,
    /// `s`: a second source register, or a constant of -4096 to 4095.
    Second,
    /// `h`: a second source register, or a shift count of 0 to 31.
    Shift,
    /// `d`: the destination, or what is stored.
    Rd,
    /// `d`: an even register, standing for itself and the next one.
    Pair,
    /// `a` and `s`: a memory address, the sum of a register and a second operand, in brackets.
    Address,
    /// `a`, `b` and `x`: a memory address, the sum of two registers, and the address space it is in.
    Alternate,
    /// `a` and `s`: a place in the program, the sum of a register and a second operand.
    Target,
    /// `a` and `t`: the number of a trap, the sum of a register and a second register or a constant of 0 to 127.
    TrapNumber,
    /// `k`: the upper 22 bits of a constant.
    High22,
    /// `k`: 22 bits without a meaning.
    Constant22,
    /// `n` and `k`: a branch distance in bytes, 22 bits of words; with whether the slot behind is annulled.
    Relative22,
    /// `k`: a call distance in bytes, 30 bits of words.
    Relative30,
    /// A state register in fixed words (`%y`, `%psr`).
    State(&'static str),
    /// `a`: an ancillary state register to read, 16 to 31.
    AsrRs1,
    /// `d`: an ancillary state register to write, 16 to 31.
    AsrRd,
    /// `d`: a floating-point register.
    FloatRd,
    /// `d`: an even floating-point register, standing for itself and the next one.
    FloatPair,
    /// `d`: a coprocessor register.
    CopRd,
    /// `p`: which operation of another unit.
    Opf,
    /// `a`: a register of another unit.
    UnitRs1,
    /// `b`: a register of another unit.
    UnitRs2,
    /// `d`: a register of another unit.
    UnitRd,
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
        $name:ident $mnemonic:literal ($($operand:expr),*) $pattern:literal
        $class:ident ($($read:ident)* => $($write:ident)*)
    )*) => {
        /// Every instruction, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Opcode { $($(#[$doc])* $name,)* }

        /// The table, in the order of [`Opcode`].
        pub const ROWS: &[Row] = &[$(Row {
            opcode: Opcode::$name,
            mnemonic: $mnemonic,
            operands: {
                #[allow(unused_imports)] // not every line has operands
                use Operand::*;
                const OPERANDS: &[Operand] = &[$($operand),*];
                OPERANDS
            },
            pattern: $pattern,
            class: Class::$class,
            reads: { const READS: &[Place] = &[$(Place::$read),*]; READS },
            writes: { const WRITES: &[Place] = &[$(Place::$write),*]; WRITES },
        }),*];

        /// Every instruction, in the order of the table.
        pub const OPCODES: &[Opcode] = &[$(Opcode::$name),*];
    };
}

const Y: Operand = Operand::State("%y");
const PSR: Operand = Operand::State("%psr");
const WIM: Operand = Operand::State("%wim");
const TBR: Operand = Operand::State("%tbr");
const FSR: Operand = Operand::State("%fsr");
const FQ: Operand = Operand::State("%fq");
const CSR: Operand = Operand::State("%csr");
const CQ: Operand = Operand::State("%cq");

// Columns: name, mnemonic, operands, pattern, class, (reads => writes). Icc, Y and so on are whole registers.
#[rustfmt::skip]
instructions! {
    // Loads
    /// Load a signed byte.
    Ldsb     "ldsb"    (Address, Rd) "11 ddddd 001001 aaaaa ssssssssssssss" Load (Rs1 Rs2 Memory => Rd)
    /// Load a signed half-word.
    Ldsh     "ldsh"    (Address, Rd) "11 ddddd 001010 aaaaa ssssssssssssss" Load (Rs1 Rs2 Memory => Rd)
    /// Load an unsigned byte.
    Ldub     "ldub"    (Address, Rd) "11 ddddd 000001 aaaaa ssssssssssssss" Load (Rs1 Rs2 Memory => Rd)
    /// Load an unsigned half-word.
    Lduh     "lduh"    (Address, Rd) "11 ddddd 000010 aaaaa ssssssssssssss" Load (Rs1 Rs2 Memory => Rd)
    /// Load a word.
    Ld       "ld"      (Address, Rd) "11 ddddd 000000 aaaaa ssssssssssssss" Load (Rs1 Rs2 Memory => Rd)
    /// Load a double word into a pair of registers.
    Ldd      "ldd"     (Address, Pair) "11 ddddd 000011 aaaaa ssssssssssssss" LoadTwo (Rs1 Rs2 Memory => Pair)
    /// Load a signed byte from another address space; privileged.
    Ldsba    "ldsba" (Alternate, Rd) "11 ddddd 011001 aaaaa 0 xxxxxxxx bbbbb" Load (Rs1 Rs2 Memory Psr => Rd)
    /// Load a signed half-word from another address space; privileged.
    Ldsha    "ldsha" (Alternate, Rd) "11 ddddd 011010 aaaaa 0 xxxxxxxx bbbbb" Load (Rs1 Rs2 Memory Psr => Rd)
    /// Load an unsigned byte from another address space; privileged.
    Lduba    "lduba" (Alternate, Rd) "11 ddddd 010001 aaaaa 0 xxxxxxxx bbbbb" Load (Rs1 Rs2 Memory Psr => Rd)
    /// Load an unsigned half-word from another address space; privileged.
    Lduha    "lduha" (Alternate, Rd) "11 ddddd 010010 aaaaa 0 xxxxxxxx bbbbb" Load (Rs1 Rs2 Memory Psr => Rd)
    /// Load a word from another address space; privileged.
    Lda      "lda" (Alternate, Rd) "11 ddddd 010000 aaaaa 0 xxxxxxxx bbbbb" Load (Rs1 Rs2 Memory Psr => Rd)
    /// Load a double word from another address space; privileged.
    Ldda     "ldda" (Alternate, Pair) "11 ddddd 010011 aaaaa 0 xxxxxxxx bbbbb" LoadTwo (Rs1 Rs2 Memory Psr => Pair)

    // Stores
    /// Store a byte.
    Stb      "stb"     (Rd, Address) "11 ddddd 000101 aaaaa ssssssssssssss" Store (Rs1 Rs2 Rd => Memory)
    /// Store a half-word.
    Sth      "sth"     (Rd, Address) "11 ddddd 000110 aaaaa ssssssssssssss" Store (Rs1 Rs2 Rd => Memory)
    /// Store a word.
    St       "st"      (Rd, Address) "11 ddddd 000100 aaaaa ssssssssssssss" Store (Rs1 Rs2 Rd => Memory)
    /// Store a double word from a pair of registers.
    Std      "std"     (Pair, Address) "11 ddddd 000111 aaaaa ssssssssssssss" StoreTwo (Rs1 Rs2 Pair => Memory)
    /// Store a byte to another address space; privileged.
    Stba     "stba" (Rd, Alternate) "11 ddddd 010101 aaaaa 0 xxxxxxxx bbbbb" Store (Rs1 Rs2 Rd Psr => Memory)
    /// Store a half-word to another address space; privileged.
    Stha     "stha" (Rd, Alternate) "11 ddddd 010110 aaaaa 0 xxxxxxxx bbbbb" Store (Rs1 Rs2 Rd Psr => Memory)
    /// Store a word to another address space; privileged.
    Sta      "sta" (Rd, Alternate) "11 ddddd 010100 aaaaa 0 xxxxxxxx bbbbb" Store (Rs1 Rs2 Rd Psr => Memory)
    /// Store a double word to another address space; privileged.
    Stda     "stda" (Pair, Alternate) "11 ddddd 010111 aaaaa 0 xxxxxxxx bbbbb" StoreTwo (Rs1 Rs2 Pair Psr => Memory)

    // Loads and stores in one
    /// Load a byte and store ones in its place.
    Ldstub   "ldstub"  (Address, Rd) "11 ddddd 001101 aaaaa ssssssssssssss" Swap (Rs1 Rs2 Memory => Rd Memory)
    /// The same in another address space; privileged.
    Ldstuba  "ldstuba" (Alternate, Rd) "11 ddddd 011101 aaaaa 0 xxxxxxxx bbbbb" Swap (Rs1 Rs2 Memory Psr => Rd Memory)
    /// Exchange a register with a word.
    Swap     "swap"    (Address, Rd) "11 ddddd 001111 aaaaa ssssssssssssss" Swap (Rs1 Rs2 Rd Memory => Rd Memory)
    /// The same in another address space; privileged.
    Swapa    "swapa" (Alternate, Rd) "11 ddddd 011111 aaaaa 0 xxxxxxxx bbbbb" Swap (Rs1 Rs2 Rd Memory Psr => Rd Memory)

    // Constants, logic and shifts
    /// Set the upper 22 bits, clear the others.
    Sethi    "sethi"   (High22, Rd) "00 ddddd 100 kkkkkkkkkkkkkkkkkkkkkk" Single ( => Rd)
    /// Logical and.
    And      "and"     (Rs1, Second, Rd) "10 ddddd 000001 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Logical and, setting icc.
    Andcc    "andcc"   (Rs1, Second, Rd) "10 ddddd 010001 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Logical and with the complement.
    Andn     "andn"    (Rs1, Second, Rd) "10 ddddd 000101 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Logical and with the complement, setting icc.
    Andncc   "andncc"  (Rs1, Second, Rd) "10 ddddd 010101 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Logical or.
    Or       "or"      (Rs1, Second, Rd) "10 ddddd 000010 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Logical or, setting icc.
    Orcc     "orcc"    (Rs1, Second, Rd) "10 ddddd 010010 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Logical or with the complement.
    Orn      "orn"     (Rs1, Second, Rd) "10 ddddd 000110 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Logical or with the complement, setting icc.
    Orncc    "orncc"   (Rs1, Second, Rd) "10 ddddd 010110 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Exclusive or.
    Xor      "xor"     (Rs1, Second, Rd) "10 ddddd 000011 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Exclusive or, setting icc.
    Xorcc    "xorcc"   (Rs1, Second, Rd) "10 ddddd 010011 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Exclusive or with the complement.
    Xnor     "xnor"    (Rs1, Second, Rd) "10 ddddd 000111 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Exclusive or with the complement, setting icc.
    Xnorcc   "xnorcc"  (Rs1, Second, Rd) "10 ddddd 010111 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Shift left.
    Sll      "sll"     (Rs1, Shift, Rd) "10 ddddd 100101 aaaaa hhhhhhhhhhhhhh" Single (Rs1 Rs2 => Rd)
    /// Shift right, filling with zeros.
    Srl      "srl"     (Rs1, Shift, Rd) "10 ddddd 100110 aaaaa hhhhhhhhhhhhhh" Single (Rs1 Rs2 => Rd)
    /// Shift right, filling with the sign.
    Sra      "sra"     (Rs1, Shift, Rd) "10 ddddd 100111 aaaaa hhhhhhhhhhhhhh" Single (Rs1 Rs2 => Rd)

    // Arithmetic
    /// Add.
    Add      "add"     (Rs1, Second, Rd) "10 ddddd 000000 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Add, setting icc.
    Addcc    "addcc"   (Rs1, Second, Rd) "10 ddddd 010000 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Add with carry.
    Addx     "addx"    (Rs1, Second, Rd) "10 ddddd 001000 aaaaa ssssssssssssss" Single (Rs1 Rs2 Icc => Rd)
    /// Add with carry, setting icc.
    Addxcc   "addxcc"  (Rs1, Second, Rd) "10 ddddd 011000 aaaaa ssssssssssssss" Single (Rs1 Rs2 Icc => Rd Icc)
    /// Add tagged words, setting icc.
    Taddcc   "taddcc"  (Rs1, Second, Rd) "10 ddddd 100000 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Add tagged words, setting icc or trapping.
    Taddcctv "taddcctv" (Rs1, Second, Rd) "10 ddddd 100010 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Subtract.
    Sub      "sub"     (Rs1, Second, Rd) "10 ddddd 000100 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd)
    /// Subtract, setting icc.
    Subcc    "subcc"   (Rs1, Second, Rd) "10 ddddd 010100 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Subtract with carry.
    Subx     "subx"    (Rs1, Second, Rd) "10 ddddd 001100 aaaaa ssssssssssssss" Single (Rs1 Rs2 Icc => Rd)
    /// Subtract with carry, setting icc.
    Subxcc   "subxcc"  (Rs1, Second, Rd) "10 ddddd 011100 aaaaa ssssssssssssss" Single (Rs1 Rs2 Icc => Rd Icc)
    /// Subtract tagged words, setting icc.
    Tsubcc   "tsubcc"  (Rs1, Second, Rd) "10 ddddd 100001 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// Subtract tagged words, setting icc or trapping.
    Tsubcctv "tsubcctv" (Rs1, Second, Rd) "10 ddddd 100011 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Rd Icc)
    /// One step of a multiplication.
    Mulscc   "mulscc"  (Rs1, Second, Rd) "10 ddddd 100100 aaaaa ssssssssssssss" Single (Rs1 Rs2 Icc Y => Rd Icc Y)
    /// Multiply unsigned words; the upper half of the product is in Y.
    Umul     "umul"    (Rs1, Second, Rd) "10 ddddd 001010 aaaaa ssssssssssssss" UnsignedMul (Rs1 Rs2 => Rd Y)
    /// Multiply signed words; the upper half of the product is in Y.
    Smul     "smul"    (Rs1, Second, Rd) "10 ddddd 001011 aaaaa ssssssssssssss" SignedMul (Rs1 Rs2 => Rd Y)
    /// Multiply unsigned words, setting icc; the upper half of the product is in Y.
    Umulcc   "umulcc"  (Rs1, Second, Rd) "10 ddddd 011010 aaaaa ssssssssssssss" UnsignedMul (Rs1 Rs2 => Rd Y Icc)
    /// Multiply signed words, setting icc; the upper half of the product is in Y.
    Smulcc   "smulcc"  (Rs1, Second, Rd) "10 ddddd 011011 aaaaa ssssssssssssss" SignedMul (Rs1 Rs2 => Rd Y Icc)
    /// Divide an unsigned double word; its upper half is in Y.
    Udiv     "udiv"    (Rs1, Second, Rd) "10 ddddd 001110 aaaaa ssssssssssssss" Divide (Rs1 Rs2 Y => Rd)
    /// Divide a signed double word; its upper half is in Y.
    Sdiv     "sdiv"    (Rs1, Second, Rd) "10 ddddd 001111 aaaaa ssssssssssssss" Divide (Rs1 Rs2 Y => Rd)
    /// Divide an unsigned double word, setting icc; its upper half is in Y.
    Udivcc   "udivcc"  (Rs1, Second, Rd) "10 ddddd 011110 aaaaa ssssssssssssss" Divide (Rs1 Rs2 Y => Rd Icc)
    /// Divide a signed double word, setting icc; its upper half is in Y.
    Sdivcc   "sdivcc"  (Rs1, Second, Rd) "10 ddddd 011111 aaaaa ssssssssssssss" Divide (Rs1 Rs2 Y => Rd Icc)

    // Register windows
    /// Enter the next window; the sum is of the old one and goes into the new one.
    Save     "save"    (Rs1, Second, Rd) "10 ddddd 111100 aaaaa ssssssssssssss" Single (Rs1 Rs2 Window => Rd Window)
    /// Return to the window before.
    Restore  "restore" (Rs1, Second, Rd) "10 ddddd 111101 aaaaa ssssssssssssss" Single (Rs1 Rs2 Window => Rd Window)

    // Branches on the integer condition codes
    /// Branch never.
    Bn       "bn"      (Relative22) "00 n 0000 010 kkkkkkkkkkkkkkkkkkkkkk" Branch ( => )
    /// Branch on equal.
    Be       "be"      (Relative22) "00 n 0001 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on less or equal.
    Ble      "ble"     (Relative22) "00 n 0010 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on less.
    Bl       "bl"      (Relative22) "00 n 0011 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on less or equal, unsigned.
    Bleu     "bleu"    (Relative22) "00 n 0100 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on carry.
    Bcs      "bcs"     (Relative22) "00 n 0101 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on negative.
    Bneg     "bneg"    (Relative22) "00 n 0110 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on overflow.
    Bvs      "bvs"     (Relative22) "00 n 0111 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch always.
    Ba       "ba"      (Relative22) "00 n 1000 010 kkkkkkkkkkkkkkkkkkkkkk" Branch ( => )
    /// Branch on not equal.
    Bne      "bne"     (Relative22) "00 n 1001 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on greater.
    Bg       "bg"      (Relative22) "00 n 1010 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on greater or equal.
    Bge      "bge"     (Relative22) "00 n 1011 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on greater, unsigned.
    Bgu      "bgu"     (Relative22) "00 n 1100 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on no carry.
    Bcc      "bcc"     (Relative22) "00 n 1101 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on positive.
    Bpos     "bpos"    (Relative22) "00 n 1110 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )
    /// Branch on no overflow.
    Bvc      "bvc"     (Relative22) "00 n 1111 010 kkkkkkkkkkkkkkkkkkkkkk" Branch (Icc => )

    // Branches on the condition codes of the other units
    /// Floating-point branch `n`.
    Fbn      "fbn"     (Relative22) "00 n 0000 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ne`.
    Fbne     "fbne"    (Relative22) "00 n 0001 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `lg`.
    Fblg     "fblg"    (Relative22) "00 n 0010 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ul`.
    Fbul     "fbul"    (Relative22) "00 n 0011 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `l`.
    Fbl      "fbl"     (Relative22) "00 n 0100 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ug`.
    Fbug     "fbug"    (Relative22) "00 n 0101 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `g`.
    Fbg      "fbg"     (Relative22) "00 n 0110 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `u`.
    Fbu      "fbu"     (Relative22) "00 n 0111 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `a`.
    Fba      "fba"     (Relative22) "00 n 1000 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `e`.
    Fbe      "fbe"     (Relative22) "00 n 1001 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ue`.
    Fbue     "fbue"    (Relative22) "00 n 1010 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ge`.
    Fbge     "fbge"    (Relative22) "00 n 1011 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `uge`.
    Fbuge    "fbuge"   (Relative22) "00 n 1100 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `le`.
    Fble     "fble"    (Relative22) "00 n 1101 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `ule`.
    Fbule    "fbule"   (Relative22) "00 n 1110 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Floating-point branch `o`.
    Fbo      "fbo"     (Relative22) "00 n 1111 110 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `n`.
    Cbn      "cbn"     (Relative22) "00 n 0000 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `123`.
    Cb123    "cb123"   (Relative22) "00 n 0001 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `12`.
    Cb12     "cb12"    (Relative22) "00 n 0010 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `13`.
    Cb13     "cb13"    (Relative22) "00 n 0011 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `1`.
    Cb1      "cb1"     (Relative22) "00 n 0100 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `23`.
    Cb23     "cb23"    (Relative22) "00 n 0101 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `2`.
    Cb2      "cb2"     (Relative22) "00 n 0110 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `3`.
    Cb3      "cb3"     (Relative22) "00 n 0111 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `a`.
    Cba      "cba"     (Relative22) "00 n 1000 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `0`.
    Cb0      "cb0"     (Relative22) "00 n 1001 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `03`.
    Cb03     "cb03"    (Relative22) "00 n 1010 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `02`.
    Cb02     "cb02"    (Relative22) "00 n 1011 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `023`.
    Cb023    "cb023"   (Relative22) "00 n 1100 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `01`.
    Cb01     "cb01"    (Relative22) "00 n 1101 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `013`.
    Cb013    "cb013"   (Relative22) "00 n 1110 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )
    /// Coprocessor branch `012`.
    Cb012    "cb012"   (Relative22) "00 n 1111 111 kkkkkkkkkkkkkkkkkkkkkk" Unit (Unit => )

    // Calls, jumps and traps
    /// Call, with the address of the call in r15.
    Call     "call"    (Relative30) "01 kkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" Call ( => LinkRegister)
    /// Jump to a computed address, with the address of the jump in a register.
    Jmpl     "jmpl"    (Target, Rd) "10 ddddd 111000 aaaaa ssssssssssssss" Jump (Rs1 Rs2 => Rd)
    /// Return from a trap; privileged.
    Rett     "rett"    (Target) "10 00000 111001 aaaaa ssssssssssssss" Jump (Rs1 Rs2 Window Psr => Window Psr)
    /// Trap never.
    Tn       "tn"      (TrapNumber) "10 0 0000 111010 aaaaa tttttttttttttt" Single (Everything => Everything)
    /// Trap on equal.
    Te       "te"      (TrapNumber) "10 0 0001 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on less or equal.
    Tle      "tle"     (TrapNumber) "10 0 0010 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on less.
    Tl       "tl"      (TrapNumber) "10 0 0011 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on less or equal, unsigned.
    Tleu     "tleu"    (TrapNumber) "10 0 0100 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on carry.
    Tcs      "tcs"     (TrapNumber) "10 0 0101 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on negative.
    Tneg     "tneg"    (TrapNumber) "10 0 0110 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on overflow.
    Tvs      "tvs"     (TrapNumber) "10 0 0111 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap always.
    Ta       "ta"      (TrapNumber) "10 0 1000 111010 aaaaa tttttttttttttt" Single (Everything => Everything)
    /// Trap on not equal.
    Tne      "tne"     (TrapNumber) "10 0 1001 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on greater.
    Tg       "tg"      (TrapNumber) "10 0 1010 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on greater or equal.
    Tge      "tge"     (TrapNumber) "10 0 1011 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on greater, unsigned.
    Tgu      "tgu"     (TrapNumber) "10 0 1100 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on no carry.
    Tcc      "tcc"     (TrapNumber) "10 0 1101 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on positive.
    Tpos     "tpos"    (TrapNumber) "10 0 1110 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)
    /// Trap on no overflow.
    Tvc      "tvc"     (TrapNumber) "10 0 1111 111010 aaaaa tttttttttttttt" Single (Icc Everything => Everything)

    // State registers
    /// Read Y.
    Rdy      "rd"      (Y, Rd) "10 ddddd 101000 00000 0 0000000000000" Single (Y => Rd)
    /// Wait until stores are done.
    Stbar    "stbar"   () "10 00000 101000 01111 0 0000000000000" Single (Memory => Memory)
    /// Read an ancillary state register.
    Rdasr    "rd"      (AsrRs1, Rd) "10 ddddd 101000 aaaaa 0 0000000000000" Single (Ancillary => Rd)
    /// Read the processor state register; privileged.
    Rdpsr    "rd"      (PSR, Rd) "10 ddddd 101001 00000 0 0000000000000" Single (Psr Window Icc => Rd)
    /// Read the window invalid mask; privileged.
    Rdwim    "rd"      (WIM, Rd) "10 ddddd 101010 00000 0 0000000000000" Single (Psr Window => Rd)
    /// Read the trap base register; privileged.
    Rdtbr    "rd"      (TBR, Rd) "10 ddddd 101011 00000 0 0000000000000" Single (Psr => Rd)
    /// Write Y with the exclusive or of two operands.
    Wry      "wr"      (Rs1, Second, Y) "10 00000 110000 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Y)
    /// Write an ancillary state register.
    Wrasr    "wr"      (Rs1, Second, AsrRd) "10 ddddd 110000 aaaaa ssssssssssssss" Single (Rs1 Rs2 => Ancillary)
    /// Write the processor state register; privileged.
    Wrpsr    "wr"      (Rs1, Second, PSR) "10 00000 110001 aaaaa ssssssssssssss" Single (Rs1 Rs2 Psr => Psr Window Icc)
    /// Write the window invalid mask; privileged.
    Wrwim    "wr"      (Rs1, Second, WIM) "10 00000 110010 aaaaa ssssssssssssss" Single (Rs1 Rs2 Psr => Window)
    /// Write the trap base register; privileged.
    Wrtbr    "wr"      (Rs1, Second, TBR) "10 00000 110011 aaaaa ssssssssssssss" Single (Rs1 Rs2 Psr => Psr)

    // The rest
    /// Make what was stored at an address what is executed there.
    Flush    "flush"   (Target) "10 00000 111011 aaaaa ssssssssssssss" Single (Rs1 Rs2 Memory => Memory)
    /// No instruction, on purpose.
    Unimp    "unimp"   (Constant22) "00 00000 000 kkkkkkkkkkkkkkkkkkkkkk" Single ( => )

    // The floating-point unit and the coprocessor
    /// Load for the floating-point unit (V8 manual, `LDF`).
    Ldf      "ld"      (Address, FloatRd) "11 ddddd 100000 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Load for the floating-point unit (V8 manual, `LDFSR`).
    Ldfsr    "ld"      (Address, FSR) "11 00000 100001 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Load for the floating-point unit (V8 manual, `LDDF`).
    Lddf     "ldd"     (Address, FloatPair) "11 ddddd 100011 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Store for the floating-point unit (V8 manual, `STF`).
    Stf      "st"      (FloatRd, Address) "11 ddddd 100100 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the floating-point unit (V8 manual, `STFSR`).
    Stfsr    "st"      (FSR, Address) "11 00000 100101 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the floating-point unit (V8 manual, `STDFQ`).
    Stdfq    "std"     (FQ, Address) "11 00000 100110 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the floating-point unit (V8 manual, `STDF`).
    Stdf     "std"     (FloatPair, Address) "11 ddddd 100111 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Load for the coprocessor (V8 manual, `LDC`).
    Ldc      "ld"      (Address, CopRd) "11 ddddd 110000 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Load for the coprocessor (V8 manual, `LDCSR`).
    Ldcsr    "ld"      (Address, CSR) "11 00000 110001 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Load for the coprocessor (V8 manual, `LDDC`).
    Lddc     "ldd"     (Address, CopRd) "11 ddddd 110011 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Memory Unit => Unit)
    /// Store for the coprocessor (V8 manual, `STC`).
    Stc      "st"      (CopRd, Address) "11 ddddd 110100 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the coprocessor (V8 manual, `STCSR`).
    Stcsr    "st"      (CSR, Address) "11 00000 110101 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the coprocessor (V8 manual, `STDCQ`).
    Stdcq    "std"     (CQ, Address) "11 00000 110110 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Store for the coprocessor (V8 manual, `STDC`).
    Stdc     "std"     (CopRd, Address) "11 ddddd 110111 aaaaa ssssssssssssss" Unit (Rs1 Rs2 Unit => Memory)
    /// Operate on floating-point registers.
    Fpop1    "fpop1"   (Opf, UnitRs1, UnitRs2, UnitRd) "10 ddddd 110100 aaaaa ppppppppp bbbbb" Unit (Unit => Unit)
    /// Compare floating-point registers.
    Fpop2    "fpop2"   (Opf, UnitRs1, UnitRs2, UnitRd) "10 ddddd 110101 aaaaa ppppppppp bbbbb" Unit (Unit => Unit)
    /// Operate on coprocessor registers.
    Cpop1    "cpop1"   (Opf, UnitRs1, UnitRs2, UnitRd) "10 ddddd 110110 aaaaa ppppppppp bbbbb" Unit (Unit => Unit)
    /// Compare coprocessor registers.
    Cpop2    "cpop2"   (Opf, UnitRs1, UnitRs2, UnitRd) "10 ddddd 110111 aaaaa ppppppppp bbbbb" Unit (Unit => Unit)
}

impl Opcode {
    /// Its line of the table.
    pub const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}
