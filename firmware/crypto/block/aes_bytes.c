/*
 * AES over an S-box of 256 bytes, see aes.h: the smallest. The state is its four columns, a byte of each is looked up
 * for a column of the next round, and MixColumns is done on whole words.
 */
#include "../aes_sbox.h"
#include "../estimate.h"
#include "../words.h"
#include "aes.h"

#include <stdint.h>

static const uint8_t sbox[256] = { AES_SBOX };
static const uint8_t inverse_sbox[256] = { AES_INVERSE_SBOX };

/* see aes.h. SubBytes and ShiftRows of a column: what an instruction of one's own would stand for. */
ROUTINE uint32_t aes_bytes_substitute(const uint8_t *table, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    COUNT(aes_bytes_substitute);
    return table[a & 0xff] | (uint32_t)table[b >> 8 & 0xff] << 8 | (uint32_t)table[c >> 16 & 0xff] << 16 |
           (uint32_t)table[d >> 24] << 24;
}

INLINE uint32_t substitute_word(uint32_t word)
{
    return aes_bytes_substitute(sbox, word, word, word, word);
}

#include "aes_expansion.h"

/* see aes.h */
ROUTINE void aes_bytes_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_bytes_init, AES_EXPANSION(key_bytes));
    aes_expand(key, bytes, key_bytes);
}

/* see aes.h: decryption walks through the same round keys from their end. */
ROUTINE void aes_bytes_init_decrypt(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_bytes_init_decrypt);
    aes_bytes_init(key, bytes, key_bytes);
}

/* see aes.h */
ROUTINE void aes_bytes_encrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 4 * key->rounds;

    COUNT(aes_bytes_encrypt, count, count * key->rounds, count == 0);
    for (; count != 0; count--) {
        const uint32_t *words = key->words;
        uint32_t a = load_le32(blocks) ^ words[0], b = load_le32(blocks + 4) ^ words[1];
        uint32_t c = load_le32(blocks + 8) ^ words[2], d = load_le32(blocks + 12) ^ words[3];
        for (;;) {
            uint32_t e = aes_bytes_substitute(sbox, a, b, c, d), f = aes_bytes_substitute(sbox, b, c, d, a);
            uint32_t g = aes_bytes_substitute(sbox, c, d, a, b), h = aes_bytes_substitute(sbox, d, a, b, c);
            words += 4;
            if (words == last) {
                store_le32(blocks, e ^ words[0]);
                store_le32(blocks + 4, f ^ words[1]);
                store_le32(blocks + 8, g ^ words[2]);
                store_le32(blocks + 12, h ^ words[3]);
                break;
            }
            a = aes_mix_column(e) ^ words[0];
            b = aes_mix_column(f) ^ words[1];
            c = aes_mix_column(g) ^ words[2];
            d = aes_mix_column(h) ^ words[3];
        }
        blocks += AES_BLOCK_BYTES;
    }
}

/* see aes.h */
ROUTINE void aes_bytes_decrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words;

    COUNT(aes_bytes_decrypt, count, count * key->rounds, count == 0);
    for (; count != 0; count--) {
        const uint32_t *words = key->words + 4 * key->rounds;
        uint32_t a = load_le32(blocks) ^ words[0], b = load_le32(blocks + 4) ^ words[1];
        uint32_t c = load_le32(blocks + 8) ^ words[2], d = load_le32(blocks + 12) ^ words[3];
        for (;;) {
            uint32_t e, f, g, h;
            words -= 4;
            e = aes_bytes_substitute(inverse_sbox, a, d, c, b) ^ words[0];
            f = aes_bytes_substitute(inverse_sbox, b, a, d, c) ^ words[1];
            g = aes_bytes_substitute(inverse_sbox, c, b, a, d) ^ words[2];
            h = aes_bytes_substitute(inverse_sbox, d, c, b, a) ^ words[3];
            if (words == last) {
                store_le32(blocks, e);
                store_le32(blocks + 4, f);
                store_le32(blocks + 8, g);
                store_le32(blocks + 12, h);
                break;
            }
            a = aes_unmix_column(e);
            b = aes_unmix_column(f);
            c = aes_unmix_column(g);
            d = aes_unmix_column(h);
        }
        blocks += AES_BLOCK_BYTES;
    }
}
