//! Frames from the server to the node: the acknowledgement, and beside it the change of the epoch.
//!
//! Layout, keys and nonce are the node frame's (frame.h) with the direction bit set. Plaintext:
//!
//!     0 1 kind: 0x81, nothing more; 0x83                  of 0x83, an epoch change
//!     1 4 every uplink count below it is stored           5  1 epoch, later than the present one
//!         or will never be sent                           6 16 its key
//!                                                        22 16 its iv
//!
//! Settings (0x82) are reserved; such a frame is authentic, moves the replay mark, and has no other effect.
//! The node has no room to keep frames for sending again, so it only remembers how far the server has got. That goes on
//! over epochs, as its counter does; the replay mark begins again.
#ifndef NODE_DOWNLINK_H
#define NODE_DOWNLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "epoch.h"
#include "frame.h"

enum {
    ACKNOWLEDGE_KIND = 0x81,
    ACKNOWLEDGE_KIND_AT = 0,
    ACKNOWLEDGE_COUNTER_AT = 1,
    ACKNOWLEDGE_BYTES = 5,

    CHANGE_KIND = 0x83,
    CHANGE_EPOCH_AT = ACKNOWLEDGE_BYTES, // epoch, key and iv as a place in the EEPROM has them
    CHANGE_BYTES = CHANGE_EPOCH_AT + EPOCH_CRC_AT,
};

/// What came down so far. All zero before the first frame.
struct downlink {
    uint32_t fresh;        // the smallest count that is not a replay
    uint32_t acknowledged; // every uplink count below it is stored or was given up
};

/// Whether `bytes[0..count]` may be a frame for this node that it has not heard before. Only its tag can say more.
bool downlink_is_fresh(const struct downlink *downlink, const uint8_t *bytes, uint8_t count,
                       const struct provision *provision);

/// Takes what an authentic frame says, which is opened; a key in it is wiped.
void downlink_take(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change);

/// The epoch is another one now: its frames are counted from 0.
void downlink_turn(struct downlink *downlink);

/// Opens `bytes[0..count]` in place as a frame for this node and takes what it says.
/// False, `downlink` and `change` unchanged and no plaintext left in `bytes`, when it is malformed, another node's, an
/// uplink frame, a replay, or fails its tag. The replay mark starts at 0 after a reset: an old acknowledgement heard again is still
/// true, and `acknowledged` only rises, as epochs do.
bool downlink_open(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change);

#endif
