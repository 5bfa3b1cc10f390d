//! AES as the paper has it: one thread (`Basic`), or the rows and columns of one block dealt to several threads that meet at
//! a barrier behind every step (its section 3.2), placed by the system (`Ica`) or by us (`Eca`).
//!
//! This is here to reproduce the paper's tables, and no part of the server uses it: its S-box is a table that secrets
//! index, so its time tells about the key.
//!
//! The rows of SubBytes and ShiftRows are one step, the columns of MixColumns and AddRoundKey the other (figures 6 and 7).
//! The inverse cipher goes the same way. In the key expansion a row needs only its own past, except where RotWord takes the
//! row below; there the threads meet. Row or column n belongs to thread n modulo their number.
//!
//! What the threads share are atomic bytes. None of them is read in the step that writes it by another thread, and the
//! barriers order the steps, so that plain loads and stores suffice.

mod basic;
mod steps;
mod team;

use std::io;

use self::basic::Keys;
use self::team::Team;
use super::Block;

/// How many parts a waveform is cut into (section 3.1).
pub const SUBVECTORS: usize = 4;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Figure 2.
    Encrypt,
    /// Figure 3.
    Decrypt,
}

/// How many threads share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Two rows and two columns each.
    Two,
    /// One row and one column each.
    Four,
}

/// How a thread waits for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// It looks again and again, and gives its turn away when that takes long.
    Spinning,
    /// It sleeps until the last one wakes it.
    Blocking,
}

/// The versions that the paper's tables compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One thread, step by step.
    Basic,
    /// Implicit core assignment: the system places the threads.
    Ica(Threads, Meeting),
    /// Explicit core assignment: each thread is pinned to a core, in turn where there are fewer cores.
    Eca(Threads, Meeting),
}

/// What of a waveform goes to which thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Whole subvectors, each with its own chain (section 3.1).
    Subvectors,
    /// The steps of every block, one block after the other (section 3.2).
    Steps,
}

/// AES in one version, under one key at a time.
pub struct Cipher<'t>(Engine<'t>);

enum Engine<'t> {
    /// Without a key before the first is expanded.
    Basic(Option<Box<Keys>>),
    Team(Team<'t>),
}

/// Makes a cipher, whose threads live until `work` returns.
///
/// # Errors
/// The system refuses a thread, or refuses to pin one.
pub fn with_cipher<R>(version: Version, work: impl FnOnce(&mut Cipher<'_>) -> R) -> io::Result<R> {
    with_cipher_in(version, &|| Ok(()), work)
}

/// Makes a cipher whose threads, the caller's too, call `enter` once they are placed and before they compute: it may
/// put each of them into a scheduling class.
///
/// # Errors
/// The system refuses a thread, or refuses to pin one; those of `enter`.
pub fn with_cipher_in<R>(
    version: Version,
    enter: &(dyn Fn() -> io::Result<()> + Sync),
    work: impl FnOnce(&mut Cipher<'_>) -> R,
) -> io::Result<R> {
    let (threads, meeting, is_pinned) = match version {
        Version::Basic => {
            enter()?;
            return Ok(work(&mut Cipher(Engine::Basic(None))));
        }
        Version::Ica(threads, meeting) => (threads, meeting, false),
        Version::Eca(threads, meeting) => (threads, meeting, true),
    };
    let threads = match threads {
        Threads::Two => 2,
        Threads::Four => 4,
    };
    team::with_team(threads, meeting, is_pinned, enter, |team| work(&mut Cipher(Engine::Team(team))))
}

impl Cipher<'_> {
    /// Expands a key of 16, 24 or 32 bytes, which is the key from then on (figure 4).
    ///
    /// # Panics
    /// When the key has another length.
    pub fn expand(&mut self, key: &[u8]) {
        assert!([16, 24, 32].contains(&key.len()), "a key of {} bytes, expected 16, 24 or 32", key.len());
        match &mut self.0 {
            Engine::Basic(keys) => {
                let mut expanded = Keys::unexpanded(key);
                expanded.expand();
                *keys = Some(Box::new(expanded));
            }
            Engine::Team(team) => team.expand(key),
        }
    }

    /// Encrypts or decrypts one block (figures 2 and 3).
    ///
    /// # Panics
    /// When no key was expanded.
    pub fn crypt(&mut self, direction: Direction, block: &mut Block) {
        match &mut self.0 {
            Engine::Basic(keys) => keys.as_ref().expect("a key was expanded").crypt(direction, block),
            Engine::Team(team) => team.crypt(direction, block),
        }
    }

    /// Encrypts or decrypts a waveform in CBC mode, in four subvectors with a chain each (sections 3.1 and 5). The paper's
    /// waveform of 1024 samples of 32 bits is 256 blocks; of other lengths the last subvectors are the shorter ones.
    ///
    /// # Panics
    /// When no key was expanded.
    pub fn crypt_waveform(
        &mut self,
        direction: Direction,
        split: Split,
        ivs: &[Block; SUBVECTORS],
        blocks: &mut [Block],
    ) {
        let length = blocks.len().div_ceil(SUBVECTORS).max(1);
        let parts = ivs.iter().zip(blocks.chunks_mut(length));
        match &mut self.0 {
            Engine::Team(team) if split == Split::Subvectors => team.crypt_subvectors(direction, parts),
            _ => parts.for_each(|(iv, blocks)| {
                chain(direction, iv, blocks, |block| self.crypt(direction, block));
            }),
        }
    }
}

/// Cipher block chaining (SP 800-38A section 6.2).
fn chain(direction: Direction, iv: &Block, blocks: &mut [Block], mut crypt: impl FnMut(&mut Block)) {
    let mut last = *iv;
    for block in blocks {
        let before = *block;
        if direction == Direction::Encrypt {
            add(block, &last);
        }
        crypt(block);
        if direction == Direction::Decrypt {
            add(block, &last);
        }
        last = if direction == Direction::Encrypt { *block } else { before };
    }
}

fn add(block: &mut Block, other: &Block) {
    block.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
}
