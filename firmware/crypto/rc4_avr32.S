/*
 * rc4_avr32_crypt: RC4 on a message of 32 bytes at a fixed address, in a straight line, see crypto.h. A state that
 * rc4_avr_init (rc4_avr.S) set up.
 *
 * All three pointers belong to the state, whose page is their high byte: X to s[i], Z to s[j], Y to s[s[i] + s[j]].
 * So a byte of key stream takes 12 cycles, `lds` and `eor` of the message 3 and the store of the result 2. No branch.
 * `selvedge weave --couple` sends the result in the place of that store.
 */

#define B      18       /* s[j] before the swap; then the byte's key stream */
#define DATA   19
#define PAGE   25

#define MESSAGE_BYTES 32

    .section .bss.rc4_avr32_message, "aw", @nobits
    .global rc4_avr32_message
    .type   rc4_avr32_message, @object
rc4_avr32_message:
    .zero MESSAGE_BYTES
    .size rc4_avr32_message, . - rc4_avr32_message
    .global __do_clear_bss  ; the start-up code that makes it zero

.macro crypt_byte n
    ld   28, X              ; s[i], already where the sum's pointer wants it
    add  30, 28
    ld   B, Z
    st   X+, B
    st   Z, 28
    add  28, B
    ld   B, Y
    lds  DATA, rc4_avr32_message + \n
    eor  DATA, B
    ;@weave produce
    sts  rc4_avr32_message + \n, DATA
.endm

    .section .text.rc4_avr32_crypt, "ax", @progbits
    .global rc4_avr32_crypt
    .type   rc4_avr32_crypt, @function

/* r25:r24 the state. */
rc4_avr32_crypt:
    push 28
    push 29
    movw 26, 24
    inc  27
    ld   B, X+              ; i, a multiple of 32
    ld   30, X
    mov  31, PAGE
    mov  29, PAGE
    mov  27, PAGE
    mov  26, B
    inc  26

    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30
    crypt_byte \n
    .endr
    mov  27, PAGE           ; only the last index can be 0, when `st X+` has left the page
    crypt_byte 31

    dec  26
    mov  B, 26
    clr  26
    inc  27
    st   X+, B
    st   X, 30
    pop  29
    pop  28
    ret
    .size rc4_avr32_crypt, . - rc4_avr32_crypt
