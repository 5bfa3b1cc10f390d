/*
 * AES's rounds over tables, see aes.h and aes_tables.h. Decryption is the equivalent inverse cipher (FIPS 197 section
 * 5.3.5), so that both ways look the same.
 *
 * Who includes this defines AES_VARIANT; the tables `tables` and `inverse_tables`, and the S-boxes `sbox` and
 * `inverse_sbox`; and COLUMN(tables, a, b, c, d), the entries of row 0 of a, row 1 of b, row 2 of c and row 3 of d
 * together, for which AES_AT helps.
 */
#include "aes_table_schedule.h"

#define AES_ENCRYPT AES_JOIN(AES_VARIANT, _encrypt)
#define AES_DECRYPT AES_JOIN(AES_VARIANT, _decrypt)

/* What the time of `count` blocks depends on, where rounds go round. */
#ifndef AES_FEATURES
#define AES_FEATURES(count, rounds) (count), (count) * (rounds), (count) == 0
#endif

/* Rows 0 to 3 of four columns, of the last round. */
#define LAST_COLUMN(table, a, b, c, d)                                                                       \
    ((table)[(a) & 0xff] | (uint32_t)(table)[(b) >> 8 & 0xff] << 8 |                                         \
     (uint32_t)(table)[(c) >> 16 & 0xff] << 16 | (uint32_t)(table)[(d) >> 24] << 24)

/* see aes.h */
ROUTINE void AES_ENCRYPT(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 4 * key->rounds;

    COUNT(AES_ENCRYPT, AES_FEATURES(count, key->rounds));
    for (; count != 0; count--) {
        const uint32_t *words = key->words;
        uint32_t a = load_word(blocks) ^ words[0], b = load_word(blocks + 4) ^ words[1];
        uint32_t c = load_word(blocks + 8) ^ words[2], d = load_word(blocks + 12) ^ words[3];
        for (;;) {
            uint32_t e = words[4] ^ COLUMN(tables, a, b, c, d), f = words[5] ^ COLUMN(tables, b, c, d, a);
            uint32_t g = words[6] ^ COLUMN(tables, c, d, a, b), h = words[7] ^ COLUMN(tables, d, a, b, c);
            words += 8;
            if (words + 4 > last) {
                store_word(blocks, words[0] ^ LAST_COLUMN(sbox, e, f, g, h));
                store_word(blocks + 4, words[1] ^ LAST_COLUMN(sbox, f, g, h, e));
                store_word(blocks + 8, words[2] ^ LAST_COLUMN(sbox, g, h, e, f));
                store_word(blocks + 12, words[3] ^ LAST_COLUMN(sbox, h, e, f, g));
                break;
            }
            a = words[0] ^ COLUMN(tables, e, f, g, h);
            b = words[1] ^ COLUMN(tables, f, g, h, e);
            c = words[2] ^ COLUMN(tables, g, h, e, f);
            d = words[3] ^ COLUMN(tables, h, e, f, g);
        }
        blocks += AES_BLOCK_BYTES;
    }
}

/* see aes.h */
ROUTINE void AES_DECRYPT(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 4 * key->rounds;

    COUNT(AES_DECRYPT, AES_FEATURES(count, key->rounds));
    for (; count != 0; count--) {
        const uint32_t *words = key->words;
        uint32_t a = load_word(blocks) ^ words[0], b = load_word(blocks + 4) ^ words[1];
        uint32_t c = load_word(blocks + 8) ^ words[2], d = load_word(blocks + 12) ^ words[3];
        for (;;) {
            uint32_t e = words[4] ^ COLUMN(inverse_tables, a, d, c, b);
            uint32_t f = words[5] ^ COLUMN(inverse_tables, b, a, d, c);
            uint32_t g = words[6] ^ COLUMN(inverse_tables, c, b, a, d);
            uint32_t h = words[7] ^ COLUMN(inverse_tables, d, c, b, a);
            words += 8;
            if (words + 4 > last) {
                store_word(blocks, words[0] ^ LAST_COLUMN(inverse_sbox, e, h, g, f));
                store_word(blocks + 4, words[1] ^ LAST_COLUMN(inverse_sbox, f, e, h, g));
                store_word(blocks + 8, words[2] ^ LAST_COLUMN(inverse_sbox, g, f, e, h));
                store_word(blocks + 12, words[3] ^ LAST_COLUMN(inverse_sbox, h, g, f, e));
                break;
            }
            a = words[0] ^ COLUMN(inverse_tables, e, h, g, f);
            b = words[1] ^ COLUMN(inverse_tables, f, e, h, g);
            c = words[2] ^ COLUMN(inverse_tables, g, f, e, h);
            d = words[3] ^ COLUMN(inverse_tables, h, g, f, e);
        }
        blocks += AES_BLOCK_BYTES;
    }
}
