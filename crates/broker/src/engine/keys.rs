//! The keys: what was fixed when each was made, and who may use it for what.
//!
//! Owns all keys of a device, in memory, and is the only way to one; what of them is on disk is `store`'s, what a key is made
//! of is `material`'s, and the template that it is made from is [`template`](crate::template)'s.
//!
//! Invariant: a key that is not the asker's to see answers like one that is not there.
//! Invariant: attributes never change, and no secret leaves but under a wrapping key that was made here or by a
//! deployment, and only if it was wrappable from birth.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cipher::{OsRandomness, Randomness};
use sha2::{Digest, Sha256};

use super::material::Material;
use crate::limits::{KEYS_MAX, KEYS_PER_USER_MAX, LISTED_MAX, SECRET_BYTES_MAX, SECRET_BYTES_MIN};
pub use crate::template::{
    Algorithm, Attributes, Grant, Grantee, NOBODY, NoncePolicy, Origin, Template, Usages,
};
use crate::wire::{Connection, KeyHandle, Status};

impl KeyHandle {
    /// The handle of the key that a device is given under this name: the first eight bytes of the name's
    /// SHA-256, which every device can compute.
    pub fn of(name: &[u8]) -> KeyHandle {
        let digest = Sha256::digest(name);
        KeyHandle(u64::from_le_bytes(digest[..8].try_into().expect("a digest is longer than a handle")))
    }
}

impl Template {
    /// Whether a key can be born so. A usage excludes those that would betray what it protects: a key that wraps does
    /// nothing else and is never wrapped, since it could come back as one that decrypts what it wrapped, block by block
    /// (RFC 5649); and what is sealed under the device's nonces is touched by no other mode.
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
            && (self.usages == work || work.0 & wraps.0 == 0)
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
    /// Who the broker says that a connection is: `user 4 | group 4 ...`. None when that is nobody.
    pub(super) fn introduced(connection: Connection, payload: &[u8]) -> Option<Asker> {
        let (numbers, rest) = payload.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let user = numbers.next().filter(|user| *user != NOBODY && rest.is_empty())?;
        let asker = Asker { connection, user: Some(user), groups: numbers.collect() };
        (connection != Connection::BROKER).then_some(asker)
    }

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
    by_handle: BTreeMap<KeyHandle, Arc<Key>>,
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

    /// A key that is the asker's, and a handle for it. It is there once it is [put in](Self::insert).
    ///
    /// # Errors
    /// As [`check_birth`](Self::check_birth), and [`Status::DeviceFault`] when there is no randomness.
    pub fn bear(
        &self,
        asker: &Asker,
        template: Template,
        origin: Origin,
        material: Material,
    ) -> Result<(KeyHandle, Key), Status> {
        let owner = self.check_birth(asker, &template, origin, material.is_public())?;
        let policy = if template.is_caller_nonce { NoncePolicy::Caller } else { NoncePolicy::Device };
        let session = (!template.is_persistent).then_some(asker.connection);
        let attributes = Attributes { origin, policy, owner, template };
        Ok((self.draw_handle()?, Key { attributes, material, session }))
    }

    /// Takes a persistent key that the device had before; `false` when there is one of this handle.
    pub fn adopt(&mut self, handle: KeyHandle, attributes: Attributes, material: Material) -> bool {
        let is_new = !self.by_handle.contains_key(&handle);
        if is_new {
            self.insert(handle, Key { attributes, material, session: None });
        }
        is_new
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

    /// Puts a key in that was [born](Self::bear).
    pub fn insert(&mut self, handle: KeyHandle, key: Key) {
        let name = key.attributes.template.name.clone();
        if !name.is_empty() {
            self.by_name.entry(name).or_default().insert(handle);
        }
        *self.by_owner.entry(key.attributes.owner).or_default() += 1;
        self.by_handle.insert(handle, Arc::new(key));
    }

    /// Takes one out. Who uses it at this moment goes on.
    pub fn remove(&mut self, handle: KeyHandle) {
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
    pub fn see(&self, asker: &Asker, handle: KeyHandle) -> Result<Arc<Key>, Status> {
        let key = self.by_handle.get(&handle).ok_or(Status::UnknownKey)?;
        key.usages_for(asker).map(|_| key.clone()).ok_or(Status::UnknownKey)
    }

    /// A key that the asker uses for this.
    ///
    /// # Errors
    /// [`Status::UnknownKey`] or [`Status::WrongPurpose`].
    pub fn get(&self, asker: &Asker, handle: KeyHandle, usage: Usages) -> Result<Arc<Key>, Status> {
        let key = self.by_handle.get(&handle).ok_or(Status::UnknownKey)?;
        key.allows(asker, usage).map(|()| key.clone())
    }

    /// A key that the asker may [take out](Self::remove), being one of its owners.
    ///
    /// # Errors
    /// [`Status::UnknownKey`] or [`Status::WrongPurpose`].
    pub fn own(&self, asker: &Asker, handle: KeyHandle) -> Result<Arc<Key>, Status> {
        let key = self.see(asker, handle)?;
        if key.is_owned_by(asker) { Ok(key) } else { Err(Status::WrongPurpose) }
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
