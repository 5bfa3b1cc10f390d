//! Which candidates there are.
//!
//! Owns the named spaces. The paper's 450 (section 4.3) are the product of five multiplications, five block sizes,
//! three uses of the Chinese remainder theorem, two radices and three kinds of caching; which five multiplications it
//! does not say. `paper-a` reads them as the five that a library of multi-precision arithmetic leads to, `paper-b` as
//! the five ways of Montgomery's that Koç, Acar and Kaliski compare (IEEE Micro, 1996). How exponents are walked
//! through is not said either: side by side, as block sizes suggest.

use crate::candidate::{Caching, Candidate, Crt, Method, Multiplication, Radix, Switches, WINDOW_BITS_MAX};
use crate::error::Error;

/// A set of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The paper's 450, with a product and a division, limbs in turn, Barrett, and two of Montgomery's.
    PaperA,
    /// The paper's 450, with Montgomery's five.
    PaperB,
    /// Everything that differs.
    All,
}

impl Space {
    /// All of them.
    pub const ALL: [Space; 3] = [Space::PaperA, Space::PaperB, Space::All];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Space::PaperA => "paper-a",
            Space::PaperB => "paper-b",
            Space::All => "all",
        }
    }

    /// The space of a name.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn read(text: &str) -> Result<Space, Error> {
        let found = Space::ALL.into_iter().find(|space| space.word() == text);
        found.ok_or_else(|| Error::choice("space", text, Space::ALL.map(Space::word)))
    }

    /// Its candidates, each once, in a fixed order.
    pub fn candidates(self) -> Vec<Candidate> {
        use Multiplication::*;
        match self {
            Space::PaperA => paper(&[Divide, Interleaved, Barrett, Sos, Cios]),
            Space::PaperB => paper(&[Sos, Cios, Fios, Fips, Cihs]),
            Space::All => all(),
        }
    }
}

/// The first window is a bit, where windows side by side are the binary method.
fn paper(multiplications: &[Multiplication]) -> Vec<Candidate> {
    let methods: Vec<_> = walks().filter(|walk| matches!(walk.0, Method::Binary | Method::Kary)).collect();
    product(multiplications, &methods, |_| vec![(false, false)])
}

fn all() -> Vec<Candidate> {
    product(Multiplication::ALL, &walks().collect::<Vec<_>>(), switches)
}

/// Every method with every window in which it is not another one: windows of one bit are the binary method, but for
/// the one in constant time.
fn walks() -> impl Iterator<Item = (Method, u8)> {
    let of = |method, first| (first..=WINDOW_BITS_MAX).map(move |bits| (method, bits));
    let windows = of(Method::Kary, 2).chain(of(Method::Sliding, 2)).chain(of(Method::Fixed, 1));
    std::iter::once((Method::Binary, 1)).chain(windows)
}

/// Squaring and Karatsuba's products, where a multiplication has them.
fn switches(multiplication: Multiplication) -> Vec<(bool, bool)> {
    let (neither, squaring, karatsuba, both) = ((false, false), (true, false), (false, true), (true, true));
    match multiplication.switches() {
        Switches::Nothing => vec![neither],
        Switches::Squaring => vec![neither, squaring],
        Switches::Squares => vec![neither, squaring, both],
        Switches::Products => vec![neither, squaring, karatsuba, both],
    }
}

fn product(
    multiplications: &[Multiplication],
    walks: &[(Method, u8)],
    switches: impl Fn(Multiplication) -> Vec<(bool, bool)>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for &multiplication in multiplications {
        for (squaring, karatsuba) in switches(multiplication) {
            for &(method, window_bits) in walks {
                for &crt in Crt::ALL {
                    for &caching in Caching::ALL {
                        candidates.extend(Radix::ALL.iter().map(|&radix| Candidate {
                            multiplication,
                            method,
                            window_bits,
                            crt,
                            caching,
                            radix,
                            squaring,
                            karatsuba,
                        }));
                    }
                }
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn both_readings_of_the_paper_have_450_candidates_and_all_has_2000_and_more_each_once() {
        for (space, least) in [(Space::PaperA, 450), (Space::PaperB, 450), (Space::All, 2000)] {
            let candidates = space.candidates();
            let different: HashSet<_> = candidates.iter().collect();
            assert_eq!(different.len(), candidates.len());
            assert!(candidates.len() >= least && (least == 2000 || candidates.len() == least));
            assert_eq!(Space::read(space.word()), Ok(space));
        }
    }

    #[test]
    fn the_papers_candidates_are_among_all() {
        let all: HashSet<_> = Space::All.candidates().into_iter().collect();
        let papers = Space::PaperA.candidates().into_iter().chain(Space::PaperB.candidates());
        assert!(papers.into_iter().all(|candidate| all.contains(&candidate)));
    }

    #[test]
    fn an_unknown_space_is_refused_by_name() {
        assert!(Space::read("paper-c").expect_err("there is none").to_string().contains("paper-"));
    }
}
