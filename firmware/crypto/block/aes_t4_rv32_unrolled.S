/*
 * AES over four tables in RV32 assembly with all rounds written out, see aes.h and aes_rv32_rounds.h: the nine rounds
 * that every key has before the last lie in a line, and those that longer keys begin with behind it.
 */
#include "aes_rv32_rounds.h"

    tables aes_t4_rv32_unrolled

/* void \name(const struct aes *key, uint8_t *blocks, size_t count) */
.macro crypt name, tables, round, last_round
    .section .text.\name, "ax"
    .globl \name
    .type \name, @function
\name:
    beqz COUNT, 5f
    save
    lw   LAST, 0(KEYS)
    la   BASE, \tables + 1024 + 3
    addi KEYS, KEYS, 4
    addi LAST, LAST, -10 /* rounds that are more than ten */
    slli KEY, LAST, 4
    add  KEY, KEY, KEYS /* after those the same for every key */
1:
    begin_block
    bnez LAST, 3f
2:
    \round E, F, G, H, A, B, C, D, 16
    \round A, B, C, D, E, F, G, H, 32
    \round E, F, G, H, A, B, C, D, 48
    \round A, B, C, D, E, F, G, H, 64
    \round E, F, G, H, A, B, C, D, 80
    \round A, B, C, D, E, F, G, H, 96
    \round E, F, G, H, A, B, C, D, 112
    \round A, B, C, D, E, F, G, H, 128
    \round E, F, G, H, A, B, C, D, 144
    end_block \last_round, 160
    addi COUNT, COUNT, -1
    addi BLOCK, BLOCK, 16
    bnez COUNT, 1b
    restore
5:
    ret
3:
    addi P, LAST, -2
    beqz P, 4f
    \round E, F, G, H, A, B, C, D, -48
    \round A, B, C, D, E, F, G, H, -32
4:
    \round E, F, G, H, A, B, C, D, -16
    \round A, B, C, D, E, F, G, H, 0
    j    2b
    .size \name, . - \name
.endm

    crypt aes_t4_rv32_unrolled_encrypt, aes_t4_rv32_unrolled_tables, encrypt_round, encrypt_last_round
    crypt aes_t4_rv32_unrolled_decrypt, aes_t4_rv32_unrolled_inverse_tables, decrypt_round, decrypt_last_round

    .section .note.GNU-stack, "", @progbits
