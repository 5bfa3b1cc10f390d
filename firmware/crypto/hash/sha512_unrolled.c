/*
 * SHA-512's compression with 16 rounds written out, see hash.h: variables stay where they are and change names, and
 * of the words only the last 16 are kept.
 */
#include "../words.h"
#include "hash.h"
#include "sha512_constants.h"

static const uint64_t constants[80] = {SHA512_CONSTANTS};

/* What is common to Ch and Maj of neighbours is computed once: Maj is b when b and c agree, and else a. */
#define ROUND(a, b, c, d, e, f, g, h, constant, word)                                                        \
    do {                                                                                                     \
        uint64_t sum_ = h + (rotate_right_64(e, 14) ^ rotate_right_64(e, 18) ^ rotate_right_64(e, 41)) +               \
                        (g ^ (e & (f ^ g))) + (constant) + (word);                                           \
        uint64_t differ_ = a ^ b;                                                                            \
        d += sum_;                                                                                           \
        h = sum_ + (rotate_right_64(a, 28) ^ rotate_right_64(a, 34) ^ rotate_right_64(a, 39)) + (b ^ (differ_ & same));\
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

INLINE uint64_t next_word(uint64_t words[16], unsigned i)
{
    const uint64_t w2 = words[(i + 14) & 15], w15 = words[(i + 1) & 15];
    words[i] += (rotate_right_64(w15, 1) ^ rotate_right_64(w15, 8) ^ w15 >> 7) + words[(i + 9) & 15] +
                (rotate_right_64(w2, 19) ^ rotate_right_64(w2, 61) ^ w2 >> 6);
    return words[i];
}

ROUTINE void sha512_unrolled_compress(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void sha512_unrolled_compress(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint64_t words[16];

    COUNT(sha512_unrolled_compress, count, count == 0);
    for (; count != 0; count--) {
        const uint64_t *constant = constants, *last = constants + 64;
        uint64_t *v = state->long_words;
        uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
        uint64_t same = b ^ c;
#define WORD(i) (words[i] = load_be64(blocks + 8 * (i)))
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
        blocks += 128;
    }
    wipe_words(words, sizeof words);
}

SHA512_ALGORITHMS(unrolled);
