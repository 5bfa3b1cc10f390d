//! SPARC V8's integer unit as LEON has it, with the cycles of LEON2 and LEON3.
//!
//! `table` lists the instructions, and the rest of the core follows from it: `bits` (words), `text` (assembly),
//! `places` (what is read and written), `exec` (what is done), `timing` (what it costs, from data files). `machine` is
//! the core: registers, windows, traps, time by cause. What it is attached to is behind the seam in `bus`: plain
//! `memory`, or what another crate puts there. Programs run in one of two surroundings: `user`, which is Linux as far
//! as a C library asks for it, and `bare`, which is a LEON's memory and serial line.
//!
//! Not modelled, and a fault when a program asks for it: ancillary state registers but LEON3's configuration,
//! LEON's address spaces beyond ordinary memory, code that changes. Not there, and a trap: the floating-point unit and
//! the coprocessor.
//!
//! ```
//! use isa::sparc::{Machine, Memory, Region, Settings, Stop, text};
//!
//! let program = ["mov 6, %o0", "mov 7, %o1", "ba .+8", "umul %o0, %o1, %o2", "ba .+0", "nop"];
//! let words = program.iter().map(|line| text::parse(line).unwrap().encode().unwrap());
//! let bytes: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
//! let region = Region { first: 0x4000_0000, bytes, writable: true };
//! let mut machine = Machine::new(Memory::new(vec![region], 0x4000_0000, 24), Settings::default(), 0x4000_0000);
//! assert_eq!(machine.run(20, &mut ()), Stop::Reached);
//! assert_eq!((machine.register(10), machine.pc()), (42, 0x4000_0010));
//! ```

pub mod bare;
pub mod bits;
pub mod bus;
pub mod error;
mod exec;
pub mod image;
pub mod machine;
pub mod memory;
pub mod observer;
pub mod places;
pub mod table;
pub mod text;
pub mod timing;
pub mod trap;
pub mod user;

pub use crate::{limits, linux::files};
pub use bare::Board;
pub use bits::Instruction;
pub use bus::{Bus, Fetched, Refusal, Width};
pub use error::{Fault, FaultKind, ImageError, TextError, TimingError, Unencodable};
pub use files::Files;
pub use image::Image;
pub use machine::{Icc, Machine, Settings, Spent, Stop};
pub use memory::{Memory, Region};
pub use observer::Observer;
pub use places::Set;
pub use table::Opcode;
pub use timing::{Class, Timing};
pub use trap::Trap;
pub use user::User;
