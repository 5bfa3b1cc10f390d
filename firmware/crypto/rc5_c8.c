/*
 * RC5-32/12 in plain C for 8-bit chips, see crypto.h: a rotation moves whole bytes first, and then turns by at
 * most four bits, in the direction that is nearer.
 *
 * For the weaver: avr-gcc -S -O2. The loops of `rotate` turn 0 to 4 times.
 */
#include <stdint.h>

static inline __attribute__((always_inline)) uint32_t rotate(uint32_t word, uint8_t amount)
{
    uint8_t bits = amount & 7;

    /* 0 to 4 bits to the left, or 5 to 7 as a byte more to the left and 3 to 1 bits back. */
    if (bits > 4) {
        amount = (uint8_t)(amount + 8);
    }
    if (amount & 16) {
        word = word << 16 | word >> 16;
    }
    if (amount & 8) {
        word = word << 8 | word >> 24;
    }
    if (bits > 4) {
        for (; bits != 8; bits++) {
            word = word >> 1 | word << 31;
        }
    } else {
        for (; bits != 0; bits--) {
            word = word << 1 | word >> 31;
        }
    }
    return word;
}

#define RC5_INIT    rc5_c8_init
#define RC5_ENCRYPT rc5_c8_encrypt
#define RC5_DECRYPT rc5_c8_decrypt
#define RC5_ROTATE  rotate
#include "rc5_words.h"
