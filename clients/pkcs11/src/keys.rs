//! Objects and keys: finding, reading, making, giving, wrapping and destroying.
#![allow(unsafe_code)]

use broker::client::call::{KeyDestroy, KeyGenerate, KeyImport, KeyImportPublic, KeyUnwrap, KeyWrap};
use broker::template::{Algorithm, Template, Usages};
use broker::wire::KeyHandle;
use cryptoki_sys::*;

use crate::abi::{Done, Room, entries, items, out, template, trust};
use crate::der;
use crate::mechanism;
use crate::module::{Module, Object, lock};
use crate::object::{Wanted, matches, value};

entries! {
    fn find_init(session: CK_SESSION_HANDLE, start: *mut CK_ATTRIBUTE, count: CK_ULONG) {
        let module = Module::get()?;
        let wanted = trust!(template(start, count))?;
        let session = module.session(session)?;
        let mut session = lock(&session);
        if session.found.is_some() {
            return Err(CKR_OPERATION_ACTIVE);
        }
        let mut found = Vec::new();
        for known in module.keys()? {
            for &class in known.classes() {
                let object = Object { key: known.key, class };
                if matches(object, &known, &wanted) {
                    found.push(module.handle(object)?);
                }
            }
        }
        found.reverse();
        session.found = Some(found);
        Ok(())
    }

    fn find(session: CK_SESSION_HANDLE, objects: *mut CK_OBJECT_HANDLE, most: CK_ULONG, count: *mut CK_ULONG) {
        let session = Module::get()?.session(session)?;
        let mut session = lock(&session);
        let found = session.found.as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
        let count = trust!(out(count))?;
        *count = 0;
        if most > 0 && objects.is_null() {
            return Err(CKR_ARGUMENTS_BAD);
        }
        while *count < most && let Some(handle) = found.pop() {
            *trust!(out(objects.wrapping_add(*count as usize)))? = handle;
            *count += 1;
        }
        Ok(())
    }

    fn find_final(session: CK_SESSION_HANDLE) {
        let session = Module::get()?.session(session)?;
        lock(&session).found.take().map(|_| ()).ok_or(CKR_OPERATION_NOT_INITIALIZED)
    }

    fn attributes(session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE, start: *mut CK_ATTRIBUTE, count: CK_ULONG) {
        let module = Module::get()?;
        module.session(session)?;
        // Checks the pointers to attributes; those to values are the caller's room.
        let asked = trust!(items(start.cast_const(), count))?.len();
        let object = module.object(object)?;
        let known = module.known(object.key).map_err(gone)?;
        let mut worst = Ok(());
        for index in 0..asked {
            let attribute = trust!(out(start.wrapping_add(index)))?;
            let place = (attribute.pValue.cast::<CK_BYTE>(), &raw mut attribute.ulValueLen);
            let mut room = trust!(Room::new(place.0, place.1))?;
            let given = match value(object, &known, attribute.type_) {
                Ok(value) if room.is_question() => {
                    room.say(value.len());
                    Ok(())
                }
                Ok(value) => room.fill(&value),
                Err(rv) => Err(rv),
            };
            if given.is_err() {
                attribute.ulValueLen = CK_UNAVAILABLE_INFORMATION;
                worst = given;
            }
        }
        worst
    }

    fn size(session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE, size: *mut CK_ULONG) {
        let module = Module::get()?;
        module.session(session)?;
        module.object(object)?;
        *trust!(out(size))? = CK_UNAVAILABLE_INFORMATION;
        Ok(())
    }

    fn set(session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE, _start: *mut CK_ATTRIBUTE, _count: CK_ULONG) {
        let module = Module::get()?;
        module.session(session)?;
        module.object(object)?;
        Err(CKR_ATTRIBUTE_READ_ONLY)
    }

    fn create(session: CK_SESSION_HANDLE, start: *mut CK_ATTRIBUTE, count: CK_ULONG, object: *mut CK_OBJECT_HANDLE) {
        let module = Module::get()?;
        module.session(session)?;
        let wanted = Wanted(trust!(template(start, count))?);
        let object = trust!(out(object))?;
        let made = import(module, &wanted)?;
        born(module, session, made.key, &wanted)?;
        *object = module.handle(made)?;
        Ok(())
    }

    fn destroy(session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE) {
        let module = Module::get()?;
        module.session(session)?;
        let object = module.object(object)?;
        let known = module.known(object.key).map_err(gone)?;
        // The public half goes with the private one.
        if known.classes().len() == 2 && object.class == CKO_PUBLIC_KEY {
            return Ok(());
        }
        module.call(&KeyDestroy { key: object.key }).map_err(gone)?;
        module.forget(object.key)
    }

    fn generate(
        session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, start: *mut CK_ATTRIBUTE, count: CK_ULONG,
        object: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        module.session(session)?;
        let mechanism = trust!(items(mechanism.cast_const(), 1))?[0].mechanism;
        mechanism::row(mechanism, CKF_GENERATE)?;
        let wanted = Wanted(trust!(template(start, count))?);
        let object = trust!(out(object))?;
        let length = wanted.number(CKA_VALUE_LEN)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?;
        let kind = match mechanism {
            CKM_AES_KEY_GEN => CKK_AES,
            CKM_HKDF_KEY_GEN => CKK_HKDF,
            _ => CKK_GENERIC_SECRET,
        };
        let key = secret(&wanted, kind, length)?;
        let key = module.call(&KeyGenerate { template: &key }).map_err(inconsistent)?;
        born(module, session, key, &wanted)?;
        *object = module.handle(Object { key, class: CKO_SECRET_KEY })?;
        Ok(())
    }

    fn generate_pair(
        session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, public_start: *mut CK_ATTRIBUTE,
        public_count: CK_ULONG, start: *mut CK_ATTRIBUTE, count: CK_ULONG, public_object: *mut CK_OBJECT_HANDLE,
        object: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        module.session(session)?;
        let mechanism = trust!(items(mechanism.cast_const(), 1))?[0].mechanism;
        mechanism::row(mechanism, CKF_GENERATE_KEY_PAIR)?;
        let public = Wanted(trust!(template(public_start, public_count))?);
        let private = Wanted(trust!(template(start, count))?);
        let (public_object, object) = (trust!(out(public_object))?, trust!(out(object))?);
        let template = private.template(pair(mechanism, &public)?, Some(&public))?;
        let key = module.call(&KeyGenerate { template: &template }).map_err(inconsistent)?;
        born(module, session, key, &private)?;
        *public_object = module.handle(Object { key, class: CKO_PUBLIC_KEY })?;
        *object = module.handle(Object { key, class: CKO_PRIVATE_KEY })?;
        Ok(())
    }

    fn wrap(
        session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, wrapping: CK_OBJECT_HANDLE, wrapped: CK_OBJECT_HANDLE,
        bytes: *mut CK_BYTE, length: *mut CK_ULONG,
    ) {
        let module = Module::get()?;
        module.session(session)?;
        mechanism::row(trust!(items(mechanism.cast_const(), 1))?[0].mechanism, CKF_WRAP)?;
        let key = module.object(wrapping).map_err(|_| CKR_WRAPPING_KEY_HANDLE_INVALID)?.key;
        let wrapped = module.object(wrapped)?.key;
        let mut room = trust!(Room::new(bytes, length))?;
        let bytes = module.call(&KeyWrap { key, wrapped }).map_err(|rv| match rv {
            CKR_KEY_FUNCTION_NOT_PERMITTED => CKR_KEY_UNEXTRACTABLE,
            rv => rv,
        })?;
        if room.is_question() {
            room.say(bytes.len());
            return Ok(());
        }
        room.fill(&bytes)
    }

    fn unwrap(
        session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, unwrapping: CK_OBJECT_HANDLE, bytes: *mut CK_BYTE,
        length: CK_ULONG, start: *mut CK_ATTRIBUTE, count: CK_ULONG, object: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        module.session(session)?;
        mechanism::row(trust!(items(mechanism.cast_const(), 1))?[0].mechanism, CKF_UNWRAP)?;
        let key = module.object(unwrapping).map_err(|_| CKR_UNWRAPPING_KEY_HANDLE_INVALID)?.key;
        let wrapped = trust!(items(bytes.cast_const(), length))?;
        let wanted = Wanted(trust!(template(start, count))?);
        let object = trust!(out(object))?;
        // What AES-KWP adds tells the length of an AES key; of others the template must.
        let class = wanted.number(CKA_CLASS)?.unwrap_or(CKO_SECRET_KEY);
        let length = wanted.number(CKA_VALUE_LEN)?.unwrap_or(length.saturating_sub(8));
        let template = match (class, wanted.number(CKA_KEY_TYPE)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?) {
            (CKO_SECRET_KEY, kind) => secret(&wanted, kind, length)?,
            (CKO_PRIVATE_KEY, CKK_EC) => wanted.template(Algorithm::P256, None)?,
            (CKO_PRIVATE_KEY, CKK_EC_EDWARDS) => wanted.template(Algorithm::Ed25519, None)?,
            _ => return Err(CKR_TEMPLATE_INCONSISTENT),
        };
        let key = module.call(&KeyUnwrap { key, template: &template, wrapped }).map_err(|rv| match rv {
            CKR_ENCRYPTED_DATA_INVALID => CKR_WRAPPED_KEY_INVALID,
            rv => inconsistent(rv),
        })?;
        born(module, session, key, &wanted)?;
        *object = module.handle(Object { key, class })?;
        Ok(())
    }
}

/// A key that is not the token's dies with the session that made it (PKCS#11 3.0, C_CloseSession).
///
/// # Errors
/// What is wrong with the template.
pub fn born(module: &Module, session: CK_SESSION_HANDLE, key: KeyHandle, wanted: &Wanted<'_>) -> Done {
    if wanted.boolean(CKA_TOKEN)? == Some(true) { Ok(()) } else { module.own(session, key) }
}

/// A key that somebody destroyed is no object any more.
fn gone(rv: CK_RV) -> CK_RV {
    if rv == CKR_KEY_HANDLE_INVALID { CKR_OBJECT_HANDLE_INVALID } else { rv }
}

/// What is wrong with the parameters of a birth is wrong with the template.
pub fn inconsistent(rv: CK_RV) -> CK_RV {
    if rv == CKR_ARGUMENTS_BAD { CKR_TEMPLATE_INCONSISTENT } else { rv }
}

fn aes(length: CK_ULONG) -> Done<Algorithm> {
    match length {
        16 => Ok(Algorithm::Aes128),
        24 => Ok(Algorithm::Aes192),
        32 => Ok(Algorithm::Aes256),
        _ => Err(CKR_KEY_SIZE_RANGE),
    }
}

/// The device's template for a secret key of this kind and length.
///
/// # Errors
/// What is wrong with it.
pub fn secret(wanted: &Wanted<'_>, kind: CK_KEY_TYPE, length: CK_ULONG) -> Done<Template> {
    let algorithm = match kind {
        CKK_AES => return wanted.template(aes(length)?, None),
        CKK_GENERIC_SECRET => Algorithm::Hmac,
        CKK_HKDF => Algorithm::Hkdf,
        _ => return Err(CKR_TEMPLATE_INCONSISTENT),
    };
    let secret_bytes = u16::try_from(length).map_err(|_| CKR_KEY_SIZE_RANGE)?;
    Ok(Template { secret_bytes, ..wanted.template(algorithm, None)? })
}

/// The algorithm of a pair, which the public half's template says.
fn pair(mechanism: CK_MECHANISM_TYPE, public: &Wanted<'_>) -> Done<Algorithm> {
    match mechanism {
        CKM_EC_KEY_PAIR_GEN => curve(CKK_EC, public.needed(CKA_EC_PARAMS)?),
        CKM_EC_EDWARDS_KEY_PAIR_GEN => curve(CKK_EC_EDWARDS, public.needed(CKA_EC_PARAMS)?),
        _ => {
            if public.bytes(CKA_PUBLIC_EXPONENT).is_some_and(|exponent| !exponent.ends_with(&[1, 0, 1])) {
                return Err(CKR_ATTRIBUTE_VALUE_INVALID);
            }
            rsa(public.number(CKA_MODULUS_BITS)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?)
        }
    }
}

fn rsa(bits: CK_ULONG) -> Done<Algorithm> {
    match bits {
        2048 => Ok(Algorithm::Rsa2048),
        3072 => Ok(Algorithm::Rsa3072),
        _ => Err(CKR_KEY_SIZE_RANGE),
    }
}

fn curve(kind: CK_KEY_TYPE, parameters: &[u8]) -> Done<Algorithm> {
    match kind {
        CKK_EC if parameters == der::P256 => Ok(Algorithm::P256),
        CKK_EC_EDWARDS if der::ED25519.contains(&parameters) => Ok(Algorithm::Ed25519),
        _ => Err(CKR_CURVE_NOT_SUPPORTED),
    }
}

/// Gives the device a key.
fn import(module: &Module, wanted: &Wanted<'_>) -> Done<Object> {
    let class = wanted.number(CKA_CLASS)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?;
    if !matches!(class, CKO_SECRET_KEY | CKO_PRIVATE_KEY | CKO_PUBLIC_KEY) {
        return Err(CKR_TEMPLATE_INCONSISTENT); // the device holds keys
    }
    let kind = wanted.number(CKA_KEY_TYPE)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?;
    let key = match (class, kind) {
        (CKO_PUBLIC_KEY, _) => import_public(module, wanted, kind)?,
        (CKO_SECRET_KEY, kind) => {
            let value = wanted.needed(CKA_VALUE)?;
            keep(module, &secret(wanted, kind, value.len() as CK_ULONG)?, value)?
        }
        (CKO_PRIVATE_KEY, CKK_EC | CKK_EC_EDWARDS) => {
            let algorithm = curve(kind, wanted.needed(CKA_EC_PARAMS)?)?;
            keep(module, &wanted.template(algorithm, None)?, wanted.needed(CKA_VALUE)?)?
        }
        (CKO_PRIVATE_KEY, CKK_RSA) => {
            let mut numbers = [&[][..]; 8];
            let kinds = [
                CKA_MODULUS,
                CKA_PUBLIC_EXPONENT,
                CKA_PRIVATE_EXPONENT,
                CKA_PRIME_1,
                CKA_PRIME_2,
                CKA_EXPONENT_1,
                CKA_EXPONENT_2,
                CKA_COEFFICIENT,
            ];
            for (number, kind) in numbers.iter_mut().zip(kinds) {
                *number = wanted.needed(kind)?;
            }
            let algorithm = rsa(modulus_bits(numbers[0]))?;
            keep(module, &wanted.template(algorithm, None)?, &der::rsa_private(numbers))?
        }
        _ => return Err(CKR_TEMPLATE_INCONSISTENT),
    };
    Ok(Object { key, class })
}

fn modulus_bits(modulus: &[u8]) -> CK_ULONG {
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    8 * (modulus.len() - zeros) as CK_ULONG
}

fn keep(module: &Module, template: &Template, secret: &[u8]) -> Done<KeyHandle> {
    module.call(&KeyImport { template, secret }).map_err(inconsistent)
}

fn import_public(module: &Module, wanted: &Wanted<'_>, kind: CK_KEY_TYPE) -> Done<KeyHandle> {
    let (algorithm, public) = match kind {
        CKK_RSA => {
            let modulus = wanted.needed(CKA_MODULUS)?;
            (rsa(modulus_bits(modulus))?, der::rsa_public(modulus, wanted.needed(CKA_PUBLIC_EXPONENT)?))
        }
        _ => {
            let algorithm = curve(kind, wanted.needed(CKA_EC_PARAMS)?)?;
            (algorithm, der::point(wanted.needed(CKA_EC_POINT)?).to_vec())
        }
    };
    let template = Template { usages: Usages::VERIFY, ..wanted.template(algorithm, None)? };
    module.call(&KeyImportPublic { template: &template, public: &public }).map_err(inconsistent)
}
