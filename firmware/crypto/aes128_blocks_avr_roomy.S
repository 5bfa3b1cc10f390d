/*
 * What the mode of aes128_ccm_avr_roomy.c does with whole blocks.
 */
#include "block_avr_roomy.h"

block aes128_copy_avr_roomy
    copy_block
    .size aes128_copy_avr_roomy, . - aes128_copy_avr_roomy

block aes128_xor_avr_roomy
    xor_block
    .size aes128_xor_avr_roomy, . - aes128_xor_avr_roomy
