/*
 * Blocks of 16 bytes in AVR assembly, in a straight line: it is faster, and a weaver need not count. Z is the only
 * pointer, so that they go by four bytes at a time, in r18 to r21; X and r2 to r5 are left to what is woven in.
 */

.macro block name
    .section .text.\name, "ax", @progbits
    .global \name
    .type   \name, @function
\name:
.endm

.macro point pair
    movw 30, \pair
.endm

/* The four registers from r18 on, from or to those behind Z. */
.macro get at
    .irp i, 0, 1, 2, 3
    ldd  18+\i, Z+\at+\i
    .endr
.endm

.macro put at
    .irp i, 0, 1, 2, 3
    std  Z+\at+\i, 18+\i
    .endr
.endm

/* The 16 bytes at r25:r24 = those at r23:r22. */
.macro copy_block
    .irp at, 0, 4, 8, 12
    point 22
    get  \at
    point 24
    put  \at
    .endr
    ret
.endm

/* The 16 bytes at r25:r24 ^= those at r23:r22. */
.macro xor_block
    .irp at, 0, 4, 8, 12
    point 22
    get  \at
    point 24
    .irp i, 0, 1, 2, 3
    ldd  0, Z+\at+\i
    eor  0, 18+\i
    std  Z+\at+\i, 0
    .endr
    .endr
    ret
.endm
