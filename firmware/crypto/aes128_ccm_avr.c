/*
 * AES-128-CCM with the block cipher in AVR assembly, see crypto.h and aes128_avr.S.
 */
#include <avr/pgmspace.h>
#include <stdint.h>

/* In aes128_avr.S, which wants it at a multiple of 256. */
extern const uint8_t aes128_avr_sbox[256] PROGMEM;

#define AES_VARIANT          avr
#define AES_SUBSTITUTE(byte) pgm_read_byte(&aes128_avr_sbox[byte])
#include "aes128_ccm_mode.h"
