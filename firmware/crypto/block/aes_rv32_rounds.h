/*
 * AES's rounds over four tables as macros for RV32 assembly, for cores that issue one instruction a cycle, have a
 * shift's result two cycles later and a load's three. No instruction here waits for another.
 *
 * A column of a round is 20 instructions, 80 a round, with the round key. For three of four bytes an address takes
 * three: shift, mask, add the base. The highest byte takes two: the shift leaves two bits of its neighbour below the
 * byte, and an `or` with a base that ends in 11 sets them and adds the base at once. So BASE is 3 above a multiple of
 * 1024, and every offset 3 below what it would be. That leaves room for exactly the four tables within the reach of a
 * load.
 *
 * The state is in A to D and in E to H by turns. Two files include this, which differ in whether rounds go round.
 */
#include "aes_tables.h"

#define KEYS  a0 /* the words of the round keys */
#define BLOCK a1
#define COUNT a2 /* blocks left */
#define BASE  a3 /* 3 behind the second table, where four lie one behind the other from a multiple of 1024 */
#define KEY   s1 /* where the next round key lies */
#define LAST  s2 /* what says which the last round is */

#define A a4
#define B a5
#define C a6
#define D a7
#define E t3
#define F t4
#define G t5
#define H t6

#define P t0
#define Q t1
#define R t2
#define S s0

#define TABLE_0 (-1024 - 3)
#define TABLE_1 (-3)
#define TABLE_2 (1024 - 3)
#define TABLE_3 (2048 - 3)
/* The S-box lies behind the tables: BASE + SBOX_BASE + SBOX. */
#define SBOX_BASE 2047
#define SBOX      (3072 - 3 - SBOX_BASE)

/* \to = a column of the round key, and entries of row 0 of \a, row 1 of \b, row 2 of \c and row 3 of \d. */
.macro column to, a, b, c, d, key
    lw   \to, \key(KEY)
    slli P, \a, 2
    srli Q, \b, 6
    srli R, \c, 14
    srli S, \d, 22
    andi P, P, 0x3fc
    andi Q, Q, 0x3fc
    andi R, R, 0x3fc
    or   S, S, BASE
    add  P, P, BASE
    add  Q, Q, BASE
    add  R, R, BASE
    lw   P, TABLE_0(P)
    lw   Q, TABLE_1(Q)
    lw   R, TABLE_2(R)
    lw   S, TABLE_3(S)
    xor  \to, \to, P
    xor  \to, \to, Q
    xor  \to, \to, R
    xor  \to, \to, S
.endm

/* A round of encryption; of decryption, whose rows move the other way. */
.macro encrypt_round e, f, g, h, a, b, c, d, key
    column \e, \a, \b, \c, \d, \key
    column \f, \b, \c, \d, \a, \key + 4
    column \g, \c, \d, \a, \b, \key + 8
    column \h, \d, \a, \b, \c, \key + 12
.endm

.macro decrypt_round e, f, g, h, a, b, c, d, key
    column \e, \a, \d, \c, \b, \key
    column \f, \b, \a, \d, \c, \key + 4
    column \g, \c, \b, \a, \d, \key + 8
    column \h, \d, \c, \b, \a, \key + 12
.endm

/* A to D = the block and the first round key. */
.macro begin_block
    lw   A, 0(BLOCK)
    lw   B, 4(BLOCK)
    lw   C, 8(BLOCK)
    lw   D, 12(BLOCK)
    lw   E, 0(KEYS)
    lw   F, 4(KEYS)
    lw   G, 8(KEYS)
    lw   H, 12(KEYS)
    xor  A, A, E
    xor  B, B, F
    xor  C, C, G
    xor  D, D, H
.endm

/* Column \column of the block becomes substituted bytes of row 0 of \a, row 1 of \b, row 2 of \c and row 3 of \d. */
.macro last_column column, a, b, c, d
    andi P, \a, 0xff
    srli Q, \b, 8
    srli R, \c, 16
    srli S, \d, 24
    andi Q, Q, 0xff
    andi R, R, 0xff
    add  P, P, A
    add  S, S, A
    add  Q, Q, A
    add  R, R, A
    lbu  P, SBOX(P)
    lbu  Q, SBOX(Q)
    lbu  R, SBOX(R)
    lbu  S, SBOX(S)
    sb   P, 4 * \column(BLOCK)
    sb   Q, 4 * \column + 1(BLOCK)
    sb   R, 4 * \column + 2(BLOCK)
    sb   S, 4 * \column + 3(BLOCK)
.endm

/* The last round, from E to H; the others' bytes are put together in memory, which takes less than shifts. */
.macro end_block last_round, key
    addi A, BASE, SBOX_BASE
    \last_round
    lw   A, 0(BLOCK)
    lw   B, 4(BLOCK)
    lw   C, 8(BLOCK)
    lw   D, 12(BLOCK)
    lw   E, \key(KEY)
    lw   F, \key + 4(KEY)
    lw   G, \key + 8(KEY)
    lw   H, \key + 12(KEY)
    xor  A, A, E
    xor  B, B, F
    xor  C, C, G
    xor  D, D, H
    sw   A, 0(BLOCK)
    sw   B, 4(BLOCK)
    sw   C, 8(BLOCK)
    sw   D, 12(BLOCK)
.endm

.macro encrypt_last_round
    last_column 0, E, F, G, H
    last_column 1, F, G, H, E
    last_column 2, G, H, E, F
    last_column 3, H, E, F, G
.endm

.macro decrypt_last_round
    last_column 0, E, H, G, F
    last_column 1, F, E, H, G
    last_column 2, G, F, E, H
    last_column 3, H, G, F, E
.endm

.macro save
    addi sp, sp, -16
    sw   s0, 0(sp)
    sw   s1, 4(sp)
    sw   s2, 8(sp)
.endm

.macro restore
    lw   s0, 0(sp)
    lw   s1, 4(sp)
    lw   s2, 8(sp)
    addi sp, sp, 16
.endm

/* The tables of both ways, and the two S-boxes behind them: 8704 bytes. */
.macro tables name
    .section .rodata.\name, "a"
    .p2align 10
\name\()_tables:
    .word AES_SBOX_EACH(AES_ENTRY_0)
    .word AES_SBOX_EACH(AES_ENTRY_1)
    .word AES_SBOX_EACH(AES_ENTRY_2)
    .word AES_SBOX_EACH(AES_ENTRY_3)
    .globl \name\()_sbox
\name\()_sbox:
    .byte AES_SBOX
    .p2align 10
\name\()_inverse_tables:
    .word AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_0)
    .word AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_1)
    .word AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_2)
    .word AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_3)
    .byte AES_INVERSE_SBOX
.endm
