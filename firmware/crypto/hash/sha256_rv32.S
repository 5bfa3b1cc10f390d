/*
 * SHA-256's compression in RV32 assembly, see hash.h: 16 rounds written out, twice, for cores that issue one
 * instruction a cycle, have a shift's result two cycles later and a load's three. No instruction here waits for
 * another but where a loop begins.
 *
 * The variables stay where they are and change names from round to round. The last 16 words are on the stack; those
 * that the next rounds need are kept in registers besides.
 */
#include "sha256_constants.h"

#define STATE    a0
#define BLOCKS   a1
#define COUNT    a2
#define CONSTANT a3 /* where the constants of the next 16 rounds are */
#define LAST     a4

#define A s0
#define B s1
#define C s2
#define D s3
#define E s4
#define F s5
#define G s6
#define H s7

#define WORD_1 s8 /* the last two words, by turns: the older becomes the new one */
#define WORD_2 s9
#define OLD_1  s10 /* the words of 16 and of 15 rounds before, by turns */
#define OLD_2  s11
#define SAME_1 a5 /* what differs between b and c, and between a and b, by turns */
#define SAME_2 a6

#define FRAME_BYTES 128
#define SAVED       64 /* behind the words */

/* \h += the first sum of FIPS 180-4, without the word. */
.macro first_half e, f, g, h, round
    lw   a7, 4 * (\round)(CONSTANT)
    srli t0, \e, 6
    slli t1, \e, 26
    srli t2, \e, 11
    slli t3, \e, 21
    xor  t0, t0, t1
    srli t4, \e, 25
    slli t5, \e, 7
    xor  t2, t2, t3
    xor  t0, t0, t2
    xor  t4, t4, t5
    add  \h, \h, a7
    xor  t0, t0, t4
    xor  t6, \f, \g
    and  t6, t6, \e
    add  \h, \h, t0
    xor  t6, t6, \g
    add  \h, \h, t6
.endm

/* What is left of a round when \h has the first sum: the second sum and the variables' move. */
.macro second_half a, b, d, h, same, differ
    srli t0, \a, 2
    slli t1, \a, 30
    srli t2, \a, 13
    slli t3, \a, 19
    xor  t0, t0, t1
    srli t4, \a, 22
    slli t5, \a, 10
    xor  t2, t2, t3
    xor  t0, t0, t2
    xor  t4, t4, t5
    xor  \differ, \a, \b
    and  \same, \same, \differ
    xor  t0, t0, t4
    xor  \same, \same, \b
    add  \d, \d, \h
    add  \h, \h, \same
    add  \h, \h, t0
.endm

/* One of the first 16 rounds, whose word comes from the block. */
.macro round_of_block a, b, c, d, e, f, g, h, round, word, old, next, same, differ
    lbu  t0, 4 * (\round)(BLOCKS)
    lbu  t1, 4 * (\round) + 1(BLOCKS)
    lbu  t2, 4 * (\round) + 2(BLOCKS)
    lbu  \word, 4 * (\round) + 3(BLOCKS)
    slli t0, t0, 24
    slli t1, t1, 16
    slli t2, t2, 8
    or   \word, \word, t0
    or   \word, \word, t1
    or   \word, \word, t2
    sw   \word, 4 * (\round)(sp)
    add  \h, \h, \word
    first_half \e, \f, \g, \h, \round
    second_half \a, \b, \d, \h, \same, \differ
.endm

/* One of the others: \word is the word of two rounds before and becomes this one, \old that of 16 before, and
   \next is to be that of 15 before. */
.macro round_of_words a, b, c, d, e, f, g, h, round, word, old, next, same, differ
    lw   \next, 4 * ((\round + 1) & 15)(sp)
    lw   t6, 4 * ((\round + 9) & 15)(sp)
    srli t0, \word, 17
    slli t1, \word, 15
    srli t2, \word, 19
    slli t3, \word, 13
    xor  t0, t0, t1
    srli t4, \word, 10
    xor  t2, t2, t3
    add  \old, \old, t6
    xor  t0, t0, t2
    srli t1, \next, 7
    slli t3, \next, 25
    xor  t0, t0, t4
    srli t2, \next, 18
    slli t4, \next, 14
    xor  t1, t1, t3
    srli t5, \next, 3
    xor  t2, t2, t4
    add  \old, \old, t0
    xor  t1, t1, t2
    xor  t1, t1, t5
    add  \word, \old, t1
    sw   \word, 4 * (\round)(sp)
    add  \h, \h, \word
    first_half \e, \f, \g, \h, \round
    second_half \a, \b, \d, \h, \same, \differ
.endm

.macro eight kind, round
    \kind A, B, C, D, E, F, G, H, \round, WORD_1, OLD_1, OLD_2, SAME_1, SAME_2
    \kind H, A, B, C, D, E, F, G, \round + 1, WORD_2, OLD_2, OLD_1, SAME_2, SAME_1
    \kind G, H, A, B, C, D, E, F, \round + 2, WORD_1, OLD_1, OLD_2, SAME_1, SAME_2
    \kind F, G, H, A, B, C, D, E, \round + 3, WORD_2, OLD_2, OLD_1, SAME_2, SAME_1
    \kind E, F, G, H, A, B, C, D, \round + 4, WORD_1, OLD_1, OLD_2, SAME_1, SAME_2
    \kind D, E, F, G, H, A, B, C, \round + 5, WORD_2, OLD_2, OLD_1, SAME_2, SAME_1
    \kind C, D, E, F, G, H, A, B, \round + 6, WORD_1, OLD_1, OLD_2, SAME_1, SAME_2
    \kind B, C, D, E, F, G, H, A, \round + 7, WORD_2, OLD_2, OLD_1, SAME_2, SAME_1
.endm

/* Each with an instruction of the variables and their places in the state and in the frame. */
.macro variables instruction, base, at
    \instruction A, \at(\base)
    \instruction B, \at + 4(\base)
    \instruction C, \at + 8(\base)
    \instruction D, \at + 12(\base)
    \instruction E, \at + 16(\base)
    \instruction F, \at + 20(\base)
    \instruction G, \at + 24(\base)
    \instruction H, \at + 28(\base)
.endm

.macro others instruction
    \instruction s8, SAVED + 32(sp)
    \instruction s9, SAVED + 36(sp)
    \instruction s10, SAVED + 40(sp)
    \instruction s11, SAVED + 44(sp)
.endm


    .section .rodata.sha256_rv32, "a"
    .p2align 2
sha256_rv32_constants:
    .word SHA256_CONSTANTS

/* void sha256_rv32_compress(union hash_state *state, const uint8_t *blocks, size_t count) */
    .section .text.sha256_rv32_compress, "ax"
    .globl sha256_rv32_compress
    .type sha256_rv32_compress, @function
sha256_rv32_compress:
    beqz COUNT, 4f
    addi sp, sp, -FRAME_BYTES
    variables sw, sp, SAVED
    others sw
    la   CONSTANT, sha256_rv32_constants
    variables lw, STATE, 0
    addi LAST, CONSTANT, 256
1:
    xor  SAME_1, B, C
    eight round_of_block, 0
    eight round_of_block, 8
    lw   OLD_1, 0(sp)
    addi CONSTANT, CONSTANT, 64
2:
    eight round_of_words, 0
    eight round_of_words, 8
    addi CONSTANT, CONSTANT, 64
    bne  CONSTANT, LAST, 2b

    lw   t0, 0(STATE)
    lw   t1, 4(STATE)
    lw   t2, 8(STATE)
    lw   t3, 12(STATE)
    add  A, A, t0
    lw   t4, 16(STATE)
    add  B, B, t1
    lw   t5, 20(STATE)
    add  C, C, t2
    lw   t6, 24(STATE)
    add  D, D, t3
    lw   a7, 28(STATE)
    add  E, E, t4
    add  F, F, t5
    add  G, G, t6
    add  H, H, a7
    variables sw, STATE, 0
    addi CONSTANT, CONSTANT, -256
    addi COUNT, COUNT, -1
    addi BLOCKS, BLOCKS, 64
    beqz COUNT, 3f
    j    1b
3:
    /* Nothing of the message stays. */
    .irp at, 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60
    sw   zero, \at(sp)
    .endr
    variables lw, sp, SAVED
    others lw
    addi sp, sp, FRAME_BYTES
4:
    ret
    .size sha256_rv32_compress, . - sha256_rv32_compress

    .section .note.GNU-stack, "", @progbits
