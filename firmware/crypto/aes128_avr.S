/*
 * AES-128 for AVR cores that have `movw` and `lpm Rd, Z`, see crypto.h and aes128_avr_rounds.h: the S-box, the key
 * expansion and one block. X and r2 to r5 are not touched: they are left to what is woven in.
 */
#define B      8        /* to r23 */
#define P      24
#define Q      25
#define R      0
#define CARRY  1
#define POLY   6
#define ROUND  7

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

#define CONSTANT R      /* the round's, which is public */

/* r25:r24 the round keys, r23:r22 the key. The last round key lies in the block's place. */
aes128_avr_init:
    .irp i, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 28, 24
    movw 30, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   B+\i, Z+
    st   Y+, B+\i
    .endr
    begin_rounds
    constant CONSTANT, 1
    constant ROUND, 10
.Lround_key:
    substitute T, B+13
    eor  B+0, T
    eor  B+0, CONSTANT
    substitute T, B+14
    eor  B+1, T
    substitute T, B+15
    eor  B+2, T
    substitute T, B+12
    eor  B+3, T
    .irp i, 0, 1, 2, 3
    eor  B+4+\i, B+\i
    eor  B+8+\i, B+4+\i
    eor  B+12+\i, B+8+\i
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    st   Y+, B+\i
    .endr
    double CONSTANT
    dec  ROUND
    brne .Lround_key
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6
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
    .irp i, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 28, 24
    movw 30, 22
    push 22
    push 23
    .irp i, 0, 2, 4, 6, 8, 10, 12, 14
    ldd  B+\i, Z+\i+1      ; crossed
    ldd  B+\i+1, Z+\i
    .endr
    begin_rounds
    add_round_key_crossed
    finish_rounds 9
    pop  31
    pop  30
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std  Z+\i, B+\i
    .endr
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size aes128_avr_encrypt, . - aes128_avr_encrypt
