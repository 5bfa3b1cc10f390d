/*
 * SHA-2's compression as FIPS 180-4 is written, see hash.h: all words are made first, and eight variables move on by
 * one in every round. Part of sha256_plain.c and sha512_plain.c.
 */
#include "sha2_words.h"

/* see hash.h */
ROUTINE void SHA2_COMPRESS(union hash_state *state, const uint8_t *blocks, size_t count)
{
    sha2_word words[SHA2_ROUNDS], v[8];

    COUNT(SHA2_COMPRESS, count, count == 0);
    for (; count != 0; count--) {
        for (unsigned t = 0; t < 16; t++) {
            words[t] = SHA2_LOAD(blocks + sizeof(sha2_word) * t);
            LOOP_STAYS();
        }
        for (unsigned t = 16; t < SHA2_ROUNDS; t++) {
            const sha2_word w2 = words[t - 2], w15 = words[t - 15];
            words[t] = words[t - 16] + SHA2_SIGMA_0(w15) + words[t - 7] + SHA2_SIGMA_1(w2);
        }
        for (unsigned i = 0; i < 8; i++) {
            v[i] = state->SHA2_STATE[i];
            LOOP_STAYS();
        }
        for (unsigned t = 0; t < SHA2_ROUNDS; t++) {
            const sha2_word a = v[0], e = v[4];
            const sha2_word first = v[7] + SHA2_SUM_1(e) + ((e & v[5]) ^ (~e & v[6])) + constants[t] + words[t];
            const sha2_word second = SHA2_SUM_0(a) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
            UNROLLED
            for (unsigned i = 7; i != 0; i--) {
                v[i] = v[i - 1];
            }
            v[4] += first;
            v[0] = first + second;
        }
        for (unsigned i = 0; i < 8; i++) {
            state->SHA2_STATE[i] += v[i];
            LOOP_STAYS();
        }
        blocks += SHA2_BLOCK_BYTES;
    }
    wipe_words(words, sizeof words);
    wipe_words(v, sizeof v);
}
