//! Foreign simulators beside ours: simavr and `isa::avr` run one program in step and are compared.
//!
//! Owns: the binding to simavr ([`simavr`]), the comparison ([`lockstep`]), programs that nobody wrote
//! ([`program`]), and what simavr is known to get wrong ([`known`]). What the chips do is `isa`'s; what the
//! ciphers give is `cipher`'s. Nothing that ships links this package.

pub mod known;
pub mod lockstep;
pub mod program;
pub mod simavr;
