//! Beacons: what is believed, and that everything else is refused without harm.
#include "../beacon.h"

#include <string.h>

#include "../limits.h"
#include "cell.h"
#include "test.h"

static const struct cell_beacon good = {
    .superframe = 70000, .superframe_us = 250000, .slot_us = 30000, .guard_us = 200, .slots = 4, .own = 3};

static bool opens(struct beacon *beacon, const uint8_t *bytes, unsigned count)
{
    static struct provision provision;
    provision = cell_provision(1);
    return beacon_open(beacon, bytes, (uint8_t)count, CELL_ID, CELL_NODE, provision.cell_key);
}

void a_beacon_of_the_gateway_is_heard(void)
{
    for (uint8_t slots = 0; slots <= 16; slots++) {
        for (uint8_t own = 0; own <= slots; own++) {
            struct cell_beacon says = {test_random(), 1000000 + test_below(9000000), (uint16_t)(1000 + test_below(50000)),
                                       (uint16_t)test_below(1000), slots, own, 0};
            uint8_t bytes[96];
            struct beacon beacon;
            uint8_t count = cell_beacon_seal(bytes, &says);
            CHECK(count == 32 + 4 * slots, "%u bytes for %u slots", count, slots);
            CHECK(opens(&beacon, bytes, count), "a beacon of %u slots was refused", slots);
            CHECK(beacon.superframe == says.superframe && beacon.superframe_us == says.superframe_us &&
                      beacon.slot_us == says.slot_us && beacon.guard_us == says.guard_us && beacon.slot == own &&
                      beacon.downlink_slot == slots + 1,
                  "slot %u of %u was misread", own, slots);
        }
    }
}

void every_flipped_bit_of_a_beacon_is_refused(void)
{
    uint8_t bytes[97] = {0};
    struct beacon beacon;
    uint8_t count = cell_beacon_seal(bytes, &good);
    for (unsigned bit = 0; bit < 8u * count; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!opens(&beacon, bytes, count), "bit %u of byte %u", bit % 8, bit / 8);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (unsigned length = 0; length < 97; length++) {
        CHECK(opens(&beacon, bytes, length) == (length == count), "%u bytes", length);
    }
    struct provision provision = cell_provision(1);
    CHECK(!beacon_open(&beacon, bytes, count, CELL_ID + 1, CELL_NODE, provision.cell_key), "another cell's beacon");
    // The cell's key opens no frame and the frame's key verifies no beacon.
    CHECK(!beacon_open(&beacon, bytes, count, CELL_ID, CELL_NODE, provision.key), "a beacon under the frame key");
}

void any_bytes_as_a_beacon_are_refused_without_harm(void)
{
    for (unsigned round = 0; round < 200000; round++) {
        // Exactly as long as the claim, so that the sanitizer sees a read beyond it.
        unsigned count = test_below(97);
        uint8_t bytes[97];
        uint8_t *end = bytes + 97 - count;
        struct beacon beacon;
        for (unsigned i = 0; i < count; i++) {
            end[i] = (uint8_t)test_random();
        }
        if (count >= 32 && test_below(2)) {
            end[0] = 0x1B;
            end[1] = CELL_ID & 0xFF;
            end[2] = CELL_ID >> 8;
            end[15] = (uint8_t)test_below(20);
        }
        CHECK(!opens(&beacon, end, count), "random bytes were believed");
    }
}

void an_authentic_beacon_that_cannot_be_is_refused(void)
{
    static const struct {
        const char *what;
        struct cell_beacon says;
        bool possible;
    } cases[] = {
        {"six slots fill the superframe", {1, 180000, 30000, 200, 4, 3, 0}, true},
        {"six slots exceed it by a microsecond", {1, 179999, 30000, 200, 4, 3, 0}, false},
        {"no superframe", {1, 0, 30000, 200, 4, 3, 0}, false},
        {"no slot", {1, 250000, 0, 0, 4, 3, 0}, false},
        {"the guard is the slot", {1, 250000, 30000, 30000, 4, 3, 0}, false},
        {"the longest superframe", {1, SUPERFRAME_US_MAX, 30000, 200, 4, 3, 0}, true},
        {"a map shorter than its count", {1, 250000, 30000, 200, 4, 3, 1}, false},
        {"one microsecond more", {1, SUPERFRAME_US_MAX + 1, 30000, 200, 4, 3, 0}, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[96];
        struct beacon beacon;
        uint8_t count = cell_beacon_seal(bytes, &cases[i].says);
        CHECK(opens(&beacon, bytes, count) == cases[i].possible, "%s", cases[i].what);
    }
}
