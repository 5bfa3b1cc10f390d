/*
 * RC5-32/12 over 32-bit words, see crypto.h and Rivest, "The RC5 Encryption Algorithm", section 4.
 *
 * A variant's file defines RC5_INIT, RC5_ENCRYPT, RC5_DECRYPT and RC5_ROTATE(word, amount), which rotates to the
 * left by `amount` modulo 32, and includes this once.
 */
#include "crypto.h"
#include "secret.h"

#define KEY_WORDS (RC5_KEY_BYTES / 4)

static uint32_t load_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void store_word(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)word;
    bytes[1] = (uint8_t)(word >> 8);
    bytes[2] = (uint8_t)(word >> 16);
    bytes[3] = (uint8_t)(word >> 24);
}

/* see crypto.h */
void RC5_INIT(struct rc5 *context, const uint8_t key[RC5_KEY_BYTES])
{
    uint32_t *s = context->s;
    uint32_t words[KEY_WORDS];
    uint32_t a = 0, b = 0;
    uint8_t i, j = 0, n;

    for (i = 0; i < KEY_WORDS; i++) {
        words[i] = load_word(key + 4 * i);
    }
    s[0] = 0xb7e15163;
    for (i = 1; i < RC5_SCHEDULE_WORDS; i++) {
        s[i] = s[i - 1] + 0x9e3779b9;
    }
    i = 0;
    for (n = 0; n < 3 * RC5_SCHEDULE_WORDS; n++) {
        a = RC5_ROTATE(s[i] + a + b, 3);
        s[i] = a;
        b = RC5_ROTATE(words[j] + a + b, (uint8_t)(a + b));
        words[j] = b;
        i = i + 1 == RC5_SCHEDULE_WORDS ? 0 : (uint8_t)(i + 1);
        j = j + 1 == KEY_WORDS ? 0 : (uint8_t)(j + 1);
    }
    secret_wipe(words, sizeof words);
}

/* see crypto.h */
void RC5_ENCRYPT(const struct rc5 *context, uint8_t *blocks, uint8_t count)
{
    while (count--) {
        const uint32_t *s = context->s;
        uint32_t a = load_word(blocks) + s[0];
        uint32_t b = load_word(blocks + 4) + s[1];
        uint8_t round;
        for (round = 0; round < RC5_ROUNDS; round++) {
            s += 2;
            a = RC5_ROTATE(a ^ b, (uint8_t)b) + s[0];
            b = RC5_ROTATE(b ^ a, (uint8_t)a) + s[1];
        }
        store_word(blocks, a);
        store_word(blocks + 4, b);
        blocks += RC5_BLOCK_BYTES;
    }
}

/* see crypto.h */
void RC5_DECRYPT(const struct rc5 *context, uint8_t *blocks, uint8_t count)
{
    while (count--) {
        const uint32_t *s = context->s + 2 * RC5_ROUNDS;
        uint32_t a = load_word(blocks);
        uint32_t b = load_word(blocks + 4);
        uint8_t round;
        for (round = 0; round < RC5_ROUNDS; round++) {
            b = RC5_ROTATE(b - s[1], (uint8_t)-(uint8_t)a) ^ a;
            a = RC5_ROTATE(a - s[0], (uint8_t)-(uint8_t)b) ^ b;
            s -= 2;
        }
        store_word(blocks, a - s[0]);
        store_word(blocks + 4, b - s[1]);
        blocks += RC5_BLOCK_BYTES;
    }
}
