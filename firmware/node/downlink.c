//! Opens downlink frames; downlink.h has the layout.
#include "downlink.h"

#include "suite.h"
#include "le.h"

static bool is_for(const uint8_t *bytes, uint8_t count, const struct provision *provision)
{
    return count > FRAME_HEADER_BYTES + suite_tag_bytes(provision->suite) &&
           bytes[FRAME_VERSION_SUITE_AT] == (FRAME_VERSION << 4 | provision->suite) &&
           le32_get(bytes + FRAME_NODE_AT) == provision->node && bytes[FRAME_EPOCH_AT] == provision->epoch &&
           (le32_get(bytes + FRAME_COUNTER_AT) & FRAME_DIRECTION_DOWN) != 0;
}

bool downlink_open(struct downlink *downlink, uint8_t *bytes, uint8_t count, const struct provision *provision)
{
    if (!is_for(bytes, count, provision)) {
        return false;
    }
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint8_t *text = bytes + FRAME_TEXT_AT;
    uint8_t text_bytes = count - FRAME_HEADER_BYTES - suite_tag_bytes(provision->suite);
    uint32_t number = le32_get(bytes + FRAME_COUNTER_AT) & ~FRAME_DIRECTION_DOWN;

    if (number < downlink->fresh) {
        return false;
    }
    frame_nonce(nonce, provision->iv, bytes);
    if (!suite_open(provision->suite, text, text_bytes, bytes, FRAME_HEADER_BYTES, nonce, provision->key)) {
        return false;
    }
    downlink->fresh = number + 1;
    if (text[ACKNOWLEDGE_KIND_AT] == ACKNOWLEDGE_KIND && text_bytes == ACKNOWLEDGE_BYTES) {
        uint32_t acknowledged = le32_get(text + ACKNOWLEDGE_COUNTER_AT);
        if (acknowledged > downlink->acknowledged) {
            downlink->acknowledged = acknowledged;
        }
    }
    return true;
}
