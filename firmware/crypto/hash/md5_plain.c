/*
 * LEGACY. MD5's compression (RFC 1321 section 3.4), see hash.h: four rounds of 16 steps, four of which are written
 * out.
 */
#include "../words.h"
#include "hash.h"

/* The integer part of 2^32 times the sine of each step's number. */
static const uint32_t constants[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

/* Of the next step; `mix` is of b, c and d. */
#define STEP(a, b, mix, index, by)                                                                           \
    a = b + rotate_left(a + (mix) + words[(index) & 15] + *constant++, by)

#define F(b, c, d) (d ^ (b & (c ^ d)))
#define G(b, c, d) (c ^ (d & (b ^ c)))
#define H(b, c, d) (b ^ c ^ d)
#define I(b, c, d) (c ^ (b | ~d))

/* A round: 16 steps of one function, whose words are `first`, `first + by`, .. */
#define ROUND(mix, first, by, r0, r1, r2, r3)                                                                \
    for (unsigned i = 0, index = (first); i < 4; i++, index += 4 * (by)) {                                   \
        STEP(a, b, mix(b, c, d), index, r0);                                                                 \
        STEP(d, a, mix(a, b, c), index + (by), r1);                                                          \
        STEP(c, d, mix(d, a, b), index + 2 * (by), r2);                                                      \
        STEP(b, c, mix(c, d, a), index + 3 * (by), r3);                                                      \
    }

ROUTINE void md5_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void md5_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint32_t words[16];

    COUNT(md5_plain_compress, count, count == 0);
    for (; count != 0; count--) {
        const uint32_t *constant = constants;
        uint32_t *v = state->words;
        uint32_t a = v[0], b = v[1], c = v[2], d = v[3];
        for (unsigned i = 0; i < 16; i++) {
            words[i] = load_le32(blocks + 4 * i);
            LOOP_STAYS();
        }
        ROUND(F, 0, 1, 7, 12, 17, 22)
        ROUND(G, 1, 5, 5, 9, 14, 20)
        ROUND(H, 5, 3, 4, 11, 16, 23)
        ROUND(I, 0, 7, 6, 10, 15, 21)
        v[0] += a;
        v[1] += b;
        v[2] += c;
        v[3] += d;
        blocks += 64;
    }
    wipe_words(words, sizeof words);
}

const struct hash_algorithm md5_plain = {
    md5_plain_compress, {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}}, 64, 16, 4, 1};
