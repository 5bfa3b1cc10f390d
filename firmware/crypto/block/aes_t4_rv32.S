/*
 * AES over four tables in RV32 assembly, two rounds in a loop, see aes.h and aes_rv32_rounds.h.
 */
#include "aes_rv32_rounds.h"

    tables aes_t4_rv32

/* void \name(const struct aes *key, uint8_t *blocks, size_t count) */
.macro crypt name, tables, round, last_round
    .section .text.\name, "ax"
    .globl \name
    .type \name, @function
\name:
    beqz COUNT, 4f
    save
    lw   LAST, 0(KEYS)
    la   BASE, \tables + 1024 + 3
    slli LAST, LAST, 4
    addi KEYS, KEYS, 4
    addi LAST, LAST, -16
    add  LAST, LAST, KEYS
1:
    begin_block
    addi KEY, KEYS, 16
2:
    \round E, F, G, H, A, B, C, D, 0
    beq  KEY, LAST, 3f
    \round A, B, C, D, E, F, G, H, 16
    addi KEY, KEY, 32
    j    2b
3:
    end_block \last_round, 16
    addi COUNT, COUNT, -1
    addi BLOCK, BLOCK, 16
    bnez COUNT, 1b
    restore
4:
    ret
    .size \name, . - \name
.endm

    crypt aes_t4_rv32_encrypt, aes_t4_rv32_tables, encrypt_round, encrypt_last_round
    crypt aes_t4_rv32_decrypt, aes_t4_rv32_inverse_tables, decrypt_round, decrypt_last_round

    .section .note.GNU-stack, "", @progbits
