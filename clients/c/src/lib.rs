//! The functions of `selvedge.h`. That file is written by hand and says what each does; a test compiles it and holds its
//! numbers and structures against what is here.
//!
//! Invariant: no panic crosses into C, and no pointer is used that is null or whose length is over a limit.
#![allow(unsafe_code)]

mod abi;

use std::ffi::{CStr, c_char, c_int};

use broker::client::blocking::{Client, Settings};
use broker::client::{Place, call};
use broker::limits::PLAINTEXT_BYTES_MAX;
use broker::parameters::{MacKind, Signed};
use broker::wire::{KeyHandle, Status};

use abi::{BUG, Room, bytes, client, entries, failed, hash, mode, out, scheme, template, trust};

/// As C sees it.
pub type Selvedge = Client;
type Bytes = *const u8;

entries! {
    fn selvedge_new(path: *const c_char, place: *mut *mut Selvedge) {
        let place = trust!(out(place))?;
        let broker = match path.is_null() {
            true => broker::client::place(),
            false => {
                use std::os::unix::ffi::OsStrExt;
                // SAFETY: not null; the caller promises a text.
                let path = unsafe { CStr::from_ptr(path) };
                Place::Socket(std::ffi::OsStr::from_bytes(path.to_bytes()).into())
            }
        };
        *place = Box::into_raw(Box::new(Client::at(broker, Settings::default())));
        Ok(())
    }

    fn selvedge_random(this: *mut Selvedge, start: *mut u8, length: usize) {
        let this = trust!(client(this))?;
        let mut done = 0;
        while done < length {
            let count_bytes = (length - done).min(PLAINTEXT_BYTES_MAX as usize) as u32;
            let random = ask(this, &call::Random { count_bytes })?;
            let mut room_bytes = random.len();
            trust!(Room::new(start.wrapping_add(done), &raw mut room_bytes))?.fill(&random)?;
            done += random.len();
        }
        Ok(())
    }

    fn selvedge_hash(
        this: *mut Selvedge, which: c_int, message: Bytes, message_bytes: usize, start: *mut u8, length: *mut usize,
    ) {
        let (room, message) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Hash { hash: hash(which)?, message };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_find(this: *mut Selvedge, name: *const c_char, key: *mut u64) {
        let key = trust!(out(key))?;
        let name = trust!(abi::text(name))?;
        *key = ask(trust!(client(this))?, &call::FindKey { name })?.0;
        Ok(())
    }

    fn selvedge_generate(this: *mut Selvedge, what: *const abi::Template, key: *mut u64) {
        let (key, template) = (trust!(out(key))?, &trust!(template(what))?);
        *key = ask(trust!(client(this))?, &call::KeyGenerate { template })?.0;
        Ok(())
    }

    fn selvedge_import(
        this: *mut Selvedge, what: *const abi::Template, secret: Bytes, secret_bytes: usize, key: *mut u64,
    ) {
        let (key, template) = (trust!(out(key))?, &trust!(template(what))?);
        let secret = trust!(bytes(secret, secret_bytes))?;
        *key = ask(trust!(client(this))?, &call::KeyImport { template, secret })?.0;
        Ok(())
    }

    fn selvedge_import_public(
        this: *mut Selvedge, what: *const abi::Template, public: Bytes, public_bytes: usize, key: *mut u64,
    ) {
        let (key, template) = (trust!(out(key))?, &trust!(template(what))?);
        let public = trust!(bytes(public, public_bytes))?;
        *key = ask(trust!(client(this))?, &call::KeyImportPublic { template, public })?.0;
        Ok(())
    }

    fn selvedge_public(this: *mut Selvedge, key: u64, start: *mut u8, length: *mut usize) {
        let room = trust!(Room::new(start, length))?;
        room.fill(&ask(trust!(client(this))?, &call::KeyPublic { key: handle(key)? })?)
    }

    fn selvedge_algorithm(this: *mut Selvedge, key: u64, algorithm: *mut c_int) {
        let algorithm = trust!(out(algorithm))?;
        let attributes = ask(trust!(client(this))?, &call::KeyAttributes { key: handle(key)? })?;
        *algorithm = attributes.template.algorithm as c_int;
        Ok(())
    }

    fn selvedge_destroy(this: *mut Selvedge, key: u64) {
        ask(trust!(client(this))?, &call::KeyDestroy { key: handle(key)? })
    }

    fn selvedge_wrap(this: *mut Selvedge, key: u64, wrapped: u64, start: *mut u8, length: *mut usize) {
        let room = trust!(Room::new(start, length))?;
        let call = call::KeyWrap { key: handle(key)?, wrapped: handle(wrapped)? };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_unwrap(
        this: *mut Selvedge, key: u64, what: *const abi::Template, wrapped: Bytes, wrapped_bytes: usize,
        unwrapped: *mut u64,
    ) {
        let (unwrapped, template) = (trust!(out(unwrapped))?, &trust!(template(what))?);
        let wrapped = trust!(bytes(wrapped, wrapped_bytes))?;
        *unwrapped = ask(trust!(client(this))?, &call::KeyUnwrap { key: handle(key)?, template, wrapped })?.0;
        Ok(())
    }

    fn selvedge_derive(
        this: *mut Selvedge, key: u64, which: c_int, what: *const abi::Template, salt: Bytes, salt_bytes: usize,
        info: Bytes, info_bytes: usize, derived: *mut u64,
    ) {
        let (derived, template) = (trust!(out(derived))?, &trust!(template(what))?);
        let (salt, info) = (trust!(bytes(salt, salt_bytes))?, trust!(bytes(info, info_bytes))?);
        let call = call::Derive { key: handle(key)?, hash: hash(which)?, template, salt, info };
        *derived = ask(trust!(client(this))?, &call)?.0;
        Ok(())
    }

    fn selvedge_agree(
        this: *mut Selvedge, key: u64, theirs: Bytes, their_bytes: usize, start: *mut u8, length: *mut usize,
    ) {
        let (room, public) = (trust!(Room::new(start, length))?, trust!(bytes(theirs, their_bytes))?);
        room.fill(&ask(trust!(client(this))?, &call::Agree { key: handle(key)?, public })?)
    }

    fn selvedge_encrypt(
        this: *mut Selvedge, key: u64, which: c_int, iv: Bytes, message: Bytes, message_bytes: usize, start: *mut u8,
        length: *mut usize,
    ) {
        let (room, plaintext) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Encrypt { key: handle(key)?, mode: trust!(mode(which, iv))?, plaintext };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_decrypt(
        this: *mut Selvedge, key: u64, which: c_int, iv: Bytes, message: Bytes, message_bytes: usize, start: *mut u8,
        length: *mut usize,
    ) {
        let (room, ciphertext) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Decrypt { key: handle(key)?, mode: trust!(mode(which, iv))?, ciphertext };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_seal(
        this: *mut Selvedge, key: u64, how: *const abi::Aead, message: Bytes, message_bytes: usize, start: *mut u8,
        length: *mut usize,
    ) {
        let (room, plaintext) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Seal { key: handle(key)?, aead: trust!(abi::aead(how))?, plaintext };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_open(
        this: *mut Selvedge, key: u64, how: *const abi::Aead, message: Bytes, message_bytes: usize, start: *mut u8,
        length: *mut usize,
    ) {
        let (room, sealed) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Open { key: handle(key)?, aead: trust!(abi::aead(how))?, sealed };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_mac(
        this: *mut Selvedge, key: u64, which: c_int, message: Bytes, message_bytes: usize, start: *mut u8,
        length: *mut usize,
    ) {
        let (room, message) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call = call::Mac { key: handle(key)?, kind: mac(which)?, message };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_mac_verify(
        this: *mut Selvedge, key: u64, which: c_int, message: Bytes, message_bytes: usize, expected: Bytes,
        expected_bytes: usize,
    ) {
        let message = trust!(bytes(message, message_bytes))?;
        let expected = trust!(bytes(expected, expected_bytes))?;
        let call = call::MacVerify { key: handle(key)?, kind: mac(which)?, expected, message };
        ask(trust!(client(this))?, &call)
    }

    fn selvedge_sign(
        this: *mut Selvedge, key: u64, way: c_int, which: c_int, is_digest: c_int, message: Bytes,
        message_bytes: usize, start: *mut u8, length: *mut usize,
    ) {
        let (room, message) = (trust!(Room::new(start, length))?, trust!(bytes(message, message_bytes))?);
        let call =
            call::Sign { key: handle(key)?, scheme: scheme(way, which)?, signed: signed(is_digest, message) };
        room.fill(&ask(trust!(client(this))?, &call)?)
    }

    fn selvedge_verify(
        this: *mut Selvedge, key: u64, way: c_int, which: c_int, is_digest: c_int, message: Bytes,
        message_bytes: usize, signature: Bytes, signature_bytes: usize,
    ) {
        let message = trust!(bytes(message, message_bytes))?;
        let signature = trust!(bytes(signature, signature_bytes))?;
        let (key, scheme) = (handle(key)?, scheme(way, which)?);
        ask(trust!(client(this))?, &call::Verify { key, scheme, signed: signed(is_digest, message), signature })
    }
}

/// # Safety
/// It is null, or of `selvedge_new` and not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn selvedge_free(this: *mut Selvedge) {
    if !this.is_null() {
        // SAFETY: the caller's promise.
        let this = unsafe { Box::from_raw(this) };
        let _: c_int = abi::guard(|| {
            drop(this);
            Ok(())
        });
    }
}

/// A sentence that is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn selvedge_meaning(status: c_int) -> *const c_char {
    abi::meaning(status).as_ptr()
}

/// # Errors
/// The status, as C sees it.
fn ask<C: call::Call>(client: &Client, call: &C) -> Result<C::Answer, c_int> {
    client.call(call).map_err(|error| failed(&error))
}

/// A key that there may be.
fn handle(key: u64) -> Result<KeyHandle, c_int> {
    if key == 0 { Err(Status::UnknownKey.number().into()) } else { Ok(KeyHandle(key)) }
}

fn mac(which: c_int) -> Result<MacKind, c_int> {
    if which == 0 { Ok(MacKind::Cmac) } else { Ok(MacKind::Hmac(hash(which)?)) }
}

fn signed(is_digest: c_int, message: &[u8]) -> Signed<'_> {
    if is_digest == 0 { Signed::Message(message) } else { Signed::Digest(message) }
}

const _: () = assert!(BUG < 0, "the library's own are negative");
