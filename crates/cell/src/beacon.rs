//! The beacon: what the gateway tells its cell at the start of every superframe.
//!
//! ```text
//!  0  1  version (high nibble, 1) and kind (low nibble, 0xB)
//!  1  2  cell
//!  3  4  superframe
//!  7  4  superframe_us     length of a superframe
//! 11  2  slot_us           length of a slot; slot k starts at k * slot_us
//! 13  2  guard_us          an owner starts its transmission this long after its slot's start
//! 15  1  n                 slots owned by nodes, at most 16
//! 16  4n node of slot 1, of slot 2, ...
//!     16 tag               Ascon-AEAD128 of the empty plaintext; everything before is associated data
//! ```
//! All little-endian. The nonce is `cell (2) | superframe (4) | ten zero bytes`: a superframe number is used once.
//! Owns these bytes; `firmware/node/beacon.h` is their other reader. The cell key authenticates beacons and opens
//! no frame.

use cipher::CellKey;

/// First byte of every beacon.
pub const KIND: u8 = 0x1b;
/// Bytes before the slot map.
pub const HEADER_BYTES: usize = 16;
/// Bytes of the tag.
pub const TAG_BYTES: usize = 16;

/// The slots of a superframe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The cell's number.
    pub cell: u16,
    /// Length of a superframe, microseconds.
    pub superframe_us: u32,
    /// Length of a slot, microseconds.
    pub slot_us: u16,
    /// Distance from a slot's start to its owner's first bit, microseconds.
    pub guard_us: u16,
    /// Owner of slot 1, of slot 2, and so on. Slot 0 is the beacon's, the slot after the last is the downlink's.
    pub nodes: Vec<u32>,
}

impl Schedule {
    /// The index of the downlink slot.
    pub fn downlink_slot(&self) -> u8 {
        self.nodes.len() as u8 + 1
    }

    /// The beacon of `superframe`, authenticated with the cell key.
    pub fn beacon(&self, superframe: u32, key: &CellKey) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 4 * self.nodes.len() + TAG_BYTES);
        bytes.push(KIND);
        bytes.extend(self.cell.to_le_bytes());
        bytes.extend(superframe.to_le_bytes());
        bytes.extend(self.superframe_us.to_le_bytes());
        bytes.extend(self.slot_us.to_le_bytes());
        bytes.extend(self.guard_us.to_le_bytes());
        bytes.push(self.nodes.len() as u8);
        for node in &self.nodes {
            bytes.extend(node.to_le_bytes());
        }
        let tag = key.beacon_tag(superframe, &bytes);
        bytes.extend(tag.as_ref());
        bytes
    }
}
