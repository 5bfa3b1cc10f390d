//! What public-key primitives are asked: RSA as it is used, ElGamal, and elliptic curves.
//!
//! Owns operands that fit together: a ciphertext that decrypts, a signature that verifies. They are made natively.

use super::{Draw, Key};
use crate::candidate::{Candidate, Crt};
use crate::error::Error;
use crate::native;
use crate::request::Request;

/// The widest window of P-256; 0 is the ladder.
pub const P256_WINDOW_MAX: u8 = 5;

impl Draw {
    /// RSA as it is used, with a key: taking it up, encryption and decryption, signature and verification, and the public
    /// operation.
    ///
    /// # Errors
    /// The library refuses.
    pub fn rsa(&mut self, key: &Key, candidate: Candidate) -> Result<Vec<Request>, Error> {
        let e = Key::EXPONENT.to_le_bytes().to_vec();
        let of = |operation, operands| Request::new(operation, None, operands).by(candidate);
        let with_key = |last: Vec<u8>| key.operands.iter().cloned().chain([last]).collect::<Vec<_>>();
        let load_public = of("rsa_public_load", vec![key.modulus(), e.clone()]);
        // Without factors too, as the candidate has it; and with them, which are given back.
        let load_private = of("rsa_private_load", key.operands.clone());
        let load_factors = load_private.clone().by(Candidate { crt: Crt::Garner, ..candidate });
        let length = self.within(1, usize::from(key.bits) / 8 - 11);
        let encrypt = of("rsa_encrypt", vec![key.modulus(), e.clone(), self.octets(length), self.octets(8)]);
        let ciphertext = native::run(&encrypt)?.response.operands.remove(0);
        // Bare, with SHA-1 and with SHA-256.
        let choice = self.within(0, 2) as u8;
        let digest = self.octets([16, 20, 32][usize::from(choice)]);
        let sign = Request { choice, ..of("rsa_sign", with_key(digest.clone())) };
        let signature = native::run(&sign)?.response.operands.remove(0);
        let verify =
            Request { choice, ..of("rsa_verify", vec![key.modulus(), e.clone(), digest, signature]) };
        let mut input = self.octets(usize::from(key.bits) / 8);
        input[0] = 0;
        let public = of("rsa_public", vec![key.modulus(), e, input]);
        let decrypt = of("rsa_decrypt", with_key(ciphertext));
        Ok(vec![load_public, load_private, load_factors, encrypt, decrypt, sign, verify, public])
    }

    /// Making a key of so many bits.
    pub fn rsa_generate(&mut self, candidate: Candidate, bits: u16) -> Request {
        let operands =
            vec![self.octets(8), Key::EXPONENT.to_le_bytes().to_vec(), bits.to_le_bytes().to_vec()];
        Request::new("rsa_generate", None, operands).by(candidate)
    }

    /// ElGamal in a group of so many bits: taking it up, a key, encryption and decryption. The modulus is odd and need be
    /// no prime.
    ///
    /// # Errors
    /// The library refuses.
    pub fn elgamal(&mut self, candidate: Candidate, bits: usize) -> Result<Vec<Request>, Error> {
        let bytes = bits / 8;
        let mut p = self.octets(bytes);
        p[0] |= 0x80;
        p[bytes - 1] |= 1;
        let mut below = || {
            let mut number = self.octets(bytes);
            number[0] &= 0x7f;
            number
        };
        let (g, x, message, c1, c2) = (below(), below(), below(), below(), below());
        let of = |operation, operands| Request::new(operation, None, operands).by(candidate);
        let load = of("elgamal_load", vec![p.clone(), g.clone()]);
        let generate = of("elgamal_generate", vec![p.clone(), g.clone(), self.octets(8)]);
        let public = native::run(&generate)?.response.operands.remove(1);
        let encrypt = of("elgamal_encrypt", vec![p.clone(), g.clone(), public, message, self.octets(8)]);
        Ok(vec![load, generate, encrypt, of("elgamal_decrypt", vec![p, g, x, c1, c2])])
    }

    /// P-256 by a window, 0 for the ladder: keys, agreement, signature and verification.
    ///
    /// # Errors
    /// The library refuses.
    pub fn p256(&mut self, window_bits: u8) -> Result<Vec<Request>, Error> {
        let radix = self.radix;
        let of = |operation, operands| Request {
            choice: window_bits,
            ..Request::new(operation, Some(radix), operands)
        };
        // Below the order and not 0, whatever follows.
        let mut scalar = || {
            let mut scalar = self.octets(32);
            scalar[0] = scalar[0] & 0x7f | 1;
            scalar
        };
        let (ours, theirs, nonce) = (scalar(), scalar(), scalar());
        let generate = of("ecdh_p256_public", vec![ours.clone()]);
        let our_point = native::run(&generate)?.response.operands.remove(0);
        let point = native::run(&of("ecdh_p256_public", vec![theirs]))?.response.operands.remove(0);
        let digest = self.octets(32);
        let sign = of("ecdsa_p256_sign", vec![ours.clone(), digest.clone(), nonce]);
        let signature = native::run(&sign)?.response.operands.remove(0);
        let verify = of("ecdsa_p256_verify", vec![our_point, digest, signature]);
        Ok(vec![generate, of("ecdh_p256_agree", vec![ours, point]), sign, verify])
    }

    /// X25519.
    pub fn x25519(&mut self) -> Request {
        let operands = vec![self.octets(32), self.octets(32)];
        Request::new("x25519", Some(self.radix), operands)
    }
}
