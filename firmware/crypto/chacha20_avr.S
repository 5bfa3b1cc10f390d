/*
 * ChaCha20 for AVR cores that have `mul` and `movw`, see crypto.h.
 *
 * A quarter round has its 16 bytes in registers. Rotations by 16 and 8 bits are a change of the order in which the
 * registers are named; by 12 it is that and a product of each byte with 16; by 7, that and one bit to the right. The
 * state that is worked on lies in the stack frame, where `ldd` and `std` reach all of it. No branch and no address
 * depends on a secret. While it runs, r1 is not zero: an interrupt handler must make its own zero, as the compiler's
 * do.
 */

#define BLOCK_BYTES    64
#define DOUBLE_ROUNDS  10
#define COUNTER_OFFSET 48

#define A      2        /* r2..r5 */
#define B      6        /* r6..r9 */
#define C      10       /* r10..r13 */
#define D      14       /* r14..r17 */
#define E      18       /* r18..r21: the other place of b */
#define FACTOR 22       /* 1 << 4 */
#define ROUND  23
#define LENGTH 24       /* r25:r24: bytes left of the buffer */

/* The working state is the 64 bytes at Y. */
.macro load word, index
    .irp i, 0, 1, 2, 3
    ldd  \word+\i, Y+4*\index+\i
    .endr
.endm

.macro store index, w0, w1, w2, w3
    std  Y+4*\index+0, \w0
    std  Y+4*\index+1, \w1
    std  Y+4*\index+2, \w2
    std  Y+4*\index+3, \w3
.endm

/* The four registers from \to, += or ^= four registers from low to high. */
.macro add4 to, f0, f1, f2, f3
    add  \to+0, \f0
    adc  \to+1, \f1
    adc  \to+2, \f2
    adc  \to+3, \f3
.endm

.macro xor4 t0, t1, t2, t3, from
    eor  \t0, \from+0
    eor  \t1, \from+1
    eor  \t2, \from+2
    eor  \t3, \from+3
.endm

/* RFC 8439 section 2.1, on the words with these indices. */
.macro quarter_round a, b, c, d
    load A, \a
    load B, \b
    load C, \c
    load D, \d

    add4 A, B+0, B+1, B+2, B+3
    xor4 D+0, D+1, D+2, D+3, A
    ; d <<< 16: from here on its low byte is in D + 2
    add4 C, D+2, D+3, D+0, D+1
    xor4 B+0, B+1, B+2, B+3, C
    ; b <<< 12: by 4 into E, by 8 through the names: its low byte is in E + 3
    mul  B+0, FACTOR
    movw E+0, 0
    mul  B+2, FACTOR
    movw E+2, 0
    mul  B+1, FACTOR
    eor  E+1, 0
    eor  E+2, 1
    mul  B+3, FACTOR
    eor  E+3, 0
    eor  E+0, 1

    add4 A, E+3, E+0, E+1, E+2
    xor4 D+2, D+3, D+0, D+1, A
    ; d <<< 8: its low byte is in D + 1
    add4 C, D+1, D+2, D+3, D+0
    xor4 E+3, E+0, E+1, E+2, C
    ; b <<< 7: by 8 through the names, so that its low byte is in E + 2, and back by 1
    mov  0, E+2
    lsr  0
    ror  E+1
    ror  E+0
    ror  E+3
    ror  E+2

    store \a, A+0, A+1, A+2, A+3
    store \b, E+2, E+3, E+0, E+1
    store \c, C+0, C+1, C+2, C+3
    store \d, D+1, D+2, D+3, D+0
.endm

/* A byte of the buffer ^= a byte of the sum of both states; \add is `add` at the beginning of a word, else `adc`,
   and nothing between touches the carry. */
.macro encrypt_byte add
    ld   A, Y+
    ld   B, X+
    \add A, B
    ld   B, Z
    eor  A, B
    st   Z+, A
.endm

/* The same into the working state. */
.macro sum_byte add
    ld   A, Y
    ld   B, X+
    \add A, B
    st   Y+, A
.endm

/* X is at the end of the context, and comes back to its beginning; the counter grows by one. */
.macro count_block
    sbiw 26, BLOCK_BYTES - COUNTER_OFFSET
    clr  1
    sec
    .rept 4
    ld   A, X
    adc  A, 1
    st   X+, A
    .endr
    sbiw 26, COUNTER_OFFSET + 4
.endm

    .section .text.chacha20_avr_init, "ax", @progbits
    .global chacha20_avr_init
    .type   chacha20_avr_init, @function

.macro store_constant byte
    ldi  25, \byte
    st   X+, 25
.endm

.macro copy_bytes from
.Lcopy\@:
    ld   25, \from
    st   X+, 25
    dec  24
    brne .Lcopy\@
.endm

/* r25:r24 the context, r23:r22 the key, r21:r20 the nonce, r19..r16 the counter. */
chacha20_avr_init:
    movw 26, 24
    ; "expand 32-byte k"
    .irp byte, 0x65, 0x78, 0x70, 0x61, 0x6e, 0x64, 0x20, 0x33, 0x32, 0x2d, 0x62, 0x79, 0x74, 0x65, 0x20, 0x6b
    store_constant \byte
    .endr
    movw 30, 22
    ldi  24, 32
    copy_bytes Z+
    st   X+, 16
    st   X+, 17
    st   X+, 18
    st   X+, 19
    movw 30, 20
    ldi  24, 12
    copy_bytes Z+
    ret
    .size chacha20_avr_init, . - chacha20_avr_init

    .section .text.chacha20_avr_crypt, "ax", @progbits
    .global chacha20_avr_crypt
    .type   chacha20_avr_crypt, @function

/* r25:r24 the context, r23:r22 the buffer, r21:r20 its length. */
chacha20_avr_crypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    in   28, 0x3d           ; SPL
    in   29, 0x3e           ; SPH
    sbiw 28, BLOCK_BYTES / 2
    sbiw 28, BLOCK_BYTES / 2
    in   0, 0x3f            ; SREG
    cli
    out  0x3e, 29
    out  0x3f, 0            ; takes effect after the next instruction
    out  0x3d, 28
    adiw 28, 1              ; the stack pointer is below what is used
    movw 26, 24             ; X: the context
    movw 30, 22             ; Z: the buffer
    movw LENGTH, 20
    ldi  FACTOR, 1 << 4
    sbiw LENGTH, 0
    brne .Lblock
    rjmp .Lend

.Lblock:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .irp k, 0, 1, 2, 3
    ld   0, X+
    std  Y+4*\i+\k, 0
    .endr
    .endr
    subi 26, BLOCK_BYTES
    sbci 27, 0
    ldi  ROUND, DOUBLE_ROUNDS
.Ldouble_round:
    quarter_round 0, 4, 8, 12
    quarter_round 1, 5, 9, 13
    quarter_round 2, 6, 10, 14
    quarter_round 3, 7, 11, 15
    quarter_round 0, 5, 10, 15
    quarter_round 1, 6, 11, 12
    quarter_round 2, 7, 8, 13
    quarter_round 3, 4, 9, 14
    dec  ROUND
    breq .Lrounds_done
    rjmp .Ldouble_round

.Lrounds_done:
    ; the key stream is the sum of both states, which Y and X run over
    ldi  ROUND, BLOCK_BYTES / 4
    tst  LENGTH+1
    brne .Lword
    cpi  LENGTH, BLOCK_BYTES
    brlo .Ltail
.Lword:
    encrypt_byte add
    encrypt_byte adc
    encrypt_byte adc
    encrypt_byte adc
    dec  ROUND
    brne .Lword
    subi 28, BLOCK_BYTES
    sbci 29, 0
    count_block
    subi LENGTH, BLOCK_BYTES
    sbci LENGTH+1, 0
    breq .Lwipe
    rjmp .Lblock

.Ltail:
    ; less than a block: first the sum, in place, then as much of it as is wanted
    sum_byte add
    sum_byte adc
    sum_byte adc
    sum_byte adc
    dec  ROUND
    brne .Ltail
    subi 28, BLOCK_BYTES
    sbci 29, 0
    mov  ROUND, LENGTH
.Ltail_byte:
    ld   A, Y+
    ld   B, Z
    eor  A, B
    st   Z+, A
    dec  ROUND
    brne .Ltail_byte
    sub  28, LENGTH
    sbci 29, 0
    count_block

.Lwipe:
    clr  1                  ; the compiler's zero
    movw 26, 28
    ldi  ROUND, BLOCK_BYTES
.Lwipe_byte:
    st   X+, 1
    dec  ROUND
    brne .Lwipe_byte
.Lend:
    adiw 28, BLOCK_BYTES - 1
    in   0, 0x3f
    cli
    out  0x3e, 29
    out  0x3f, 0
    out  0x3d, 28
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    ret
    .size chacha20_avr_crypt, . - chacha20_avr_crypt
