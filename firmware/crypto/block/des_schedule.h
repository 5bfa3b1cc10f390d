/*
 * The key schedule of DES and Triple DES (FIPS 46-3, SP 800-67) without a look-up by a secret, see des.h: for all
 * variants but des_textbook.
 *
 * A round's 48 bits are eight groups of six, one for each S-box. The first word has those of S-boxes 1, 3, 5 and 7,
 * the second those of 2, 4, 6 and 8, each in the upper six bits of a byte: that is how the right half, rotated, has
 * its own.
 */
#ifndef SELVEDGE_DES_SCHEDULE_H
#define SELVEDGE_DES_SCHEDULE_H

#include "../estimate.h"
#include "../words.h"
#include "des.h"

/* Permuted choice 1: which bit of the key each of C and D is, counted from the first as FIPS 46-3 does. */
/* clang-format off */
#define DES_PC1_C \
    57, 49, 41, 33, 25, 17,  9,  1, 58, 50, 42, 34, 26, 18, \
    10,  2, 59, 51, 43, 35, 27, 19, 11,  3, 60, 52, 44, 36
#define DES_PC1_D \
    63, 55, 47, 39, 31, 23, 15,  7, 62, 54, 46, 38, 30, 22, \
    14,  6, 61, 53, 45, 37, 29, 21, 13,  5, 28, 20, 12,  4

/* Permuted choice 2: f(by, mask) of bits that move by as many places, to the left or, when negative, to the right. */
#define DES_ODD_C(f) \
    f(-4, 0x00100000) | f(-2, 0x00040000) | f(0, 0x08000000) | f(3, 0x04000000) | \
    f(5, 0x00200000) | f(12, 0x20000000) | f(13, 0x00400000) | f(17, 0x80080000) | \
    f(18, 0x00800000) | f(19, 0x40000000) | f(24, 0x10000000)

#define DES_ODD_D(f) \
    f(-19, 0x00000008) | f(-12, 0x00002020) | f(-7, 0x00001000) | f(-5, 0x00000080) | \
    f(-1, 0x00000044) | f(0, 0x00008000) | f(2, 0x00000800) | f(4, 0x00000010) | \
    f(9, 0x00000400) | f(10, 0x00004000)

#define DES_EVEN_C(f) \
    f(-8, 0x00040000) | f(1, 0x00400000) | f(4, 0x00080000) | f(6, 0x90000000) | \
    f(8, 0x04000000) | f(11, 0x00800000) | f(12, 0x00100000) | f(16, 0x20000000) | \
    f(20, 0x08200000) | f(30, 0x40000000)

#define DES_EVEN_D(f) \
    f(-24, 0x00000008) | f(-22, 0x00000004) | f(-16, 0x00000010) | f(-12, 0x00000800) | \
    f(-11, 0x00008000) | f(-8, 0x00000040) | f(-3, 0x00000080) | f(-2, 0x00004000) | \
    f(-1, 0x00000020) | f(1, 0x00001000) | f(2, 0x00000400) | f(8, 0x00002000)
/* clang-format on */

#define DES_FROM_C(by, mask) (((by) < 0 ? c >> (-(by) & 31) : c << ((by) & 31)) & (mask))
#define DES_FROM_D(by, mask) (((by) < 0 ? d >> (-(by) & 31) : d << ((by) & 31)) & (mask))

/* In which rounds C and D move by one place only: the first, second, ninth and last. */
#define DES_MOVES_BY_ONE 0x8103u

INLINE uint32_t des_pick(const uint8_t *key, const uint8_t *from)
{
    uint32_t bits = 0;
    for (uint8_t i = 0; i < 28; i++) {
        const uint8_t bit = from[i] - 1;
        bits = bits << 1 | (key[bit >> 3] >> (7 - (bit & 7)) & 1);
    }
    return bits;
}

INLINE uint32_t des_move(uint32_t half, unsigned by)
{
    return (half << by | half >> (28 - by)) & 0x0fffffff;
}

/* The 32 words of one key of eight bytes, from the first round to the last, or with `step` -2 backwards. */
INLINE void des_expand_one(uint32_t *word, int step, const uint8_t *key)
{
    static const uint8_t pc1_c[28] = { DES_PC1_C }, pc1_d[28] = { DES_PC1_D };
    uint32_t c = des_pick(key, pc1_c), d = des_pick(key, pc1_d);

    for (unsigned round = 0; round < DES_ROUNDS; round++) {
        const unsigned by = 2 - (DES_MOVES_BY_ONE >> round & 1);
        c = des_move(c, by);
        d = des_move(d, by);
        word[0] = DES_ODD_C(DES_FROM_C) | DES_ODD_D(DES_FROM_D);
        word[1] = DES_EVEN_C(DES_FROM_C) | DES_EVEN_D(DES_FROM_D);
        word += step;
    }
}

/* The words of all keys in the order of their use. Triple DES encrypts with the second key when it decrypts, and the
   other way round. */
INLINE void des_expand(struct des *key, const uint8_t *bytes, uint8_t key_bytes, uint8_t is_decrypt)
{
    const unsigned keys = key_bytes == 8 ? 1 : 3;

    key->rounds = keys * DES_ROUNDS;
    for (unsigned i = 0; i < keys; i++) {
        const unsigned used = is_decrypt ? keys - 1 - i : i;
        const unsigned taken = key_bytes == 16 && used == 2 ? 0 : used;
        uint32_t *words = key->words + 2 * DES_ROUNDS * i;
        const uint8_t is_backwards = (is_decrypt ^ i) & 1;
        des_expand_one(is_backwards ? words + 2 * DES_ROUNDS - 2 : words, is_backwards ? -2 : 2, bytes + 8 * taken);
    }
}

#endif
