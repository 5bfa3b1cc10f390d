/*
 * The contracts of every cipher in this folder; the bodies only say "see crypto.h".
 *
 * Names are <alg>_<variant>_<op>. One file implements one variant of one algorithm, so the folder's listing
 * is the list of what can be measured. All variants of an algorithm have the same operations with the same
 * contracts and give the same bytes; they differ in cycles, in code size and in which chips they run on:
 *
 *   ascon_aead128_c64   64-bit words in plain C, for the host and RV32
 *   ascon_aead128_c8    bytes in plain C, for 8-bit chips and for reading
 *   ascon_aead128_avr   the permutation in AVR assembly (ascon_p_avr.S)
 *   aes128_ccm_c8       bytes in plain C, S-box in flash; 13-byte nonce, 8-byte tag
 *   aes128_ccm_avr      the same with the block cipher in AVR assembly (aes128_avr.S)
 *
 * Rules for all of them:
 *  - The caller owns all memory. Nothing is allocated, nothing is kept between calls, every function may be
 *    called from several contexts at once.
 *  - A pointer MUST NOT be NULL unless its length is 0.
 *  - Objects that are passed to one call MUST NOT overlap; the tag MAY begin where the buffer ends.
 *  - No object needs any alignment.
 *  - Neither the time taken nor the addresses touched depend on keys, nonces, messages or tags, except where
 *    a variant says so; they do depend on the lengths. The result of an open is not secret.
 *  - Every object with a secret in it that a function declares is wiped before the function returns. What a C
 *    compiler spills to the stack besides is out of its reach; the assembly spills nothing of the state.
 */
#ifndef SELVEDGE_CRYPTO_H
#define SELVEDGE_CRYPTO_H

#include <stddef.h>
#include <stdint.h>

#define ASCON_AEAD128_KEY_BYTES   16
#define ASCON_AEAD128_NONCE_BYTES 16
#define ASCON_AEAD128_TAG_BYTES   16

#define AES128_CCM_KEY_BYTES   16
#define AES128_CCM_NONCE_BYTES 13
#define AES128_CCM_TAG_BYTES   8

/*
 * <alg>_<variant>_seal: encrypts `length` bytes at `buffer` in place and writes the tag over them, the nonce
 * and the associated data.
 *
 * A nonce MUST NOT be used for two messages under one key. For aes128_ccm, `length` MUST be below 65536 and
 * `ad_length` below 65280.
 *
 * <alg>_<variant>_open: returns 1 and leaves the plaintext in `buffer` when the tag is right; otherwise
 * returns 0 and leaves zeros. `buffer` MUST NOT be used by anybody else in between, since it holds
 * unauthenticated plaintext until the function returns. Tags are compared in constant time.
 */
#define SELVEDGE_AEAD(name)                                                                                  \
    void name##_seal(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length,                    \
                     const uint8_t *nonce, const uint8_t *key, uint8_t *tag);                                \
    uint8_t name##_open(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length,                 \
                        const uint8_t *nonce, const uint8_t *key, const uint8_t *tag)

SELVEDGE_AEAD(ascon_aead128_c64);
SELVEDGE_AEAD(ascon_aead128_c8);
SELVEDGE_AEAD(ascon_aead128_avr);
SELVEDGE_AEAD(aes128_ccm_c8);
SELVEDGE_AEAD(aes128_ccm_avr);

/*
 * ascon_p_<variant>: the Ascon permutation (SP 800-232 section 3) on a state of five 64-bit words, x0 first,
 * each least significant byte first.
 *
 * `first_constant` chooses the rounds: ASCON_P12 for twelve, ASCON_P8 for eight; other values MUST NOT be
 * given.
 */
#define ASCON_P12 0xF0
#define ASCON_P8  0xB4

void ascon_p_c64(uint8_t state[40], uint8_t first_constant);
void ascon_p_c8(uint8_t state[40], uint8_t first_constant);
void ascon_p_avr(uint8_t state[40], uint8_t first_constant);

/*
 * aes128_<variant>_encrypt: one block of AES-128 (FIPS 197) in place, under the eleven round keys in order.
 */
#define AES128_ROUND_KEY_BYTES 176

void aes128_c8_encrypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t block[16]);
void aes128_avr_encrypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t block[16]);

#endif
