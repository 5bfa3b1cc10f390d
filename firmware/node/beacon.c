//! Parses and verifies beacons; beacon.h draws them.
#include "beacon.h"

#include <string.h>

#include "suite.h"
#include "le.h"
#include "limits.h"

_Static_assert(BEACON_BYTES_MAX == LINK_BYTES_MAX, "the link takes in every beacon, and no more");

static bool has_the_form(const uint8_t *bytes, uint8_t count, uint16_t cell)
{
    return count >= BEACON_NODES_AT + BEACON_TAG_BYTES && bytes[BEACON_KIND_AT] == BEACON_KIND &&
           le16_get(bytes + BEACON_CELL_AT) == cell && bytes[BEACON_SLOTS_AT] <= BEACON_SLOTS_MAX &&
           count == BEACON_NODES_AT + 4 * bytes[BEACON_SLOTS_AT] + BEACON_TAG_BYTES;
}

static bool is_authentic(const uint8_t *bytes, uint8_t count, const uint8_t *cell_key)
{
    uint8_t nonce[16] = {0};
    uint8_t covered = count - BEACON_TAG_BYTES;

    // Cell and superframe stand side by side in the beacon as in the nonce.
    memcpy(nonce, bytes + BEACON_CELL_AT, 6);
    return suite_ascon_open(NULL, 0, bytes, covered, nonce, cell_key, bytes + covered);
}

/// An authentic beacon may still be a gateway's mistake; a node does not transmit by a map that cannot be.
static bool is_possible(const struct beacon *beacon)
{
    return beacon->superframe_us != 0 && beacon->superframe_us <= SUPERFRAME_US_MAX && beacon->slot_us != 0 &&
           beacon->guard_us < beacon->slot_us &&
           (uint32_t)beacon->slot_us * (beacon->downlink_slot + 1u) <= beacon->superframe_us;
}

bool beacon_open(struct beacon *beacon, const uint8_t *bytes, uint8_t count, uint16_t cell, uint32_t node,
                 const uint8_t *cell_key)
{
    if (!has_the_form(bytes, count, cell) || !is_authentic(bytes, count, cell_key)) {
        return false;
    }
    uint8_t slots = bytes[BEACON_SLOTS_AT];
    beacon->superframe = le32_get(bytes + BEACON_SUPERFRAME_AT);
    beacon->superframe_us = le32_get(bytes + BEACON_SUPERFRAME_US_AT);
    beacon->slot_us = le16_get(bytes + BEACON_SLOT_US_AT);
    beacon->guard_us = le16_get(bytes + BEACON_GUARD_US_AT);
    beacon->downlink_slot = slots + 1;
    beacon->slot = 0;
    for (uint8_t k = slots; k > 0; k--) {
        if (le32_get(bytes + BEACON_NODES_AT + 4 * (k - 1)) == node) {
            beacon->slot = k;
        }
    }
    return is_possible(beacon);
}
