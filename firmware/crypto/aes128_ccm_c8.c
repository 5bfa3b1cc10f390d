/*
 * AES-128-CCM on bytes in plain C, see crypto.h: RFC 3610 with a length field of 2 bytes (so a nonce of 13) and a
 * tag of 8, over AES (FIPS 197) with its S-box in flash and the round keys expanded once per message.
 *
 * The S-box is looked up at secret addresses. On an AVR every read of flash takes three cycles, so that tells
 * nothing; on a machine with a data cache it does, and this variant MUST NOT be used for real keys there.
 */
#include "crypto.h"
#include "secret.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define IN_FLASH             PROGMEM
#define FLASH_BYTE(pointer)  pgm_read_byte(pointer)
#else
#define IN_FLASH
#define FLASH_BYTE(pointer)  (*(pointer))
#endif

#define BLOCK_BYTES     16
#define ROUND_KEY_BYTES 176
#define FLAGS_AD        0x40
#define FLAGS_TAG       (8 * ((AES128_CCM_TAG_BYTES - 2) / 2))
#define FLAGS_LENGTH    (15 - AES128_CCM_NONCE_BYTES - 1)

static const uint8_t sbox[256] IN_FLASH = {
    0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76,
    0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0,
    0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15,
    0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75,
    0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84,
    0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf,
    0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8,
    0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2,
    0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73,
    0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb,
    0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79,
    0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08,
    0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a,
    0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e,
    0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf,
    0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16,
};

/* Everything that one message needs; wiped when it is done. */
struct ccm {
    uint8_t round_keys[ROUND_KEY_BYTES];
    uint8_t mac[BLOCK_BYTES];     /* the CBC-MAC so far */
    uint8_t counter[BLOCK_BYTES]; /* the counter block A_i */
    uint8_t stream[BLOCK_BYTES];  /* its encryption S_i, or a block on the way there */
    uint8_t filled;               /* bytes of the current block that are in `mac` already */
};

static uint8_t substitute(uint8_t byte)
{
    return FLASH_BYTE(&sbox[byte]);
}

/* Times x in GF(2^8), without a branch. */
static uint8_t twice(uint8_t byte)
{
    return (uint8_t)(byte << 1) ^ (uint8_t)((uint8_t)-(byte >> 7) & 0x1b);
}

static void expand_key(uint8_t round_keys[ROUND_KEY_BYTES], const uint8_t *key)
{
    uint8_t constant = 1;
    uint8_t i;

    for (i = 0; i < 16; i++) {
        round_keys[i] = key[i];
    }
    for (i = 16; i < ROUND_KEY_BYTES; i += 4) {
        uint8_t *word = round_keys + i;
        if (i % 16 == 0) {
            word[0] = word[-16] ^ substitute(word[-3]) ^ constant;
            word[1] = word[-15] ^ substitute(word[-2]);
            word[2] = word[-14] ^ substitute(word[-1]);
            word[3] = word[-13] ^ substitute(word[-4]);
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

    block[0] = substitute(block[0]);
    block[4] = substitute(block[4]);
    block[8] = substitute(block[8]);
    block[12] = substitute(block[12]);

    kept = substitute(block[1]);
    block[1] = substitute(block[5]);
    block[5] = substitute(block[9]);
    block[9] = substitute(block[13]);
    block[13] = kept;

    kept = substitute(block[2]);
    block[2] = substitute(block[10]);
    block[10] = kept;
    kept = substitute(block[6]);
    block[6] = substitute(block[14]);
    block[14] = kept;

    kept = substitute(block[15]);
    block[15] = substitute(block[11]);
    block[11] = substitute(block[7]);
    block[7] = substitute(block[3]);
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

static void encrypt_block(const uint8_t *round_keys, uint8_t block[BLOCK_BYTES])
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

static void absorb_byte(struct ccm *ccm, uint8_t byte)
{
    ccm->mac[ccm->filled++] ^= byte;
    if (ccm->filled == BLOCK_BYTES) {
        encrypt_block(ccm->round_keys, ccm->mac);
        ccm->filled = 0;
    }
}

/* Zeros up to the end of the block. */
static void absorb_padding(struct ccm *ccm)
{
    if (ccm->filled != 0) {
        encrypt_block(ccm->round_keys, ccm->mac);
        ccm->filled = 0;
    }
}

/* Everything before the message: B_0, then the associated data behind its length. */
static void begin(struct ccm *ccm, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
                  const uint8_t *key)
{
    uint8_t i;

    expand_key(ccm->round_keys, key);
    ccm->filled = 0;
    ccm->mac[0] = (uint8_t)((ad_length != 0 ? FLAGS_AD : 0) | FLAGS_TAG | FLAGS_LENGTH);
    ccm->counter[0] = FLAGS_LENGTH;
    for (i = 0; i < AES128_CCM_NONCE_BYTES; i++) {
        ccm->mac[1 + i] = nonce[i];
        ccm->counter[1 + i] = nonce[i];
    }
    ccm->mac[14] = (uint8_t)(length >> 8);
    ccm->mac[15] = (uint8_t)length;
    ccm->counter[14] = 0;
    ccm->counter[15] = 0;
    encrypt_block(ccm->round_keys, ccm->mac);
    if (ad_length != 0) {
        absorb_byte(ccm, (uint8_t)(ad_length >> 8));
        absorb_byte(ccm, (uint8_t)ad_length);
        while (ad_length--) {
            absorb_byte(ccm, *ad++);
        }
        absorb_padding(ccm);
    }
}

/* The key stream of the counter block, into `stream`. */
static void make_stream(struct ccm *ccm)
{
    uint8_t i;
    for (i = 0; i < BLOCK_BYTES; i++) {
        ccm->stream[i] = ccm->counter[i];
    }
    encrypt_block(ccm->round_keys, ccm->stream);
}

/* The key stream of the next counter block. The counter reaches 4096 at most, for 65535 bytes. */
static void next_stream(struct ccm *ccm)
{
    if (++ccm->counter[15] == 0) {
        ccm->counter[14]++;
    }
    make_stream(ccm);
}

/* Turns `mac` into the tag, which is its first 8 bytes. */
static void finish(struct ccm *ccm)
{
    absorb_padding(ccm);
    ccm->counter[14] = 0;
    ccm->counter[15] = 0;
    make_stream(ccm);
    add_round_key(ccm->mac, ccm->stream);
}

/* see crypto.h */
void aes128_ccm_c8_seal(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length,
                        const uint8_t *nonce, const uint8_t *key, uint8_t *tag)
{
    struct ccm ccm;
    size_t i;

    begin(&ccm, length, ad, ad_length, nonce, key);
    for (i = 0; i < length; i++) {
        if (i % BLOCK_BYTES == 0) {
            next_stream(&ccm);
        }
        absorb_byte(&ccm, buffer[i]);
        buffer[i] ^= ccm.stream[i % BLOCK_BYTES];
    }
    finish(&ccm);
    for (i = 0; i < AES128_CCM_TAG_BYTES; i++) {
        tag[i] = ccm.mac[i];
    }
    secret_wipe(&ccm, sizeof ccm);
}

/* see crypto.h */
uint8_t aes128_ccm_c8_open(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length,
                           const uint8_t *nonce, const uint8_t *key, const uint8_t *tag)
{
    struct ccm ccm;
    size_t i;
    uint8_t authentic;

    begin(&ccm, length, ad, ad_length, nonce, key);
    for (i = 0; i < length; i++) {
        if (i % BLOCK_BYTES == 0) {
            next_stream(&ccm);
        }
        buffer[i] ^= ccm.stream[i % BLOCK_BYTES];
        absorb_byte(&ccm, buffer[i]);
    }
    finish(&ccm);
    authentic = secret_equal(ccm.mac, tag, AES128_CCM_TAG_BYTES);
    secret_wipe(&ccm, sizeof ccm);
    if (!authentic) {
        secret_wipe(buffer, length);
    }
    return authentic;
}
