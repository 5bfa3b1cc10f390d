/*
 * DES and Triple DES but for their function f, see des.h: the permutations at both ends by exchanges, and the rounds.
 *
 * Both halves are rotated to the right by one place, so that the six bits of S-boxes 1, 3, 5 and 7 are the upper bits
 * of the right half's bytes, and those of the others are when it is rotated to the left by four: the expansion E.
 *
 * Who includes this defines DES_VARIANT, and DES_F(right, odd, even), which gives f of a half and a round's words.
 */
#include "des_schedule.h"

#define DES_JOIN_(variant, suffix) variant##suffix
#define DES_JOIN(variant, suffix)  DES_JOIN_(variant, suffix)
#define DES_INIT                   DES_JOIN(DES_VARIANT, _init)
#define DES_INIT_DECRYPT           DES_JOIN(DES_VARIANT, _init_decrypt)
#define DES_CRYPT                  DES_JOIN(DES_VARIANT, _crypt)

/* Of the bits of both words: those of `a` that are `by` places above those of `b`, where `mask` is. */
INLINE void exchange(uint32_t *a, uint32_t *b, unsigned by, uint32_t mask)
{
    uint32_t difference = (*a >> by ^ *b) & mask;
    *b ^= difference;
    *a ^= difference << by;
}

/* The initial permutation moves bit r of byte c to a place that has r and c exchanged, so it is a transposition of
   bits, in five steps. The final one is its inverse. */
INLINE void permute_first(uint32_t *left, uint32_t *right)
{
    exchange(left, right, 4, 0x0f0f0f0f);
    exchange(left, right, 16, 0x0000ffff);
    exchange(right, left, 2, 0x33333333);
    exchange(right, left, 8, 0x00ff00ff);
    exchange(left, right, 1, 0x55555555);
    *left = rotate_right(*left, 1);
    *right = rotate_right(*right, 1);
}

INLINE void permute_last(uint32_t *left, uint32_t *right)
{
    *left = rotate_left(*left, 1);
    *right = rotate_left(*right, 1);
    exchange(left, right, 1, 0x55555555);
    exchange(right, left, 8, 0x00ff00ff);
    exchange(right, left, 2, 0x33333333);
    exchange(left, right, 16, 0x0000ffff);
    exchange(left, right, 4, 0x0f0f0f0f);
}

/* see des.h */
ROUTINE void DES_INIT(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(DES_INIT, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    des_expand(key, bytes, key_bytes, 0);
}

/* see des.h */
ROUTINE void DES_INIT_DECRYPT(struct des *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(DES_INIT_DECRYPT, key_bytes == 8 ? 1 : 3, key_bytes == 16);
    des_expand(key, bytes, key_bytes, 1);
}

/* see des.h: between the keys of Triple DES the permutations are each other's inverse, and the halves change
   places. */
ROUTINE void DES_CRYPT(const struct des *key, uint8_t *blocks, size_t count)
{
    const uint32_t *end = key->words + 2 * key->rounds;

    COUNT(DES_CRYPT, count, count * key->rounds, count == 0);
    for (; count != 0; count--) {
        const uint32_t *words = key->words;
        uint32_t left = load_be32(blocks), right = load_be32(blocks + 4);
        permute_first(&left, &right);
        while (words != end) {
            uint32_t kept;
            for (const uint32_t *last = words + 2 * DES_ROUNDS; words != last; words += 4) {
                left ^= DES_F(right, words[0], words[1]);
                right ^= DES_F(left, words[2], words[3]);
            }
            kept = left;
            left = right;
            right = kept;
        }
        permute_last(&left, &right);
        store_be32(blocks, left);
        store_be32(blocks + 4, right);
        blocks += DES_BLOCK_BYTES;
    }
}
