/*
 * SHA-2's compression with 16 rounds written out, see hash.h: variables stay where they are and change names, and
 * of the words only the last 16 are kept. Part of sha256_unrolled.c and sha512_unrolled.c, and on machines that are not
 * RV32 of sha256_rv32.c.
 */
#include "sha2_words.h"

/* What is common to Ch and Maj of neighbours is computed once: Maj is b when b and c agree, and else a. */
#define ROUND(a, b, c, d, e, f, g, h, constant, word)                                                        \
    do {                                                                                                     \
        sha2_word sum_ = h + SHA2_SUM_1(e) + (g ^ (e & (f ^ g))) + (constant) + (word);                      \
        sha2_word differ_ = a ^ b;                                                                           \
        d += sum_;                                                                                           \
        h = sum_ + SHA2_SUM_0(a) + (b ^ (differ_ & same));                                                   \
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

INLINE sha2_word next_word(sha2_word words[16], unsigned i)
{
    const sha2_word w2 = words[(i + 14) & 15], w15 = words[(i + 1) & 15];
    words[i] += SHA2_SIGMA_0(w15) + words[(i + 9) & 15] + SHA2_SIGMA_1(w2);
    return words[i];
}

/* see hash.h */
ROUTINE void SHA2_COMPRESS(union hash_state *state, const uint8_t *blocks, size_t count)
{
    sha2_word words[16];

    COUNT(SHA2_COMPRESS, count, count == 0);
    for (; count != 0; count--) {
        const sha2_word *constant = constants, *last = constants + SHA2_ROUNDS - 16;
        sha2_word *v = state->SHA2_STATE;
        sha2_word a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
        sha2_word same = b ^ c;
#define WORD(i) (words[i] = SHA2_LOAD(blocks + sizeof(sha2_word) * (i)))
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
        blocks += SHA2_BLOCK_BYTES;
    }
    wipe_words(words, sizeof words);
}
