/*
 * SHA-256's compression as FIPS 180-4 is written, see hash.h: 64 words are made first, and eight variables move on by
 * one in every round.
 */
#include "../words.h"
#include "hash.h"
#include "sha256_constants.h"

static const uint32_t constants[64] = {SHA256_CONSTANTS};

ROUTINE void sha256_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count);

/* see hash.h */
ROUTINE void sha256_plain_compress(union hash_state *state, const uint8_t *blocks, size_t count)
{
    uint32_t words[64], v[8];

    COUNT(sha256_plain_compress, count, count == 0);
    for (; count != 0; count--) {
        for (unsigned t = 0; t < 16; t++) {
            words[t] = load_be32(blocks + 4 * t);
            LOOP_STAYS();
        }
        for (unsigned t = 16; t < 64; t++) {
            const uint32_t w2 = words[t - 2], w15 = words[t - 15];
            words[t] = words[t - 16] + (rotate_right(w15, 7) ^ rotate_right(w15, 18) ^ w15 >> 3) + words[t - 7] +
                       (rotate_right(w2, 17) ^ rotate_right(w2, 19) ^ w2 >> 10);
        }
        for (unsigned i = 0; i < 8; i++) {
            v[i] = state->words[i];
            LOOP_STAYS();
        }
        for (unsigned t = 0; t < 64; t++) {
            const uint32_t a = v[0], e = v[4];
            const uint32_t first = v[7] + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                                   ((e & v[5]) ^ (~e & v[6])) + constants[t] + words[t];
            const uint32_t second = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                                    ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            UNROLLED
            for (unsigned i = 7; i != 0; i--) {
                v[i] = v[i - 1];
            }
            v[4] += first;
            v[0] = first + second;
        }
        for (unsigned i = 0; i < 8; i++) {
            state->words[i] += v[i];
            LOOP_STAYS();
        }
        blocks += 64;
    }
    wipe_words(words, sizeof words);
    wipe_words(v, sizeof v);
}

SHA256_ALGORITHMS(plain);
