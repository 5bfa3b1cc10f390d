//! A whole run from a seed: nodes, bridges, a network and a server whose power is cut.
//!
//! The server is the real one: [`Collector`](crate::Collector) with the parts of its commits,
//! [`Shard::open`](crate::shard::Shard::open), the store and its format. Simulated are the disk ([`SimDisk`]),
//! time, with a wall clock that jumps, and everybody else: nodes that skip counters and change epochs, a bus that loses and flips bits,
//! bridges that keep a batch until its receipt came and send it again after every interruption. The run ends
//! calm, with every batch answered, and is judged by what the bridges were promised.
//!
//! One seed gives one run, in all its bytes ([`Report::fingerprint`]); [`run`] finds the first promise
//! broken.

mod disk;
mod world;

pub use disk::{Honesty, SimDisk, SimFile, Stop};
pub use world::{Report, Violation, run};

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use cipher::Randomness;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How a run is made hard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Superframes of each cell.
    pub superframes: u32,
    /// Once in about so many operations of the disk the server is stopped in the middle of one, by a power
    /// cut or by a kill that leaves the cache as it is; 0 = never.
    pub stop_every: u32,
    /// A sync fails once in so many times; 0 = never.
    pub sync_error_every: u32,
    /// True when the disk fills up from time to time.
    pub disk_fills: bool,
    /// True when the wall clock jumps from time to time.
    pub clock_jumps: bool,
    /// What of the disk works.
    pub honesty: Honesty,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            superframes: 60,
            stop_every: 40,
            sync_error_every: 25,
            disk_fills: true,
            clock_jumps: true,
            honesty: Honesty::FULL,
        }
    }
}

/// Chance, from a seed. Clones throw the same dice.
#[derive(Clone, Debug)]
pub struct Dice(Arc<Mutex<ChaCha8Rng>>);

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))))
    }

    fn generator(&self) -> MutexGuard<'_, ChaCha8Rng> {
        self.0.lock().expect("nothing panics while it throws")
    }

    /// Dice of their own, so that one part of a run may change without changing the others.
    pub fn split(&mut self) -> Dice {
        Dice::new(self.next_u64())
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.generator().next_u64()
    }

    /// A number below `end`, which is not 0. (The bias of the remainder is far below what a run could show.)
    pub fn below(&mut self, end: u32) -> u32 {
        (self.next_u64() % u64::from(end)) as u32
    }

    /// True `part` times in `whole`.
    pub fn chance(&mut self, part: u32, whole: u32) -> bool {
        self.below(whole) < part
    }

    /// Overwrites `bytes`.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.generator().fill_bytes(bytes);
    }
}

impl Randomness for Dice {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
