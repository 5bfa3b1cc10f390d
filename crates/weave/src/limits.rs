//! Every limit of `weave`, with its reason.

/// Bytes of one source text: a hundred times the largest flash written out as instructions with comments.
pub const SOURCE_BYTES_MAX: usize = 1 << 28;

/// Statements of one source text after its macros and repetitions are written out: a statement emits at least one
/// word of the 4 MiB of flash that an AVR can address.
pub const STATEMENTS_MAX: usize = 1 << 21;

/// Statements that are looked at to find the ends of blocks, of which each may be in several.
pub const STATEMENTS_SKIPPED_MAX: usize = 1 << 25;

/// Bytes that macros and repetitions read and write: 64 for each statement.
pub const EXPANDED_BYTES_MAX: usize = 1 << 27;

/// Macros, repetitions and conditions in each other; a macro that counts by using itself is two a number. GNU as
/// takes 100 macros.
pub const EXPANSION_DEPTH_MAX: usize = 200;

/// Bytes of a line that a macro made which an error shows.
pub const LINE_BYTES_SHOWN_MAX: usize = 160;

/// Parentheses, signs and modifiers around each other in one expression, and names that stand for each other.
pub const EXPRESSION_DEPTH_MAX: usize = 128;

/// Words that are woven to find the best way, about; one takes a few microseconds.
pub const PLANNED_WORDS_MAX: u32 = 500_000;

/// States of one proof. A woven kilobyte takes some tens of thousands; memory for this many stays below 2 GiB.
pub const PROOF_STATES_MAX: usize = 4_000_000;

/// States of all proofs of one weaving, of which each has half of what is left: where the first way of weaving has too
/// many, smaller ones are tried. A division of 64 bits beside a byte every 1026 cycles takes 268,000, AES-128-CCM of a frame
/// beside one every 66 more than 500,000; a sum or a quotient of `float` more than 4,000,000.
pub const WOVEN_STATES_MAX: usize = 4_000_000;

/// Return addresses and pushed bytes on the stack of one path. Recursion is met here.
pub const PROOF_STACK_SLOTS_MAX: usize = 512;

/// Constants that are told apart at one place and time of the clocks, in the first try of a proof and in later ones:
/// in all their bits, and at all. Bytes that are not wholly known are a host's data, and the first to be forgotten where
/// they differ; budgets and counters are wholly known.
pub const PROOF_VARIANTS_MAX: [[usize; 2]; 3] = [[2, 64], [64, 1024], [PROOF_STATES_MAX; 2]];

/// Constants that one point is visited with, from one stack, while no clock runs. Behind them only what they have in
/// common is kept: nothing is claimed of the time there.
pub const PROOF_STOPPED_VARIANTS_MAX: usize = 64;

/// The same while interrupts are off, which is what makes their time known: in all their bits, and at all. A wait of
/// a thousand cycles counts to 171, for each of what data has left behind when its function was called.
pub const PROOF_WINDOW_VARIANTS_MAX: [usize; 2] = [64, 16_384];

/// The same where a function begins that is called while interrupts are off: its own counts do not live there.
pub const PROOF_WINDOW_ENTRIES_MAX: [usize; 2] = [4, 8];

/// Events of one clock: one bit each in a state. Three bytes of lights have 72.
pub const PROOF_EVENTS_MAX: usize = 128;

/// Instructions that are read from one linked image, from the function on.
pub const LINKED_INSTRUCTIONS_MAX: usize = 1 << 18;

/// Steps of a path that are printed; those in the middle are left out.
pub const PATH_STEPS_SHOWN_MAX: usize = 24;

/// Instructions that are gone through to count one loop: a few seconds' worth of an AVR, a second's here. A longer
/// loop needs `trip`.
pub const COUNTED_STEPS_MAX: u64 = 4_000_000;

/// Instructions of a loop inside a guest's round when its runs are written out one behind another: more than fit the
/// time of any round that is worth weaving.
pub const UNROLLED_INSTRUCTIONS_MAX: u64 = 1 << 12;

/// Periods that are tried for the smallest one that works, where one is too short: each is woven.
pub const PERIODS_TRIED_MAX: usize = 128;
