/*
 * Words of Ascon's state in AVR registers, for ascon_p_avr.S and ascon_p_avr_roomy.S: eight registers, least significant
 * byte first, of a state at Z. Whoever includes this defines BITS, the register that rotations take bits from.
 */

#define X0 0            /* offsets in the state */
#define X1 8
#define X2 16
#define X3 24
#define X4 32

#define LAST_CONSTANT 0x4b
#define CONSTANT_STEP 0x0f

/* Rotates the eight registers from \word by \bits to the right. With `again` 1 it goes on from where the last rotation
   to the right stopped: BITS still holds the bits that come next. */
.macro rotate_right word, bits, again=0
    .if \again == 0
    mov  BITS, \word+0
    .endif
    .rept \bits
    lsr  BITS
    .irp i, 7, 6, 5, 4, 3, 2, 1, 0
    ror  \word+\i
    .endr
    .endr
.endm

/* The same to the left. */
.macro rotate_left word, bits, again=0
    .if \again == 0
    mov  BITS, \word+7
    .endif
    .rept \bits
    lsl  BITS
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    rol  \word+\i
    .endr
    .endr
.endm

/* \to ^= \from rotated right by \bytes bytes. */
.macro xor_bytes to, from, bytes
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    eor  \to+\i, \from+((\i+\bytes)&7)
    .endr
.endm

.macro copy to, from
    .irp i, 0, 2, 4, 6
    movw \to+\i, \from+\i
    .endr
.endm

.macro load word, offset
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    ldd  \word+\i, Z+\offset+\i
    .endr
.endm

.macro store word, offset
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    std  Z+\offset+\i, \word+\i
    .endr
.endm
