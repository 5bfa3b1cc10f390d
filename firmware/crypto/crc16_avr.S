/*
 * crc16_avr_update: CRC-16 with polynomial 0x1021 without a table, see crypto.h: 19 cycles a byte.
 *
 * With x the sum of the high byte and the new byte, and x ^= x >> 4, the new sum is (low << 8) ^ (x << 12) ^ (x << 5)
 * ^ x: eight steps of the division at once. x << 5 is a product of 16 bits. No branch depends on data.
 */

#define X_     18       /* even: X_ and HIGH are moved as one */
#define HIGH   19
#define FACTOR 22       /* 1 << 5 */

    .section .text.crc16_avr_update, "ax", @progbits
    .global crc16_avr_update
    .type   crc16_avr_update, @function

/* r25:r24 the CRC, r23:r22 the buffer, r21:r20 its length; gives r25:r24. */
crc16_avr_update:
    movw 30, 22
    ldi  FACTOR, 1 << 5
    ; the length as two counters: r20 turns first, then r21 - 1 times 256
    cpi  20, 1
    sbci 21, 0xff           ; r21 + 1, but for a multiple of 256 r21
    tst  21
    breq .Lend
.Lbyte:
    ld   X_, Z+
    eor  X_, 25
    mov  HIGH, X_
    swap HIGH
    andi HIGH, 0x0f
    eor  X_, HIGH
    mul  X_, FACTOR
    mov  HIGH, X_
    swap HIGH
    andi HIGH, 0xf0
    eor  HIGH, 24
    eor  HIGH, 1
    eor  X_, 0
    movw 24, X_
    dec  20
    brne .Lbyte
    dec  21
    brne .Lbyte
.Lend:
    clr  1                  ; the compiler's zero
    ret
    .size crc16_avr_update, . - crc16_avr_update
