//! Candidates of modular exponentiation: which algorithms are put together, by name and as bytes of a request.
//!
//! Owns the choices, a table each, in the order of `firmware/crypto/candidate.h`, and how a candidate is written and
//! read: `cios/sliding-4/garner/constants/32` with what is switched on behind. Multiplications are the library's lines.
//! Which candidates there are is `space`'s; what one costs, `estimate`'s.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

macro_rules! choices {
    ($(#[$doc:meta])* $name:ident, $what:literal: $($(#[$variant_doc:meta])* $variant:ident $word:literal)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// As it is written.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            fn read(text: &str) -> Result<$name, Error> {
                let found = $name::ALL.iter().copied().find(|choice| choice.word() == text);
                found.ok_or_else(|| Error::choice($what, text, $name::ALL.iter().map(|choice| choice.word())))
            }
        }
    };
}

/// What candidates of a multiplication differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switches {
    /// Nothing.
    Nothing,
    /// Squares may be computed otherwise than products.
    Squaring,
    /// And then by Karatsuba's products.
    Squares,
    /// Both for themselves: all products are made first, and may be Karatsuba's.
    Products,
}

// A line of `firmware/crypto/multiplications.def` each.
include!(concat!(env!("OUT_DIR"), "/multiplications.rs"));

choices! {
    /// How an exponent is walked through; `firmware/crypto/modular/modexp.h`.
    Method, "method":
    /// A bit at a time.
    Binary "binary"
    /// Windows side by side.
    Kary "kary"
    /// Windows that begin and end with a one.
    Sliding "sliding"
    /// Windows side by side, in constant time as far as the multiplication is.
    Fixed "fixed"
}

choices! {
    /// How a private operation of RSA uses the factors; `firmware/crypto/modular/crt.h`.
    Crt, "use of the factors":
    /// Not at all.
    Whole "whole"
    /// By two products with constants.
    Gauss "gauss"
    /// By one, of the difference.
    Garner "garner"
}

choices! {
    /// What is kept from one operation to the next.
    Caching, "caching":
    /// Nothing.
    Nothing "fresh"
    /// What depends on moduli.
    Constants "constants"
    /// Powers of bases, too.
    Tables "tables"
}

choices! {
    /// How wide a limb is.
    Radix, "radix":
    /// 16 bits.
    Limbs16 "16"
    /// 32 bits.
    Limbs32 "32"
}

impl Radix {
    /// Bits of a limb.
    pub fn limb_bits(self) -> u8 {
        match self {
            Radix::Limbs16 => 16,
            Radix::Limbs32 => 32,
        }
    }
}

/// The widest window.
pub const WINDOW_BITS_MAX: u8 = 5;

/// One way to raise to a power, and to use it for RSA's private operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Candidate {
    /// How residues are multiplied.
    pub multiplication: Multiplication,
    /// How the exponent is walked through.
    pub method: Method,
    /// Bits of a window, 1 to [`WINDOW_BITS_MAX`]; 1 where the method has none.
    pub window_bits: u8,
    /// How the factors are used.
    pub crt: Crt,
    /// What is kept.
    pub caching: Caching,
    /// How wide limbs are.
    pub radix: Radix,
    /// Squares are not computed as products.
    pub squaring: bool,
    /// Long products are made of three of half the length.
    pub karatsuba: bool,
}

impl Candidate {
    /// The seven octets of a request; the radix stands apart there.
    pub fn octets(&self) -> [u8; 7] {
        [
            self.multiplication as u8,
            self.method as u8,
            self.window_bits,
            self.crt as u8,
            self.caching as u8,
            u8::from(self.squaring),
            u8::from(self.karatsuba),
        ]
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.multiplication.word(), self.method.word())?;
        if self.method != Method::Binary {
            write!(out, "-{}", self.window_bits)?;
        }
        write!(out, "/{}/{}/{}", self.crt.word(), self.caching.word(), self.radix.word())?;
        for (is_on, word) in [(self.squaring, "squaring"), (self.karatsuba, "karatsuba")] {
            if is_on {
                write!(out, "+{word}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Candidate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Candidate, Error> {
        let (choices, switches) = text.split_once('+').unwrap_or((text, ""));
        let parts: Vec<&str> = choices.split('/').collect();
        let [multiplication, method, crt, caching, radix] = parts[..] else {
            return Err(Error::Candidate { found: text.to_owned() });
        };
        let (method, window_bits) = read_method(method)?;
        let mut candidate = Candidate {
            multiplication: Multiplication::read(multiplication)?,
            method,
            window_bits,
            crt: Crt::read(crt)?,
            caching: Caching::read(caching)?,
            radix: Radix::read(radix)?,
            squaring: false,
            karatsuba: false,
        };
        for switch in switches.split('+').filter(|switch| !switch.is_empty()) {
            match switch {
                "squaring" => candidate.squaring = true,
                "karatsuba" => candidate.karatsuba = true,
                _ => return Err(Error::choice("switch", switch, ["squaring", "karatsuba"])),
            }
        }
        Ok(candidate)
    }
}

fn read_method(text: &str) -> Result<(Method, u8), Error> {
    let (word, bits) = text.split_once('-').unwrap_or((text, ""));
    let method = Method::read(word)?;
    let window_bits = match (method, bits) {
        (Method::Binary, "") => Some(1),
        (Method::Binary, _) => None,
        _ => bits.parse().ok().filter(|bits| (1..=WINDOW_BITS_MAX).contains(bits)),
    };
    window_bits.map(|bits| (method, bits)).ok_or_else(|| Error::Window { found: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space;

    #[test]
    fn every_candidate_is_read_as_it_is_written() {
        for candidate in space::Space::All.candidates() {
            assert_eq!(candidate.to_string().parse::<Candidate>().as_ref(), Ok(&candidate));
        }
    }

    #[test]
    fn an_unknown_choice_is_named_with_the_nearest_one() {
        let error = "barett/kary-4/garner/constants/32".parse::<Candidate>().expect_err("there is none");
        assert_eq!(
            error.to_string(),
            "no multiplication is called `barett`; expected `divide`, `interleaved`, `barrett`, `sos`, `cios`, `fios`, \
             `fips` or `cihs`\nhelp: did you mean `barrett`?"
        );
        let error = "cios/kary-6/garner/constants/32".parse::<Candidate>().expect_err("it is too wide");
        assert!(error.to_string().contains("`kary-6`"), "{error}");
        assert!("cios/binary".parse::<Candidate>().is_err());
    }
}
