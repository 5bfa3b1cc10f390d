//! What a node's EEPROM holds before its first boot: who it is, its keys, and a counter that has never counted.
//! And what may be found in one later: counts that were used, and the key of another epoch.
//!
//! Owns the Rust side of the layout that `firmware/node/provision.h` draws; `tests/languages.rs` lets the firmware
//! read what is made here. The counter's slots are `firmware/node/counter.h`'s: in a new image both are written
//! whole, with a limit of zero, because a node that finds neither whole stays silent; an image that replaces another
//! under its key takes over what that one's slots say, and its epoch. Traffic keys are `firmware/node/epoch.h`'s: a new
//! image has one place whole, the other erased.

use cipher::{CellMaster, NodeMaster, Suite, TrafficKey};
use zeroize::Zeroizing;

use super::deployment::{Cell, Node};

/// Bytes of the image, from address 0.
pub const EEPROM_BYTES: usize = 0x80;
/// The epoch of the first image under a key.
pub const FIRST_EPOCH: u8 = 0;
/// Bytes under the CRC.
const CHECKED_BYTES: usize = 0x24;
const LAYOUT: u8 = 2;
const COUNTER_SLOTS_AT: usize = 0x28;
const SLOT_BYTES: usize = 8;
const PLACES_AT: usize = 0x38;
const PLACE_BYTES: usize = 36;
/// Bytes of a place under its CRC: epoch, key and iv.
const PLACE_CHECKED_BYTES: usize = 33;
/// The last byte of a place that is whole.
const WHOLE: u8 = 0xa5;
/// The direction bit of a frame's counter: a limit that leaves no count.
const COUNT_END: u32 = 1 << 31;

/// The two counter slots of an image.
pub(super) type Slots = [u8; 2 * SLOT_BYTES];

/// The two places for traffic keys of an image.
type Places = Zeroizing<[u8; 2 * PLACE_BYTES]>;

/// An image for this node under this key, whose counters may have been used.
#[derive(Clone, PartialEq, Eq)]
pub struct Predecessor {
    /// Its key epoch.
    pub epoch: u8,
    /// The epoch that its counter slots name: that of the first image of those that took them over.
    counted: u8,
    /// The suite of its keys.
    suite: Suite,
    /// Counters that it reserved at a time.
    block: u16,
    slots: Slots,
    places: Places,
}

/// The image for `node` of `cell` at key epoch `epoch`, of which no count was used. Holds keys, so it is wiped when
/// dropped.
pub fn eeprom(
    node: &Node,
    cell: &Cell,
    epoch: u8,
    node_master: &NodeMaster,
    cell_master: &CellMaster,
) -> Zeroizing<[u8; EEPROM_BYTES]> {
    let traffic = node_master.traffic_key(node.id, epoch, node.suite);
    let cell_key = cell_master.cell_key(cell.id);
    let number = node.suite.row().node_number.expect("a deployment names suites of the node link only");
    let mut image = Zeroizing::new([0xff; EEPROM_BYTES]);
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x00, b"SV");
    put(0x02, &[LAYOUT, number]);
    put(0x04, &node.id.to_le_bytes());
    put(0x08, &cell.id.to_le_bytes());
    put(0x0a, &[epoch, node.samples_per_superframe]);
    put(0x0c, &node.counter_block.to_le_bytes());
    put(0x0e, &[node.channel, node.divider_log2()]);
    put(0x10, cell_key.key().expose());
    put(0x20, &node.clock_hz.to_le_bytes());
    put(PLACES_AT, place(epoch, &traffic).as_slice());
    put(COUNTER_SLOTS_AT, &slots(epoch, 0));
    seal_head(&mut image);
    image
}

/// Puts the CRC over who the node is.
fn seal_head(image: &mut [u8; EEPROM_BYTES]) {
    let check = crc16(&image[..CHECKED_BYTES]).to_le_bytes();
    image[CHECKED_BYTES..CHECKED_BYTES + 2].copy_from_slice(&check);
}

/// A whole place for this traffic key.
fn place(epoch: u8, traffic: &TrafficKey) -> Zeroizing<[u8; PLACE_BYTES]> {
    let mut place = Zeroizing::new([WHOLE; PLACE_BYTES]);
    place[0] = epoch;
    place[1..17].copy_from_slice(traffic.key().expose());
    place[17..33].copy_from_slice(traffic.iv().expose());
    let check = crc16(&place[..PLACE_CHECKED_BYTES]).to_le_bytes();
    place[PLACE_CHECKED_BYTES..PLACE_CHECKED_BYTES + 2].copy_from_slice(&check);
    place
}

/// The place that is in force: the whole one with the later epoch.
fn in_force(places: &[u8]) -> Option<&[u8]> {
    let is_whole = |place: &&[u8]| {
        let (checked, rest) = place.split_at(PLACE_CHECKED_BYTES);
        rest[2] == WHOLE && rest[..2] == crc16(checked).to_le_bytes()
    };
    places.chunks_exact(PLACE_BYTES).filter(is_whole).max_by_key(|place| place[0])
}

/// Which epoch an EEPROM that was provisioned is in; `None` when neither place for a key is whole.
pub fn epoch(eeprom: &[u8]) -> Option<u8> {
    in_force(eeprom.get(PLACES_AT..EEPROM_BYTES)?).map(|place| place[0])
}

/// Whether an EEPROM begins as `image` does, its counter slots and keys among it.
pub fn is_same(eeprom: &[u8], image: &[u8; EEPROM_BYTES]) -> bool {
    // Both are ours; there is nobody to whom the time of a comparison tells anything.
    eeprom.get(..EEPROM_BYTES) == Some(&image[..])
}

impl Predecessor {
    /// What `eeprom` is to an image of `node` under `master`; `None` when it is no whole image, one of another node or
    /// under another key, or one whose counters nobody can go on with.
    pub fn of(eeprom: &[u8], node: u32, master: &NodeMaster) -> Option<Predecessor> {
        let image = eeprom.get(..EEPROM_BYTES)?;
        let two = |at: usize| u16::from_le_bytes([image[at], image[at + 1]]);
        let is_whole = image.starts_with(b"SV")
            && image[0x02] == LAYOUT
            && two(CHECKED_BYTES) == crc16(&image[..CHECKED_BYTES])
            && image[0x04..0x08] == node.to_le_bytes();
        let suite = Suite::from_node_number(image[0x03]).filter(|_| is_whole)?;
        let (counted, block) = (image[0x0a], two(0x0c));
        let found = in_force(&image[PLACES_AT..])?;
        let epoch = found[0];
        let is_ours = *found == place(epoch, &master.traffic_key(node, epoch, suite))[..];
        let slots = image[COUNTER_SLOTS_AT..PLACES_AT].try_into().expect("two slots are as long");
        let mut places = Places::new([0; 2 * PLACE_BYTES]);
        places.copy_from_slice(&image[PLACES_AT..]);
        let found = Predecessor { epoch, counted, suite, block, slots, places };
        (is_ours && found.bound().is_some_and(|bound| bound < COUNT_END)).then_some(found)
    }

    /// Every count that was used is below; `None` when both slots are damaged. The rules are
    /// `firmware/node/counter.h`'s: a slot that is alone may be the older one.
    fn bound(&self) -> Option<u32> {
        let (a, b) = self.slots.split_at(SLOT_BYTES);
        match (limit(a, self.counted), limit(b, self.counted)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (Some(one), None) | (None, Some(one)) => Some(one.saturating_add(self.block.into())),
            (None, None) => None,
        }
    }

    /// Puts its counter slots into `image`, whose node reserves `block` counters at a time: as they are, unless they
    /// count on a larger block. Then both say what no smaller one can get wrong. Its keys stay as they are, unless
    /// they are another suite's.
    pub fn hand_over(&self, image: &mut [u8; EEPROM_BYTES], node: &Node) {
        let bound = self.bound().expect("a predecessor's counters can be gone on with");
        let slots = if node.counter_block < self.block { slots(self.counted, bound) } else { self.slots };
        image[0x0a] = self.counted;
        seal_head(image);
        image[COUNTER_SLOTS_AT..PLACES_AT].copy_from_slice(&slots);
        if node.suite == self.suite {
            image[PLACES_AT..].copy_from_slice(self.places.as_slice());
        }
    }
}

/// Two slots that say that no count of `epoch` from `limit` on was ever used.
pub(super) fn slots(epoch: u8, limit: u32) -> Slots {
    let mut slots = [0; 2 * SLOT_BYTES];
    for slot in slots.chunks_exact_mut(SLOT_BYTES) {
        slot[..4].copy_from_slice(&limit.to_le_bytes());
        slot[4..6].copy_from_slice(&[epoch, !epoch]);
        let check = crc16(&slot[..6]).to_le_bytes();
        slot[6..].copy_from_slice(&check);
    }
    slots
}

/// The limit in a counter slot of `epoch`; `None` when it is damaged.
fn limit(slot: &[u8], epoch: u8) -> Option<u32> {
    let is_good = slot[4..6] == [epoch, !epoch] && slot[6..8] == crc16(&slot[..6]).to_le_bytes();
    is_good.then(|| u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]))
}

/// CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF, no reflection.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xffff, |crc, byte| {
        (0..8)
            .fold(crc ^ u16::from(*byte) << 8, |crc, _| crc << 1 ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_123456789_is_29b1() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }
}
