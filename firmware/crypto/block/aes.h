/*
 * The contracts of AES (FIPS 197) for machines with 32-bit words; the bodies only say "see aes.h". What crypto.h asks
 * of every cipher holds here, too. Modes of operation are whoever's that calls this.
 *
 * One API, and the variants <name> of it, which ../variants.def lists:
 *
 *   aes_bytes        the S-box as 256 bytes, MixColumns on words
 *   aes_t1           one table of SubBytes and MixColumns together, and rotations
 *   aes_t4           four tables
 *   aes_t4_rv32      the same in RV32 assembly, scheduled for a load's result three cycles later
 *   aes_t4_rv32_unrolled
 *                    the same without loops
 *   aes_bitsliced    two blocks at once, a bit of each byte in a word
 *   aes_fixsliced    the same, with bytes that stay where they are: rounds of four kinds in place of ShiftRows
 *
 * The sliced ones take the same time, and touch the same addresses, whatever the key and the blocks are. The others
 * look tables up by secrets: their time is constant only where every read takes the same time, as in tightly coupled
 * memory. On a machine with a data cache they MUST NOT be used for real keys.
 */
#ifndef SELVEDGE_AES_H
#define SELVEDGE_AES_H

#include <stddef.h>
#include <stdint.h>

#define AES_BLOCK_BYTES 16
#define AES_ROUNDS_MAX  14

/* Words of round keys in use, of `rounds` rounds: of the sliced variants, and of the others. */
#define AES_SLICED_WORDS(rounds) (8 * ((rounds) + 1))
#define AES_WORDS(rounds)        (4 * ((rounds) + 1))

/* What a key is expanded to, whose form is the variant's own. */
struct aes {
    uint32_t rounds;
    uint32_t words[AES_SLICED_WORDS(AES_ROUNDS_MAX)];
};

/*
 * <name>_init expands a key of 16, 24 or 32 bytes for encryption, <name>_init_decrypt for decryption. `key_bytes`
 * MUST be one of these numbers. The caller wipes `key` when he is done with it.
 *
 * <name>_encrypt and <name>_decrypt do `count` blocks in place, each by itself, under a key that was expanded by the
 * same variant for that. Except for aes_bytes, `blocks` MUST lie at a multiple of four. The sliced ones take as long
 * for an odd number of blocks as for one more.
 */
#define VARIANT_AES(name, ...)                                                                               \
    void aes_##name##_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes);                        \
    void aes_##name##_init_decrypt(struct aes *key, const uint8_t *bytes, uint8_t key_bytes);                \
    void aes_##name##_encrypt(const struct aes *key, uint8_t *blocks, size_t count);                         \
    void aes_##name##_decrypt(const struct aes *key, uint8_t *blocks, size_t count);
#include "../variants.def"

/* A part of aes_bytes: row r of the column is `table` of row r of the r-th of these columns. */
uint32_t aes_bytes_substitute(const uint8_t *table, uint32_t a, uint32_t b, uint32_t c, uint32_t d);

#endif
