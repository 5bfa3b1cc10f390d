//! The layout of the node's EEPROM: who the node is, its keys, and where its counter lives.
//!
//! Owns the bytes 0x00..0x58 and their checks. The image is written once, per node, when the deployment is built;
//! the flash image is the same for every node of a chip. What the two counter slots mean is counter.h's.
//!
//!     0x00 2 "SV"          0x08 2 cell                      0x0E 1 ADC channel        0x30 16 cell key
//!     0x02 1 layout, 1     0x0A 1 epoch                     0x0F 1 log2 SPI divider   0x40  4 clock_hz
//!     0x03 1 suite         0x0B 1 samples per superframe    0x10 16 key               0x44  2 CRC of 0x00..0x44
//!     0x04 4 node          0x0C 2 counter block             0x20 16 iv                0x48  8 + 8 counter slots A, B
#ifndef NODE_PROVISION_H
#define NODE_PROVISION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PROVISION_MAGIC_AT = 0x00,
    PROVISION_LAYOUT_AT = 0x02,
    PROVISION_SUITE_AT = 0x03,
    PROVISION_NODE_AT = 0x04,
    PROVISION_CELL_AT = 0x08,
    PROVISION_EPOCH_AT = 0x0A,
    PROVISION_SAMPLES_AT = 0x0B,
    PROVISION_COUNTER_BLOCK_AT = 0x0C,
    PROVISION_ADC_CHANNEL_AT = 0x0E,
    PROVISION_SPI_DIVIDER_AT = 0x0F,
    PROVISION_KEY_AT = 0x10,
    PROVISION_IV_AT = 0x20,
    PROVISION_CELL_KEY_AT = 0x30,
    PROVISION_CLOCK_HZ_AT = 0x40,
    PROVISION_CRC_AT = 0x44,
    PROVISION_BYTES = 0x46,
    PROVISION_COUNTER_SLOTS_AT = 0x48,
};

#define PROVISION_LAYOUT 1

/// What a node knows about itself.
struct provision {
    uint32_t node;
    uint32_t clock_hz;
    uint16_t cell;
    uint16_t counter_block;
    uint8_t suite;
    uint8_t epoch;
    uint8_t samples_per_superframe;
    uint8_t adc_channel;
    uint8_t spi_divider_log2;
    uint8_t key[16];
    uint8_t iv[16];
    uint8_t cell_key[16];
};

/// Reads `bytes[0..PROVISION_BYTES]` into `provision`.
/// False, with nothing of the keys left in `provision`, when the bytes are not a whole image that this firmware can
/// serve: magic, layout, CRC, a suite that is not built in, or a value outside its range.
bool provision_parse(struct provision *provision, const uint8_t *bytes);

#endif
