//! An SPI exchange beside a computing host, as a simulator sees it: how far the host gets meanwhile.
//!
//! Owns one rule for every scheme. With the same input a host loads and stores its memory in the same order, whoever
//! shares the processor with it; so each access says how many cycles the host alone takes to come there. Between two
//! accesses it is not faster than alone. Running programs and watching them is left to those who know the programs.

use isa::Cycles;

/// A run of a host, alone or beside an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// When it was called.
    pub begins: Cycles,
    /// When it accessed its memory, in order.
    pub accesses: Vec<Cycles>,
}

impl Course {
    /// When so many accesses had been made; none is the call.
    fn at(&self, made: usize) -> Cycles {
        made.checked_sub(1).map_or(self.begins, |last| self.accesses[last])
    }

    /// Cycles from the call to its last access: its work as a whole, when it is alone.
    pub fn work_cycles(&self) -> Cycles {
        self.at(self.accesses.len()) - self.begins
    }

    fn made(&self, until: Cycles) -> usize {
        self.accesses.partition_point(|&at| at <= until)
    }

    /// The least work that it can have done at `until`, in cycles of the run `alone`.
    fn work_least(&self, until: Cycles, alone: &Course) -> Cycles {
        let made = self.made(until);
        let done = alone.at(made) - alone.begins;
        let Some(&next) = self.accesses.get(made) else { return done };
        done.max((alone.at(made + 1) - alone.begins).saturating_sub(next - until))
    }

    /// The most work that it can have done at `until`, in cycles of the run `alone`.
    fn work_most(&self, until: Cycles, alone: &Course) -> Cycles {
        let made = self.made(until);
        let done = alone.at(made) - alone.begins + until.saturating_sub(self.at(made));
        done.min(alone.at((made + 1).min(alone.accesses.len())) - alone.begins)
    }
}

/// What a host did between the first byte and the last, or until it was done when that was earlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// When the first byte was written.
    pub from: Cycles,
    /// When the last byte was written, or the host was done.
    pub until: Cycles,
    /// Bytes that the exchange went on by meanwhile.
    pub bytes: f64,
    /// Cycles that the host alone takes for what it did, at least.
    pub work_cycles: Cycles,
}

impl Kept {
    /// Of an exchange whose bytes were written at `written` while a host ran as `beside`.
    ///
    /// # Panics
    /// If fewer than two bytes were written, or the host accesses its memory more often than `alone`.
    pub fn of(written: &[Cycles], beside: &Course, alone: &Course) -> Kept {
        let (&[first, ..], &[.., last]) = (written, written) else { panic!("an exchange has bytes") };
        assert!(first < last, "an exchange has two bytes or more");
        let ended = beside.at(beside.accesses.len());
        let is_done = beside.accesses.len() == alone.accesses.len() && ended > first;
        let until = if is_done { last.min(ended) } else { last };
        let begun = beside.work_most(first, alone);
        let work_cycles = beside.work_least(until, alone).saturating_sub(begun);
        let period = (last - first) as f64 / (written.len() - 1) as f64;
        Kept { from: first, until, bytes: (until - first) as f64 / period, work_cycles }
    }

    /// Cycles that it covers.
    pub fn cycles(&self) -> Cycles {
        self.until - self.from
    }

    /// The share of the cycles that the guest leaves which did the host's work; of one byte the guest's own
    /// instructions take `guest_cycles`.
    pub fn recovered(&self, guest_cycles: f64) -> f64 {
        self.work_cycles as f64 / (self.cycles() as f64 - self.bytes * guest_cycles)
    }

    /// Bytes of a host's message that were finished for each byte of the exchange: a message of `message_bytes` is as
    /// far as the host alone is in as many cycles, so that a block that is begun counts by its part.
    pub fn share(&self, alone: &Course, message_bytes: usize) -> f64 {
        let finished = self.work_cycles as f64 / alone.work_cycles() as f64 * message_bytes as f64;
        finished / self.bytes
    }
}

/// The levels of MISO with which bytes come in that a master starts at `starts`, with SPI mode 0, most significant bit
/// first and `divider` cycles a bit: each bit from half a bit before it is sampled.
pub fn miso(starts: &[Cycles], divider: Cycles, bytes: &[u8]) -> Vec<(Cycles, bool)> {
    let levels = starts.iter().zip(bytes).flat_map(|(&start, &byte)| {
        (0..8).map(move |bit| (start + divider * bit + 1, byte & 0x80 >> bit != 0))
    });
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone() -> Course {
        Course { begins: 1000, accesses: vec![1010, 1020, 1030, 1040] }
    }

    fn beside(begins: Cycles, accesses: &[Cycles]) -> Course {
        Course { begins, accesses: accesses.to_vec() }
    }

    #[test]
    fn a_host_that_goes_on_is_measured_until_the_last_byte() {
        // Half the speed of the host alone, from the first byte on.
        let kept = Kept::of(&[100, 120, 140, 160], &beside(100, &[120, 140, 160]), &alone());
        assert_eq!((kept.cycles(), kept.bytes, kept.work_cycles), (60, 3.0, 30));
        assert_eq!(kept.recovered(5.0), 30.0 / 45.0);
        assert_eq!(kept.share(&alone(), 8), 2.0);
    }

    #[test]
    fn a_host_that_is_done_is_measured_until_then() {
        let kept = Kept::of(&[100, 120, 140, 160], &beside(100, &[110, 115, 120, 130]), &alone());
        assert_eq!((kept.cycles(), kept.bytes, kept.work_cycles), (30, 1.5, 40));
    }

    #[test]
    fn a_host_that_runs_before_or_after_does_nothing_meanwhile() {
        for course in [beside(0, &[10, 20, 30, 40]), beside(200, &[210, 220, 230, 240])] {
            let kept = Kept::of(&[100, 120], &course, &alone());
            assert_eq!((kept.cycles(), kept.work_cycles), (20, 0), "{course:?}");
        }
    }

    #[test]
    fn between_accesses_the_least_that_can_have_been_done_counts() {
        // Two cycles before an access at most two cycles of its work are missing; four after the call four are done.
        let course = beside(96, &[118, 123, 131, 139]);
        let kept = Kept::of(&[100, 116], &course, &alone());
        assert_eq!(kept.work_cycles, 8 - 4);
        // What is far from an access has done nothing more for certain.
        let kept = Kept::of(&[100, 106], &course, &alone());
        assert_eq!(kept.work_cycles, 0);
    }

    #[test]
    fn a_bit_stands_on_miso_before_it_is_sampled() {
        let levels = miso(&[10], 4, &[0b1010_0000]);
        assert_eq!(levels[..3], [(11, true), (15, false), (19, true)]);
        assert_eq!(levels.len(), 8);
    }
}
