//! Every number that bounds a cell.

/// The longest frame on the bus, in bytes: what a node's receive buffer holds.
pub const FRAME_BYTES_MAX: usize = 256;
/// The most nodes of one cell: the slot map of a beacon must fit a frame.
pub const NODES_MAX: usize = 16;
/// The most downlink frames that wait for a slot, one for each node; one goes out each superframe.
pub const DOWNLINKS_WAITING_MAX: usize = 1024;

const _: () =
    assert!(crate::beacon::HEADER_BYTES + 4 * NODES_MAX + crate::beacon::TAG_BYTES <= FRAME_BYTES_MAX);
