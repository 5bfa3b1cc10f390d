//! Running an image behind decompressor, instruction cache, decipher and memory, as each access goes:
//!
//! ```text
//!            place: word, slot      word            line            line, MAC
//!  ┌──────┐ ────────────► ┌────────┐ ───► ┌───────┐ ──► ┌────────┐ ──► ┌────────┐
//!  │ core │               │ expand │      │ cache │     │  fill  │     │  rom   │
//!  └──────┘ ◄──────────── └────────┘ ◄─── └───────┘ ◄── └────────┘ ◄── └────────┘
//!            instruction    holds a word   holds lines   decipher,      as it stands
//!                                          as opened     integrity      outside
//! ```
//!
//! Where code is compressed, `onfill` stands between cache and fill: it has the record of a block brought that says
//! where it is, and then the block, and decodes it. The cache holds plain instructions then, by their plain addresses.
//!
//! `bus` is all of it as the bus of a core, SPARC's or RV32's; `run` puts an image into it under Linux' calls or on a
//! board, `sealed` does so with a container's, `stream` writes down what a run fetched, for caches that it had not, and
//! `profile` counts what a plain run executes.
//!
//! Invariant: with ideal timing, data at no time and one cipher after each line, cycles are instructions (the annulled
//! ones and traps with them) + (80 + 40) x misses, as the paper has it.

pub mod boot;
pub mod bus;
pub mod cache;
pub mod decipher;
pub mod expand;
pub mod fill;
pub mod integrity;
pub mod onfill;
pub mod profile;
mod remembered;
pub mod rom;
pub mod run;
pub mod sealed;
pub mod stream;

pub use bus::{Chain, Core, Counts, Data, DataTiming, Rv32, Sparc};
pub use cache::{Replacement, Shape};
pub use decipher::{LineCipher, Unsealed, Work};
pub use fill::{Decoding, Fill, MemoryTiming, Straight, Transfers, Unsound};
pub use onfill::{Lines, OnFill};
pub use run::{Outcome, Protection, Settings};
pub use stream::Stream;
