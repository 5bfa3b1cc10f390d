//! What a broker says of itself while it runs, for an operator's log: events and never a payload.
//!
//! Owns what is worth a line, and that the same is not said again and again. The lines are the roof's.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::LinkFault;
use crate::limits::SAY_AGAIN;

/// How much an entry matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nobody is served.
    Error,
    /// Somebody is not served.
    Warning,
    /// All is well.
    Info,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The device is open.
    DeviceOpened {
        /// Its name.
        device: String,
    },
    /// The device could not be opened, or was lost. Said again only when something else is the matter.
    DeviceLost {
        /// Its name.
        device: String,
        /// What happened.
        fault: LinkFault,
    },
    /// Connections were refused.
    Refused {
        /// Why: the name of a status, or `descriptors` when the system has none left.
        reason: &'static str,
        /// How many, since it was said last.
        count: u64,
    },
    /// Other settings hold.
    Set,
    /// The broker ends, as soon as what is at the device is answered.
    Draining,
}

impl Entry {
    /// How much it matters.
    pub fn level(&self) -> Level {
        match self {
            Entry::DeviceLost { .. } => Level::Error,
            Entry::Refused { .. } => Level::Warning,
            Entry::DeviceOpened { .. } | Entry::Set | Entry::Draining => Level::Info,
        }
    }

    /// What to call it in a log.
    pub fn name(&self) -> &'static str {
        match self {
            Entry::DeviceOpened { .. } => "device-opened",
            Entry::DeviceLost { .. } => "device-lost",
            Entry::Refused { .. } => "connection-refused",
            Entry::Set => "reloaded",
            Entry::Draining => "draining",
        }
    }
}

/// Who gets the entries.
pub type Reader = Box<dyn FnMut(Entry) + Send>;

/// What was said, and what is to be said.
pub(crate) struct Journal {
    reader: Reader,
    /// By reason: when it was said last, and how many have come since.
    refusals: BTreeMap<&'static str, (Duration, u64)>,
    /// Of each device that was lost since one was opened, what was said.
    device_faults: BTreeMap<usize, LinkFault>,
}

impl Journal {
    pub(crate) fn new(reader: Reader) -> Journal {
        Journal { reader, refusals: BTreeMap::new(), device_faults: BTreeMap::new() }
    }

    pub(crate) fn say(&mut self, entry: Entry) {
        (self.reader)(entry);
    }

    pub(crate) fn device_opened(&mut self, device: String) {
        self.device_faults.clear();
        self.say(Entry::DeviceOpened { device });
    }

    pub(crate) fn device_lost(&mut self, choice: usize, name: impl FnOnce() -> String, fault: LinkFault) {
        if self.device_faults.insert(choice, fault) != Some(fault) {
            self.say(Entry::DeviceLost { device: name(), fault });
        }
    }

    pub(crate) fn refused(&mut self, now: Duration, reason: &'static str) {
        self.refusals.entry(reason).or_insert((Duration::ZERO, 0)).1 += 1;
        self.pass_time(now);
    }

    /// Says what was kept back for long enough.
    pub(crate) fn pass_time(&mut self, now: Duration) {
        let mut due = Vec::new();
        for (&reason, (said_at, count)) in &mut self.refusals {
            if *count > 0 && (*said_at + SAY_AGAIN <= now || *said_at == Duration::ZERO) {
                due.push(Entry::Refused { reason, count: std::mem::take(count) });
                *said_at = now;
            }
        }
        due.into_iter().for_each(|entry| self.say(entry));
    }

    /// When something that was kept back is to be said.
    pub(crate) fn says_at(&self) -> Option<Duration> {
        let kept = self.refusals.values().filter(|(_, count)| *count > 0);
        kept.map(|(said_at, _)| *said_at + SAY_AGAIN).min()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn what_goes_on_is_said_once_a_second_and_counted() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let reader = { Arc::clone(&said) };
        let mut journal = Journal::new(Box::new(move |entry| reader.lock().unwrap().push(entry)));
        let at = Duration::from_millis;
        for ms in 1..=100 {
            journal.refused(at(ms), "connections-full");
        }
        journal.refused(at(100), "not-permitted");
        assert_eq!(journal.says_at(), Some(at(1001)));
        journal.pass_time(at(1000));
        assert_eq!(said.lock().unwrap().len(), 2, "each reason once, at once");
        journal.pass_time(at(1001));
        assert_eq!(journal.says_at(), None);
        let refused = |reason, count| Entry::Refused { reason, count };
        let expected =
            [refused("connections-full", 1), refused("not-permitted", 1), refused("connections-full", 99)];
        assert_eq!(*said.lock().unwrap(), expected);
        said.lock().unwrap().clear();
        for fault in [LinkFault::HungUp, LinkFault::OpenTimeout, LinkFault::OpenTimeout] {
            journal.device_lost(0, || "it".to_owned(), fault);
            journal.device_lost(1, || "another".to_owned(), LinkFault::HungUp);
        }
        journal.device_opened("it".to_owned());
        journal.device_lost(0, || "it".to_owned(), LinkFault::OpenTimeout);
        assert_eq!(said.lock().unwrap().len(), 5, "each device that stays away is named once");
    }
}
