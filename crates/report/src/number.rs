//! How numbers read: grouped thousands, decimals, significant digits, superscript powers of ten.
//!
//! Text, Markdown and pictures take their digits from here, so a value reads the same everywhere.
//! CSV and JSON do not come through here: they carry the value itself.

use crate::limits::SIGNIFICANT_DIGITS;

/// Puts a comma between groups of three in the integer part of a plain decimal literal.
///
/// A literal with an exponent, or that is no number, comes back as it was.
pub fn grouped(literal: &str) -> String {
    let (sign, magnitude) = match literal.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", literal),
    };
    let (whole, fraction) = match magnitude.find('.') {
        Some(at) => magnitude.split_at(at),
        None => (magnitude, ""),
    };
    let digits_only = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits_only(whole) || !digits_only(fraction.trim_start_matches('.')) {
        return literal.to_owned();
    }
    let mut text = String::with_capacity(literal.len() + whole.len() / 3 + 1);
    text.push_str(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text.push_str(fraction);
    text
}

/// An integer with grouped thousands: `12,345`.
pub fn integer(value: i64) -> String {
    grouped(&value.to_string())
}

/// A number with exactly `decimals` digits after the point and grouped thousands: `1,234.50`.
///
/// What rounds to zero is `0`, never `-0`.
pub fn decimal(value: f64, decimals: usize) -> String {
    let literal = format!("{value:.decimals$}");
    let is_zero = literal.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    grouped(if is_zero { literal.trim_start_matches('-') } else { &literal })
}

/// A number with four significant digits, trailing zeros dropped and the integer part whole: `12,346`, `1.25`,
/// `0.001235`. Far from one it is written as a power: `1.235e-7`.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() || !(1e-5..1e15).contains(&magnitude) {
        return scientific(value, SIGNIFICANT_DIGITS as usize - 1);
    }
    let decimals = (SIGNIFICANT_DIGITS - 1 - magnitude.log10().floor() as i32).max(0);
    without_trailing_zeros(&decimal(value, decimals as usize)).to_owned()
}

/// A number as mantissa and power, with at most `decimals` digits after the mantissa's point: `1.235e-7`.
pub(crate) fn scientific(value: f64, decimals: usize) -> String {
    let literal = format!("{value:.decimals$e}");
    match literal.split_once('e') {
        Some((mantissa, power)) => format!("{}e{power}", without_trailing_zeros(mantissa)),
        None => literal,
    }
}

/// A number's hyphen as the minus sign, which is as wide as a digit, for pages and pictures; a text that is no
/// number is left alone.
pub(crate) fn signed(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("\u{2212}{rest}"),
        _ => text.to_owned(),
    }
}

/// A power of ten for an axis: `1,000` while that is short, then `10⁶`.
pub fn power_of_ten(exponent: i32) -> String {
    match exponent {
        0..=5 => integer(10_i64.pow(exponent as u32)),
        -4..=-1 => decimal(10_f64.powi(exponent), exponent.unsigned_abs() as usize),
        _ => format!("10{}", superscript(exponent)),
    }
}

fn superscript(number: i32) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number
        .to_string()
        .bytes()
        .map(|byte| if byte == b'-' { '⁻' } else { RAISED[usize::from(byte - b'0')] })
        .collect()
}

fn without_trailing_zeros(literal: &str) -> &str {
    match literal.contains('.') {
        true => literal.trim_end_matches('0').trim_end_matches('.'),
        false => literal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thousands_are_grouped_and_everything_else_is_left_alone() {
        for (literal, expected) in [
            ("0", "0"),
            ("999", "999"),
            ("-1000", "-1,000"),
            ("1234567.8901", "1,234,567.8901"),
            ("1e9", "1e9"),
            ("", ""),
            ("n/a", "n/a"),
            ("-", "-"),
            ("1.2.3", "1.2.3"),
        ] {
            assert_eq!(grouped(literal), expected);
        }
        assert_eq!(integer(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn four_significant_digits_never_round_the_integer_part() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (12345.6, "12,346"),
            (1.25, "1.25"),
            (0.00123456, "0.001235"),
            (99.995, "100"),
            (-2.0, "-2"),
            (1.23456e-7, "1.235e-7"),
            (2e20, "2e20"),
        ] {
            assert_eq!(significant(value), expected);
        }
    }

    #[test]
    fn powers_of_ten_are_spelled_out_while_short() {
        assert_eq!(power_of_ten(3), "1,000");
        assert_eq!(power_of_ten(-2), "0.01");
        assert_eq!(power_of_ten(6), "10⁶");
        assert_eq!(power_of_ten(-12), "10⁻¹²");
    }

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        assert_eq!(decimal(-0.004, 2), "0.00");
        assert_eq!(decimal(-0.006, 2), "-0.01");
    }

    proptest! {
        #[test]
        fn a_significant_number_is_within_half_a_unit_of_its_fourth_digit(value in -1e18_f64..1e18) {
            let read_back: f64 = significant(value).replace(',', "").parse().unwrap();
            prop_assert!((read_back - value).abs() <= value.abs() * 0.5e-3 + 1e-300);
        }
    }
}
