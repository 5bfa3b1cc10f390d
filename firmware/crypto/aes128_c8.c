/*
 * AES-128 on bytes in plain C, see crypto.h, with the S-box in flash.
 *
 * For the weaver: avr-gcc -S -O2. No loop's count and no branch depends on data.
 */
#include "aes_sbox.h"
#include "crypto.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define IN_FLASH         PROGMEM
#define SUBSTITUTE(byte) pgm_read_byte(&sbox[byte])
#else
#define IN_FLASH
#define SUBSTITUTE(byte) sbox[byte]
#endif

#define BLOCK_BYTES AES128_BLOCK_BYTES

static const uint8_t sbox[256] IN_FLASH = { AES_SBOX };

/* Times x in GF(2^8), without a branch. */
static inline uint8_t twice(uint8_t byte)
{
    return (uint8_t)(byte << 1) ^ (uint8_t)((uint8_t)-(byte >> 7) & 0x1b);
}

/* see crypto.h */
void aes128_c8_init(uint8_t round_keys[AES128_ROUND_KEY_BYTES], const uint8_t key[AES128_KEY_BYTES])
{
    uint8_t constant = 1;
    uint8_t i;

    for (i = 0; i < AES128_KEY_BYTES; i++) {
        round_keys[i] = key[i];
    }
    for (i = AES128_KEY_BYTES; i < AES128_ROUND_KEY_BYTES; i += 4) {
        uint8_t *word = round_keys + i;
        if (i % 16 == 0) {
            word[0] = word[-16] ^ SUBSTITUTE(word[-3]) ^ constant;
            word[1] = word[-15] ^ SUBSTITUTE(word[-2]);
            word[2] = word[-14] ^ SUBSTITUTE(word[-1]);
            word[3] = word[-13] ^ SUBSTITUTE(word[-4]);
            constant = twice(constant);
        } else {
            word[0] = word[-16] ^ word[-4];
            word[1] = word[-15] ^ word[-3];
            word[2] = word[-14] ^ word[-2];
            word[3] = word[-13] ^ word[-1];
        }
    }
}

static void add_round_key(uint8_t block[BLOCK_BYTES], const uint8_t *round_key)
{
    uint8_t i;
    for (i = 0; i < BLOCK_BYTES; i++) {
        block[i] ^= round_key[i];
    }
}

/* SubBytes and ShiftRows: row r of the state is block[r], block[r + 4], .. and moves r places to the left. */
static void substitute_and_shift(uint8_t block[BLOCK_BYTES])
{
    uint8_t kept;

    block[0] = SUBSTITUTE(block[0]);
    block[4] = SUBSTITUTE(block[4]);
    block[8] = SUBSTITUTE(block[8]);
    block[12] = SUBSTITUTE(block[12]);

    kept = SUBSTITUTE(block[1]);
    block[1] = SUBSTITUTE(block[5]);
    block[5] = SUBSTITUTE(block[9]);
    block[9] = SUBSTITUTE(block[13]);
    block[13] = kept;

    kept = SUBSTITUTE(block[2]);
    block[2] = SUBSTITUTE(block[10]);
    block[10] = kept;
    kept = SUBSTITUTE(block[6]);
    block[6] = SUBSTITUTE(block[14]);
    block[14] = kept;

    kept = SUBSTITUTE(block[15]);
    block[15] = SUBSTITUTE(block[11]);
    block[11] = SUBSTITUTE(block[7]);
    block[7] = SUBSTITUTE(block[3]);
    block[3] = kept;
}

static void mix_columns(uint8_t block[BLOCK_BYTES])
{
    uint8_t *column;
    for (column = block; column != block + BLOCK_BYTES; column += 4) {
        uint8_t a = column[0], b = column[1], c = column[2], d = column[3];
        uint8_t all = a ^ b ^ c ^ d;
        column[0] = a ^ all ^ twice(a ^ b);
        column[1] = b ^ all ^ twice(b ^ c);
        column[2] = c ^ all ^ twice(c ^ d);
        column[3] = d ^ all ^ twice(d ^ a);
    }
}

/* see crypto.h */
void aes128_c8_encrypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t block[BLOCK_BYTES])
{
    uint8_t round;

    add_round_key(block, round_keys);
    for (round = 1; round < 10; round++) {
        substitute_and_shift(block);
        mix_columns(block);
        add_round_key(block, round_keys + 16 * round);
    }
    substitute_and_shift(block);
    add_round_key(block, round_keys + 160);
}
