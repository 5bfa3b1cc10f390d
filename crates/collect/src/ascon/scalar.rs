//! Ascon's permutation (SP 800-232 section 3) on one state, and its constants.

use crate::ascon::lanes::{BLOCK_BYTES, Direction, Permutation, State, word};

/// The constants of the twelve rounds; a permutation of eight takes the last eight (section 3.2).
pub(super) const CONSTANTS: [u64; 12] =
    [0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x78, 0x69, 0x5a, 0x4b];
/// How many of them the permutation of twelve has before the one of eight.
pub(super) const FIRST: usize = 4;

/// One state at a time.
pub(super) struct Scalar;

impl Permutation<1> for Scalar {
    fn permute(&self, state: &mut State<1>, [twelve]: &[u64; 1]) {
        let mut words = state.0.map(|[word]| word);
        if *twelve != 0 {
            CONSTANTS[..FIRST].iter().for_each(|&constant| round(&mut words, constant));
        }
        eight(&mut words);
        state.0 = words.map(|word| [word]);
    }

    fn blocks(&self, direction: Direction, state: &mut State<1>, [data]: [&mut [u8]; 1]) {
        let mut words = state.0.map(|[word]| word);
        for block in data.as_chunks_mut::<BLOCK_BYTES>().0 {
            for (half, state) in block.as_chunks_mut::<8>().0.iter_mut().zip(&mut words) {
                let (taken, given) = (word(half), word(half) ^ *state);
                *half = given.to_le_bytes();
                *state = match direction {
                    Direction::Seal => given,
                    Direction::Open => taken,
                };
            }
            eight(&mut words);
        }
        state.0 = words.map(|word| [word]);
    }
}

#[inline]
fn eight(words: &mut [u64; 5]) {
    CONSTANTS[FIRST..].iter().for_each(|&constant| round(words, constant));
}

#[inline]
fn round(words: &mut [u64; 5], constant: u64) {
    let [mut x0, mut x1, mut x2, mut x3, mut x4] = *words;
    x2 ^= constant;
    x0 ^= x4;
    x4 ^= x3;
    x2 ^= x1;
    let [t0, t1, t2, t3, t4] = [!x0 & x1, !x1 & x2, !x2 & x3, !x3 & x4, !x4 & x0];
    x0 ^= t1;
    x1 ^= t2;
    x2 ^= t3;
    x3 ^= t4;
    x4 ^= t0;
    x1 ^= x0;
    x0 ^= x4;
    x3 ^= x2;
    x2 = !x2;
    *words = [
        x0 ^ x0.rotate_right(19) ^ x0.rotate_right(28),
        x1 ^ x1.rotate_right(61) ^ x1.rotate_right(39),
        x2 ^ x2.rotate_right(1) ^ x2.rotate_right(6),
        x3 ^ x3.rotate_right(10) ^ x3.rotate_right(17),
        x4 ^ x4.rotate_right(7) ^ x4.rotate_right(41),
    ];
}
