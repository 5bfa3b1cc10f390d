//! The status register in the form that is cheap to keep up to date.
//!
//! Owns: SREG, and the arithmetic that sets it. Flags are not computed but kept as what they follow from: the
//! carries of all eight bit positions, the result, and what decides Z. Reading SREG composes them.
//! Source: the boolean formulas of the AVR Instruction Set Manual, instruction by instruction.

/// SREG, uncomposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// Carry (or borrow) out of each bit position: bit 7 is C, bit 3 is H, bit 7 xor bit 6 is V.
    carries: u8,
    /// Bit 7 is N.
    result: u8,
    /// Z is set when this is zero.
    nonzero: u8,
    /// Bit 7 is set when S is not N xor V, which only writes to SREG bring about.
    sign_flip: u8,
    /// T.
    pub(super) t: bool,
    /// I.
    pub(super) i: bool,
}

const C: u8 = 0x80;
const H: u8 = 0x08;
/// Where `carries` holds C xor V.
const C_XOR_V: u8 = 0x40;

impl Status {
    /// After reset: all clear.
    pub(super) const RESET: Status =
        Status { carries: 0, result: 0, nonzero: 1, sign_flip: 0, t: false, i: false };

    /// C, as 0 or 1.
    #[inline(always)]
    pub(super) fn carry(&self) -> u8 {
        self.carries >> 7
    }

    #[inline(always)]
    fn overflow(&self) -> u8 {
        (self.carries >> 7 ^ self.carries >> 6) & 1
    }

    #[inline(always)]
    pub(super) fn add(&mut self, a: u8, b: u8, carry: u8) -> u8 {
        let sum = a.wrapping_add(b).wrapping_add(carry);
        self.carries = a & b | (a | b) & !sum;
        self.set_result(sum);
        sum
    }

    #[inline(always)]
    pub(super) fn sub(&mut self, a: u8, b: u8, borrow: u8) -> u8 {
        let difference = a.wrapping_sub(b).wrapping_sub(borrow);
        self.carries = !a & b | (!a | b) & difference;
        self.set_result(difference);
        difference
    }

    /// Subtraction with borrow, which can clear Z and never sets it.
    #[inline(always)]
    pub(super) fn sbc(&mut self, a: u8, b: u8) -> u8 {
        let nonzero = self.nonzero;
        let difference = self.sub(a, b, self.carry());
        self.nonzero |= nonzero;
        difference
    }

    /// V cleared, C and H kept.
    #[inline(always)]
    pub(super) fn logic(&mut self, result: u8) -> u8 {
        self.carries = self.carries & (C | H) | self.carries >> 1 & C_XOR_V;
        self.set_result(result);
        result
    }

    #[inline(always)]
    pub(super) fn com(&mut self, a: u8) -> u8 {
        self.carries = self.carries & H | C | C_XOR_V;
        self.set_result(!a);
        !a
    }

    #[inline(always)]
    pub(super) fn inc(&mut self, a: u8) -> u8 {
        self.logic(a.wrapping_add(1));
        self.carries ^= if a == 0x7f { C_XOR_V } else { 0 };
        a.wrapping_add(1)
    }

    #[inline(always)]
    pub(super) fn dec(&mut self, a: u8) -> u8 {
        self.logic(a.wrapping_sub(1));
        self.carries ^= if a == 0x80 { C_XOR_V } else { 0 };
        a.wrapping_sub(1)
    }

    /// A right shift of `a` that moves `top` (0 or 0x80) in. V becomes N xor C, so C xor V is N.
    #[inline(always)]
    pub(super) fn shift_right(&mut self, a: u8, top: u8) -> u8 {
        let result = a >> 1 | top;
        self.carries = self.carries & H | a << 7 | result >> 1 & C_XOR_V;
        self.set_result(result);
        result
    }

    #[inline(always)]
    pub(super) fn adiw(&mut self, a: u16, constant: u16) -> u16 {
        let sum = a.wrapping_add(constant);
        self.word(!a & sum, a & !sum, sum)
    }

    #[inline(always)]
    pub(super) fn sbiw(&mut self, a: u16, constant: u16) -> u16 {
        let difference = a.wrapping_sub(constant);
        self.word(a & !difference, !a & difference, difference)
    }

    /// Flags of a 16-bit result, V and C in the top bits of `overflow` and `carry`.
    #[inline(always)]
    fn word(&mut self, overflow: u16, carry: u16, result: u16) -> u16 {
        let carry_high = (carry >> 8) as u8;
        self.carries =
            self.carries & H | carry_high & C | (carry_high ^ (overflow >> 8) as u8) >> 1 & C_XOR_V;
        self.result = (result >> 8) as u8;
        self.nonzero = u8::from(result != 0);
        self.sign_flip = 0;
        result
    }

    /// Flags of a multiplication: C and Z alone.
    #[inline(always)]
    pub(super) fn product(&mut self, result: u16, carry: bool) {
        self.set_carry(carry);
        self.nonzero = u8::from(result != 0);
    }

    #[inline(always)]
    fn set_result(&mut self, result: u8) {
        self.result = result;
        self.nonzero = result;
        self.sign_flip = 0;
    }

    /// C alone; V stays, so bit 6 turns with C.
    #[inline(always)]
    fn set_carry(&mut self, carry: bool) {
        let turned = self.carries ^ u8::from(carry) << 7;
        self.carries ^= turned & C | turned >> 1 & C_XOR_V;
    }

    /// One bit of SREG, by its number.
    #[inline(always)]
    pub(super) fn bit(&self, number: u8) -> bool {
        match number {
            0 => self.carries >> 7 != 0,
            1 => self.nonzero == 0,
            _ => self.sreg() >> number & 1 != 0,
        }
    }

    /// Sets one bit of SREG, by its number.
    #[inline(always)]
    pub(super) fn set_bit(&mut self, number: u8, value: bool) {
        match number {
            6 => self.t = value,
            7 => self.i = value,
            _ => *self = Status::from_sreg(self.sreg() & !(1 << number) | u8::from(value) << number),
        }
    }

    /// SREG as the program sees it: I T H S V N Z C.
    #[inline(always)]
    pub(super) fn sreg(&self) -> u8 {
        let (n, v) = (self.result >> 7, self.overflow());
        self.carry()
            | u8::from(self.nonzero == 0) << 1
            | n << 2
            | v << 3
            | (n ^ v ^ self.sign_flip >> 7) << 4
            | (self.carries >> 3 & 1) << 5
            | u8::from(self.t) << 6
            | u8::from(self.i) << 7
    }

    /// The state that composes to `sreg`.
    #[inline(always)]
    pub(super) fn from_sreg(sreg: u8) -> Status {
        let bit = |number: u8| sreg >> number & 1;
        Status {
            carries: bit(0) << 7 | (bit(0) ^ bit(3)) << 6 | bit(5) << 3,
            result: bit(2) << 7,
            nonzero: 1 - bit(1),
            sign_flip: (bit(2) ^ bit(3) ^ bit(4)) << 7,
            t: bit(6) != 0,
            i: bit(7) != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn every_sreg_value_is_kept_as_written() {
        for sreg in 0..=255 {
            let status = Status::from_sreg(sreg);
            assert_eq!(status.sreg(), sreg);
            for bit in 0..8 {
                assert_eq!(status.bit(bit), sreg >> bit & 1 != 0);
                for value in [false, true] {
                    let mut changed = status;
                    changed.set_bit(bit, value);
                    assert_eq!(changed.sreg(), sreg & !(1 << bit) | u8::from(value) << bit);
                }
            }
        }
        assert_eq!(Status::RESET.sreg(), 0);
    }
}
