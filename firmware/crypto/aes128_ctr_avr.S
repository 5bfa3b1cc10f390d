/*
 * aes128_ctr_avr_crypt: AES-128 in counter mode for AVR cores that have `movw` and `lpm Rd, Z`, see crypto.h and
 * aes128_avr_rounds.h.
 *
 * Of 256 counter blocks in a row only the last byte differs. In the first round it changes one column, in the second
 * it reaches each column through one byte, and both steps are linear in what SubBytes makes of the byte that changes.
 * So the rest of the first two rounds is computed once for such a run and kept in the stack frame, and a block costs
 * five lookups there instead of 32 (the idea is known from counter-mode caching on larger machines). The cycles depend
 * on the length and on where the counter's last byte stands, neither of which is secret.
 */
#include "aes128_avr_rounds.h"

#define COUNTER 22      /* the last byte of the counter block */
#define RUN     23      /* whole blocks left of this run; 0 is 256 */
#define BLOCKS  24      /* r25:r24: whole blocks left of the buffer behind this run */

/* In the frame, from Y on: */
#define COLUMN       1  /* 4: the first column after the first round, but for the last counter byte's share */
#define STATE        5  /* 16: the state after the second round, but for the first column's share; then a tail */
#define KEY_LAST     21 /* the last byte of the first round key */
#define FRAME_SECRET 21 /* bytes up to here are wiped */
#define THIRD_KEY    22 /* 2: pointer to the fourth of the round keys, the third round's */
#define BUFFER       24 /* 2: pointer to what is not yet encrypted */
#define COUNTER_AT   26 /* 2: pointer to the counter block */
#define KEYS         28 /* 2: pointer to the round keys */
#define TAIL         30 /* bytes behind the last whole block */
#define FRAME_BYTES  30

.macro load_pointer low, at
    ldd  \low, Y+\at
    ldd  \low+1, Y+\at+1
.endm

.macro store_pointer at, low
    std  Y+\at, \low
    std  Y+\at+1, \low+1
.endm

/* P, Q, R = once, twice and three times the S-box of the byte in r30. */
.macro multiples
    lpm  P, Z
    mov  Q, P
    double Q
    mov  R, Q
    eor  R, P
.endm

/* The four bytes of a column from \column on, crossed = those at \at in the frame ^ these. */
.macro join_column column, at, s0, s1, s2, s3
    ldd  \column+1, Y+\at+0
    eor  \column+1, \s0
    ldd  \column+0, Y+\at+1
    eor  \column+0, \s1
    ldd  \column+3, Y+\at+2
    eor  \column+3, \s2
    ldd  \column+2, Y+\at+3
    eor  \column+2, \s3
.endm

    .section .text.aes128_ctr_avr_crypt, "ax", @progbits
    .global aes128_ctr_avr_crypt
    .type   aes128_ctr_avr_crypt, @function

/* r25:r24 the round keys, r23:r22 the counter block, r21:r20 the buffer, r19:r18 its length. */
aes128_ctr_avr_crypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    in   28, 0x3d           ; SPL
    in   29, 0x3e           ; SPH
    sbiw 28, FRAME_BYTES
    in   0, 0x3f            ; SREG
    cli
    out  0x3e, 29
    out  0x3f, 0            ; takes effect after the next instruction
    out  0x3d, 28

    store_pointer KEYS, 24
    store_pointer COUNTER_AT, 22
    store_pointer BUFFER, 20
    adiw 24, 48
    store_pointer THIRD_KEY, 24
    movw 30, 22
    ldd  COUNTER, Z+15
    movw BLOCKS, 18
    mov  T, 18
    andi T, 15
    std  Y+TAIL, T
    .rept 4
    lsr  BLOCKS+1
    ror  BLOCKS
    .endr
    mov  RUN, T
    or   RUN, BLOCKS
    or   RUN, BLOCKS+1
    brne .Lrun
    rjmp .Lend

.Lrun:
    rcall prepare_run
    ; RUN = the smaller of 256 - COUNTER and BLOCKS
    mov  RUN, COUNTER
    neg  RUN                ; carry unless it is 256
    ldi  T, 1
    sbci T, 0               ; the high byte of 256 - COUNTER
    cp   BLOCKS, RUN
    cpc  BLOCKS+1, T
    brsh .Lrun_to_the_end
    mov  RUN, BLOCKS
    clr  T
    tst  RUN
    brne .Lrun_to_the_end
    rjmp .Ltail             ; no whole block left
.Lrun_to_the_end:
    sub  BLOCKS, RUN
    sbc  BLOCKS+1, T
.Lblock:
    rcall make_stream
    load_pointer 26, BUFFER
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   T, X
    eor  T, \i
    st   X+, T
    .endr
    store_pointer BUFFER, 26
    inc  COUNTER
    dec  RUN
    brne .Lblock
    tst  COUNTER
    brne .Ltail             ; the run ended with the whole blocks
    rcall carry
    ldd  T, Y+TAIL
    or   T, BLOCKS
    or   T, BLOCKS+1
    breq .Lend
    rjmp .Lrun

.Ltail:
    ldd  RUN, Y+TAIL
    tst  RUN
    breq .Lend
    rcall make_stream
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std  Y+STATE+\i, \i
    .endr
    load_pointer 26, BUFFER
    movw 30, 28
    adiw 30, STATE
.Ltail_byte:
    ld   T, X
    ld   Q, Z+
    eor  T, Q
    st   X+, T
    dec  RUN
    brne .Ltail_byte
    inc  COUNTER
    brne .Lend
    rcall carry

.Lend:
    load_pointer 30, COUNTER_AT
    std  Z+15, COUNTER
    clr  1                  ; the compiler's zero
    movw 30, 28
    adiw 30, 1
    ldi  RUN, FRAME_SECRET
.Lwipe:
    st   Z+, 1
    dec  RUN
    brne .Lwipe
    adiw 28, FRAME_BYTES
    in   0, 0x3f
    cli
    out  0x3e, 29
    out  0x3f, 0
    out  0x3d, 28
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    ret

/* Adds one to the counter block without its last byte, which has just become 0. */
carry:
    load_pointer 30, COUNTER_AT
    adiw 30, 15
    clr  0
    ldi  Q, 15
    sec
.Lcarry:
    ld   T, -Z
    adc  T, 0
    st   Z, T
    dec  Q
    brne .Lcarry
    ret

/* Fills COLUMN, STATE and KEY_LAST for the counter block but its last byte. */
prepare_run:
    load_pointer 26, KEYS
    load_pointer 30, COUNTER_AT
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
    ldd  15, Z+14
    clr  14                 ; whatever it is, it goes away below
    add_round_key_crossed
    std  Y+KEY_LAST, T
    begin_rounds
    substitute_and_shift
    clr  3                  ; where the last counter byte went
    rcall mix_and_add_key
    std  Y+COLUMN+0, 1
    std  Y+COLUMN+1, 0
    std  Y+COLUMN+2, 3
    std  Y+COLUMN+3, 2
    substitute_and_shift
    clr  0                  ; where the four bytes of the first column went
    clr  13
    clr  10
    clr  7
    rcall mix_and_add_key
    .irp i, 0, 4, 8, 12
    std  Y+STATE+\i+0, \i+1
    std  Y+STATE+\i+1, \i+0
    std  Y+STATE+\i+2, \i+3
    std  Y+STATE+\i+3, \i+2
    .endr
    ret

mix_and_add_key:
    mix_columns
    add_round_key_crossed
    ret

/* The encrypted counter block, natural. */
make_stream:
    begin_rounds
    ldd  30, Y+KEY_LAST
    eor  30, COUNTER
    multiples
    join_column 12, COLUMN, P, P, R, Q      ; the first column after the first round; its rows are 13 12 15 14
    mov  30, 13
    multiples
    join_column 0, STATE+0, Q, P, P, R
    mov  30, 14
    multiples
    join_column 4, STATE+4, P, P, R, Q
    mov  30, 15
    multiples
    join_column 8, STATE+8, P, R, Q, P
    mov  30, 12
    multiples
    join_column 12, STATE+12, R, Q, P, P
    load_pointer 26, THIRD_KEY
    finish_rounds 7
    ret
    .size aes128_ctr_avr_crypt, . - aes128_ctr_avr_crypt
