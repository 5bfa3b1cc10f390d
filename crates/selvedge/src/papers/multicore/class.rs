//! The scheduling classes that a measurement runs in. Owns how a thread enters one.
//!
//! The call is made here and not by a library: the one that offers it hands the kernel another number than the
//! thread's, and loses the system's reason.
#![allow(unsafe_code)]

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;

/// A priority among the real-time ones that leaves the system's own threads above it.
const FIFO_PRIORITY: u32 = 10;
/// Of four threads on two cores each gets two fifths of a core: what the kernel admits beside its own share.
const RUNTIME: Duration = Duration::from_millis(2);
const PERIOD: Duration = Duration::from_millis(5);
/// How long a thread asks for its share while others have it.
const PATIENCE: Duration = Duration::from_secs(1);

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
        let none = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: libc::SCHED_OTHER as u32,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        let wanted = match self {
            // Where a thread begins; to ask for it again would need a right where it was lowered.
            Class::Other => return Ok(()),
            Class::Fifo => libc::sched_attr {
                sched_policy: libc::SCHED_FIFO as u32,
                sched_priority: FIFO_PRIORITY,
                ..none
            },
            Class::Deadline => libc::sched_attr {
                sched_policy: libc::SCHED_DEADLINE as u32,
                sched_runtime: RUNTIME.as_nanos() as u64,
                sched_deadline: PERIOD.as_nanos() as u64,
                sched_period: PERIOD.as_nanos() as u64,
                ..none
            },
        };
        let begin = Instant::now();
        loop {
            match ask(&wanted) {
                // The share of a thread that has ended is free again when its period ends, and not before.
                Err(error) if is_full(&error) && begin.elapsed() < PATIENCE => thread::sleep(PERIOD),
                answer => return answer,
            }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EBUSY)
}

fn ask(wanted: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: the structure lives over the call, says its own size, and is only read; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const *wanted, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy and priority that the kernel has of the calling thread (proc(5), `stat`).
    fn policy() -> (i32, u32) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux says it");
        let (_, fields) = stat.rsplit_once(") ").expect("the name ends");
        let fields: Vec<&str> = fields.split(' ').collect();
        (fields[38].parse().expect("a policy"), fields[37].parse().expect("a priority"))
    }

    #[test]
    fn a_thread_is_in_the_class_that_it_entered_or_knows_why_not() {
        let enter = |class: Class| std::thread::spawn(move || (class.enter(), policy())).join().unwrap();
        let (other, before) = enter(Class::Other);
        other.unwrap();
        for (class, expected) in [(Class::Fifo, (1, FIFO_PRIORITY)), (Class::Deadline, (6, 0))] {
            match enter(class) {
                (Ok(()), found) => assert_eq!(found, expected, "{}", class.name()),
                (Err(error), found) => {
                    assert!(error.raw_os_error().is_some(), "{error}");
                    assert_eq!(found, before, "{}", class.name());
                }
            }
        }
    }
}
