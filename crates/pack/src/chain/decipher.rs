//! The unit that opens sealed lines: what it does to them, and when it is done.
//!
//! Owns: the seam to the ciphers ([`LineCipher`]) and the time that a unit takes, with one block after the other
//! through it. Which cipher and key is `seal`'s; when bytes come is `fill`'s.
//!
//! Three ways of work, by what the unit can do before memory has answered:
//!
//! - [`Work::Block`]: nothing. A block that has come goes through the unit (the paper; ECB). A line that memory brings
//!   in 80 cycles is there after 80 + 40.
//! - [`Work::Pad`]: all of it. The pad follows from the address alone (CTR) and is computed meanwhile; what is left is
//!   to add it: max(80, 40) + 1.
//! - [`Work::Tweak`]: half of it. The tweak follows from the address, and is added before and after (XTS):
//!   max(80, 40) + 1 + 40 + 1, and two blocks' work for each block.

use std::sync::Arc;

use super::cache::LINE_BYTES_MAX;
use super::rom::LINE_BYTES;
use isa::Cycles;

/// The most lines of the cipher in a line of a cache.
pub const LINES_MAX: usize = (LINE_BYTES_MAX / LINE_BYTES) as usize;

/// What a unit does to open a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The line goes through it.
    Block,
    /// A pad for its address.
    Pad,
    /// A tweak for its address, and then the line goes through it.
    Tweak,
}

/// Opens sealed lines of 16 bytes, each under its address.
pub trait LineCipher: Send + Sync {
    /// Opens the line at an address, in its place.
    fn open(&self, address: u32, line: &mut [u8; LINE_BYTES as usize]);
    /// What a unit does for it.
    fn work(&self) -> Work;
}

/// No cipher, with the time that one takes: what sealing costs follows from addresses alone, and needs no key.
#[derive(Clone, Copy, Debug)]
pub struct Unsealed(pub Work);

impl LineCipher for Unsealed {
    fn open(&self, _address: u32, _line: &mut [u8; LINE_BYTES as usize]) {}

    fn work(&self) -> Work {
        self.0
    }
}

/// How long a unit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// A block, from its beginning to its end.
    pub latency_cycles: u32,
    /// From the beginning of a block to that of the next: as long as the latency in a unit with one block in it.
    pub interval_cycles: u32,
    /// Adding a pad or a tweak.
    pub sum_cycles: u32,
}

impl Default for Timing {
    /// The paper's 40 cycles a block, one block after the other.
    fn default() -> Timing {
        Timing { latency_cycles: 40, interval_cycles: 40, sum_cycles: 1 }
    }
}

/// What a unit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks {
    /// Lines that were opened.
    pub lines: u64,
    /// Blocks that went through it, tweaks included.
    pub aes_blocks: u64,
}

/// The unit.
#[derive(Clone)]
pub struct Decipher {
    cipher: Arc<dyn LineCipher>,
    timing: Timing,
    /// When it takes the next block.
    free_at: Cycles,
    /// What it did.
    pub blocks: Blocks,
}

impl Decipher {
    /// A unit for this cipher.
    pub fn new(cipher: Arc<dyn LineCipher>, timing: Timing) -> Decipher {
        Decipher { cipher, timing, free_at: 0, blocks: Blocks::default() }
    }

    /// Opens a line, in its place.
    pub fn open(&self, address: u32, line: &mut [u8]) {
        let line = line.try_into().expect("a line of the cipher");
        self.cipher.open(address, line);
    }

    /// A block begins at a cycle or when the unit takes it; when it ends.
    fn pass(&mut self, from: Cycles) -> Cycles {
        let begin = from.max(self.free_at);
        self.free_at = begin + Cycles::from(self.timing.interval_cycles);
        self.blocks.aes_blocks += 1;
        begin + Cycles::from(self.timing.latency_cycles)
    }

    /// When lines are open that were asked for at a cycle and come at these, in the order in which they come.
    pub fn opened_at(&mut self, asked: Cycles, come: &[Cycles]) -> Cycles {
        let sum = Cycles::from(self.timing.sum_cycles);
        self.blocks.lines += come.len() as u64;
        // What follows from addresses goes first.
        let mut known = [0; LINES_MAX];
        if self.cipher.work() != Work::Block {
            for at in known.iter_mut().take(come.len()) {
                *at = self.pass(asked);
            }
        }
        let mut end = 0;
        for (&come, known) in come.iter().zip(known) {
            let open = match self.cipher.work() {
                Work::Block => self.pass(come),
                Work::Pad => come.max(known) + sum,
                Work::Tweak => self.pass(come.max(known) + sum) + sum,
            };
            end = end.max(open);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When lines are open that come at these cycles, and how many blocks that takes.
    fn opened(work: Work, timing: Timing, come: &[Cycles]) -> (Cycles, u64) {
        let mut unit = Decipher::new(Arc::new(Unsealed(work)), timing);
        (unit.opened_at(0, come), unit.blocks.aes_blocks)
    }

    #[test]
    fn one_line_takes_what_the_paper_and_the_modes_say() {
        let timing = Timing::default();
        assert_eq!(opened(Work::Block, timing, &[80]), (80 + 40, 1));
        assert_eq!(opened(Work::Pad, timing, &[80]), (80 + 1, 1));
        assert_eq!(opened(Work::Tweak, timing, &[80]), (80 + 1 + 40 + 1, 2));
        // A pad that is late is waited for.
        assert_eq!(opened(Work::Pad, Timing { latency_cycles: 168, ..timing }, &[80]), (168 + 1, 1));
    }

    #[test]
    fn blocks_of_a_longer_line_follow_each_other_at_the_interval() {
        let come = [80, 84, 88, 92];
        let one = Timing::default();
        assert_eq!(opened(Work::Block, one, &come), (80 + 4 * 40, 4));
        assert_eq!(opened(Work::Pad, one, &come), (4 * 40 + 1, 4));
        // Four tweaks, and then four lines.
        assert_eq!(opened(Work::Tweak, one, &come), (8 * 40 + 1, 8));
        let pipelined = Timing { interval_cycles: 1, ..one };
        assert_eq!(opened(Work::Block, pipelined, &come), (92 + 40, 4));
        assert_eq!(opened(Work::Pad, pipelined, &come), (92 + 1, 4));
        assert_eq!(opened(Work::Tweak, pipelined, &come), (92 + 1 + 40 + 1, 8));
    }

    #[test]
    fn a_unit_that_is_busy_begins_later() {
        let mut unit = Decipher::new(Arc::new(Unsealed(Work::Block)), Timing::default());
        assert_eq!(unit.opened_at(0, &[10]), 50);
        assert_eq!(unit.opened_at(0, &[20]), 90);
    }
}
