//! The official test vectors, as text in `crates/cipher/vectors/`, and their one reader.
//!
//! `vectors/README.md` says where each file comes from. The files are blocks of `Field = hex` lines with an
//! empty line between blocks; `#` begins a comment. `CT` is ciphertext and tag, as NIST's lightweight
//! cryptography files have it. Other crates test against these constants; nobody keeps vectors of their own.
//!
//! Whole collections of NIST's and Wycheproof's are one compressed file of the same form, `data/vectors/`, which
//! [`official`] unpacks.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

use crate::suites::Suite;

/// The known answers of NIST's lightweight cryptography files for Ascon-AEAD128.
pub const ASCON_AEAD128: &str = include_str!("../vectors/ascon_aead128.kat");
/// RFC 3610 and NIST's validation vectors for AES-128-CCM with a nonce of 13 bytes and a tag of 8.
pub const AES_128_CCM: &str = include_str!("../vectors/aes_128_ccm.kat");
/// NIST's validation vectors and Wycheproof's for AES-256-GCM.
pub const AES_256_GCM: &str = include_str!("../vectors/aes_256_gcm.kat");
/// RFC 5869 and Wycheproof's vectors for HKDF-SHA256.
pub const HKDF_SHA256: &str = include_str!("../vectors/hkdf_sha256.kat");
/// RFC 6229, RC4.
pub const RC4: &str = include_str!("../vectors/rc4.kat");
/// RFC 2040, RC5 with words of 32 bits, 12 rounds and a key of 8 bytes.
pub const RC5_32_12: &str = include_str!("../vectors/rc5_32_12.kat");
/// SP 800-38A and RFC 3686, AES-128 in counter mode.
pub const AES_128_CTR: &str = include_str!("../vectors/aes_128_ctr.kat");
/// NIST's Monte Carlo tests of AES in CBC: `Direction`, what each begins with, and all results. For [`blocks`].
pub const AES_CBC_MONTE_CARLO: &str = include_str!("../vectors/aes_cbc_monte_carlo.kat");
/// IEEE 1619, XTS-AES-128: `Unit` is the data unit's number, lowest byte first. For [`blocks`].
pub const AES_128_XTS: &str = include_str!("../vectors/aes_128_xts.kat");
/// RFC 3394, AES key wrap. For [`blocks`].
pub const AES_KW: &str = include_str!("../vectors/aes_kw.kat");
/// RFC 8439, ChaCha20.
pub const CHACHA20: &str = include_str!("../vectors/chacha20.kat");
/// NIST's validation vectors for TDES in ECB mode; a key of 8 bytes is DES's own. For [`crypt`].
pub const TDES_ECB: &str = include_str!("../vectors/tdes_ecb.kat");
/// NIST's validation vectors for SHA-1: `Msg` and `MD`. For [`blocks`].
pub const SHA1: &str = include_str!("../vectors/sha1.kat");
/// RFC 1321, MD5: `Msg` and `MD`. For [`blocks`].
pub const MD5: &str = include_str!("../vectors/md5.kat");
/// RFC 2202, HMAC-SHA-1: `Key`, `Msg` and `Tag`. For [`blocks`].
pub const HMAC_SHA1: &str = include_str!("../vectors/hmac_sha1.kat");
/// RFC 2202, HMAC-MD5: `Key`, `Msg` and `Tag`. For [`blocks`].
pub const HMAC_MD5: &str = include_str!("../vectors/hmac_md5.kat");
/// Check values of sums with polynomial 0x1021.
pub const CRC16: &str = include_str!("../vectors/crc16.kat");

/// `data/vectors/official.kat.gz`.
const OFFICIAL: &[u8] = include_bytes!("../../../data/vectors/official.kat.gz");

/// Everything in `data/vectors/official.kat.gz`, for [`blocks`]: groups of vectors, each behind a block of `Kind`,
/// `Source` and `File`. A block of `Left` and `Why` says how many of a group were left out. Some 13 MB, which are kept.
pub fn official() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut text = String::new();
        GzDecoder::new(OFFICIAL).read_to_string(&mut text).expect("the committed file is sound");
        text
    });
    &TEXT
}

/// One vector of an authenticated cipher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AeadVector {
    /// Its line in its file, for the message of a failing test.
    pub line: usize,
    /// `Key`.
    pub key: Vec<u8>,
    /// `Nonce`.
    pub nonce: Vec<u8>,
    /// `AD`.
    pub associated_data: Vec<u8>,
    /// `CT`: ciphertext, then tag.
    pub sealed: Vec<u8>,
    /// `PT`; `None` when opening must fail (`Result = FAIL`).
    pub plaintext: Option<Vec<u8>>,
}

/// One vector of HKDF-SHA256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HkdfVector {
    /// Its line in its file.
    pub line: usize,
    /// `IKM`, the input keying material.
    pub ikm: Vec<u8>,
    /// `Salt`.
    pub salt: Vec<u8>,
    /// `Info`.
    pub info: Vec<u8>,
    /// `OKM`, the output keying material.
    pub okm: Vec<u8>,
}

/// One vector of a cipher without authentication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptVector {
    /// Its line in its file.
    pub line: usize,
    /// `Key`.
    pub key: Vec<u8>,
    /// `IV`: the first counter block, or counter and nonce; empty for a cipher without.
    pub nonce: Vec<u8>,
    /// `Skip`: bytes of key stream that come before.
    pub skipped_bytes: usize,
    /// `PT`.
    pub plaintext: Vec<u8>,
    /// `CT`.
    pub ciphertext: Vec<u8>,
}

/// One vector of a CRC-16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumVector {
    /// Its line in its file.
    pub line: usize,
    /// `Initial`, the sum of nothing.
    pub initial: u16,
    /// `Data`.
    pub data: Vec<u8>,
    /// `Sum`.
    pub sum: u16,
}

/// All vectors of `suite`.
pub fn aead(suite: Suite) -> Vec<AeadVector> {
    let text = match suite {
        Suite::AsconAead128 => ASCON_AEAD128,
        Suite::Aes128Ccm => AES_128_CCM,
        Suite::Aes256Gcm => AES_256_GCM,
        // What has no tag is no authenticated cipher: its vectors are the block cipher's.
        Suite::Aes128Cbc => "",
    };
    let vector = |block: Block<'_>| AeadVector {
        line: block.line,
        key: block.bytes("Key"),
        nonce: block.bytes("Nonce"),
        associated_data: block.bytes("AD"),
        sealed: block.bytes("CT"),
        plaintext: if block.fails() { None } else { Some(block.bytes("PT")) },
    };
    blocks(text).into_iter().map(vector).collect()
}

/// All vectors of HKDF-SHA256.
pub fn hkdf() -> Vec<HkdfVector> {
    let vector = |block: Block<'_>| HkdfVector {
        line: block.line,
        ikm: block.bytes("IKM"),
        salt: block.bytes("Salt"),
        info: block.bytes("Info"),
        okm: block.bytes("OKM"),
    };
    blocks(HKDF_SHA256).into_iter().map(vector).collect()
}

/// All vectors of [`RC4`], [`RC5_32_12`], [`AES_128_CTR`], [`CHACHA20`] or [`TDES_ECB`].
pub fn crypt(text: &str) -> Vec<CryptVector> {
    let vector = |block: Block<'_>| CryptVector {
        line: block.line,
        key: block.bytes("Key"),
        nonce: if block.fields.contains_key("IV") { block.bytes("IV") } else { Vec::new() },
        skipped_bytes: block.decimal("Skip"),
        plaintext: block.bytes("PT"),
        ciphertext: block.bytes("CT"),
    };
    blocks(text).into_iter().map(vector).collect()
}

/// All vectors of [`CRC16`].
pub fn sums() -> Vec<SumVector> {
    let vector = |block: Block<'_>| SumVector {
        line: block.line,
        initial: block.u16("Initial"),
        data: block.bytes("Data"),
        sum: block.u16("Sum"),
    };
    blocks(CRC16).into_iter().map(vector).collect()
}

/// The fields between two empty lines. A fault in these files is a bug of ours, so reading them panics.
pub struct Block<'a> {
    line: usize,
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Block<'a> {
    /// A field as it is written, if there is one.
    pub fn text(&self, field: &str) -> Option<&'a str> {
        self.fields.get(field).copied()
    }

    /// A field in hex.
    ///
    /// # Panics
    /// When there is none, or it is not hex.
    pub fn bytes(&self, field: &str) -> Vec<u8> {
        let line = self.line;
        let hex =
            self.fields.get(field).unwrap_or_else(|| panic!("the vector at line {line} has no {field}"));
        base16ct::mixed::decode_vec(hex)
            .unwrap_or_else(|_| panic!("{field} of the vector at line {line} is not hex"))
    }

    fn u16(&self, field: &str) -> u16 {
        let bytes = self.bytes(field).try_into();
        u16::from_be_bytes(bytes.unwrap_or_else(|_| panic!("{field} at line {} is not 16 bits", self.line)))
    }

    /// A decimal number, 0 when there is none.
    ///
    /// # Panics
    /// When the field is no number.
    pub fn decimal(&self, field: &str) -> usize {
        let number = self.fields.get(field).map_or(Ok(0), |text| text.parse());
        number.unwrap_or_else(|_| panic!("{field} of the vector at line {} is no number", self.line))
    }

    /// Whether it must be refused.
    ///
    /// # Panics
    /// When `Result` is neither absent nor `FAIL`.
    pub fn fails(&self) -> bool {
        match self.fields.get("Result") {
            None => false,
            Some(&"FAIL") => true,
            Some(result) => panic!("the vector at line {} has the unknown result {result}", self.line),
        }
    }
}

/// All blocks of a text.
///
/// # Panics
/// When a line is not `Field = value`, or a block has a field twice.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.is_empty() {
            open = false;
            continue;
        }
        let (name, value) =
            line.split_once('=').unwrap_or_else(|| panic!("line {} is not `Field = hex`", index + 1));
        if !open {
            blocks.push(Block { line: index + 1, fields: BTreeMap::new() });
            open = true;
        }
        let block = blocks.last_mut().expect("a block was pushed");
        let before = block.fields.insert(name.trim(), value.trim());
        assert!(before.is_none(), "line {} repeats a field of its vector", index + 1);
    }
    blocks
}
