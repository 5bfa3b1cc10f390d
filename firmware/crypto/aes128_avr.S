/*
 * AES-128 for AVR cores that have `movw` and `lpm Rd, Z`, see crypto.h and aes128_avr_rounds.h: the S-box, the key
 * expansion and one block.
 */
#include "aes_sbox.h"
#include "aes128_avr_rounds.h"

    .section .progmem.data.aes128_avr, "a", @progbits
    .global aes128_avr_sbox
    .type   aes128_avr_sbox, @object
    .balign 256
aes128_avr_sbox:
    .byte AES_SBOX
    .size aes128_avr_sbox, . - aes128_avr_sbox

    .section .text.aes128_avr_init, "ax", @progbits
    .global aes128_avr_init
    .type   aes128_avr_init, @function

#define CONSTANT 18     /* the round's, which is public */

/* r25:r24 the round keys, r23:r22 the key. The last round key lies in r0..r15. */
aes128_avr_init:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
    push \i
    .endr
    movw 26, 24
    movw 30, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   \i, Z+
    st   X+, \i
    .endr
    begin_rounds
    ldi  CONSTANT, 1
    ldi  ROUND, 10
.Lround_key:
    substitute T, 13
    eor  0, T
    eor  0, CONSTANT
    substitute T, 14
    eor  1, T
    substitute T, 15
    eor  2, T
    substitute T, 12
    eor  3, T
    .irp i, 0, 1, 2, 3
    eor  4+\i, \i
    eor  8+\i, 4+\i
    eor  12+\i, 8+\i
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    st   X+, \i
    .endr
    double CONSTANT
    dec  ROUND
    brne .Lround_key
    .irp i, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size aes128_avr_init, . - aes128_avr_init

    .section .text.aes128_avr_encrypt, "ax", @progbits
    .global aes128_avr_encrypt
    .type   aes128_avr_encrypt, @function

/* r25:r24 the round keys, r23:r22 the block. */
aes128_avr_encrypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 28, 24
    movw 30, 22
    ; crossed
    ldd  0, Z+1
    ldd  1, Z+0
    ldd  2, Z+3
    ldd  3, Z+2
    ldd  4, Z+5
    ldd  5, Z+4
    ldd  6, Z+7
    ldd  7, Z+6
    ldd  8, Z+9
    ldd  9, Z+8
    ldd  10, Z+11
    ldd  11, Z+10
    ldd  12, Z+13
    ldd  13, Z+12
    ldd  14, Z+15
    ldd  15, Z+14
    begin_rounds
    add_round_key_crossed
    finish_rounds 9
    movw 30, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std  Z+\i, \i
    .endr
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size aes128_avr_encrypt, . - aes128_avr_encrypt
