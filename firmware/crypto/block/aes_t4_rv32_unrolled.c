/*
 * What of aes_t4_rv32_unrolled is not assembly, see aes.h: the key expansion; and on other machines the same routines
 * in C, which count what the assembly's time depends on.
 */
#ifdef __riscv
#include <stdint.h>

extern const uint8_t aes_t4_rv32_unrolled_sbox[256];
#define sbox aes_t4_rv32_unrolled_sbox
#define AES_VARIANT aes_t4_rv32_unrolled
#include "aes_table_schedule.h"
#else
#define AES_FEATURES(count, rounds) (count), (count) * ((rounds) == 12), (count) * ((rounds) == 14), (count) == 0
#define AES_T4 aes_t4_rv32_unrolled
#include "aes_t4.c"
#endif
