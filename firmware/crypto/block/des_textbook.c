/*
 * DES as FIPS 46-3 is written, see des.h: every permutation is a table that says where each bit comes from, counted
 * from the first, and moves one bit at a time.
 */
#include "../estimate.h"
#include "../words.h"
#include "des.h"
#include "des_sbox.h"

/* clang-format off */
static const uint8_t initial[64] = {
    58, 50, 42, 34, 26, 18, 10,  2, 60, 52, 44, 36, 28, 20, 12,  4,
    62, 54, 46, 38, 30, 22, 14,  6, 64, 56, 48, 40, 32, 24, 16,  8,
    57, 49, 41, 33, 25, 17,  9,  1, 59, 51, 43, 35, 27, 19, 11,  3,
    61, 53, 45, 37, 29, 21, 13,  5, 63, 55, 47, 39, 31, 23, 15,  7,
};
static const uint8_t final[64] = {
    40,  8, 48, 16, 56, 24, 64, 32, 39,  7, 47, 15, 55, 23, 63, 31,
    38,  6, 46, 14, 54, 22, 62, 30, 37,  5, 45, 13, 53, 21, 61, 29,
    36,  4, 44, 12, 52, 20, 60, 28, 35,  3, 43, 11, 51, 19, 59, 27,
    34,  2, 42, 10, 50, 18, 58, 26, 33,  1, 41,  9, 49, 17, 57, 25,
};
static const uint8_t expansion[48] = {
    32,  1,  2,  3,  4,  5,  4,  5,  6,  7,  8,  9,
     8,  9, 10, 11, 12, 13, 12, 13, 14, 15, 16, 17,
    16, 17, 18, 19, 20, 21, 20, 21, 22, 23, 24, 25,
    24, 25, 26, 27, 28, 29, 28, 29, 30, 31, 32,  1,
};
static const uint8_t permutation[32] = {
    16,  7, 20, 21, 29, 12, 28, 17,  1, 15, 23, 26,  5, 18, 31, 10,
     2,  8, 24, 14, 32, 27,  3,  9, 19, 13, 30,  6, 22, 11,  4, 25,
};
static const uint8_t choice_1[56] = {
    57, 49, 41, 33, 25, 17,  9,  1, 58, 50, 42, 34, 26, 18,
    10,  2, 59, 51, 43, 35, 27, 19, 11,  3, 60, 52, 44, 36,
    63, 55, 47, 39, 31, 23, 15,  7, 62, 54, 46, 38, 30, 22,
    14,  6, 61, 53, 45, 37, 29, 21, 13,  5, 28, 20, 12,  4,
};
static const uint8_t choice_2[48] = {
    14, 17, 11, 24,  1,  5,  3, 28, 15,  6, 21, 10,
    23, 19, 12,  4, 26,  8, 16,  7, 27, 20, 13,  2,
    41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48,
    44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
};
static const uint8_t moves[DES_ROUNDS] = { 1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1 };
/* clang-format on */
static const uint8_t sboxes[8][64] = {
    { DES_SBOX_1(DES_ROW) }, { DES_SBOX_2(DES_ROW) }, { DES_SBOX_3(DES_ROW) }, { DES_SBOX_4(DES_ROW) },
    { DES_SBOX_5(DES_ROW) }, { DES_SBOX_6(DES_ROW) }, { DES_SBOX_7(DES_ROW) }, { DES_SBOX_8(DES_ROW) },
};

/* see des.h */
ROUTINE void des_textbook_permute(uint8_t *to, const uint8_t *source, const uint8_t *from, unsigned bytes)
{
    COUNT(des_textbook_permute, bytes);
    for (; bytes != 0; bytes--) {
        unsigned byte = 0;
        for (unsigned i = 0; i < 8; i++) {
            const unsigned bit = *from++ - 1u;
            byte = byte << 1 | (source[bit >> 3] >> (7 - (bit & 7)) & 1u);
        }
        *to++ = (uint8_t)byte;
    }
}

INLINE uint32_t move(uint32_t half, unsigned by)
{
    return (half << by | half >> (28 - by)) & 0x0fffffff;
}

/* The round keys of one key of eight bytes, each as 24 bits and 24 bits. */
INLINE void expand_one(uint32_t *words, const uint8_t *bytes, uint8_t is_backwards)
{
    uint8_t halves[8], chosen[6];
    uint32_t c, d;

    des_textbook_permute(halves, bytes, choice_1, 7);
    c = load_be32(halves) >> 4;
    d = load_be32(halves + 3) & 0x0fffffff;
    for (unsigned round = 0; round < DES_ROUNDS; round++) {
        uint32_t *word = words + 2 * (is_backwards ? DES_ROUNDS - 1 - round : round);
        c = move(c, moves[round]);
        d = move(d, moves[round]);
        store_be32(halves, c << 4 | d >> 24);
        store_be32(halves + 4, d << 8);
        des_textbook_permute(chosen, halves, choice_2, 6);
        word[0] = load_be32(chosen) >> 8;
        word[1] = load_be32(chosen + 2) & 0xffffff;
    }
    wipe_bytes(halves, sizeof halves);
    wipe_bytes(chosen, sizeof chosen);
}

INLINE void expand(struct des *key, const uint8_t *bytes, uint8_t key_bytes, uint8_t is_decrypt)
{
    const unsigned keys = key_bytes == 8 ? 1 : 3;

    key->rounds = keys * DES_ROUNDS;
    for (unsigned i = 0; i < keys; i++) {
        unsigned used = is_decrypt ? keys - 1 - i : i;
        used = key_bytes == 16 && used == 2 ? 0 : used;
        expand_one(key->words + 2 * DES_ROUNDS * i, bytes + 8 * used, (is_decrypt ^ i) & 1);
    }
}

/* see des.h */
ROUTINE void des_textbook_init(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(des_textbook_init, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    expand(key, bytes, key_bytes, 0);
}

/* see des.h */
ROUTINE void des_textbook_init_decrypt(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(des_textbook_init_decrypt, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    expand(key, bytes, key_bytes, 1);
}

/* see des.h. A row is the first and the last bit of six. */
ROUTINE uint8_t des_textbook_substitute(unsigned pair, uint32_t bits)
{
    const unsigned first = bits >> 6 & 0x3f, second = bits & 0x3f;

    COUNT(des_textbook_substitute);
    return (uint8_t)(sboxes[pair][16 * ((first >> 4 & 2) | (first & 1)) + (first >> 1 & 0xf)] << 4 |
                     sboxes[pair + 1][16 * ((second >> 4 & 2) | (second & 1)) + (second >> 1 & 0xf)]);
}

/* The function f, of the right half. */
INLINE void f(uint8_t result[4], const uint8_t right[4], const uint32_t words[2])
{
    uint8_t expanded[6], substituted[4];

    des_textbook_permute(expanded, right, expansion, 6);
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t half = i < 2 ? load_be32(expanded) >> 8 : load_be32(expanded + 2) & 0xffffff;
        substituted[i] = des_textbook_substitute(2 * i, (half ^ words[i / 2]) >> (i % 2 == 0 ? 12 : 0));
    }
    des_textbook_permute(result, substituted, permutation, 4);
    wipe_bytes(expanded, sizeof expanded);
    wipe_bytes(substituted, sizeof substituted);
}

/* see des.h */
ROUTINE void des_textbook_crypt(const struct des *key, uint8_t *blocks, size_t count)
{
    uint8_t block[DES_BLOCK_BYTES], result[4];

    COUNT(des_textbook_crypt, count, count * key->rounds, count == 0);
    for (; count != 0; count--) {
        for (unsigned first = 0; first < key->rounds; first += DES_ROUNDS) {
            des_textbook_permute(block, blocks, initial, DES_BLOCK_BYTES);
            for (unsigned round = first; round < first + DES_ROUNDS; round++) {
                f(result, block + 4, key->words + 2 * round);
                for (unsigned i = 0; i < 4; i++) {
                    const uint8_t next = block[i] ^ result[i];
                    block[i] = block[4 + i];
                    block[4 + i] = next;
                }
            }
            for (unsigned i = 0; i < 4; i++) {
                const uint8_t kept = block[i];
                block[i] = block[4 + i];
                block[4 + i] = kept;
            }
            des_textbook_permute(blocks, block, final, DES_BLOCK_BYTES);
        }
        blocks += DES_BLOCK_BYTES;
    }
    wipe_bytes(block, sizeof block);
    wipe_bytes(result, sizeof result);
}
