/*
 * DES of 32 blocks at once, see des.h: bit b of a word belongs to block b, and there is a word for each bit of a
 * block, so that permutations only say which word is meant, and S-boxes are circuits (des_circuits.h). No table, and
 * nothing that depends on key or blocks but values.
 */
#include "des_circuits.h"
#include "des_sbox.h"
#include "des_schedule.h"

#define LANES 32

/* see des.h */
ROUTINE void des_bitsliced_init(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(des_bitsliced_init, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    des_expand(key, bytes, key_bytes, 0);
}

/* see des.h */
ROUTINE void des_bitsliced_init_decrypt(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(des_bitsliced_init_decrypt, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    des_expand(key, bytes, key_bytes, 1);
}

/* Bit i of word j becomes bit j of word i: squares of 16, 8, .. bits change places across the diagonal. */
ROUTINE void des_bitsliced_transpose(uint32_t words[LANES])
{
    uint32_t mask = 0x0000ffff;

    COUNT(des_bitsliced_transpose);
    for (unsigned by = 16; by != 0; by >>= 1) {
        for (unsigned i = 0; i < LANES; i = (i + by + 1) & ~by) {
            uint32_t difference = (words[i] >> by ^ words[i + by]) & mask;
            words[i + by] ^= difference;
            words[i] ^= difference << by;
        }
        mask ^= mask << (by >> 1);
    }
}

/* Words of a half lie by FIPS 46-3's numbers of bits, 32 to 1. */
#define BIT(number) ((32 - (number)) & 31)

/* A bit of the round key, for all blocks: S-box `number` has bits 2 to 7 of a byte of one of the words. */
#define KEY(number, bit)                                                                                     \
    ((uint32_t)((int32_t)(words[((number) - 1) & 1] << (5 - (bit) + 8 * (((number) - 1) / 2))) >> 31))

/* The operands of S-box `number`, the last of its six bits first; and where its results go, again the last first. */
#define IN(number, bit)                 (right[BIT(4 * (number) + 1 - (bit))] ^ KEY(number, bit))
#define OUT(number, a, b, c, d)         &left[BIT(d)], &left[BIT(c)], &left[BIT(b)], &left[BIT(a)]
#define SUBSTITUTE(number)                                                                                   \
    des_substitute_##number(IN(number, 0), IN(number, 1), IN(number, 2), IN(number, 3), IN(number, 4),       \
                            IN(number, 5), DES_PLACES_##number(OUT, number))

ROUTINE void des_bitsliced_round(uint32_t left[LANES], const uint32_t right[LANES], const uint32_t words[2])
{
    COUNT(des_bitsliced_round);
    SUBSTITUTE(1);
    SUBSTITUTE(2);
    SUBSTITUTE(3);
    SUBSTITUTE(4);
    SUBSTITUTE(5);
    SUBSTITUTE(6);
    SUBSTITUTE(7);
    SUBSTITUTE(8);
}

/* The blocks' halves, of which each lies in `first` and `second` as bits of words 31 to 0. */
struct halves {
    uint32_t first[LANES], second[LANES];
};

/* The initial permutation takes every second bit of every byte, of the last byte first; `left` the second, fourth,
   .. of a byte, and `right` those before them. */
INLINE void permute_first(struct halves *to, const struct halves *from)
{
    for (unsigned i = 0; i < LANES; i++) {
        /* Of bit 32 - i of a half: its byte from the end of the block, and its place in the byte. */
        const unsigned byte = 7 - (i & 7), bit = 2 * (i >> 3);
        const uint32_t *half = byte < 4 ? from->second + 8 * byte : from->first + 8 * (byte - 4);
        to->first[i] = half[bit];
        to->second[i] = half[bit + 1];
    }
}

INLINE void permute_last(struct halves *to, const uint32_t *left, const uint32_t *right)
{
    for (unsigned i = 0; i < LANES; i++) {
        const unsigned byte = 7 - (i & 7), bit = 2 * (i >> 3);
        uint32_t *half = byte < 4 ? to->second + 8 * byte : to->first + 8 * (byte - 4);
        half[bit] = left[i];
        half[bit + 1] = right[i];
    }
}

/* see des.h */
ROUTINE void des_bitsliced_crypt(const struct des *key, uint8_t *blocks, size_t count)
{
    const uint32_t *end = key->words + 2 * key->rounds;
    struct halves plain, permuted;

    COUNT(des_bitsliced_crypt, (count + LANES - 1) / LANES, count, (count + LANES - 1) / LANES * key->rounds,
          count == 0);
    while (count != 0) {
        const unsigned taken = count < LANES ? (unsigned)count : LANES;
        uint32_t *left = permuted.first, *right = permuted.second;
        for (unsigned i = 0; i < LANES; i++) {
            plain.first[i] = i < taken ? load_be32(blocks + DES_BLOCK_BYTES * i) : 0;
            plain.second[i] = i < taken ? load_be32(blocks + DES_BLOCK_BYTES * i + 4) : 0;
        }
        des_bitsliced_transpose(plain.first);
        des_bitsliced_transpose(plain.second);
        permute_first(&permuted, &plain);
        for (const uint32_t *words = key->words; words != end;) {
            uint32_t *kept = left;
            for (const uint32_t *last = words + 2 * DES_ROUNDS; words != last; words += 4) {
                des_bitsliced_round(left, right, words);
                des_bitsliced_round(right, left, words + 2);
            }
            left = right;
            right = kept;
        }
        permute_last(&plain, left, right);
        des_bitsliced_transpose(plain.first);
        des_bitsliced_transpose(plain.second);
        for (unsigned i = 0; i < taken; i++) {
            store_be32(blocks + DES_BLOCK_BYTES * i, plain.first[i]);
            store_be32(blocks + DES_BLOCK_BYTES * i + 4, plain.second[i]);
        }
        blocks += DES_BLOCK_BYTES * taken;
        count -= taken;
    }
    wipe_words(&plain, sizeof plain);
    wipe_words(&permuted, sizeof permuted);
}
