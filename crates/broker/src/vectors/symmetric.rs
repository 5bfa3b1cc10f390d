//! AES in all modes, Ascon, SHA-2, HMAC, CMAC, HKDF, AES-KWP.

use cipher::vectors::Block;
use ring::hmac;

use super::asking::{Asking, Published};
use super::{Outcome, aes};
use crate::error::Error;
use crate::template::{Algorithm, Template, Usages};
use crate::wire::{KeyHandle, Operation, Status};

/// What a test of a chain of hashes does between two published ones (SHAVS section 6.4).
const MONTE_CARLO_ROUNDS: usize = 1000;
/// Under a derived or unwrapped key, this has the MAC that another library says.
const QUESTION: &[u8] = b"which key is this?";
/// Why a key that no application can give is missing.
const NOT_PROVIDED: &str = "only a deployment can give the device such a key, and did not";

/// The number on the wire of the hash that a vector names by its bits.
pub fn hash_number(vector: &Block<'_>) -> u8 {
    match vector.decimal("Hash") {
        1 => 0, // SHA-1, in OAEP and of digests in signatures of RSA
        224 => 1,
        256 => 2,
        384 => 3,
        512 => 4,
        bits => panic!("there is no hash of {bits} bits"),
    }
}

/// A template of a key of these bytes.
fn template(algorithm: Algorithm, usages: Usages, secret: &[u8]) -> Template {
    let is_caller_nonce = usages.within(Usages::SEAL.and(Usages::OPEN));
    let secret_bytes = if algorithm.is_open_length() { secret.len() as u16 } else { 0 };
    Template { is_caller_nonce, secret_bytes, ..Template::new(algorithm, usages) }
}

/// What must come out: these bytes, or that the message is not authentic.
fn published<'a>(vector: &Block<'_>, bytes: &'a [u8]) -> Published<'a> {
    if vector.fails() { Published::Rejection } else { Published::Bytes(bytes) }
}

/// A field that only a vector which must succeed has.
fn result(vector: &Block<'_>, field: &str) -> Vec<u8> {
    if vector.fails() { Vec::new() } else { vector.bytes(field) }
}

impl Asking<'_> {
    pub(super) async fn mode(&mut self, vector: &Block<'_>, mode: u8) -> Result<(), Error> {
        let secret = vector.bytes("Key");
        let usages = Usages::ENCRYPT.and(Usages::DECRYPT);
        let key = match self.import(&template(aes(&secret), usages, &secret), &secret).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::Encrypt, Operation::Decrypt], status);
                return Ok(());
            }
        };
        let iv = if mode == 1 { Vec::new() } else { vector.bytes("IV") };
        let parameters = [&[mode, 0, 0, 0], &iv[..]].concat();
        let (plaintext, ciphertext) = (result(vector, "PT"), vector.bytes("CT"));
        if !vector.fails() {
            let published = Published::Bytes(&ciphertext);
            self.whole_and_parts(Operation::Encrypt, key, &parameters, &plaintext, published).await?;
        }
        // A ciphertext that is no whole blocks is not even looked at.
        let published = if vector.fails() { Published::Refusal } else { Published::Bytes(&plaintext) };
        self.whole_and_parts(Operation::Decrypt, key, &parameters, &ciphertext, published).await?;
        self.destroy(key).await
    }

    pub(super) async fn aead(&mut self, vector: &Block<'_>, suite: u8) -> Result<(), Error> {
        let secret = vector.bytes("Key");
        let algorithm = if suite == 3 { Algorithm::Ascon128 } else { aes(&secret) };
        let template = template(algorithm, Usages::SEAL.and(Usages::OPEN), &secret);
        let key = match self.import(&template, &secret).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::Seal, Operation::Open], status);
                return Ok(());
            }
        };
        let (nonce, tag) = (vector.bytes("Nonce"), vector.bytes("Tag"));
        let head = [suite, tag.len() as u8, nonce.len() as u8, 0];
        let parameters = [&head[..], &nonce, &vector.bytes("AD")].concat();
        let sealed = [vector.bytes("CT"), tag].concat();
        let plaintext = result(vector, "PT");
        if self.wants(Operation::Seal) && !vector.fails() {
            let answer = self.ask(Operation::Seal, key, &parameters, &plaintext).await?;
            self.compare(Operation::Seal, &answer, Published::Bytes(&sealed));
        }
        if self.wants(Operation::Open) {
            let answer = self.ask(Operation::Open, key, &parameters, &sealed).await?;
            self.compare(Operation::Open, &answer, published(vector, &plaintext));
        }
        self.destroy(key).await
    }

    /// The gateway's operation, whose nonce comes before the ciphertext.
    pub(super) async fn open_prefixed(&mut self, vector: &Block<'_>, name: &str) -> Result<(), Error> {
        const OPERATION: Operation = Operation::OpenAes256Gcm;
        if !self.is_provided {
            self.conclude(OPERATION, Outcome::Skipped(NOT_PROVIDED));
        } else if self.wants(OPERATION) {
            let sealed = [vector.bytes("Nonce"), vector.bytes("CT"), vector.bytes("Tag")].concat();
            let key = KeyHandle::of(name.as_bytes());
            let answer = self.ask(OPERATION, key, &vector.bytes("AD"), &sealed).await?;
            self.compare(OPERATION, &answer, published(vector, &result(vector, "PT")));
        }
        Ok(())
    }

    pub(super) async fn hash(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        let (message, digest) = (vector.bytes("Msg"), vector.bytes("MD"));
        let parameters = [hash_number(vector)];
        let published = Published::Bytes(&digest);
        self.whole_and_parts(Operation::Hash, KeyHandle::NONE, &parameters, &message, published).await
    }

    /// The digest of the last three digests, a thousand times.
    pub(super) async fn hash_again_and_again(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        if !self.wants(Operation::Hash) {
            return Ok(());
        }
        let parameters = [hash_number(vector)];
        let seed = vector.bytes("Seed");
        let mut last = [seed.clone(), seed.clone(), seed];
        for _ in 0..MONTE_CARLO_ROUNDS {
            let answer = self.ask(Operation::Hash, KeyHandle::NONE, &parameters, &last.concat()).await?;
            let Ok(digest) = answer else {
                self.compare(Operation::Hash, &answer, Published::Bytes(&vector.bytes("MD")));
                return Ok(());
            };
            last.rotate_left(1);
            last[2] = digest;
        }
        let [.., digest] = last;
        self.compare(Operation::Hash, &Ok(digest), Published::Bytes(&vector.bytes("MD")));
        Ok(())
    }

    pub(super) async fn mac(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        let (secret, message, tag) = (vector.bytes("Key"), vector.bytes("Msg"), vector.bytes("Tag"));
        let (algorithm, number) = match vector.text("Hash") {
            Some(_) => (Algorithm::Hmac, hash_number(vector)),
            None => (aes(&secret), 0),
        };
        let usages = Usages::MAC.and(Usages::MAC_VERIFY);
        let key = match self.import(&template(algorithm, usages, &secret), &secret).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::Mac, Operation::MacVerify], status);
                return Ok(());
            }
        };
        if !vector.fails() {
            self.make_mac(key, number, &message, &tag).await?;
        }
        let parameters = [&[number], &tag[..]].concat();
        let published = published(vector, &[]);
        self.whole_and_parts(Operation::MacVerify, key, &parameters, &message, published).await?;
        self.destroy(key).await
    }

    /// The device makes the whole MAC; a vector may have its first bytes only.
    async fn make_mac(
        &mut self,
        key: KeyHandle,
        number: u8,
        message: &[u8],
        tag: &[u8],
    ) -> Result<(), Error> {
        let mut made = self.ask(Operation::Mac, key, &[number], message).await?;
        if let Ok(made) = &mut made {
            made.truncate(tag.len());
        }
        self.compare(Operation::Mac, &made, Published::Bytes(tag));
        if self.wants(Operation::Begin) {
            let mut made = self.in_parts(Operation::Mac, key, &[number], message).await?;
            if let Ok(made) = &mut made {
                made.truncate(tag.len());
            }
            self.compare(Operation::Begin, &made, Published::Bytes(tag));
        }
        Ok(())
    }

    pub(super) async fn derive(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        if !self.wants(Operation::Derive) {
            return Ok(());
        }
        let (secret, output) = (vector.bytes("IKM"), result(vector, "OKM"));
        let base = match self.import(&template(Algorithm::Hkdf, Usages::DERIVE, &secret), &secret).await? {
            Ok(base) => base,
            Err(status) => {
                self.no_key(&[Operation::Derive], status);
                return Ok(());
            }
        };
        let derived = template(Algorithm::Hmac, Usages::MAC, &output).to_bytes();
        let parameters = [&[hash_number(vector), 0, 0, 0], &derived[..], &vector.bytes("Salt")].concat();
        let made = self.make(Operation::Derive, base, &parameters, &vector.bytes("Info")).await?;
        self.compare_key(Operation::Derive, vector, made, &output).await?;
        self.destroy(base).await
    }

    /// A key that only the device has makes the MAC that another library makes with the published one.
    async fn compare_key(
        &mut self,
        operation: Operation,
        vector: &Block<'_>,
        made: Result<KeyHandle, Status>,
        secret: &[u8],
    ) -> Result<(), Error> {
        let answer = match made {
            Ok(key) => {
                let answer = self.ask(Operation::Mac, key, &[2], QUESTION).await?;
                self.destroy(key).await?;
                answer
            }
            Err(status) => Err(status),
        };
        let expected = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), QUESTION);
        self.compare(operation, &answer, published(vector, expected.as_ref()));
        Ok(())
    }

    pub(super) async fn unwrap_key(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        if !self.wants(Operation::KeyUnwrap) {
            return Ok(());
        }
        let (secret, plaintext) = (vector.bytes("Key"), result(vector, "PT"));
        let wrapping = match self.import(&template(aes(&secret), Usages::UNWRAP, &secret), &secret).await? {
            Ok(wrapping) => wrapping,
            Err(status) => {
                self.no_key(&[Operation::KeyUnwrap], status);
                return Ok(());
            }
        };
        // Of one that must be refused, the length is not known; it is refused before that matters.
        let length = if vector.fails() { &[0; 16][..] } else { &plaintext };
        let parameters = template(Algorithm::Hmac, Usages::MAC, length).to_bytes();
        let wrapped = vector.bytes("CT");
        let made = self.make(Operation::KeyUnwrap, wrapping, &parameters, &wrapped).await?;
        let fits = wrapped.len() >= Operation::KeyUnwrap.row().payload_bytes.0 as usize;
        // Too short a payload is refused by the wire, which is right.
        let made = if fits || !vector.fails() { made } else { made.or(Err(Status::Rejected)) };
        self.compare_key(Operation::KeyUnwrap, vector, made, &plaintext).await?;
        self.destroy(wrapping).await
    }

    /// Under a key that the device was given at its start: what an application gave wraps nothing.
    pub(super) async fn wrap_key(&mut self, vector: &Block<'_>, name: &str) -> Result<(), Error> {
        if !self.is_provided {
            self.conclude(Operation::KeyWrap, Outcome::Skipped(NOT_PROVIDED));
            return Ok(());
        }
        if !self.wants(Operation::KeyWrap) {
            return Ok(());
        }
        let secret = vector.bytes("PT");
        let usages = Usages::MAC.and(Usages::WRAPPABLE);
        let key = match self.import(&template(Algorithm::Hmac, usages, &secret), &secret).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::KeyWrap], status);
                return Ok(());
            }
        };
        let wrapping = KeyHandle::of(name.as_bytes());
        let wrapped = self.ask(Operation::KeyWrap, wrapping, &key.0.to_le_bytes(), &[]).await?;
        self.compare(Operation::KeyWrap, &wrapped, Published::Bytes(&vector.bytes("CT")));
        self.destroy(key).await
    }
}
