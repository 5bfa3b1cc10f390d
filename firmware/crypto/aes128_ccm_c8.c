/*
 * AES-128-CCM on bytes in plain C, see crypto.h, with the S-box in flash.
 *
 * The S-box is looked up at secret addresses. On an AVR every read of flash takes three cycles, so that tells
 * nothing; on a machine with a data cache it does, and this variant MUST NOT be used for real keys there.
 */
#include <stdint.h>

#include "aes_sbox.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define IN_FLASH             PROGMEM
#define AES_SUBSTITUTE(byte) pgm_read_byte(&sbox[byte])
#else
#define IN_FLASH
#define AES_SUBSTITUTE(byte) sbox[byte]
#endif

static const uint8_t sbox[256] IN_FLASH = { AES_SBOX };

#define AES_VARIANT c8
#include "aes128_ccm_mode.h"

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

    block[0] = AES_SUBSTITUTE(block[0]);
    block[4] = AES_SUBSTITUTE(block[4]);
    block[8] = AES_SUBSTITUTE(block[8]);
    block[12] = AES_SUBSTITUTE(block[12]);

    kept = AES_SUBSTITUTE(block[1]);
    block[1] = AES_SUBSTITUTE(block[5]);
    block[5] = AES_SUBSTITUTE(block[9]);
    block[9] = AES_SUBSTITUTE(block[13]);
    block[13] = kept;

    kept = AES_SUBSTITUTE(block[2]);
    block[2] = AES_SUBSTITUTE(block[10]);
    block[10] = kept;
    kept = AES_SUBSTITUTE(block[6]);
    block[6] = AES_SUBSTITUTE(block[14]);
    block[14] = kept;

    kept = AES_SUBSTITUTE(block[15]);
    block[15] = AES_SUBSTITUTE(block[11]);
    block[11] = AES_SUBSTITUTE(block[7]);
    block[7] = AES_SUBSTITUTE(block[3]);
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
