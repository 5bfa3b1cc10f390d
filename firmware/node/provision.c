//! Checks the provisioned EEPROM image; see provision.h for its drawing.
#include "provision.h"

#include <string.h>

#include "crc16.h"
#include "frame.h"
#include "le.h"
#include "limits.h"

static bool in_range(const struct provision *provision)
{
    return provision->counter_block != 0 && provision->samples_per_superframe != 0 &&
           provision->samples_per_superframe <= FRAME_SAMPLES_MAX && provision->adc_channel <= PROVISION_ADC_CHANNEL_MAX &&
           provision->spi_divider_log2 >= 1 && provision->spi_divider_log2 <= 7 &&
           provision->clock_hz >= CLOCK_HZ_MIN && provision->clock_hz <= CLOCK_HZ_MAX;
}

bool provision_parse(struct provision *provision, const uint8_t *bytes)
{
    if (bytes[PROVISION_MAGIC_AT] != 'S' || bytes[PROVISION_MAGIC_AT + 1] != 'V' ||
        bytes[PROVISION_LAYOUT_AT] != PROVISION_LAYOUT || suite_tag_bytes(bytes[PROVISION_SUITE_AT]) == 0 ||
        crc16(bytes, PROVISION_CRC_AT) != le16_get(bytes + PROVISION_CRC_AT)) {
        return false;
    }
    provision->suite = bytes[PROVISION_SUITE_AT];
    provision->node = le32_get(bytes + PROVISION_NODE_AT);
    provision->cell = le16_get(bytes + PROVISION_CELL_AT);
    provision->epoch = bytes[PROVISION_EPOCH_AT];
    provision->samples_per_superframe = bytes[PROVISION_SAMPLES_AT];
    provision->counter_block = le16_get(bytes + PROVISION_COUNTER_BLOCK_AT);
    provision->adc_channel = bytes[PROVISION_ADC_CHANNEL_AT];
    provision->spi_divider_log2 = bytes[PROVISION_SPI_DIVIDER_AT];
    provision->clock_hz = le32_get(bytes + PROVISION_CLOCK_HZ_AT);
    if (!in_range(provision)) {
        return false;
    }
    memcpy(provision->cell_key, bytes + PROVISION_CELL_KEY_AT, sizeof provision->cell_key);
    return true;
}
