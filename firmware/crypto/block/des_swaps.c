/*
 * DES with bits that are moved many at once and S-boxes as FIPS 46-3 has them, see des.h. The permutation P is a
 * Benes network of exchanges within the word, one of whose nine steps does nothing.
 */
#include "../words.h"
#include "des_sbox.h"

#include <stddef.h>

static const uint8_t sboxes[8][64] = {
    { DES_SBOX_1(DES_ROW) }, { DES_SBOX_2(DES_ROW) }, { DES_SBOX_3(DES_ROW) }, { DES_SBOX_4(DES_ROW) },
    { DES_SBOX_5(DES_ROW) }, { DES_SBOX_6(DES_ROW) }, { DES_SBOX_7(DES_ROW) }, { DES_SBOX_8(DES_ROW) },
};

/* Bits that are `by` places apart change places, where `mask` is. */
INLINE uint32_t exchange_within(uint32_t word, unsigned by, uint32_t mask)
{
    uint32_t difference = (word >> by ^ word) & mask;
    return word ^ difference ^ difference << by;
}

/* What S-box `number` makes of the upper six bits of a byte: the first and the last choose a row. */
INLINE uint32_t substitute(unsigned number, uint32_t byte)
{
    const uint32_t index = (byte >> 2 & 0x20) | (byte << 2 & 0x10) | (byte >> 3 & 0x0f);
    return (uint32_t)sboxes[number - 1][index] << (32 - 4 * number);
}

/* P, of a word to a word that is rotated to the right by one place. */
INLINE uint32_t permute(uint32_t word)
{
    word = exchange_within(word, 16, 0x0000edfc);
    word = exchange_within(word, 1, 0x15101054);
    word = exchange_within(word, 2, 0x10010001);
    word = exchange_within(word, 4, 0x05010300);
    word = exchange_within(word, 8, 0x00ad00ac);
    word = exchange_within(word, 4, 0x06060201);
    word = exchange_within(word, 1, 0x15051055);
    return exchange_within(word, 16, 0x00001255);
}

INLINE uint32_t f(uint32_t odd, uint32_t even)
{
    return permute(substitute(1, odd >> 24) | substitute(3, odd >> 16) | substitute(5, odd >> 8) | substitute(7, odd) |
                   substitute(2, even >> 24) | substitute(4, even >> 16) | substitute(6, even >> 8) |
                   substitute(8, even));
}

#define DES_F(right, odd, even) f((right) ^ (odd), rotate_left(right, 4) ^ (even))
#define DES_VARIANT             des_swaps
#include "des_rounds.h"
