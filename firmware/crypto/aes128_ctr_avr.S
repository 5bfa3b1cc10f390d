/*
 * aes128_ctr_avr_crypt: AES-128 in counter mode for AVR cores that have `movw` and `lpm Rd, Z`, see crypto.h and
 * aes128_avr_rounds.h.
 *
 * Of 256 counter blocks in a row only the last byte differs. In the first round it changes one column, in the second
 * it reaches each column through one byte, and both steps are linear in what SubBytes makes of the byte that changes.
 * So the rest of the first two rounds is computed once for such a run and kept in the stack frame, and a block costs
 * five lookups there instead of 32 (the idea is known from counter-mode caching on larger machines). The cycles depend
 * on the length and on where the counter's last byte stands, neither of which is secret.
 *
 * r22 to r27 are used at the entry alone. Keeping what outlives a block in registers would save 11 cycles of 1930, and
 * what is woven in would have to borrow one each time.
 */
#define B      0
#define P      16
#define Q      17
#define R      18
#define CARRY  19
#define POLY   20
#define ROUND  21
#include "aes128_avr_rounds.h"

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
#define COUNTER      31 /* the last byte of the counter block */
#define RUN_END      32 /* what it is behind this run */
#define BLOCKS       33 /* 2: whole blocks left of the buffer behind this run */
#define FRAME_BYTES  34

.macro load_pointer low, at
    ldd  \low, Y+\at
    ldd  \low+1, Y+\at+1
.endm

.macro store_pointer at, low
    std  Y+\at, \low
    std  Y+\at+1, \low+1
.endm

/* Y = the pointer at \at in the frame. */
.macro leave_frame at
    load_pointer P, \at
    movw 28, P
.endm

/* Y = the frame, outside the functions below. */
.macro enter_frame
    in   28, 0x3d           ; SPL
    in   29, 0x3e           ; SPH
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
    ;@weave returns 0
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    enter_frame
    sbiw 28, FRAME_BYTES
    in   T, 0x3f            ; SREG
    cli
    out  0x3e, 29
    out  0x3f, T            ; takes effect after the next instruction
    out  0x3d, 28

    store_pointer KEYS, 24
    store_pointer COUNTER_AT, 22
    store_pointer BUFFER, 20
    movw 30, 24
    adiw 30, 48
    store_pointer THIRD_KEY, 30
    movw 30, 22
    ldd  T, Z+15
    std  Y+COUNTER, T
    mov  T, 18
    andi T, 15
    std  Y+TAIL, T
    .rept 4
    lsr  19
    ror  18
    .endr
    store_pointer BLOCKS, 18
    or   T, 18
    or   T, 19
    brne .Lrun
    rjmp .Lend

/* Fills COLUMN, STATE and KEY_LAST for the counter block but its last byte. */
.Lrun:
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
    leave_frame KEYS
    add_round_key_crossed
    enter_frame
    std  Y+KEY_LAST, T
    leave_frame KEYS
    adiw 28, 16
    begin_rounds
    substitute_and_shift
    clr  3                  ; where the last counter byte went
    rcall mix_and_add_key
    enter_frame
    std  Y+COLUMN+0, 1
    std  Y+COLUMN+1, 0
    std  Y+COLUMN+2, 3
    std  Y+COLUMN+3, 2
    leave_frame KEYS
    adiw 28, 32
    substitute_and_shift
    clr  0                  ; where the four bytes of the first column went
    clr  13
    clr  10
    clr  7
    rcall mix_and_add_key
    enter_frame
    .irp i, 0, 4, 8, 12
    std  Y+STATE+\i+0, \i+1
    std  Y+STATE+\i+1, \i+0
    std  Y+STATE+\i+2, \i+3
    std  Y+STATE+\i+3, \i+2
    .endr

    ; Q:P = blocks of this run: the smaller of 256 - COUNTER and BLOCKS
    ldd  P, Y+COUNTER
    neg  P                  ; carry unless it is 256
    ldi  Q, 1
    sbci Q, 0
    load_pointer 30, BLOCKS
    cp   30, P
    cpc  31, Q
    brsh .Lrun_to_the_end
    movw P, 30
.Lrun_to_the_end:
    sub  30, P
    sbc  31, Q
    store_pointer BLOCKS, 30
    or   Q, P
    brne .Lsome_blocks
    rjmp .Ltail
.Lsome_blocks:
    ldd  Q, Y+COUNTER
    add  P, Q
    std  Y+RUN_END, P
.Lblock:
    rcall make_stream
    enter_frame
    load_pointer 30, BUFFER
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   T, Z
    eor  T, \i
    st   Z+, T
    .endr
    store_pointer BUFFER, 30
    ldd  T, Y+COUNTER
    inc  T
    std  Y+COUNTER, T
    ldd  Q, Y+RUN_END
    cp   T, Q
    brne .Lblock
    tst  T
    brne .Ltail             ; the run ended with the whole blocks
    rcall carry
    ldd  T, Y+TAIL
    load_pointer 30, BLOCKS
    or   T, 30
    or   T, 31
    breq .Lend
    rjmp .Lrun

.Ltail:
    ldd  T, Y+TAIL
    tst  T
    breq .Lend
    rcall make_stream
    enter_frame
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std  Y+STATE+\i, \i
    .endr
    ldd  ROUND, Y+TAIL
    load_pointer 30, BUFFER
    adiw 28, STATE
.Ltail_byte:
    ld   T, Z
    ld   Q, Y+
    eor  T, Q
    st   Z+, T
    dec  ROUND
    brne .Ltail_byte
    enter_frame
    ldd  T, Y+COUNTER
    inc  T
    std  Y+COUNTER, T
    brne .Lend
    rcall carry

.Lend:
    ldd  0, Y+COUNTER
    load_pointer 30, COUNTER_AT
    std  Z+15, 0
    clr  1                  ; the compiler's zero
    movw 30, 28
    adiw 30, 1
    ldi  ROUND, FRAME_SECRET
.Lwipe:
    st   Z+, 1
    dec  ROUND
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

mix_and_add_key:
    mix_columns
    add_round_key_crossed
    ret

/* The encrypted counter block, natural. Y = behind the round keys. */
make_stream:
    begin_rounds
    ldd  T, Y+COUNTER
    ldd  30, Y+KEY_LAST
    eor  30, T
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
    leave_frame THIRD_KEY
    finish_rounds 7
    ret
    .size aes128_ctr_avr_crypt, . - aes128_ctr_avr_crypt
