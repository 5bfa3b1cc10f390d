//! The template that a key is made from, and the attributes that are told of it later.
//!
//! Owns their bytes, which the application and the device both know. Who may use a key, and which templates a key can be
//! born with, is the device's to say: `engine/keys.rs`.
//!
//! ```text
//!  0  1  algorithm      table `Algorithm`
//!  1  1  flags          1 persistent: else it is its connection's alone, and dies with it
//!                       2 caller_nonce: who seals chooses the nonce, and must never choose one twice
//!  2  2  usages         bits of `Usages`
//!  4  2  secret_bytes   of an HMAC or HKDF key; 0 for others, whose length follows from the algorithm
//!  6  1  name_bytes     at most 64; no two keys of a user have one name, except none
//!  7  1  entries        of the access list, at most 8
//!  8  4  group          whose members own it too, 2^32 - 1 = none; who makes it is a member
//! 12  n  name
//!     8m access list: kind 2 (1 user, 2 group, 3 everyone) | usages 2 | id 4
//! ```
//!
//! Before the template, an import has `form 1 | zeros 3`, the form being 0 for a secret and 1 for a public key; a
//! derivation has `hash 1 | zeros 3`, and the salt behind the template. [`Attributes`] are `origin 1 | policy 1 | zeros 2
//! | owner 4`, the owner being 2^32 - 1 for who has none, and the template. `key-wrap` and `key-list` take a handle.

use crate::limits::{ACCESS_MAX, KEY_NAME_BYTES_MAX};
use crate::wire::Status;

/// No group, or no owner.
pub const NOBODY: u32 = u32::MAX;
/// Length of a template without name and access list.
const TEMPLATE_BYTES: usize = 12;
/// Length of an entry of the access list.
const ENTRY_BYTES: usize = 8;
const FLAG_PERSISTENT: u8 = 1;
const FLAG_CALLER_NONCE: u8 = 2;

macro_rules! algorithms {
    ($($number:literal $algorithm:ident $name:literal $secret_bytes:expr; $meaning:literal)*) => {
        /// What a key is a key of. Numbers are never reused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Algorithm { $(#[doc = $meaning] $algorithm = $number,)* }

        impl Algorithm {
            /// All of them, in the order of the table.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$algorithm),*];

            /// The algorithm of a number.
            pub const fn from_number(number: u8) -> Option<Algorithm> {
                match number { $($number => Some(Algorithm::$algorithm),)* _ => None }
            }

            /// Its name in texts and reports.
            pub const fn name(self) -> &'static str {
                match self { $(Algorithm::$algorithm => $name,)* }
            }

            /// Length of the secret, if the algorithm has one length.
            pub const fn secret_bytes(self) -> Option<usize> {
                match self { $(Algorithm::$algorithm => $secret_bytes,)* }
            }
        }
    };
}

#[rustfmt::skip]
algorithms! {
  // no  algorithm   name            secret bytes
     1   Aes128      "aes-128"       Some(16);  "AES with 128 bits (FIPS 197)."
     2   Aes192      "aes-192"       Some(24);  "AES with 192 bits."
     3   Aes256      "aes-256"       Some(32);  "AES with 256 bits."
     4   Ascon128    "ascon-aead128" Some(16);  "Ascon-AEAD128 (SP 800-232)."
     5   Hmac        "hmac"          None;      "HMAC (RFC 2104)."
     6   Hkdf        "hkdf"          None;      "HKDF (RFC 5869)."
     7   P256        "p-256"         Some(32);  "ECDSA and ECDH over P-256 (FIPS 186-5, SP 800-56A)."
     8   Ed25519     "ed25519"       Some(32);  "Ed25519 (RFC 8032)."
     9   X25519      "x25519"        Some(32);  "X25519 (RFC 7748)."
    10   Rsa2048     "rsa-2048"      None;      "RSA with 2048 bits (RFC 8017)."
    11   Rsa3072     "rsa-3072"      None;      "RSA with 3072 bits."
}

/// What a key may be used for: a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usages(pub u16);

impl Usages {
    /// Encrypting without authentication.
    pub const ENCRYPT: Usages = Usages(1);
    /// Decrypting what was; RSA's decryption too.
    pub const DECRYPT: Usages = Usages(1 << 1);
    /// Sealing with an AEAD.
    pub const SEAL: Usages = Usages(1 << 2);
    /// Opening what was.
    pub const OPEN: Usages = Usages(1 << 3);
    /// Making MACs.
    pub const MAC: Usages = Usages(1 << 4);
    /// Comparing them.
    pub const MAC_VERIFY: Usages = Usages(1 << 5);
    /// Making keys from this one; of a curve, from the secret that it shares with another.
    pub const DERIVE: Usages = Usages(1 << 6);
    /// Signing.
    pub const SIGN: Usages = Usages(1 << 7);
    /// Checking signatures.
    pub const VERIFY: Usages = Usages(1 << 8);
    /// Telling the secret that it shares with another.
    pub const AGREE: Usages = Usages(1 << 9);
    /// Wrapping other keys.
    pub const WRAP: Usages = Usages(1 << 10);
    /// Unwrapping them.
    pub const UNWRAP: Usages = Usages(1 << 11);
    /// Being wrapped.
    pub const WRAPPABLE: Usages = Usages(1 << 12);

    /// Both sets together.
    pub const fn and(self, other: Usages) -> Usages {
        Usages(self.0 | other.0)
    }

    /// Whether all of `self` are in `others`.
    pub const fn within(self, others: Usages) -> bool {
        self.0 & !others.0 == 0
    }
}

/// Where a key's secret came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// It was made in this device, and was nowhere else.
    Generated = 1,
    /// Somebody gave it, in the clear or wrapped.
    Imported = 2,
    /// It was made from another key.
    Derived = 3,
    /// A deployment gave it at the start.
    Provisioned = 4,
}

/// Who makes the nonces of a key that seals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum NoncePolicy {
    /// The device, under a subkey of its start.
    Device = 0,
    /// Who seals.
    Caller = 1,
    /// The device, as `seal-aes-256-gcm` and `open-aes-256-gcm` do; those and no other operations take the key.
    Prefix = 2,
}

/// Whom an entry of the access list is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grantee {
    /// One user.
    User(u32),
    /// The members of a group.
    Group(u32),
    /// Whoever is connected.
    Everyone,
}

/// An entry of the access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who.
    pub grantee: Grantee,
    /// May use the key for what. None: may see it.
    pub usages: Usages,
}

/// What a key is made from; the drawing in this file's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// What it is a key of.
    pub algorithm: Algorithm,
    /// Whether it stays when the connection that made it is closed.
    pub is_persistent: bool,
    /// Whether who seals chooses the nonce.
    pub is_caller_nonce: bool,
    /// What it may be used for.
    pub usages: Usages,
    /// Length of the secret, if the algorithm leaves it open.
    pub secret_bytes: u16,
    /// What it is found by; empty for a key that is not.
    pub name: Vec<u8>,
    /// Who owns it beside the user, or [`NOBODY`].
    pub group: u32,
    /// Who may use it beside the owners.
    pub access: Vec<Grant>,
}

impl Template {
    /// Longest template.
    pub const BYTES_MAX: usize = TEMPLATE_BYTES + KEY_NAME_BYTES_MAX as usize + ENTRY_BYTES * ACCESS_MAX;

    /// A template of a key that is its connection's, has no name and is for nobody else.
    pub fn new(algorithm: Algorithm, usages: Usages) -> Template {
        Template {
            algorithm,
            is_persistent: false,
            is_caller_nonce: false,
            usages,
            secret_bytes: if algorithm.is_open_length() { 32 } else { 0 },
            name: Vec::new(),
            group: NOBODY,
            access: Vec::new(),
        }
    }

    /// The bytes as drawn.
    ///
    /// # Panics
    /// When name or access list are over their limits.
    pub fn to_bytes(&self) -> Vec<u8> {
        assert!(self.name.len() <= KEY_NAME_BYTES_MAX as usize && self.access.len() <= ACCESS_MAX);
        let flags = u8::from(self.is_persistent) * FLAG_PERSISTENT
            + u8::from(self.is_caller_nonce) * FLAG_CALLER_NONCE;
        let mut bytes = vec![self.algorithm as u8, flags];
        bytes.extend(self.usages.0.to_le_bytes());
        bytes.extend(self.secret_bytes.to_le_bytes());
        bytes.extend([self.name.len() as u8, self.access.len() as u8]);
        bytes.extend(self.group.to_le_bytes());
        bytes.extend(&self.name);
        for Grant { grantee, usages } in &self.access {
            let (kind, id) = match grantee {
                Grantee::User(id) => (1u16, *id),
                Grantee::Group(id) => (2, *id),
                Grantee::Everyone => (3, 0),
            };
            bytes.extend(kind.to_le_bytes());
            bytes.extend(usages.0.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    /// The template at the start of `bytes`, and what follows it.
    ///
    /// # Errors
    /// [`Status::WrongParameters`].
    pub fn parse(bytes: &[u8]) -> Result<(Template, &[u8]), Status> {
        const WRONG: Status = Status::WrongParameters;
        let (fixed, rest) = bytes.split_first_chunk::<TEMPLATE_BYTES>().ok_or(WRONG)?;
        let u16_at = |at: usize| u16::from_le_bytes([fixed[at], fixed[at + 1]]);
        let (name_bytes, entries) = (usize::from(fixed[6]), usize::from(fixed[7]));
        let (name, rest) = rest.split_at_checked(name_bytes).ok_or(WRONG)?;
        let (access, rest) = rest.split_at_checked(entries * ENTRY_BYTES).ok_or(WRONG)?;
        let template = Template {
            algorithm: Algorithm::from_number(fixed[0]).ok_or(WRONG)?,
            is_persistent: fixed[1] & FLAG_PERSISTENT != 0,
            is_caller_nonce: fixed[1] & FLAG_CALLER_NONCE != 0,
            usages: Usages(u16_at(2)),
            secret_bytes: u16_at(4),
            name: name.to_vec(),
            group: u32::from_le_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            access: access.chunks_exact(ENTRY_BYTES).map(parse_entry).collect::<Result<_, _>>()?,
        };
        let flags_known = fixed[1] & !(FLAG_PERSISTENT | FLAG_CALLER_NONCE) == 0;
        let fits = name_bytes <= KEY_NAME_BYTES_MAX as usize && entries <= ACCESS_MAX;
        if flags_known && fits { Ok((template, rest)) } else { Err(WRONG) }
    }

    /// Length of the secret that a derivation makes; `None` if this algorithm's keys are not derived.
    pub fn derived_bytes(&self) -> Option<usize> {
        match self.algorithm {
            Algorithm::Hmac | Algorithm::Hkdf => Some(self.secret_bytes.into()),
            Algorithm::P256 => None, // not every string is a key
            algorithm => algorithm.secret_bytes(),
        }
    }
}

impl Algorithm {
    /// Whether the template says how long the secret is.
    pub const fn is_open_length(self) -> bool {
        matches!(self, Algorithm::Hmac | Algorithm::Hkdf)
    }
}

fn parse_entry(bytes: &[u8]) -> Result<Grant, Status> {
    let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let id = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let grantee = match (u16_at(0), id) {
        (1, id) => Grantee::User(id),
        (2, id) => Grantee::Group(id),
        (3, 0) => Grantee::Everyone,
        _ => return Err(Status::WrongParameters),
    };
    Ok(Grant { grantee, usages: Usages(u16_at(2)) })
}

/// All that was fixed when a key was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Where it came from.
    pub origin: Origin,
    /// Who makes its nonces.
    pub policy: NoncePolicy,
    /// Whose it is, or [`NOBODY`]'s.
    pub owner: u32,
    /// The rest.
    pub template: Template,
}

impl Attributes {
    /// Longest form on the wire.
    pub const BYTES_MAX: usize = 8 + Template::BYTES_MAX;

    /// The bytes as drawn.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.origin as u8, self.policy as u8, 0, 0];
        bytes.extend(self.owner.to_le_bytes());
        bytes.extend(self.template.to_bytes());
        bytes
    }

    /// The attributes that these bytes are.
    ///
    /// # Errors
    /// [`Status::WrongParameters`].
    pub fn parse(bytes: &[u8]) -> Result<Attributes, Status> {
        const WRONG: Status = Status::WrongParameters;
        let (&[origin, policy, 0, 0, a, b, c, d], rest) = bytes.split_first_chunk::<8>().ok_or(WRONG)? else {
            return Err(WRONG);
        };
        let origin = match origin {
            1 => Origin::Generated,
            2 => Origin::Imported,
            3 => Origin::Derived,
            4 => Origin::Provisioned,
            _ => return Err(WRONG),
        };
        let policy = match policy {
            0 => NoncePolicy::Device,
            1 => NoncePolicy::Caller,
            2 => NoncePolicy::Prefix,
            _ => return Err(WRONG),
        };
        let (template, rest) = Template::parse(rest)?;
        let owner = u32::from_le_bytes([a, b, c, d]);
        if rest.is_empty() { Ok(Attributes { origin, policy, owner, template }) } else { Err(WRONG) }
    }
}
