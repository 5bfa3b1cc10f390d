//! What the library's fastest code takes on the five-stage core without caches, warm: in C, and with assembly.
//!
//! Owns which candidates and variants are looked at. Cycles are the simulator's and the same everywhere.
#![allow(dead_code)] // the test uses some of it

use explore::candidate::{Candidate, Radix};
use explore::image::{Choice, Leaves};
use explore::measure::Bench;
use explore::request::Request;
use explore::workload::{Draw, Key};
use isa::rv32::Profile;

use super::compiled;

/// Bits of RSA's modulus.
const MODULUS_BITS: u16 = 1024;
/// AES is measured by messages of so many blocks.
pub const BLOCKS: [usize; 3] = [1, 2, 64];
const BLOCK_BYTES: usize = 16;
const SEED: u64 = 1;

/// How the compiler optimises where cycles count.
pub const LEVELS: [&str; 2] = ["-O2", "-O3"];
/// Candidates of RSA's private operation, the last two of them with a fixed window, which takes the same time for every
/// key.
const CANDIDATES: [&str; 6] = [
    "sos/sliding-5/garner/constants/32+squaring",
    "cios/sliding-5/garner/constants/32",
    "fios/sliding-5/garner/constants/32",
    "fips/sliding-5/garner/constants/32+squaring",
    "sos/fixed-5/garner/constants/32+squaring",
    "fios/fixed-5/garner/constants/32",
];

/// Whether a candidate takes the same time for every key.
fn is_fixed(candidate: &str) -> bool {
    candidate.contains("/fixed-")
}

/// The image of these leaves at a level.
fn image(leaves: Leaves, level: &str) -> Option<explore::image::Image> {
    compiled::image_of(&Choice { level: level.to_owned(), ..Choice::of(leaves) })
}

/// Cycles of RSA's private operation with CRT, warm, by the fastest candidate with such leaves, and which that is; with a
/// fixed window if that is asked for, at one of these levels. `None`, and said, where there is no compiler.
pub fn rsa_private(leaves: Leaves, levels: &[&str], wants_fixed: bool) -> Option<(u64, String)> {
    let key = Key::generate(SEED, MODULUS_BITS).expect("it is a size");
    let mut found = Vec::new();
    for level in levels {
        let image = image(leaves, level)?;
        let bench = Bench::new(&image, Profile::Vex5Tcm);
        for name in CANDIDATES.into_iter().filter(|name| !wants_fixed || is_fixed(name)) {
            let candidate: Candidate = name.parse().expect(name);
            let measured = bench.measure(&[key.private(candidate, SEED).warm()]).expect("it is done");
            found.push((measured[0].last().cycles, format!("{name} {level}")));
        }
    }
    found.into_iter().min()
}

/// Cycles per byte of AES-128 by a variant, the key's expansion apart, for each of [`BLOCKS`].
pub fn aes_128(variant: &str) -> Option<[f64; 3]> {
    let image = image(Leaves::Plain, LEVELS[0])?;
    let bench = Bench::new(&image, Profile::Vex5Tcm);
    let mut draw = Draw::new(SEED, Radix::Limbs32);
    let operation: &'static str = format!("aes_{variant}_encrypt").leak();
    let mut cycles_per_byte = |blocks: usize| {
        let operands = vec![draw.octets(16), draw.octets(BLOCK_BYTES * blocks)];
        let request = Request::new(operation, None, operands).warm();
        let measured = bench.measure(&[request]).expect("it is done");
        measured[0].last().cycles as f64 / (BLOCK_BYTES * blocks) as f64
    };
    Some(BLOCKS.map(&mut cycles_per_byte))
}
