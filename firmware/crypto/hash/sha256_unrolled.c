/*
 * SHA-256's compression with 16 rounds written out, see hash.h: variables stay where they are and change names, and
 * of the words only the last 16 are kept.
 */
#include "../words.h"
#include "hash.h"
#include "sha256_constants.h"

#ifndef SHA256_VARIANT
#define SHA256_VARIANT unrolled
#endif
#define SHA256_JOIN_(variant) sha256_##variant##_compress
#define SHA256_JOIN(variant)  SHA256_JOIN_(variant)
#define SHA256_COMPRESS       SHA256_JOIN(SHA256_VARIANT)
#define SHA256_OBJECTS_(variant) SHA256_ALGORITHMS(variant)
#define SHA256_OBJECTS(variant)  SHA256_OBJECTS_(variant)

static const uint32_t constants[64] = {SHA256_CONSTANTS};

/* What is common to Ch and Maj of neighbours is computed once: Maj is b when b and c agree, and else a. */
#define ROUND(a, b, c, d, e, f, g, h, constant, word)                                                        \
    do {                                                                                                     \
        uint32_t sum_ = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +               \
                        (g ^ (e & (f ^ g))) + (constant) + (word);                                           \
        uint32_t differ_ = a ^ b;                                                                            \
        d += sum_;                                                                                           \
        h = sum_ + (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + (b ^ (differ_ & same));\
        same = differ_;                                                                                      \
    } while (0)

/* Eight rounds, from round `i` of 16: the first of them are WORD(i). */
#define ROUNDS(i)                                                                                            \
    ROUND(a, b, c, d, e, f, g, h, constant[(i) + 0], WORD((i) + 0));                                         \
    ROUND(h, a, b, c, d, e, f, g, constant[(i) + 1], WORD((i) + 1));                                         \
    ROUND(g, h, a, b, c, d, e, f, constant[(i) + 2], WORD((i) + 2));                                         \
    ROUND(f, g, h, a, b, c, d, e, constant[(i) + 3], WORD((i) + 3));                                         \
    ROUND(e, f, g, h, a, b, c, d, constant[(i) + 4], WORD((i) + 4));                                         \
    ROUND(d, e, f, g, h, a, b, c, constant[(i) + 5], WORD((i) + 5));                                         \
    ROUND(c, d, e, f, g, h, a, b, constant[(i) + 6], WORD((i) + 6));                                         \
    ROUND(b, c, d, e, f, g, h, a, constant[(i) + 7], WORD((i) + 7))

INLINE uint32_t next_word(uint32_t words[16], unsigned i)
{
    const uint32_t w2 = words[(i + 14) & 15], w15 = words[(i + 1) & 15];
    words[i] += (rotate_right(w15, 7) ^ rotate_right(w15, 18) ^ w15 >> 3) + words[(i + 9) & 15] +
                (rotate_right(w2, 17) ^ rotate_right(w2, 19) ^ w2 >> 10);
    return words[i];
}

ROUTINE void SHA256_COMPRESS(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void SHA256_COMPRESS(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint32_t words[16];

    COUNT(SHA256_COMPRESS, count, count == 0);
    for (; count != 0; count--) {
        const uint32_t *constant = constants, *last = constants + 48;
        uint32_t *v = state->words;
        uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
        uint32_t same = b ^ c;
#define WORD(i) (words[i] = load_be32(blocks + 4 * (i)))
        ROUNDS(0);
        ROUNDS(8);
#undef WORD
#define WORD(i) next_word(words, i)
        do {
            constant += 16;
            ROUNDS(0);
            ROUNDS(8);
        } while (constant != last);
#undef WORD
        v[0] += a;
        v[1] += b;
        v[2] += c;
        v[3] += d;
        v[4] += e;
        v[5] += f;
        v[6] += g;
        v[7] += h;
        blocks += 64;
    }
    wipe_words(words, sizeof words);
}

SHA256_OBJECTS(SHA256_VARIANT);
