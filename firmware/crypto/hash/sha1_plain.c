/*
 * LEGACY. SHA-1's compression (FIPS 180-4 section 6.1), see hash.h: four kinds of 20 rounds, five of which are
 * written out, and of the words only the last 16 are kept.
 */
#include "../words.h"
#include "hash.h"

/* Of the next round; `mix` is of b, c and d. */
#define STEP(a, b, e, mix, constant, word)                                                                   \
    do {                                                                                                     \
        e += rotate_left(a, 5) + (mix) + (constant) + (word);                                                \
        b = rotate_left(b, 30);                                                                              \
    } while (0)

#define CHOICE(b, c, d)   (d ^ (b & (c ^ d)))
#define PARITY(b, c, d)   (b ^ c ^ d)
#define MAJORITY(b, c, d) ((b & c) | (d & (b | c)))

/* 20 rounds of one kind, from round `first`. */
#define ROUNDS(mix, constant, first)                                                                         \
    for (unsigned t = (first); t < (first) + 20; t += 5) {                                                   \
        STEP(a, b, e, mix(b, c, d), constant, next_word(words, t));                                          \
        STEP(e, a, d, mix(a, b, c), constant, next_word(words, t + 1));                                      \
        STEP(d, e, c, mix(e, a, b), constant, next_word(words, t + 2));                                      \
        STEP(c, d, b, mix(d, e, a), constant, next_word(words, t + 3));                                      \
        STEP(b, c, a, mix(c, d, e), constant, next_word(words, t + 4));                                      \
    }

/* The word of round t; from round 16 on it takes the place of the one that is not needed again. */
INLINE uint32_t next_word(uint32_t words[16], unsigned t)
{
    if (t >= 16) {
        words[t & 15] =
            rotate_left(words[(t + 13) & 15] ^ words[(t + 8) & 15] ^ words[(t + 2) & 15] ^ words[t & 15], 1);
    }
    return words[t & 15];
}

ROUTINE void sha1_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void sha1_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint32_t words[16];

    COUNT(sha1_plain_compress, count, count == 0);
    for (; count != 0; count--) {
        uint32_t *v = state->words;
        uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4];
        for (unsigned i = 0; i < 16; i++) {
            words[i] = load_be32(blocks + 4 * i);
            LOOP_STAYS();
        }
        ROUNDS(CHOICE, 0x5a827999, 0)
        ROUNDS(PARITY, 0x6ed9eba1, 20)
        ROUNDS(MAJORITY, 0x8f1bbcdc, 40)
        ROUNDS(PARITY, 0xca62c1d6, 60)
        v[0] += a;
        v[1] += b;
        v[2] += c;
        v[3] += d;
        v[4] += e;
        blocks += 64;
    }
    wipe_words(words, sizeof words);
}

const struct hash_algorithm sha1_plain = {
    sha1_plain_compress, {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}}, 64, 20, 4, 0};
