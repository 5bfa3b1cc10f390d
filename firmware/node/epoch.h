//! The node's traffic keys by epoch, and how the next one comes into the EEPROM.
//!
//! Owns the two places for a key there and the order in which their bytes are written. Like counter.h it never touches
//! the EEPROM itself: `epoch_step` names the next byte to write, `epoch_stepped` hears what the cell holds afterwards.
//! Where the places lie is provision.h's, what brings a change is downlink.h's.
//!
//! A place: epoch 1 | key 16 | iv 16 | CRC-16 of the 33, 2 | mark, 0xA5 when it is whole, 1.
//! The whole place with the higher epoch is in force after a reset. A change is written to the other one, so a key is
//! overwritten when two epochs have passed. The counter (counter.h) goes on over epochs and knows nothing of them.
//!
//! Invariant: nothing is sealed under an epoch before its place is whole and was read back; and a place that is torn at
//! any byte is not whole: its mark is spoilt first and set right last. So the power may fail at any time, and a node
//! that has sealed under an epoch never seals under an earlier one; unless a cell loses what it held. Then it goes on
//! counting under the earlier epoch, which the server takes nothing of any more, and it has to be provisioned anew.
#ifndef NODE_EPOCH_H
#define NODE_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "provision.h"

enum {
    EPOCH_NUMBER_AT = 0,
    EPOCH_KEY_AT = 1,
    EPOCH_IV_AT = 17,
    EPOCH_CRC_AT = 33,
    EPOCH_MARK_AT = 35,
    EPOCH_PLACE_BYTES = 36,
    EPOCH_PLACES_BYTES = 2 * EPOCH_PLACE_BYTES,
    EPOCH_WHOLE = 0xA5,
};

/// A change to another epoch. Caller-owned; the fields are epoch.c's.
struct epoch_change {
    uint8_t place[EPOCH_PLACE_BYTES]; // to be written; zeros otherwise
    uint8_t target;                   // the place that is not in force
    uint8_t step;
    volatile uint8_t state;
};

/// Takes the traffic key that is in force from the two places as the EEPROM holds them. What `provision` had as its
/// epoch before, the counter's, is gone. False when neither place is whole.
bool epoch_boot(struct epoch_change *change, struct provision *provision, const uint8_t *places);

/// Takes up the change that `text` tells, EPOCH_CRC_AT bytes as a place has them, from a frame that was authentic.
/// Nothing happens when the epoch is not later than the present one, while a change is under way, and when an EEPROM
/// cell was found worn.
void epoch_offer(struct epoch_change *change, const struct provision *provision, const uint8_t *text);

/// The next byte that the EEPROM needs: its offset from the first place and its value. False when none does.
/// Asked again without `epoch_stepped`, it answers the same.
bool epoch_step(const struct epoch_change *change, uint8_t *offset, uint8_t *value);

/// Tells what the cell of the last `epoch_step` holds, read back after its write was complete.
void epoch_stepped(struct epoch_change *change, uint8_t held);

/// Puts a change that the EEPROM holds into force, and wipes it here. True when there was one. Nothing MUST be in the
/// middle of being sealed or opened.
bool epoch_turn(struct epoch_change *change, struct provision *provision);

#endif
