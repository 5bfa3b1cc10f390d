//! AES without authentication: ECB, CBC and CTR (SP 800-38A), whole or in parts.
//!
//! The parameters of `encrypt` and `decrypt`:
//!
//! ```text
//! 0  1  mode   1 ECB, 2 CBC, 3 CBC with PKCS#7's padding (RFC 5652 section 6.3), 4 CTR
//! 1  3  zeros
//! 4  n  ECB: nothing; else 16 bytes, the IV or the first counter block, which counts modulo 2^128
//! ```
//!
//! Only the padded mode takes a message that is not whole blocks, except CTR, which takes any.

use aes::cipher::{
    Array, Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    KeyInit, KeyIvInit, StreamCipher, consts::U16,
};
use aes::{Aes128, Aes192, Aes256};
use subtle::{ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};

use crate::wiped::{Wiped, append};
use crate::wire::Status;

/// Length of a block.
pub const BLOCK_BYTES: usize = 16;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From plaintext.
    Encrypt,
    /// To plaintext.
    Decrypt,
}

/// What a mode does with whole blocks; CTR with any bytes. One after the other continue each other.
trait Mode: Send {
    fn apply(&mut self, bytes: &mut [u8]);
}

struct EcbEncrypt<C>(C);
struct EcbDecrypt<C>(C);
struct CbcEncrypt<C: BlockCipherEncrypt>(cbc::Encryptor<C>);
struct CbcDecrypt<C: BlockCipherDecrypt>(cbc::Decryptor<C>);
struct Ctr<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(ctr::Ctr128BE<C>);

fn blocks(bytes: &mut [u8]) -> &mut [Array<u8, U16>] {
    let (blocks, rest) = Array::slice_as_chunks_mut(bytes);
    debug_assert!(rest.is_empty());
    blocks
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + Send> Mode for EcbEncrypt<C> {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.0.encrypt_blocks(blocks(bytes));
    }
}

impl<C: BlockCipherDecrypt<BlockSize = U16> + Send> Mode for EcbDecrypt<C> {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.0.decrypt_blocks(blocks(bytes));
    }
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + Send> Mode for CbcEncrypt<C> {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.0.encrypt_blocks(blocks(bytes));
    }
}

impl<C: BlockCipherDecrypt<BlockSize = U16> + Send> Mode for CbcDecrypt<C> {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.0.decrypt_blocks(blocks(bytes));
    }
}

impl<C: BlockCipherEncrypt<BlockSize = U16> + Send> Mode for Ctr<C> {
    fn apply(&mut self, bytes: &mut [u8]) {
        self.0.apply_keystream(bytes);
    }
}

/// How the end of a message is treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It may be anywhere.
    Anywhere,
    /// It is that of a block.
    Block,
    /// It is padded to that of a block.
    Padded,
}

/// An encryption or a decryption that is under way.
pub struct Run {
    mode: Box<dyn Mode>,
    end: End,
    direction: Direction,
    /// What does not fill a block yet, or is perhaps the last block and padding.
    held: Wiped,
}

impl Run {
    /// Begins one.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the parameters are not as drawn, [`Status::WrongPurpose`] when the key is not
    /// AES's.
    pub fn begin(key: &[u8], direction: Direction, parameters: &[u8]) -> Result<Run, Status> {
        let (mode, end) = match key.len() {
            16 => begin_with::<Aes128>(key, direction, parameters)?,
            24 => begin_with::<Aes192>(key, direction, parameters)?,
            32 => begin_with::<Aes256>(key, direction, parameters)?,
            _ => return Err(Status::WrongPurpose),
        };
        Ok(Run { mode, end, direction, held: Wiped::default() })
    }

    /// Takes a part of the message, and appends what is ready.
    pub fn update(&mut self, part: &[u8], out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(&self.held);
        append(out, part);
        self.held.clear();
        let whole_bytes = match self.end {
            End::Anywhere => out.len() - from,
            End::Block => (out.len() - from) / BLOCK_BYTES * BLOCK_BYTES,
            End::Padded if self.direction == Direction::Encrypt => {
                (out.len() - from) / BLOCK_BYTES * BLOCK_BYTES
            }
            // The last block is held back until it is known not to be the last.
            End::Padded => (out.len() - from).saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES,
        };
        self.held.extend_from_slice(&out[from + whole_bytes..]);
        crate::wiped::wipe(&mut out[from + whole_bytes..]);
        out.truncate(from + whole_bytes);
        self.mode.apply(&mut out[from..]);
    }

    /// Takes the last part, and appends the rest.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the message does not end where the mode wants it to, [`Status::Rejected`] when
    /// its padding is none.
    pub fn finish(mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        self.update(part, out);
        match (self.end, self.direction) {
            (End::Anywhere, _) => Ok(()),
            (End::Block, _) if self.held.is_empty() => Ok(()),
            (End::Padded, Direction::Encrypt) => {
                let from = out.len();
                let padding = BLOCK_BYTES - self.held.len();
                out.extend_from_slice(&self.held);
                out.resize(from + BLOCK_BYTES, padding as u8);
                self.mode.apply(&mut out[from..]);
                Ok(())
            }
            (End::Padded, Direction::Decrypt) if self.held.len() == BLOCK_BYTES => {
                let from = out.len();
                out.extend_from_slice(&self.held);
                self.mode.apply(&mut out[from..]);
                let plain_bytes = unpadded_bytes(&out[from..]).ok_or(Status::Rejected)?;
                crate::wiped::wipe(&mut out[from + plain_bytes..]);
                out.truncate(from + plain_bytes);
                Ok(())
            }
            (End::Block | End::Padded, _) => Err(Status::WrongParameters),
        }
    }
}

/// How much of the last block is message. Takes the same time for any padding, right or wrong.
fn unpadded_bytes(block: &[u8]) -> Option<usize> {
    let padding = block[BLOCK_BYTES - 1];
    let mut good = !padding.ct_eq(&0) & !padding.ct_gt(&(BLOCK_BYTES as u8));
    for (index, byte) in block.iter().rev().enumerate() {
        let is_padding = padding.ct_gt(&(index as u8));
        good &= byte.ct_eq(&padding) | !is_padding;
    }
    let count = u8::conditional_select(&0, &padding, good);
    bool::from(good).then_some(BLOCK_BYTES - usize::from(count))
}

fn begin_with<C>(key: &[u8], direction: Direction, parameters: &[u8]) -> Result<(Box<dyn Mode>, End), Status>
where
    C: KeyInit
        + BlockCipherEncrypt
        + BlockCipherDecrypt
        + BlockSizeUser<BlockSize = U16>
        + Clone
        + Send
        + 'static,
{
    const WRONG: Status = Status::WrongParameters;
    let (&[mode, 0, 0, 0], iv) = parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
        return Err(WRONG);
    };
    let cipher = C::new_from_slice(key).expect("the key's length chose the cipher");
    let iv = || -> Result<Block<C>, Status> { iv.try_into().map_err(|_| WRONG) };
    let cbc = |end, iv: Block<C>| -> (Box<dyn Mode>, End) {
        use aes::cipher::InnerIvInit;
        match direction {
            Direction::Encrypt => {
                (Box::new(CbcEncrypt(cbc::Encryptor::inner_iv_init(cipher.clone(), &iv))), end)
            }
            Direction::Decrypt => {
                (Box::new(CbcDecrypt(cbc::Decryptor::inner_iv_init(cipher.clone(), &iv))), end)
            }
        }
    };
    Ok(match (mode, direction) {
        (1, _) if parameters.len() != 4 => return Err(WRONG),
        (1, Direction::Encrypt) => (Box::new(EcbEncrypt(cipher)), End::Block),
        (1, Direction::Decrypt) => (Box::new(EcbDecrypt(cipher)), End::Block),
        (2, _) => cbc(End::Block, iv()?),
        (3, _) => cbc(End::Padded, iv()?),
        (4, _) => {
            let ctr = ctr::Ctr128BE::<C>::new_from_slices(key, &iv()?).expect("the lengths were checked");
            (Box::new(Ctr(ctr)), End::Anywhere)
        }
        _ => return Err(WRONG),
    })
}

/// Does a message as a whole.
///
/// # Errors
/// As [`Run::begin`] and [`Run::finish`].
pub fn run(
    key: &[u8],
    direction: Direction,
    parameters: &[u8],
    message: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    Run::begin(key, direction, parameters)?.finish(message, out)
}
