/*
 * AES-128-CCM for whoever weaves something in, see crypto.h: over aes128_avr.S, which leaves registers alone. Compiled
 * with -ffixed-2 -ffixed-3 -ffixed-4 -ffixed-5 -ffixed-26 -ffixed-27 it leaves these alone as well. Each operation is
 * one function, so that what is woven needs nothing that only this file can name.
 */
#define AES_VARIANT avr_roomy
#define CCM_BLOCKS_ELSEWHERE
#ifndef __OPTIMIZE_SIZE__ /* by itself it is to be small */
#define CCM_STEP static inline __attribute__((always_inline))
#endif
#define aes128_avr_roomy_init aes128_avr_init
#define aes128_avr_roomy_encrypt aes128_avr_encrypt
#include "aes128_ccm_mode.h"
