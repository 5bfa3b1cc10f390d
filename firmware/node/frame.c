//! Seals the node's frames; frame.h draws them.
#include "frame.h"

#include <string.h>

#include "suite.h"
#include "le.h"

void frame_nonce(uint8_t nonce[FRAME_NONCE_BYTES], const uint8_t *iv, const uint8_t *header)
{
    memcpy(nonce, iv, FRAME_NONCE_BYTES);
    for (uint8_t i = FRAME_NODE_AT; i < FRAME_HEADER_BYTES; i++) {
        nonce[i - FRAME_NODE_AT] ^= header[i];
    }
}

uint16_t frame_seal(uint8_t *frame, const struct provision *provision, uint32_t count, uint32_t first, uint8_t samples)
{
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint8_t *text = frame + FRAME_TEXT_AT;
    uint8_t text_bytes = SAMPLES_CODES_AT + 2 * samples;

    frame[FRAME_VERSION_SUITE_AT] = FRAME_VERSION << 4 | provision->suite;
    le32_put(frame + FRAME_NODE_AT, provision->node);
    frame[FRAME_EPOCH_AT] = provision->epoch;
    le32_put(frame + FRAME_COUNTER_AT, count);
    text[SAMPLES_KIND_AT] = SAMPLES_KIND;
    le32_put(text + SAMPLES_FIRST_AT, first);
    text[SAMPLES_COUNT_AT] = samples;

    frame_nonce(nonce, provision->iv, frame);
    suite_seal(provision->suite, text, text_bytes, frame, FRAME_HEADER_BYTES, nonce, provision->key);
    return FRAME_HEADER_BYTES + (uint16_t)text_bytes + suite_tag_bytes(provision->suite);
}
