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

void frame_head(uint8_t *frame, const struct provision *provision, uint32_t count)
{
    frame[FRAME_VERSION_SUITE_AT] = FRAME_VERSION << 4 | provision->suite;
    le32_put(frame + FRAME_NODE_AT, provision->node);
    frame[FRAME_EPOCH_AT] = provision->epoch;
    le32_put(frame + FRAME_COUNTER_AT, count);
}

uint16_t frame_describe(uint8_t *frame, const struct provision *provision, uint32_t first, uint8_t samples)
{
    uint8_t *text = frame + FRAME_TEXT_AT;

    text[SAMPLES_KIND_AT] = SAMPLES_KIND;
    le32_put(text + SAMPLES_FIRST_AT, first);
    text[SAMPLES_COUNT_AT] = samples;
    return FRAME_CODES_AT + 2 * (uint16_t)samples + suite_tag_bytes(provision->suite);
}

uint16_t frame_seal(uint8_t *frame, const struct provision *provision, uint32_t count, uint32_t first, uint8_t samples)
{
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint16_t bytes = frame_describe(frame, provision, first, samples);

    frame_head(frame, provision, count);
    frame_nonce(nonce, provision->iv, frame);
    suite_seal(provision->suite, frame + FRAME_TEXT_AT, SAMPLES_CODES_AT + 2 * samples, frame, FRAME_HEADER_BYTES, nonce,
               provision->key);
    return bytes;
}
