/*
 * AES-128 in counter mode in plain C, see crypto.h and aes128_c8.c.
 *
 * For the weaver: avr-gcc -S -O2, together with aes128_c8.c.
 */
#include "crypto.h"
#include "secret.h"

#define BLOCK_BYTES AES128_BLOCK_BYTES

/* One more, as a big-endian number; looks at all bytes either way. */
static void increment(uint8_t counter[BLOCK_BYTES])
{
    uint16_t carry = 1;
    uint8_t i = BLOCK_BYTES;
    while (i--) {
        carry = (uint16_t)(carry + counter[i]);
        counter[i] = (uint8_t)carry;
        carry >>= 8;
    }
}

/* see crypto.h */
void aes128_ctr_c8_crypt(const uint8_t round_keys[AES128_ROUND_KEY_BYTES], uint8_t counter[BLOCK_BYTES],
                         uint8_t *buffer, uint16_t length)
{
    uint8_t stream[BLOCK_BYTES];

    while (length != 0) {
        uint8_t count = length < BLOCK_BYTES ? (uint8_t)length : BLOCK_BYTES;
        uint8_t i;
        for (i = 0; i < BLOCK_BYTES; i++) {
            stream[i] = counter[i];
        }
        increment(counter);
        aes128_c8_encrypt(round_keys, stream);
        for (i = 0; i < count; i++) {
            *buffer++ ^= stream[i];
        }
        length -= count;
    }
    secret_wipe(stream, sizeof stream);
}
