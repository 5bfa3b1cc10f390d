//! How far a store has come, kept where the store is not: what is put back is seen to be older.
//!
//! A store proves by itself that nothing in it was removed, exchanged or changed, but not that it is the latest one: an
//! older copy of the whole folder is as sound as it was. So its last group is noted elsewhere, beside the keys, and looked
//! for when the store is opened again. Who keeps the note is the caller's ([`KeyRing::anchor_by`]); where it is read, and
//! that nobody else can write there, too. Where several servers share a deployment ([`nats`](crate::nats)) each lease has a
//! log, and nobody keeps a note: what may be used once is given out by the cluster there.
//!
//! The note is durable before what must not be forgotten leaves: a group with a reservation of downlink counters, a change
//! of an epoch or an order, and the first group of a segment. For other groups it is at most
//! [`Limits::anchor_ms_max`](crate::limits::Limits::anchor_ms_max) old when the next one is committed, and it is moved when
//! the server ends. So an older copy is never opened that does not know of a counter or key that was used; what frames of
//! that time it lacks, from the note on, is not seen.
//!
//! [`KeyRing::anchor_by`]: crate::keys::KeyRing::anchor_by

use cipher::Randomness;

use crate::Collector;
use crate::disk::{Disk, is_full};
use crate::error::Error;
use crate::keys::StoreKeys;
use crate::limits::SEGMENT_FILE_BYTES_MAX;
use crate::segment::{self, Chain};
use crate::store::{head, numbers};

/// The end of a group of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Names the store.
    pub store: [u8; 16],
    /// The segment.
    pub segment: u64,
    /// Where the group ends in it, in bytes.
    pub end: u64,
    /// The chain there.
    pub chain: Chain,
}

impl Anchor {
    /// A line of text: store, segment, end, chain.
    pub fn to_text(&self) -> String {
        format!(
            "store {} segment {} end {} chain {}\n",
            hex(&self.store),
            self.segment,
            self.end,
            hex(&self.chain)
        )
    }

    /// Reads what [`to_text`](Self::to_text) wrote; `None` for anything else.
    pub fn parse(text: &str) -> Option<Anchor> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["store", store, "segment", segment, "end", end, "chain", chain] = words[..] else { return None };
        let anchor = Anchor {
            store: unhex(store)?,
            segment: segment.parse().ok()?,
            end: end.parse().ok()?,
            chain: unhex(chain)?,
        };
        // What was written here, and no other spelling of it.
        (anchor.to_text() == text).then_some(anchor)
    }
}

/// Whether the store on `disk` has come as far as `anchor`: it holds the group that ends there, or a later segment is the
/// newest and that one was removed since.
///
/// # Errors
/// [`Error::RolledBack`], and those of reading.
pub(crate) fn check<D: Disk>(disk: &D, keys: &StoreKeys, anchor: &Anchor) -> Result<(), Error> {
    let &Anchor { store, segment, end, chain } = anchor;
    let rolled_back = || Error::RolledBack { segment, end };
    let names = disk.list().map_err(Error::io("list", "store"))?;
    let newest = head(disk, *numbers(&names).last().ok_or_else(rolled_back)?, keys)?;
    let (newest, oldest) = (newest.header(), newest.header().oldest);
    if newest.store != store || newest.number < segment {
        return Err(rolled_back());
    }
    if segment < oldest {
        return Ok(());
    }
    let anchored = head(disk, segment, keys)?;
    // The header alone is an end, too.
    let is_begin = end == segment::HEADER_BYTES as u64 && chain == anchored.chain();
    let file = disk.read(&segment::file_name(segment), SEGMENT_FILE_BYTES_MAX);
    let scan = anchored.scan(&file.map_err(Error::io("read", segment::file_name(segment)))?, None);
    let is_there = is_begin || scan.groups.iter().any(|group| group.end == end && group.chain == chain);
    let next = if newest.number > segment { Some(head(disk, segment + 1, keys)?) } else { None };
    let is_kept = next.is_none_or(|next| next.header().before.end >= end);
    if is_there && is_kept { Ok(()) } else { Err(rolled_back()) }
}

impl<D: Disk, R: Randomness + Clone> Collector<D, R> {
    /// Notes elsewhere how far the store has come, if that must not wait, or has waited long enough. False when it must not
    /// wait and there is no room for the note.
    pub(crate) fn move_anchor(&mut self, now_ns: u64, is_due: bool) -> Result<bool, Error> {
        let (noted, noted_ns) = self.anchored;
        let Some(anchor) = self.store.anchor().filter(|anchor| Some(*anchor) != noted) else {
            return Ok(true);
        };
        let waited_ms = now_ns.saturating_sub(noted_ns) / 1_000_000;
        self.owes_anchor |= is_due || noted.is_none_or(|noted| noted.segment != anchor.segment);
        if !self.owes_anchor && waited_ms < self.limits.anchor_ms_max {
            return Ok(true);
        }
        match self.keys.keep_anchor(&anchor) {
            Ok(is_kept) => {
                self.counter.stats.anchors += u64::from(is_kept);
                (self.anchored, self.owes_anchor) = ((Some(anchor), now_ns), false);
                Ok(true)
            }
            Err(cause) if is_full(&cause) => Ok(!self.owes_anchor),
            Err(cause) => Err(Error::io("keep", "the store's anchor")(cause)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    let value = u128::from_str_radix(text, 16).ok()?;
    Some(value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_anchor_survives_its_text(
            store: [u8; 16], chain: [u8; 16], segment: u64, end: u64, noise in ".{0,40}",
        ) {
            let anchor = Anchor { store, segment, end, chain };
            let text = anchor.to_text();
            prop_assert_eq!(Anchor::parse(&text), Some(anchor));
            prop_assert_eq!(Anchor::parse(&text[..text.len() - 1]), None);
            prop_assert_eq!(Anchor::parse(&format!("{text}{noise}x")), None);
        }
    }
}
