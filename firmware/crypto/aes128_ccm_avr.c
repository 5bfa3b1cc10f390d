/*
 * AES-128-CCM with the block cipher in AVR assembly, see crypto.h and aes128_avr.S.
 */
#define AES_VARIANT avr
#include "aes128_ccm_mode.h"
