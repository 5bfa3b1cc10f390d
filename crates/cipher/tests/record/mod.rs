//! One call of a cipher of `firmware/crypto`, as the bytes that `firmware/bench` takes and gives.
//!
//! Owns the sizes and offsets of `firmware/bench/bench.h`, which draws them. What runs the bench is the caller's:
//! this machine, our simulator, or a foreign one.
#![allow(dead_code)] // each program that includes it uses some of it

/// Sizes and offsets, under their names in the header.
mod bench {
    pub const SEAL: u8 = 1;
    pub const OPEN: u8 = 2;
    pub const ENCRYPT: u8 = 3;
    pub const DECRYPT: u8 = 4;
    pub const SHIFT: usize = 1;
    pub const LENGTH: usize = 2;
    pub const AD_LENGTH: usize = 4;
    pub const KEY_BYTES: usize = 6;
    pub const KEY: usize = 7;
    pub const NONCE: usize = 39;
    pub const TAG: usize = 55;
    pub const AD: usize = 71;
    pub const MESSAGE: usize = 135;
    pub const TAG_OUT: usize = 1;
    pub const RESULT: usize = 17;
}

/// Bytes of `bench_input`.
pub const INPUT_BYTES: usize = 391;
/// Bytes of `bench_output`.
pub const OUTPUT_BYTES: usize = 273;
/// Bytes of message that the bench takes.
pub const MESSAGE_BYTES_MAX: usize = 256;
/// Bytes of associated data that it takes.
pub const AD_BYTES_MAX: usize = 64;
/// How far its buffer can lie behind a multiple of eight.
pub const SHIFT_MAX: u8 = 7;
/// What the bench writes to the mark register before a call.
pub const MARK_START: u8 = 0xa5;
/// And after it.
pub const MARK_END: u8 = 0x5a;

/// Something that the bench can be asked.
pub trait Request {
    /// `bench_input`.
    fn record(&self) -> Vec<u8>;
    /// Bytes of its message.
    fn message_bytes(&self) -> usize;
}

/// One call of an authenticated cipher.
#[derive(Clone, Debug)]
pub struct Call {
    /// Open, or seal.
    pub open: bool,
    /// How far the buffer lies behind a multiple of eight.
    pub shift: u8,
    /// The key.
    pub key: Vec<u8>,
    /// The nonce.
    pub nonce: Vec<u8>,
    /// Associated data.
    pub ad: Vec<u8>,
    /// Plaintext of a seal, ciphertext of an open.
    pub message: Vec<u8>,
    /// Of an open.
    pub tag: Vec<u8>,
}

impl Request for Call {
    fn record(&self) -> Vec<u8> {
        let operation = if self.open { bench::OPEN } else { bench::SEAL };
        let parts = [
            (bench::KEY, &self.key),
            (bench::NONCE, &self.nonce),
            (bench::TAG, &self.tag),
            (bench::AD, &self.ad),
            (bench::MESSAGE, &self.message),
        ];
        record(operation, self.shift, &parts)
    }

    fn message_bytes(&self) -> usize {
        self.message.len()
    }
}

/// One call of a cipher without authentication, or of a sum.
#[derive(Clone, Debug)]
pub struct Crypt {
    /// Decrypt, or encrypt.
    pub decrypt: bool,
    /// How far the buffer lies behind a multiple of eight.
    pub shift: u8,
    /// The key.
    pub key: Vec<u8>,
    /// Counter block, or counter and nonce, or the sum so far.
    pub nonce: Vec<u8>,
    /// What is worked on.
    pub message: Vec<u8>,
}

impl Request for Crypt {
    fn record(&self) -> Vec<u8> {
        let operation = if self.decrypt { bench::DECRYPT } else { bench::ENCRYPT };
        let parts = [(bench::KEY, &self.key), (bench::NONCE, &self.nonce), (bench::MESSAGE, &self.message)];
        record(operation, self.shift, &parts)
    }

    fn message_bytes(&self) -> usize {
        self.message.len()
    }
}

fn record(operation: u8, shift: u8, parts: &[(usize, &Vec<u8>)]) -> Vec<u8> {
    let bytes = |part| parts.iter().find(|(offset, _)| *offset == part).map_or(0, |(_, bytes)| bytes.len());
    let (message_bytes, ad_bytes) = (bytes(bench::MESSAGE), bytes(bench::AD));
    assert!(message_bytes <= MESSAGE_BYTES_MAX && ad_bytes <= AD_BYTES_MAX && shift <= SHIFT_MAX);
    let mut record = vec![0; INPUT_BYTES];
    record[0] = operation;
    record[bench::SHIFT] = shift;
    record[bench::LENGTH..][..2].copy_from_slice(&(message_bytes as u16).to_le_bytes());
    record[bench::AD_LENGTH..][..2].copy_from_slice(&(ad_bytes as u16).to_le_bytes());
    record[bench::KEY_BYTES] = bytes(bench::KEY) as u8;
    for (offset, bytes) in parts {
        record[*offset..*offset + bytes.len()].copy_from_slice(bytes);
    }
    record
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What the open returned; 1 after all else.
    pub status: u8,
    /// 16 bytes: the tag of a seal, of which a shorter one is the beginning; or what a nonce has become.
    pub tag: Vec<u8>,
    /// The buffer afterwards.
    pub message: Vec<u8>,
}

impl Answer {
    /// Reads `bench_output` after `request`.
    pub fn of(request: &impl Request, output: &[u8]) -> Answer {
        assert_eq!(output.len(), OUTPUT_BYTES);
        Answer {
            status: output[0],
            tag: output[bench::TAG_OUT..bench::RESULT].to_vec(),
            message: output[bench::RESULT..][..request.message_bytes()].to_vec(),
        }
    }
}

/// Asserts that the numbers here are those of `header`, the text of `bench.h`.
pub fn assert_drawn(header: &str) {
    for (name, expected) in [
        ("SEAL", bench::SEAL.into()),
        ("OPEN", bench::OPEN.into()),
        ("ENCRYPT", bench::ENCRYPT.into()),
        ("DECRYPT", bench::DECRYPT.into()),
        ("SHIFT", bench::SHIFT),
        ("LENGTH", bench::LENGTH),
        ("AD_LENGTH", bench::AD_LENGTH),
        ("KEY_BYTES", bench::KEY_BYTES),
        ("KEY", bench::KEY),
        ("NONCE", bench::NONCE),
        ("TAG", bench::TAG),
        ("AD", bench::AD),
        ("MESSAGE", bench::MESSAGE),
        ("INPUT_BYTES", INPUT_BYTES),
        ("OUTPUT_BYTES", OUTPUT_BYTES),
        ("MESSAGE_BYTES_MAX", MESSAGE_BYTES_MAX),
        ("AD_BYTES_MAX", AD_BYTES_MAX),
        ("SHIFT_MAX", SHIFT_MAX.into()),
        ("TAG_OUT", bench::TAG_OUT),
        ("RESULT", bench::RESULT),
        ("MARK_START", MARK_START.into()),
        ("MARK_END", MARK_END.into()),
    ] {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define BENCH_{name} ")));
        let value = line.and_then(|rest| rest.split_whitespace().next()).expect(name);
        let number = match value.strip_prefix("0x") {
            Some(hex) => usize::from_str_radix(hex, 16),
            None => value.parse(),
        };
        assert_eq!(number, Ok(expected), "BENCH_{name}");
    }
}
