//! What the arithmetic unit makes of known bytes.
//!
//! Owns: results and flags of the instructions whose operands are all known (AVR Instruction Set Manual,
//! DS40002198, "Boolean Formulae" of each). A second witness to `isa`'s, which is tested against it.

/// Flags as far as they are known, C Z N V S H T I in SREG's order.
pub(crate) type Flags = [Option<bool>; 8];

pub(crate) const C: usize = 0;
pub(crate) const Z: usize = 1;
pub(crate) const N: usize = 2;
pub(crate) const V: usize = 3;
pub(crate) const S: usize = 4;
pub(crate) const H: usize = 5;
pub(crate) const T: usize = 6;

/// Sets the flags that say something of a result, the overflow being given.
fn signs(flags: &mut Flags, negative: bool, overflow: bool, zero: bool) {
    flags[Z] = Some(zero);
    flags[N] = Some(negative);
    flags[V] = Some(overflow);
    flags[S] = Some(negative != overflow);
}

/// `a + b + carry`.
pub(crate) fn add(a: u8, b: u8, carry: bool, flags: &mut Flags) -> u8 {
    let wide = u16::from(a) + u16::from(b) + u16::from(carry);
    let sum = wide as u8;
    flags[C] = Some(wide > 0xff);
    flags[H] = Some((a & 15) + (b & 15) + u8::from(carry) > 15);
    signs(flags, sum >> 7 == 1, (a ^ sum) & (b ^ sum) & 0x80 != 0, sum == 0);
    sum
}

/// `a - b - borrow`; `zero_before` is the Z that a later byte of a chain may only clear.
pub(crate) fn subtract(a: u8, b: u8, borrow: bool, zero_before: Option<bool>, flags: &mut Flags) -> u8 {
    let difference = a.wrapping_sub(b).wrapping_sub(u8::from(borrow));
    flags[C] = Some(u16::from(a) < u16::from(b) + u16::from(borrow));
    flags[H] = Some(a & 15 < (b & 15) + u8::from(borrow));
    signs(flags, difference >> 7 == 1, (a ^ b) & (a ^ difference) & 0x80 != 0, difference == 0);
    flags[Z] = if difference == 0 { zero_before } else { Some(false) };
    difference
}

/// The flags of a logical result.
pub(crate) fn logic(result: u8, flags: &mut Flags) -> u8 {
    signs(flags, result >> 7 == 1, false, result == 0);
    result
}

/// `inc`.
pub(crate) fn increment(a: u8, flags: &mut Flags) -> u8 {
    let result = a.wrapping_add(1);
    signs(flags, result >> 7 == 1, a == 0x7f, result == 0);
    result
}

/// `dec`.
pub(crate) fn decrement(a: u8, flags: &mut Flags) -> u8 {
    let result = a.wrapping_sub(1);
    signs(flags, result >> 7 == 1, a == 0x80, result == 0);
    result
}

/// `com`.
pub(crate) fn complement(a: u8, flags: &mut Flags) -> u8 {
    flags[C] = Some(true);
    logic(!a, flags)
}

/// `neg`.
pub(crate) fn negate(a: u8, flags: &mut Flags) -> u8 {
    let result = a.wrapping_neg();
    signs(flags, result >> 7 == 1, a == 0x80, result == 0);
    flags[C] = Some(result != 0);
    flags[H] = Some((result | a) & 8 != 0);
    result
}

/// `lsr`, `ror` and `asr`: shifts right with `top` as the new bit 7.
pub(crate) fn shift(a: u8, top: bool, flags: &mut Flags) -> u8 {
    let result = a >> 1 | u8::from(top) << 7;
    let carry = a & 1 == 1;
    flags[C] = Some(carry);
    signs(flags, top, top != carry, result == 0);
    result
}

/// `adiw`.
pub(crate) fn add_word(a: u16, k: u16, flags: &mut Flags) -> u16 {
    let result = a.wrapping_add(k);
    signs(flags, result >> 15 == 1, !a & result & 0x8000 != 0, result == 0);
    flags[C] = Some(a & !result & 0x8000 != 0);
    result
}

/// `sbiw`.
pub(crate) fn subtract_word(a: u16, k: u16, flags: &mut Flags) -> u16 {
    let result = a.wrapping_sub(k);
    signs(flags, result >> 15 == 1, a & !result & 0x8000 != 0, result == 0);
    flags[C] = Some(!a & result & 0x8000 != 0);
    result
}

/// The flags of a product; a fractional one is shifted left once.
pub(crate) fn product(wide: u16, fractional: bool, flags: &mut Flags) -> u16 {
    let result = if fractional { wide << 1 } else { wide };
    flags[C] = Some(wide >> 15 == 1);
    flags[Z] = Some(result == 0);
    result
}
