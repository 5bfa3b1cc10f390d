//! The AVR instruction table: one line per instruction of the avr5 and avr51 cores.
//!
//! Owns: mnemonics, operand forms, bit patterns, cycles per core, and what each instruction reads and writes.
//! Everything else in this room is derived from it; a line added here makes the compiler name what is owed.
//! Source: AVR Instruction Set Manual (DS40002198), whose patterns and cycle columns are repeated as printed,
//! except that a stored register has the letter `r` everywhere.
//! Leaves out what these cores lack (EIJMP, EICALL, DES, XCH, LAS, LAC, LAT, SPM Z+).

use super::places::Place;
use super::timing::{CoreType, Cost};

/// An operand as it stands in assembly text, by its field of the bit pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Field `d`: r0 to r31.
    Rd,
    /// Field `r`: r0 to r31.
    Rr,
    /// Field `d`: r16 to r31.
    RdHigh,
    /// Field `r`: r16 to r31.
    RrHigh,
    /// Field `d`: r16 to r23.
    RdMiddle,
    /// Field `r`: r16 to r23.
    RrMiddle,
    /// Field `d`: an even register, standing for a pair.
    RdPair,
    /// Field `r`: an even register, standing for a pair.
    RrPair,
    /// Field `d`: r24, r26, r28 or r30, standing for a pair.
    RdWord,
    /// Field `K`: an 8-bit constant.
    K8,
    /// Field `K`: a 6-bit constant.
    K6,
    /// Field `k`: a branch distance of -64 to 63 words.
    Relative7,
    /// Field `k`: a jump distance of -2048 to 2047 words.
    Relative12,
    /// Field `k`: a flash address of 22 bits, in words.
    Address22,
    /// Field `k`: a data-space address of 16 bits.
    Address16,
    /// Field `A`: an I/O address, 0 to 63.
    Io6,
    /// Field `A`: an I/O address, 0 to 31.
    Io5,
    /// Field `b`: a bit number.
    Bit,
    /// Field `s`: a bit number in SREG.
    Flag,
    /// A pointer register in fixed words (`X`, `X+`, `-X`).
    Pointer(&'static str),
    /// Field `q`: `Y+q`.
    DisplacedY,
    /// Field `q`: `Z+q`.
    DisplacedZ,
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
    /// 16 or 32 digits and field letters, blanks between groups of four.
    pub pattern: &'static str,
    /// Costs in the order of [`CoreType`].
    pub costs: [Cost; 4],
    /// What it reads, by role.
    pub reads: &'static [Place],
    /// What it writes, by role.
    pub writes: &'static [Place],
}

/// How an alias completes the operands that its text does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// The source register is the destination register.
    SameRegister,
    /// Fields `b`, `s` or `q` hold this value.
    Bit(u8),
    /// Field `K` holds this value.
    Constant(i32),
    /// Field `K` holds the complement of what is written.
    Complement,
    /// Nothing: another name.
    Nothing,
}

/// A second name of an instruction, for text only.
#[derive(Debug)]
pub struct Alias {
    /// As GNU as spells it.
    pub mnemonic: &'static str,
    /// Operands in the order of the text.
    pub operands: &'static [Operand],
    /// The instruction it stands for.
    pub opcode: Opcode,
    /// What it adds.
    pub fixed: Fixed,
    /// Whether disassembly prefers it to the instruction's own name.
    pub printed: bool,
}

macro_rules! instructions {
    ($(
        $(#[$doc:meta])*
        $name:ident $mnemonic:literal ($($operand:expr),*) $pattern:literal
        [$($cost:literal $(/ $more:literal)*),*] ($($read:ident)* => $($write:ident)*)
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
            costs: [$(Cost::of(&[$cost $(, $more)*])),*],
            reads: { const READS: &[Place] = &[$(Place::$read),*]; READS },
            writes: { const WRITES: &[Place] = &[$(Place::$write),*]; WRITES },
        }),*];

        /// Every instruction, in the order of the table.
        pub const OPCODES: &[Opcode] = &[$(Opcode::$name),*];
    };
}

const X: Operand = Operand::Pointer("X");
const X_INC: Operand = Operand::Pointer("X+");
const X_DEC: Operand = Operand::Pointer("-X");
const Y: Operand = Operand::Pointer("Y");
const Y_INC: Operand = Operand::Pointer("Y+");
const Y_DEC: Operand = Operand::Pointer("-Y");
const Z: Operand = Operand::Pointer("Z");
const Z_INC: Operand = Operand::Pointer("Z+");
const Z_DEC: Operand = Operand::Pointer("-Z");

// Columns: name, mnemonic, operands, pattern, cycles [AVRe+ 2-byte PC, AVRe+ 3-byte PC, AVRxm, AVRxt],
// (reads => writes). `1/2` is not taken/taken, `1/2/3` is no skip/skip one word/skip two words.
// The manual prints no cycles for SPM; what flash programming costs is the peripheral's to say.
#[rustfmt::skip]
instructions! {
    // Arithmetic and logic
    /// Add without carry.
    Add    "add"    (Rd, Rr)             "0000 11rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => Rd H S V N Z C)
    /// Add with carry.
    Adc    "adc"    (Rd, Rr)             "0001 11rd dddd rrrr" [1, 1, 1, 1] (Rd Rr C => Rd H S V N Z C)
    /// Add a constant to a register pair.
    Adiw   "adiw"   (RdWord, K6)         "1001 0110 KKdd KKKK" [2, 2, 2, 2] (RdPair => RdPair S V N Z C)
    /// Subtract without carry.
    Sub    "sub"    (Rd, Rr)             "0001 10rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => Rd H S V N Z C)
    /// Subtract a constant.
    Subi   "subi"   (RdHigh, K8)         "0101 KKKK dddd KKKK" [1, 1, 1, 1] (Rd => Rd H S V N Z C)
    /// Subtract with carry; Z is only ever cleared.
    Sbc    "sbc"    (Rd, Rr)             "0000 10rd dddd rrrr" [1, 1, 1, 1] (Rd Rr C Z => Rd H S V N Z C)
    /// Subtract a constant with carry; Z is only ever cleared.
    Sbci   "sbci"   (RdHigh, K8)         "0100 KKKK dddd KKKK" [1, 1, 1, 1] (Rd C Z => Rd H S V N Z C)
    /// Subtract a constant from a register pair.
    Sbiw   "sbiw"   (RdWord, K6)         "1001 0111 KKdd KKKK" [2, 2, 2, 2] (RdPair => RdPair S V N Z C)
    /// Logical and.
    And    "and"    (Rd, Rr)             "0010 00rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => Rd S V N Z)
    /// Logical and with a constant.
    Andi   "andi"   (RdHigh, K8)         "0111 KKKK dddd KKKK" [1, 1, 1, 1] (Rd => Rd S V N Z)
    /// Logical or.
    Or     "or"     (Rd, Rr)             "0010 10rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => Rd S V N Z)
    /// Logical or with a constant.
    Ori    "ori"    (RdHigh, K8)         "0110 KKKK dddd KKKK" [1, 1, 1, 1] (Rd => Rd S V N Z)
    /// Exclusive or.
    Eor    "eor"    (Rd, Rr)             "0010 01rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => Rd S V N Z)
    /// One's complement.
    Com    "com"    (Rd)                 "1001 010d dddd 0000" [1, 1, 1, 1] (Rd => Rd S V N Z C)
    /// Two's complement.
    Neg    "neg"    (Rd)                 "1001 010d dddd 0001" [1, 1, 1, 1] (Rd => Rd H S V N Z C)
    /// Increment.
    Inc    "inc"    (Rd)                 "1001 010d dddd 0011" [1, 1, 1, 1] (Rd => Rd S V N Z)
    /// Decrement.
    Dec    "dec"    (Rd)                 "1001 010d dddd 1010" [1, 1, 1, 1] (Rd => Rd S V N Z)
    /// Multiply unsigned.
    Mul    "mul"    (Rd, Rr)             "1001 11rd dddd rrrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)
    /// Multiply signed.
    Muls   "muls"   (RdHigh, RrHigh)     "0000 0010 dddd rrrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)
    /// Multiply signed with unsigned.
    Mulsu  "mulsu"  (RdMiddle, RrMiddle) "0000 0011 0ddd 0rrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)
    /// Multiply unsigned fractions.
    Fmul   "fmul"   (RdMiddle, RrMiddle) "0000 0011 0ddd 1rrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)
    /// Multiply signed fractions.
    Fmuls  "fmuls"  (RdMiddle, RrMiddle) "0000 0011 1ddd 0rrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)
    /// Multiply a signed fraction with an unsigned one.
    Fmulsu "fmulsu" (RdMiddle, RrMiddle) "0000 0011 1ddd 1rrr" [2, 2, 2, 2] (Rd Rr => R1R0 Z C)

    // Jumps, calls, branches and skips
    /// Jump by a distance.
    Rjmp   "rjmp"   (Relative12)   "1100 kkkk kkkk kkkk" [2, 2, 2, 2] ( => )
    /// Jump to Z.
    Ijmp   "ijmp"   ()             "1001 0100 0000 1001" [2, 2, 2, 2] (PointerZ => )
    /// Jump to an address.
    Jmp    "jmp"    (Address22)    "1001 010k kkkk 110k kkkk kkkk kkkk kkkk" [3, 3, 3, 3] ( => )
    /// Call by a distance.
    Rcall  "rcall"  (Relative12)   "1101 kkkk kkkk kkkk" [3, 4, 2, 2] (Sp => Sp Memory)
    /// Call to Z.
    Icall  "icall"  ()             "1001 0101 0000 1001" [3, 4, 2, 2] (PointerZ Sp => Sp Memory)
    /// Call an address.
    Call   "call"   (Address22)    "1001 010k kkkk 111k kkkk kkkk kkkk kkkk" [4, 5, 3, 3] (Sp => Sp Memory)
    /// Return.
    Ret    "ret"    ()             "1001 0101 0000 1000" [4, 5, 4, 4] (Sp Memory => Sp)
    /// Return from an interrupt.
    Reti   "reti"   ()             "1001 0101 0001 1000" [4, 5, 4, 4] (Sp Memory => Sp I)
    /// Compare, skip if equal.
    Cpse   "cpse"   (Rd, Rr)       "0001 00rd dddd rrrr" [1/2/3, 1/2/3, 1/2/3, 1/2/3] (Rd Rr => )
    /// Compare.
    Cp     "cp"     (Rd, Rr)       "0001 01rd dddd rrrr" [1, 1, 1, 1] (Rd Rr => H S V N Z C)
    /// Compare with carry; Z is only ever cleared.
    Cpc    "cpc"    (Rd, Rr)       "0000 01rd dddd rrrr" [1, 1, 1, 1] (Rd Rr C Z => H S V N Z C)
    /// Compare with a constant.
    Cpi    "cpi"    (RdHigh, K8)   "0011 KKKK dddd KKKK" [1, 1, 1, 1] (Rd => H S V N Z C)
    /// Skip if the bit of a register is clear.
    Sbrc   "sbrc"   (Rr, Bit)      "1111 110r rrrr 0bbb" [1/2/3, 1/2/3, 1/2/3, 1/2/3] (Rr => )
    /// Skip if the bit of a register is set.
    Sbrs   "sbrs"   (Rr, Bit)      "1111 111r rrrr 0bbb" [1/2/3, 1/2/3, 1/2/3, 1/2/3] (Rr => )
    /// Skip if the bit of an I/O register is clear.
    Sbic   "sbic"   (Io5, Bit)     "1001 1001 AAAA Abbb" [1/2/3, 1/2/3, 2/3/4, 1/2/3] (Io => )
    /// Skip if the bit of an I/O register is set.
    Sbis   "sbis"   (Io5, Bit)     "1001 1011 AAAA Abbb" [1/2/3, 1/2/3, 2/3/4, 1/2/3] (Io => )
    /// Branch if a status bit is set.
    Brbs   "brbs"   (Flag, Relative7) "1111 00kk kkkk ksss" [1/2, 1/2, 1/2, 1/2] (StatusBit => )
    /// Branch if a status bit is clear.
    Brbc   "brbc"   (Flag, Relative7) "1111 01kk kkkk ksss" [1/2, 1/2, 1/2, 1/2] (StatusBit => )

    // Moves, loads and stores
    /// Copy a register.
    Mov    "mov"    (Rd, Rr)          "0010 11rd dddd rrrr" [1, 1, 1, 1] (Rr => Rd)
    /// Copy a register pair.
    Movw   "movw"   (RdPair, RrPair)  "0000 0001 dddd rrrr" [1, 1, 1, 1] (RrPair => RdPair)
    /// Load a constant.
    Ldi    "ldi"    (RdHigh, K8)      "1110 KKKK dddd KKKK" [1, 1, 1, 1] ( => Rd)
    /// Load from an address.
    Lds    "lds"    (Rd, Address16)   "1001 000d dddd 0000 kkkk kkkk kkkk kkkk" [2, 2, 3, 3] (Memory => Rd)
    /// Load through X.
    LdX    "ld"     (Rd, X)           "1001 000d dddd 1100" [2, 2, 2, 2] (PointerX Memory => Rd)
    /// Load through X, then increment it.
    LdXInc "ld"     (Rd, X_INC)       "1001 000d dddd 1101" [2, 2, 2, 2] (PointerX Memory => Rd PointerX)
    /// Decrement X, then load through it.
    LdXDec "ld"     (Rd, X_DEC)       "1001 000d dddd 1110" [2, 2, 3, 2] (PointerX Memory => Rd PointerX)
    /// Load through Y, then increment it.
    LdYInc "ld"     (Rd, Y_INC)       "1001 000d dddd 1001" [2, 2, 2, 2] (PointerY Memory => Rd PointerY)
    /// Decrement Y, then load through it.
    LdYDec "ld"     (Rd, Y_DEC)       "1001 000d dddd 1010" [2, 2, 3, 2] (PointerY Memory => Rd PointerY)
    /// Load through Y with displacement.
    LddY   "ldd"    (Rd, DisplacedY)  "10q0 qq0d dddd 1qqq" [2, 2, 3, 2] (PointerY Memory => Rd)
    /// Load through Z, then increment it.
    LdZInc "ld"     (Rd, Z_INC)       "1001 000d dddd 0001" [2, 2, 2, 2] (PointerZ Memory => Rd PointerZ)
    /// Decrement Z, then load through it.
    LdZDec "ld"     (Rd, Z_DEC)       "1001 000d dddd 0010" [2, 2, 3, 2] (PointerZ Memory => Rd PointerZ)
    /// Load through Z with displacement.
    LddZ   "ldd"    (Rd, DisplacedZ)  "10q0 qq0d dddd 0qqq" [2, 2, 3, 2] (PointerZ Memory => Rd)
    /// Store to an address.
    Sts    "sts"    (Address16, Rr)   "1001 001r rrrr 0000 kkkk kkkk kkkk kkkk" [2, 2, 2, 2] (Rr => Memory)
    /// Store through X.
    StX    "st"     (X, Rr)           "1001 001r rrrr 1100" [2, 2, 1, 1] (Rr PointerX => Memory)
    /// Store through X, then increment it.
    StXInc "st"     (X_INC, Rr)       "1001 001r rrrr 1101" [2, 2, 1, 1] (Rr PointerX => Memory PointerX)
    /// Decrement X, then store through it.
    StXDec "st"     (X_DEC, Rr)       "1001 001r rrrr 1110" [2, 2, 2, 1] (Rr PointerX => Memory PointerX)
    /// Store through Y, then increment it.
    StYInc "st"     (Y_INC, Rr)       "1001 001r rrrr 1001" [2, 2, 1, 1] (Rr PointerY => Memory PointerY)
    /// Decrement Y, then store through it.
    StYDec "st"     (Y_DEC, Rr)       "1001 001r rrrr 1010" [2, 2, 2, 1] (Rr PointerY => Memory PointerY)
    /// Store through Y with displacement.
    StdY   "std"    (DisplacedY, Rr)  "10q0 qq1r rrrr 1qqq" [2, 2, 2, 1] (Rr PointerY => Memory)
    /// Store through Z, then increment it.
    StZInc "st"     (Z_INC, Rr)       "1001 001r rrrr 0001" [2, 2, 1, 1] (Rr PointerZ => Memory PointerZ)
    /// Decrement Z, then store through it.
    StZDec "st"     (Z_DEC, Rr)       "1001 001r rrrr 0010" [2, 2, 2, 1] (Rr PointerZ => Memory PointerZ)
    /// Store through Z with displacement.
    StdZ   "std"    (DisplacedZ, Rr)  "10q0 qq1r rrrr 0qqq" [2, 2, 2, 1] (Rr PointerZ => Memory)
    /// Load from flash at Z into r0.
    Lpm     "lpm"   ()                "1001 0101 1100 1000" [3, 3, 3, 3] (PointerZ Flash => R0)
    /// Load from flash at Z.
    LpmZ    "lpm"   (Rd, Z)           "1001 000d dddd 0100" [3, 3, 3, 3] (PointerZ Flash => Rd)
    /// Load from flash at Z, then increment it.
    LpmZInc "lpm"   (Rd, Z_INC)       "1001 000d dddd 0101" [3, 3, 3, 3] (PointerZ Flash => Rd PointerZ)
    /// Load from flash at RAMPZ:Z into r0.
    Elpm     "elpm" ()                "1001 0101 1101 1000" [3, 3, 3, 3] (PointerZ Rampz Flash => R0)
    /// Load from flash at RAMPZ:Z.
    ElpmZ    "elpm" (Rd, Z)           "1001 000d dddd 0110" [3, 3, 3, 3] (PointerZ Rampz Flash => Rd)
    /// Load from flash at RAMPZ:Z, then increment it.
    ElpmZInc "elpm" (Rd, Z_INC)       "1001 000d dddd 0111" [3, 3, 3, 3] (PointerZ Rampz Flash => Rd PointerZ Rampz)
    /// Store to flash: page buffer, erase or write, as SPMCSR says.
    Spm    "spm"    ()                "1001 0101 1110 1000" [1, 1, 1, 1] (PointerZ Rampz R1R0 => Flash)
    /// Read an I/O register.
    In     "in"     (Rd, Io6)         "1011 0AAd dddd AAAA" [1, 1, 1, 1] (Io => Rd)
    /// Write an I/O register.
    Out    "out"    (Io6, Rr)         "1011 1AAr rrrr AAAA" [1, 1, 1, 1] (Rr => Io)
    /// Push a register.
    Push   "push"   (Rr)              "1001 001r rrrr 1111" [2, 2, 1, 1] (Rr Sp => Sp Memory)
    /// Pop a register.
    Pop    "pop"    (Rd)              "1001 000d dddd 1111" [2, 2, 2, 2] (Sp Memory => Rd Sp)

    // Bits
    /// Shift right.
    Lsr    "lsr"    (Rd)              "1001 010d dddd 0110" [1, 1, 1, 1] (Rd => Rd S V N Z C)
    /// Rotate right through carry.
    Ror    "ror"    (Rd)              "1001 010d dddd 0111" [1, 1, 1, 1] (Rd C => Rd S V N Z C)
    /// Shift right, keeping the sign.
    Asr    "asr"    (Rd)              "1001 010d dddd 0101" [1, 1, 1, 1] (Rd => Rd S V N Z C)
    /// Swap nibbles.
    Swap   "swap"   (Rd)              "1001 010d dddd 0010" [1, 1, 1, 1] (Rd => Rd)
    /// Set a status bit.
    Bset   "bset"   (Flag)            "1001 0100 0sss 1000" [1, 1, 1, 1] ( => StatusBit)
    /// Clear a status bit.
    Bclr   "bclr"   (Flag)            "1001 0100 1sss 1000" [1, 1, 1, 1] ( => StatusBit)
    /// Set a bit of an I/O register.
    Sbi    "sbi"    (Io5, Bit)        "1001 1010 AAAA Abbb" [2, 2, 1, 1] (Io => Io)
    /// Clear a bit of an I/O register.
    Cbi    "cbi"    (Io5, Bit)        "1001 1000 AAAA Abbb" [2, 2, 1, 1] (Io => Io)
    /// Copy a register's bit to T.
    Bst    "bst"    (Rd, Bit)         "1111 101d dddd 0bbb" [1, 1, 1, 1] (Rd => T)
    /// Copy T to a register's bit.
    Bld    "bld"    (Rd, Bit)         "1111 100d dddd 0bbb" [1, 1, 1, 1] (Rd T => Rd)

    // The processor itself
    /// Stop for a debugger.
    Break  "break"  ()                "1001 0101 1001 1000" [1, 1, 1, 1] ( => )
    /// Nothing.
    Nop    "nop"    ()                "0000 0000 0000 0000" [1, 1, 1, 1] ( => )
    /// Sleep until an interrupt.
    Sleep  "sleep"  ()                "1001 0101 1000 1000" [1, 1, 1, 1] ( => )
    /// Restart the watchdog.
    Wdr    "wdr"    ()                "1001 0101 1010 1000" [1, 1, 1, 1] ( => )
}

macro_rules! aliases {
    ($($mnemonic:literal ($($operand:expr),*) = $opcode:ident $fixed:expr, $printed:literal;)*) => {
        /// Second names, in no order that matters.
        pub const ALIASES: &[Alias] = &[$(Alias {
            mnemonic: $mnemonic,
            operands: {
                #[allow(unused_imports)] // not every line has operands
                use Operand::*;
                const OPERANDS: &[Operand] = &[$($operand),*];
                OPERANDS
            },
            opcode: Opcode::$opcode,
            fixed: { use Fixed::*; $fixed },
            printed: $printed,
        }),*];
    };
}

// The last column says whether disassembly prefers the alias.
#[rustfmt::skip]
aliases! {
    "clr" (Rd) = Eor SameRegister, false;
    "lsl" (Rd) = Add SameRegister, false;
    "rol" (Rd) = Adc SameRegister, false;
    "tst" (Rd) = And SameRegister, false;
    "ser" (RdHigh) = Ldi Constant(0xff), false;
    "sbr" (RdHigh, K8) = Ori Nothing, false;
    "cbr" (RdHigh, K8) = Andi Complement, false;
    "ld" (Rd, Y) = LddY Bit(0), true;
    "ld" (Rd, Z) = LddZ Bit(0), true;
    "st" (Y, Rr) = StdY Bit(0), true;
    "st" (Z, Rr) = StdZ Bit(0), true;
    "sec" () = Bset Bit(0), true;
    "sez" () = Bset Bit(1), true;
    "sen" () = Bset Bit(2), true;
    "sev" () = Bset Bit(3), true;
    "ses" () = Bset Bit(4), true;
    "seh" () = Bset Bit(5), true;
    "set" () = Bset Bit(6), true;
    "sei" () = Bset Bit(7), true;
    "clc" () = Bclr Bit(0), true;
    "clz" () = Bclr Bit(1), true;
    "cln" () = Bclr Bit(2), true;
    "clv" () = Bclr Bit(3), true;
    "cls" () = Bclr Bit(4), true;
    "clh" () = Bclr Bit(5), true;
    "clt" () = Bclr Bit(6), true;
    "cli" () = Bclr Bit(7), true;
    "brcs" (Relative7) = Brbs Bit(0), true;
    "brlo" (Relative7) = Brbs Bit(0), false;
    "breq" (Relative7) = Brbs Bit(1), true;
    "brmi" (Relative7) = Brbs Bit(2), true;
    "brvs" (Relative7) = Brbs Bit(3), true;
    "brlt" (Relative7) = Brbs Bit(4), true;
    "brhs" (Relative7) = Brbs Bit(5), true;
    "brts" (Relative7) = Brbs Bit(6), true;
    "brie" (Relative7) = Brbs Bit(7), true;
    "brcc" (Relative7) = Brbc Bit(0), true;
    "brsh" (Relative7) = Brbc Bit(0), false;
    "brne" (Relative7) = Brbc Bit(1), true;
    "brpl" (Relative7) = Brbc Bit(2), true;
    "brvc" (Relative7) = Brbc Bit(3), true;
    "brge" (Relative7) = Brbc Bit(4), true;
    "brhc" (Relative7) = Brbc Bit(5), true;
    "brtc" (Relative7) = Brbc Bit(6), true;
    "brid" (Relative7) = Brbc Bit(7), true;
}

impl Opcode {
    /// Its line of the table.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// What it costs on `core`, in cycles.
    pub fn cost(self, core: CoreType) -> Cost {
        self.row().costs[core as usize]
    }

    /// Words of flash it takes: 1 or 2.
    #[inline(always)]
    pub const fn words(self) -> u32 {
        match self {
            Opcode::Jmp | Opcode::Call | Opcode::Lds | Opcode::Sts => 2,
            _ => 1,
        }
    }

    /// Whether it may skip the instruction behind it.
    pub const fn is_skip(self) -> bool {
        matches!(self, Opcode::Cpse | Opcode::Sbrc | Opcode::Sbrs | Opcode::Sbic | Opcode::Sbis)
    }

    /// Whether it goes to a label, or on, as a status bit says.
    pub const fn is_branch(self) -> bool {
        matches!(self, Opcode::Brbs | Opcode::Brbc)
    }

    /// Whether it always goes to a label.
    pub const fn is_jump(self) -> bool {
        matches!(self, Opcode::Rjmp | Opcode::Jmp)
    }

    /// Whether it calls a label.
    pub const fn is_call(self) -> bool {
        matches!(self, Opcode::Rcall | Opcode::Call)
    }
}
