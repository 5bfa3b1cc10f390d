//! How often each instruction of a program was executed.
//!
//! Owns: counts by address in the unpacked program, adding those of several inputs, what a run is to be learnt from
//! ([`Training`]), and the text of the counts: a line for each
//! instruction with its address in hexadecimal and its count, ascending; lines that begin with `#` are remarks.
//! Counting is done by whoever executes the program.

use std::collections::BTreeMap;
use std::fmt;

use crate::chain::Stream;
use crate::error::Error;

/// Executions by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    counts: BTreeMap<u32, u64>,
}

/// A run of the unpacked program to learn from.
#[derive(Clone, Debug)]
pub struct Training {
    /// How often it executed what.
    pub profile: Profile,
    /// Which words it fetched, in their order.
    pub stream: Stream,
}

impl Training {
    /// Of what it fetched.
    pub fn of(stream: Stream) -> Training {
        Training { profile: Profile::of_stream(&stream), stream }
    }
}

impl Profile {
    /// Of the words that a run of the unpacked program fetched.
    pub fn of_stream(stream: &Stream) -> Profile {
        // Where runs of words begin and end: so many more or fewer of them have the word.
        let mut changes: BTreeMap<u32, i64> = BTreeMap::new();
        for (first, words) in stream.runs() {
            *changes.entry(first).or_default() += 1;
            *changes.entry(first.wrapping_add(words * 4)).or_default() -= 1;
        }
        let mut profile = Profile::default();
        let (mut at, mut executions) = (0, 0);
        for (address, change) in changes {
            if executions > 0 {
                (at..address).step_by(4).for_each(|word| profile.add(word, executions as u64));
            }
            (at, executions) = (address, executions + change);
        }
        profile
    }

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
            let bad = || Error::ProfileLine { line: index + 1, found_bytes: content.len() };
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

    /// What these have together.
    pub fn merged<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
        let mut merged = Profile::default();
        profiles.into_iter().for_each(|profile| merged.merge(profile));
        merged
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
