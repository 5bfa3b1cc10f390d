/*
 * AES of two blocks at once in bit slices without ShiftRows, see aes.h and aes_slices.h: fixslicing (Adomnicai and
 * Peyrin, CHES 2021). After round r row i is i * r columns away from where FIPS 197 has it, so that MixColumns has a
 * form for each r mod 4, and the round keys are moved likewise. No table, and nothing that depends on key or blocks
 * but values.
 */
#include "aes_slices.h"

/* see aes.h */
ROUTINE void aes_fixsliced_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_fixsliced_init, AES_EXPANSION(key_bytes));
    aes_expand(key, bytes, key_bytes);
    aes_slice_keys(key, 1);
}

/* see aes.h */
ROUTINE void aes_fixsliced_init_decrypt(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_fixsliced_init_decrypt);
    aes_fixsliced_init(key, bytes, key_bytes);
}

/* What is left of ShiftRows when all rounds are done, in columns: nothing after 12, two times after 10 and 14, which
   exchanges bytes of columns two apart. */
INLINE void shift_rows_left(uint32_t x[8], uint32_t rounds)
{
    if (rounds != 12) {
        UNROLLED
        for (unsigned i = 0; i < 4; i++) {
            uint32_t difference = (x[i] ^ x[i + 4]) & 0xff00ff00;
            x[i] ^= difference;
            x[i + 4] ^= difference;
        }
    }
}

INLINE void encrypt_round(uint32_t x[8], const uint32_t *words, unsigned columns)
{
    aes_substitute(x);
    aes_mix(x, columns);
    aes_add_key(x, words);
}

INLINE void decrypt_round(uint32_t x[8], const uint32_t *words, unsigned columns)
{
    aes_unmix(x, columns);
    aes_unsubstitute(x);
    aes_add_key(x, words);
}

/* see aes.h */
ROUTINE void aes_fixsliced_encrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 8 * (key->rounds - 1);
    uint32_t x[8];

    COUNT(aes_fixsliced_encrypt, (count + 1) / 2, (count + 1) / 2 * key->rounds, count % 2,
          (count + 1) / 2 * (key->rounds == 12), count == 0);
    while (count != 0) {
        const uint32_t *words = key->words;
        const size_t taken = count == 1 ? 1 : 2;
        aes_load(x, blocks, taken);
        aes_transpose(x);
        aes_add_key(x, words);
        for (;;) {
            encrypt_round(x, words + 8, 1);
            if (words + 8 == last) {
                break;
            }
            encrypt_round(x, words + 16, 2);
            encrypt_round(x, words + 24, 3);
            if (words + 24 == last) {
                break;
            }
            words += 32;
            encrypt_round(x, words, 0);
        }
        aes_substitute(x);
        aes_add_key(x, last + 8);
        aes_transpose(x);
        shift_rows_left(x, key->rounds);
        aes_store(x, blocks, taken);
        blocks += taken * AES_BLOCK_BYTES;
        count -= taken;
    }
    wipe_words(x, sizeof x);
}

/* see aes.h */
ROUTINE void aes_fixsliced_decrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 8 * key->rounds;
    uint32_t x[8];

    COUNT(aes_fixsliced_decrypt, (count + 1) / 2, (count + 1) / 2 * key->rounds, count % 2,
          (count + 1) / 2 * (key->rounds == 12), count == 0);
    while (count != 0) {
        const uint32_t *next = last - 16;
        const size_t taken = count == 1 ? 1 : 2;
        uint8_t is_late = key->rounds == 12;
        aes_load(x, blocks, taken);
        shift_rows_left(x, key->rounds);
        aes_transpose(x);
        aes_add_key(x, last);
        aes_unsubstitute(x);
        aes_add_key(x, last - 8);
        for (;;) {
            if (!is_late) {
                decrypt_round(x, next, 1);
                if (next == key->words) {
                    break;
                }
                decrypt_round(x, next - 8, 0);
                next -= 16;
            }
            is_late = 0;
            decrypt_round(x, next, 3);
            decrypt_round(x, next - 8, 2);
            next -= 16;
        }
        aes_transpose(x);
        aes_store(x, blocks, taken);
        blocks += taken * AES_BLOCK_BYTES;
        count -= taken;
    }
    wipe_words(x, sizeof x);
}
