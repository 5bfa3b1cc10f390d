/*
 * AES of two blocks at once in bit slices, see aes.h and aes_slices.h: rounds as FIPS 197 has them. No table, and
 * nothing that depends on key or blocks but values.
 */
#include "aes_slices.h"

/* A swap of the columns of some rows, `by` bits apart in a byte. */
INLINE uint32_t swap_columns(uint32_t word, unsigned by, uint32_t mask)
{
    uint32_t difference = (word ^ word >> by) & mask;
    return word ^ difference ^ difference << by;
}

/* Row r moves by r columns: rows 1 and 3 in two swaps, as a rotation of four is. */
INLINE void shift_rows(uint32_t x[8])
{
    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        x[i] = swap_columns(swap_columns(x[i], 2, 0x33003300), 4, 0x030f0c00);
    }
}

INLINE void unshift_rows(uint32_t x[8])
{
    UNROLLED
    for (unsigned i = 0; i < 8; i++) {
        x[i] = swap_columns(swap_columns(x[i], 4, 0x030f0c00), 2, 0x33003300);
    }
}

/* see aes.h */
ROUTINE void aes_bitsliced_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_bitsliced_init, AES_EXPANSION(key_bytes));
    aes_expand(key, bytes, key_bytes);
    aes_slice_keys(key, 0);
}

/* see aes.h */
ROUTINE void aes_bitsliced_init_decrypt(struct aes *key, const uint8_t *bytes, uint8_t key_bytes)
{
    COUNT(aes_bitsliced_init_decrypt);
    aes_bitsliced_init(key, bytes, key_bytes);
}

/* see aes.h */
ROUTINE void aes_bitsliced_encrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    const uint32_t *last = key->words + 8 * key->rounds;
    uint32_t x[8];

    COUNT(aes_bitsliced_encrypt, (count + 1) / 2, (count + 1) / 2 * key->rounds, count % 2, count == 0);
    while (count != 0) {
        const uint32_t *words = key->words;
        const size_t taken = count == 1 ? 1 : 2;
        aes_load(x, blocks, taken);
        aes_transpose(x);
        aes_add_key(x, words);
        for (;;) {
            words += 8;
            aes_substitute(x);
            shift_rows(x);
            if (words == last) {
                break;
            }
            aes_mix(x, 0);
            aes_add_key(x, words);
        }
        aes_add_key(x, words);
        aes_transpose(x);
        aes_store(x, blocks, taken);
        blocks += taken * AES_BLOCK_BYTES;
        count -= taken;
    }
    wipe_words(x, sizeof x);
}

/* see aes.h */
ROUTINE void aes_bitsliced_decrypt(const struct aes *key, uint8_t *blocks, size_t count)
{
    uint32_t x[8];

    COUNT(aes_bitsliced_decrypt, (count + 1) / 2, (count + 1) / 2 * key->rounds, count % 2, count == 0);
    while (count != 0) {
        const uint32_t *words = key->words + 8 * key->rounds;
        const size_t taken = count == 1 ? 1 : 2;
        aes_load(x, blocks, taken);
        aes_transpose(x);
        aes_add_key(x, words);
        for (;;) {
            words -= 8;
            unshift_rows(x);
            aes_unsubstitute(x);
            aes_add_key(x, words);
            if (words == key->words) {
                break;
            }
            aes_unmix(x, 0);
        }
        aes_transpose(x);
        aes_store(x, blocks, taken);
        blocks += taken * AES_BLOCK_BYTES;
        count -= taken;
    }
    wipe_words(x, sizeof x);
}
