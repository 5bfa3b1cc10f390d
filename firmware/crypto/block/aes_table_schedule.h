/*
 * The key expansion of a variant that decrypts by the equivalent inverse cipher (FIPS 197 section 5.3.5), see aes.h.
 *
 * Who includes this defines AES_VARIANT, and an S-box of 256 bytes, `sbox`.
 */
#include "../words.h"

#define AES_JOIN_(variant, suffix) variant##suffix
#define AES_JOIN(variant, suffix)  AES_JOIN_(variant, suffix)
#define AES_INIT                   AES_JOIN(AES_VARIANT, _init)
#define AES_INIT_DECRYPT           AES_JOIN(AES_VARIANT, _init_decrypt)

INLINE uint32_t substitute_word(uint32_t word)
{
    return sbox[word & 0xff] | (uint32_t)sbox[word >> 8 & 0xff] << 8 | (uint32_t)sbox[word >> 16 & 0xff] << 16 |
           (uint32_t)sbox[word >> 24] << 24;
}

#include "aes_expansion.h"

/* see aes.h */
ROUTINE void AES_INIT(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(AES_INIT, AES_EXPANSION(key_bytes));
    aes_expand(key, bytes, key_bytes);
}

/* see aes.h: the round keys from the last to the first, and InvMixColumns of those between. */
ROUTINE void AES_INIT_DECRYPT(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    uint32_t *low = key->words;
    uint32_t *high;

    COUNT(AES_INIT_DECRYPT, AES_WORDS(key_bytes / 4 + 6));
    AES_INIT(key, bytes, key_bytes);
    high = low + 4 * key->rounds;
    for (uint32_t *word = low + 4; word != high; word++) {
        *word = aes_unmix_column(*word);
    }
    for (; low < high; high -= 8) {
        for (uint8_t i = 4; i != 0; i--) {
            uint32_t word = *low;
            *low++ = *high;
            *high++ = word;
        }
    }
}
