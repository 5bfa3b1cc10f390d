//! What a node's EEPROM holds before its first boot: who it is, its keys, and a counter that has never counted.
//!
//! Owns the Rust side of the layout that `firmware/node/provision.h` draws; `tests/languages.rs` lets the firmware
//! read what is made here. The counter's slots are `firmware/node/counter.h`'s: both are written whole, with a
//! limit of zero, because a node that finds neither whole stays silent.

use cipher::{CellMaster, NodeMaster};
use zeroize::Zeroizing;

use super::deployment::{Cell, Node};

/// Bytes of the image, from address 0.
pub const EEPROM_BYTES: usize = 0x58;
/// The epoch with which every node begins.
pub const FIRST_EPOCH: u8 = 0;
/// Bytes under the CRC.
const CHECKED_BYTES: usize = 0x44;
const LAYOUT: u8 = 1;
const COUNTER_SLOTS_AT: [usize; 2] = [0x48, 0x50];

/// The image for `node` of `cell` at key epoch `epoch`. Holds keys, so it is wiped when dropped.
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
    put(0x10, traffic.key().expose());
    put(0x20, traffic.iv().expose());
    put(0x30, cell_key.key().expose());
    put(0x40, &node.clock_hz.to_le_bytes());
    let check = crc16(&image[..CHECKED_BYTES]).to_le_bytes();
    image[CHECKED_BYTES..CHECKED_BYTES + 2].copy_from_slice(&check);
    let slot = fresh_slot(epoch);
    for at in COUNTER_SLOTS_AT {
        image[at..at + slot.len()].copy_from_slice(&slot);
    }
    image
}

/// Whether an EEPROM was provisioned as `fresh` is, whatever its counters say since.
pub fn is_same(eeprom: &[u8], fresh: &[u8; EEPROM_BYTES]) -> bool {
    // Both are ours; there is nobody to whom the time of a comparison tells anything.
    eeprom.get(..CHECKED_BYTES) == Some(&fresh[..CHECKED_BYTES])
}

/// A counter slot below which no counter has been used.
fn fresh_slot(epoch: u8) -> [u8; 8] {
    let mut slot = [0, 0, 0, 0, epoch, !epoch, 0, 0];
    let check = crc16(&slot[..6]).to_le_bytes();
    slot[6..].copy_from_slice(&check);
    slot
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
