//! The keys: what was fixed when each was made, and who may use it for what.
//!
//! Owns all keys of a device, in memory; [`Keys`] is the only way to one, so that a store on disk takes its place. What a
//! key is made of is `material`'s. The template that a key is made from, and that is told of it later:
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
//!
//! Invariant: a key that is not the asker's to see answers like one that is not there.
//! Invariant: attributes never change, and no secret leaves but under a wrapping key that was made here or by a
//! deployment, and only if it was wrappable from birth.

use std::collections::{BTreeMap, BTreeSet};

use cipher::{OsRandomness, Randomness};

use super::material::Material;
use crate::limits::{
    ACCESS_MAX, KEY_NAME_BYTES_MAX, KEYS_MAX, KEYS_PER_USER_MAX, LISTED_MAX, SECRET_BYTES_MAX,
    SECRET_BYTES_MIN,
};
use crate::wire::{Connection, KeyHandle, Status};

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

    /// Whether a key can be born so. A usage excludes those that would betray what it protects: a key that wraps does
    /// nothing else, and what is sealed under the device's nonces is touched by no other mode.
    pub(super) fn is_sound(&self, origin: Origin, is_public: bool) -> bool {
        use Algorithm::*;
        let [encrypts, seals, macs, wraps] = [
            Usages::ENCRYPT.and(Usages::DECRYPT),
            Usages::SEAL.and(Usages::OPEN),
            Usages::MAC.and(Usages::MAC_VERIFY),
            Usages::WRAP.and(Usages::UNWRAP),
        ];
        let signs = Usages::SIGN.and(Usages::VERIFY);
        let agrees = Usages::AGREE.and(Usages::DERIVE);
        let families: &[Usages] = match self.algorithm {
            _ if is_public => &[Usages::VERIFY],
            Aes128 | Aes192 | Aes256 if self.is_caller_nonce => &[encrypts.and(seals)],
            Aes128 | Aes192 | Aes256 => &[encrypts, seals, macs, wraps],
            Ascon128 => &[seals],
            Hmac => &[macs],
            Hkdf => &[Usages::DERIVE],
            P256 => &[signs.and(agrees)],
            Ed25519 => &[signs],
            X25519 => &[agrees],
            Rsa2048 | Rsa3072 => &[signs.and(Usages::DECRYPT)],
        };
        let work = Usages(self.usages.0 & !Usages::WRAPPABLE.0);
        // Whoever gave a key knows it, and could unwrap elsewhere what it wraps here.
        let is_unknown = matches!(origin, Origin::Generated | Origin::Provisioned);
        let seals_only = !self.is_caller_nonce || self.usages.0 & seals.0 != 0;
        work.0 != 0
            && families.iter().any(|family| work.within(*family))
            && !(is_public && self.usages != work)
            && (is_unknown || self.usages.0 & Usages::WRAP.0 == 0)
            && seals_only
            && self.is_length_sound(origin, is_public)
    }

    /// A key that is made here has a length that nobody tries out: HKDF's output of 17 bytes begins with that of 16.
    fn is_length_sound(&self, origin: Origin, is_public: bool) -> bool {
        let is_made = matches!(origin, Origin::Generated | Origin::Derived);
        let min_bytes = if is_made { SECRET_BYTES_MIN } else { 1 };
        let secret_bytes = usize::from(self.secret_bytes);
        match self.algorithm.is_open_length() && !is_public {
            true => (min_bytes..=SECRET_BYTES_MAX).contains(&secret_bytes),
            false => secret_bytes == 0,
        }
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
}

/// Who asks: the connection that a request came from, and whose that is, if the broker said so.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The connection.
    pub connection: Connection,
    /// Its user, once the broker has introduced it.
    pub user: Option<u32>,
    /// The user's groups.
    pub groups: Vec<u32>,
}

impl Asker {
    /// Who the broker has said nothing about.
    pub fn stranger(connection: Connection) -> Asker {
        Asker { connection, user: None, groups: Vec::new() }
    }

    fn is_member(&self, group: u32) -> bool {
        group != NOBODY && self.groups.contains(&group)
    }

    fn is(&self, grantee: Grantee) -> bool {
        match grantee {
            Grantee::User(id) => self.user == Some(id),
            Grantee::Group(id) => self.is_member(id),
            Grantee::Everyone => true,
        }
    }
}

/// A key.
pub struct Key {
    /// What was fixed when it was made.
    pub attributes: Attributes,
    /// What it is made of.
    pub material: Material,
    /// The connection that it dies with.
    session: Option<Connection>,
}

impl Key {
    fn is_owned_by(&self, asker: &Asker) -> bool {
        let owner = self.attributes.owner;
        (owner != NOBODY && asker.user == Some(owner)) || asker.is_member(self.attributes.template.group)
    }

    /// What the asker may use it for; `None` when it is not the asker's to see.
    fn usages_for(&self, asker: &Asker) -> Option<Usages> {
        if self.session.is_some_and(|session| session != asker.connection) {
            return None;
        }
        let template = &self.attributes.template;
        if self.is_owned_by(asker) {
            return Some(template.usages);
        }
        let granted = template.access.iter().filter(|grant| asker.is(grant.grantee));
        let granted = granted.map(|grant| grant.usages).reduce(Usages::and)?;
        Some(Usages(granted.0 & template.usages.0))
    }

    fn allows(&self, asker: &Asker, usage: Usages) -> Result<(), Status> {
        let usages = self.usages_for(asker).ok_or(Status::UnknownKey)?;
        if usage.within(usages) { Ok(()) } else { Err(Status::WrongPurpose) }
    }
}

/// All keys of a device.
#[derive(Default)]
pub struct Keys {
    by_handle: BTreeMap<KeyHandle, Key>,
    by_name: BTreeMap<Vec<u8>, BTreeSet<KeyHandle>>,
    /// How many keys a user has.
    by_owner: BTreeMap<u32, usize>,
}

impl Keys {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_handle.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_handle.is_empty()
    }

    /// Takes a key that a deployment gives; `false` when there is one of this handle.
    pub fn provision(&mut self, template: Template, policy: NoncePolicy, material: Material) -> bool {
        let handle = KeyHandle::of(&template.name);
        let attributes = Attributes { origin: Origin::Provisioned, policy, owner: NOBODY, template };
        if handle == KeyHandle::NONE || self.by_handle.contains_key(&handle) {
            return false;
        }
        self.insert(handle, Key { attributes, material, session: None });
        true
    }

    /// Whether the asker may make a key so. Asked before the work is done.
    ///
    /// # Errors
    /// [`Status::WrongParameters`], [`Status::NameTaken`], [`Status::DeviceFull`], or [`Status::DeviceFault`] when the
    /// broker has not said who asks.
    pub fn check_birth(
        &self,
        asker: &Asker,
        template: &Template,
        origin: Origin,
        is_public: bool,
    ) -> Result<u32, Status> {
        let owner = asker.user.ok_or(Status::DeviceFault)?;
        let group_is_own = template.group == NOBODY || asker.is_member(template.group);
        if !template.is_sound(origin, is_public) || !group_is_own {
            return Err(Status::WrongParameters);
        }
        let owners_key = |handle: &KeyHandle| self.by_handle[handle].attributes.owner == owner;
        if self.by_name.get(&template.name).is_some_and(|handles| handles.iter().any(owners_key)) {
            return Err(Status::NameTaken);
        }
        let own = self.by_owner.get(&owner).copied().unwrap_or(0);
        if self.len() >= KEYS_MAX || own >= KEYS_PER_USER_MAX {
            return Err(Status::DeviceFull);
        }
        Ok(owner)
    }

    /// Keeps a key of the asker's.
    ///
    /// # Errors
    /// As [`check_birth`](Self::check_birth), and [`Status::DeviceFault`] when there is no randomness.
    pub fn create(
        &mut self,
        asker: &Asker,
        template: Template,
        origin: Origin,
        material: Material,
    ) -> Result<KeyHandle, Status> {
        let owner = self.check_birth(asker, &template, origin, material.is_public())?;
        let handle = self.draw_handle()?;
        let policy = if template.is_caller_nonce { NoncePolicy::Caller } else { NoncePolicy::Device };
        let session = (!template.is_persistent).then_some(asker.connection);
        let attributes = Attributes { origin, policy, owner, template };
        self.insert(handle, Key { attributes, material, session });
        Ok(handle)
    }

    /// A handle that nobody has, and nobody guesses.
    fn draw_handle(&self) -> Result<KeyHandle, Status> {
        loop {
            let mut bytes = [0; 8];
            OsRandomness.fill(&mut bytes).map_err(|_| Status::DeviceFault)?;
            let handle = KeyHandle(u64::from_le_bytes(bytes));
            if handle != KeyHandle::NONE && !self.by_handle.contains_key(&handle) {
                return Ok(handle);
            }
        }
    }

    fn insert(&mut self, handle: KeyHandle, key: Key) {
        let name = key.attributes.template.name.clone();
        if !name.is_empty() {
            self.by_name.entry(name).or_default().insert(handle);
        }
        *self.by_owner.entry(key.attributes.owner).or_default() += 1;
        self.by_handle.insert(handle, key);
    }

    fn remove(&mut self, handle: KeyHandle) {
        let Some(key) = self.by_handle.remove(&handle) else { return };
        let name = &key.attributes.template.name;
        if let Some(handles) = self.by_name.get_mut(name) {
            handles.remove(&handle);
            if handles.is_empty() {
                self.by_name.remove(name);
            }
        }
        let own = self.by_owner.get_mut(&key.attributes.owner).expect("an owner of a key is counted");
        *own -= 1;
        if *own == 0 {
            self.by_owner.remove(&key.attributes.owner);
        }
    }

    /// A key that the asker can see.
    ///
    /// # Errors
    /// [`Status::UnknownKey`].
    pub fn see(&self, asker: &Asker, handle: KeyHandle) -> Result<&Key, Status> {
        let key = self.by_handle.get(&handle).ok_or(Status::UnknownKey)?;
        key.usages_for(asker).map(|_| key).ok_or(Status::UnknownKey)
    }

    /// A key that the asker uses for this.
    ///
    /// # Errors
    /// [`Status::UnknownKey`] or [`Status::WrongPurpose`].
    pub fn get(&self, asker: &Asker, handle: KeyHandle, usage: Usages) -> Result<&Key, Status> {
        let key = self.by_handle.get(&handle).ok_or(Status::UnknownKey)?;
        key.allows(asker, usage).map(|()| key)
    }

    /// As [`get`](Self::get), for a usage that changes what the device keeps with the key.
    ///
    /// # Errors
    /// As `get`.
    pub fn get_mut(&mut self, asker: &Asker, handle: KeyHandle, usage: Usages) -> Result<&mut Key, Status> {
        let key = self.by_handle.get_mut(&handle).ok_or(Status::UnknownKey)?;
        key.allows(asker, usage).map(|()| key)
    }

    /// Forgets a key, which its owners can ask for.
    ///
    /// # Errors
    /// [`Status::UnknownKey`] or [`Status::WrongPurpose`].
    pub fn destroy(&mut self, asker: &Asker, handle: KeyHandle) -> Result<(), Status> {
        if !self.see(asker, handle)?.is_owned_by(asker) {
            return Err(Status::WrongPurpose);
        }
        self.remove(handle);
        Ok(())
    }

    /// The asker's key of this name; else a deployment's; else one of the asker's groups'. Not one that another user
    /// merely lets the asker use: its name would be that user's choice.
    pub fn find(&self, asker: &Asker, name: &[u8]) -> Option<KeyHandle> {
        let rank = |handle: &KeyHandle| {
            let key = &self.by_handle[handle];
            key.usages_for(asker)?;
            match key.attributes.owner {
                owner if owner != NOBODY && asker.user == Some(owner) => Some((0, *handle)),
                NOBODY => Some((1, *handle)),
                _ if key.is_owned_by(asker) => Some((2, *handle)),
                _ => None,
            }
        };
        self.by_name.get(name)?.iter().filter_map(rank).min().map(|(_, handle)| handle)
    }

    /// Handles of keys that the asker can see, in their order, from the one after `after`.
    pub fn list(&self, asker: &Asker, after: KeyHandle) -> impl Iterator<Item = KeyHandle> {
        let later = (std::ops::Bound::Excluded(after), std::ops::Bound::Unbounded);
        let seen = self.by_handle.range(later).filter(|(_, key)| key.usages_for(asker).is_some());
        seen.map(|(handle, _)| *handle).take(LISTED_MAX)
    }

    /// Forgets the keys that die with a connection, or, without one, with any.
    pub fn forget_sessions(&mut self, of: Option<Connection>) {
        let dies =
            |key: &Key| key.session.is_some_and(|session| of.is_none_or(|connection| connection == session));
        let dead: Vec<KeyHandle> =
            self.by_handle.iter().filter(|(_, key)| dies(key)).map(|(handle, _)| *handle).collect();
        dead.into_iter().for_each(|handle| self.remove(handle));
    }
}
