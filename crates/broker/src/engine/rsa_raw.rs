//! What AWS-LC's safe interface leaves out of RSA: the permutation without any padding, and signatures of SHA-1 digests.
//!
//! Implicit rejection needs the encoded message, right or wrong, and the private exponent. AWS-LC's `RSA_decrypt` gives the
//! one, blinded and checked against faults of the Chinese remainder theorem, as `RSA_sign` is, so its C interface is
//! called here, and nowhere else in the broker.
//!
//! Invariant: a [`RawKey`] holds the only reference that is used to its `RSA`, which lives as long.

#![allow(unsafe_code)]

use std::ptr::NonNull;

use aws_lc_sys::{
    BN_bn2bin_padded, CBS, CBS_init, CBS_len, EVP_PKEY_free, EVP_PKEY_get1_RSA, EVP_parse_private_key,
    NID_sha1, RSA, RSA_NO_PADDING, RSA_decrypt, RSA_free, RSA_get0_d, RSA_sign, RSA_size,
};

use super::material::Secret;

/// A private key of RSA.
pub(super) struct RawKey(NonNull<RSA>);

// SAFETY: the `RSA` is owned, and AWS-LC ties no object to a thread.
unsafe impl Send for RawKey {}
// SAFETY: AWS-LC's private operations and getters do not change an `RSA`, and may be used concurrently (openssl/rsa.h); nothing
// here changes it.
unsafe impl Sync for RawKey {}

impl RawKey {
    /// The key in PKCS#8.
    pub(super) fn from_pkcs8(bytes: &[u8]) -> Option<RawKey> {
        // SAFETY: a `CBS` is plain data that `CBS_init` fills; the bytes outlive it, and nothing keeps a pointer into
        // them. The `EVP_PKEY` is freed once, after `get1` has taken a reference of its own to the `RSA`, or none.
        unsafe {
            let mut cbs: CBS = std::mem::zeroed();
            CBS_init(&mut cbs, bytes.as_ptr(), bytes.len());
            let key = NonNull::new(EVP_parse_private_key(&mut cbs))?;
            let rsa = EVP_PKEY_get1_RSA(key.as_ptr());
            EVP_PKEY_free(key.as_ptr());
            let key = RawKey(NonNull::new(rsa)?);
            (CBS_len(&cbs) == 0).then_some(key)
        }
    }

    /// The number whose power `ciphertext` is, as long as that; `None` unless that is as long as the modulus and below
    /// it.
    pub(super) fn decrypt(&self, ciphertext: &[u8]) -> Option<Secret> {
        // SAFETY: the `RSA` is alive.
        let modulus_bytes = unsafe { RSA_size(self.0.as_ptr()) } as usize;
        let mut encoded = Secret::new(vec![0; modulus_bytes]);
        let mut encoded_bytes = 0;
        // SAFETY: the `RSA` is alive; both buffers are as long as said.
        let done = unsafe {
            RSA_decrypt(
                self.0.as_ptr(),
                &mut encoded_bytes,
                encoded.as_mut_ptr(),
                encoded.len(),
                ciphertext.as_ptr(),
                ciphertext.len(),
                RSA_NO_PADDING,
            )
        };
        (done == 1 && encoded_bytes == modulus_bytes).then_some(encoded)
    }

    /// The PKCS#1 v1.5 signature of a SHA-1 digest.
    pub(super) fn sign_sha1(&self, digest: &[u8; 20]) -> Option<Vec<u8>> {
        // SAFETY: the `RSA` is alive.
        let mut signature = vec![0; unsafe { RSA_size(self.0.as_ptr()) } as usize];
        let mut signature_bytes = 0;
        // SAFETY: the `RSA` is alive, which is not changed by signing; the digest is as long as said, and the signature
        // has the room that it takes.
        let done = unsafe {
            RSA_sign(
                NID_sha1,
                digest.as_ptr(),
                digest.len(),
                signature.as_mut_ptr(),
                &mut signature_bytes,
                self.0.as_ptr(),
            )
        };
        (done == 1 && signature_bytes as usize == signature.len()).then_some(signature)
    }

    /// The private exponent in so many bytes, most significant first.
    pub(super) fn exponent(&self, length_bytes: usize) -> Option<Secret> {
        let mut exponent = Secret::new(vec![0; length_bytes]);
        // SAFETY: the `RSA` is alive, and so is its exponent, which every private key has; the buffer is as long as said.
        let done = unsafe {
            let number = RSA_get0_d(self.0.as_ptr());
            !number.is_null() && BN_bn2bin_padded(exponent.as_mut_ptr(), exponent.len(), number) == 1
        };
        done.then_some(exponent)
    }
}

impl Drop for RawKey {
    fn drop(&mut self) {
        // SAFETY: this is the reference that `get1` took, and it is given back once.
        unsafe { RSA_free(self.0.as_ptr()) }
    }
}
