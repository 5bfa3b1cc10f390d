/*
 * DES over tables of S-boxes and the permutation P together, see des.h: 2 KB, and eight look-ups a round.
 */
#include "../words.h"
#include "des_sbox.h"

#include <stddef.h>

/* Where FIPS 46-3's bit `place` is in a half that is rotated to the right by one place. */
#define AT(place) ((31 - (place)) & 31)
#define MOVED(s, a, b, c, d)                                                                                 \
    (((s) >> 3) << AT(a) | ((s) >> 2 & 1) << AT(b) | ((s) >> 1 & 1) << AT(c) | ((s) & 1) << AT(d))
#define CELL(number, row, column, s) [DES_INDEX(row, column)] = DES_PLACES_##number(MOVED, s##u)
#define CELLS(n, row, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q)                                        \
    CELL(n, row, 0, a), CELL(n, row, 1, b), CELL(n, row, 2, c), CELL(n, row, 3, d), CELL(n, row, 4, e),      \
        CELL(n, row, 5, f), CELL(n, row, 6, g), CELL(n, row, 7, h), CELL(n, row, 8, i), CELL(n, row, 9, j),  \
        CELL(n, row, 10, k), CELL(n, row, 11, l), CELL(n, row, 12, m), CELL(n, row, 13, o),                  \
        CELL(n, row, 14, p), CELL(n, row, 15, q)

/* Those of one word of the round key lie together. */
static const uint32_t tables[8][64] = {
    { DES_SBOX_1(CELLS) }, { DES_SBOX_3(CELLS) }, { DES_SBOX_5(CELLS) }, { DES_SBOX_7(CELLS) },
    { DES_SBOX_2(CELLS) }, { DES_SBOX_4(CELLS) }, { DES_SBOX_6(CELLS) }, { DES_SBOX_8(CELLS) },
};

/* The upper six bits of a byte are the offset of an entry already. */
#define ENTRY(table, word) (*(const uint32_t *)((const uint8_t *)tables[table] + ((word) & 0xfc)))

INLINE uint32_t f(uint32_t odd, uint32_t even)
{
    return ENTRY(0, odd >> 24) ^ ENTRY(1, odd >> 16) ^ ENTRY(2, odd >> 8) ^ ENTRY(3, odd) ^ ENTRY(4, even >> 24) ^
           ENTRY(5, even >> 16) ^ ENTRY(6, even >> 8) ^ ENTRY(7, even);
}

#define DES_F(right, odd, even) f((right) ^ (odd), rotate_left(right, 4) ^ (even))
#define DES_VARIANT             des_sp
#include "des_rounds.h"
