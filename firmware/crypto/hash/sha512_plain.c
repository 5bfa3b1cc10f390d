/*
 * SHA-512's compression as FIPS 180-4 is written, see hash.h: 80 words are made first, and eight variables move on by
 * one in every round.
 */
#include "../words.h"
#include "hash.h"
#include "sha512_constants.h"

static const uint64_t constants[80] = {SHA512_CONSTANTS};

ROUTINE void sha512_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void sha512_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint64_t words[80], v[8];

    COUNT(sha512_plain_compress, count, count == 0);
    for (; count != 0; count--) {
        for (unsigned t = 0; t < 16; t++) {
            words[t] = load_be64(blocks + 8 * t);
            LOOP_STAYS();
        }
        for (unsigned t = 16; t < 80; t++) {
            const uint64_t w2 = words[t - 2], w15 = words[t - 15];
            words[t] = words[t - 16] + (rotate_right_64(w15, 1) ^ rotate_right_64(w15, 8) ^ w15 >> 7) + words[t - 7] +
                       (rotate_right_64(w2, 19) ^ rotate_right_64(w2, 61) ^ w2 >> 6);
        }
        for (unsigned i = 0; i < 8; i++) {
            v[i] = state->long_words[i];
            LOOP_STAYS();
        }
        for (unsigned t = 0; t < 80; t++) {
            const uint64_t a = v[0], e = v[4];
            const uint64_t first = v[7] + (rotate_right_64(e, 14) ^ rotate_right_64(e, 18) ^ rotate_right_64(e, 41)) +
                                   ((e & v[5]) ^ (~e & v[6])) + constants[t] + words[t];
            const uint64_t second = (rotate_right_64(a, 28) ^ rotate_right_64(a, 34) ^ rotate_right_64(a, 39)) +
                                    ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            UNROLLED
            for (unsigned i = 7; i != 0; i--) {
                v[i] = v[i - 1];
            }
            v[4] += first;
            v[0] = first + second;
        }
        for (unsigned i = 0; i < 8; i++) {
            state->long_words[i] += v[i];
            LOOP_STAYS();
        }
        blocks += 128;
    }
    wipe_words(words, sizeof words);
    wipe_words(v, sizeof v);
}

SHA512_ALGORITHMS(plain);
