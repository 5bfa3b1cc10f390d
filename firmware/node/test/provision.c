//! The provisioned image: every damaged or impossible one is refused. cell.c builds good ones.
#include "../provision.h"

#include <string.h>

#include "../crc16.h"
#include "../frame.h"
#include "../le.h"
#include "../limits.h"
#include "cell.h"
#include "test.h"

void crc_of_123456789_is_29b1(void)
{
    uint16_t crc = crc16((const uint8_t *)"123456789", 9);
    CHECK(crc == 0x29B1, "%04x", crc);
}

static bool parses(const uint8_t *image)
{
    struct provision provision;
    return provision_parse(&provision, image);
}

void every_flipped_bit_of_a_provision_is_refused(void)
{
    uint8_t image[PROVISION_BYTES];
    struct provision provision;

    cell_provision_image(image, 2);
    CHECK(provision_parse(&provision, image), "the good image is refused");
    CHECK(provision.suite == 2 && provision.node == CELL_NODE && provision.cell == CELL_ID && provision.epoch == CELL_EPOCH &&
              provision.samples_per_superframe == 90 && provision.counter_block == 16384 &&
              provision.adc_channel == 2 && provision.spi_divider_log2 == 4 && provision.clock_hz == 8000000 &&
              memcmp(provision.cell_key, image + 0x10, 16) == 0,
          "a field is not where the layout says");
    for (unsigned bit = 0; bit < 8 * PROVISION_BYTES; bit++) {
        image[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!parses(image), "bit %u of byte 0x%02x", bit % 8, bit / 8);
        image[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(parses(image), "the good image is refused");
}

/// True when the image with this value is refused though its CRC is right.
static bool refuses(unsigned at, unsigned bytes, uint32_t value)
{
    uint8_t image[PROVISION_BYTES];
    cell_provision_image(image, 1);
    for (unsigned i = 0; i < bytes; i++) {
        image[at + i] = (uint8_t)(value >> 8 * i);
    }
    le16_put(image + PROVISION_CRC_AT, crc16(image, PROVISION_CRC_AT));
    return !parses(image);
}

void a_provision_out_of_range_is_refused(void)
{
    static const struct {
        unsigned at, bytes;
        uint32_t bad, good;
    } cases[] = {
        {PROVISION_MAGIC_AT, 1, 's', 'S'},
        {PROVISION_LAYOUT_AT, 1, 1, 2},
        {PROVISION_SUITE_AT, 1, 0, 1},
        {PROVISION_SUITE_AT, 1, 3, 2},
        {PROVISION_SUITE_AT, 1, 0x11, 1},
        {PROVISION_SAMPLES_AT, 1, 0, 1},
        {PROVISION_SAMPLES_AT, 1, 112, 111},
        {PROVISION_COUNTER_BLOCK_AT, 2, 0, 1},
        {PROVISION_ADC_CHANNEL_AT, 1, 8, 7},
        {PROVISION_SPI_DIVIDER_AT, 1, 0, 1},
        {PROVISION_SPI_DIVIDER_AT, 1, 8, 7},
        {PROVISION_CLOCK_HZ_AT, 4, 999999, 1000000},
        {PROVISION_CLOCK_HZ_AT, 4, 20000001, 20000000},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(refuses(cases[i].at, cases[i].bytes, cases[i].bad), "0x%02x = %u was taken", cases[i].at, cases[i].bad);
        CHECK(!refuses(cases[i].at, cases[i].bytes, cases[i].good), "0x%02x = %u was refused", cases[i].at,
              cases[i].good);
    }
    CHECK(10 + 6 + 2 * FRAME_SAMPLES_MAX + 16 == 254 && FRAME_SAMPLES_MAX == 111, "111 samples fill a frame");
}
