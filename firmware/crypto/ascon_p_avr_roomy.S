/*
 * ascon_p_avr_roomy: ascon_p_avr.S with registers to spare, see crypto.h. x1 and two bytes of x4 are in memory between
 * their uses, which leaves a pointer and four registers to whoever weaves something in: X and r2 to r5 are not
 * touched, nor is r1, which stays zero.
 *
 * Of x0 to x4 and their S-box ascon_p_avr.S has the reasons; the steps are the same.
 */

#include "block_avr_roomy.h"

/* x4 goes around X: its bytes 4 and 5 are r28 and r29. For GNU as, what is true is -1. */
#define R(n)   ((n) - 2 * ((n) > 25))
#define BITS   0        /* scratch of rotations */
#define V      6        /* the word at work */
#define C      14       /* a rotated copy of a word; scratch of the S-box */
#define P      22       /* x4, bytes 0..5 */
#define K      18       /* C+4: the round's constant, where C is dead */

#include "ascon_p_avr_words.h"

/* The S-box on byte \i of the five words. x2 in V, x4 in \p; x0, x1 and x3 from memory. Leaves x0 in V, x4 in \p; x1,
   x2 and x3 in memory. */
.macro substitute i, p
    ldd  C+0, Z+X0+\i
    ldd  C+1, Z+X3+\i
    ldd  C+5, Z+X1+\i
    mov  C+2, \p
    com  C+2
    or   C+2, C+1           ; ~x4 | x3
    mov  C+3, C+0
    eor  C+3, \p            ; x0 ^ x4
    eor  \p, C+1            ; x3 ^ x4
    eor  C+1, V+\i          ; x3 ^ x2
    or   C+0, \p            ; x0 | (x3 ^ x4)
    mov  C+4, C+3
    or   C+4, C+5           ; (x0 ^ x4) | x1
    eor  C+5, V+\i          ; x1 ^ x2
    eor  C+0, C+5           ; y3
    and  V+\i, C+5          ; x2 & (x1 ^ x2)
    eor  \p, C+4            ; ((x0 ^ x4) | x1) ^ x3 ^ x4
    eor  C+2, C+5           ; y2
    or   C+5, C+1           ; (x3 ^ x2) | (x1 ^ x2)
    eor  C+5, C+3           ; y1
    eor  V+\i, \p           ; y0
    eor  \p, C+3            ; y4
    std  Z+X3+\i, C+0
    std  Z+X2+\i, C+2
    std  Z+X1+\i, C+5
.endm

/* The same where x4's byte is in memory too. */
.macro substitute_x4_in_memory i
    ldd  C+6, Z+X4+\i
    substitute \i, C+6
    std  Z+X4+\i, C+6
.endm

    .section .text.ascon_p_avr_roomy, "ax", @progbits
    .global ascon_p_avr_roomy
    .type   ascon_p_avr_roomy, @function

/* r25:r24 the state, r22 the first constant. */
ascon_p_avr_roomy:
    .irp i, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 30, 24
    mov  K, 22
    .irp i, 0, 1, 2, 3, 4, 5
    ldd  R(P+\i), Z+X4+\i
    .endr
    load V, X2

    ; It goes back seven times or eleven.
    ;@weave trip 7|11
.Lround:
    eor  V+0, K             ; the round's constant, into x2
    subi K, CONSTANT_STEP
    push K                  ; kept on the stack: a register is worth more

    .irp i, 0, 1, 2, 3, 4, 5
    substitute \i, R(P+\i)
    .endr
    substitute_x4_in_memory 6
    substitute_x4_in_memory 7

    ; x0 ^= x0 >>> 19 ^ x0 >>> 28, which is still in V
    copy C, V
    rotate_right C, 3
    xor_bytes V, C, 2
    rotate_right C, 1, again=1
    xor_bytes V, C, 3
    store V, X0

    ; x4 ^= x4 >>> 7 ^ x4 >>> 41; V is free, so each direction has its own copy
    movw C+0, R(P+0)
    movw C+2, R(P+2)
    movw C+4, R(P+4)
    ldd  C+6, Z+X4+6
    ldd  C+7, Z+X4+7
    copy V, C
    rotate_left C, 1
    rotate_right V, 1
    .irp i, 0, 1, 2, 3, 4, 5
    eor  R(P+\i), C+((\i+1)&7)
    eor  R(P+\i), V+((\i+5)&7)
    .endr
    .irp i, 6, 7
    ldd  BITS, Z+X4+\i
    eor  BITS, C+((\i+1)&7)
    eor  BITS, V+((\i+5)&7)
    std  Z+X4+\i, BITS
    .endr

    ; x1 ^= x1 >>> 61 ^ x1 >>> 39
    load V, X1
    copy C, V
    rotate_left C, 1
    xor_bytes V, C, 5
    rotate_left C, 2, again=1
    xor_bytes V, C, 0
    store V, X1

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

    pop  K
    cpi  K, LAST_CONSTANT - CONSTANT_STEP
    breq .Ldone
    rjmp .Lround

.Ldone:
    store V, X2
    .irp i, 0, 1, 2, 3, 4, 5
    std  Z+X4+\i, R(P+\i)
    .endr
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6
    pop  \i
    .endr
    ret
    .size ascon_p_avr_roomy, . - ascon_p_avr_roomy

/* What the mode does with a whole block: r25:r24 the state, or where to, and r23:r22 the buffer, or where from. */
block ascon_copy_avr_roomy
    copy_block
    .size ascon_copy_avr_roomy, . - ascon_copy_avr_roomy

block ascon_xor_avr_roomy
    xor_block
    .size ascon_xor_avr_roomy, . - ascon_xor_avr_roomy

block ascon_encrypt_avr_roomy
    .irp at, 0, 4, 8, 12
    point 22
    get  \at
    point 24
    .irp i, 0, 1, 2, 3
    ldd  0, Z+\at+\i
    eor  18+\i, 0
    std  Z+\at+\i, 18+\i
    .endr
    point 22
    put  \at
    .endr
    ret
    .size ascon_encrypt_avr_roomy, . - ascon_encrypt_avr_roomy

block ascon_decrypt_avr_roomy
    .irp at, 0, 4, 8, 12
    point 22
    get  \at
    point 24
    .irp i, 0, 1, 2, 3
    ldd  0, Z+\at+\i
    eor  0, 18+\i
    std  Z+\at+\i, 18+\i
    mov  18+\i, 0
    .endr
    point 22
    put  \at
    .endr
    ret
    .size ascon_decrypt_avr_roomy, . - ascon_decrypt_avr_roomy
