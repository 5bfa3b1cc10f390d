//! The node frame, byte for byte: what travels from the node to the server and back, untouched by the gateway.
//!
//!      0  1  version (high nibble) | suite (low nibble)     10      n  ciphertext
//!      1  4  node                                           10 + n  t  tag, as long as the suite's
//!      5  1  epoch
//!      6  4  counter, bit 31 = direction                    associated data = bytes 0..10
//!
//! Nonce = iv XOR (node | epoch | counter | seven zeros): the nine bytes 1..10 of the header as they stand.
//! Uplink plaintext: 0 1 kind 1 and, from bit 4 on, the ADC channel of all its samples | 1 4 first sample's grid index |
//! 5 1 count | 6 2*count samples, 10-bit codes.
//! The same offsets stand in the server's frame parser; a test compares them and opens there what is sealed here.
#ifndef NODE_FRAME_H
#define NODE_FRAME_H

#include <stdint.h>

#include "limits.h"
#include "provision.h"
#include "suite.h"

enum {
    FRAME_VERSION = 1,
    FRAME_VERSION_SUITE_AT = 0,
    FRAME_NODE_AT = 1,
    FRAME_EPOCH_AT = 5,
    FRAME_COUNTER_AT = 6,
    FRAME_TEXT_AT = 10,
    FRAME_HEADER_BYTES = 10,
    FRAME_BYTES_MAX = 256,

    SAMPLES_KIND = 1,
    SAMPLES_KIND_AT = 0,
    SAMPLES_CHANNEL_SHIFT = 4,
    SAMPLES_FIRST_AT = 1,
    SAMPLES_COUNT_AT = 5,
    SAMPLES_CODES_AT = 6,

    /// Where the first sample's code lies in a frame that is being filled.
    FRAME_CODES_AT = FRAME_TEXT_AT + SAMPLES_CODES_AT,
    /// With the longest tag, so that the suite decides nothing else.
    FRAME_SAMPLES_MAX = (SENT_BYTES_MAX - FRAME_CODES_AT - SUITE_TAG_BYTES_MAX) / 2,

    FRAME_NONCE_BYTES = SUITE_NONCE_BYTES_MAX,
};

/// Bit 31 of the counter: set in frames from the server to the node.
#define FRAME_DIRECTION_DOWN 0x80000000UL

/// Writes the nonce of the frame whose header begins at `header`.
void frame_nonce(uint8_t nonce[FRAME_NONCE_BYTES], const uint8_t *iv, const uint8_t *header);

/// Writes the header of the frame from this node that has this count.
void frame_head(uint8_t *frame, const struct provision *provision, uint32_t count);

/// What the samples of a superframe are.
struct setting {
    uint8_t channel; // that all of them are converted from
    uint8_t stride;  // every so manieth of the grid, from its first; divides how many that are
};

/// The samples of a frame.
struct samples {
    uint32_t first; // grid index
    uint8_t count;
    uint8_t channel; // that all of them were converted from
};

/// The samples of a superframe.
struct samples frame_samples(const struct provision *provision, uint32_t superframe, const struct setting *setting);

/// Writes what stands before the codes. Returns the bytes of the frame with its tag.
uint16_t frame_describe(uint8_t *frame, const struct provision *provision, const struct samples *samples);

/// Seals, in place, a frame whose codes already lie from FRAME_CODES_AT on.
/// `count` MUST come from `counter_take` and MUST be used for this one call; `samples->count` <= FRAME_SAMPLES_MAX.
/// Returns the frame's length in bytes, 1 to FRAME_BYTES_MAX.
uint16_t frame_seal(uint8_t *frame, const struct provision *provision, uint32_t count, const struct samples *samples);

#endif
