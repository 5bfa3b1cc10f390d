//! How often a process went to sleep, how often it was put aside, and how long it ran, by the kernel's own count.

use std::fs;
use std::io;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// Context switches of all threads that a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// It had nothing to do: each ends with a wake-up.
    pub voluntary: u64,
    /// Others had to go on.
    pub involuntary: u64,
}

impl Switches {
    /// Those of a process so far; `self` is this one.
    ///
    /// # Errors
    /// The system's: that there is no such process any more, for one.
    pub fn of(process: &str) -> io::Result<Switches> {
        let mut sum = Switches::default();
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            // One that has ended since the folder was read had its switches before.
            let Ok(text) = fs::read_to_string(thread?.path().join("status")) else { continue };
            let count = |name| {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|words| words.trim().parse::<u64>().ok()).ok_or(io::ErrorKind::InvalidData)
            };
            sum.voluntary += count("voluntary_ctxt_switches:")?;
            sum.involuntary += count("nonvoluntary_ctxt_switches:")?;
        }
        Ok(sum)
    }

    /// All of them.
    pub fn total(self) -> u64 {
        self.voluntary + self.involuntary
    }
}

/// Processor time that the threads of a process have had, in seconds. Those that have ended are not in it.
///
/// # Errors
/// The system's: that there is no such process any more, for one, or that its kernel does not count this.
pub fn processor_s(process: u32) -> io::Result<f64> {
    let mut sum_ns = None;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        // One may have ended since the folder was read.
        let Ok(text) = fs::read_to_string(thread?.path().join("schedstat")) else { continue };
        let first = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        *sum_ns.get_or_insert(0) += first.ok_or(io::ErrorKind::InvalidData)?;
    }
    let none = || io::Error::other("found no `schedstat` of any of its threads");
    Ok(sum_ns.ok_or_else(none)? as f64 / 1e9)
}

impl Add for Switches {
    type Output = Switches;

    fn add(self, other: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }
}

impl Sub for Switches {
    type Output = Switches;

    /// What there was since `other`; threads that ended meanwhile count for nothing.
    fn sub(self, other: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(other.voluntary),
            involuntary: self.involuntary.saturating_sub(other.involuntary),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_counted() {
        let before = Switches::of("self").expect("this process is there");
        for _ in 0..20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let since = Switches::of("self").expect("this process is there") - before;
        assert!(since.voluntary >= 20, "{since:?}");
    }
}
