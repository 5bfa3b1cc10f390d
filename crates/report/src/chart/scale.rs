//! From values to pixels, linearly or by logarithm, with ticks at round numbers (1, 2 or 5 times a power of ten).

use crate::limits::DRAWN_MAGNITUDE_MAX;
use crate::number;

/// How an axis spaces its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart; only values above zero can be drawn.
    Log,
}

/// What an axis measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) unit: String,
    pub(crate) spacing: Spacing,
}

impl Axis {
    /// A linear axis of `label` in `unit`; an empty unit is a plain count.
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { label: label.into(), unit: unit.into(), spacing: Spacing::Linear }
    }

    /// A logarithmic axis of `label` in `unit`.
    pub fn log(label: impl Into<String>, unit: impl Into<String>) -> Axis {
        Axis { label: label.into(), unit: unit.into(), spacing: Spacing::Log }
    }

    /// Label and unit as every axis and table heading writes them.
    pub(crate) fn words(&self) -> String {
        match (self.label.is_empty(), self.unit.is_empty()) {
            (_, true) => self.label.clone(),
            (true, false) => format!("[{}]", self.unit),
            (false, false) => format!("{} [{}]", self.label, self.unit),
        }
    }

    /// A value with this axis' unit.
    pub(crate) fn value_words(&self, value: f64) -> String {
        format!("{} {}", number::significant(value), self.unit).trim_end().to_owned()
    }

    /// True if the value has a place on this axis.
    pub(crate) fn can_draw(&self, value: f64) -> bool {
        let magnitude_is_drawn = value.abs() <= DRAWN_MAGNITUDE_MAX;
        match self.spacing {
            Spacing::Linear => magnitude_is_drawn,
            Spacing::Log => magnitude_is_drawn && value >= 1.0 / DRAWN_MAGNITUDE_MAX,
        }
    }
}

/// One tick; a minor one has no label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// An axis laid out over a stretch of pixels.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    spacing: Spacing,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) low_px: f64,
    pub(crate) high_px: f64,
    pub(crate) ticks: Vec<Tick>,
}

impl Scale {
    /// Lays `low..high` over `pixels`, with about `tick_count` labelled ticks. `round` widens the ends to ticks.
    /// Ends that are equal or upside down are widened until there is something to lay out.
    pub(crate) fn new(
        spacing: Spacing,
        (low, high): (f64, f64),
        (low_px, high_px): (f64, f64),
        tick_count: usize,
        round: bool,
    ) -> Scale {
        let count = tick_count.clamp(2, 30) as f64;
        let (low, high, ticks) = match spacing {
            Spacing::Linear => linear(low, high, count, round),
            Spacing::Log => log(low, high, count, round),
        };
        Scale { spacing, low, high, low_px, high_px, ticks }
    }

    /// Where a value stands, in px; beyond the ends it stands at the end.
    pub(crate) fn px(&self, value: f64) -> f64 {
        let share = match self.spacing {
            Spacing::Linear => (value - self.low) / (self.high - self.low),
            Spacing::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.low_px + share.clamp(0.0, 1.0) * (self.high_px - self.low_px)
    }

    /// The value that stands at a pixel.
    pub(crate) fn value(&self, px: f64) -> f64 {
        let share = (px - self.low_px) / (self.high_px - self.low_px);
        match self.spacing {
            Spacing::Linear => self.low + share * (self.high - self.low),
            Spacing::Log => self.low * (share * (self.high / self.low).ln()).exp(),
        }
    }
}

/// The least and greatest of the values that are drawable, if there are any.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powi(least.log10().floor() as i32);
    // The allowance keeps 2.0000000001 a 2.
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

fn linear(low: f64, high: f64, count: f64, round: bool) -> (f64, f64, Vec<Tick>) {
    let magnitude = low.abs().max(high.abs());
    let (mut low, mut high) = (low.min(high), low.max(high));
    // Below a billionth of the magnitude the digits of neighbouring ticks would no longer differ; below the least
    // drawn magnitude a step would be zero.
    if high - low <= (magnitude * 1e-9).max(1.0 / DRAWN_MAGNITUDE_MAX) {
        let margin = if magnitude < 1e-90 { 1.0 } else { magnitude * 0.1 };
        (low, high) = (low - margin, high + margin);
    }
    let step = round_step((high - low) / count);
    if round {
        low = (low / step + 1e-9).floor() * step;
        high = (high / step - 1e-9).ceil() * step;
    }
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    let values: Vec<f64> = (first..=last).map(|index| index as f64 * step).collect();
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    let is_plain = decimals <= 6 && magnitude < 1e9;
    let digits = (magnitude.max(step) / step).log10().ceil().clamp(0.0, 12.0) as usize;
    let label = |value: f64| match is_plain {
        true => number::decimal(value, decimals),
        false if value == 0.0 => "0".to_owned(),
        false => number::scientific(value, digits),
    };
    (low, high, values.iter().map(|&value| Tick { value, label: label(value) }).collect())
}

fn log(low: f64, high: f64, count: f64, round: bool) -> (f64, f64, Vec<Tick>) {
    let (mut low, mut high) = (low.min(high), low.max(high));
    if high / low < 1.01 {
        (low, high) = (low / 1.5, high * 1.5);
    }
    let decade = |value: f64| 10_f64.powi(value.log10().floor() as i32);
    if round {
        low = [5.0, 2.0, 1.0]
            .map(|factor| factor * decade(low))
            .into_iter()
            .find(|end| *end <= low * (1.0 + 1e-9))
            .unwrap_or(low);
        high = round_step(high);
    }
    let decades = (high / low).log10();
    let stride = (decades / count).ceil().max(1.0) as i32;
    let exponents = (low.log10() - 1e-9).floor() as i32..=(high.log10() + 1e-9).ceil() as i32;
    let factors: &[f64] = match decades {
        ..=0.7 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        ..=2.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let mut ticks = Vec::new();
    for exponent in exponents {
        for tenths in 10..100 {
            let factor = f64::from(tenths) / 10.0;
            let value = factor * 10_f64.powi(exponent);
            let is_within = value >= low * (1.0 - 1e-9) && value <= high * (1.0 + 1e-9);
            let is_labelled = factors.contains(&factor) && exponent.rem_euclid(stride) == 0;
            if is_within && (is_labelled || (tenths % 10 == 0 && stride == 1)) {
                let label = match is_labelled {
                    true if factor == 1.0 => number::power_of_ten(exponent),
                    true => number::significant(value),
                    false => String::new(),
                };
                ticks.push(Tick { value, label });
            }
        }
    }
    (low, high, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(spacing: Spacing, low: f64, high: f64, count: usize) -> String {
        let scale = Scale::new(spacing, (low, high), (0.0, 100.0), count, true);
        let labels: Vec<String> =
            scale.ticks.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect();
        labels.join(" ")
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        use Spacing::*;
        for (spacing, low, high, count, expected) in [
            (Linear, 0.0, 250.0, 5, "0 50 100 150 200 250"),
            (Linear, -0.013, 0.027, 4, "-0.02 -0.01 0.00 0.01 0.02 0.03"),
            (Linear, 1003.0, 1999.0, 3, "1,000 1,500 2,000"),
            (Linear, 0.0, 0.0, 4, "-1.0 -0.5 0.0 0.5 1.0"),
            (Linear, 0.0, 3e12, 3, "0 1e12 2e12 3e12"),
            (Log, 0.3, 25.0, 6, "0.2 0.5 1 2 5 10 20 50"),
            (Log, 0.012, 8000.0, 6, "0.01 0.1 1 10 100 1,000 10,000"),
            (Log, 1e-30, 1e30, 4, "10⁻³⁰ 10⁻¹⁵ 1 10¹⁵ 10³⁰"),
        ] {
            assert_eq!(labels(spacing, low, high, count), expected);
        }
    }

    proptest! {
        #[test]
        fn every_scale_is_finite_and_its_ticks_are_few_and_within(
            mantissas in (-10.0..10.0_f64, -10.0..10.0_f64),
            powers in (-99..99_i32, -99..99_i32),
            count in 0..40_usize,
            is_log in any::<bool>(),
            round in any::<bool>(),
        ) {
            let ends = (mantissas.0 * 10_f64.powi(powers.0), mantissas.1 * 10_f64.powi(powers.1));
            let (spacing, ends) = match is_log {
                true => (Spacing::Log, (ends.0.abs().max(1e-99), ends.1.abs().max(1e-99))),
                false => (Spacing::Linear, ends),
            };
            let scale = Scale::new(spacing, ends, (10.0, 110.0), count, round);
            prop_assert!(scale.low < scale.high);
            let allowance = (scale.high - scale.low) * 1e-6;
            prop_assert!(scale.low <= ends.0.min(ends.1) + allowance && scale.high >= ends.0.max(ends.1) - allowance);
            prop_assert!(scale.ticks.len() <= 400, "{} ticks", scale.ticks.len());
            prop_assert!(scale.ticks.iter().filter(|tick| !tick.label.is_empty()).count() <= 45);
            for tick in &scale.ticks {
                prop_assert!((10.0..=110.0).contains(&scale.px(tick.value)));
            }
            for value in [ends.0, ends.1, scale.low, scale.high] {
                prop_assert!((10.0..=110.0).contains(&scale.px(value)));
            }
            for px in [10.0, 30.0, 60.0, 110.0] {
                prop_assert!((scale.px(scale.value(px)) - px).abs() < 1e-6);
            }
        }
    }
}
