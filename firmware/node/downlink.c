//! Opens downlink frames; downlink.h has the layout.
#include "downlink.h"

#include <string.h>

#ifdef __AVR__
#include <util/atomic.h>
#else
#define ATOMIC_BLOCK(type)
#endif

#include "le.h"
#include "suite.h"

static uint32_t number_of(const uint8_t *bytes)
{
    return le32_get(bytes + FRAME_COUNTER_AT) & ~FRAME_DIRECTION_DOWN;
}

bool downlink_is_fresh(const struct downlink *downlink, const uint8_t *bytes, uint8_t count,
                       const struct provision *provision)
{
    return count > FRAME_HEADER_BYTES + suite_tag_bytes(provision->suite) &&
           bytes[FRAME_VERSION_SUITE_AT] == (FRAME_VERSION << 4 | provision->suite) &&
           le32_get(bytes + FRAME_NODE_AT) == provision->node && bytes[FRAME_EPOCH_AT] == provision->epoch &&
           (le32_get(bytes + FRAME_COUNTER_AT) & FRAME_DIRECTION_DOWN) != 0 && number_of(bytes) >= downlink->fresh;
}

void downlink_take(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change)
{
    uint8_t *text = bytes + FRAME_TEXT_AT;
    uint8_t text_bytes = count - FRAME_HEADER_BYTES - suite_tag_bytes(provision->suite);

    uint8_t kind = text[ACKNOWLEDGE_KIND_AT];
    uint32_t fresh = number_of(bytes) + 1;

    // Whoever is more urgent may look at a frame meanwhile.
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        downlink->fresh = fresh;
    }
    if (!(kind == ACKNOWLEDGE_KIND && text_bytes == ACKNOWLEDGE_BYTES) &&
        !(kind == SETTING_KIND && text_bytes == SETTING_BYTES) && !(kind == CHANGE_KIND && text_bytes == CHANGE_BYTES)) {
        return;
    }
    uint32_t acknowledged = le32_get(text + ACKNOWLEDGE_COUNTER_AT);
    if (acknowledged > downlink->acknowledged) {
        downlink->acknowledged = acknowledged;
    }
    if (kind == SETTING_KIND && text[SETTING_CHANNEL_AT] <= PROVISION_ADC_CHANNEL_MAX &&
        text[SETTING_STRIDE_AT] != 0 && provision->samples_per_superframe % text[SETTING_STRIDE_AT] == 0) {
        uint32_t first = le32_get(text + SETTING_FIRST_AT);
        uint8_t channel = text[SETTING_CHANNEL_AT], stride = text[SETTING_STRIDE_AT];
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            downlink->first = first;
            downlink->channel = channel;
            downlink->stride = stride;
            downlink->is_set = true;
        }
    } else if (kind == CHANGE_KIND) {
        epoch_offer(change, provision, text + CHANGE_EPOCH_AT);
        memset(text, 0, CHANGE_BYTES);
    }
}

void downlink_set(struct downlink *downlink, uint32_t first, struct setting *setting)
{
    if (downlink->is_set && first >= downlink->first) {
        downlink->is_set = false;
        if (first == downlink->first) {
            setting->channel = downlink->channel;
            setting->stride = downlink->stride;
        }
    }
}

void downlink_turn(struct downlink *downlink)
{
    downlink->fresh = 0;
}

bool downlink_open(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision,
                   struct epoch_change *change)
{
    uint8_t nonce[FRAME_NONCE_BYTES];

    if (!downlink_is_fresh(downlink, bytes, count, provision)) {
        return false;
    }
    frame_nonce(nonce, provision->iv, bytes);
    if (!suite_open(provision->suite, bytes + FRAME_TEXT_AT,
                    count - FRAME_HEADER_BYTES - suite_tag_bytes(provision->suite), bytes, FRAME_HEADER_BYTES, nonce,
                    provision->key)) {
        return false;
    }
    downlink_take(downlink, bytes, count, provision, change);
    return true;
}
