//! What is ranked: ways to do one thing, each with a name.
//!
//! Owns the families (exponentiation for RSA's private operation, AES, DES, SHA-256, elliptic curves), what is in each,
//! and what a member is asked at a size. Ways of exponentiation are `candidate`'s and `space`'s.

use std::fmt;

use crate::candidate::{Caching, Candidate, Radix};
use crate::error::Error;
use crate::native;
use crate::request::Request;
use crate::space::Space;
use crate::workload::primitive::P256_WINDOW_MAX;
use crate::workload::{Draw, Key};

/// Ways to do one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// RSA's private operation, by the candidates of a space. Sizes are bits of the modulus.
    Private(Space),
    /// AES-128, encrypting a message. Sizes are octets.
    Aes,
    /// DES with three keys, encrypting a message. Sizes are octets.
    Des,
    /// SHA-256 of a message. Sizes are octets.
    Sha256,
    /// A shared secret on P-256 or Curve25519. The only size is 256 bits.
    Ecc,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 7] = [
        Family::Private(Space::PaperA),
        Family::Private(Space::PaperB),
        Family::Private(Space::All),
        Family::Aes,
        Family::Des,
        Family::Sha256,
        Family::Ecc,
    ];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Family::Private(space) => space.word(),
            Family::Aes => "aes",
            Family::Des => "des",
            Family::Sha256 => "sha256",
            Family::Ecc => "ecc",
        }
    }

    /// The family of a name.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn read(text: &str) -> Result<Family, Error> {
        let found = Family::ALL.into_iter().find(|family| family.word() == text);
        found.ok_or_else(|| Error::choice("space", text, Family::ALL.map(Family::word)))
    }

    /// The unit of its sizes.
    pub fn unit(self) -> &'static str {
        match self {
            Family::Private(_) | Family::Ecc => "bits",
            Family::Aes | Family::Des | Family::Sha256 => "octets",
        }
    }

    /// Its sizes, where nobody says others.
    pub fn sizes(self) -> &'static [u32] {
        match self {
            Family::Private(_) => &[1024],
            Family::Aes | Family::Des | Family::Sha256 => &[1024],
            Family::Ecc => &[256],
        }
    }

    /// The shortest size at which every path is taken.
    pub fn shortest(self) -> u32 {
        match self {
            Family::Private(_) => 512,
            Family::Aes | Family::Des | Family::Sha256 => 128,
            Family::Ecc => 256,
        }
    }

    /// Checks a size.
    ///
    /// # Errors
    /// It has none of it.
    pub fn check(self, size: u32) -> Result<(), Error> {
        let (is_one, expected) = match self {
            Family::Private(_) => (
                (512..=3072).contains(&size) && size.is_multiple_of(64),
                "512 to 3072 bits, a multiple of 64",
            ),
            Family::Ecc => (size == 256, "256 bits"),
            Family::Aes => (
                (16..=4096).contains(&size) && size.is_multiple_of(16),
                "16 to 4096 octets, a multiple of 16",
            ),
            Family::Des => {
                ((8..=4096).contains(&size) && size.is_multiple_of(8), "8 to 4096 octets, a multiple of 8")
            }
            Family::Sha256 => ((1..=4096).contains(&size), "1 to 4096 octets"),
        };
        if is_one { Ok(()) } else { Err(Error::Size { family: self.word(), found: size, expected }) }
    }

    /// Its members, in a fixed order.
    pub fn subjects(self) -> Vec<Subject> {
        match self {
            Family::Private(space) => space.candidates().into_iter().map(Subject::Private).collect(),
            Family::Aes => named("aes_", "_encrypt", 16),
            Family::Des => named("des_", "_encrypt", 24),
            Family::Sha256 => {
                let operations = native::operations().iter().map(String::as_str);
                let hashes =
                    operations.filter(|name| name.starts_with("sha256_") && !name.ends_with("_compress"));
                hashes.map(|operation| Subject::Message { operation, key_bytes: 0 }).collect()
            }
            Family::Ecc => { Radix::ALL.iter() }
                .flat_map(|&radix| {
                    let windows = (0..=P256_WINDOW_MAX).map(Some).chain([None]);
                    windows.map(move |window_bits| Subject::Curve { radix, window_bits })
                })
                .collect(),
        }
    }

    /// The member of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn subject(self, text: &str) -> Result<Subject, Error> {
        if let Family::Private(space) = self {
            let candidate: Candidate = text.parse()?;
            let candidates = space.candidates();
            if candidates.contains(&candidate) {
                return Ok(Subject::Private(candidate));
            }
            let known = candidates.iter().map(|candidate| candidate.to_string()).collect();
            return Err(Error::NotOfSpace { space: self.word(), found: text.to_owned(), known });
        }
        let subjects = self.subjects();
        let found = subjects.iter().find(|subject| subject.to_string() == text);
        let names: Vec<String> = subjects.iter().map(Subject::to_string).collect();
        found.cloned().ok_or_else(|| Error::choice("candidate", text, names.iter().map(String::as_str)))
    }
}

/// Operations by how their names begin and end.
fn named(begin: &str, end: &str, key_bytes: usize) -> Vec<Subject> {
    let operations = native::operations().iter().map(String::as_str);
    let found = operations.filter(|name| name.starts_with(begin) && name.ends_with(end));
    found.map(|operation| Subject::Message { operation, key_bytes }).collect()
}

/// A member of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// RSA's private operation by a candidate.
    Private(Candidate),
    /// A cipher or a hash, by its operation.
    Message {
        /// The operation.
        operation: &'static str,
        /// Octets of its key, 0 where it has none.
        key_bytes: usize,
    },
    /// A shared secret on a curve.
    Curve {
        /// How wide limbs are.
        radix: Radix,
        /// The window of P-256, 0 for its ladder; nothing is X25519.
        window_bits: Option<u8>,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Private(candidate) => candidate.fmt(out),
            Subject::Message { operation, .. } => {
                out.write_str(operation.strip_suffix("_encrypt").unwrap_or(operation))
            }
            Subject::Curve { radix, window_bits } => {
                match window_bits {
                    None => write!(out, "x25519")?,
                    Some(0) => write!(out, "p256/ladder")?,
                    Some(bits) => write!(out, "p256/window-{bits}")?,
                }
                write!(out, "/{}", radix.word())
            }
        }
    }
}

/// What members of families are asked with: keys of the sizes that are asked for, which are made once.
pub struct Material {
    seed: u64,
    keys: Vec<Key>,
}

impl Material {
    /// For these sizes, from a seed.
    ///
    /// # Errors
    /// The library refuses to make a key.
    pub fn new(family: Family, sizes: &[u32], seed: u64) -> Result<Material, Error> {
        let keys = match family {
            Family::Private(_) => { sizes.iter() }
                .map(|&bits| Key::generate(seed, bits as u16))
                .collect::<Result<_, Error>>()?,
            _ => Vec::new(),
        };
        Ok(Material { seed, keys })
    }

    /// What operands are drawn from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The key of a size.
    ///
    /// # Panics
    /// When it was not asked for.
    pub fn key(&self, bits: u32) -> &Key {
        let found = self.keys.iter().find(|key| u32::from(key.bits) == bits);
        found.expect("keys are made of all sizes that are asked for")
    }

    /// What a member is asked: all that it does cold, and warm where that differs.
    ///
    /// # Errors
    /// The library refuses operands.
    pub fn request(&self, subject: &Subject, size: u32) -> Result<Request, Error> {
        let request = match subject {
            Subject::Private(candidate) => self.key(size).private(*candidate, self.seed),
            Subject::Message { operation, key_bytes } => {
                Draw::new(self.seed, Radix::Limbs32).message(operation, *key_bytes, size as usize)
            }
            Subject::Curve { radix, window_bits: None } => Draw::new(self.seed, *radix).x25519(),
            Subject::Curve { radix, window_bits: Some(bits) } => {
                Draw::new(self.seed, *radix).p256(*bits)?.swap_remove(1)
            }
        };
        Ok(if subject.keeps() { request.warm() } else { request })
    }
}

impl Subject {
    /// Whether it keeps something from one time to the next, so that it is cold or warm.
    pub fn keeps(&self) -> bool {
        matches!(self, Subject::Private(candidate) if candidate.caching != Caching::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_found_by_its_name_and_none_twice() {
        for family in Family::ALL {
            assert_eq!(Family::read(family.word()), Ok(family));
            let subjects = family.subjects();
            let names: std::collections::HashSet<String> = subjects.iter().map(Subject::to_string).collect();
            assert_eq!(names.len(), subjects.len(), "{family:?}");
            for subject in &subjects {
                assert_eq!(family.subject(&subject.to_string()).as_ref(), Ok(subject));
            }
            assert!(subjects.len() >= 3, "{family:?}");
        }
    }

    #[test]
    fn every_member_of_the_small_families_does_what_it_is_asked() {
        for family in [Family::Aes, Family::Des, Family::Sha256, Family::Ecc] {
            let size = family.sizes()[0];
            let material = Material::new(family, &[size], 1).expect("no keys are made");
            let mut answers = Vec::new();
            for subject in family.subjects() {
                let request = material.request(&subject, size).expect("operands can be made");
                let native = native::run(&request).unwrap_or_else(|error| panic!("{subject}: {error}"));
                answers.push((subject.to_string(), native.response));
            }
            if family != Family::Ecc {
                assert!(answers.iter().all(|answer| answer.1 == answers[0].1), "{family:?}");
            }
        }
    }

    #[test]
    fn an_unknown_member_or_size_is_refused_by_name() {
        let error = Family::Aes.subject("aes_t5").expect_err("there is none").to_string();
        assert!(error.contains("did you mean `aes_t"), "{error}");
        let error = Family::Private(Space::All).check(1000).expect_err("it is odd").to_string();
        assert!(error.contains("1000") && error.contains("multiple of 64"), "{error}");
        let other = "cios/sliding-4/garner/constants/32";
        assert!(Family::Private(Space::All).subject(other).is_ok());
        let paper = Family::Private(Space::PaperA);
        let error = paper.subject(other).expect_err("no window slides there").to_string();
        assert!(error.starts_with(&format!("`paper-a` has no candidate `{other}`; expected one of its 450")));
        assert!(error.contains("did you mean `cios/"), "{error}");
    }
}
