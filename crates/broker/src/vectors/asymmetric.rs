//! P-256, Ed25519, X25519, RSA.

use cipher::vectors::Block;
use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};

use super::asking::{Asking, Published};
use super::symmetric::hash_number;
use super::{Kind, Outcome, REFUSALS};
use crate::error::Error;
use crate::template::{Algorithm, Template, Usages};
use crate::wire::Operation;

/// What signs: the key's algorithm, and the scheme, hash and form as the wire numbers them.
struct Scheme {
    algorithm: Algorithm,
    number: u8,
    hash: u8,
    is_digest: bool,
}

impl Scheme {
    fn of(kind: Kind, vector: &Block<'_>) -> Scheme {
        let (algorithm, number) = match kind {
            Kind::Ecdsa | Kind::EcdsaSign => (Algorithm::P256, 1),
            Kind::Ed25519 | Kind::Ed25519Sign => (Algorithm::Ed25519, 2),
            Kind::RsaPkcs1 | Kind::RsaPkcs1Sign => (rsa(vector), 3),
            _ => (rsa(vector), 4),
        };
        let hash = if algorithm == Algorithm::Ed25519 { 0 } else { hash_number(vector) };
        Scheme { algorithm, number, hash, is_digest: vector.text("Digest").is_some() }
    }

    fn parameters(&self) -> [u8; 4] {
        [self.number, self.hash, self.is_digest.into(), 0]
    }

    /// What is signed.
    fn signed(&self, vector: &Block<'_>) -> Vec<u8> {
        vector.bytes(if self.is_digest { "Digest" } else { "Msg" })
    }

    /// What another library checks it with.
    fn elsewhere(&self) -> &'static dyn VerificationAlgorithm {
        match (self.number, self.hash) {
            (1, 2) => &signature::ECDSA_P256_SHA256_FIXED,
            (2, _) => &signature::ED25519,
            (4, 2) => &signature::RSA_PSS_2048_8192_SHA256,
            (4, 3) => &signature::RSA_PSS_2048_8192_SHA384,
            (4, 4) => &signature::RSA_PSS_2048_8192_SHA512,
            (number, hash) => panic!("nobody else checks scheme {number} with hash {hash}"),
        }
    }
}

fn rsa(vector: &Block<'_>) -> Algorithm {
    if vector.decimal("Bits") == 3072 { Algorithm::Rsa3072 } else { Algorithm::Rsa2048 }
}

impl Asking<'_> {
    pub(super) async fn verify(&mut self, vector: &Block<'_>, kind: Kind) -> Result<(), Error> {
        if !self.wants(Operation::Verify) {
            return Ok(());
        }
        let scheme = Scheme::of(kind, vector);
        let template = Template::new(scheme.algorithm, Usages::VERIFY);
        let published = if vector.fails() { Published::Refusal } else { Published::Bytes(&[]) };
        match self.import_public(&template, &vector.bytes("Public")).await? {
            Ok(key) => {
                let parameters = [&scheme.parameters()[..], &vector.bytes("Sig")].concat();
                let answer = self.ask(Operation::Verify, key, &parameters, &scheme.signed(vector)).await?;
                self.compare(Operation::Verify, &answer, published);
                self.destroy(key).await
            }
            // What was changed may be the key.
            Err(status) => {
                self.compare(Operation::Verify, &Err(status), published);
                Ok(())
            }
        }
    }

    /// A signature without randomness is the published one; of others another library is asked.
    pub(super) async fn sign(&mut self, vector: &Block<'_>, kind: Kind) -> Result<(), Error> {
        let scheme = Scheme::of(kind, vector);
        let template = Template::new(scheme.algorithm, Usages::SIGN);
        let key = match self.import(&template, &vector.bytes("Secret")).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::Sign, Operation::KeyPublic], status);
                return Ok(());
            }
        };
        let (public, message) = (vector.bytes("Public"), scheme.signed(vector));
        if self.wants(Operation::Sign) {
            let answer = self.ask(Operation::Sign, key, &scheme.parameters(), &message).await?;
            match (vector.text("Sig"), &answer) {
                (None, Ok(signature)) => {
                    let checked =
                        UnparsedPublicKey::new(scheme.elsewhere(), &public).verify(&message, signature);
                    let why = || "found a signature that another library refuses".to_owned();
                    self.conclude(
                        Operation::Sign,
                        checked.map_or_else(|_| Outcome::Failed(why()), |()| Outcome::Passed),
                    );
                }
                (None, Err(_)) => self.compare(Operation::Sign, &answer, Published::Bytes(&[])),
                (Some(_), _) => {
                    self.compare(Operation::Sign, &answer, Published::Bytes(&vector.bytes("Sig")));
                }
            }
        }
        if self.wants(Operation::KeyPublic) {
            let answer = self.ask(Operation::KeyPublic, key, &[], &[]).await?;
            self.compare(Operation::KeyPublic, &answer, Published::Bytes(&public));
        }
        self.destroy(key).await
    }

    pub(super) async fn key_public(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        let template = Template::new(Algorithm::P256, Usages::SIGN);
        match self.import(&template, &vector.bytes("Secret")).await? {
            Ok(key) => {
                let answer = self.ask(Operation::KeyPublic, key, &[], &[]).await?;
                self.compare(Operation::KeyPublic, &answer, Published::Bytes(&vector.bytes("Public")));
                self.destroy(key).await
            }
            Err(status) => {
                self.no_key(&[Operation::KeyPublic], status);
                Ok(())
            }
        }
    }

    /// A public key is one, or is refused.
    pub(super) async fn import_point(&mut self, vector: &Block<'_>) -> Result<(), Error> {
        let template = Template::new(Algorithm::P256, Usages::VERIFY);
        let made = self.import_public(&template, &vector.bytes("Public")).await?;
        let published = if vector.fails() { Published::Refusal } else { Published::Bytes(&[]) };
        self.compare(Operation::KeyImport, &made.map(|_| Vec::new()), published);
        if let Ok(key) = made { self.destroy(key).await } else { Ok(()) }
    }

    pub(super) async fn agree(&mut self, vector: &Block<'_>, algorithm: Algorithm) -> Result<(), Error> {
        if !self.wants(Operation::Agree) {
            return Ok(());
        }
        let template = Template::new(algorithm, Usages::AGREE);
        let shared = vector.text("Shared").map(|_| vector.bytes("Shared"));
        let published = match &shared {
            None => Published::Refusal,
            // What was changed may be the secret that the file shows.
            Some(shared) if vector.fails() => Published::Other(shared),
            Some(shared) => Published::Bytes(shared),
        };
        match self.import(&template, &vector.bytes("Secret")).await? {
            Ok(key) => {
                let answer = self.ask(Operation::Agree, key, &[], &vector.bytes("Public")).await?;
                self.compare(Operation::Agree, &answer, published);
                self.destroy(key).await
            }
            Err(status) if vector.fails() && REFUSALS.contains(&status) => {
                self.conclude(Operation::Agree, Outcome::Passed);
                Ok(())
            }
            Err(status) => {
                self.no_key(&[Operation::Agree], status);
                Ok(())
            }
        }
    }

    /// PKCS#1 v1.5 and OAEP are numbered 1 and 2.
    pub(super) async fn rsa_decrypt(&mut self, vector: &Block<'_>, padding: u8) -> Result<(), Error> {
        if !self.wants(Operation::RsaDecrypt) {
            return Ok(());
        }
        let template = Template::new(rsa(vector), Usages::DECRYPT);
        let key = match self.import(&template, &vector.bytes("Secret")).await? {
            Ok(key) => key,
            Err(status) => {
                self.no_key(&[Operation::RsaDecrypt], status);
                return Ok(());
            }
        };
        let (hash, label) =
            if padding == 2 { (hash_number(vector), vector.bytes("Label")) } else { (0, Vec::new()) };
        let parameters = [&[padding, hash, 0, 0], &label[..]].concat();
        let answer = self.ask(Operation::RsaDecrypt, key, &parameters, &vector.bytes("CT")).await?;
        let plaintext = if vector.fails() { Vec::new() } else { vector.bytes("PT") };
        let published = if vector.fails() { Published::Refusal } else { Published::Bytes(&plaintext) };
        self.compare(Operation::RsaDecrypt, &answer, published);
        self.destroy(key).await
    }
}
