/*
 * What the variants of AES do to columns: a word is a column of the state, row r in bits 8r to 8r + 7. MixColumns and
 * its inverse on a whole word (FIPS 197 sections 5.1.3 and 5.3.3), without a look-up or a branch by a secret.
 */
#ifndef SELVEDGE_AES_COLUMNS_H
#define SELVEDGE_AES_COLUMNS_H

#include "../words.h"

/* Each byte times x in GF(2^8). */
INLINE uint32_t aes_twice(uint32_t bytes)
{
    uint32_t high = bytes & 0x80808080;
    return (bytes ^ high) << 1 ^ (high >> 7) * 0x1b;
}

INLINE uint32_t aes_mix_column(uint32_t column)
{
    uint32_t next = rotate_right(column, 8);
    uint32_t sum = column ^ next;
    return aes_twice(sum) ^ next ^ rotate_right(sum, 16);
}

/* MixColumns after a column's bytes times 5 and those of two rows further times 4. */
INLINE uint32_t aes_unmix_column(uint32_t column)
{
    return aes_mix_column(column ^ aes_twice(aes_twice(column ^ rotate_right(column, 16))));
}

#endif
