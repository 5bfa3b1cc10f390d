//! Applications of `selvedge broker bench peers`: each asks one server for one thing, as fast as it is answered, whether that
//! is the broker, p11-kit or Parsec.
//!
//! Owns their command line, what is asked, and the clock. How a peer is asked is in the file of its name; each checks what
//! it is answered, once.

pub mod module;
mod parsec;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use broker::client::blocking::Client;
use broker::client::call::{Call, Encrypt, Hash, KeyGenerate, Mac, Seal, Sign};
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::load::no_latencies;
use broker::parameters::{Aead, Hash as HashKind, MacKind, Mode, Scheme, Signed, Suite};
use broker::wire::KeyHandle;
use clap::ValueEnum;
use rustix::fs::{FlockOperation, flock};
use selvedge::error::Error;
use selvedge::link::launch::{die_with_parent, tell_ready};
use sha2::{Digest, Sha256};

use super::part::{Told, tell};
use super::switches::Switches;
use crate::output::Output;

/// An application that asks a peer, or the broker for the same.
#[derive(clap::Args)]
pub struct Arguments {
    #[arg(value_enum)]
    side: Side,
    #[arg(value_enum)]
    work: Work,
    /// The server's socket
    place: PathBuf,
    #[arg(long)]
    payload_bytes: usize,
    /// A file that is locked until all applications are there
    #[arg(long)]
    gate: PathBuf,
    #[arg(long)]
    warm_up_ms: u64,
    #[arg(long)]
    duration_ms: u64,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// Who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Side {
    /// This broker
    Broker,
    /// p11-kit, which passes calls of PKCS#11 on
    P11Kit,
    /// Parsec, which computes with Mbed Crypto
    ParsecMbed,
    /// Parsec, in front of a PKCS#11 module
    ParsecModule,
}

/// What for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// A digest
    Sha256,
    /// A MAC under a generic secret of 32 bytes
    HmacSha256,
    /// AES-256 in ECB
    Aes256Ecb,
    /// AES-256-GCM, whose nonce is the caller's
    Aes256Gcm,
    /// A signature of a digest
    EcdsaP256,
}

/// Asks once about a payload, and gives the answer.
type Ask = Box<dyn FnMut(&[u8]) -> io::Result<Vec<u8>>>;

/// Nothing is sealed under it but what nobody reads.
const NONCE: [u8; 12] = [0; 12];
const TAG_BYTES: usize = 16;
/// Two numbers as long as the order of P-256.
const SIGNATURE_BYTES: usize = 64;
/// Length of a digest, and of a MAC.
const DIGEST_BYTES: usize = 32;

impl Work {
    /// Length of what is answered.
    fn answer_bytes(self, payload_bytes: usize) -> usize {
        match self {
            Work::Sha256 | Work::HmacSha256 => DIGEST_BYTES,
            Work::Aes256Ecb => payload_bytes,
            Work::Aes256Gcm => payload_bytes + TAG_BYTES,
            Work::EcdsaP256 => SIGNATURE_BYTES,
        }
    }
}

/// Is an application.
pub fn ask(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let Arguments { side, work, place, payload_bytes, gate, warm_up_ms, duration_ms, ready_fd } = arguments;
    let failed = || Error::process("application");
    die_with_parent(*ready_fd).map_err(failed())?;
    let gate = File::open(gate).map_err(|cause| Error::io("open", gate, cause))?;
    let payload = vec![0x5E; *payload_bytes];
    let mut ask = match side {
        Side::Broker => broker(*work, place).map_err(failed())?,
        Side::P11Kit => module::prepare(*work, place).map_err(failed())?,
        Side::ParsecMbed => parsec::prepare(*work, place, parsec::Provider::MbedCrypto).map_err(failed())?,
        Side::ParsecModule => parsec::prepare(*work, place, parsec::Provider::Pkcs11).map_err(failed())?,
    };
    let answer = ask(&payload).map_err(failed())?;
    let is_right = match work {
        Work::Sha256 => answer == Sha256::digest(&payload).as_slice(),
        _ => answer.len() == work.answer_bytes(*payload_bytes) && answer != payload,
    };
    if !is_right {
        return Err(failed()(ErrorKind::InvalidData.into()));
    }
    tell_ready(*ready_fd).map_err(failed())?;
    flock(&gate, FlockOperation::LockShared).map_err(|errno| failed()(errno.into()))?;
    let before = Switches::of("self").map_err(failed())?;
    let begins = Instant::now() + Duration::from_millis(*warm_up_ms);
    let ends = begins + Duration::from_millis(*duration_ms);
    let (mut answered, mut latencies, mut asked_at) = (0, no_latencies(), Instant::now());
    while asked_at < ends {
        ask(&payload).map_err(failed())?;
        let now = Instant::now();
        if (begins..ends).contains(&now) {
            answered += 1;
            latencies.saturating_record(now.duration_since(asked_at).as_nanos() as u64);
        }
        asked_at = now;
    }
    let ended_at = SystemTime::now();
    let switches = Switches::of("self").map_err(failed())? - before;
    let latencies = latencies.iter_recorded();
    let latency_ns = latencies.map(|value| (value.value_iterated_to(), value.count_at_value())).collect();
    tell(output, &Told { answered, latency_ns, ended_at, switches })
}

/// The same of the broker, with the client that programs in Rust use.
fn broker(work: Work, socket: &Path) -> io::Result<Ask> {
    let client = Client::new(socket);
    let made = match work {
        Work::Sha256 => None,
        Work::HmacSha256 => Some((Algorithm::Hmac, Usages::MAC)),
        Work::Aes256Ecb => Some((Algorithm::Aes256, Usages::ENCRYPT)),
        Work::Aes256Gcm => Some((Algorithm::Aes256, Usages::SEAL)),
        Work::EcdsaP256 => Some((Algorithm::P256, Usages::SIGN)),
    };
    let key = match made {
        Some((algorithm, usages)) => {
            let is_caller_nonce = work == Work::Aes256Gcm;
            let template = Template { is_caller_nonce, ..Template::new(algorithm, usages) };
            client.call(&KeyGenerate { template: &template }).map_err(io::Error::other)?
        }
        None => KeyHandle::NONE,
    };
    Ok(Box::new(move |payload| {
        fn asked<C: Call>(client: &Client, call: &C) -> io::Result<C::Answer> {
            client.call(call).map_err(io::Error::other)
        }
        match work {
            Work::Sha256 => asked(&client, &Hash { hash: HashKind::Sha256, message: payload }),
            Work::HmacSha256 => {
                asked(&client, &Mac { key, kind: MacKind::Hmac(HashKind::Sha256), message: payload })
            }
            Work::Aes256Ecb => asked(&client, &Encrypt { key, mode: Mode::Ecb, plaintext: payload }),
            Work::Aes256Gcm => {
                let aead = Aead {
                    suite: Suite::Gcm,
                    tag_bytes: TAG_BYTES as u8,
                    nonce: &NONCE,
                    associated_data: &[],
                };
                asked(&client, &Seal { key, aead, plaintext: payload })
            }
            Work::EcdsaP256 => {
                let (scheme, signed) = (Scheme::Ecdsa(HashKind::Sha256), Signed::Digest(payload));
                asked(&client, &Sign { key, scheme, signed })
            }
        }
    }))
}
