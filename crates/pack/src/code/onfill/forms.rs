//! The forms of instructions: which bits of a word say what it does, and which are registers and numbers.
//!
//! Owns: a table for each instruction set, from its manual's formats (V8 manual, section 5.1; RISC-V unprivileged
//! manual, section 2.2). How fields are coded is `fields`'. A word is of the first form that it fits; the last one fits
//! every word and has no fields.
//!
//! ```text
//!   SPARC                  fits                              fields, in the order in which they are coded
//!   0  call                op 1                              target 30
//!   1  branch              op 0, op2 2                       distance 22
//!   2  sethi               op 0, op2 4                       rd, high 22
//!   3  with a number       op 2 or 3, i 1                    rs1, rd, number 13
//!   4  with a register     op 2 or 3, bits 13 to 5 zero      rs1, rd, rs2
//!   5  any                                                   none
//!
//!   RV32                   opcode                            fields
//!   0  upper               0010111, 0110111                  rd, high 20
//!   1  jump                1101111                           rd, target 20
//!   2  branch              1100011                           rs1, rs2, distance 12
//!   3  load                0000011                           rs1, rd, number 12
//!   4  with a number       0010011                           rs1, rd, number 12
//!   5  jump to a register  1100111                           rs1, rd, number 12
//!   6  store               0100011                           rs1, rs2, number 12
//!   7  with registers      0110011                           rs1, rd, rs2
//!   8  any                                                   none
//! ```

use super::model::{Kind, count_bits};
use crate::target::Target;

/// Bits of a field: where they are in the word, how many, and where in the number.
pub type Piece = (u32, u32, u32);

/// What a field's number is coded as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A register. 0 is the same one as the word before has where its destination stands; others are one more.
    AfterDestination,
    /// A register. 0 is the same one as this word's first field has; others are one more.
    AfterFirst,
    /// A number.
    Number,
    /// A distance in words, or on RV32 in half-words, which is coded from the beginning of the code.
    Target,
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Which fields share a model, by its number in [`Forms::streams`].
    pub stream: usize,
    /// What its number means.
    pub meaning: Meaning,
    /// Its bits.
    pub pieces: &'static [Piece],
}

/// A form.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The bits that say whether a word is of this form.
    pub mask: u32,
    /// And what they are.
    pub value: u32,
    /// The fields.
    pub fields: &'static [Field],
}

/// The forms of an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    /// The forms.
    pub forms: &'static [Form],
    /// What the models of the fields are of.
    pub streams: &'static [Kind],
    /// The lowest bit of a destination.
    pub destination_bit: u32,
    /// How many of the units of a target are in a word.
    pub units_per_word: u32,
}

/// A register, and one that is coded as 0.
const REGISTERS: Kind = Kind::Choice(33);

const fn field(stream: usize, meaning: Meaning, pieces: &'static [Piece]) -> Field {
    Field { stream, meaning, pieces }
}

const fn form(mask: u32, value: u32, fields: &'static [Field]) -> Form {
    Form { mask, value, fields }
}

const SPARC_RS1: Field = field(0, Meaning::AfterDestination, &[(14, 5, 0)]);
const SPARC_RD: Field = field(1, Meaning::AfterFirst, &[(25, 5, 0)]);
const SPARC_RS2: Field = field(2, Meaning::AfterDestination, &[(0, 5, 0)]);

static SPARC: Forms = Forms {
    forms: &[
        form(0xc000_0000, 0x4000_0000, &[field(6, Meaning::Target, &[(0, 30, 0)])]),
        form(0xc1c0_0000, 0x0080_0000, &[field(4, Meaning::Number, &[(0, 22, 0)])]),
        form(
            0xc1c0_0000,
            0x0100_0000,
            &[field(1, Meaning::AfterDestination, &[(25, 5, 0)]), field(5, Meaning::Number, &[(0, 22, 0)])],
        ),
        form(0x8000_2000, 0x8000_2000, &[SPARC_RS1, SPARC_RD, field(3, Meaning::Number, &[(0, 13, 0)])]),
        form(0x8000_3fe0, 0x8000_0000, &[SPARC_RS1, SPARC_RD, SPARC_RS2]),
        form(0, 0, &[]),
    ],
    streams: &[
        REGISTERS,
        REGISTERS,
        REGISTERS,
        Kind::Number(13),
        Kind::Number(22),
        Kind::Number(22),
        Kind::Number(30),
    ],
    destination_bit: 25,
    units_per_word: 1,
};

const RV32_RS1: Field = field(0, Meaning::AfterDestination, &[(15, 5, 0)]);
const RV32_RD: Field = field(1, Meaning::AfterFirst, &[(7, 5, 0)]);
const RV32_RD_FIRST: Field = field(1, Meaning::AfterDestination, &[(7, 5, 0)]);
const RV32_RS2: Field = field(2, Meaning::AfterDestination, &[(20, 5, 0)]);

static RV32: Forms = Forms {
    forms: &[
        form(0x5f, 0x17, &[RV32_RD_FIRST, field(5, Meaning::Number, &[(12, 20, 0)])]),
        form(
            0x7f,
            0x6f,
            &[
                RV32_RD_FIRST,
                field(6, Meaning::Target, &[(21, 10, 0), (20, 1, 10), (12, 8, 11), (31, 1, 19)]),
            ],
        ),
        form(
            0x7f,
            0x63,
            &[
                RV32_RS1,
                RV32_RS2,
                field(4, Meaning::Number, &[(8, 4, 0), (25, 6, 4), (7, 1, 10), (31, 1, 11)]),
            ],
        ),
        form(0x7f, 0x03, &[RV32_RS1, RV32_RD, field(3, Meaning::Number, &[(20, 12, 0)])]),
        form(0x7f, 0x13, &[RV32_RS1, RV32_RD, field(3, Meaning::Number, &[(20, 12, 0)])]),
        form(0x7f, 0x67, &[RV32_RS1, RV32_RD, field(3, Meaning::Number, &[(20, 12, 0)])]),
        form(0x7f, 0x23, &[RV32_RS1, RV32_RS2, field(3, Meaning::Number, &[(7, 5, 0), (25, 7, 5)])]),
        form(0x7f, 0x33, &[RV32_RS1, RV32_RD, RV32_RS2]),
        form(0, 0, &[]),
    ],
    streams: &[
        REGISTERS,
        REGISTERS,
        REGISTERS,
        Kind::Number(12),
        Kind::Number(12),
        Kind::Number(20),
        Kind::Number(20),
    ],
    destination_bit: 7,
    units_per_word: 2,
};

impl Forms {
    /// Those of an instruction set.
    pub fn of(target: Target) -> &'static Forms {
        match target {
            Target::Sparc => &SPARC,
            Target::Rv32 => &RV32,
        }
    }

    /// The number of a word's form.
    pub fn number(&self, word: u32) -> usize {
        let fits = |form: &Form| word & form.mask == form.value;
        self.forms.iter().position(fits).expect("the last one fits every word")
    }

    /// The number of the form without fields.
    pub fn whole(&self) -> usize {
        self.forms.len() - 1
    }

    /// How many bits hold the number of a form.
    pub fn number_bits(&self) -> u32 {
        count_bits(self.whole() as u32)
    }

    /// The register where a word's destination stands.
    pub fn destination(&self, word: u32) -> u32 {
        word >> self.destination_bit & 0x1f
    }
}

impl Form {
    /// The bits that are in no field.
    pub fn head_mask(&self) -> u32 {
        self.fields.iter().fold(u32::MAX, |mask, field| mask & !field.put(u32::MAX))
    }
}

impl Field {
    /// How many bits it has.
    pub fn width(&self) -> u32 {
        self.pieces.iter().map(|&(_, bits, _)| bits).sum()
    }

    /// Its number in a word.
    pub fn get(&self, word: u32) -> u32 {
        self.pieces.iter().fold(0, |number, &(from, bits, to)| number | (word >> from & ones(bits)) << to)
    }

    /// A number in its place, in a word of zeros.
    pub fn put(&self, number: u32) -> u32 {
        self.pieces.iter().fold(0, |word, &(from, bits, to)| word | (number >> to & ones(bits)) << from)
    }
}

fn ones(bits: u32) -> u32 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TARGETS: [Target; 2] = [Target::Sparc, Target::Rv32];

    #[test]
    fn fields_share_no_bits_and_leave_those_that_tell_the_form() {
        for forms in TARGETS.map(Forms::of) {
            for form in forms.forms {
                let bits: u32 = form.fields.iter().map(|field| field.width()).sum();
                assert_eq!(form.head_mask().count_ones() + bits, 32, "{form:?}");
                assert_eq!(form.head_mask() & form.mask, form.mask, "{form:?}");
                for field in form.fields {
                    let kind = forms.streams[field.stream];
                    let wide = match kind {
                        Kind::Choice(count) => count == 33 && field.width() == 5,
                        Kind::Number(width) | Kind::Plain(width) => width == field.width(),
                    };
                    assert!(wide, "{field:?}");
                    assert_eq!(field.get(field.put(u32::MAX)), ones(field.width()));
                }
            }
            assert_eq!(forms.forms[forms.whole()].head_mask(), u32::MAX);
        }
    }

    #[test]
    fn instructions_are_of_the_form_that_their_manual_says() {
        let sparc = Forms::of(Target::Sparc);
        // call, bne, sethi, add with a number, add of registers, unimp, ldstuba with an address space.
        let words = [0x4000_0001, 0x1280_0004, 0x0300_0400, 0x8200_6001, 0x8200_4002, 0, 0xc2e8_4162];
        assert_eq!(words.map(|word| sparc.number(word)), [0, 1, 2, 3, 4, 5, 5]);
        let rv32 = Forms::of(Target::Rv32);
        // lui, auipc, jal, bne, lw, addi, jalr, sw, sub, ecall.
        let words = [
            0x0001_05b7,
            0x0001_0597,
            0x0040_00ef,
            0x0020_9463,
            0x0040_a103,
            0x0010_8093,
            0x0000_8067,
            0x0020_a223,
            0x4031_00b3,
            0x0000_0073,
        ];
        assert_eq!(words.map(|word| rv32.number(word)), [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        // jal +4, bne +8 and sw 4: their numbers' bits are not in one piece.
        let number =
            |word: u32| rv32.forms[rv32.number(word)].fields.last().expect("it has fields").get(word);
        assert_eq!([number(0x0040_00ef), number(0x0020_9463), number(0x0020_a223)], [2, 4, 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_word_is_its_head_and_its_fields(word: u32) {
            for forms in TARGETS.map(Forms::of) {
                let form = &forms.forms[forms.number(word)];
                let fields = form.fields.iter().fold(0, |bits, field| bits | field.put(field.get(word)));
                prop_assert_eq!(word & form.head_mask() | fields, word);
            }
        }
    }
}
