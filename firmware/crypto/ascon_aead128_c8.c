/*
 * Ascon-AEAD128 on bytes in plain C, see crypto.h: for 8-bit chips without assembly of their own.
 *
 * A rotation by 8n bits is a change of index. The rest of it is a shift by 1 to 7, and the two halves of a
 * shifted byte are the two halves of its product with a power of two: one `mul` of two cycles on AVR, where
 * a 64-bit shift in C would be a call of some hundred cycles.
 */
#define ASCON_VARIANT c8
#include "ascon_aead128_mode.h"

/* The compiler must have `variable` at hand here, in a register, and knows nothing about its value. */
#define PIN(variable) __asm__("" : "+r"(variable))

/* sum[index % 8] ^= byte. Pinned, or avr-gcc would first form all products of a word and run out of registers. */
#define ADD(index, byte)                                                                                     \
    do {                                                                                                     \
        sum[(index) % 8] ^= (byte);                                                                          \
        PIN(sum[(index) % 8]);                                                                               \
    } while (0)

/* What byte `i` of a word adds to the word's two rotations. */
#define ADD_ROTATIONS(i)                                                                                     \
    do {                                                                                                     \
        uint16_t first = (uint16_t)((uint16_t)word[i] * factor1);                                            \
        uint16_t second = (uint16_t)((uint16_t)word[i] * factor2);                                           \
        ADD((i) + bytes1, (uint8_t)first);                                                                   \
        ADD((i) + bytes1 + 1, (uint8_t)(first >> 8));                                                        \
        ADD((i) + bytes2, (uint8_t)second);                                                                  \
        ADD((i) + bytes2 + 1, (uint8_t)(second >> 8));                                                       \
    } while (0)

/* word ^= word rotated left by `bytes1` bytes and log2(factor1) bits ^ the same for bytes2 and factor2. Always
   inlined and written out, so that every index is a constant and the sum can live in registers. */
static inline __attribute__((always_inline)) void
diffuse(uint8_t word[8], uint8_t bytes1, uint8_t factor1, uint8_t bytes2, uint8_t factor2)
{
    uint8_t sum[8] = { word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7] };
    /* Pinned, or avr-gcc would replace each product by shifts, of several times its cycles. */
    PIN(factor1);
    PIN(factor2);
    ADD_ROTATIONS(0);
    ADD_ROTATIONS(1);
    ADD_ROTATIONS(2);
    ADD_ROTATIONS(3);
    ADD_ROTATIONS(4);
    ADD_ROTATIONS(5);
    ADD_ROTATIONS(6);
    ADD_ROTATIONS(7);
    word[0] = sum[0];
    word[1] = sum[1];
    word[2] = sum[2];
    word[3] = sum[3];
    word[4] = sum[4];
    word[5] = sum[5];
    word[6] = sum[6];
    word[7] = sum[7];
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
