/*
 * What the variants of AES do to columns: a word is a column of the state, row r in bits 8r to 8r + 7. MixColumns and
 * its inverse on a whole word (FIPS 197 sections 5.1.3 and 5.3.3), and the key expansion (section 5.2) over a S-box that
 * the variant brings. Nothing here looks up or branches by secrets, except what the variant brings.
 */
#ifndef SELVEDGE_AES_COLUMNS_H
#define SELVEDGE_AES_COLUMNS_H

#include "../estimate.h"
#include "../words.h"
#include "aes.h"

/* Each byte times x in GF(2^8). */
INLINE uint32_t aes_twice(uint32_t bytes)
{
    uint32_t high = bytes & 0x80808080;
    return (bytes ^ high) << 1 ^ (high >> 7) * 0x1b;
}

/* Each byte times x, where a multiplication takes longer than shifts. */
INLINE uint32_t aes_mix_column(uint32_t column)
{
    uint32_t next = rotate_right(column, 8);
    uint32_t sum = column ^ next;
    return aes_twice(sum) ^ next ^ rotate_right(sum, 16);
}

/* MixColumns after a column's bytes times 5 and those of two rows further times 4. */
INLINE uint32_t aes_unmix_column(uint32_t column)
{
    return aes_mix_column(column ^ aes_twice(aes_twice(column ^ rotate_right(column, 16))));
}

/* The words of round keys, in order, with SubWord as given; `rounds` follows from the length of the key. */
INLINE void aes_expand(struct aes *key, const uint8_t *bytes, uint8_t key_bytes, uint32_t (*substitute)(uint32_t))
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
            last = substitute(rotate_right(last, 8)) ^ constant;
            constant = aes_twice(constant);
        } else if (key_words == 8 && left == 4) {
            last = substitute(last);
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
