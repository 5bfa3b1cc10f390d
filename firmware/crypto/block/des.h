/*
 * The contracts of DES and of Triple DES with two and three keys (SP 800-67; encrypt, decrypt, encrypt) for machines
 * with 32-bit words; the bodies only say "see des.h". What crypto.h asks of every cipher holds here, too. Modes of
 * operation are whoever's that calls this.
 *
 * LEGACY: DES's keys are too short, and NIST withdrew Triple DES, whose blocks are. They are here for what TLS once
 * was.
 *
 * One API, and the variants <name> of it, which ../variants.def lists:
 *
 *   des_textbook   as FIPS 46-3 is written: bits move by tables of where they come from
 *   des_swaps      bits move by exchanges of many at once, and S-boxes are looked up by themselves
 *   des_sp         tables of S-box and permutation together
 *   des_bitsliced  32 blocks at once, a bit of each in a word: permutations are names, S-boxes are gates
 *
 * des_bitsliced takes the same time, and touches the same addresses, whatever the key and the blocks are, and so do
 * all key schedules. The others look tables up by what they encrypt: their time is constant only where every read
 * takes the same time, as in tightly coupled memory. On a machine with a data cache they MUST NOT be used for real
 * keys.
 */
#ifndef SELVEDGE_DES_H
#define SELVEDGE_DES_H

#include <stddef.h>
#include <stdint.h>

#define DES_BLOCK_BYTES 8
#define DES_ROUNDS      16

/* What a key is expanded to, in the order in which it is used: two words a round, whose form is the variant's own. */
struct des {
    uint32_t rounds; /* 16, or 48 of Triple DES */
    uint32_t words[3 * 2 * DES_ROUNDS];
};

/*
 * <name>_init expands a key for encryption, <name>_init_decrypt for decryption: of 8 bytes for DES, of 16 for Triple
 * DES with the first key as the third, of 24 for Triple DES. `key_bytes` MUST be one of these numbers. Parity bits
 * are ignored. The caller wipes `key` when he is done with it.
 *
 * <name>_crypt does `count` blocks in place, each by itself, under a key that the same variant expanded.
 * des_bitsliced takes as long for any number of blocks as for the next multiple of 32.
 */
#define VARIANT_DES(name, ...)                                                                               \
    void des_##name##_init(struct des *key, const uint8_t *bytes, uint8_t key_bytes);                        \
    void des_##name##_init_decrypt(struct des *key, const uint8_t *bytes, uint8_t key_bytes);                \
    void des_##name##_crypt(const struct des *key, uint8_t *blocks, size_t count);
#include "../variants.def"

/* Parts of des_bitsliced: bit i of word j becomes bit j of word i; and f of a half, a bit of each block in a word. */
void des_bitsliced_transpose(uint32_t words[32]);
void des_bitsliced_round(uint32_t left[32], const uint32_t right[32], const uint32_t words[2]);

/* Parts of des_textbook. `from` says which bits of `source`, counted from 1, those of `bytes` bytes of `to` are. */
void des_textbook_permute(uint8_t *to, const uint8_t *source, const uint8_t *from, unsigned bytes);
/* A byte of 12 bits, by S-boxes number `pair`, from 0, and the one behind it. */
uint8_t des_textbook_substitute(unsigned pair, uint32_t bits);

#endif
