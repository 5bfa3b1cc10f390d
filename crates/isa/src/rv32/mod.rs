//! RV32IM, with the cycles of Ibex, PicoRV32 and VexRiscv.
//!
//! `table` lists the instructions, and the rest of the core follows from it: `bits` (words), `text` (assembly),
//! `places` (what is read and written), `exec` (what is done). `machine` is the core: registers, counters, time by
//! cause. How it spends cycles is behind the seam in `pipeline`: one instruction at a time as data files tell it
//! (`sequential`, `timing`), or five stages with caches (`vex5`); `profile` has the names. What it is attached to is
//! behind the seam in `bus`: plain `memory`, or what another crate puts there. Programs run under Linux as far as a C
//! library asks for it (`user`), or on a machine with nothing but memory (`bare`), on which the cores' own hardware is
//! the witness. Instructions of one's own have a table of their own (`custom`).
//! Who watches a run may have it by function (`calls`), or learn what its time says of secrets (`taint`).
//!
//! Not there, and a trap: what is beyond the unprivileged manual's RV32I, M and the counters, and accesses that are not
//! aligned, which the manual leaves to the environment. Not there, and a fault: compressed instructions. Not modelled:
//! handlers of traps, and code that changes.
//!
//! ```
//! use isa::region::Region;
//! use isa::rv32::{Machine, Memory, Stop, Timing, Trap, text};
//!
//! let program = ["li a0, 6", "li a1, 7", "mul a2, a0, a1", "ecall"];
//! let words = program.iter().map(|line| text::parse(line).unwrap().encode().unwrap());
//! let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
//! let region = Region { first: 0x1_0000, bytes, writable: true };
//! let mut machine = Machine::new(Memory::new(vec![region], 0x1_0000, 16), Timing::ibex(), 0x1_0000);
//! assert_eq!(machine.run(20, &mut ()), Stop::Trap(Trap::EnvironmentCall));
//! assert_eq!((machine.register(12), machine.pc(), machine.cycle()), (42, 0x1_000c, 1 + 1 + 3));
//! ```

pub mod bare;
pub mod bits;
pub mod bus;
pub mod calls;
pub mod custom;
pub mod error;
mod exec;
pub mod image;
pub mod listing;
pub mod machine;
pub mod memory;
pub mod pipeline;
pub mod places;
pub mod profile;
pub mod sequential;
pub mod table;
pub mod taint;
pub mod text;
pub mod timing;
pub mod trap;
pub mod user;
pub mod vex5;

pub use bits::Instruction;
pub use bus::{Bus, Fetched, Refusal, Width};
pub use calls::{CallGraph, Calls};
pub use custom::{Unit, Units};
pub use error::{Fault, FaultKind, ImageError, TextError, TimingError, Unencodable, UnitError};
pub use image::Image;
pub use listing::Listing;
pub use machine::{Machine, Spent, Stop};
pub use memory::Memory;
pub use pipeline::Pipeline;
pub use places::Set;
pub use profile::Profile;
pub use sequential::Sequential;
pub use table::Opcode;
pub use taint::{Leak, Taint};
pub use timing::{Class, Timing};
pub use trap::Trap;
pub use user::User;
pub use vex5::FiveStage;

pub use crate::linux::files::Files;
pub use crate::region::Region;
