/*
 * ChaCha20 in plain C for 8-bit chips, see crypto.h: a rotation by 16 or by 8 bits is a move of bytes, and what is
 * left of 12 and 7 bits, four to the left and one to the right, is written out.
 *
 * For the weaver: avr-gcc -S -O2. No loop's count depends on data.
 */
#include "crypto.h"
#include "secret.h"

#define BLOCK_BYTES CHACHA20_BLOCK_BYTES

static uint32_t load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* see crypto.h */
void chacha20_c8_init(struct chacha20 *context, const uint8_t key[CHACHA20_KEY_BYTES],
                      const uint8_t nonce[CHACHA20_NONCE_BYTES], uint32_t counter)
{
    uint8_t i;

    context->words[0] = 0x61707865;
    context->words[1] = 0x3320646e;
    context->words[2] = 0x79622d32;
    context->words[3] = 0x6b206574;
    for (i = 0; i < 8; i++) {
        context->words[4 + i] = load_word(key + 4 * i);
    }
    context->words[12] = counter;
    for (i = 0; i < 3; i++) {
        context->words[13 + i] = load_word(nonce + 4 * i);
    }
}

static inline __attribute__((always_inline)) uint32_t left(uint32_t word, uint8_t bits)
{
    return word << bits | word >> (32 - bits);
}

/* RFC 8439 section 2.1. Inlined once, in a loop: eight copies of it would be some kilobytes. */
static void quarter_round(uint32_t *words, uint8_t ia, uint8_t ib, uint8_t ic, uint8_t id)
{
    uint32_t a = words[ia], b = words[ib], c = words[ic], d = words[id];

    a += b;
    d = left(d ^ a, 16);
    c += d;
    b = left(left(b ^ c, 8), 4);
    a += b;
    d = left(d ^ a, 8);
    c += d;
    b = left(left(b ^ c, 8), 31);
    words[ia] = a;
    words[ib] = b;
    words[ic] = c;
    words[id] = d;
}

/* see crypto.h */
void chacha20_c8_crypt(struct chacha20 *context, uint8_t *buffer, uint16_t length)
{
    uint32_t words[16];

    while (length != 0) {
        uint8_t count = length < BLOCK_BYTES ? (uint8_t)length : BLOCK_BYTES;
        uint8_t i, round, n;
        for (i = 0; i < 16; i++) {
            words[i] = context->words[i];
        }
        for (round = 0; round < 10; round++) {
            for (n = 0; n < 4; n++) {
                quarter_round(words, n, 4 + n, 8 + n, 12 + n);
            }
            for (n = 0; n < 4; n++) {
                quarter_round(words, n, 4 + ((n + 1) & 3), 8 + ((n + 2) & 3), 12 + ((n + 3) & 3));
            }
        }
        for (i = 0; i < 16; i++) {
            words[i] += context->words[i];
        }
        for (i = 0; i < count; i++) {
            *buffer++ ^= (uint8_t)(words[i / 4] >> (8 * (i & 3)));
        }
        context->words[12]++;
        length -= count;
    }
    secret_wipe(words, sizeof words);
}
