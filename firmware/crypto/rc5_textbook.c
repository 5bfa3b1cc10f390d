/*
 * RC5-32/12 as its paper writes it, see crypto.h: each rotation is two shifts of a 32-bit word by a variable
 * amount, which avr-gcc makes into loops of one bit a turn.
 *
 * For the weaver: avr-gcc -S -O0 or -O2, both are measured.
 */
#include <stdint.h>

static uint32_t rotate(uint32_t word, uint8_t amount)
{
    amount = amount & 31;
    return (word << amount) | (word >> ((32 - amount) & 31));
}

#define RC5_INIT    rc5_textbook_init
#define RC5_ENCRYPT rc5_textbook_encrypt
#define RC5_DECRYPT rc5_textbook_decrypt
#define RC5_ROTATE  rotate
#include "rc5_words.h"
