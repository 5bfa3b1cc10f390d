//! What a node's sensor sees: a recording, held between its points, scaled to volts.
//!
//! Owns the value of the analog input at an instant. A recording is a list of samples of a real signal; between
//! them the input follows a straight line, and after the last it starts again. The conversion to codes is the
//! ADC's; an independent ideal conversion for the check of a run is in [`Feed::ideal_code`].

use crate::clock::{PS_PER_S, Picoseconds};
use std::sync::Arc;

/// A recorded signal and how a node's front end presents it.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The recorded samples, in volts at the electrode.
    pub recording: Arc<[f64]>,
    /// Samples per second of the recording, in millihertz.
    pub rate_mhz: u64,
    /// The point of the recording that cell time 0 falls on, in picoseconds.
    pub offset_ps: Picoseconds,
    /// Amplification of the front end.
    pub gain: f64,
    /// Voltage that the front end adds, so that a bipolar signal fits the converter.
    pub bias_volts: f64,
    /// Reference voltage of the converter.
    pub reference_volts: f64,
}

impl Feed {
    /// The voltage at the converter's input at cell time `instant_ps`.
    pub fn volts(&self, instant_ps: Picoseconds) -> f64 {
        // Position in the recording as whole samples and a fraction, in exact integer arithmetic up to the last step.
        let scaled = u128::from(instant_ps + self.offset_ps) * u128::from(self.rate_mhz);
        let unit = u128::from(PS_PER_S) * 1000;
        let length = self.recording.len() as u128;
        let index = (scaled / unit % length) as usize;
        let fraction = (scaled % unit) as f64 / unit as f64;
        let here = self.recording[index];
        let next = self.recording[(index + 1) % self.recording.len()];
        (here + (next - here) * fraction) * self.gain + self.bias_volts
    }

    /// What an ideal 10-bit converter returns for the input at `instant_ps`: the largest code whose threshold
    /// `code * reference / 1024` is not above the input. Found by search over the thresholds, so that it shares no
    /// arithmetic with the converter that it judges.
    pub fn ideal_code(&self, instant_ps: Picoseconds) -> u16 {
        let volts = self.volts(instant_ps);
        let (mut low, mut high) = (0u16, 1024u16);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if f64::from(middle) * self.reference_volts <= volts * 1024.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Feed {
        Feed {
            recording: Arc::from([0.0, 1.0, 2.0, 1.0]),
            rate_mhz: 1_000_000, // 1 kHz
            offset_ps: 0,
            gain: 1.0,
            bias_volts: 0.0,
            reference_volts: 2.56,
        }
    }

    #[test]
    fn the_input_follows_a_line_between_recorded_samples() {
        let feed = ramp();
        assert_eq!(feed.volts(0), 0.0);
        assert!((feed.volts(PS_PER_S / 4000) - 0.25).abs() < 1e-12);
        assert!((feed.volts(3 * PS_PER_S / 2000) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn the_recording_starts_again_after_its_end() {
        let feed = ramp();
        assert_eq!(feed.volts(PS_PER_S / 1000 * 4), feed.volts(0));
        let shifted = Feed { offset_ps: PS_PER_S / 1000, ..ramp() };
        assert_eq!(shifted.volts(0), feed.volts(PS_PER_S / 1000));
    }

    #[test]
    fn the_ideal_code_saturates_at_both_ends() {
        assert_eq!(Feed { bias_volts: -9.0, ..ramp() }.ideal_code(0), 0);
        assert_eq!(Feed { bias_volts: 9.0, ..ramp() }.ideal_code(0), 1023);
        assert_eq!(Feed { bias_volts: 1.28, ..ramp() }.ideal_code(0), 512);
    }
}
