/*
 * The contracts of every cipher in this folder; the bodies only say "see crypto.h".
 *
 * Names are <alg>_<variant>_<op>. One file implements one variant of one algorithm, so the folder's listing
 * is the list of what can be measured. All variants of an algorithm have the same operations with the same
 * contracts and give the same bytes; they differ in cycles, in code size and in which chips they run on:
 *
 *   ascon_aead128_c64   64-bit words in plain C, for the host and RV32
 *   ascon_aead128_c8    bytes in plain C, for 8-bit chips and for reading
 *   ascon_aead128_avr   the permutation and the steps of a block in AVR assembly (ascon_p_avr.S)
 *   ascon_aead128_avr_roomy
 *                       the same with registers to spare for what is woven in (ascon_p_avr_roomy.S)
 *   aes128_ccm_c8       bytes in plain C, S-box in flash; 13-byte nonce, 8-byte tag
 *   aes128_ccm_avr      the same with the block cipher in AVR assembly (aes128_avr.S)
 *   aes128_ccm_avr_roomy
 *                       the same in two functions, for what is woven in
 *
 * Without authentication, for whoever builds a mode of his own, and as computing threads to weave:
 *
 *   aes128_ctr_c8       counter mode over aes128_c8
 *   aes128_ctr_avr      counter mode in AVR assembly, over the macros of aes128_avr.S
 *   chacha20_c8         32-bit words in plain C
 *   chacha20_avr        AVR assembly
 *   crc16_c8            bit by bit in plain C
 *   crc16_avr           AVR assembly, without a table
 *
 * For machines with 32-bit words, in headers of their own: block/aes.h, block/des.h, hash/hash.h.
 *
 * LEGACY: broken or too small for new use. They reproduce what was measured with them in 2004:
 *
 *   rc4_textbook        C as a textbook writes it
 *   rc4_c8              plain C for 8-bit chips
 *   rc4_avr             AVR assembly
 *   rc4_avr32           AVR assembly, 32 bytes in a straight line
 *   rc5_textbook        C as a textbook writes it
 *   rc5_c8              plain C, rotations by bytes first
 *   rc5_avr             AVR assembly in constant time
 *
 * Rules for all of them:
 *  - The caller owns all memory. Nothing is allocated, nothing is kept between calls, every function may be
 *    called from several contexts at once.
 *  - A pointer MUST NOT be NULL unless its length is 0.
 *  - Objects that are passed to one call MUST NOT overlap; the tag MAY begin where the buffer ends.
 *  - No object needs any alignment, except where a variant says so.
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
SELVEDGE_AEAD(ascon_aead128_avr_roomy);
SELVEDGE_AEAD(aes128_ccm_c8);
SELVEDGE_AEAD(aes128_ccm_avr);
SELVEDGE_AEAD(aes128_ccm_avr_roomy);

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
void ascon_p_avr_roomy(uint8_t state[40], uint8_t first_constant);

/*
 * aes128_<variant>_init expands a key into the eleven round keys in order (FIPS 197 section 5.2).
 * aes128_<variant>_encrypt: one block of AES-128 in place, under them.
 *
 * Both look the S-box up by secrets: in flash, where every read takes the same time on an AVR. On a machine
 * with a data cache aes128_c8 MUST NOT be used for real keys.
 */
#define AES128_KEY_BYTES       16
#define AES128_BLOCK_BYTES     16
#define AES128_ROUND_KEY_BYTES 176

#define SELVEDGE_AES128(name)                                                                                \
    void name##_init(uint8_t round_keys[AES128_ROUND_KEY_BYTES], const uint8_t key[AES128_KEY_BYTES]);       \
    void name##_encrypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t block[AES128_BLOCK_BYTES])

SELVEDGE_AES128(aes128_c8);
SELVEDGE_AES128(aes128_avr);

/*
 * aes128_ctr_<variant>_crypt: encrypts or decrypts `length` bytes at `buffer` in place with AES-128 in counter
 * mode (SP 800-38A section 6.5). `counter` is the first counter block; afterwards it is the next unused one:
 * it grows by one for each block begun, as a big-endian number of 128 bits. A counter block MUST NOT be used
 * twice under one key.
 *
 * The time also depends on the counter, which is not secret: aes128_ctr_avr starts anew from the key whenever
 * the last byte of the counter passes 255.
 */
#define SELVEDGE_AES128_CTR(name)                                                                            \
    void name##_crypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t counter[AES128_BLOCK_BYTES], \
                      uint8_t *buffer, uint16_t length)

SELVEDGE_AES128_CTR(aes128_ctr_c8);
SELVEDGE_AES128_CTR(aes128_ctr_avr);

/*
 * ChaCha20 (RFC 8439 section 2.4). chacha20_<variant>_crypt encrypts or decrypts `length` bytes at `buffer` in
 * place. Every call begins with a new block, so all calls for one message but the last MUST have a multiple of
 * 64 bytes. A pair of nonce and counter MUST NOT be used twice under one key; the counter MUST NOT pass 2^32 - 1.
 */
#define CHACHA20_KEY_BYTES   32
#define CHACHA20_NONCE_BYTES 12
#define CHACHA20_BLOCK_BYTES 64

struct chacha20 {
    uint32_t words[16]; /* RFC 8439 section 2.3: constants, key, counter of the next block, nonce */
};

#define SELVEDGE_CHACHA20(name)                                                                              \
    void name##_init(struct chacha20 *context, const uint8_t key[CHACHA20_KEY_BYTES],                        \
                     const uint8_t nonce[CHACHA20_NONCE_BYTES], uint32_t counter);                           \
    void name##_crypt(struct chacha20 *context, uint8_t *buffer, uint16_t length)

SELVEDGE_CHACHA20(chacha20_c8);
SELVEDGE_CHACHA20(chacha20_avr);

/*
 * crc16_<variant>_update: the CRC-16 with polynomial 0x1021, most significant bit first, no final XOR, continued
 * from `crc` over `length` bytes. From 0xFFFF it is CRC-16/IBM-3740, often called CRC-16/CCITT-FALSE.
 *
 * A CRC authenticates nothing. crc16_c8 branches on the data; on an AVR the branches do not take the same time.
 */
uint16_t crc16_c8_update(uint16_t crc, const uint8_t *buffer, uint16_t length);
uint16_t crc16_avr_update(uint16_t crc, const uint8_t *buffer, uint16_t length);

/*
 * LEGACY. RC4: rc4_<variant>_init sets a state up with a key of 1 to 255 bytes; rc4_<variant>_crypt encrypts or
 * decrypts `length` bytes at `buffer` in place and goes on where the last call ended. Prohibited in TLS by RFC
 * 7465: nothing new may use it.
 *
 * All variants look up by secrets; on an AVR the time is the same wherever RAM is read, so it depends on the
 * length alone. On a machine with a data cache it does not.
 *
 * rc4_avr: `state` MUST lie at a multiple of 256.
 *
 * rc4_avr32_crypt: does the same to the 32 bytes of `rc4_avr32_message`, under a state that rc4_avr_init set up
 * and that so far made a multiple of 32 bytes. The message's addresses are constants in the code, which leaves
 * all three pointers for the state: without the store of its result a byte takes 15 cycles.
 */
struct rc4 {
    uint8_t s[256];
    uint8_t i, j;
};

#define SELVEDGE_RC4(name)                                                                                   \
    void name##_init(struct rc4 *state, const uint8_t *key, uint8_t key_bytes);                              \
    void name##_crypt(struct rc4 *state, uint8_t *buffer, uint16_t length)

SELVEDGE_RC4(rc4_textbook);
SELVEDGE_RC4(rc4_c8);
SELVEDGE_RC4(rc4_avr);

#define RC4_AVR32_MESSAGE_BYTES 32

extern uint8_t rc4_avr32_message[RC4_AVR32_MESSAGE_BYTES];
void rc4_avr32_crypt(struct rc4 *state);

/*
 * LEGACY. RC5-32/12/8: words of 32 bits, 12 rounds, a key of 8 bytes. rc5_<variant>_encrypt and .._decrypt do
 * `count` blocks of 8 bytes in place, each by itself. The key is too short for any new use.
 *
 * rc5_textbook and rc5_c8 rotate by secret amounts in loops and branches, so their time tells about key and
 * message. rc5_avr skips single instructions by secret bits, which takes the same time either way.
 */
#define RC5_KEY_BYTES      8
#define RC5_BLOCK_BYTES    8
#define RC5_ROUNDS         12
#define RC5_SCHEDULE_WORDS 26

struct rc5 {
    uint32_t s[RC5_SCHEDULE_WORDS];
};

#define SELVEDGE_RC5(name)                                                                                   \
    void name##_init(struct rc5 *context, const uint8_t key[RC5_KEY_BYTES]);                                 \
    void name##_encrypt(const struct rc5 *context, uint8_t *blocks, uint8_t count);                          \
    void name##_decrypt(const struct rc5 *context, uint8_t *blocks, uint8_t count)

SELVEDGE_RC5(rc5_textbook);
SELVEDGE_RC5(rc5_c8);
SELVEDGE_RC5(rc5_avr);

#endif
