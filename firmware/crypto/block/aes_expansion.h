/*
 * The key expansion of AES (FIPS 197 section 5.2) to columns, see aes.h.
 *
 * Who includes this defines before it substitute_word, SubWord on a column. Nothing else here looks up or branches by
 * secrets.
 */
#ifndef SELVEDGE_AES_EXPANSION_H
#define SELVEDGE_AES_EXPANSION_H

#include "../estimate.h"
#include "../words.h"
#include "aes.h"
#include "aes_columns.h"

/* The words of round keys, in order; `rounds` follows from the length of the key. */
INLINE void aes_expand(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    const uint32_t key_words = key_bytes / 4u;
    const uint32_t words = AES_WORDS(key_words + 6);
    uint32_t *word = key->words;
    uint32_t *end = word + words;
    uint32_t constant = 1;
    uint32_t last = 0;
    uint32_t left;

    key->rounds = key_words + 6;
    for (left = key_words; left != 0; left--) {
        last = load_le32(bytes);
        *word++ = last;
        bytes += 4;
    }
    left = key_words;
    while (word != end) {
        if (left == key_words) {
            last = substitute_word(rotate_right(last, 8)) ^ constant;
            constant = aes_twice(constant);
        } else if (key_words == 8 && left == 4) {
            last = substitute_word(last);
        }
        last ^= word[-(int)key_words];
        *word++ = last;
        if (--left == 0) {
            left = key_words;
        }
    }
}

/* How often aes_expand substitutes, and how many words it makes: the features of an expansion. */
#define AES_EXPANSION(key_bytes)                                                                             \
    AES_WORDS((key_bytes) / 4 + 6), (key_bytes) == 16 ? 10 : (key_bytes) == 24 ? 8 : 13

#endif
