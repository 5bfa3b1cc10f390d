//! PEM files that name a key of the device, for programs that want a file: what is between the lines is the URI as DER's
//! UTF8String.
//!
//! ```text
//! -----BEGIN SELVEDGE KEY URI-----
//! DAxzZWx2ZWRnZTp3ZWI=
//! -----END SELVEDGE KEY URI-----
//! ```

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, Take, free, guard, make, out, provider, trust,
};
use crate::key::{Key, OBJECT_KEY, tell};

const FIRST: &[u8] = b"-----BEGIN SELVEDGE KEY URI-----";
const LAST: &[u8] = b"-----END SELVEDGE KEY URI-----";
/// Longest file that is looked into.
const FILE_BYTES_MAX: usize = 4096;
const UTF8: u8 = 0x0c;

struct Decoder {
    provider: Arc<Provider>,
}

unsafe extern "C" fn new(context: *const Provider) -> *mut Decoder {
    make(|| Ok(Decoder { provider: trust!(provider(context))? }))
}

unsafe extern "C" fn delete(this: *mut Decoder) {
    trust!(free(this));
}

/// Any part of a key may be asked for; of the private one there is the use.
extern "C" fn selects(_context: *const Provider, _selection: c_int) -> c_int {
    1
}

/// What is between the two lines.
fn between(file: &[u8]) -> Option<&[u8]> {
    let start = file.windows(FIRST.len()).position(|window| window == FIRST)? + FIRST.len();
    let length = file[start..].windows(LAST.len()).position(|window| window == LAST)?;
    Some(&file[start..start + length])
}

/// Base64 (RFC 4648 section 4), with white space between.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace() && **byte != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

/// The URI's name in an UTF8String of its own.
fn name(der: &[u8]) -> Option<&[u8]> {
    let (&[tag, length], uri) = der.split_first_chunk::<2>()?;
    let is_whole = tag == UTF8 && usize::from(length) == uri.len() && length < 0x80;
    uri.strip_prefix(b"selvedge:").filter(|_| is_whole)
}

/// From the file to DER. What is no such file is somebody else's, and no error.
unsafe extern "C" fn from_pem(
    this: *mut Decoder,
    input: *mut c_void,
    _selection: c_int,
    take: Option<Take>,
    argument: *mut c_void,
    _ask: *const c_void,
    _asked: *mut c_void,
) -> c_int {
    guard(|| {
        let (this, take) = (trust!(out(this))?, take.ok_or(Failed)?);
        let file = this.provider.read(input, FILE_BYTES_MAX)?;
        let Some(der) = between(&file).and_then(base64).filter(|der| name(der).is_some()) else {
            return Ok(());
        };
        let params = [
            Param::of_int(c"type", &OBJECT_KEY),
            Param::of_text(c"data-structure", c"selvedge-uri"),
            Param::of_octets(c"data", &der),
            Param::END,
        ];
        taken(trust!(take(params.as_ptr(), argument)))
    })
}

/// From DER to a key of this kind.
unsafe extern "C" fn from_der<const KIND: u8>(
    this: *mut Decoder,
    input: *mut c_void,
    _selection: c_int,
    take: Option<Take>,
    argument: *mut c_void,
    _ask: *const c_void,
    _asked: *mut c_void,
) -> c_int {
    guard(|| {
        let (this, take) = (trust!(out(this))?, take.ok_or(Failed)?);
        let der = this.provider.read(input, FILE_BYTES_MAX)?;
        let Some(name) = name(&der) else { return Ok(()) };
        let key = Key::find(&this.provider, name)?;
        if key.name()? != NAMES[usize::from(KIND)] {
            return Ok(());
        }
        tell(key, take, argument)
    })
}

fn taken(answer: c_int) -> Done {
    if answer == 1 { Ok(()) } else { Err(Failed) }
}

const NAMES: [&std::ffi::CStr; 4] = [c"EC", c"ED25519", c"RSA", c"X25519"];

const fn functions(decode: *const c_void) -> [Dispatch; 5] {
    [
        Dispatch(1, new as *const c_void),
        Dispatch(2, delete as *const c_void),
        Dispatch(10, selects as *const c_void),
        Dispatch(11, decode),
        END,
    ]
}

static PEM: [Dispatch; 5] = functions(from_pem as *const c_void);
static CURVE: [Dispatch; 5] = functions(from_der::<0> as *const c_void);
static EDWARDS: [Dispatch; 5] = functions(from_der::<1> as *const c_void);
static RSA: [Dispatch; 5] = functions(from_der::<2> as *const c_void);
static MONTGOMERY: [Dispatch; 5] = functions(from_der::<3> as *const c_void);

const OF_PEM: &std::ffi::CStr = c"provider=selvedge,input=pem";
const OF_DER: &std::ffi::CStr = c"provider=selvedge,input=der,structure=selvedge-uri";

/// The decoders, by what they give.
pub static ALGORITHMS: [Algorithm; 6] = [
    Algorithm::with(c"DER", OF_PEM, &PEM),
    Algorithm::with(c"EC:id-ecPublicKey:1.2.840.10045.2.1", OF_DER, &CURVE),
    Algorithm::with(c"ED25519:1.3.101.112", OF_DER, &EDWARDS),
    Algorithm::with(c"RSA:rsaEncryption:1.2.840.113549.1.1.1", OF_DER, &RSA),
    Algorithm::with(c"X25519:1.3.101.110", OF_DER, &MONTGOMERY),
    Algorithm::END,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_a_key_and_rubbish_does_not() {
        let file =
            b"-----BEGIN SELVEDGE KEY URI-----\nDAxzZWx2ZWRn\nZTp3ZWI=\n-----END SELVEDGE KEY URI-----\n";
        let der = between(file).and_then(base64).unwrap();
        assert_eq!(name(&der), Some(&b"web"[..]));
        for length in 0..der.len() {
            assert_eq!(name(&der[..length]), None);
        }
        assert!(between(&file[1..]).is_none() && base64(b"a?b").is_none());
    }
}
