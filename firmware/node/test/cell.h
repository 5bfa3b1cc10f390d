//! The rest of the cell, for tests: a gateway that makes beacons and a server that makes downlinks, written from the
//! drawing of the bytes with literal offsets and not with the node's constants.
#ifndef NODE_TEST_CELL_H
#define NODE_TEST_CELL_H

#include <stdint.h>

#include "../epoch.h"
#include "../provision.h"

enum { CELL_NODE = 0x01020304, CELL_ID = 0x0807, CELL_EPOCH = 9 };

/// A good provisioned image, PROVISION_BYTES long.
void cell_provision_image(uint8_t *image, uint8_t suite);
/// A whole place for a traffic key, whose bytes follow from the epoch.
void cell_epoch_place(uint8_t *place, uint8_t epoch);
/// Both, parsed.
struct provision cell_provision(uint8_t suite);

/// What a beacon says.
struct cell_beacon {
    uint32_t superframe, superframe_us;
    uint16_t slot_us, guard_us;
    uint8_t slots;
    uint8_t own;          // the slot of CELL_NODE, 0: none
    uint8_t claimed_more; // slots that the count claims and the map lacks
};

/// Writes a sealed beacon of cell CELL_ID; returns its bytes, at most 96.
uint8_t cell_beacon_seal(uint8_t *bytes, const struct cell_beacon *says);

/// Writes a sealed downlink frame with this counter (direction bit included) and plaintext; returns its bytes.
uint8_t cell_downlink_seal(uint8_t *bytes, uint8_t suite, uint32_t counter, const uint8_t *text, uint8_t text_bytes);

#endif
