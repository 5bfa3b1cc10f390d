/*
 * Ascon-AEAD128 on bytes in plain C, see crypto.h: for 8-bit chips without assembly of their own.
 *
 * A rotation by 8n bits is a change of index. The rest of it is a shift by 1 to 7, and the two halves of a
 * shifted byte are the two halves of its product with a power of two: one `mul` of two cycles on AVR, where
 * a 64-bit shift in C would be a call of some hundred cycles.
 */
#define ASCON_VARIANT c8
#include "ascon_aead128_mode.h"

/* One byte of the below. */
static inline void xor_shifted(uint8_t to[8], uint8_t byte, uint8_t index, uint8_t factor)
{
    uint16_t shifted = (uint16_t)((uint16_t)byte * factor);
    to[index % 8] ^= (uint8_t)shifted;
    to[(index + 1) % 8] ^= (uint8_t)(shifted >> 8);
}

/* to ^= from rotated left by `bytes` bytes and log2(factor) bits. Written out, and inlined, so that every
   index is a constant. */
static inline __attribute__((always_inline)) void
xor_rotated_left(uint8_t to[8], const uint8_t from[8], uint8_t bytes, uint8_t factor)
{
    xor_shifted(to, from[0], bytes, factor);
    xor_shifted(to, from[1], bytes + 1, factor);
    xor_shifted(to, from[2], bytes + 2, factor);
    xor_shifted(to, from[3], bytes + 3, factor);
    xor_shifted(to, from[4], bytes + 4, factor);
    xor_shifted(to, from[5], bytes + 5, factor);
    xor_shifted(to, from[6], bytes + 6, factor);
    xor_shifted(to, from[7], bytes + 7, factor);
}

/* word ^= word rotated left by (bytes1, bits1) ^ word rotated left by (bytes2, bits2). */
static inline __attribute__((always_inline)) void
diffuse(uint8_t word[8], uint8_t bytes1, uint8_t factor1, uint8_t bytes2, uint8_t factor2)
{
    /* Both copies are local so that they can live in registers; the rotations would else go through memory. */
    uint8_t before[8] = { word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7] };
    uint8_t after[8] = { word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7] };
    xor_rotated_left(after, before, bytes1, factor1);
    xor_rotated_left(after, before, bytes2, factor2);
    word[0] = after[0];
    word[1] = after[1];
    word[2] = after[2];
    word[3] = after[3];
    word[4] = after[4];
    word[5] = after[5];
    word[6] = after[6];
    word[7] = after[7];
}

/* The S-box on one byte of each word: eight of its 64 columns at once. */
static inline void substitute(uint8_t state[40])
{
    uint8_t x0 = state[0], x1 = state[8], x2 = state[16], x3 = state[24], x4 = state[32];
    uint8_t x04 = x0 ^ x4;
    uint8_t x34 = x3 ^ x4;
    uint8_t x12 = x1 ^ x2;
    uint8_t inner = (uint8_t)((x04 | x1) ^ x34);
    state[0] = (uint8_t)(inner ^ (x2 & x12));
    state[8] = (uint8_t)(x04 ^ ((x3 ^ x2) | x12));
    state[16] = (uint8_t)(x12 ^ ((uint8_t)~x4 | x3));
    state[24] = (uint8_t)(x12 ^ (x0 | x34));
    state[32] = (uint8_t)(x04 ^ inner);
}

/* see crypto.h */
void ascon_p_c8(uint8_t state[40], uint8_t first_constant)
{
    uint8_t constant, i;

    for (constant = first_constant; constant != 0x3C; constant = (uint8_t)(constant - 0x0F)) {
        state[16] ^= constant;
        for (i = 0; i < 8; i++) {
            substitute(state + i);
        }
        /* Right by r is left by 64 - r: 45 = 5 * 8 + 5 for 19, and so on. */
        diffuse(state, 5, 1 << 5, 4, 1 << 4);      /* 19, 28 */
        diffuse(state + 8, 0, 1 << 3, 3, 1 << 1);  /* 61, 39 */
        diffuse(state + 16, 7, 1 << 7, 7, 1 << 2); /* 1, 6 */
        diffuse(state + 24, 6, 1 << 6, 5, 1 << 7); /* 10, 17 */
        diffuse(state + 32, 7, 1 << 1, 2, 1 << 7); /* 7, 41 */
    }
}
