/*
 * ascon_p_avr: the Ascon permutation for AVR cores that have `movw`, see crypto.h, and the steps of a block.
 *
 * One round needs 40 bytes of state and an AVR has 32 registers, so the round is arranged around what stays in
 * registers: x4 always; the low five bytes of x1 always; x2 from its diffusion to the S-box, which puts x0 in
 * its place, which stays until its own diffusion. The rest passes through SRAM. The S-box is that of IACR ePrint
 * 2023/1721 (see ascon_aead128_c64.c); in the order below its 16 operations need three moves with two-address
 * instructions, the fewest in any order that keeps these places (found by exhaustive search).
 *
 * No branch and no address depends on the state. Uses 19 bytes of stack besides the return address. While it runs,
 * r1 is not zero: an interrupt handler must make its own zero, as the compiler's handlers do.
 */

#define V      0        /* r0..r7: the word at work */
#define C      8        /* r8..r15: a rotated copy of a word; scratch of the S-box */
#define BITS   16       /* scratch; must be r16 or above for subi */
#define P      18       /* r18..r25: x4 */
#define Q0     26       /* x1, bytes 0..4, in places that movw can copy in pairs */
#define Q1     27
#define Q2     28
#define Q3     29
#define Q4     17

#include "ascon_p_avr_words.h"

/* The S-box on byte \i of the five words. x1 in \q, x2 in V, x4 in P; x0 and x3 from memory. Leaves x0 in V,
   x1 in \q, x4 in P; x2 and x3 in memory. */
.macro substitute i, q
    ldd  C+0, Z+X0+\i
    ldd  C+1, Z+X3+\i
    mov  C+2, P+\i
    com  C+2
    or   C+2, C+1           ; ~x4 | x3
    mov  C+3, C+0
    eor  C+3, P+\i          ; x0 ^ x4
    eor  P+\i, C+1          ; x3 ^ x4
    eor  C+1, V+\i          ; x3 ^ x2
    or   C+0, P+\i          ; x0 | (x3 ^ x4)
    mov  C+4, C+3
    or   C+4, \q            ; (x0 ^ x4) | x1
    eor  \q, V+\i           ; x1 ^ x2
    eor  C+0, \q            ; y3
    and  V+\i, \q           ; x2 & (x1 ^ x2)
    eor  P+\i, C+4          ; ((x0 ^ x4) | x1) ^ x3 ^ x4
    eor  C+2, \q            ; y2
    or   \q, C+1            ; (x3 ^ x2) | (x1 ^ x2)
    eor  \q, C+3            ; y1
    eor  V+\i, P+\i         ; y0
    eor  P+\i, C+3          ; y4
    std  Z+X3+\i, C+0
    std  Z+X2+\i, C+2
.endm

/* The same where x1's byte is in memory too. */
.macro substitute_x1_in_memory i
    ldd  C+5, Z+X1+\i
    substitute \i, C+5
    std  Z+X1+\i, C+5
.endm

    .section .text.ascon_p_avr, "ax", @progbits
    .global ascon_p_avr
    .type   ascon_p_avr, @function

/* r25:r24 the state, r22 the first constant. */
ascon_p_avr:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 30, 24
    mov  BITS, 22
    load P, X4
    ldd  Q0, Z+X1+0
    ldd  Q1, Z+X1+1
    ldd  Q2, Z+X1+2
    ldd  Q3, Z+X1+3
    ldd  Q4, Z+X1+4
    load V, X2

    ; It goes back seven times or eleven, and never a number between.
    ;@weave trip 7|11
.Lround:
    eor  V+0, BITS          ; the round's constant, into x2
    subi BITS, CONSTANT_STEP
    push BITS               ; kept on the stack: a register is worth more

    substitute 0, Q0
    substitute 1, Q1
    substitute 2, Q2
    substitute 3, Q3
    substitute 4, Q4
    substitute_x1_in_memory 5
    substitute_x1_in_memory 6
    substitute_x1_in_memory 7

    ; x0 ^= x0 >>> 19 ^ x0 >>> 28, which is still in V
    copy C, V
    rotate_right C, 3
    xor_bytes V, C, 2
    rotate_right C, 1, again=1
    xor_bytes V, C, 3
    store V, X0

    ; x4 ^= x4 >>> 7 ^ x4 >>> 41; V is free, so each direction has its own copy
    copy C, P
    copy V, P
    rotate_left C, 1
    rotate_right V, 1
    xor_bytes P, C, 1
    xor_bytes P, V, 5

    ; x1 ^= x1 >>> 61 ^ x1 >>> 39, its high bytes for the while in V+5..7
    ldd  V+5, Z+X1+5
    ldd  V+6, Z+X1+6
    ldd  V+7, Z+X1+7
    movw C+0, Q0
    movw C+2, Q2
    mov  C+4, Q4
    mov  C+5, V+5
    movw C+6, V+6
    rotate_left C, 1
    eor  Q0, C+5
    eor  Q1, C+6
    eor  Q2, C+7
    eor  Q3, C+0
    eor  Q4, C+1
    eor  V+5, C+2
    eor  V+6, C+3
    eor  V+7, C+4
    rotate_left C, 2, again=1
    eor  Q0, C+0
    eor  Q1, C+1
    eor  Q2, C+2
    eor  Q3, C+3
    eor  Q4, C+4
    eor  V+5, C+5
    eor  V+6, C+6
    eor  V+7, C+7
    std  Z+X1+5, V+5
    std  Z+X1+6, V+6
    std  Z+X1+7, V+7

    ; x3 ^= x3 >>> 10 ^ x3 >>> 17
    load V, X3
    copy C, V
    rotate_right C, 1
    xor_bytes V, C, 2
    rotate_right C, 1, again=1
    xor_bytes V, C, 1
    store V, X3

    ; x2 ^= x2 >>> 1 ^ x2 >>> 6, and stays in V for the next S-box
    load V, X2
    copy C, V
    rotate_right C, 1
    xor_bytes V, C, 0
    rotate_left C, 3
    xor_bytes V, C, 1

    pop  BITS
    cpi  BITS, LAST_CONSTANT - CONSTANT_STEP
    breq .Ldone
    rjmp .Lround

.Ldone:
    store V, X2
    store P, X4
    std  Z+X1+0, Q0
    std  Z+X1+1, Q1
    std  Z+X1+2, Q2
    std  Z+X1+3, Q3
    std  Z+X1+4, Q4
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop  \i
    .endr
    clr  1                  ; the compiler's zero
    ret
    .size ascon_p_avr, . - ascon_p_avr

/* What the mode does with a whole block, in a straight line: it is faster, and a weaver need not count. r25:r24 the
   bytes at X, r23:r22 those at Z. */
.macro block name
    .section .text.\name, "ax", @progbits
    .global \name
    .type   \name, @function
\name:
    movw 26, 24
    movw 30, 22
.endm

block ascon_copy_avr
    .rept 16
    ld   24, Z+
    st   X+, 24
    .endr
    ret
    .size ascon_copy_avr, . - ascon_copy_avr

block ascon_xor_avr
    .rept 16
    ld   24, X
    ld   25, Z+
    eor  24, 25
    st   X+, 24
    .endr
    ret
    .size ascon_xor_avr, . - ascon_xor_avr

block ascon_encrypt_avr
    .rept 16
    ld   24, X
    ld   25, Z
    eor  24, 25
    st   X+, 24
    st   Z+, 24
    .endr
    ret
    .size ascon_encrypt_avr, . - ascon_encrypt_avr

block ascon_decrypt_avr
    .rept 16
    ld   24, X
    ld   25, Z
    eor  24, 25
    st   X+, 25
    st   Z+, 24
    .endr
    ret
    .size ascon_decrypt_avr, . - ascon_decrypt_avr
