//! When a line that was brought is known to be what was sealed.
//!
//! Owns: the cache of MACs, and when a check ends: before what it checks is used ([`Settings::speculative`] is false),
//! or later, with what leaves the core waiting for it. Which lines share a MAC, where that stands and how it is made is
//! the sealer's, behind [`Check`]; the bus over which lines and MACs come is `fill`'s.
//!
//! A MAC is over the lines as they stand outside. Who brings one of them for the core brings the others of its group
//! for the check, and does not keep them.

use std::sync::Arc;

use isa::Cycles;

use super::cache::{Cache, Shape};
use super::remembered::Remembered;
use super::rom::LINE_BYTES;
use crate::error::RunError;

/// Lines that share a MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The first line's address.
    pub first: u32,
    /// The length of all, in bytes.
    pub bytes: u32,
    /// The address of their MAC.
    pub mac: u32,
}

/// The least and the most that a MAC is, and the most that the lines of a group are, in bytes.
const MAC_BYTES_LEAST: u32 = 8;
const MAC_BYTES_MAX: usize = 16;
const GROUP_BYTES_MAX: usize = 8 * LINE_BYTES as usize;

/// What an image has against changes.
pub trait Check: Send + Sync {
    /// The group of the line at an address; `None` when it has no MAC.
    fn group(&self, address: u32) -> Option<Group>;
    /// How long a MAC is, in bytes: 8 or 16. It stands at a multiple of that.
    fn mac_bytes(&self) -> u32;
    /// Whether these lines, as they stand outside, have this MAC.
    fn is_sound(&self, group: Group, lines: &[u8], mac: &[u8]) -> bool;
}

/// How checks are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// From when lines and MAC are there to when it is known whether they fit. One check after the other.
    pub latency_cycles: u32,
    /// Whether the core goes on meanwhile.
    pub speculative: bool,
    /// What keeps MACs; without it, each comes over the bus.
    pub mac_cache: Option<Shape>,
}

impl Default for Settings {
    /// Two blocks of the cipher for a check, before which nothing is used, and no cache of MACs.
    fn default() -> Settings {
        Settings { latency_cycles: 80, speculative: false, mac_cache: None }
    }
}

/// What checks took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Groups checked.
    pub groups: u64,
    /// Lines brought for nothing but a check.
    pub lines_beside: u64,
    /// MACs that came over the bus, by the lines that they came in.
    pub mac_lines: u64,
    /// MACs that were in the cache.
    pub mac_hits: u64,
}

/// The unit that checks.
#[derive(Clone)]
pub struct Integrity {
    check: Arc<dyn Check>,
    settings: Settings,
    macs: Option<Cache>,
    /// Whether groups are sound, by their MACs and lines.
    sound: Remembered<bool>,
    /// When it takes the next check.
    free_at: Cycles,
    /// What was found not to be sound: when that is known, and the line.
    unsound: Option<(Cycles, u32)>,
    /// What checks took.
    pub checks: Checks,
}

impl Integrity {
    /// A unit for an image.
    ///
    /// # Errors
    /// A cache of MACs that cannot be built.
    pub fn new(check: Arc<dyn Check>, settings: Settings) -> Result<Integrity, RunError> {
        let macs = settings.mac_cache.map(Cache::new).transpose()?;
        let sound = Remembered::new(MAC_BYTES_MAX + GROUP_BYTES_MAX);
        Ok(Integrity { check, settings, macs, sound, free_at: 0, unsound: None, checks: Checks::default() })
    }

    /// Whether the core goes on while lines are being checked.
    pub fn is_speculative(&self) -> bool {
        self.settings.speculative
    }

    /// The group of the line at an address; `None` when it has no MAC.
    pub fn group(&self, address: u32) -> Option<Group> {
        self.check.group(address)
    }

    /// The MAC of a group: from the cache, or as `bring` has the lines of memory that it stands in.
    pub fn mac(&mut self, group: Group, mut bring: impl FnMut(u32, &mut [u8])) -> [u8; 16] {
        let mut mac = [0; 16];
        let count = self.check.mac_bytes() as usize;
        let Some(macs) = &mut self.macs else {
            let (line, inside) = (group.mac & !(LINE_BYTES - 1), (group.mac % LINE_BYTES) as usize);
            let mut bytes = [0; LINE_BYTES as usize];
            bring(line, &mut bytes);
            self.checks.mac_lines += 1;
            mac[..count].copy_from_slice(&bytes[inside..inside + count]);
            return mac;
        };
        let at = if let Some(at) = macs.find(group.mac) {
            self.checks.mac_hits += 1;
            at
        } else {
            self.checks.mac_lines += u64::from(macs.line_bytes() / LINE_BYTES);
            let brought = macs.bring(group.mac, |first, line| {
                bring(first, line);
                Ok::<(), std::convert::Infallible>(())
            });
            let Ok(at) = brought;
            at
        };
        mac[..count].copy_from_slice(macs.bytes(at, count));
        mac
    }

    /// Checks a group whose lines and MAC are there at a cycle: when it is known, and whether it is sound. Lines that
    /// are not in memory are not.
    pub fn check(
        &mut self,
        group: Group,
        lines: Option<&[u8]>,
        mac: &[u8; 16],
        there: Cycles,
    ) -> (Cycles, bool) {
        let known = there.max(self.free_at) + Cycles::from(self.settings.latency_cycles);
        self.free_at = known;
        self.checks.groups += 1;
        let mac = &mac[..self.check.mac_bytes() as usize];
        let sound = lines.is_some_and(|lines| {
            let compute = || self.check.is_sound(group, lines, mac);
            self.sound.answer(group.mac / MAC_BYTES_LEAST, [mac, lines], compute)
        });
        if !sound && self.unsound.is_none_or(|(before, _)| known < before) {
            self.unsound = Some((known, group.first));
        }
        (known, sound)
    }

    /// The same, at no time.
    pub fn is_sound(&self, group: Group, lines: Option<&[u8]>, mac: &[u8; 16]) -> bool {
        let mac = &mac[..self.check.mac_bytes() as usize];
        lines.is_some_and(|lines| self.check.is_sound(group, lines, mac))
    }

    /// How long a MAC is, in bytes.
    pub fn mac_bytes(&self) -> u32 {
        self.check.mac_bytes()
    }

    /// When all checks that were begun have ended.
    pub fn ends_at(&self) -> Cycles {
        self.free_at
    }

    /// What was found not to be sound first: when that is known, and the first line of its group.
    pub fn unsound(&self) -> Option<(Cycles, u32)> {
        self.unsound
    }
}
