//! Frames up and down: the bytes as drawn, sealed here and opened here, replays and damage refused.
#include "../frame.h"

#include <string.h>

#include "../suite.h"
#include "../downlink.h"
#include "../le.h"
#include "cell.h"
#include "test.h"

void a_sealed_frame_is_what_the_layout_says(void)
{
    for (unsigned round = 0; round < 2 * 113; round++) {
        uint8_t suite = (uint8_t)(1 + round % 2), tag = suite == 1 ? 16 : 8;
        unsigned samples = round / 2;
        struct provision provision = cell_provision(suite);
        uint8_t frame[256], codes[224], nonce[16];
        uint32_t count = test_random() >> 1, first = test_random();
        uint8_t channel = (uint8_t)test_below(8);
        for (unsigned i = 0; i < 2 * samples; i++) {
            codes[i] = frame[16 + i] = (uint8_t)test_random();
        }
        uint16_t bytes = frame_seal(frame, &provision, count, &(struct samples){first, (uint8_t)samples, channel});
        CHECK(bytes == 10u + 6 + 2 * samples + tag, "%u bytes for %u samples", bytes, samples);
        CHECK(frame[0] == (0x10 | suite) && le32_get(frame + 1) == CELL_NODE && frame[5] == CELL_EPOCH &&
                  le32_get(frame + 6) == count,
              "a header field is not where the layout says");
        le32_put(nonce, CELL_NODE);
        nonce[4] = CELL_EPOCH;
        le32_put(nonce + 5, count);
        memset(nonce + 9, 0, 7);
        for (unsigned i = 0; i < 16; i++) {
            nonce[i] ^= provision.iv[i];
        }
        uint8_t *text = frame + 10;
        bool opened = (suite == 1 ? suite_ascon_open : aes128_ccm_c8_open)(text, bytes - 10u - tag, frame, 10, nonce,
                                                                          provision.key, frame + bytes - tag);
        CHECK(opened, "the server cannot open %u samples", samples);
        CHECK(text[0] == (16 * channel | 1) && le32_get(text + 1) == first && text[5] == samples &&
                  memcmp(text + 6, codes, 2 * samples) == 0,
              "the plaintext is not as drawn");
    }
}

static uint8_t acknowledge(uint8_t *bytes, uint8_t suite, uint32_t counter, uint32_t acknowledged)
{
    uint8_t text[5] = {0x81};
    le32_put(text + 1, acknowledged);
    return cell_downlink_seal(bytes, suite, counter, text, 5);
}

static void an_acknowledgement_is_opened_once_of(uint8_t suite)
{
    struct provision provision = cell_provision(suite);
    struct downlink downlink = {0};
    struct epoch_change change = {0};
    uint8_t bytes[96], again[96];

    uint8_t count = acknowledge(bytes, suite, 0x80000000u | 5, 77);
    memcpy(again, bytes, count);
    CHECK(downlink_open(&downlink, bytes, count, &provision, &change) && downlink.acknowledged == 77, "refused");
    CHECK(!downlink_open(&downlink, again, count, &provision, &change), "a replay was opened");
    count = acknowledge(bytes, suite, 0x80000000u | 4, 99);
    CHECK(!downlink_open(&downlink, bytes, count, &provision, &change) && downlink.acknowledged == 77, "an older frame");
    count = acknowledge(bytes, suite, 0x80000000u | 6, 70);
    CHECK(downlink_open(&downlink, bytes, count, &provision, &change) && downlink.acknowledged == 77, "it only rises");
    count = acknowledge(bytes, suite, 0xFFFFFFFFu, 80);
    CHECK(downlink_open(&downlink, bytes, count, &provision, &change) && downlink.acknowledged == 80, "the last count");
    // Authentic, but of a kind that is reserved: no effect beyond the replay mark.
    struct downlink before = {0}, other = {0};
    count = cell_downlink_seal(bytes, suite, 0x80000000u, (const uint8_t *)"\x84rest", 5);
    CHECK(downlink_open(&other, bytes, count, &provision, &change) && other.fresh == 1 &&
              other.acknowledged == before.acknowledged,
          "a reserved kind had an effect");
}

void an_acknowledgement_is_opened_once(void)
{
    an_acknowledgement_is_opened_once_of(1);
    an_acknowledgement_is_opened_once_of(2);
}

/// A frame that sets channel and stride from sample `first` on.
static uint8_t set_both(uint8_t *bytes, uint8_t suite, uint32_t counter, uint32_t first, struct setting setting)
{
    uint8_t text[11] = {0x82, 77};
    le32_put(text + 5, first);
    text[9] = setting.channel;
    text[10] = setting.stride;
    return cell_downlink_seal(bytes, suite, 0x80000000u | counter, text, 11);
}

/// A frame that sets the channel from sample `first` on.
static uint8_t set(uint8_t *bytes, uint8_t suite, uint32_t counter, uint32_t first, uint8_t channel)
{
    return set_both(bytes, suite, counter, first, (struct setting){channel, 1});
}

/// The channel of the superframe that begins with sample `first`, when that of the one before is `channel`.
static uint8_t downlink_channel(struct downlink *downlink, uint32_t first, uint8_t channel)
{
    struct setting setting = {channel, 1};
    downlink_set(downlink, first, &setting);
    CHECK(setting.stride == 1, "stride %u", setting.stride);
    return setting.channel;
}

void a_setting_holds_from_its_sample_on_or_not_at_all(void)
{
    for (uint8_t suite = 1; suite <= 2; suite++) {
        struct provision provision = cell_provision(suite);
        struct downlink downlink = {0};
        struct epoch_change change = {0};
        uint8_t bytes[96], again[96], channel = 2;
        uint8_t count = set(bytes, suite, 0, 900, 5);
        memcpy(again, bytes, count);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        CHECK(downlink.acknowledged == 77, "it acknowledges as well");
        for (uint32_t first = 720; first < 1800; first += 90) {
            channel = downlink_channel(&downlink, first, channel);
            CHECK(channel == (first < 900 ? 2 : 5), "channel %u from sample %u on", channel, first);
        }
        // What was under way for too long, and what sets no first sample of a superframe.
        count = set(bytes, suite, 1, 1710, 3);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        CHECK(downlink_channel(&downlink, 1800, 5) == 5 && downlink_channel(&downlink, 1710, 5) == 5, "too late");
        count = set(bytes, suite, 2, 1900, 3);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        CHECK(downlink_channel(&downlink, 1890, 5) == 5 && downlink_channel(&downlink, 1980, 5) == 5, "in a superframe");
        // The latest one holds.
        count = set(bytes, suite, 3, 2070, 1);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        count = set(bytes, suite, 4, 2160, 4);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        CHECK(downlink_channel(&downlink, 2070, 5) == 5 && downlink_channel(&downlink, 2160, 5) == 4, "the one before");
        // There is no such input.
        count = set(bytes, suite, 5, 2250, 8);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change) && !downlink.is_set, "channel 8");
        // A node that was reset knows of no replay, but its superframes are later ones.
        struct downlink reset = {0};
        memcpy(bytes, again, sizeof bytes);
        CHECK(downlink_open(&reset, bytes, suite == 1 ? 37 : 29, &provision, &change), "it is authentic");
        CHECK(downlink_channel(&reset, 2340, 2) == 2 && !reset.is_set, "a replay set the channel");
        // An epoch begins meanwhile.
        count = set(bytes, suite, 6, 2430, 6);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        downlink_turn(&downlink);
        CHECK(downlink_channel(&downlink, 2430, 4) == 6, "forgotten over an epoch");
    }
}

void a_stride_divides_what_was_provisioned_and_shortens_the_frame(void)
{
    for (unsigned stride = 0; stride < 256; stride++) {
        struct provision provision = cell_provision(1);
        struct downlink downlink = {0};
        struct epoch_change change = {0};
        struct setting setting = {2, 1};
        uint8_t bytes[96], frame[256];
        uint8_t count = set_both(bytes, 1, 0, 900, (struct setting){5, (uint8_t)stride});
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
        downlink_set(&downlink, 900, &setting);
        bool divides = stride != 0 && 90 % stride == 0;
        CHECK(setting.stride == (divides ? stride : 1) && setting.channel == (divides ? 5 : 2), "stride %u", stride);
        struct samples samples = frame_samples(&provision, 10, &setting);
        CHECK(samples.first == 900 && samples.count == 90 / setting.stride && samples.channel == setting.channel,
              "%u samples of stride %u", samples.count, stride);
        CHECK(frame_describe(frame, &provision, &samples) == 10 + 6 + 2 * samples.count + 16, "of another length");
    }
}

void a_setting_is_taken_from_an_authentic_frame_only(void)
{
    for (uint8_t suite = 1; suite <= 2; suite++) {
        struct provision provision = cell_provision(suite);
        uint8_t good[96], bytes[96];
        uint8_t count = set(good, suite, 5, 900, 5);
        for (unsigned bit = 0; bit < 8u * count; bit++) {
            struct downlink downlink = {0};
            struct epoch_change change = {0};
            memcpy(bytes, good, sizeof bytes);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK(!downlink_open(&downlink, bytes, count, &provision, &change), "bit %u", bit);
            CHECK(!downlink.is_set && downlink.acknowledged == 0, "forged");
        }
        // Of other lengths, authentic.
        for (uint8_t longer = 0; longer < 20; longer++) {
            struct downlink downlink = {0};
            struct epoch_change change = {0};
            uint8_t text[20] = {0x82, 77, 0, 0, 0, 1, 0, 0, 0, 0, 1};
            count = cell_downlink_seal(bytes, suite, 0x80000000u, text, longer);
            bool opened = downlink_open(&downlink, bytes, count, &provision, &change);
            CHECK(opened == (longer > 0) && downlink.is_set == (longer == 11), "%u bytes", longer);
        }
    }
}

static void every_flipped_bit_of_a_downlink_is_refused_of(uint8_t suite)
{
    struct provision provision = cell_provision(suite);
    uint8_t good[96], bytes[96];
    uint8_t count = acknowledge(good, suite, 0x80000000u | 5, 77);
    for (unsigned bit = 0; bit < 8u * count; bit++) {
        struct downlink downlink = {0};
        struct epoch_change change = {0};
        memcpy(bytes, good, sizeof bytes);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(!downlink_open(&downlink, bytes, count, &provision, &change), "bit %u of byte %u", bit % 8, bit / 8);
        CHECK(downlink.fresh == 0 && downlink.acknowledged == 0, "a refused frame left a trace");
        CHECK(bytes[10] != 0x81, "plaintext of a frame that failed its tag was released");
    }
}

void every_flipped_bit_of_a_downlink_is_refused(void)
{
    every_flipped_bit_of_a_downlink_is_refused_of(1);
    every_flipped_bit_of_a_downlink_is_refused_of(2);
}

static void an_uplink_frame_is_no_downlink_of(uint8_t suite)
{
    struct provision provision = cell_provision(suite);
    struct downlink downlink = {0};
    struct epoch_change change = {0};
    uint8_t bytes[96];
    uint8_t count = acknowledge(bytes, suite, 5, 77); // sealed rightly, but without the direction bit
    CHECK(!downlink_open(&downlink, bytes, count, &provision, &change), "reflected");
}

void an_uplink_frame_is_no_downlink(void)
{
    an_uplink_frame_is_no_downlink_of(1);
    an_uplink_frame_is_no_downlink_of(2);
}

static void any_bytes_as_a_downlink_are_refused_without_harm_of(uint8_t suite)
{
    struct provision provision = cell_provision(suite);
    struct downlink downlink = {0};
    struct epoch_change change = {0};
    for (unsigned round = 0; round < 200000; round++) {
        unsigned count = test_below(97);
        uint8_t bytes[97];
        uint8_t *end = bytes + 97 - count;
        for (unsigned i = 0; i < count; i++) {
            end[i] = (uint8_t)test_random();
        }
        if (count >= 10 && test_below(2)) {
            end[0] = 0x10 | suite;
            le32_put(end + 1, CELL_NODE);
            end[5] = CELL_EPOCH;
            end[9] |= 0x80;
        }
        CHECK(!downlink_open(&downlink, end, (uint8_t)count, &provision, &change), "random bytes were believed");
    }
}

void any_bytes_as_a_downlink_are_refused_without_harm(void)
{
    any_bytes_as_a_downlink_are_refused_without_harm_of(1);
    any_bytes_as_a_downlink_are_refused_without_harm_of(2);
}
