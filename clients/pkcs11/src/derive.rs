//! Keys that are made from keys: with ECDH, and with HKDF.
//!
//! What ECDH gives is a key of HKDF, which stays in the device, or a session's secret that is told, as PKCS#11 has it for
//! callers that run a derivation of their own: of that the module keeps the value until its session ends.
#![allow(unsafe_code)]

use broker::client::call::{Agree, AgreeKey, Derive, KeyImport};
use broker::parameters::Hash;
use broker::wire::KeyHandle;
use cryptoki_sys::*;

use crate::abi::{Done, entries, items, out, template, trust};
use crate::der;
use crate::keys::{born, inconsistent, secret};
use crate::mechanism::{self, read};
use crate::module::{Module, Object};
use crate::object::{Wanted, value};

entries! {
    fn derive(
        session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM, base: CK_OBJECT_HANDLE, start: *mut CK_ATTRIBUTE,
        count: CK_ULONG, object: *mut CK_OBJECT_HANDLE,
    ) {
        let module = Module::get()?;
        module.session(session)?;
        let mechanism = &trust!(items(mechanism.cast_const(), 1))?[0];
        mechanism::row(mechanism.mechanism, CKF_DERIVE)?;
        let parameter = trust!(items(mechanism.pParameter.cast::<u8>(), mechanism.ulParameterLen))?;
        let wanted = Wanted(trust!(template(start, count))?);
        let object = trust!(out(object))?;
        if !matches!(wanted.number(CKA_CLASS)?, None | Some(CKO_SECRET_KEY)) {
            return Err(CKR_TEMPLATE_INCONSISTENT);
        }
        let base = module.object(base).map_err(|_| CKR_KEY_HANDLE_INVALID)?;
        let kind = value(base, &*module.known(base.key)?, CKA_KEY_TYPE)?;
        let is = |kinds: &[CK_KEY_TYPE]| kinds.iter().any(|one| one.to_ne_bytes()[..] == kind[..]);
        let key = match mechanism.mechanism {
            CKM_ECDH1_DERIVE if is(&[CKK_EC, CKK_EC_MONTGOMERY]) && base.class == CKO_PRIVATE_KEY => {
                trust!(agree(module, base.key, parameter, &wanted))?
            }
            CKM_HKDF_DERIVE if is(&[CKK_HKDF]) => trust!(expand(module, base.key, parameter, &wanted))?,
            _ => return Err(CKR_KEY_TYPE_INCONSISTENT),
        };
        born(module, session, key, &wanted)?;
        *object = module.handle(Object { key, class: CKO_SECRET_KEY })?;
        Ok(())
    }
}

/// # Safety
/// What the parameter points to is there.
unsafe fn agree(module: &Module, key: KeyHandle, parameter: &[u8], wanted: &Wanted<'_>) -> Done<KeyHandle> {
    let given: CK_ECDH1_DERIVE_PARAMS = trust!(read(parameter))?;
    if given.kdf != CKD_NULL || given.ulSharedDataLen != 0 {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    }
    let public = der::point(trust!(items(given.pPublicData.cast_const(), given.ulPublicDataLen))?);
    let invalid = |rv| if rv == CKR_ARGUMENTS_BAD { CKR_MECHANISM_PARAM_INVALID } else { inconsistent(rv) };
    let length = wanted.number(CKA_VALUE_LEN)?.unwrap_or(SHARED_BYTES);
    match wanted.number(CKA_KEY_TYPE)?.ok_or(CKR_TEMPLATE_INCOMPLETE)? {
        _ if length != SHARED_BYTES => Err(CKR_KEY_SIZE_RANGE),
        CKK_HKDF => {
            let template = secret(wanted, CKK_HKDF, length)?;
            module.call(&AgreeKey { key, public, template: &template }).map_err(invalid)
        }
        CKK_GENERIC_SECRET if is_told(wanted)? => {
            let shared = module.call(&Agree { key, public }).map_err(invalid)?;
            let template = secret(wanted, CKK_GENERIC_SECRET, length)?;
            let key =
                module.call(&KeyImport { template: &template, secret: &shared }).map_err(inconsistent)?;
            module.tell(key, shared)?;
            Ok(key)
        }
        _ => Err(CKR_TEMPLATE_INCONSISTENT),
    }
}

/// Length of what two keys share, on both curves.
const SHARED_BYTES: CK_ULONG = 32;

/// Whether the caller wants to read the secret: of the device's own keys nobody can.
fn is_told(wanted: &Wanted<'_>) -> Done<bool> {
    let [sensitive, extractable, is_token] =
        [CKA_SENSITIVE, CKA_EXTRACTABLE, CKA_TOKEN].map(|kind| wanted.boolean(kind));
    Ok(sensitive? == Some(false) && extractable? == Some(true) && is_token? != Some(true))
}

/// # Safety
/// What the parameter points to is there.
unsafe fn expand(module: &Module, key: KeyHandle, parameter: &[u8], wanted: &Wanted<'_>) -> Done<KeyHandle> {
    let given: CK_HKDF_PARAMS = trust!(read(parameter))?;
    let hash = match given.prfHashMechanism {
        CKM_SHA256 => Hash::Sha256,
        CKM_SHA384 => Hash::Sha384,
        CKM_SHA512 => Hash::Sha512,
        _ => return Err(CKR_MECHANISM_PARAM_INVALID),
    };
    let salt = match given.ulSaltType {
        CKF_HKDF_SALT_NULL => &[],
        CKF_HKDF_SALT_DATA => trust!(items(given.pSalt.cast_const(), given.ulSaltLen))?,
        _ => return Err(CKR_MECHANISM_PARAM_INVALID),
    };
    if [given.bExtract, given.bExpand].contains(&CK_FALSE) {
        return Err(CKR_MECHANISM_PARAM_INVALID); // the device does both or nothing
    }
    let info = trust!(items(given.pInfo.cast_const(), given.ulInfoLen))?;
    let kind = wanted.number(CKA_KEY_TYPE)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?;
    let template = secret(wanted, kind, wanted.number(CKA_VALUE_LEN)?.ok_or(CKR_TEMPLATE_INCOMPLETE)?)?;
    module.call(&Derive { key, hash, template: &template, salt, info }).map_err(inconsistent)
}
