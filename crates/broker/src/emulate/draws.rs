//! Numbers from a seed, for what is simulated. No secret comes from here.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", figure 5).
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// The draws of this seed.
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed)
    }

    /// The next one.
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound.max(1) as u64) as usize
    }

    /// Whether something happens that happens at this rate, from 0 to 1.
    pub(crate) fn strikes(&mut self, rate: f64) -> bool {
        (self.draw() >> 11) as f64 / ((1u64 << 53) as f64) < rate
    }

    /// So many bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count.next_multiple_of(8));
        while bytes.len() < count {
            bytes.extend_from_slice(&self.draw().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }
}
