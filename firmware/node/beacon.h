//! The beacon: what the gateway says at the start of every superframe, and whether to believe it.
//!
//!      0 1 0x1B            7 4 superframe_us      15     1  n, slots used, at most 16
//!      1 2 cell           11 2 slot_us            16    4n  node of each slot
//!      3 4 superframe     13 2 guard_us           16+4n 16  tag
//!
//! Tag: Ascon-AEAD128 of the empty plaintext, associated data = everything before the tag, key = the cell's,
//! nonce = cell 2 | superframe 4 | ten zeros. The superframe starts when the SS line falls for the beacon.
//! Slot 0 is the beacon's, slot k (1..=n) belongs to nodes[k-1] and starts at k * slot_us, slot n+1 is the downlink's.
//! A frame in a slot begins a guard after it.
//!
//! Replays: a superframe number that does not increase is ignored. The number of the last believed beacon lives in RAM;
//! after a reset a node may be misled by a recorded beacon until its window meets no second one. What it would then
//! send is sealed under fresh counts, so only the time of its samples is at stake, not its key.
#ifndef NODE_BEACON_H
#define NODE_BEACON_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BEACON_KIND = 0x1B,
    BEACON_KIND_AT = 0,
    BEACON_CELL_AT = 1,
    BEACON_SUPERFRAME_AT = 3,
    BEACON_SUPERFRAME_US_AT = 7,
    BEACON_SLOT_US_AT = 11,
    BEACON_GUARD_US_AT = 13,
    BEACON_SLOTS_AT = 15,
    BEACON_NODES_AT = 16,
    BEACON_TAG_BYTES = 16,
    BEACON_SLOTS_MAX = 16,
    BEACON_BYTES_MAX = BEACON_NODES_AT + 4 * BEACON_SLOTS_MAX + BEACON_TAG_BYTES,
};

/// What a node takes from a beacon.
struct beacon {
    uint32_t superframe;
    uint32_t superframe_us;
    uint16_t slot_us;
    uint16_t guard_us;
    uint8_t slot;          // the node's own, 0 when it has none
    uint8_t downlink_slot; // n + 1
};

/// Reads and verifies `bytes[0..count]` as a beacon of `cell` for `node`.
/// False, and `beacon` is unspecified, when it is malformed, of another cell, its tag is wrong, or what it says cannot
/// be (slots that do not fit the superframe, a guard as long as a slot). One answer for all of these.
/// Takes about as long as sealing 50 bytes; freshness of the superframe number is the caller's.
bool beacon_open(struct beacon *beacon, const uint8_t *bytes, uint8_t count, uint16_t cell, uint32_t node,
                 const uint8_t *cell_key);

#endif
