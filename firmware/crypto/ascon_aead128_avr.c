/*
 * Ascon-AEAD128 with the permutation and the steps of a block in AVR assembly, see crypto.h and ascon_p_avr.S.
 */
#define ASCON_VARIANT avr
#define ASCON_BLOCKS_ELSEWHERE
#include "ascon_aead128_mode.h"
