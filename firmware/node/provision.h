//! The layout of the node's EEPROM: who the node is, its cell's key, and where its counter and its own keys live.
//!
//! Owns the bytes 0x00..0x80 and the checks of those before 0x28, which are written once, per node, when the deployment
//! is built; the flash image is the same for every node of a chip. What the two counter slots mean is counter.h's, what
//! the two places for traffic keys mean is epoch.h's.
//!
//!     0x00 2 "SV"          0x08 2 cell                      0x0E 1 ADC channel        0x24  2 CRC of 0x00..0x24
//!     0x02 1 layout, 2     0x0A 1 epoch of counter slots    0x0F 1 log2 SPI divider   0x28  8 +  8 counter slots A, B
//!     0x03 1 suite         0x0B 1 samples per superframe    0x10 16 cell key          0x38 36 + 36 traffic keys A, B
//!     0x04 4 node          0x0C 2 counter block             0x20 4 clock_hz           0x80  end
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
    PROVISION_CELL_KEY_AT = 0x10,
    PROVISION_CLOCK_HZ_AT = 0x20,
    PROVISION_CRC_AT = 0x24,
    PROVISION_BYTES = 0x26,
    PROVISION_COUNTER_SLOTS_AT = 0x28,
    PROVISION_EPOCHS_AT = 0x38,

    PROVISION_ADC_CHANNEL_MAX = 7,
};

#define PROVISION_LAYOUT 2

/// What a node knows about itself.
struct provision {
    uint32_t node;
    uint32_t clock_hz;
    uint16_t cell;
    uint16_t counter_block;
    uint8_t suite;
    uint8_t epoch; // the counter's, until epoch_boot; then that of `key`
    uint8_t samples_per_superframe;
    uint8_t adc_channel; // until another one is set (downlink.h)
    uint8_t spi_divider_log2;
    uint8_t key[16]; // and `iv`: from epoch_boot on
    uint8_t iv[16];
    uint8_t cell_key[16];
};

/// Reads `bytes[0..PROVISION_BYTES]` into `provision`; its traffic key is left for epoch_boot.
/// False, with nothing of the cell's key left in `provision`, when the bytes are not a whole image that this firmware can
/// serve: magic, layout, CRC, a suite that is not built in, or a value outside its range.
bool provision_parse(struct provision *provision, const uint8_t *bytes);

#endif
