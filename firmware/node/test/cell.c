//! Makes provisioned images, beacons and downlinks for tests; see cell.h.
#include "cell.h"

#include <string.h>

#include "../suite.h"
#include "../crc16.h"
#include "../le.h"
#include "test.h"

void cell_provision_image(uint8_t *image, uint8_t suite)
{
    memcpy(image, "SV\x02", 3);
    image[0x03] = suite;
    le32_put(image + 0x04, CELL_NODE);
    le16_put(image + 0x08, CELL_ID);
    image[0x0A] = CELL_EPOCH;
    image[0x0B] = 90;
    le16_put(image + 0x0C, 16384);
    image[0x0E] = 2;
    image[0x0F] = 4;
    for (unsigned i = 0; i < 16; i++) {
        image[0x10 + i] = (uint8_t)(i * 37 + 11);
    }
    le32_put(image + 0x20, 8000000);
    le16_put(image + 0x24, crc16(image, 0x24));
}

void cell_epoch_place(uint8_t *place, uint8_t epoch)
{
    place[0] = epoch;
    for (unsigned i = 1; i < 33; i++) {
        place[i] = (uint8_t)(i * 41 + 7 + epoch * 113);
    }
    le16_put(place + 33, crc16(place, 33));
    place[35] = 0xA5;
}

struct provision cell_provision(uint8_t suite)
{
    uint8_t image[PROVISION_BYTES];
    struct provision provision;
    cell_provision_image(image, suite);
    CHECK(provision_parse(&provision, image), "the good image is refused");
    struct epoch_change change;
    uint8_t places[EPOCH_PLACES_BYTES] = {0};
    cell_epoch_place(places, CELL_EPOCH);
    CHECK(epoch_boot(&change, &provision, places), "the good key is refused");
    return provision;
}

uint8_t cell_beacon_seal(uint8_t *bytes, const struct cell_beacon *says)
{
    uint8_t nonce[16] = {0};
    uint8_t covered = (uint8_t)(16 + 4 * says->slots);

    bytes[0] = 0x1B;
    le16_put(bytes + 1, CELL_ID);
    le32_put(bytes + 3, says->superframe);
    le32_put(bytes + 7, says->superframe_us);
    le16_put(bytes + 11, says->slot_us);
    le16_put(bytes + 13, says->guard_us);
    bytes[15] = says->slots + says->claimed_more;
    for (uint8_t k = 1; k <= says->slots; k++) {
        le32_put(bytes + 12 + 4 * k, k == says->own ? (uint32_t)CELL_NODE : 500u + k);
    }
    le16_put(nonce, CELL_ID);
    le32_put(nonce + 2, says->superframe);
    struct provision provision = cell_provision(1);
    suite_ascon_seal(NULL, 0, bytes, covered, nonce, provision.cell_key, bytes + covered);
    return covered + 16;
}

uint8_t cell_downlink_seal(uint8_t *bytes, uint8_t suite, uint32_t counter, const uint8_t *text, uint8_t text_bytes)
{
    struct provision provision = cell_provision(suite);
    uint8_t nonce[16] = {0};

    bytes[0] = 0x10 | suite;
    le32_put(bytes + 1, CELL_NODE);
    bytes[5] = CELL_EPOCH;
    le32_put(bytes + 6, counter);
    memcpy(bytes + 10, text, text_bytes);
    le32_put(nonce, CELL_NODE);
    nonce[4] = CELL_EPOCH;
    le32_put(nonce + 5, counter);
    for (unsigned i = 0; i < 16; i++) {
        nonce[i] ^= provision.iv[i];
    }
    if (suite == 2) {
        aes128_ccm_c8_seal(bytes + 10, text_bytes, bytes, 10, nonce, provision.key, bytes + 10 + text_bytes);
        return (uint8_t)(18 + text_bytes);
    }
    suite_ascon_seal(bytes + 10, text_bytes, bytes, 10, nonce, provision.key, bytes + 10 + text_bytes);
    return (uint8_t)(26 + text_bytes);
}
