//! Numbers with their units, as a deployment writes them, to integers; and back, as messages say them.
//!
//! Owns the units. A value is decimal, exact, and becomes a whole number of its dimension's grain: `2.5 us`
//! is 2,500,000 ps, and `0.3 ps` is refused rather than rounded. Ranges are the caller's.

use std::fmt;

use crate::limits;

/// What a number measures: how its unit may be written and how many grains one unit is.
pub struct Dimension {
    /// Reads after "expected".
    pub what: &'static str,
    /// One value as it should look.
    pub example: &'static str,
    /// The unit that one grain is, for messages about precision.
    pub grain: &'static str,
    /// Unit and its grains, the customary ones first.
    pub units: &'static [(&'static str, i128)],
}

/// Time in picoseconds.
pub static DURATION: Dimension = Dimension {
    what: "a duration",
    example: "250 ms",
    grain: "picoseconds",
    units: &[
        ("s", 1_000_000_000_000),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("ns", 1_000),
        ("ps", 1),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
};
/// Time in seconds, for what lasts.
pub static AGE: Dimension = Dimension {
    what: "an age",
    example: "90 d",
    grain: "seconds",
    units: &[("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)],
};
/// Frequency in hertz.
pub static FREQUENCY: Dimension = Dimension {
    what: "a frequency",
    example: "8 MHz",
    grain: "hertz",
    units: &[("Hz", 1), ("kHz", 1_000), ("MHz", 1_000_000)],
};
/// Electric potential in nanovolts.
pub static VOLTAGE: Dimension = Dimension {
    what: "a voltage",
    example: "2.56 V",
    grain: "nanovolts",
    units: &[("V", 1_000_000_000), ("mV", 1_000_000), ("uV", 1_000), ("nV", 1)],
};
/// Memory in bytes.
pub static SIZE: Dimension = Dimension {
    what: "a size",
    example: "64 KiB",
    grain: "bytes",
    units: &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)],
};
/// A clock's relative error in parts per billion.
pub static DRIFT: Dimension = Dimension {
    what: "a drift",
    example: "+35 ppm",
    grain: "parts per billion",
    units: &[("ppm", 1_000), ("ppb", 1)],
};
/// A probability in parts per billion.
pub static PROBABILITY: Dimension = Dimension {
    what: "a probability",
    example: "1 ppm",
    grain: "parts per billion",
    units: &[("ppm", 1_000), ("ppb", 1), ("%", 10_000_000)],
};

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not begin with a decimal number.
    NotANumber,
    /// A number without a unit.
    NoUnit,
    /// A unit of another dimension, or of none.
    UnknownUnit(String),
    /// Finer than one grain.
    TooFine,
    /// More digits than any sensible value has.
    TooLong,
}

/// Digits that are read; more cannot be meant, and fewer than this cannot overflow 128 bits.
const DIGITS_MAX: usize = 18;

/// Reads `text` in `dimension`, in grains.
pub fn parse(text: &str, dimension: &Dimension) -> Result<i128, Fault> {
    let text = text.trim();
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let unit = text[end..].trim();
    let number = decimal(text[..end].trim_end())?;
    if unit.is_empty() {
        return Err(Fault::NoUnit);
    }
    // The micro sign and the Greek letter both occur in the wild.
    let unit = unit.replace(['\u{b5}', '\u{3bc}'], "u");
    match dimension.units.iter().find(|(name, _)| *name == unit) {
        Some(&(_, grains)) => whole(number, grains),
        None => Err(Fault::UnknownUnit(unit)),
    }
}

/// Reads `text` as an amplification such as `x1000`, in thousandths.
pub fn parse_gain(text: &str) -> Result<i128, Fault> {
    let number = text.trim().strip_prefix('x').ok_or(Fault::NotANumber)?;
    whole(decimal(number.trim_start())?, 1_000)
}

/// Digits without the point, and how many of them followed it.
type Decimal = (i128, u32);

fn decimal(text: &str) -> Result<Decimal, Fault> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let dangling = digits.contains('.') && fraction.is_empty();
    if integer.is_empty()
        || dangling
        || !(integer.bytes().chain(fraction.bytes())).all(|b| b.is_ascii_digit())
    {
        return Err(Fault::NotANumber);
    }
    if integer.len() + fraction.len() > DIGITS_MAX {
        return Err(Fault::TooLong);
    }
    let value =
        integer.bytes().chain(fraction.bytes()).fold(0_i128, |sum, b| sum * 10 + i128::from(b - b'0'));
    Ok((if negative { -value } else { value }, fraction.len() as u32))
}

fn whole((digits, places): Decimal, grains: i128) -> Result<i128, Fault> {
    let (scaled, scale) = (digits * grains, 10_i128.pow(places));
    if scaled % scale == 0 { Ok(scaled / scale) } else { Err(Fault::TooFine) }
}

/// A duration in the largest unit in which it is short and exact.
pub(super) struct Span(pub u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000)];
        let (unit, ps) = units.into_iter().find(|(_, ps)| self.0 >= *ps).unwrap_or(("ps", 1));
        let (whole, thousandths) = (self.0 / ps, (self.0 % ps) * 1_000 / ps.max(1));
        match thousandths {
            0 => write!(f, "{whole} {unit}"),
            _ => write!(f, "{} {unit}", format!("{whole}.{thousandths:03}").trim_end_matches('0')),
        }
    }
}

/// A frequency in the largest unit in which it is whole.
pub(super) struct Hertz(pub u64);

impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("MHz", 1_000_000), ("kHz", 1_000)];
        let whole = |hz: &u64| self.0 >= *hz && self.0.is_multiple_of(*hz);
        let (unit, hz) = units.into_iter().find(|(_, hz)| whole(hz)).unwrap_or(("Hz", 1));
        write!(f, "{} {unit}", self.0 / hz)
    }
}

/// A voltage in whole millivolts, of nanovolts.
pub(super) struct Millivolts(pub i128);

impl fmt::Display for Millivolts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} mV", self.0 / 1_000_000)
    }
}

/// A time of so many picoseconds, rounded up to a whole microsecond.
pub(super) fn up_to_us(ps: u64) -> u64 {
    ps.div_ceil(limits::PS_PER_US) * limits::PS_PER_US
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_exact() {
        assert_eq!(parse("250 ms", &DURATION), Ok(250_000_000_000));
        assert_eq!(parse("2.5us", &DURATION), Ok(2_500_000));
        assert_eq!(parse("2.5 \u{b5}s", &DURATION), Ok(2_500_000));
        assert_eq!(parse("7.3728 MHz", &FREQUENCY), Ok(7_372_800));
        assert_eq!(parse("2.56 V", &VOLTAGE), Ok(2_560_000_000));
        assert_eq!(parse("+35 ppm", &DRIFT), Ok(35_000));
        assert_eq!(parse("-0.5 ppm", &DRIFT), Ok(-500));
        assert_eq!(parse("0.1 %", &PROBABILITY), Ok(1_000_000));
        assert_eq!(parse_gain("x1000"), Ok(1_000_000));
        assert_eq!(parse_gain("x0.5"), Ok(500));
    }

    #[test]
    fn a_fault_is_named() {
        assert_eq!(parse("fast", &FREQUENCY), Err(Fault::NotANumber));
        assert_eq!(parse("1.", &FREQUENCY), Err(Fault::NotANumber));
        assert_eq!(parse("--1 Hz", &FREQUENCY), Err(Fault::NotANumber));
        assert_eq!(parse("8", &FREQUENCY), Err(Fault::NoUnit));
        assert_eq!(parse("8 ms", &FREQUENCY), Err(Fault::UnknownUnit("ms".into())));
        assert_eq!(parse("8 mhz", &FREQUENCY), Err(Fault::UnknownUnit("mhz".into())));
        assert_eq!(parse("0.5 Hz", &FREQUENCY), Err(Fault::TooFine));
        assert_eq!(parse("1234567890123456789 h", &DURATION), Err(Fault::TooLong));
        assert_eq!(parse_gain("1000"), Err(Fault::NotANumber));
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in ".*") {
            for dimension in [&DURATION, &FREQUENCY, &VOLTAGE, &DRIFT, &PROBABILITY] {
                let _ = parse(&text, dimension);
            }
            let _ = parse_gain(&text);
        }

        #[test]
        fn a_number_of_grains_is_itself(grains in -1_000_000_000_000_i64..1_000_000_000_000) {
            prop_assert_eq!(parse(&format!("{grains} ps"), &DURATION), Ok(i128::from(grains)));
        }
    }
}
