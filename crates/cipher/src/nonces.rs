//! The nonce rules: two that are computed by both ends of the node link, and a source for AES-GCM.
//!
//! Computed nonces are never sent. Integers in them are little-endian.
//!
//! Invariant: no two messages under one key have one nonce. On the node link that is the node's counter,
//! reserved before it is used; in GCM it is the [`NonceSource`]'s.

use std::io;

use crate::limits::NONCES_PER_PREFIX;

/// The nonce of a node frame: `iv XOR (node 4 | epoch 1 | counter 4 | zeros 7)`.
///
/// Bit 31 of `counter` is the direction, so that the two ends never make the same nonce. A suite with a
/// shorter nonce takes its first bytes.
pub fn node_nonce(iv: &[u8; 16], node: u32, epoch: u8, counter: u32) -> [u8; 16] {
    let mut nonce = *iv;
    let public = node.to_le_bytes().into_iter().chain([epoch]).chain(counter.to_le_bytes());
    for (byte, mask) in nonce.iter_mut().zip(public) {
        *byte ^= mask;
    }
    nonce
}

/// The nonce of a beacon: `cell 2 | superframe 4 | zeros 10`.
pub fn beacon_nonce(cell: u16, superframe: u32) -> [u8; 16] {
    let mut nonce = [0; 16];
    nonce[..2].copy_from_slice(&cell.to_le_bytes());
    nonce[2..6].copy_from_slice(&superframe.to_le_bytes());
    nonce
}

/// Where random bytes come from: the operating system, or a seed in a test.
pub trait Randomness {
    /// Overwrites `bytes`.
    ///
    /// # Errors
    /// When there is no randomness to be had; `bytes` must not be used then.
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsRandomness;

impl Randomness for OsRandomness {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes)
            .map_err(|cause| io::Error::other(format!("the operating system gave no random bytes: {cause}")))
    }
}

/// Nonces for AES-GCM: `8 random bytes | counter 4`, with a fresh prefix at start and before the counter
/// would wrap. Needs no memory across restarts, where a bare counter would.
///
/// Two sources under one key collide when they draw the same prefix: for a key that sees 2^16 prefixes the
/// chance is below 2^-32, the bound that SP 800-38D section 8 sets.
#[derive(Debug)]
pub struct NonceSource<R = OsRandomness> {
    prefix: [u8; 8],
    used: u64,
    randomness: R,
}

impl<R: Randomness> NonceSource<R> {
    /// A source with a first prefix from `randomness`.
    ///
    /// # Errors
    /// What `randomness` says.
    pub fn new(mut randomness: R) -> io::Result<Self> {
        let mut prefix = [0; 8];
        randomness.fill(&mut prefix)?;
        Ok(NonceSource { prefix, used: 0, randomness })
    }

    /// The next nonce. Not named `next` because it is no iterator: it never ends, and it can fail.
    ///
    /// # Errors
    /// What the randomness says when a fresh prefix is due. The source stays usable and asks again.
    pub fn draw(&mut self) -> io::Result<[u8; 12]> {
        if self.used == NONCES_PER_PREFIX {
            let mut prefix = [0; 8];
            self.randomness.fill(&mut prefix)?;
            (self.prefix, self.used) = (prefix, 0);
        }
        let counter = u32::try_from(self.used).expect("used is below 2^32 here");
        self.used += 1;
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&self.prefix);
        nonce[8..].copy_from_slice(&counter.to_le_bytes());
        Ok(nonce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the prefixes of a list, then fails.
    struct Listed(Vec<u8>);

    impl Randomness for Listed {
        fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
            bytes.fill(self.0.pop().ok_or_else(|| io::Error::other("dry"))?);
            Ok(())
        }
    }

    #[test]
    fn a_full_counter_asks_for_a_fresh_prefix_before_it_wraps() {
        let mut source = NonceSource::new(Listed(vec![2, 1])).unwrap();
        source.used = NONCES_PER_PREFIX - 1;
        assert_eq!(source.draw().unwrap(), [1, 1, 1, 1, 1, 1, 1, 1, 255, 255, 255, 255]);
        assert_eq!(source.draw().unwrap(), [2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0]);
        source.used = NONCES_PER_PREFIX;
        assert!(source.draw().is_err());
        assert!(source.draw().is_err(), "a failed refresh must not reopen the old prefix");
        source.randomness = Listed(vec![3]);
        assert_eq!(source.draw().unwrap()[..8], [3; 8]);
    }
}
