/* Rounds of a cipher by four tables of 1 KiB, as AES has them: loads whose addresses nobody foresees, tables that fill a
 * cache, and variables that are in their way. */
#include "work.h"

#define ROUNDS 10
#define BLOCKS 24

static uint32_t tables[4][256], keys[4 * ROUNDS + 4];

static void make(void)
{
    uint32_t seed = 7;
    for (int at = 0; at < 256; at++) {
        uint32_t word = number(&seed);
        for (int table = 0; table < 4; table++) {
            tables[table][at] = word;
            word = word << 8 | word >> 24;
        }
    }
    for (int at = 0; at < 4 * ROUNDS + 4; at++)
        keys[at] = number(&seed);
}

static void block(uint32_t *state)
{
    uint32_t a = state[0] ^ keys[0], b = state[1] ^ keys[1], c = state[2] ^ keys[2], d = state[3] ^ keys[3];
    for (const uint32_t *key = keys + 4; key < keys + 4 * ROUNDS + 4; key += 4) {
        uint32_t e = tables[0][a >> 24] ^ tables[1][b >> 16 & 255] ^ tables[2][c >> 8 & 255] ^ tables[3][d & 255];
        uint32_t f = tables[0][b >> 24] ^ tables[1][c >> 16 & 255] ^ tables[2][d >> 8 & 255] ^ tables[3][a & 255];
        uint32_t g = tables[0][c >> 24] ^ tables[1][d >> 16 & 255] ^ tables[2][a >> 8 & 255] ^ tables[3][b & 255];
        uint32_t h = tables[0][d >> 24] ^ tables[1][a >> 16 & 255] ^ tables[2][b >> 8 & 255] ^ tables[3][c & 255];
        a = e ^ key[0];
        b = f ^ key[1];
        c = g ^ key[2];
        d = h ^ key[3];
    }
    state[0] = a;
    state[1] = b;
    state[2] = c;
    state[3] = d;
}

uint32_t work(void)
{
    uint32_t state[4] = {1, 2, 3, 4};
    make();
    for (int count = 0; count < BLOCKS; count++)
        block(state);
    return state[0] ^ state[1] ^ state[2] ^ state[3];
}
