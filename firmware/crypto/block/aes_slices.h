/*
 * What the sliced variants of AES have in common, see aes.h: two blocks as eight words, of which word i has bit i of
 * each byte. The byte in row r and column c of block b is bit 8r + 2c + b of each, so that a row is a byte of the
 * word: the next row is a rotation of words by 8, the next column one of bytes by 2.
 *
 * 0x63, which is added by SubBytes and which MixColumns and ShiftRows leave as it is, is in the round keys of all
 * rounds but the first, which are the same for both ways.
 */
#ifndef SELVEDGE_AES_SLICES_H
#define SELVEDGE_AES_SLICES_H

#include "../words.h"
#include "aes_circuit.h"

#include <stddef.h>

/* Of the bits of both words: those of `high` above `by` for those of `low` below, where `mask` is. */
INLINE void exchange(uint32_t *low, uint32_t *high, unsigned by, uint32_t mask)
{
    uint32_t difference = (*low >> by ^ *high) & mask;
    *high ^= difference;
    *low ^= difference << by;
}

/* Columns, column c of block b in word 2c + b, to slices; and back, which is the same. */
INLINE void aes_transpose(uint32_t x[8])
{
    UNROLLED
    for (unsigned i = 0; i < 8; i += 2) {
        exchange(&x[i], &x[i + 1], 1, 0x55555555);
    }
    UNROLLED
    for (unsigned i = 0; i < 6; i += i == 1 ? 3 : 1) {
        exchange(&x[i], &x[i + 2], 2, 0x33333333);
    }
    UNROLLED
    for (unsigned i = 0; i < 4; i++) {
        exchange(&x[i], &x[i + 4], 4, 0x0f0f0f0f);
    }
}

/* Two blocks, or one and zeros. */
INLINE void aes_load(uint32_t x[8], const uint8_t *blocks, size_t count)
{
    UNROLLED
    for (unsigned c = 0; c < 4; c++) {
        x[2 * c] = load_word(blocks + 4 * c);
        x[2 * c + 1] = count == 1 ? 0 : load_word(blocks + 16 + 4 * c);
    }
}

INLINE void aes_store(const uint32_t x[8], uint8_t *blocks, size_t count)
{
    UNROLLED
    for (unsigned c = 0; c < 4; c++) {
        store_word(blocks + 4 * c, x[2 * c]);
        if (count != 1) {
            store_word(blocks + 16 + 4 * c, x[2 * c + 1]);
        }
    }
}

INLINE void aes_add_key(uint32_t x[8], const uint32_t words[8])
{
    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        x[i] ^= words[i];
    }
}

/* Every byte of a word rotated to the right, by 0 to 7 bits. */
INLINE uint32_t aes_rotate_bytes(uint32_t word, unsigned bits)
{
    const uint32_t low = (0xffu >> bits) * 0x01010101u;
    return bits == 0 ? word : (word >> bits & low) | (word << (8 - bits) & ~low);
}

/* The byte `rows` rows and `columns` columns further, in place of each. */
INLINE uint32_t aes_further(uint32_t word, unsigned rows, unsigned columns)
{
    return aes_rotate_bytes(rotate_right(word, 8 * rows), 2 * (columns & 3));
}

/* MixColumns, where the byte of the same column in the next row is `columns` columns further. */
INLINE void aes_mix(uint32_t x[8], unsigned columns)
{
    uint32_t next[8], sum[8];

    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        next[i] = aes_further(x[i], 1, columns);
        sum[i] = x[i] ^ next[i];
    }
    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        uint32_t twice = sum[(i + 7) & 7];
        if (i == 1 || i == 3 || i == 4) {
            twice ^= sum[7];
        }
        x[i] = twice ^ next[i] ^ aes_further(sum[i], 2, 2 * columns);
    }
}

/* Its inverse: the same, after each byte times 5 and the one two rows further times 4. */
INLINE void aes_unmix(uint32_t x[8], unsigned columns)
{
    uint32_t sum[8];

    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        sum[i] = x[i] ^ aes_further(x[i], 2, 2 * columns);
    }
    x[0] ^= sum[6];
    x[1] ^= sum[6] ^ sum[7];
    x[2] ^= sum[0] ^ sum[7];
    x[3] ^= sum[1] ^ sum[6];
    x[4] ^= sum[2] ^ sum[6] ^ sum[7];
    x[5] ^= sum[3] ^ sum[7];
    x[6] ^= sum[4];
    x[7] ^= sum[5];
    aes_mix(x, columns);
}

INLINE uint32_t substitute_word(uint32_t word)
{
    uint32_t x[8];

    x[0] = word;
    UNROLLED
    for (unsigned i = 1; i < 8; i++) {
        x[i] = 0;
    }
    aes_transpose(x);
    aes_substitute(x);
    aes_transpose(x);
    return x[0] ^ 0x63636363;
}

#include "aes_expansion.h"

/* The round keys as slices, from columns: from the last to the first, since they take more room and begin where the
   columns do. With `columns` as for aes_mix, of round 1, the rows of round r's are moved back r times. */
INLINE void aes_slice_keys(struct aes *key, unsigned columns)
{
    uint32_t x[8];

    for (unsigned round = key->rounds + 1; round-- != 0;) {
        const uint32_t *from = key->words + 4 * round;
        uint32_t *to = key->words + 8 * round;
        const unsigned moved = columns * round & 3;
        UNROLLED
        for (unsigned c = 0; c < 4; c++) {
            uint32_t word = (from[c] & 0xff) | (from[(c - moved) & 3] & 0xff00) |
                            (from[(c - 2 * moved) & 3] & 0xff0000) | (from[(c - 3 * moved) & 3] & 0xff000000);
            x[2 * c] = x[2 * c + 1] = round == 0 ? word : word ^ 0x63636363;
        }
        aes_transpose(x);
        UNROLLED
        for (unsigned i = 0; i < 8; i++) {
            to[i] = x[i];
            LOOP_STAYS();
        }
    }
    wipe_words(x, sizeof x);
}

#endif
