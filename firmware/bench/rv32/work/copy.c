/* Moves 12 KiB about, by bytes, halves and words, forwards and backwards: more than a cache has, and lines in conflict. */
#include "work.h"

#define BYTES 4096

static uint32_t from[BYTES / 4], to[BYTES / 4], other[BYTES / 4];

static void words(uint32_t *out, const uint32_t *in, int count)
{
    for (int at = 0; at < count; at++)
        out[at] = in[at];
}

static void bytes(uint8_t *out, const uint8_t *in, int count)
{
    while (count-- > 0)
        out[count] = in[count];
}

static void swap(uint16_t *a, uint16_t *b, int count)
{
    for (int at = 0; at < count; at++) {
        uint16_t kept = a[at];
        a[at] = b[at] + 1;
        b[at] = kept;
    }
}

uint32_t work(void)
{
    uint32_t seed = 4, sum = 0;
    for (int at = 0; at < BYTES / 4; at++)
        from[at] = number(&seed);
    words(to, from, BYTES / 4);
    bytes((uint8_t *)other, (uint8_t *)to, BYTES);
    swap((uint16_t *)from, (uint16_t *)other, BYTES / 2);
    for (int at = 0; at < BYTES / 4; at++)
        sum = (sum << 1 | sum >> 31) ^ from[at] ^ to[at] ^ other[at];
    return sum;
}
