//! What goes wrong on demand, from a seed: bytes that are lost, damaged or out of order, a device that stands still or
//! starts anew.

use std::time::Duration;

use super::draws::Draws;

/// How often each happens: to a transaction, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Some bytes of one direction are lost.
    pub drop: f64,
    /// A bit of one direction is another.
    pub corrupt: f64,
    /// The device stands still for at most [`STALL_MAX`].
    pub stall: f64,
    /// The device forgets all but its keys.
    pub reset: f64,
    /// Two stretches of one direction come in each other's place.
    pub reorder: f64,
}

/// How often each happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Struck {
    /// See [`Rates::drop`].
    pub drops: u64,
    /// See [`Rates::corrupt`].
    pub corruptions: u64,
    /// See [`Rates::stall`].
    pub stalls: u64,
    /// See [`Rates::reset`].
    pub resets: u64,
    /// See [`Rates::reorder`].
    pub reorders: u64,
}

/// Longest time that a device stands still.
pub const STALL_MAX: Duration = Duration::from_millis(40);

/// Faults at given rates.
#[derive(Clone, Debug)]
pub struct Faults {
    rates: Rates,
    draws: Draws,
    struck: Struck,
}

impl Faults {
    /// Faults of this seed.
    pub fn new(rates: Rates, seed: u64) -> Faults {
        Faults { rates, draws: Draws::new(seed), struck: Struck::default() }
    }

    /// What happened so far.
    pub fn struck(&self) -> Struck {
        self.struck
    }

    /// Draws in any case, so that a rate does not change when others strike.
    fn strikes(&mut self, rate: f64) -> bool {
        self.draws.strikes(rate)
    }

    /// How long the device stands still before a transaction.
    pub fn stall(&mut self) -> Duration {
        if !self.strikes(self.rates.stall) {
            return Duration::ZERO;
        }
        self.struck.stalls += 1;
        STALL_MAX.mul_f64(self.draws.below(1000) as f64 / 1000.0)
    }

    /// Whether the device starts anew.
    pub fn reset(&mut self) -> bool {
        let strikes = self.strikes(self.rates.reset);
        self.struck.resets += u64::from(strikes);
        strikes
    }

    /// What a transaction brings to the device and from it, in the places of what was sent. The lengths stay.
    pub fn harm(&mut self, there: &mut [u8], back: &mut [u8]) {
        for strike in [Faults::drop, Faults::corrupt, Faults::reorder] {
            let bytes = if self.draws.draw() & 1 == 0 { &mut *there } else { &mut *back };
            strike(self, bytes);
        }
    }

    fn drop(&mut self, bytes: &mut [u8]) {
        if self.strikes(self.rates.drop) && !bytes.is_empty() {
            self.struck.drops += 1;
            let from = self.draws.below(bytes.len());
            let count = 1 + self.draws.below((bytes.len() - from).min(200));
            bytes.copy_within(from + count.., from);
            let end = bytes.len() - count;
            bytes[end..].fill(0);
        }
    }

    fn corrupt(&mut self, bytes: &mut [u8]) {
        if self.strikes(self.rates.corrupt) && !bytes.is_empty() {
            self.struck.corruptions += 1;
            let (at, bit) = (self.draws.below(bytes.len()), self.draws.below(8));
            bytes[at] ^= 1 << bit;
        }
    }

    fn reorder(&mut self, bytes: &mut [u8]) {
        if self.strikes(self.rates.reorder) && bytes.len() > 1 {
            self.struck.reorders += 1;
            let at = 1 + self.draws.below(bytes.len() - 1);
            bytes.rotate_left(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_strike_as_often_as_they_are_asked_to_and_equally_for_equal_seeds() {
        let rates = Rates { drop: 0.1, corrupt: 0.2, stall: 0.3, reset: 0.4, reorder: 0.5 };
        let mut all = [Faults::new(rates, 7), Faults::new(rates, 7)].map(|mut faults| {
            let (mut there, mut back) = ([1; 64], [2; 64]);
            for _ in 0..10_000 {
                assert!(faults.stall() <= STALL_MAX);
                faults.reset();
                faults.harm(&mut there, &mut back);
            }
            (faults, there, back)
        });
        let struck = all[0].0.struck();
        let counts = [struck.drops, struck.corruptions, struck.stalls, struck.resets, struck.reorders];
        for (count, expected) in counts.into_iter().zip([1000, 2000, 3000, 4000, 5000]) {
            assert!(count.abs_diff(expected) < 250, "{struck:?}");
        }
        assert_eq!((all[0].1, all[0].2, struck), (all[1].1, all[1].2, all[1].0.struck()));
        assert_eq!(all[0].0.draws.draw(), all[1].0.draws.draw());
        let mut none = Faults::new(Rates::default(), 7);
        let (mut there, mut back) = ([1; 64], [2; 64]);
        none.harm(&mut there, &mut back);
        assert_eq!((there, back, none.stall(), none.reset()), ([1; 64], [2; 64], Duration::ZERO, false));
    }
}
