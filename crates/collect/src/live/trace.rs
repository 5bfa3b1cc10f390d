//! The last samples of one node, and what is drawn of them: the least and the most of each column.

use std::fmt;

use zeroize::Zeroizing;

use crate::keys::Grid;
use crate::limits::{LIVE_COLUMNS_MAX, LIVE_SAMPLES_MAX};
use crate::record::Seen;
use crate::waveform::Format;

/// What the samples of a line have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source {
    channel: u8,
    format: Format,
    stride: u8,
}

/// The last samples of a node. They are wiped when it is dropped, and never move.
pub(super) struct Trace {
    source: Option<Source>,
    /// Epoch and counter of the latest frame.
    latest: (u8, u32),
    indexes: Vec<u64>,
    values: Zeroizing<Vec<f64>>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} samples, ..)", self.indexes.len())
    }
}

/// The last samples of a node, to be drawn.
#[derive(Clone, PartialEq)]
pub struct Drawn {
    /// The input that they were converted from.
    pub channel: u8,
    /// What they are.
    pub format: Format,
    /// From the first column's begin to the last one's end, in picoseconds of cell time.
    pub span_ps: u64,
    /// The least and the most of each column; no numbers, neither of them, where no sample is that is a finite one. They
    /// are wiped when it is dropped.
    pub columns: Zeroizing<Vec<[f64; 2]>>,
}

impl fmt::Debug for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Drawn({} columns, ..)", self.columns.len())
    }
}

impl Default for Trace {
    fn default() -> Trace {
        let values = Zeroizing::new(Vec::with_capacity(LIVE_SAMPLES_MAX));
        Trace { source: None, latest: (0, 0), indexes: Vec::with_capacity(LIVE_SAMPLES_MAX), values }
    }
}

impl Trace {
    /// Adds a frame's samples. What comes late, behind what is drawn already, is not drawn; a frame that begins anew, or is
    /// of something else, begins another line.
    pub(super) fn draw(&mut self, seen: &Seen<'_>) {
        let Seen { epoch, counter, first, channel, stride, format, samples, .. } = *seen;
        let source = Source { channel, format, stride };
        if self.source.is_some() && (epoch, counter) < self.latest {
            return;
        }
        self.latest = (epoch, counter);
        let is_behind = self.indexes.last().is_some_and(|&last| first <= last);
        if self.source != Some(source) || is_behind {
            self.indexes.clear();
            self.values.clear();
            self.source = Some(source);
        }
        let count = samples.len() / format.sample_bytes();
        let step = u64::from(stride);
        let end = first.saturating_add(count as u64 * step);
        self.make_room(end.saturating_sub(LIVE_SAMPLES_MAX as u64 * step), count);
        let new = (0..).zip(samples.chunks_exact(format.sample_bytes()));
        for (place, sample) in new.skip(count.saturating_sub(LIVE_SAMPLES_MAX)) {
            self.indexes.push(first.saturating_add(place * step));
            self.values.push(format.value(sample));
        }
    }

    /// Forgets what is before `index`, and what is in the way of so many more: what had to move would leave a copy.
    fn make_room(&mut self, index: u64, count: usize) {
        let before = self.indexes.partition_point(|&kept| kept < index);
        let room = LIVE_SAMPLES_MAX - count.min(LIVE_SAMPLES_MAX);
        let gone = before.max(self.indexes.len().saturating_sub(room));
        self.indexes.drain(..gone);
        self.values.drain(..gone);
    }

    /// What is drawn: a column a sample, or as many as there may be; `None` as long as nothing came.
    pub(super) fn columns(&self, grid: Grid) -> Option<Drawn> {
        let Source { channel, format, stride } = self.source?;
        let (&from, &last) = (self.indexes.first()?, self.indexes.last()?);
        let steps = (last - from) / u64::from(stride) + 1;
        let count = steps.min(LIVE_COLUMNS_MAX as u64);
        let mut columns = Zeroizing::new(vec![[f64::NAN; 2]; count as usize]);
        let samples = self.indexes.iter().zip(&*self.values).filter(|(_, value)| value.is_finite());
        for (index, &value) in samples {
            let column = (index - from) / u64::from(stride) * count / steps;
            let [least, most] = &mut columns[column as usize];
            // A number is less than none.
            (*least, *most) = (least.min(value), most.max(value));
        }
        // Not between two instants: both may be beyond what can be told.
        let span_ps = grid.instant_ps(steps.saturating_mul(stride.into()));
        Some(Drawn { channel, format, span_ps, columns })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::waveform::Kind;

    /// A sample a millisecond.
    const GRID: Grid = Grid {
        superframe_ps: 1_000_000_000_000,
        samples_per_superframe: NonZeroU32::new(1000).unwrap(),
        uncertainty_ns: 0,
    };

    fn draw(trace: &mut Trace, counter: u32, first: u64, codes: &[u16]) {
        let samples: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
        let (format, channel, stride) = (Format::CODES, 0, 1);
        let seen = Seen { node: 1, epoch: 0, counter, first, channel, stride, format, samples: &samples };
        trace.draw(&seen);
    }

    fn columns(trace: &Trace) -> Vec<Option<(f64, f64)>> {
        let number = |&[least, most]: &[f64; 2]| (!least.is_nan()).then_some((least, most));
        trace.columns(GRID).unwrap().columns.iter().map(number).collect()
    }

    #[test]
    fn few_samples_are_a_column_each_and_a_gap_is_none() {
        let mut trace = Trace::default();
        assert!(trace.columns(GRID).is_none());
        draw(&mut trace, 0, 10, &[5, 6]);
        draw(&mut trace, 2, 14, &[7]);
        let each = |value: f64| Some((value, value));
        assert_eq!(columns(&trace), [each(5.0), each(6.0), None, None, each(7.0)]);
        assert_eq!(trace.columns(GRID).unwrap().span_ps, 5_000_000_000);
        // It came late.
        draw(&mut trace, 1, 12, &[9, 9]);
        assert_eq!(columns(&trace).len(), 5);
        // The node began anew.
        draw(&mut trace, 3, 0, &[1]);
        assert_eq!(columns(&trace), [each(1.0)]);
    }

    #[test]
    fn samples_last_as_long_as_they_do_also_where_no_instant_can_be_told() {
        let mut trace = Trace::default();
        draw(&mut trace, 0, u64::MAX - 9, &[5, 6, 7]);
        assert_eq!(GRID.instant_ps(u64::MAX - 9), u64::MAX);
        assert_eq!(trace.columns(GRID).unwrap().span_ps, 3_000_000_000);
    }

    #[test]
    fn a_sample_that_is_no_finite_number_is_not_drawn_and_hides_no_other() {
        let mut trace = Trace::default();
        let values = [1.5, f64::INFINITY, f64::NAN, f64::NEG_INFINITY, -2.5];
        let samples: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let format = Format { kind: Kind::F64, is_big_endian: false };
        let seen = Seen {
            node: 1,
            epoch: 0,
            counter: 0,
            first: 0,
            channel: 0,
            stride: 1,
            format,
            samples: &samples,
        };
        trace.draw(&seen);
        assert_eq!(columns(&trace), [Some((1.5, 1.5)), None, None, None, Some((-2.5, -2.5))]);
        // As many again as there are columns: each holds two of them, of which the second is no number.
        let mut trace = Trace::default();
        let values = (0..2 * LIVE_COLUMNS_MAX).map(|at| if at % 2 == 0 { at as f64 } else { f64::INFINITY });
        let samples: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        trace.draw(&Seen { samples: &samples, ..seen });
        let columns = columns(&trace);
        assert_eq!(columns.len(), LIVE_COLUMNS_MAX);
        assert!(columns.iter().all(|column| column.is_some_and(|(least, most)| least == most)));
    }

    #[test]
    fn many_samples_share_columns_that_keep_the_least_and_the_most() {
        let mut trace = Trace::default();
        let count = 3 * LIVE_SAMPLES_MAX as u64 / 2;
        for first in (0..count).step_by(64) {
            let codes: Vec<u16> =
                (first..first + 64).map(|index| if index == count - 9 { 999 } else { 7 }).collect();
            draw(&mut trace, first as u32, first, &codes);
        }
        assert_eq!(trace.indexes.len(), LIVE_SAMPLES_MAX);
        assert_eq!(trace.indexes.last(), Some(&(count - 1)));
        let columns = columns(&trace);
        assert_eq!(columns.len(), LIVE_COLUMNS_MAX);
        assert!(columns.iter().all(|column| column.is_some_and(|(least, _)| least == 7.0)));
        assert_eq!(columns.iter().flatten().filter(|(_, most)| *most == 999.0).count(), 1);
    }

    #[test]
    fn of_a_frame_that_is_longer_than_what_is_kept_the_end_is_drawn() {
        let mut trace = Trace::default();
        let codes: Vec<u16> = (0..LIVE_SAMPLES_MAX as u16 + 100).collect();
        draw(&mut trace, 0, 0, &codes);
        assert_eq!((trace.indexes[0], trace.values[0]), (100, 100.0));
        assert_eq!(trace.values.len(), LIVE_SAMPLES_MAX);
    }
}
