//! The functions over messages: encrypting, decrypting, digests, signatures, random bytes. Each only finds its session.
#![allow(unsafe_code)]

use std::sync::Arc;

use broker::client::call::Random;
use broker::limits::PLAINTEXT_BYTES_MAX;
use cryptoki_sys::*;

use crate::abi::{Done, Room, entries, items, trust};
use crate::mechanism::{self, Work};
use crate::module::{Known, Module, lock};
use crate::object::value;
use crate::session::Kind;

/// Most random bytes that one call gives.
const RANDOM_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Begins work under a key.
///
/// # Safety
/// The mechanism is there, if it is not null.
unsafe fn begin(
    session: CK_SESSION_HANDLE,
    mechanism: *mut CK_MECHANISM,
    key: CK_OBJECT_HANDLE,
    kind: Kind,
) -> Done {
    let module = Module::get()?;
    let session = module.session(session)?;
    if mechanism.is_null() {
        lock(&session).cancel(module, kind); // PKCS#11 3.0, section 5.10 and so on
        return Ok(());
    }
    let purpose = match kind {
        Kind::Encrypt => CKF_ENCRYPT,
        Kind::Decrypt => CKF_DECRYPT,
        Kind::Digest => CKF_DIGEST,
        Kind::Sign => CKF_SIGN,
        Kind::Verify => CKF_VERIFY,
    };
    let work = trust!(mechanism::parse(mechanism, purpose))?;
    let key = if kind == Kind::Digest { None } else { Some(usable(module, key, kind, &work)?) };
    lock(&session).begin(kind, work, key)
}

/// The key, if it is of the mechanism's kind and may be used so.
fn usable(module: &Module, key: CK_OBJECT_HANDLE, kind: Kind, work: &Work) -> Done<Arc<Known>> {
    use broker::parameters::{MacKind, Scheme};
    let object = module.object(key).map_err(|_| CKR_KEY_HANDLE_INVALID)?;
    let known = module.known(object.key)?;
    let fits = value(object, &known, CKA_KEY_TYPE)
        == Ok(match work {
            Work::Cipher(_) | Work::Aead { .. } | Work::Mac(MacKind::Cmac) => CKK_AES,
            Work::Mac(MacKind::Hmac(_)) => CKK_GENERIC_SECRET,
            Work::Sign(Scheme::Ecdsa(_)) | Work::Ecdsa => CKK_EC,
            Work::Sign(Scheme::Ed25519) => CKK_EC_EDWARDS,
            _ => CKK_RSA,
        }
        .to_ne_bytes()
        .to_vec());
    if !fits {
        return Err(CKR_KEY_TYPE_INCONSISTENT);
    }
    let usage = match kind {
        Kind::Encrypt => CKA_ENCRYPT,
        Kind::Decrypt => CKA_DECRYPT,
        Kind::Sign => CKA_SIGN,
        Kind::Verify | Kind::Digest => CKA_VERIFY,
    };
    if value(object, &known, usage) != Ok(vec![CK_TRUE]) {
        return Err(CKR_KEY_FUNCTION_NOT_PERMITTED);
    }
    Ok(known)
}

/// # Safety
/// Message and room are there.
unsafe fn whole(
    session: CK_SESSION_HANDLE,
    kind: Kind,
    (message, message_bytes): (*mut CK_BYTE, CK_ULONG),
    (start, length): (*mut CK_BYTE, *mut CK_ULONG),
) -> Done {
    let module = Module::get()?;
    let session = module.session(session)?;
    let message = trust!(items(message.cast_const(), message_bytes))?;
    let room = trust!(Room::new(start, length))?;
    lock(&session).whole(module, kind, message, room)
}

/// # Safety
/// Part and room are there.
unsafe fn update(
    session: CK_SESSION_HANDLE,
    kind: Kind,
    (part, part_bytes): (*mut CK_BYTE, CK_ULONG),
    room: Option<(*mut CK_BYTE, *mut CK_ULONG)>,
) -> Done {
    let module = Module::get()?;
    let session = module.session(session)?;
    let part = trust!(items(part.cast_const(), part_bytes))?;
    let room = room.map(|(start, length)| trust!(Room::new(start, length))).transpose()?;
    lock(&session).update(module, kind, part, room)
}

/// # Safety
/// The room is there.
unsafe fn finish(session: CK_SESSION_HANDLE, kind: Kind, start: *mut CK_BYTE, length: *mut CK_ULONG) -> Done {
    let module = Module::get()?;
    let session = module.session(session)?;
    let room = trust!(Room::new(start, length))?;
    lock(&session).finish(module, kind, room)
}

type Session = CK_SESSION_HANDLE;
type Bytes = *mut CK_BYTE;

entries! {
    fn encrypt_init(session: Session, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        trust!(begin(session, mechanism, key, Kind::Encrypt))
    }
    fn encrypt(session: Session, message: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(whole(session, Kind::Encrypt, (message, bytes), (out, length)))
    }
    fn encrypt_update(session: Session, part: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(update(session, Kind::Encrypt, (part, bytes), Some((out, length))))
    }
    fn encrypt_final(session: Session, out: Bytes, length: *mut CK_ULONG) {
        trust!(finish(session, Kind::Encrypt, out, length))
    }
    fn decrypt_init(session: Session, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        trust!(begin(session, mechanism, key, Kind::Decrypt))
    }
    fn decrypt(session: Session, message: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(whole(session, Kind::Decrypt, (message, bytes), (out, length)))
    }
    fn decrypt_update(session: Session, part: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(update(session, Kind::Decrypt, (part, bytes), Some((out, length))))
    }
    fn decrypt_final(session: Session, out: Bytes, length: *mut CK_ULONG) {
        trust!(finish(session, Kind::Decrypt, out, length))
    }
    fn digest_init(session: Session, mechanism: *mut CK_MECHANISM) {
        trust!(begin(session, mechanism, 0, Kind::Digest))
    }
    fn digest(session: Session, message: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(whole(session, Kind::Digest, (message, bytes), (out, length)))
    }
    fn digest_update(session: Session, part: Bytes, bytes: CK_ULONG) {
        trust!(update(session, Kind::Digest, (part, bytes), None))
    }
    fn digest_final(session: Session, out: Bytes, length: *mut CK_ULONG) {
        trust!(finish(session, Kind::Digest, out, length))
    }
    fn sign_init(session: Session, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        trust!(begin(session, mechanism, key, Kind::Sign))
    }
    fn sign(session: Session, message: Bytes, bytes: CK_ULONG, out: Bytes, length: *mut CK_ULONG) {
        trust!(whole(session, Kind::Sign, (message, bytes), (out, length)))
    }
    fn sign_update(session: Session, part: Bytes, bytes: CK_ULONG) {
        trust!(update(session, Kind::Sign, (part, bytes), None))
    }
    fn sign_final(session: Session, out: Bytes, length: *mut CK_ULONG) {
        trust!(finish(session, Kind::Sign, out, length))
    }
    fn verify_init(session: Session, mechanism: *mut CK_MECHANISM, key: CK_OBJECT_HANDLE) {
        trust!(begin(session, mechanism, key, Kind::Verify))
    }
    fn verify(session: Session, message: Bytes, bytes: CK_ULONG, signature: Bytes, length: CK_ULONG) {
        let module = Module::get()?;
        let session = module.session(session)?;
        let message = trust!(items(message.cast_const(), bytes))?;
        let signature = trust!(items(signature.cast_const(), length))?;
        lock(&session).verify(module, Some(message), signature)
    }
    fn verify_update(session: Session, part: Bytes, bytes: CK_ULONG) {
        trust!(update(session, Kind::Verify, (part, bytes), None))
    }
    fn verify_final(session: Session, signature: Bytes, length: CK_ULONG) {
        let module = Module::get()?;
        let session = module.session(session)?;
        let signature = trust!(items(signature.cast_const(), length))?;
        lock(&session).verify(module, None, signature)
    }
    fn random(session: Session, out: Bytes, length: CK_ULONG) {
        let module = Module::get()?;
        module.session(session)?;
        if length as usize > RANDOM_BYTES_MAX {
            return Err(CKR_ARGUMENTS_BAD);
        }
        let mut done = 0;
        while done < length {
            let count_bytes = (length - done).min(PLAINTEXT_BYTES_MAX.into());
            let bytes = module.call(&Random { count_bytes: count_bytes as u32 })?;
            let mut part_bytes = count_bytes;
            if out.is_null() {
                return Err(CKR_ARGUMENTS_BAD);
            }
            trust!(Room::new(out.wrapping_add(done as usize), &raw mut part_bytes))?.fill(&bytes)?;
            done += count_bytes;
        }
        Ok(())
    }
    fn seed(session: Session, _seed: Bytes, _length: CK_ULONG) {
        Module::get()?.session(session)?;
        Err(CKR_RANDOM_SEED_NOT_SUPPORTED)
    }
}
