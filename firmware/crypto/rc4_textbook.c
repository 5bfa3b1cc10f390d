/*
 * RC4 as a textbook writes it, see crypto.h: a function that makes one byte, called once for each.
 *
 * For the weaver: avr-gcc -S -O0 or -O2, both are measured.
 */
#include "crypto.h"

static void swap(uint8_t *a, uint8_t *b)
{
    uint8_t kept = *a;
    *a = *b;
    *b = kept;
}

/* see crypto.h */
void rc4_textbook_init(struct rc4 *state, const uint8_t *key, uint8_t key_bytes)
{
    uint16_t i;
    uint8_t j = 0;

    for (i = 0; i < 256; i++) {
        state->s[i] = (uint8_t)i;
    }
    for (i = 0; i < 256; i++) {
        j = (uint8_t)(j + state->s[i] + key[i % key_bytes]);
        swap(&state->s[i], &state->s[j]);
    }
    state->i = 0;
    state->j = 0;
}

static uint8_t next_byte(struct rc4 *state)
{
    uint8_t sum;

    state->i = (uint8_t)(state->i + 1);
    state->j = (uint8_t)(state->j + state->s[state->i]);
    swap(&state->s[state->i], &state->s[state->j]);
    sum = (uint8_t)(state->s[state->i] + state->s[state->j]);
    return state->s[sum];
}

/* see crypto.h */
void rc4_textbook_crypt(struct rc4 *state, uint8_t *buffer, uint16_t length)
{
    uint16_t n;
    for (n = 0; n < length; n++) {
        buffer[n] = buffer[n] ^ next_byte(state);
    }
}
