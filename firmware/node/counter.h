//! The frame counter that survives resets and power cuts.
//!
//! Owns the two EEPROM slots' meaning and the order in which their bytes are written. It never touches the EEPROM
//! itself: `counter_step` names the next byte to write, `counter_stepped` hears what the cell holds afterwards.
//! So the same code runs on the chip and on a host that cuts the power at every byte.
//!
//! A slot: limit 4 (every count below it may have been used) | epoch 1 | complement of epoch 1 | CRC-16 of the six, 2.
//! The slot with the smaller limit is rewritten, one `block` beyond the larger, before any count of that block is used.
//!
//! Invariant: every count that was ever used is below the larger limit, and below either limit plus one block.
//! Hence a node that finds both slots good goes on at the larger limit, a node that finds one goes on one block beyond
//! it (the lost one may have been the newer), and a node that finds none stays silent.
//! Invariant: a slot torn at any byte is invalid with certainty: its complement is spoilt first and set right last, and
//! both of those writes, torn, are an error within one byte, which the CRC always finds.
//! The block of a node MUST NOT shrink while its slots are kept.
//!
//! `counter_take` may come in the middle of a step: a less urgent task's.
//!
//! Wear: a reservation writes the complement twice and changes few bytes of the limit. At four frames a second a block
//! of 16384 counts is reserved every 68 minutes.
#ifndef NODE_COUNTER_H
#define NODE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#define COUNTER_SLOT_BYTES 8
#define COUNTER_SLOTS_BYTES (2 * COUNTER_SLOT_BYTES)
/// The direction bit of a frame's counter takes bit 31.
#define COUNTER_COUNT_MAX 0x80000000UL

/// A counter. Caller-owned; the fields are counter.c's.
struct counter {
    uint32_t next;
    uint32_t reserved;
    uint16_t block;
    uint8_t epoch;
    uint8_t target;
    uint8_t step;
    bool worn;
    uint8_t slot[COUNTER_SLOT_BYTES];
};

/// Starts `counter` from the two slots as the EEPROM holds them. `block` is not 0.
/// False when no count is known to be fresh: both slots damaged or of another epoch, or counts used up.
/// No count can be taken before a reservation was written.
bool counter_boot(struct counter *counter, const uint8_t *slots, uint8_t epoch, uint16_t block);

/// Takes the next count. False when none is reserved now.
/// Invariant: each count is handed out at most once in the life of (key, epoch).
bool counter_take(struct counter *counter, uint32_t *count);

/// True when no count is left now and none can ever be reserved: used up, or a worn EEPROM cell.
bool counter_is_spent(const struct counter *counter);

/// The next byte that the EEPROM needs: its offset from the first slot and its value. False when none does.
/// Asked again without `counter_stepped`, it answers the same.
bool counter_step(struct counter *counter, uint8_t *offset, uint8_t *value);

/// Tells what the cell of the last `counter_step` holds, read back after its write was complete.
void counter_stepped(struct counter *counter, uint8_t held);

#endif
