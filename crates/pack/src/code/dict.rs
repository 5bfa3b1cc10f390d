//! Which instructions a dictionary has, and in which order.
//!
//! Owns: ranking candidates by what they save in the image, in executions, or in both ([`Choice`]). What each saves is
//! measured by whoever packs, with the dictionary before: a candidate counts for what really shared a packet. A branch
//! is a candidate without its distance ([`template`]).

use std::collections::HashMap;

use crate::code::packet::{Dictionary, ENTRIES_MAX};
use crate::error::Error;
use crate::target::Target;

/// What a dictionary is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The size of the image.
    Static,
    /// The fetches of the profiled runs.
    Dynamic,
    /// Both, each as a share of its whole.
    Blend {
        /// The share of the fetches in percent.
        dynamic_percent: u8,
    },
    /// The best for fetches first, then the best for size: what the multi-profile papers describe.
    Multi {
        /// How many of the first kind.
        dynamic_entries: u16,
    },
}

impl Choice {
    /// Whether it follows a profile.
    pub fn needs_profile(self) -> bool {
        match self {
            Choice::Static => false,
            Choice::Dynamic => true,
            Choice::Blend { dynamic_percent } => dynamic_percent > 0,
            Choice::Multi { dynamic_entries } => dynamic_entries > 0,
        }
    }

    /// Checks it and the number of entries.
    ///
    /// # Errors
    /// A number that is out of range, or no profile where one is needed.
    pub fn check(self, entries: usize, has_profile: bool) -> Result<(), Error> {
        if entries == 0 || entries > ENTRIES_MAX {
            return Err(Error::Entries { found: entries, limit: ENTRIES_MAX });
        }
        match self {
            Choice::Blend { dynamic_percent } if dynamic_percent > 100 => {
                Err(Error::Share { found: dynamic_percent })
            }
            Choice::Multi { dynamic_entries } if usize::from(dynamic_entries) > entries => {
                Err(Error::Entries { found: dynamic_entries.into(), limit: entries })
            }
            _ if self.needs_profile() && !has_profile => Err(Error::NoProfile { what: "this dictionary" }),
            _ => Ok(()),
        }
    }
}

/// What an instruction saves when it is in packets, in any unit as long as it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// Of the image's size.
    pub image: u64,
    /// Of the fetches.
    pub fetches: u64,
}

/// The entry that an instruction may have: a branch has none of its distance.
pub fn template(target: Target, word: u32) -> u32 {
    target.with_distance(word, 0).unwrap_or(word)
}

/// The best candidates, best first, so that short indexes reach those.
pub fn rank(choice: Choice, worths: &HashMap<u32, Worth>, entries: usize) -> Vec<u32> {
    let total = worths.values().fold(Worth::default(), |sum, worth| Worth {
        image: sum.image.saturating_add(worth.image),
        fetches: sum.fetches.saturating_add(worth.fetches),
    });
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let blended = |percent: u8| {
        let dynamic = f64::from(percent) / 100.0;
        best(worths, |worth| {
            (1.0 - dynamic) * share(worth.image, total.image) + dynamic * share(worth.fetches, total.fetches)
        })
    };
    let mut ranked = match choice {
        Choice::Static => blended(0),
        Choice::Dynamic => blended(100),
        Choice::Blend { dynamic_percent } => blended(dynamic_percent),
        Choice::Multi { dynamic_entries } => {
            let mut first = blended(100);
            // In proportion, since candidates are ranked with dictionaries larger than the last one, too.
            first.truncate(usize::from(dynamic_entries));
            let rest: Vec<u32> = blended(0).into_iter().filter(|word| !first.contains(word)).collect();
            first.extend(rest);
            first
        }
    };
    ranked.truncate(entries);
    ranked
}

/// Those that are worth anything, best first; equal ones by their words, so that the order is always the same.
fn best(worths: &HashMap<u32, Worth>, value: impl Fn(Worth) -> f64) -> Vec<u32> {
    let mut valued: Vec<(f64, u32)> = worths.iter().map(|(&word, &worth)| (value(worth), word)).collect();
    valued.retain(|candidate| candidate.0 > 0.0);
    valued.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    valued.into_iter().map(|candidate| candidate.1).collect()
}

/// The dictionary of these entries.
///
/// # Panics
/// For more than packets can name.
pub fn dictionary(entries: Vec<u32>) -> Dictionary {
    Dictionary::new(entries).expect("there are at most as many as packets can name")
}
