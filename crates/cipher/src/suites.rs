//! The suites: one line each in [`SUITES`], and one keyed object, [`Aead`], that seals and opens in place.
//!
//! The ciphers are libraries: `ascon-aead` (SP 800-232), `ccm` over `aes` (SP 800-38C), `ring`'s AES-GCM
//! (SP 800-38D), `cbc` over `aes` (SP 800-38A). To add one, add its line and follow the compiler.
//!
//! `ring` has BoringSSL's GCM for VAES with AVX2; AWS-LC and OpenSSL have theirs for AVX-512 only. Cycles per byte of 64 KiB
//! with AES-128: on a Zen 3, which has no AVX-512, BoringSSL 0.39, AWS-LC and OpenSSL 0.76 (`ring` was not measured there);
//! on an EPYC that has it, `ring` 0.36, AWS-LC 0.30, OpenSSL 3.0 0.75, `aes-gcm` 1.36.
//! `cargo bench -p collect --bench aes` compares them.
//!
//! A legacy suite without a tag authenticates nothing: it is here to reproduce what was done before, whoever opens a message
//! under it marks what it says, and everything that names one asks whether it may ([`Row::is_legacy`]).
//!
//! Invariant: after a failed open the buffer holds zeros, never unauthenticated plaintext. Only under a suite without a tag
//! does none fail but one that is no whole blocks.

use std::fmt;
use std::mem::{MaybeUninit, needs_drop};
use std::str::FromStr;

use aes::cipher::{Array, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit};
use aes::{Aes128, Block};
use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use ccm::Ccm;
use ccm::consts::{U8, U13};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::{Zeroize, zeroize_stack};

use crate::error::{Error, Rejected};
use crate::limits::TAG_BYTES_MAX;

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Suite {
    /// Ascon-AEAD128, NIST SP 800-232. The default of the node link.
    AsconAead128,
    /// AES-128-CCM with a nonce of 13 bytes and a tag of 8, as radio chips do it (RFC 3610, L = 2, M = 8).
    Aes128Ccm,
    /// AES-256-GCM with a nonce of 12 bytes. Everything above the gateway.
    Aes256Gcm,
    /// LEGACY: AES-128-CBC without a tag, of whole blocks. The initialisation vector is the nonce, encrypted under the key, so
    /// that nobody can tell it before (SP 800-38A appendix C).
    Aes128Cbc,
}

/// One line of the suite table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Which suite.
    pub suite: Suite,
    /// Its number in the node frame, 1 to 15; never reused. `None`: not spoken on the node link.
    pub node_number: Option<u8>,
    /// Its name in deployments, reports and `firmware/crypto`.
    pub name: &'static str,
    /// Key length.
    pub key_bytes: usize,
    /// Nonce length.
    pub nonce_bytes: usize,
    /// Tag length.
    pub tag_bytes: usize,
    /// Longest plaintext.
    pub message_bytes_max: u64,
    /// Plaintexts are whole blocks of so many bytes.
    pub block_bytes: usize,
    /// Here to reproduce what was done before; refused where it is not allowed.
    pub is_legacy: bool,
}

impl Row {
    /// Whether what is opened under it was sealed by who has the key.
    pub const fn is_authenticated(&self) -> bool {
        self.tag_bytes > 0
    }
}

/// Every suite, in the order of [`Suite`]. Node numbers 14 and 15 are kept for RC5 and RC4 with a MAC.
#[rustfmt::skip]
pub const SUITES: [Row; 4] = [
    row(Suite::AsconAead128, Some(1),  "ascon-aead128", 16, 16, 16, u64::MAX),
    row(Suite::Aes128Ccm,    Some(2),  "aes-128-ccm",   16, 13,  8, (1 << 16) - 1),
    row(Suite::Aes256Gcm,    None,     "aes-256-gcm",   32, 12, 16, (1 << 36) - 32),
    Row { block_bytes: 16, is_legacy: true,
        ..row(Suite::Aes128Cbc, Some(13), "aes-128-cbc", 16, 16, 0, u64::MAX) },
];

const fn row(
    suite: Suite,
    node_number: Option<u8>,
    name: &'static str,
    key_bytes: usize,
    nonce_bytes: usize,
    tag_bytes: usize,
    message_bytes_max: u64,
) -> Row {
    let (block_bytes, is_legacy) = (1, false);
    Row {
        suite,
        node_number,
        name,
        key_bytes,
        nonce_bytes,
        tag_bytes,
        message_bytes_max,
        block_bytes,
        is_legacy,
    }
}

impl Suite {
    /// The suite's line of [`SUITES`].
    pub const fn row(self) -> &'static Row {
        &SUITES[self as usize]
    }

    /// The suite that a node frame's low nibble names, if there is one.
    pub fn from_node_number(number: u8) -> Option<Suite> {
        SUITES.iter().find(|row| row.node_number == Some(number)).map(|row| row.suite)
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.row().name)
    }
}

impl FromStr for Suite {
    type Err = Error;

    fn from_str(name: &str) -> Result<Suite, Error> {
        let row = SUITES.iter().find(|row| row.name == name);
        row.map(|row| row.suite).ok_or_else(|| Error::UnknownSuite { found: name.to_owned() })
    }
}

/// A tag, as long as its suite says. It travels in the clear.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    bytes: [u8; TAG_BYTES_MAX],
    length: usize,
}

impl Tag {
    fn new(tag: &[u8]) -> Tag {
        let mut bytes = [0; TAG_BYTES_MAX];
        bytes[..tag.len()].copy_from_slice(tag);
        Tag { bytes, length: tag.len() }
    }
}

impl AsRef<[u8]> for Tag {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tag(")?;
        self.as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// A suite with its key set up. Behind boxes, so that moving one leaves no copy of a key schedule behind.
enum Engine {
    Ascon(Box<AsconAead128>),
    Ccm(Box<Ccm<Aes128, U8, U13>>),
    Gcm(GcmKey),
    Cbc(Box<Aes128>),
}

/// A key of `ring`, which wipes none: its memory is overwritten when it is dropped, and the stack where it was set up is as
/// well. It holds nothing by pointer but constants of the library.
struct GcmKey(Box<MaybeUninit<LessSafeKey>>);

/// More stack than setting up a key takes: some copies of it, of 700 bytes each.
const GCM_STACK_BYTES: usize = 8192;

const _: () = assert!(!needs_drop::<LessSafeKey>(), "a key that owns memory is not wiped by overwriting it");

impl GcmKey {
    fn new(key: &[u8]) -> Option<GcmKey> {
        let key = GcmKey::set_up(key);
        zeroize_stack::<GCM_STACK_BYTES>();
        key
    }

    /// Never inlined: what it leaves on the stack lies where the caller has nothing.
    #[inline(never)]
    fn set_up(key: &[u8]) -> Option<GcmKey> {
        let key = UnboundKey::new(&AES_256_GCM, key).ok()?;
        Some(GcmKey(Box::new(MaybeUninit::new(LessSafeKey::new(key)))))
    }

    #[allow(unsafe_code)]
    fn get(&self) -> &LessSafeKey {
        // SAFETY: it is written in `set_up`, and wiped only when nobody can ask any more.
        unsafe { self.0.assume_init_ref() }
    }
}

impl Drop for GcmKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Seals and opens messages of one suite under one key. The key is wiped when it is dropped.
pub struct Aead {
    suite: Suite,
    engine: Engine,
}

impl Aead {
    /// Sets up `key`.
    ///
    /// # Panics
    /// When `key` has not the length that the suite's row says.
    pub fn new(suite: Suite, key: &[u8]) -> Aead {
        const LENGTH: &str = "the key's length is the suite's";
        let engine = match suite {
            Suite::AsconAead128 => Engine::Ascon(Box::new(AsconAead128::new_from_slice(key).expect(LENGTH))),
            Suite::Aes128Ccm => Engine::Ccm(Box::new(Ccm::new_from_slice(key).expect(LENGTH))),
            Suite::Aes256Gcm => Engine::Gcm(GcmKey::new(key).expect(LENGTH)),
            Suite::Aes128Cbc => Engine::Cbc(Box::new(Aes128::new_from_slice(key).expect(LENGTH))),
        };
        Aead { suite, engine }
    }

    /// The suite.
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// Encrypts `buffer` in place and returns the tag over it, `nonce` and `associated_data`.
    ///
    /// Never call it twice with one nonce: the [`nonces`](crate::nonces) keep that rule.
    ///
    /// # Panics
    /// When `nonce` has not the suite's length or `buffer` is longer than the suite allows, or no whole blocks of it.
    pub fn seal(&self, nonce: &[u8], associated_data: &[u8], buffer: &mut [u8]) -> Tag {
        self.check_nonce(nonce);
        assert!(self.fits(buffer), "a message of {} bytes does not fit {}", buffer.len(), self.suite);
        const LENGTHS: &str = "lengths were checked";
        match &self.engine {
            Engine::Ascon(ascon) => {
                let nonce = nonce.try_into().expect(LENGTHS);
                let tag = ascon.encrypt_inout_detached(nonce, associated_data, buffer.into());
                Tag::new(&tag.expect(LENGTHS))
            }
            Engine::Ccm(ccm) => {
                let nonce = nonce.try_into().expect(LENGTHS);
                let tag = ccm.encrypt_inout_detached(nonce, associated_data, buffer.into());
                Tag::new(&tag.expect(LENGTHS))
            }
            Engine::Gcm(gcm) => {
                let nonce = Nonce::try_assume_unique_for_key(nonce).expect(LENGTHS);
                let tag = gcm.get().seal_in_place_separate_tag(nonce, Aad::from(associated_data), buffer);
                Tag::new(tag.expect(LENGTHS).as_ref())
            }
            Engine::Cbc(aes) => {
                let mut cbc = cbc::Encryptor::inner_iv_init(&**aes, &iv(aes, nonce));
                cbc.encrypt_blocks(Array::slice_as_chunks_mut(buffer).0);
                Tag::new(&[])
            }
        }
    }

    /// Decrypts `buffer` in place.
    ///
    /// # Errors
    /// [`Rejected`] when `tag` has not the suite's length or does not match, or `buffer` is no whole blocks; it is zeros then.
    ///
    /// # Panics
    /// When `nonce` has not the suite's length.
    pub fn open(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        self.check_nonce(nonce);
        let opened = if tag.len() == self.suite.row().tag_bytes && self.fits(buffer) {
            self.open_checked(nonce, associated_data, buffer, tag)
        } else {
            Err(Rejected)
        };
        if opened.is_err() {
            // The libraries wipe too; the invariant should not hang on all three of them.
            buffer.zeroize();
        }
        opened
    }

    /// [`seal`](Self::seal) for what lies at `message[from..]`, with the tag appended.
    ///
    /// # Panics
    /// As `seal`, and when `from` is beyond the end.
    pub fn seal_tail(&self, nonce: &[u8], associated_data: &[u8], message: &mut Vec<u8>, from: usize) {
        let tag = self.seal(nonce, associated_data, &mut message[from..]);
        message.extend_from_slice(tag.as_ref());
    }

    /// [`open`](Self::open) for ciphertext with the tag behind it; returns the plaintext, without the tag.
    ///
    /// # Errors
    /// [`Rejected`] also when `sealed` is shorter than a tag.
    ///
    /// # Panics
    /// When `nonce` has not the suite's length.
    pub fn open_tail<'a>(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        sealed: &'a mut [u8],
    ) -> Result<&'a mut [u8], Rejected> {
        let Some(length) = sealed.len().checked_sub(self.suite.row().tag_bytes) else {
            sealed.zeroize();
            return Err(Rejected);
        };
        let (buffer, tag) = sealed.split_at_mut(length);
        self.open(nonce, associated_data, buffer, tag)?;
        Ok(buffer)
    }

    fn open_checked(
        &self,
        nonce: &[u8],
        associated_data: &[u8],
        buffer: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        const LENGTHS: &str = "lengths were checked";
        match &self.engine {
            Engine::Ascon(ascon) => {
                let (nonce, tag) = (nonce.try_into().expect(LENGTHS), tag.try_into().expect(LENGTHS));
                let opened = ascon.decrypt_inout_detached(nonce, associated_data, buffer.into(), tag);
                opened.map_err(|_| Rejected)
            }
            Engine::Ccm(ccm) => {
                let (nonce, tag) = (nonce.try_into().expect(LENGTHS), tag.try_into().expect(LENGTHS));
                let opened = ccm.decrypt_inout_detached(nonce, associated_data, buffer.into(), tag);
                opened.map_err(|_| Rejected)
            }
            Engine::Gcm(gcm) => {
                let nonce = Nonce::try_assume_unique_for_key(nonce).expect(LENGTHS);
                let (associated_data, tag) = (Aad::from(associated_data), tag.try_into().expect(LENGTHS));
                let opened = gcm.get().open_in_place_separate_tag(nonce, associated_data, tag, buffer, 0..);
                opened.map(|_| ()).map_err(|_| Rejected)
            }
            Engine::Cbc(aes) => {
                let mut cbc = cbc::Decryptor::inner_iv_init(&**aes, &iv(aes, nonce));
                cbc.decrypt_blocks(Array::slice_as_chunks_mut(buffer).0);
                Ok(())
            }
        }
    }

    fn check_nonce(&self, nonce: &[u8]) {
        let expected = self.suite.row().nonce_bytes;
        assert!(
            nonce.len() == expected,
            "a nonce of {} bytes for {}, not {expected}",
            nonce.len(),
            self.suite
        );
    }

    fn fits(&self, buffer: &[u8]) -> bool {
        let row = self.suite.row();
        buffer.len() as u64 <= row.message_bytes_max && buffer.len().is_multiple_of(row.block_bytes)
    }
}

/// The initialisation vector that follows from a nonce.
fn iv(aes: &Aes128, nonce: &[u8]) -> Block {
    let mut iv: Block = nonce.try_into().expect("the length was checked");
    aes.encrypt_block(&mut iv);
    iv
}

impl fmt::Debug for Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aead({}, ..)", self.suite)
    }
}
