/*
 * aes128_avr_encrypt: one block of AES-128 (FIPS 197 section 5.1) for AVR cores that have `movw` and `lpm Rd, Z`,
 * see crypto.h.
 *
 * The block lies in r0..r15 in the order of its bytes, so a column is four neighbours. SubBytes and ShiftRows are
 * one pass: what is looked up is written to where the row's shift takes it. The S-box begins at a multiple of
 * 256 in flash, so that a byte is its own low address, and in the first 64 KB, where the linker puts .progmem
 * and `lpm` reaches. A read of flash takes three cycles wherever it goes; no branch depends on the block or the
 * key. While it runs, r1 is not zero: an interrupt handler must make its own zero, as the compiler's do.
 */
#include "aes_sbox.h"

#define KEPT   16       /* the byte that a row's shift overwrites first */
#define T      17
#define CARRY  18       /* 0xff after a carry, else 0 */
#define POLY   19       /* 0x1b, what x^8 is in AES's field */
#define ALL    20       /* the sum of a column */
#define FIRST  21       /* a column's first byte, as it was */
#define ROUNDS 22

.macro add_round_key
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   T, X+
    eor  \i, T
    .endr
.endm

/* \to = S-box of \from. */
.macro substitute to, from
    mov  30, \from
    lpm  \to, Z
.endm

.macro substitute_and_shift
    substitute 0, 0
    substitute 4, 4
    substitute 8, 8
    substitute 12, 12

    substitute KEPT, 1
    substitute 1, 5
    substitute 5, 9
    substitute 9, 13
    mov  13, KEPT

    substitute KEPT, 2
    substitute 2, 10
    mov  10, KEPT
    substitute KEPT, 6
    substitute 6, 14
    mov  14, KEPT

    substitute KEPT, 15
    substitute 15, 11
    substitute 11, 7
    substitute 7, 3
    mov  3, KEPT
.endm

/* \a ^= ALL ^ 2 * (\a ^ \b). */
.macro mix_byte a, b
    mov  T, \a
    eor  T, \b
    eor  \a, ALL
    lsl  T
    sbc  CARRY, CARRY
    and  CARRY, POLY
    eor  \a, T
    eor  \a, CARRY
.endm

.macro mix_column a, b, c, d
    mov  FIRST, \a
    mov  ALL, \a
    eor  ALL, \b
    eor  ALL, \c
    eor  ALL, \d
    mix_byte \a, \b
    mix_byte \b, \c
    mix_byte \c, \d
    mix_byte \d, FIRST
.endm

    .section .progmem.data.aes128_avr, "a", @progbits
    .global aes128_avr_sbox
    .type   aes128_avr_sbox, @object
    .balign 256
aes128_avr_sbox:
    .byte AES_SBOX
    .size aes128_avr_sbox, . - aes128_avr_sbox

    .section .text.aes128_avr_encrypt, "ax", @progbits
    .global aes128_avr_encrypt
    .type   aes128_avr_encrypt, @function

/* r25:r24 the round keys, r23:r22 the block. */
aes128_avr_encrypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 26, 24
    movw 28, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ldd  \i, Y+\i
    .endr
    ldi  31, hi8(aes128_avr_sbox)
    ldi  POLY, 0x1b
    ldi  ROUNDS, 9

    add_round_key
.Lround:
    substitute_and_shift
    mix_column 0, 1, 2, 3
    mix_column 4, 5, 6, 7
    mix_column 8, 9, 10, 11
    mix_column 12, 13, 14, 15
    add_round_key
    dec  ROUNDS
    breq .Llast
    rjmp .Lround

.Llast:
    substitute_and_shift
    add_round_key
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std  Y+\i, \i
    .endr
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size aes128_avr_encrypt, . - aes128_avr_encrypt
