//! What the library is asked when it is characterised, estimated and validated: requests drawn from a seed.
//!
//! Owns operands that each operation takes (`firmware/bench/operations.def`), keys of RSA, and which operations
//! together call every routine over the domain that exploration needs: numbers of up to 3072 bits and what division
//! makes of them. Same seed, same requests.

pub mod primitive;
pub mod symmetric;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::candidate::{Candidate, Multiplication, Radix};
use crate::error::Error;
use crate::native;
use crate::request::Request;

/// Draws operands.
pub struct Draw {
    rng: ChaCha8Rng,
    limb_bytes: usize,
    radix: Radix,
}

impl Draw {
    /// Numbers of limbs of `radix`.
    pub fn new(seed: u64, radix: Radix) -> Draw {
        Draw { rng: ChaCha8Rng::seed_from_u64(seed), limb_bytes: usize::from(radix.limb_bits()) / 8, radix }
    }

    /// One of `from..=to`.
    pub fn within(&mut self, from: usize, to: usize) -> usize {
        from + (self.rng.next_u64() % (to - from + 1) as u64) as usize
    }

    /// So many octets.
    pub fn octets(&mut self, length: usize) -> Vec<u8> {
        let mut octets = vec![0; length];
        self.rng.fill_bytes(&mut octets);
        octets
    }

    /// A number of so many limbs.
    pub fn number(&mut self, limbs: usize) -> Vec<u8> {
        self.octets(limbs * self.limb_bytes)
    }

    /// One whose highest bit is 1.
    fn top(&mut self, limbs: usize) -> Vec<u8> {
        let mut number = self.number(limbs);
        *number.last_mut().expect("numbers have limbs") |= 0x80;
        number
    }

    /// An odd one whose highest bit is 1.
    fn modulus(&mut self, limbs: usize) -> Vec<u8> {
        let mut number = self.top(limbs);
        number[0] |= 1;
        number
    }

    /// One below all of those.
    fn below(&mut self, limbs: usize) -> Vec<u8> {
        let mut number = self.number(limbs);
        *number.last_mut().expect("numbers have limbs") &= 0x7f;
        number
    }

    /// All ones or all zeros.
    fn mask(&mut self) -> Vec<u8> {
        vec![if self.rng.next_u32() & 1 == 1 { 0xff } else { 0 }; self.limb_bytes]
    }

    /// A call of one of [`BASIC`] with numbers of `limbs` limbs, three and more.
    ///
    /// # Panics
    /// When the operation is none of them.
    pub fn basic(&mut self, operation: &'static str, limbs: usize) -> Request {
        let n = limbs;
        let least = if operation == "mpz_gcdext" { n.div_ceil(2) } else { 2 };
        let shorter = self.within(least.min(n - 1), n - 1);
        let operands = match operation {
            "mpn_add_n" | "mpn_sub_n" | "mpn_cmp" => vec![self.number(n), self.number(n)],
            "mpn_mul_1" | "mpn_add_1" | "mpn_sub_1" => vec![self.number(n), self.number(1)],
            "mpn_addmul_1" | "mpn_submul_1" | "mpn_addmul_1_shifted" => {
                vec![self.number(n), self.number(n), self.number(1)]
            }
            "mpn_addmul_redc" => vec![self.number(n + 1), self.number(n), self.modulus(n), self.number(1)],
            "mpn_dot" => vec![self.number(3), self.number(n), self.number(n)],
            "mpn_lshift" | "mpn_rshift" | "mpn_copy" | "mpn_zero" | "mpn_is_zero" | "mpn_bit_length"
            | "mpn_to_bytes" | "mpn_sqr" => vec![self.number(n)],
            "mpn_from_bytes" => vec![self.octets(n * self.limb_bytes)],
            "mpn_select" => vec![self.number(n), self.number(n), self.mask()],
            "mpn_negate" => vec![self.number(n), self.mask()],
            "mpn_mul" | "mpn_mul_low" | "mpz_add" | "mpz_sub" | "mpz_mul" => {
                vec![self.number(n), self.number(shorter)]
            }
            "mpn_reciprocal" => vec![self.top(1)],
            "mpn_divrem" => vec![self.below(n), self.top(shorter)],
            "mpn_divrem_1" | "mpn_mod_1" => vec![self.number(n), self.top(1)],
            "mpz_mod" | "mpz_gcdext" => vec![self.number(n), self.modulus(shorter)],
            _ => panic!("`{operation}` is not of the basic layer"),
        };
        let choice = match operation {
            "mpn_lshift" | "mpn_rshift" => self.within(1, usize::from(self.radix.limb_bits()) - 1) as u8,
            "mpn_mul" | "mpn_sqr" => [0, 0, 8, 16][self.within(0, 3)],
            "mpz_add" | "mpz_sub" | "mpz_mul" => self.within(0, 3) as u8,
            "mpz_mod" => self.within(0, 1) as u8,
            _ => 0,
        };
        Request { choice, ..Request::new(operation, Some(self.radix), operands) }
    }

    /// One product of residues, or a square of one, by a candidate's multiplication.
    pub fn modmul(&mut self, operation: &'static str, candidate: Candidate, limbs: usize) -> Request {
        let modulus = self.modulus(limbs);
        let operands = match operation {
            "modmul_setup" => vec![modulus],
            "modmul_square" => vec![modulus, self.below(limbs)],
            _ => vec![modulus, self.below(limbs), self.below(limbs)],
        };
        Request::new(operation, None, operands).by(candidate)
    }

    /// The same by 1, or the square of 1.
    pub fn modmul_by_one(&mut self, operation: &'static str, candidate: Candidate, limbs: usize) -> Request {
        let mut request = self.modmul(operation, candidate, limbs);
        let last = request.operands.last_mut().expect("it has a modulus and residues");
        last.fill(0);
        last[0] = 1;
        request
    }

    /// A power modulo a number of `limbs` limbs, with an exponent of `exponent_limbs`.
    pub fn modexp(&mut self, candidate: Candidate, limbs: usize, exponent_limbs: usize) -> Request {
        let operands = vec![self.modulus(limbs), self.below(limbs), self.top(exponent_limbs)];
        Request::new("modexp", None, operands).by(candidate)
    }
}

/// Operations of the basic layer that [`Draw::basic`] draws.
pub const BASIC: [&str; 32] = [
    "mpn_add_n",
    "mpn_sub_n",
    "mpn_mul_1",
    "mpn_addmul_1",
    "mpn_submul_1",
    "mpn_addmul_1_shifted",
    "mpn_addmul_redc",
    "mpn_dot",
    "mpn_lshift",
    "mpn_rshift",
    "mpn_add_1",
    "mpn_sub_1",
    "mpn_cmp",
    "mpn_copy",
    "mpn_zero",
    "mpn_select",
    "mpn_is_zero",
    "mpn_negate",
    "mpn_bit_length",
    "mpn_from_bytes",
    "mpn_to_bytes",
    "mpn_mul",
    "mpn_sqr",
    "mpn_mul_low",
    "mpn_reciprocal",
    "mpn_divrem",
    "mpn_divrem_1",
    "mpn_mod_1",
    "mpz_add",
    "mpz_sub",
    "mpz_mod",
    "mpz_gcdext",
];

/// A key of RSA, as operands of the private operation: n, d, p, q, d_p, d_q.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Bits of the modulus.
    pub bits: u16,
    operands: Vec<Vec<u8>>,
}

impl Key {
    /// The public exponent of all keys.
    pub const EXPONENT: u32 = 65537;

    fn modulus(&self) -> Vec<u8> {
        self.operands[0].clone()
    }

    /// The library's own, from a seed: it is for measuring, and secret to nobody.
    ///
    /// # Errors
    /// The library refuses the size.
    pub fn generate(seed: u64, bits: u16) -> Result<Key, Error> {
        let operands = vec![
            seed.to_le_bytes().to_vec(),
            Key::EXPONENT.to_le_bytes().to_vec(),
            bits.to_le_bytes().to_vec(),
        ];
        let candidate = fast();
        let made = native::run(&Request::new("rsa_generate", None, operands).by(candidate))?;
        Ok(Key { bits, operands: made.response.operands })
    }

    /// The same moduli with exponents of so many bits: what is computed with it is of no use, and takes less.
    #[must_use]
    pub fn shortened(&self, exponent_bits: usize) -> Key {
        let mut key = self.clone();
        // d, d_p and d_q, which begin with the highest octet.
        for at in [1, 4, 5] {
            let (bytes, top) = (exponent_bits.div_ceil(8), (exponent_bits - 1) % 8);
            let number = &mut key.operands[at];
            let zeros = number.len().saturating_sub(bytes);
            number[..zeros].fill(0);
            if let Some(highest) = number.get_mut(zeros).filter(|_| zeros > 0) {
                *highest = *highest & ((1 << top) - 1) | 1 << top;
            }
        }
        key
    }

    /// The private operation on an input below the modulus, by a candidate.
    pub fn private(&self, candidate: Candidate, seed: u64) -> Request {
        let mut input = Draw::new(seed, candidate.radix).octets(usize::from(self.bits) / 8);
        // Octets of primitives begin with the highest.
        input[0] = 0;
        let operands = self.operands.iter().cloned().chain([input]).collect();
        Request::new("rsa_private", None, operands).by(candidate)
    }
}

/// A candidate that is fast natively, for what is not measured.
pub fn fast() -> Candidate {
    use crate::candidate::{Caching, Crt, Method};
    Candidate {
        multiplication: Multiplication::Cios,
        method: Method::Sliding,
        window_bits: 4,
        crt: Crt::Garner,
        caching: Caching::Constants,
        radix: Radix::Limbs32,
        squaring: false,
        karatsuba: false,
    }
}
