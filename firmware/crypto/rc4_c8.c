/*
 * RC4 for 8-bit chips in plain C, see crypto.h: the two indices in registers, one pass over the buffer.
 *
 * For the weaver: avr-gcc -S -O2.
 */
#include "crypto.h"
#include "estimate.h"

/* see crypto.h */
void rc4_c8_init(struct rc4 *state, const uint8_t *key, uint8_t key_bytes)
{
    uint8_t *s = state->s;
    uint8_t i = 0, j = 0, k = 0;

    COUNT(rc4_c8_init, 256 / key_bytes);
    do {
        s[i] = i;
    } while (++i != 0);
    do {
        uint8_t a = s[i];
        j = (uint8_t)(j + a + key[k]);
        s[i] = s[j];
        s[j] = a;
        if (++k == key_bytes) {
            k = 0;
        }
    } while (++i != 0);
    state->i = 0;
    state->j = 0;
}

/* see crypto.h */
void rc4_c8_crypt(struct rc4 *state, uint8_t *buffer, uint16_t length)
{
    uint8_t *s = state->s;
    uint8_t i = state->i, j = state->j;
    uint8_t *end = buffer + length;

    COUNT(rc4_c8_crypt, length);
    while (buffer != end) {
        uint8_t a, b;
        i++;
        a = s[i];
        j = (uint8_t)(j + a);
        b = s[j];
        s[i] = b;
        s[j] = a;
        *buffer++ ^= s[(uint8_t)(a + b)];
    }
    state->i = i;
    state->j = j;
}
