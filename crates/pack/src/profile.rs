//! How often each instruction of a program was executed.
//!
//! Owns: counts by address in the unpacked program, adding those of several inputs, and their text: a line for each
//! instruction with its address in hexadecimal and its count, ascending; lines that begin with `#` are remarks.
//! Counting is done by whoever executes the program.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Error;

/// Executions by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    counts: BTreeMap<u32, u64>,
}

impl Profile {
    /// Of these addresses and counts; counts of one address are added.
    pub fn new(counts: impl IntoIterator<Item = (u32, u64)>) -> Profile {
        let mut profile = Profile::default();
        for (address, executions) in counts {
            profile.add(address, executions);
        }
        profile
    }

    /// Reads the text.
    ///
    /// # Errors
    /// A line that is not an address and a count.
    pub fn parse(text: &str) -> Result<Profile, Error> {
        let mut profile = Profile::default();
        for (index, line) in text.lines().enumerate() {
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let bad = || Error::ProfileLine { line: index + 1, found: content.to_owned() };
            let (address, executions) = content.split_once(char::is_whitespace).ok_or_else(bad)?;
            let digits = address.strip_prefix("0x").ok_or_else(bad)?;
            let address = u32::from_str_radix(digits, 16).map_err(|_| bad())?;
            profile.add(address, executions.trim().parse().map_err(|_| bad())?);
        }
        Ok(profile)
    }

    /// How often the instruction at an address was executed.
    pub fn executions(&self, address: u32) -> u64 {
        self.counts.get(&address).copied().unwrap_or(0)
    }

    /// Adds executions of an address.
    pub fn add(&mut self, address: u32, executions: u64) {
        if executions > 0 {
            let sum = self.counts.entry(address).or_default();
            *sum = sum.saturating_add(executions);
        }
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Profile) {
        for (address, executions) in other.iter() {
            self.add(address, executions);
        }
    }

    /// Addresses that were executed and how often, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.counts.iter().map(|(&address, &executions)| (address, executions))
    }

    /// All executions.
    pub fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, &executions| sum.saturating_add(executions))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (address, executions) in self.iter() {
            writeln!(f, "{address:#010x} {executions}")?;
        }
        Ok(())
    }
}
