/* CRC-32 of 2 KiB, bit by bit for a part and by a table that is made first. Short loops of shifts, bytes from memory. */
#include "work.h"

#define BYTES 2048

static uint8_t text[BYTES];
static uint32_t table[256];

static uint32_t bits(uint32_t sum, const uint8_t *at, int count)
{
    while (count-- > 0) {
        sum ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (0xedb88320 & -(sum & 1));
    }
    return sum;
}

static void make(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint8_t one = byte;
        table[byte] = bits(0, &one, 1);
    }
}

uint32_t work(void)
{
    uint32_t seed = 3;
    for (int at = 0; at < BYTES; at++)
        text[at] = number(&seed);
    make();
    uint32_t sum = 0xffffffff;
    for (int at = 0; at < BYTES; at++)
        sum = sum >> 8 ^ table[(sum ^ text[at]) & 0xff];
    return ~sum ^ ~bits(0xffffffff, text, 256);
}
