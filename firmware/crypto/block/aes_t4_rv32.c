/*
 * What of aes_t4_rv32 is not assembly, see aes.h: the key expansion; and on other machines the same routines in C.
 */
#ifdef __riscv
#include <stdint.h>

extern const uint8_t aes_t4_rv32_sbox[256];
#define sbox aes_t4_rv32_sbox
#define AES_VARIANT aes_t4_rv32
#include "aes_table_schedule.h"
#else
#define AES_T4 aes_t4_rv32
#include "aes_t4.c"
#endif
