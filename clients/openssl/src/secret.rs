//! Keys that ciphers and MACs work under: of the device, found by their names, or bytes that OpenSSL gives, which become a
//! key of this connection alone and are forgotten with it, as public keys do that check a signature.

use std::sync::Arc;

use broker::client::call::{FindKey, KeyAttributes, KeyDestroy, KeyGenerate, KeyImport, KeyImportPublic};
use broker::template::{Algorithm, Template, Usages};
use broker::wire::KeyHandle;

use crate::abi::{Done, Failed, Param, Provider};

/// The parameter that names a key of the device, for ciphers, MACs and HKDF.
pub const NAME: &std::ffi::CStr = c"selvedge-key";

/// A key that something works under. Copies of it share it.
pub struct Held {
    provider: Arc<Provider>,
    /// Its handle.
    pub handle: KeyHandle,
    /// What it is a key of.
    pub algorithm: Algorithm,
    is_lent: bool,
}

impl Held {
    /// The key of a name.
    ///
    /// # Errors
    /// That there is none.
    pub fn named(provider: &Arc<Provider>, name: &Param) -> Done<Arc<Held>> {
        let handle = provider.call(&FindKey { name: name.get_text().ok_or(Failed)? })?;
        let algorithm = provider.call(&KeyAttributes { key: handle })?.template.algorithm;
        Ok(Arc::new(Held { provider: provider.clone(), handle, algorithm, is_lent: false }))
    }

    /// A key of these bytes, until the last copy is dropped.
    ///
    /// # Errors
    /// That the device does not take it.
    pub fn given(provider: &Arc<Provider>, template: &Template, secret: &[u8]) -> Done<Arc<Held>> {
        let handle = provider.call(&KeyImport { template, secret })?;
        let (provider, algorithm) = (provider.clone(), template.algorithm);
        Ok(Arc::new(Held { provider, handle, algorithm, is_lent: true }))
    }

    /// A key that the device makes. One that does not persist lives until the last copy is dropped.
    ///
    /// # Errors
    /// That the device makes none such.
    pub fn generated(provider: &Arc<Provider>, template: &Template) -> Done<Arc<Held>> {
        let handle = provider.call(&KeyGenerate { template })?;
        let (algorithm, is_lent) = (template.algorithm, !template.is_persistent);
        Ok(Arc::new(Held { provider: provider.clone(), handle, algorithm, is_lent }))
    }

    /// A public key that checks signatures, until the last copy is dropped.
    ///
    /// # Errors
    /// That it is none.
    pub fn checking(provider: &Arc<Provider>, algorithm: Algorithm, public: &[u8]) -> Done<Arc<Held>> {
        let template = Template::new(algorithm, Usages::VERIFY);
        let handle = provider.call(&KeyImportPublic { template: &template, public })?;
        Ok(Arc::new(Held { provider: provider.clone(), handle, algorithm, is_lent: true }))
    }

    /// A key of AES of these bytes, for these usages.
    ///
    /// # Errors
    /// That AES has no such key.
    pub fn aes(
        provider: &Arc<Provider>,
        usages: Usages,
        is_caller_nonce: bool,
        secret: &[u8],
    ) -> Done<Arc<Held>> {
        let algorithm = aes(secret.len()).ok_or(Failed)?;
        Held::given(provider, &Template { is_caller_nonce, ..Template::new(algorithm, usages) }, secret)
    }

    /// A key of HMAC of these bytes. None are zeros (RFC 2104 section 2), which the device would rather be told.
    ///
    /// # Errors
    /// That they are too many.
    pub fn hmac(provider: &Arc<Provider>, secret: &[u8]) -> Done<Arc<Held>> {
        let secret = if secret.is_empty() { &[0] } else { secret };
        let secret_bytes = u16::try_from(secret.len()).map_err(|_| Failed)?;
        let template = Template { secret_bytes, ..Template::new(Algorithm::Hmac, Usages::MAC) };
        Held::given(provider, &template, secret)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_lent {
            // It may be gone with its connection already.
            let _ = self.provider.call(&KeyDestroy { key: self.handle });
        }
    }
}

/// AES with a key so long.
pub fn aes(key_bytes: usize) -> Option<Algorithm> {
    match key_bytes {
        16 => Some(Algorithm::Aes128),
        24 => Some(Algorithm::Aes192),
        32 => Some(Algorithm::Aes256),
        _ => None,
    }
}
