/*
 * AES-128's rounds as macros for AVR assembly: of aes128_avr.S and aes128_ctr_avr.S, which only differ in how a block
 * gets into the registers and out of them. Needs `movw` and `lpm Rd, Z`.
 *
 * The block lies in 16 registers from B on, a column in four neighbours. MixColumns leaves each column's bytes in the places of their
 * neighbours, 1 0 3 2, because that way it needs no copies; the next SubBytes, which writes each byte to where the
 * row's shift takes it anyway, puts them back. So there are two orders: `natural` before MixColumns and after the last
 * round, `crossed` before SubBytes.
 *
 * The S-box begins at a multiple of 256 in flash, so that a byte is its own low address, and in the first 64 KB, where
 * the linker puts .progmem and `lpm` reaches. A read of flash takes three cycles wherever it goes; no branch depends
 * on the block or the key. r1 is not zero meanwhile: an interrupt handler must make its own zero, as the compiler's do.
 *
 * Who includes this says where everything is; Y and Z are used as well, and the rest is left to what is woven in:
 *
 *   B        even: the block
 *   P, Q     even, and its neighbour: they are moved as one; P takes constants
 *   R, CARRY, POLY, ROUND
 */

#define T      P        /* where P is not in use */
#define KEPT   P        /* the byte that a cycle of moves overwrites first */

/* \register = \number, by T where it takes no constants. */
.macro constant register, number
    .if \register > 15
    ldi  \register, \number
    .else
    ldi  T, \number
    mov  \register, T
    .endif
.endm

/* What the other macros rely on. POLY is 0x1b, what x^8 is in AES's field. */
.macro begin_rounds
    ldi  31, hi8(aes128_avr_sbox)
    constant POLY, 0x1b
.endm

/* \to = S-box of \from. */
.macro substitute to, from
    mov  30, \from
    lpm  \to, Z
.endm

/* \byte = \byte times x, in AES's field. CARRY is 0xff after a carry, else 0. */
.macro double byte
    lsl  \byte
    sbc  CARRY, CARRY
    and  CARRY, POLY
    eor  \byte, CARRY
.endm

/* SubBytes and ShiftRows, from crossed to natural: two cycles, of rows 0 and 1 and of rows 2 and 3. */
.macro substitute_and_shift
    substitute KEPT, B+0
    substitute B+0, B+1
    substitute B+1, B+4
    substitute B+4, B+5
    substitute B+5, B+8
    substitute B+8, B+9
    substitute B+9, B+12
    substitute B+12, B+13
    mov  B+13, KEPT

    substitute KEPT, B+2
    substitute B+2, B+11
    substitute B+11, B+6
    substitute B+6, B+15
    substitute B+15, B+10
    substitute B+10, B+3
    substitute B+3, B+14
    substitute B+14, B+7
    mov  B+7, KEPT
.endm

/* One column from natural to crossed. With p = a ^ b, q = b ^ c and r = c ^ d: a' = b ^ r ^ 2p, b' = a ^ r ^ 2q,
   c' = d ^ p ^ 2r and d' = c ^ p ^ 2p ^ 2q ^ 2r. */
.macro mix_column a, b, c, d
    movw P, \a
    eor  P, \b
    eor  Q, \c
    mov  R, \c
    eor  R, \d
    eor  \b, R
    eor  \a, R
    eor  \d, P
    eor  \c, P
    double P
    double Q
    double R
    eor  \b, P
    eor  \a, Q
    eor  \d, R
    eor  \c, P
    eor  \c, Q
    eor  \c, R
.endm

.macro mix_columns
    mix_column B+0, B+1, B+2, B+3
    mix_column B+4, B+5, B+6, B+7
    mix_column B+8, B+9, B+10, B+11
    mix_column B+12, B+13, B+14, B+15
.endm

/* Adds the 16 bytes at Y to the block and moves Y behind them. */
.macro add_round_key_crossed
    .irp i, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
    ld   T, Y+
    eor  B+\i, T
    .endr
.endm

.macro add_round_key_natural
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld   T, Y+
    eor  B+\i, T
    .endr
.endm

/* \count rounds from Y's key on and the last round: from crossed to natural. */
.macro finish_rounds count
    constant ROUND, \count
.Lround:
    substitute_and_shift
    mix_columns
    add_round_key_crossed
    dec  ROUND
    breq .Llast
    rjmp .Lround
.Llast:
    substitute_and_shift
    add_round_key_natural
.endm
