//! Key expansion in threads (section 3.2, figure 4): each row of the round keys' words belongs to one of them, and they meet
//! wherever a word takes the row below. Beside it one thread, and what setting up a key takes today.

use std::io;
use std::time::Instant;

use collect::aes::intra::{Direction, with_cipher_in};
use collect::aes::{Backend, Block, Key, block};

use super::cells::{How, KEY_BYTES, aes, hows_of_block};
use super::class::Class;
use super::measure::{Material, alone, refused};
use super::statistics::Spread;
use super::watch::{Effort, measure_alone};

/// A key of such a length, expanded in such a way and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its length.
    pub key_bytes: usize,
    /// The way.
    pub how: How,
    /// The class of all its threads.
    pub class: Class,
}

/// A case with the calls of a repetition and what each took, or why there is nothing.
pub struct Result {
    /// Which.
    pub case: Case,
    /// What.
    pub found: std::result::Result<(usize, Spread), String>,
}

impl Case {
    /// All of them: the ways of table 1. By deadlines spinning says nothing, as there.
    pub fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for class in Class::ALL {
            for key_bytes in KEY_BYTES {
                let hows = hows_of_block().into_iter().filter(|how| class != Class::Deadline || !how.spins());
                cases.extend(hows.map(|how| Case { key_bytes, how, class }));
            }
        }
        cases
    }

    /// Its name in rows.
    pub fn name(&self) -> String {
        format!("{}, a key, {}, {}", aes(self.key_bytes), self.how.words(), self.class.name())
    }
}

/// How often the threads of an expansion meet: when it begins, for each word that is rotated, and when it ends.
pub fn meetings(key_bytes: usize) -> usize {
    let (key_words, words) = (key_bytes / 4, 4 * (key_bytes / 4 + 7));
    2 + (words - 1) / key_words
}

/// Measures a case.
///
/// # Panics
/// When a block under the expanded key becomes something else than by the CPU's own instructions.
pub fn expansion(case: &Case, material: &Material, effort: &Effort) -> Result {
    let found = alone(|| expand(case, material.key(case.key_bytes), effort));
    Result { case: *case, found: found.map_err(|error| refused(&error)) }
}

fn expand(case: &Case, key: &[u8], effort: &Effort) -> io::Result<(usize, Spread)> {
    let backend = Backend::best();
    let encrypted = |key: &Key| {
        let mut block = Block::default();
        block::ecb_encrypt(backend, key, &mut block);
        block
    };
    let expected = encrypted(&Key::new(backend, key));
    let times = |expand: &mut dyn FnMut()| {
        let begin = Instant::now();
        expand();
        measure_alone(effort, begin.elapsed(), expand)
    };
    let (times, found) = match case.how {
        How::Paper(version, _) => with_cipher_in(version, &|| case.class.enter(), |cipher| {
            let times = times(&mut || cipher.expand(key));
            let mut block = Block::default();
            cipher.crypt(Direction::Encrypt, &mut block);
            (times, block)
        })?,
        How::Lanes | How::Cores => {
            case.class.enter()?;
            let mut expanded = Key::new(backend, key);
            let times = times(&mut || expanded = Key::new(backend, key));
            (times, encrypted(&expanded))
        }
    };
    assert!(found == expected, "{} expands to another key", case.name());
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_waits_for_the_row_below_once_for_each_rotated_word() {
        // Of 40, 46 and 52 words behind the key's own every fourth, sixth and eighth is rotated.
        assert_eq!(KEY_BYTES.map(meetings), [2 + 10, 2 + 8, 2 + 7]);
    }
}
