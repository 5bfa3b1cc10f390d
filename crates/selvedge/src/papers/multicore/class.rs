//! The scheduling classes that a measurement runs in. Owns which there are, and what a thread has in each; how it enters
//! one is `collect::realtime`'s.

use std::io;
use std::time::Duration;

use clap::ValueEnum;
use collect::realtime;

/// A priority among the real-time ones that leaves the system's own threads above it.
const FIFO_PRIORITY: u32 = 10;
/// Of four threads on two cores each gets two fifths of a core: what the kernel admits beside its own share.
const RUNTIME: Duration = Duration::from_millis(2);
const PERIOD: Duration = Duration::from_millis(5);

/// A scheduling class of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Class {
    /// Real time, first in, first out: what stands beside the paper's real-time system
    Fifo,
    /// The general-purpose one
    Other,
    /// Real time by deadlines: 2 ms of every 5 ms for each thread
    Deadline,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 3] = [Class::Fifo, Class::Other, Class::Deadline];

    /// What the system calls it.
    pub fn name(self) -> &'static str {
        match self {
            Class::Fifo => "SCHED_FIFO",
            Class::Other => "SCHED_OTHER",
            Class::Deadline => "SCHED_DEADLINE",
        }
    }

    /// Puts the calling thread into it, until it ends.
    ///
    /// # Errors
    /// The system does not permit it.
    pub fn enter(self) -> io::Result<()> {
        let class = match self {
            Class::Other => realtime::Class::Other,
            Class::Fifo => realtime::Class::Fifo { priority: FIFO_PRIORITY },
            Class::Deadline => realtime::Class::Deadline { runtime: RUNTIME, period: PERIOD },
        };
        class.enter()
    }
}
