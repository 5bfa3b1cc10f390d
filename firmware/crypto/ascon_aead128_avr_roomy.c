/*
 * Ascon-AEAD128 for whoever weaves something in, see crypto.h and ascon_p_avr_roomy.S. Compiled with -ffixed-2 -ffixed-3
 * -ffixed-4 -ffixed-5 -ffixed-26 -ffixed-27 it leaves these registers alone as well. Each operation is one function, so
 * that what is woven needs nothing that only this file can name.
 */
#define ASCON_VARIANT avr_roomy
#define ASCON_BLOCKS_ELSEWHERE
#ifndef __OPTIMIZE_SIZE__ /* by itself it is to be small */
#define ASCON_STEP static inline __attribute__((always_inline))
#endif
#include "ascon_aead128_mode.h"
