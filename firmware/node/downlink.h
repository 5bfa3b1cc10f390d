//! Frames from the server to the node: the acknowledgement, and beside it a setting or a change of the epoch.
//!
//! Layout, keys and nonce are the node frame's (frame.h) with the direction bit set. Plaintext:
//!
//!     0 1 kind: 0x81, nothing more; 0x82; 0x83            of 0x82, a setting
//!     1 4 every uplink count below it is stored           5  4 first sample's grid index
//!         or will never be sent                           9  1 ADC channel, from that sample on
//!                                                        10  1 stride, from that sample on
//!
//!                                                         of 0x83, an epoch change
//!                                                         5  1 epoch, later than the present one
//!                                                         6 16 its key
//!                                                        22 16 its iv
//!
//! The node has no room to keep frames for sending again, so it only remembers how far the server has got. That goes on
//! over epochs, as its counter does; the replay mark begins again.
//!
//! A setting holds from the superframe on that begins with its sample, or not at all: what comes when that superframe is
//! armed already, or missed, is dropped. So nobody who repeats an old one to a node that was reset sets anything. The
//! latest one is kept, in RAM only. The server learns what holds from the channel that each frame names and from how many
//! samples it has, and tells again.
//!
//! A stride divides the samples of a superframe that the node was provisioned with: of those it takes the first, and every
//! so manieth from there. A frame is the shorter for it.
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

    SETTING_KIND = 0x82,
    SETTING_FIRST_AT = ACKNOWLEDGE_BYTES,
    SETTING_CHANNEL_AT = SETTING_FIRST_AT + 4,
    SETTING_STRIDE_AT = SETTING_CHANNEL_AT + 1,
    SETTING_BYTES = SETTING_STRIDE_AT + 1,

    CHANGE_KIND = 0x83,
    CHANGE_EPOCH_AT = ACKNOWLEDGE_BYTES, // epoch, key and iv as a place in the EEPROM has them
    CHANGE_BYTES = CHANGE_EPOCH_AT + EPOCH_CRC_AT,
};

/// What came down so far. All zero before the first frame.
struct downlink {
    uint32_t fresh;        // the smallest count that is not a replay
    uint32_t acknowledged; // every uplink count below it is stored or was given up
    uint32_t first;        // of the setting
    uint8_t channel;       // of the setting
    uint8_t stride;        // of the setting
    bool is_set;           // there is one
};

/// Whether `bytes[0..count]` may be a frame for this node that it has not heard before. Only its tag can say more.
bool downlink_is_fresh(const struct downlink *downlink, const uint8_t *bytes, uint8_t count,
                       const struct provision *provision);

/// Takes what an authentic frame says, which is opened; a key in it is wiped.
void downlink_take(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change);

/// Makes of the setting of a superframe that of the next one, which begins with sample `first`. What was set for that or
/// an earlier one is gone then.
void downlink_set(struct downlink *downlink, uint32_t first, struct setting *setting);

/// The epoch is another one now: its frames are counted from 0.
void downlink_turn(struct downlink *downlink);

/// Opens `bytes[0..count]` in place as a frame for this node and takes what it says.
/// False, `downlink` and `change` unchanged and no plaintext left in `bytes`, when it is malformed, another node's, an
/// uplink frame, a replay, or fails its tag. The replay mark starts at 0 after a reset: an old acknowledgement heard again is still
/// true, and `acknowledged` only rises, as epochs do.
bool downlink_open(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change);

#endif
