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

struct samples frame_samples(const struct provision *provision, uint32_t superframe, const struct setting *setting)
{
    uint8_t per_superframe = provision->samples_per_superframe;
    // Mostly it is each: a division takes a while.
    uint8_t count = setting->stride == 1 ? per_superframe : per_superframe / setting->stride;

    return (struct samples){superframe * per_superframe, count, setting->channel};
}

uint16_t frame_describe(uint8_t *frame, const struct provision *provision, const struct samples *samples)
{
    uint8_t *text = frame + FRAME_TEXT_AT;

    text[SAMPLES_KIND_AT] = (uint8_t)(SAMPLES_KIND | samples->channel << SAMPLES_CHANNEL_SHIFT);
    le32_put(text + SAMPLES_FIRST_AT, samples->first);
    text[SAMPLES_COUNT_AT] = samples->count;
    return FRAME_CODES_AT + 2 * (uint16_t)samples->count + suite_tag_bytes(provision->suite);
}

uint16_t frame_seal(uint8_t *frame, const struct provision *provision, uint32_t count, const struct samples *samples)
{
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint16_t bytes = frame_describe(frame, provision, samples);

    frame_head(frame, provision, count);
    frame_nonce(nonce, provision->iv, frame);
    suite_seal(provision->suite, frame + FRAME_TEXT_AT, SAMPLES_CODES_AT + 2 * samples->count, frame, FRAME_HEADER_BYTES, nonce,
               provision->key);
    return bytes;
}
