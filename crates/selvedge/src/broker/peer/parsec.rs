//! Parsec, asked as its own clients do: a connection for each request, a header of fixed length, a body in protocol buffers.
//!
//! ```text
//!  0  4  magic          5E C0 A7 10, most significant byte first in Parsec's book, least significant first on the wire
//!  4  2  length of what follows of the header, 30
//!  6  2  version        1 0
//!  8  2  flags          0
//! 10  1  provider
//! 11  8  session        0
//! 19  2  content type, accept type    0, protocol buffers
//! 21  1  authentication               3, the kernel's word
//! 22  4  length of the body
//! 26  2  length of the authentication
//! 28  4  operation
//! 32  2  status
//! 34  2  0
//! ```

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::{getpid, getuid};

use super::{Ask, NONCE, Work};

/// Who computes.
#[derive(Clone, Copy)]
pub enum Provider {
    MbedCrypto = 1,
    Pkcs11 = 2,
}

const MAGIC: u32 = 0x5EC0_A710;
const HEADER_BYTES: usize = 36;
/// Where the header has the length of the body, and the status.
const BODY_BYTES_AT: usize = 22;
const STATUS_AT: usize = 32;
const UNIX_PEER_CREDENTIALS: u8 = 3;

// Operations.
const GENERATE_KEY: u32 = 0x02;
const SIGN_HASH: u32 = 0x04;
const HASH_COMPUTE: u32 = 0x0F;
const AEAD_ENCRYPT: u32 = 0x11;

// Numbers of PSA's names in Parsec's protocol buffers.
const SHA_256: u64 = 7;
const GCM: u64 = 2;
const SECP_R1: u64 = 2;

/// Makes a key, if there has to be one.
pub fn prepare(work: Work, socket: &Path, provider: Provider) -> io::Result<Ask> {
    let server = Server { socket: socket.to_owned(), provider };
    let name = format!("selvedge-{}", getpid().as_raw_nonzero());
    // ecdsa { specific hash }, and AES-GCM with a tag of the usual length.
    let ecdsa = message(4, &message(1, &number(2, SHA_256)));
    let gcm = number(1, GCM);
    match work {
        Work::EcdsaP256 => {
            let key_type = message(11, &number(1, SECP_R1));
            server.make_key(&name, &key_type, &number(8, 1), &message(6, &ecdsa))?;
        }
        Work::Aes256Gcm => {
            server.make_key(&name, &message(4, &[]), &number(4, 1), &message(5, &gcm))?;
        }
        Work::Sha256 => {}
        Work::HmacSha256 | Work::Aes256Ecb => return Err(ErrorKind::Unsupported.into()),
    }
    Ok(Box::new(move |payload| {
        let (operation, body) = match work {
            Work::Sha256 => (HASH_COMPUTE, [number(1, SHA_256), message(2, payload)].concat()),
            Work::EcdsaP256 => {
                let fields = [message(1, name.as_bytes()), message(2, &ecdsa), message(3, payload)];
                (SIGN_HASH, fields.concat())
            }
            _ => {
                let key = [message(1, name.as_bytes()), message(2, &gcm), message(3, &NONCE)].concat();
                (AEAD_ENCRYPT, [key, message(5, payload)].concat())
            }
        };
        let answer = server.ask(operation, &body)?;
        first_bytes(&answer).map(<[u8]>::to_vec).ok_or_else(|| ErrorKind::InvalidData.into())
    }))
}

struct Server {
    socket: PathBuf,
    provider: Provider,
}

impl Server {
    /// A key of 256 bits.
    fn make_key(&self, name: &str, key_type: &[u8], usage: &[u8], algorithm: &[u8]) -> io::Result<()> {
        let policy = [message(1, usage), message(2, algorithm)].concat();
        let attributes = [message(1, key_type), number(2, 256), message(3, &policy)].concat();
        self.ask(GENERATE_KEY, &[message(1, name.as_bytes()), message(2, &attributes)].concat()).map(drop)
    }

    fn ask(&self, operation: u32, body: &[u8]) -> io::Result<Vec<u8>> {
        let authentication = getuid().as_raw().to_le_bytes();
        let mut request = Vec::with_capacity(HEADER_BYTES + body.len() + authentication.len());
        request.extend(MAGIC.to_le_bytes());
        request.extend([30, 0, 1, 0, 0, 0, self.provider as u8]);
        request.extend([0; 8 + 2]);
        request.push(UNIX_PEER_CREDENTIALS);
        request.extend((body.len() as u32).to_le_bytes());
        request.extend((authentication.len() as u16).to_le_bytes());
        request.extend(operation.to_le_bytes());
        request.extend([0; 4]);
        request.extend(body);
        request.extend(authentication);
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.write_all(&request)?;
        let mut header = [0; HEADER_BYTES];
        stream.read_exact(&mut header)?;
        let status = u16::from_le_bytes([header[STATUS_AT], header[STATUS_AT + 1]]);
        if status != 0 {
            return Err(io::Error::other(format!("parsec answered {status} to operation {operation}")));
        }
        let body_bytes = header[BODY_BYTES_AT..][..4].try_into().expect("four bytes");
        let mut body = vec![0; u32::from_le_bytes(body_bytes) as usize];
        stream.read_exact(&mut body)?;
        Ok(body)
    }
}

/// A field that is bytes, text or a message.
fn message(field: u8, bytes: &[u8]) -> Vec<u8> {
    let mut encoded = vec![field << 3 | 2];
    put(bytes.len() as u64, &mut encoded);
    encoded.extend_from_slice(bytes);
    encoded
}

/// A field that is a number.
fn number(field: u8, value: u64) -> Vec<u8> {
    let mut encoded = vec![field << 3];
    put(value, &mut encoded);
    encoded
}

/// Seven bits a byte, the lowest first.
fn put(mut value: u64, encoded: &mut Vec<u8>) {
    while value > 0x7F {
        encoded.push(value as u8 | 0x80);
        value >>= 7;
    }
    encoded.push(value as u8);
}

/// The first field of a message, which is bytes.
fn first_bytes(message: &[u8]) -> Option<&[u8]> {
    let (&tag, mut rest) = message.split_first()?;
    let (mut length, mut shift) = (0, 0);
    loop {
        let (&byte, after) = rest.split_first()?;
        length |= usize::from(byte & 0x7F).checked_shl(shift)?;
        (rest, shift) = (after, shift + 7);
        if byte < 0x80 {
            break;
        }
    }
    (tag == 1 << 3 | 2).then_some(())?;
    rest.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_protocol_buffers_documentation_prints_them() {
        // Its "simple message", and its string "testing".
        assert_eq!(number(1, 150), [0x08, 0x96, 0x01]);
        assert_eq!(message(2, b"testing"), *b"\x12\x07testing");
        let long = message(1, &[7; 65_536]);
        assert_eq!(first_bytes(&long), Some(&[7; 65_536][..]));
        assert_eq!(first_bytes(&long[..long.len() - 1]), None);
    }
}
