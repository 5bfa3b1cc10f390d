//! A session: what it has begun, and the work on a message, whole or in parts.
//!
//! What can be done in parts at the device is; what cannot, because nothing is released before a tag was compared or
//! because the whole is signed, is gathered here first.

use std::sync::Arc;

use broker::client::call::{
    Begin, Cancel, Context, Decrypt, Encrypt, Finish, Hash, Mac, MacVerify, Open, RsaDecrypt, Seal, Secret,
    Sign, Update, Verify,
};
use broker::limits::PLAINTEXT_BYTES_MAX;
use broker::parameters::{Aead, Hash as HashKind, MacKind, Scheme, Signed};
use broker::template::Algorithm;
use broker::wire::KeyHandle;
use cryptoki_sys::*;

use crate::abi::{Done, Room};
use crate::der;
use crate::mechanism::{Work, scalar};
use crate::module::{Known, Module};

/// What one request takes.
const PART_BYTES: usize = PLAINTEXT_BYTES_MAX as usize;
/// Most bytes that an encryption or decryption adds: padding, or a tag.
const ADDED_BYTES: usize = 16;

/// What a session can have begun, one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `C_Encrypt` and so on.
    Encrypt,
    /// `C_Decrypt` and so on.
    Decrypt,
    /// `C_Digest` and so on.
    Digest,
    /// `C_Sign` and so on.
    Sign,
    /// `C_Verify` and so on.
    Verify,
}

/// A session.
pub struct Session {
    /// As it was opened.
    pub flags: CK_FLAGS,
    begun: [Option<Begun>; 5],
    /// What a search found and has not told yet, the last first.
    pub found: Option<Vec<CK_OBJECT_HANDLE>>,
}

struct Begun {
    work: Work,
    key: Option<Arc<Known>>,
    /// At the device.
    context: Option<Context>,
    /// What was given and cannot be worked on yet.
    gathered: Secret,
    /// Whether parts were given.
    is_in_parts: bool,
    /// What was made for a buffer that was too small.
    ready: Option<Secret>,
}

impl Session {
    /// One in which nothing is begun.
    pub fn new(flags: CK_FLAGS) -> Session {
        Session { flags, begun: [const { None }; 5], found: None }
    }

    /// Begins work; with none, gives up what was begun.
    ///
    /// # Errors
    /// `CKR_OPERATION_ACTIVE`.
    pub fn begin(&mut self, kind: Kind, work: Work, key: Option<Arc<Known>>) -> Done {
        let place = &mut self.begun[kind as usize];
        if place.is_some() {
            return Err(CKR_OPERATION_ACTIVE);
        }
        let (context, gathered) = (None, Secret::default());
        *place = Some(Begun { work, key, context, gathered, is_in_parts: false, ready: None });
        Ok(())
    }

    /// Gives up what was begun of a kind.
    pub fn cancel(&mut self, module: &Module, kind: Kind) {
        if let Some(Begun { context: Some(context), .. }) = self.begun[kind as usize].take() {
            // It may be gone with its connection already.
            let _ = module.call(&Cancel { context });
        }
    }

    /// Gives up all that was begun.
    pub fn abandon(&mut self, module: &Module) {
        for kind in [Kind::Encrypt, Kind::Decrypt, Kind::Digest, Kind::Sign, Kind::Verify] {
            self.cancel(module, kind);
        }
    }

    /// Ends the work unless it is to go on: a question for a length or a buffer too small leaves it as it is.
    fn settle(&mut self, module: &Module, kind: Kind, done: Done, goes_on: bool) -> Done {
        let stays = match done {
            Ok(()) => goes_on,
            Err(rv) => rv == CKR_BUFFER_TOO_SMALL,
        };
        if !stays {
            self.cancel(module, kind);
        }
        done
    }

    fn begun(&mut self, kind: Kind) -> Done<&mut Begun> {
        self.begun[kind as usize].as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)
    }

    /// The whole message at once.
    ///
    /// # Errors
    /// `CKR_OPERATION_NOT_INITIALIZED`, `CKR_BUFFER_TOO_SMALL`, or the status as a `CK_RV`.
    pub fn whole(&mut self, module: &Module, kind: Kind, message: &[u8], mut room: Room<'_>) -> Done {
        let begun = self.begun(kind)?;
        if begun.is_in_parts {
            return Err(CKR_OPERATION_ACTIVE);
        }
        let is_question = room.is_question();
        let done = begun.give(&mut room, message.len(), |begun| begun.whole(module, kind, message));
        self.settle(module, kind, done, is_question)
    }

    /// A part of the message.
    ///
    /// # Errors
    /// As [`whole`](Self::whole).
    pub fn update(&mut self, module: &Module, kind: Kind, part: &[u8], room: Option<Room<'_>>) -> Done {
        let begun = self.begun(kind)?;
        let done = match room {
            None => begun.update(module, kind, part).map(|_| ()),
            Some(mut room) => begun.give(&mut room, part.len(), |begun| begun.update(module, kind, part)),
        };
        self.settle(module, kind, done, true)
    }

    /// The end of the message.
    ///
    /// # Errors
    /// As [`whole`](Self::whole).
    pub fn finish(&mut self, module: &Module, kind: Kind, mut room: Room<'_>) -> Done {
        let begun = self.begun(kind)?;
        let is_question = room.is_question();
        let gathered = begun.gathered.len();
        let done = begun.give(&mut room, gathered, |begun| begun.finish(module, kind));
        self.settle(module, kind, done, is_question)
    }

    /// Checks a signature of the whole message, or of the parts that were given.
    ///
    /// # Errors
    /// As [`whole`](Self::whole); `CKR_SIGNATURE_INVALID`.
    pub fn verify(&mut self, module: &Module, message: Option<&[u8]>, signature: &[u8]) -> Done {
        let begun = self.begun(Kind::Verify)?;
        let done = match message {
            Some(_) if begun.is_in_parts => return Err(CKR_OPERATION_ACTIVE),
            Some(message) => begun.verify(module, message, signature),
            None => begun.verify_parts(module, signature),
        };
        let done = done.map_err(|rv| match rv {
            CKR_ENCRYPTED_DATA_INVALID => CKR_SIGNATURE_INVALID,
            rv => rv,
        });
        self.settle(module, Kind::Verify, done, false)
    }
}

impl Begun {
    fn key(&self) -> Done<KeyHandle> {
        self.key.as_ref().map(|known| known.key).ok_or(CKR_KEY_HANDLE_INVALID)
    }

    /// Makes the answer, once, and gives it or says how long it is at most.
    fn give(
        &mut self,
        room: &mut Room<'_>,
        message_bytes: usize,
        make: impl FnOnce(&mut Begun) -> Done<Secret>,
    ) -> Done {
        if room.is_question() {
            let most =
                self.ready.as_ref().map_or_else(|| self.most_bytes(message_bytes), |ready| ready.len());
            room.say(most);
            return Ok(());
        }
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => make(self)?,
        };
        let given = room.fill(&ready);
        if given.is_err() {
            self.ready = Some(ready);
        }
        given
    }

    /// Length of the longest answer to a message, or part, so long.
    fn most_bytes(&self, message_bytes: usize) -> usize {
        let algorithm = self.key.as_ref().map(|known| known.attributes.template.algorithm);
        match (&self.work, algorithm) {
            (Work::Digest(hash) | Work::Mac(MacKind::Hmac(hash)), _) => hash.digest_bytes(),
            (Work::Mac(MacKind::Cmac), _) => 16,
            (Work::Cipher(_) | Work::Aead { .. }, _) => message_bytes.saturating_add(ADDED_BYTES),
            (_, Some(Algorithm::Rsa2048)) => 256,
            (_, Some(Algorithm::Rsa3072)) => 384,
            _ => 64,
        }
    }

    /// The hash that the device runs over the message before a signature, if it does.
    fn hash(&self) -> Option<HashKind> {
        match self.work {
            Work::Digest(hash)
            | Work::Sign(Scheme::Ecdsa(hash) | Scheme::RsaPkcs1(hash) | Scheme::RsaPss(hash)) => Some(hash),
            _ => None,
        }
    }

    /// Begins at the device, if that is possible for this.
    fn begin(&mut self, module: &Module, kind: Kind) -> Done<Option<Context>> {
        if self.context.is_none() {
            self.context = match (&self.work, kind, self.hash()) {
                (_, _, Some(hash)) => Some(module.call(&Begin(Hash { hash, message: &[] }))?),
                (Work::Cipher(mode), Kind::Encrypt, _) => {
                    let key = self.key()?;
                    Some(module.call(&Begin(Encrypt { key, mode: *mode, plaintext: &[] }))?)
                }
                (Work::Cipher(mode), Kind::Decrypt, _) => {
                    let key = self.key()?;
                    Some(module.call(&Begin(Decrypt { key, mode: *mode, ciphertext: &[] }))?)
                }
                (Work::Mac(mac), Kind::Sign, _) => {
                    let key = self.key()?;
                    Some(module.call(&Begin(Mac { key, kind: *mac, message: &[] }))?)
                }
                _ => None,
            };
        }
        Ok(self.context)
    }

    fn update(&mut self, module: &Module, kind: Kind, part: &[u8]) -> Done<Secret> {
        self.is_in_parts = true;
        let Some(context) = self.begin(module, kind)? else {
            if self.gathered.len() + part.len() > PART_BYTES + ADDED_BYTES {
                return Err(CKR_DATA_LEN_RANGE);
            }
            // A vector that grows leaves copies behind.
            let mut grown = Secret::new(Vec::with_capacity(self.gathered.len() + part.len()));
            grown.extend_from_slice(&self.gathered);
            grown.extend_from_slice(part);
            self.gathered = grown;
            return Ok(Secret::default());
        };
        let mut out = Secret::new(Vec::with_capacity(part.len().saturating_add(ADDED_BYTES)));
        for part in part.chunks(PART_BYTES) {
            out.extend_from_slice(&module.call(&Update { context, part })?);
        }
        Ok(out)
    }

    fn finish(&mut self, module: &Module, kind: Kind) -> Done<Secret> {
        match self.context.take() {
            Some(context) => {
                let rest = module.call(&Finish { context, part: &[] })?;
                if kind == Kind::Sign && self.hash().is_some() {
                    return self.sign(module, Signed::Digest(&rest));
                }
                Ok(rest)
            }
            None => {
                let gathered = std::mem::take(&mut self.gathered);
                self.whole(module, kind, &gathered)
            }
        }
    }

    fn whole(&mut self, module: &Module, kind: Kind, message: &[u8]) -> Done<Secret> {
        if message.len() > PART_BYTES && self.begin(module, kind)?.is_some() {
            let mut out = self.update(module, kind, message)?;
            let rest = self.finish(module, kind)?;
            let mut whole = Secret::new(Vec::with_capacity(out.len() + rest.len()));
            whole.append(&mut out);
            whole.extend_from_slice(&rest);
            return Ok(whole);
        }
        match (&self.work, kind) {
            (Work::Digest(hash), _) => module.call(&Hash { hash: *hash, message }).map(Secret::new),
            (Work::Cipher(mode), Kind::Encrypt) => {
                let encrypt = Encrypt { key: self.key()?, mode: *mode, plaintext: message };
                module.call(&encrypt).map(Secret::new)
            }
            (Work::Cipher(mode), _) => {
                module.call(&Decrypt { key: self.key()?, mode: *mode, ciphertext: message })
            }
            (Work::Aead { suite, tag_bytes, nonce, associated_data }, _) => {
                let aead = Aead { suite: *suite, tag_bytes: *tag_bytes, nonce, associated_data };
                let key = self.key()?;
                match kind {
                    Kind::Encrypt => module.call(&Seal { key, aead, plaintext: message }).map(Secret::new),
                    _ => module.call(&Open { key, aead, sealed: message }),
                }
            }
            (Work::RsaPkcs1 | Work::RsaOaep { .. }, _) => {
                let padding = self.work.padding().ok_or(CKR_MECHANISM_INVALID)?;
                module.call(&RsaDecrypt { key: self.key()?, padding, ciphertext: message })
            }
            _ => self.sign(module, Signed::Message(message)),
        }
    }

    /// The scheme and what is signed of a message, or of its digest.
    fn scheme<'a>(&self, signed: Signed<'a>, digest: &'a mut Secret) -> Done<(Scheme, Signed<'a>)> {
        match (&self.work, signed) {
            (Work::Sign(scheme), signed) => Ok((*scheme, signed)),
            (Work::Ecdsa, Signed::Message(message)) => {
                *digest = scalar(message);
                Ok((Scheme::Ecdsa(HashKind::Sha256), Signed::Digest(digest)))
            }
            (Work::RsaDigestInfo, Signed::Message(message)) => {
                let (scheme, digest) = der::digest_info(message).ok_or(CKR_DATA_INVALID)?;
                Ok((scheme, Signed::Digest(digest)))
            }
            (Work::RsaPss(hash), Signed::Message(message)) if message.len() == hash.digest_bytes() => {
                Ok((Scheme::RsaPss(*hash), Signed::Digest(message)))
            }
            (Work::RsaPss(_), _) => Err(CKR_DATA_LEN_RANGE),
            _ => Err(CKR_MECHANISM_INVALID),
        }
    }

    fn sign(&self, module: &Module, signed: Signed<'_>) -> Done<Secret> {
        let key = self.key()?;
        if let (Work::Mac(kind), Signed::Message(message)) = (&self.work, signed) {
            return module.call(&Mac { key, kind: *kind, message }).map(Secret::new);
        }
        let mut digest = Secret::default();
        let (scheme, signed) = self.scheme(signed, &mut digest)?;
        module.call(&Sign { key, scheme, signed }).map(Secret::new)
    }

    fn verify(&mut self, module: &Module, message: &[u8], signature: &[u8]) -> Done {
        if message.len() > PART_BYTES && self.begin(module, Kind::Verify)?.is_some() {
            self.update(module, Kind::Verify, message)?;
            return self.verify_parts(module, signature);
        }
        self.check(module, Signed::Message(message), signature)
    }

    fn verify_parts(&mut self, module: &Module, signature: &[u8]) -> Done {
        match self.context.take() {
            Some(context) => {
                let digest = module.call(&Finish { context, part: &[] })?;
                self.check(module, Signed::Digest(&digest), signature)
            }
            None => {
                let gathered = std::mem::take(&mut self.gathered);
                self.check(module, Signed::Message(&gathered), signature)
            }
        }
    }

    fn check(&self, module: &Module, signed: Signed<'_>, signature: &[u8]) -> Done {
        if signature.len() != self.most_bytes(0) {
            return Err(CKR_SIGNATURE_LEN_RANGE);
        }
        let key = self.key()?;
        if let (Work::Mac(kind), Signed::Message(message)) = (&self.work, signed) {
            return module.call(&MacVerify { key, kind: *kind, expected: signature, message });
        }
        let mut digest = Secret::default();
        let (scheme, signed) = self.scheme(signed, &mut digest)?;
        module.call(&Verify { key, scheme, signed, signature })
    }
}
