//! Disturbance of the bus: line noise and drop-outs, from a seed.
//!
//! Noise inverts what the receivers see on MOSI for one bit; a drop-out cuts the line for a while, so that no edge
//! arrives. Owns when that happens. The senders never notice.
//!
//! Invariant: the decisions are a function of the seed and of the order of bits, not of wall time.

use crate::clock::Picoseconds;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How much the line is disturbed. All zero: not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Probability that a bit is inverted, in parts per billion.
    pub bit_errors_ppb: u32,
    /// Mean time between drop-outs; 0 for none.
    pub dropout_every_ps: Picoseconds,
    /// Length of a drop-out.
    pub dropout_ps: Picoseconds,
}

/// The line's disturber.
#[derive(Clone)]
pub struct Injector {
    disturbance: Disturbance,
    random: ChaCha8Rng,
    cut_from_ps: Picoseconds,
    cut_until_ps: Picoseconds,
}

impl Injector {
    /// A disturber of `disturbance`, reproducible from `seed`.
    pub fn new(disturbance: Disturbance, seed: u64) -> Injector {
        let mut injector = Injector {
            disturbance,
            random: ChaCha8Rng::seed_from_u64(seed),
            cut_from_ps: Picoseconds::MAX,
            cut_until_ps: 0,
        };
        injector.plan_cut(0);
        injector
    }

    /// Whether the bit that is being clocked now arrives inverted.
    pub fn flips_bit(&mut self) -> bool {
        let ppb = self.disturbance.bit_errors_ppb;
        ppb > 0 && self.random.next_u64() % 1_000_000_000 < u64::from(ppb)
    }

    /// Whether the line is cut at `now_ps`. Times must not decrease from call to call.
    pub fn is_cut(&mut self, now_ps: Picoseconds) -> bool {
        while now_ps >= self.cut_until_ps && now_ps >= self.cut_from_ps {
            self.plan_cut(self.cut_until_ps);
        }
        now_ps >= self.cut_from_ps
    }

    /// Plans the next drop-out: gaps are uniform in half to one and a half times their mean.
    fn plan_cut(&mut self, after_ps: Picoseconds) {
        let mean_ps = self.disturbance.dropout_every_ps;
        if mean_ps == 0 || self.disturbance.dropout_ps == 0 {
            self.cut_from_ps = Picoseconds::MAX;
            self.cut_until_ps = Picoseconds::MAX;
            return;
        }
        let gap_ps = mean_ps / 2 + self.random.next_u64() % mean_ps;
        self.cut_from_ps = after_ps + gap_ps.max(1);
        self.cut_until_ps = self.cut_from_ps + self.disturbance.dropout_ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_line_is_never_disturbed() {
        let mut injector = Injector::new(Disturbance::default(), 1);
        assert!((0..100_000).all(|instant| !injector.flips_bit() && !injector.is_cut(instant)));
    }

    #[test]
    fn equal_seeds_disturb_equally_and_at_the_stated_rate() {
        let disturbance = Disturbance { bit_errors_ppb: 10_000_000, ..Disturbance::default() };
        let flips = |seed| {
            let mut injector = Injector::new(disturbance, seed);
            (0..100_000).filter(|_| injector.flips_bit()).collect::<Vec<_>>()
        };
        assert_eq!(flips(7), flips(7));
        assert_ne!(flips(7), flips(8));
        // 1 % of 100,000 with a standard deviation of 31: nine of them either way.
        assert!((720..1280).contains(&flips(7).len()), "{}", flips(7).len());
    }

    #[test]
    fn the_line_is_cut_for_the_stated_share_of_time() {
        let disturbance = Disturbance { dropout_every_ps: 1000, dropout_ps: 250, ..Disturbance::default() };
        let mut injector = Injector::new(disturbance, 3);
        let cut = (0..1_000_000).filter(|instant| injector.is_cut(*instant)).count();
        assert!((180_000..220_000).contains(&cut), "{cut}");
    }
}
