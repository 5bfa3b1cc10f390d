//! xorshift64* from a seed that is printed, for tests that need no more than numbers.

/// Its state, which is not zero.
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

/// `SELVEDGE_SEED`, or else the time.
pub fn seed() -> u64 {
    let given =
        std::env::var("SELVEDGE_SEED").ok().map(|text| text.parse().expect("SELVEDGE_SEED is a number"));
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = given.unwrap_or_else(|| time.map_or(1, |time| time.as_nanos() as u64)) | 1;
    println!("SELVEDGE_SEED={seed}");
    seed
}
