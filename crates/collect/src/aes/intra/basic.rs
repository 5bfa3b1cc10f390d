//! The version `Basic`: one thread, and one step after the other over the whole state, as the paper's figures 2 to 4 have it.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::steps::{INVERSE_S_BOX, S_BOX, add, double, inverse_mix, mix};
use super::{Block, Direction};

/// Room for the words of the longest expanded key.
pub(super) const WORDS_MAX: usize = 4 * 15;

/// An expanded key, W of the figures. Wiped when it is dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct Keys {
    pub(super) words: [[u8; 4]; WORDS_MAX],
    pub(super) rounds: usize,
}

/// State row r, column c is `[c][r]`: the bytes of a block in their order.
type State = [[u8; 4]; 4];

impl Keys {
    /// The key itself, with room for what is expanded from it.
    pub(super) fn unexpanded(key: &[u8]) -> Keys {
        let mut keys = Keys { words: [[0; 4]; WORDS_MAX], rounds: key.len() / 4 + 6 };
        keys.words.as_flattened_mut()[..key.len()].copy_from_slice(key);
        keys
    }

    /// How many words the key itself has.
    pub(super) fn key_words(&self) -> usize {
        self.rounds - 6
    }

    /// Figure 4.
    pub(super) fn expand(&mut self) {
        let key_words = self.key_words();
        let mut constant = 1;
        for i in key_words..4 * (self.rounds + 1) {
            let mut word = self.words[i - 1];
            if i % key_words == 0 {
                word.rotate_left(1);
                word = word.map(|byte| S_BOX[usize::from(byte)]);
                word[0] ^= constant;
                constant = double(constant);
            } else if key_words > 6 && i % key_words == 4 {
                word = word.map(|byte| S_BOX[usize::from(byte)]);
            }
            self.words[i] = add(self.words[i - key_words], word);
        }
    }

    /// Figures 2 and 3.
    pub(super) fn crypt(&self, direction: Direction, block: &mut Block) {
        let mut state = State::default();
        state.as_flattened_mut().copy_from_slice(block);
        match direction {
            Direction::Encrypt => self.encrypt(&mut state),
            Direction::Decrypt => self.decrypt(&mut state),
        }
        block.copy_from_slice(state.as_flattened());
    }

    fn encrypt(&self, state: &mut State) {
        self.add_round_key(state, 0);
        for round in 1..self.rounds {
            sub_bytes(state);
            shift_rows(state);
            *state = state.map(mix);
            self.add_round_key(state, round);
        }
        sub_bytes(state);
        shift_rows(state);
        self.add_round_key(state, self.rounds);
    }

    fn decrypt(&self, state: &mut State) {
        self.add_round_key(state, self.rounds);
        for round in (1..self.rounds).rev() {
            inverse_shift_rows(state);
            inverse_sub_bytes(state);
            self.add_round_key(state, round);
            *state = state.map(inverse_mix);
        }
        inverse_shift_rows(state);
        inverse_sub_bytes(state);
        self.add_round_key(state, 0);
    }

    fn add_round_key(&self, state: &mut State, round: usize) {
        for (column, key) in state.iter_mut().zip(&self.words[4 * round..]) {
            *column = add(*column, *key);
        }
    }
}

fn sub_bytes(state: &mut State) {
    state.as_flattened_mut().iter_mut().for_each(|byte| *byte = S_BOX[usize::from(*byte)]);
}

fn inverse_sub_bytes(state: &mut State) {
    state.as_flattened_mut().iter_mut().for_each(|byte| *byte = INVERSE_S_BOX[usize::from(*byte)]);
}

fn shift_rows(state: &mut State) {
    let before = *state;
    for (column, after) in state.iter_mut().enumerate() {
        *after = std::array::from_fn(|row| before[(column + row) % 4][row]);
    }
}

fn inverse_shift_rows(state: &mut State) {
    let before = *state;
    for (column, after) in state.iter_mut().enumerate() {
        *after = std::array::from_fn(|row| before[(column + 4 - row) % 4][row]);
    }
}
