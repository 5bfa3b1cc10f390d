/*
 * RC5-32/12 for AVR cores that have `mul` and `movw`, see crypto.h: in constant time.
 *
 * A rotation by n is a product of each byte with 2^(n mod 8), whose two halves fall to two neighbours, and then a
 * turn by whole bytes: all moves are made or skipped one by one, by bits 3 and 4 of n, and a skipped move takes as
 * long as a made one. No lookup and no jump depends on a secret. While they run, r1 is not zero: an interrupt handler
 * must make its own zero, as the compiler's do. But for rc5_avr_init, they do not touch X and r2 to r5: these are left
 * to what is woven in.
 */

#define SCHEDULE_WORDS 26
#define ROUNDS         12

.macro add4 to, from
    add  \to+0, \from+0
    adc  \to+1, \from+1
    adc  \to+2, \from+2
    adc  \to+3, \from+3
.endm

.macro xor4 to, from
    eor  \to+0, \from+0
    eor  \to+1, \from+1
    eor  \to+2, \from+2
    eor  \to+3, \from+3
.endm

.macro move4 to, from
    movw \to+0, \from+0
    movw \to+2, \from+2
.endm

/* \to = the four bytes at \word times \factor, what leaves at the top coming back at the bottom. */
.macro multiply to, word, factor
    mul  \word+0, \factor
    movw \to+0, 0
    mul  \word+2, \factor
    movw \to+2, 0
    mul  \word+1, \factor
    eor  \to+1, 0
    eor  \to+2, 1
    mul  \word+3, \factor
    eor  \to+3, 0
    eor  \to+0, 1
.endm

/* \word is rotated to the left by \amount modulo 32. \factor must be r16 or above. */
.macro rotate word, amount, scratch, factor
    ldi  \factor, 1
    sbrc \amount, 1
    ldi  \factor, 4
    sbrc \amount, 0
    lsl  \factor
    sbrc \amount, 2
    swap \factor
    multiply \scratch, \word, \factor
    move4 \word, \scratch
    sbrc \amount, 4
    movw \word+0, \scratch+2
    sbrc \amount, 4
    movw \word+2, \scratch+0
    mov  0, \word+3
    sbrc \amount, 3
    mov  \word+3, \word+2
    sbrc \amount, 3
    mov  \word+2, \word+1
    sbrc \amount, 3
    mov  \word+1, \word+0
    sbrc \amount, 3
    mov  \word+0, 0
.endm

/* Registers of encrypt and decrypt. */
#define N      8        /* r8..r11: scratch */
#define ROUND  12
#define COUNT  13
#define F      16
#define T      17
#define A      18       /* r18..r21 */
#define B      22       /* r22..r25 */

.macro save
    .irp i, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17, 28, 29
    push \i
    .endr
.endm

.macro restore
    .irp i, 29, 28, 17, 16, 13, 12, 11, 10, 9, 8, 7, 6
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
.endm

.macro load_block
    .irp i, 0, 1, 2, 3
    ldd  A+\i, Y+\i
    .endr
    .irp i, 0, 1, 2, 3
    ldd  B+\i, Y+4+\i
    .endr
.endm

.macro store_block
    .irp i, 0, 1, 2, 3
    st   Y+, A+\i
    .endr
    .irp i, 0, 1, 2, 3
    st   Y+, B+\i
    .endr
.endm

    .section .text.rc5_avr_encrypt, "ax", @progbits
    .global rc5_avr_encrypt
    .type   rc5_avr_encrypt, @function

/* \to += the next word of the schedule. */
.macro add_next to
    ld   T, Z+
    add  \to+0, T
    ld   T, Z+
    adc  \to+1, T
    ld   T, Z+
    adc  \to+2, T
    ld   T, Z+
    adc  \to+3, T
.endm

.macro encrypt_half to, from
    xor4 \to, \from
    rotate \to, \from, N, F
    add_next \to
.endm

/* r25:r24 the context, r23:r22 the blocks, r20 their number. */
rc5_avr_encrypt:
    save
    movw 6, 24
    movw 28, 22
    mov  COUNT, 20
    tst  COUNT
    brne .Lencrypt_block
    rjmp .Lencrypted
.Lencrypt_block:
    movw 30, 6
    load_block
    add_next A
    add_next B
    ldi  T, ROUNDS
    mov  ROUND, T
.Lencrypt_round:
    encrypt_half A, B
    encrypt_half B, A
    dec  ROUND
    breq .Lencrypt_store
    rjmp .Lencrypt_round
.Lencrypt_store:
    store_block
    dec  COUNT
    breq .Lencrypted
    rjmp .Lencrypt_block
.Lencrypted:
    restore
    ret
    .size rc5_avr_encrypt, . - rc5_avr_encrypt

    .section .text.rc5_avr_decrypt, "ax", @progbits
    .global rc5_avr_decrypt
    .type   rc5_avr_decrypt, @function

/* \from -= the word of the schedule at Z + \at. */
.macro subtract_word from, at
    ldd  T, Z+\at+0
    sub  \from+0, T
    ldd  T, Z+\at+1
    sbc  \from+1, T
    ldd  T, Z+\at+2
    sbc  \from+2, T
    ldd  T, Z+\at+3
    sbc  \from+3, T
.endm

/* To the right by n is to the left by -n modulo 32. */
.macro decrypt_half to, from, at
    subtract_word \to, \at
    mov  T, \from
    neg  T
    rotate \to, T, N, F
    xor4 \to, \from
.endm

/* r25:r24 the context, r23:r22 the blocks, r20 their number. */
rc5_avr_decrypt:
    save
    movw 30, 24
    movw 28, 22
    mov  COUNT, 20
    tst  COUNT
    brne .Ldecrypt_block
    rjmp .Ldecrypted
.Ldecrypt_block:
    subi 30, lo8(-8 * ROUNDS)
    sbci 31, hi8(-8 * ROUNDS)
    load_block
    ldi  T, ROUNDS
    mov  ROUND, T
.Ldecrypt_round:
    decrypt_half B, A, 4
    decrypt_half A, B, 0
    sbiw 30, 8
    dec  ROUND
    breq .Ldecrypt_store
    rjmp .Ldecrypt_round
.Ldecrypt_store:
    subtract_word A, 0
    subtract_word B, 4
    store_block
    dec  COUNT
    breq .Ldecrypted
    rjmp .Ldecrypt_block
.Ldecrypted:
    restore
    ret
    .size rc5_avr_decrypt, . - rc5_avr_decrypt

#undef ROUND
#undef COUNT
#undef A
#undef B
#undef N
#undef F
#undef T

    .section .text.rc5_avr_init, "ax", @progbits
    .global rc5_avr_init
    .type   rc5_avr_init, @function

#define A      2        /* r2..r5 */
#define B      6        /* r6..r9 */
#define L0     10       /* r10..r13: the key's words */
#define L1     14       /* r14..r17 */
#define N      18       /* r18..r21: scratch */
#define F      22
#define AMOUNT 23
#define PAIR   24       /* what is left of the schedule, in pairs of words */
#define PASS   25
#define T      28

/* One step of the mixing, with \at the word of the schedule and \key the key's. */
.macro mix at, key
    add4 A, B
    ldd  T, Z+\at+0
    add  A+0, T
    ldd  T, Z+\at+1
    adc  A+1, T
    ldd  T, Z+\at+2
    adc  A+2, T
    ldd  T, Z+\at+3
    adc  A+3, T
    ldi  F, 1 << 3
    multiply N, A, F
    move4 A, N
    std  Z+\at+0, A+0
    std  Z+\at+1, A+1
    std  Z+\at+2, A+2
    std  Z+\at+3, A+3
    add4 B, A
    mov  AMOUNT, B
    add4 B, \key
    rotate B, AMOUNT, N, F
    move4 \key, B
.endm

/* r25:r24 the context, r23:r22 the key. */
rc5_avr_init:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28
    push \i
    .endr
    movw 30, 24
    movw 26, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    ld   L0+\i, X+
    .endr

    ; the schedule begins as P32, P32 + Q32, ..
    ldi  N+0, 0x63
    ldi  N+1, 0x51
    ldi  N+2, 0xe1
    ldi  N+3, 0xb7
    ldi  PAIR, SCHEDULE_WORDS
.Lfill:
    st   Z+, N+0
    st   Z+, N+1
    st   Z+, N+2
    st   Z+, N+3
    subi N+0, lo8(-0x9e3779b9)
    sbci N+1, hi8(-0x9e3779b9)
    sbci N+2, hlo8(-0x9e3779b9)
    sbci N+3, hhi8(-0x9e3779b9)
    dec  PAIR
    brne .Lfill

    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    clr  A+\i
    .endr
    ldi  PASS, 3
.Lpass:
    subi 30, 4 * SCHEDULE_WORDS
    sbci 31, 0
    ldi  PAIR, SCHEDULE_WORDS / 2
.Lpair:
    mix  0, L0
    mix  4, L1
    adiw 30, 8
    dec  PAIR
    breq .Lpassed
    rjmp .Lpair
.Lpassed:
    dec  PASS
    breq .Lmixed
    rjmp .Lpass

.Lmixed:
    .irp i, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size rc5_avr_init, . - rc5_avr_init
