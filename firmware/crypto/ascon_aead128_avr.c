/*
 * Ascon-AEAD128 with the permutation in AVR assembly, see crypto.h and ascon_p_avr.S.
 */
#define ASCON_VARIANT avr
#include "ascon_aead128_mode.h"
