//! Random requests of every operation of the basic and complex layers, with operands where carries run far.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::request::{Request, candidates, multiplications};

/// What GMP cannot foretell, since it is not for it to draw, or lies in a curve: others test it.
pub const LATER: [&str; 3] = ["prime_generate", "p256_add", "p256_double"];

/// The operations that are asked for.
pub fn operations(requests: &[Request]) -> Vec<&'static str> {
    requests.iter().map(|request| request.operation).collect()
}

/// `rounds` of all of them, in both radices.
pub fn requests(rng: &mut ChaCha20Rng, rounds: usize) -> Vec<Request> {
    let mut made = Vec::new();
    for round in 0..rounds {
        for limb_bits in [16, 32] {
            let lengths = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 31, 32, 33, 40];
            let n = if round < lengths.len() { lengths[round] } else { 1 + draw(rng, 48) };
            let mut layer = Layer { rng, limb_bits, n, made: Vec::new() };
            layer.leaves();
            layer.vectors();
            layer.products();
            layer.quotients();
            layer.integers();
            layer.fields();
            if n >= 2 {
                layer.moduli();
            }
            made.append(&mut layer.made);
        }
    }
    made
}

/// The least number of so many limbs, of so many bytes each: an even modulus, whose highest limb is 1.
pub fn least(limb_bytes: usize, limbs: usize) -> Vec<u8> {
    let mut least = vec![0; limb_bytes * limbs];
    least[limb_bytes * (limbs - 1)] = 1;
    least
}

fn draw(rng: &mut ChaCha20Rng, below: usize) -> usize {
    rng.next_u32() as usize % below
}

/// a < b, least significant bytes first, of one length.
fn is_less(a: &[u8], b: &[u8]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// a + b, of one length; what is carried out is lost.
fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let add = |(a, b): (&u8, &u8)| {
        carry += u16::from(*a) + u16::from(*b);
        let low = carry as u8;
        carry >>= 8;
        low
    };
    a.iter().zip(b).map(add).collect()
}

struct Layer<'a> {
    rng: &'a mut ChaCha20Rng,
    limb_bits: u8,
    n: usize,
    made: Vec<Request>,
}

impl Layer<'_> {
    fn limb_bytes(&self) -> usize {
        usize::from(self.limb_bits) / 8
    }

    /// A number of `limbs` limbs: random, short, next to a power of two, or with long runs of ones and zeros.
    fn number(&mut self, limbs: usize) -> Vec<u8> {
        let bytes = limbs * self.limb_bytes();
        let mut number = vec![0; bytes];
        match draw(self.rng, 5) {
            0 | 1 => self.rng.fill_bytes(&mut number),
            2 => {
                let used = draw(self.rng, bytes + 1);
                self.rng.fill_bytes(&mut number[..used]);
            }
            3 => {
                number.fill(0xff);
                number[0] -= draw(self.rng, 200) as u8;
            }
            _ => {
                let mut bit = draw(self.rng, 30);
                while bit < 8 * bytes {
                    let run = 1 + draw(self.rng, 40);
                    for place in bit..(bit + run).min(8 * bytes) {
                        number[place / 8] |= 1 << (place % 8);
                    }
                    bit += run + 1 + draw(self.rng, 40);
                }
            }
        }
        number
    }

    /// One below `bound`.
    fn below(&mut self, bound: &[u8]) -> Vec<u8> {
        let mut number = self.number(bound.len() / self.limb_bytes());
        for place in (0..number.len()).rev() {
            if is_less(&number, bound) {
                break;
            }
            number[place] &= bound[place] >> 1;
        }
        if is_less(&number, bound) { number } else { vec![0; bound.len()] }
    }

    /// One whose highest bit is 1.
    fn normalised(&mut self, limbs: usize) -> Vec<u8> {
        let mut number = self.number(limbs);
        *number.last_mut().expect("a limb") |= 0x80;
        number
    }

    /// An odd one whose highest limb is not 0.
    fn modulus(&mut self, limbs: usize) -> Vec<u8> {
        let mut number = self.number(limbs);
        let last = number.len() - 1 - draw(self.rng, self.limb_bytes());
        number[last] |= 1 << draw(self.rng, 8);
        number[0] |= 1;
        number
    }

    fn ask(&mut self, operation: &'static str, operands: Vec<Vec<u8>>) {
        self.ask_with(operation, operands, 0);
    }

    fn ask_with(&mut self, operation: &'static str, operands: Vec<Vec<u8>>, choice: u8) {
        let repeats = 1 + draw(self.rng, 2) as u8;
        self.made.push(Request { operands, choice, repeats, ..Request::new(operation, self.limb_bits) });
    }

    fn leaves(&mut self) {
        let (n, bits) = (self.n, usize::from(self.limb_bits));
        let [a, b, r, limb] = [n, n, n, 1].map(|limbs| self.number(limbs));
        self.ask("mpn_add_n", vec![a.clone(), b.clone()]);
        self.ask("mpn_sub_n", vec![a.clone(), b.clone()]);
        for operation in ["mpn_mul_1", "mpn_add_1", "mpn_sub_1"] {
            self.ask(operation, vec![a.clone(), limb.clone()]);
        }
        self.ask("mpn_addmul_1", vec![r.clone(), a.clone(), limb.clone()]);
        self.ask("mpn_submul_1", vec![r.clone(), a.clone(), limb.clone()]);
        let mut third = self.number(3);
        *third.last_mut().expect("a byte") &= 0x7f;
        self.ask("mpn_dot", vec![third, a.clone(), b.clone()]);
        let (mut low, mut wide) = (a.clone(), self.number(2 * n));
        *low.last_mut().expect("a byte") &= 0x7f;
        *wide.last_mut().expect("a byte") &= 0x3f;
        self.ask("mpn_sqr_diagonal", vec![wide, low]);
        for operation in ["mpn_lshift", "mpn_rshift"] {
            let shift = 1 + draw(self.rng, bits - 1) as u8;
            self.ask_with(operation, vec![a.clone()], shift);
        }
        if n >= 2 {
            self.reducing_leaves(&a, &limb, r);
        }
    }

    fn reducing_leaves(&mut self, a: &[u8], limb: &[u8], mut r: Vec<u8>) {
        let width = self.limb_bytes();
        let load =
            |bytes: &[u8]| bytes[..width].iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte));
        let negative = load(a).wrapping_mul(load(limb)).wrapping_neg();
        r[..width].copy_from_slice(&negative.to_le_bytes()[..width]);
        self.ask("mpn_addmul_1_shifted", vec![r, a.to_vec(), limb.to_vec()]);
        let modulus = self.modulus(self.n);
        let (small, residue) = (self.below(&modulus), self.below(&modulus));
        let padded = |number: &[u8]| [number, &vec![0; width]].concat();
        let sums = [padded(&small), sum(&padded(&small), &padded(&modulus))];
        for sum in sums {
            self.ask("mpn_addmul_redc", vec![sum, residue.clone(), modulus.clone(), limb.to_vec()]);
        }
    }

    fn vectors(&mut self) {
        let [a, b, zeros, ones] = [
            self.number(self.n),
            self.number(self.n),
            vec![0; self.limb_bytes()],
            vec![0xff; self.limb_bytes()],
        ];
        self.ask("mpn_cmp", vec![a.clone(), b.clone()]);
        self.ask("mpn_cmp", vec![a.clone(), a.clone()]);
        for operation in
            ["mpn_copy", "mpn_zero", "mpn_is_zero", "mpn_bit_length", "mpn_to_bytes", "mpn_from_bytes"]
        {
            self.ask(operation, vec![a.clone()]);
        }
        self.ask("mpn_is_zero", vec![vec![0; a.len()]]);
        self.ask("mpn_bit_length", vec![vec![0; a.len()]]);
        let ragged = a[draw(self.rng, a.len())..].to_vec();
        self.ask("mpn_from_bytes", vec![ragged]);
        for mask in [zeros, ones] {
            self.ask("mpn_negate", vec![a.clone(), mask.clone()]);
            self.ask("mpn_negate", vec![vec![0; a.len()], mask.clone()]);
            self.ask("mpn_select", vec![a.clone(), b.clone(), mask.clone()]);
            self.ask("mpn_swap", vec![a.clone(), b.clone(), mask]);
        }
        let count = 2 + 2 * draw(self.rng, 16);
        let table = (0..count).flat_map(|_| self.number(self.n)).collect();
        let mut index = vec![0; self.limb_bytes()];
        index[0] = draw(self.rng, count) as u8;
        self.ask_with("mpn_gather", vec![table, index], count as u8);
    }

    fn products(&mut self) {
        let m = 1 + draw(self.rng, self.n);
        let [a, b, shorter] = [self.n, self.n, m].map(|limbs| self.number(limbs));
        self.ask("mpn_mul", vec![a.clone(), shorter.clone()]);
        self.ask("mpn_mul_low", vec![a.clone(), shorter]);
        for _ in 0..3 {
            let karatsuba = [0, 2, 3, 4, 8, 16][draw(self.rng, 6)];
            self.ask_with("mpn_mul", vec![a.clone(), b.clone()], karatsuba);
            self.ask_with("mpn_sqr", vec![a.clone()], karatsuba);
        }
    }

    fn quotients(&mut self) {
        let limb = self.normalised(1);
        let a = self.number(self.n);
        self.ask("mpn_divrem_1", vec![a.clone(), limb.clone()]);
        self.ask("mpn_mod_1", vec![a.clone(), limb]);
        let m = 1 + draw(self.rng, self.n);
        let divisor = self.normalised(m);
        self.ask("mpn_reciprocal", vec![divisor.clone()]);
        if divisor.len() < a.len() {
            let low = a.len() - divisor.len();
            let top = self.below(&divisor);
            self.ask("mpn_divrem", vec![[&a[..low], &top].concat(), divisor.clone()]);
            // The one case in which a digit is not estimated: the same two limbs above.
            let mut top = divisor.clone();
            top[0] = 0;
            if is_less(&top, &divisor) {
                self.ask("mpn_divrem", vec![[&a[..low], &top].concat(), divisor]);
            }
        }
    }

    fn integers(&mut self) {
        let m = 1 + draw(self.rng, self.n);
        let (a, mut b) = (self.number(self.n), self.number(m));
        for operation in ["mpz_add", "mpz_sub", "mpz_mul"] {
            for (first, second) in [(&a, &b), (&b, &a)] {
                let signs = draw(self.rng, 4) as u8;
                self.ask_with(operation, vec![first.clone(), second.clone()], signs);
            }
        }
        b[0] |= 1;
        let negative = draw(self.rng, 2) as u8;
        self.ask_with("mpz_mod", vec![a.clone(), b.clone()], negative);
        let twice = self.number(2 * m);
        self.ask("mpz_gcdext", vec![twice, b]);
    }

    fn fields(&mut self) {
        let limbs = 256 / usize::from(self.limb_bits);
        let prime: Vec<u8> = [[0xffff_ffff_u32; 3], [0; 3]]
            .concat()
            .into_iter()
            .chain([1, u32::MAX])
            .flat_map(u32::to_le_bytes)
            .collect();
        let [a, b] = [self.below(&prime), self.below(&prime)];
        self.ask("p256_field_multiply", vec![a.clone(), b]);
        self.ask("p256_field_square", vec![a]);
        let [a, b] = [self.number(limbs), self.number(limbs)];
        self.ask("x25519_field_multiply", vec![a.clone(), b]);
        self.ask("x25519_field_square", vec![a]);
    }

    /// Each multiplication with a candidate of its own.
    fn moduli(&mut self) {
        let modulus = self.modulus(self.n);
        let [a, b] = [self.below(&modulus), self.below(&modulus)];
        let exponent_limbs = 1 + draw(self.rng, 3);
        let exponent = self.number(exponent_limbs);
        let all: Vec<_> = candidates().collect();
        for multiplication in 0..multiplications() as u8 {
            let mut candidate = all[draw(self.rng, all.len())];
            candidate.multiplication = multiplication;
            let requests = [
                ("modmul_setup", vec![modulus.clone()]),
                ("modmul_multiply", vec![modulus.clone(), a.clone(), b.clone()]),
                ("modmul_square", vec![modulus.clone(), a.clone()]),
                ("modexp", vec![modulus.clone(), a.clone(), exponent.clone()]),
            ];
            for (operation, operands) in requests {
                self.ask(operation, operands);
                self.made.last_mut().expect("it was asked").candidate = candidate;
            }
            self.primes(multiplication);
        }
        self.least_modulus();
    }

    /// The least modulus of a length, by those that take an even one and have room for its constants: by division and limb
    /// by limb.
    fn least_modulus(&mut self) {
        let modulus = least(self.limb_bytes(), self.n);
        let [a, b] = [self.below(&modulus), self.below(&modulus)];
        for multiplication in 0..2 {
            self.ask("modmul_multiply", vec![modulus.clone(), a.clone(), b.clone()]);
            self.made.last_mut().expect("it was asked").candidate.multiplication = multiplication;
            self.ask("modmul_square", vec![modulus.clone(), a.clone()]);
            self.made.last_mut().expect("it was asked").candidate.multiplication = multiplication;
        }
    }

    /// Numbers that are nearly always composite, one that is prime, and the CRT for two primes of a shape.
    fn primes(&mut self, multiplication: u8) {
        let composite = self.modulus(2);
        let seed = self.number(2);
        let all: Vec<_> = candidates().filter(|candidate| candidate.crt != 0).collect();
        let mut candidate = all[draw(self.rng, all.len())];
        candidate.multiplication = multiplication;
        // 2^127 - 1, 2^128 - 159 and 2^128 - 173 are primes, and 2^128 - 161 is none.
        let prime = |exponent: u32, less: u128| {
            let value = if exponent == 128 { 0_u128.wrapping_sub(less) } else { (1 << exponent) - less };
            value.to_le_bytes().to_vec()
        };
        for n in [composite, prime(127, 1), prime(128, 159), prime(128, 161)] {
            self.ask_with("prime_is_probable", vec![n, seed.clone()], 20);
            self.made.last_mut().expect("it was asked").candidate = candidate;
        }
        let (p, q) = (prime(128, 159), prime(128, 173));
        let (x_p, x_q) = (self.below(&p), self.below(&q));
        for [p, q, x_p, x_q] in [[&p, &q, &x_p, &x_q], [&q, &p, &x_q, &x_p]].map(|it| it.map(Vec::clone)) {
            self.ask("crt_setup", vec![p.clone(), q.clone()]);
            self.made.last_mut().expect("it was asked").candidate = candidate;
            self.ask("crt_combine", vec![p, q, x_p, x_q]);
            self.made.last_mut().expect("it was asked").candidate = candidate;
        }
    }
}
