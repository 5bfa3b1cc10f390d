//! What a node's sensor sees: a recording, held between its points, scaled to volts.
//!
//! Owns the value of the analog input at an instant. A recording is a list of samples of a real signal; between
//! them the input follows a straight line, and after the last it starts again. The conversion to codes is the
//! ADC's; an independent ideal conversion for the check of a run is in [`Feed::ideal_code`].

use crate::clock::{PS_PER_S, Picoseconds};
use std::sync::Arc;

/// A recorded signal and how a node's front end presents it. In integers, so that what an ideal converter returns is
/// exact.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The recorded samples, in nanovolts at the electrode.
    pub recording_nv: Arc<[i64]>,
    /// Samples per second of the recording.
    pub rate_hz: u64,
    /// The point of the recording that cell time 0 falls on, in picoseconds.
    pub start_ps: Picoseconds,
    /// Amplification of the front end, in thousandths.
    pub gain_thousandths: u64,
    /// Voltage that the front end adds, so that a bipolar signal fits the converter.
    pub offset_nv: u64,
    /// Reference voltage of the converter.
    pub reference_nv: u64,
}

/// Parts of a nanovolt in which [`Feed::exact`] counts: its interpolation and its gain have no smaller ones.
const PARTS_PER_NV: i128 = PS_PER_S as i128 * 1000;

impl Feed {
    /// The input at the converter at `instant_ps`, in parts of a nanovolt.
    fn exact(&self, instant_ps: Picoseconds) -> i128 {
        let position = u128::from(instant_ps + self.start_ps) * u128::from(self.rate_hz);
        let length = self.recording_nv.len();
        let index = (position / u128::from(PS_PER_S) % length as u128) as usize;
        let fraction = (position % u128::from(PS_PER_S)) as i128;
        let here = i128::from(self.recording_nv[index]);
        let next = i128::from(self.recording_nv[(index + 1) % length]);
        let electrode = here * i128::from(PS_PER_S) + (next - here) * fraction;
        electrode * i128::from(self.gain_thousandths) + i128::from(self.offset_nv) * PARTS_PER_NV
    }

    /// The voltage at the converter's input at cell time `instant_ps`.
    pub fn volts(&self, instant_ps: Picoseconds) -> f64 {
        self.exact(instant_ps) as f64 / PARTS_PER_NV as f64 * 1e-9
    }

    /// What an ideal 10-bit converter returns for the input at `instant_ps`: the largest code whose threshold,
    /// `code * reference / 1024`, is not above the input. In exact integers, so that it shares no arithmetic with
    /// the converter that it judges.
    pub fn ideal_code(&self, instant_ps: Picoseconds) -> u16 {
        let reference = i128::from(self.reference_nv) * PARTS_PER_NV;
        (self.exact(instant_ps) * 1024).div_euclid(reference).clamp(0, 1023) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Feed {
        Feed {
            recording_nv: Arc::from([0, 1_000_000_000, 2_000_000_000, 1_000_000_000]),
            rate_hz: 1000,
            start_ps: 0,
            gain_thousandths: 1000,
            offset_nv: 0,
            reference_nv: 2_560_000_000,
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
        let shifted = Feed { start_ps: PS_PER_S / 1000, ..ramp() };
        assert_eq!(shifted.volts(0), feed.volts(PS_PER_S / 1000));
    }

    #[test]
    fn the_ideal_code_saturates_at_both_ends_and_reaches_a_threshold_at_the_threshold() {
        assert_eq!(Feed { recording_nv: Arc::from([-1]), ..ramp() }.ideal_code(0), 0);
        assert_eq!(Feed { offset_nv: 9_000_000_000, ..ramp() }.ideal_code(0), 1023);
        assert_eq!(Feed { offset_nv: 1_280_000_000, ..ramp() }.ideal_code(0), 512);
        assert_eq!(Feed { offset_nv: 1_279_999_999, ..ramp() }.ideal_code(0), 511);
    }
}
