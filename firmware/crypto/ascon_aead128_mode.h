/*
 * The mode of Ascon-AEAD128 (SP 800-232 section 4.1) over any ascon_p_<variant>, see crypto.h.
 *
 * A variant's file defines ASCON_VARIANT and includes this once. The state is bytes, which is what 8-bit
 * chips want; SP 800-232 is little-endian throughout, so on every machine the bytes are the same and a word
 * oriented permutation converts at its door.
 */
#include "crypto.h"
#include "secret.h"

#define ASCON_JOIN_(prefix, variant, suffix) prefix##variant##suffix
#define ASCON_JOIN(prefix, variant, suffix)  ASCON_JOIN_(prefix, variant, suffix)
#define ASCON_P                              ASCON_JOIN(ascon_p_, ASCON_VARIANT, )
#define ASCON_SEAL                           ASCON_JOIN(ascon_aead128_, ASCON_VARIANT, _seal)
#define ASCON_OPEN                           ASCON_JOIN(ascon_aead128_, ASCON_VARIANT, _open)

#define RATE_BYTES 16

/* What a step of the mode is. A variant may have all of them in its two functions. */
#ifndef ASCON_STEP
#define ASCON_STEP static
#endif

ASCON_STEP void xor_into(uint8_t *state, const uint8_t *bytes, uint8_t count)
{
    while (count--) {
        *state++ ^= *bytes++;
    }
}

ASCON_STEP void encrypt_block(uint8_t *state, uint8_t *buffer, uint8_t count)
{
    while (count--) {
        uint8_t byte = *state ^ *buffer;
        *state++ = byte;
        *buffer++ = byte;
    }
}

ASCON_STEP void decrypt_block(uint8_t *state, uint8_t *buffer, uint8_t count)
{
    while (count--) {
        uint8_t byte = *buffer;
        *buffer++ = *state ^ byte;
        *state++ = byte;
    }
}

/* What is done with a whole block. With ASCON_BLOCKS_ELSEWHERE the variant has it in assembly. */
#ifdef ASCON_BLOCKS_ELSEWHERE
#define COPY_BLOCK    ASCON_JOIN(ascon_copy_, ASCON_VARIANT, )
#define XOR_BLOCK     ASCON_JOIN(ascon_xor_, ASCON_VARIANT, )
#define ENCRYPT_BLOCK ASCON_JOIN(ascon_encrypt_, ASCON_VARIANT, )
#define DECRYPT_BLOCK ASCON_JOIN(ascon_decrypt_, ASCON_VARIANT, )
void COPY_BLOCK(uint8_t *to, const uint8_t *from);
void XOR_BLOCK(uint8_t *state, const uint8_t *bytes);
void ENCRYPT_BLOCK(uint8_t *state, uint8_t *buffer);
void DECRYPT_BLOCK(uint8_t *state, uint8_t *buffer);
#else
static void COPY_BLOCK(uint8_t *to, const uint8_t *from)
{
    uint8_t i;

    for (i = 0; i < RATE_BYTES; i++) {
        to[i] = from[i];
    }
}
#define XOR_BLOCK(state, bytes)      xor_into(state, bytes, RATE_BYTES)
#define ENCRYPT_BLOCK(state, buffer) encrypt_block(state, buffer, RATE_BYTES)
#define DECRYPT_BLOCK(state, buffer) decrypt_block(state, buffer, RATE_BYTES)
#endif

ASCON_STEP void initialize(uint8_t state[40], const uint8_t *nonce, const uint8_t *key)
{
    /* 0x00001000808c0001: version 1, 12 and 8 rounds, a tag of 128 bits, a rate of 16 bytes. Not as a table,
       which an AVR would keep in RAM. */
    state[0] = 0x01;
    state[1] = 0x00;
    state[2] = 0x8c;
    state[3] = 0x80;
    state[4] = 0x00;
    state[5] = 0x10;
    state[6] = 0x00;
    state[7] = 0x00;
    COPY_BLOCK(state + 8, key);
    COPY_BLOCK(state + 24, nonce);
    ASCON_P(state, ASCON_P12);
    XOR_BLOCK(state + 24, key);
}

ASCON_STEP void absorb(uint8_t state[40], const uint8_t *ad, size_t ad_length)
{
    if (ad_length != 0) {
        while (ad_length >= RATE_BYTES) {
            XOR_BLOCK(state, ad);
            ASCON_P(state, ASCON_P8);
            ad += RATE_BYTES;
            ad_length -= RATE_BYTES;
        }
        xor_into(state, ad, (uint8_t)ad_length);
        state[ad_length] ^= 1;
        ASCON_P(state, ASCON_P8);
    }
    state[39] ^= 0x80; /* tells associated data from message */
}

/* Leaves the tag in state[24..40]. */
ASCON_STEP void finalize(uint8_t state[40], const uint8_t *key)
{
    XOR_BLOCK(state + 16, key);
    ASCON_P(state, ASCON_P12);
    XOR_BLOCK(state + 24, key);
}

/* see crypto.h */
void ASCON_SEAL(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
                const uint8_t *key, uint8_t *tag)
{
    uint8_t state[40];

    initialize(state, nonce, key);
    absorb(state, ad, ad_length);
    while (length >= RATE_BYTES) {
        ENCRYPT_BLOCK(state, buffer);
        ASCON_P(state, ASCON_P8);
        buffer += RATE_BYTES;
        length -= RATE_BYTES;
    }
    encrypt_block(state, buffer, (uint8_t)length);
    state[length] ^= 1;
    finalize(state, key);
    COPY_BLOCK(tag, state + 24);
    secret_wipe(state, sizeof state);
}

/* see crypto.h */
uint8_t ASCON_OPEN(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
                   const uint8_t *key, const uint8_t *tag)
{
    uint8_t state[40];
    uint8_t *rest = buffer;
    size_t rest_length = length;
    uint8_t authentic;

    initialize(state, nonce, key);
    absorb(state, ad, ad_length);
    while (rest_length >= RATE_BYTES) {
        DECRYPT_BLOCK(state, rest);
        ASCON_P(state, ASCON_P8);
        rest += RATE_BYTES;
        rest_length -= RATE_BYTES;
    }
    decrypt_block(state, rest, (uint8_t)rest_length);
    state[rest_length] ^= 1;
    finalize(state, key);
    authentic = secret_equal(state + 24, tag, ASCON_AEAD128_TAG_BYTES);
    secret_wipe(state, sizeof state);
    if (!authentic) {
        secret_wipe(buffer, length);
    }
    return authentic;
}
