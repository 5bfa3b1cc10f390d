/*
 * AES-128-CCM with the block cipher in plain C, see crypto.h and aes128_c8.c.
 */
#define AES_VARIANT c8
#include "aes128_ccm_mode.h"
