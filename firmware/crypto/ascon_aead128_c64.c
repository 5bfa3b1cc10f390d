/*
 * Ascon-AEAD128 on 64-bit words in plain C, see crypto.h: for machines with wide registers, and the variant
 * that reads most like SP 800-232. The S-box is the one with the fewest instructions that Feng, Wei, Zhang
 * et al. found ("Optimizing S-box Implementations Using SAT Solvers: Revisited", IACR ePrint 2023/1721).
 */
#define ASCON_VARIANT c64
#include "ascon_aead128_mode.h"

static uint64_t load64(const uint8_t *bytes)
{
    uint64_t word = 0;
    uint8_t i;
    for (i = 8; i-- > 0;) {
        word = word << 8 | bytes[i];
    }
    return word;
}

static void store64(uint8_t *bytes, uint64_t word)
{
    uint8_t i;
    for (i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)word;
        word >>= 8;
    }
}

/* `count` MUST be 1 to 63. */
static uint64_t rotate_right(uint64_t word, uint8_t count)
{
    return word >> count | word << (64 - count);
}

/* see crypto.h */
void ascon_p_c64(uint8_t state[40], uint8_t first_constant)
{
    uint64_t x0 = load64(state);
    uint64_t x1 = load64(state + 8);
    uint64_t x2 = load64(state + 16);
    uint64_t x3 = load64(state + 24);
    uint64_t x4 = load64(state + 32);
    uint8_t constant;

    /* F0, E1, D2, .. 4B: the high nibble falls while the low one rises. */
    for (constant = first_constant; constant != 0x3C; constant = (uint8_t)(constant - 0x0F)) {
        uint64_t x04, x34, x12, x23, inner;
        x2 ^= constant;

        x04 = x0 ^ x4;
        x34 = x3 ^ x4;
        x12 = x1 ^ x2;
        x23 = x3 ^ x2;
        inner = (x04 | x1) ^ x34;
        x1 = x04 ^ (x23 | x12);
        x3 = x12 ^ (x0 | x34);
        x0 = inner ^ (x2 & x12);
        /* x34 is the old x3 ^ x4 and x23 the old x3 ^ x2, so their sums give x3 and x4 back. */
        x2 = x12 ^ (~x4 | (x34 ^ x4));
        x4 = x04 ^ inner;

        x0 ^= rotate_right(x0, 19) ^ rotate_right(x0, 28);
        x1 ^= rotate_right(x1, 61) ^ rotate_right(x1, 39);
        x2 ^= rotate_right(x2, 1) ^ rotate_right(x2, 6);
        x3 ^= rotate_right(x3, 10) ^ rotate_right(x3, 17);
        x4 ^= rotate_right(x4, 7) ^ rotate_right(x4, 41);
    }
    store64(state, x0);
    store64(state + 8, x1);
    store64(state + 16, x2);
    store64(state + 24, x3);
    store64(state + 32, x4);
}
