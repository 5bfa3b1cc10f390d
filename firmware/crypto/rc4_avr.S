/*
 * RC4 for AVR cores that have `movw`, see crypto.h: 22 cycles a byte.
 *
 * The state lies at a multiple of 256, so that an index is the low byte of a pointer. `st X+` after the swap steps i
 * for nothing, but would carry into the page after s[255]: the bytes are done in runs that end there at the latest.
 * No branch depends on the key or the state.
 */

#define A      18       /* s[i] before the swap; then the sum */
#define B      19       /* s[j] before the swap; then the byte's key stream */
#define DATA   22
#define RUN    23       /* bytes left in this run; 0 is 256 */
#define J      24
#define PAGE   25       /* of the state */

    .section .text.rc4_avr_init, "ax", @progbits
    .global rc4_avr_init
    .type   rc4_avr_init, @function

/* r25:r24 the state, r23:r22 the key, r20 its bytes. */
rc4_avr_init:
    push 28
    push 29
    movw 26, 24             ; X: s[i]
    movw 30, 24             ; Z: s[j], and its low byte is j
    movw 28, 22
    mov  21, 20             ; bytes of the key until it begins again
.Lfill:
    st   X, 26
    inc  26
    brne .Lfill
.Lmix:
    ld   A, X
    ld   B, Y+
    add  30, A
    add  30, B
    ld   B, Z
    st   Z, A
    st   X, B
    dec  21
    brne .Lsame_key
    movw 28, 22
    mov  21, 20
.Lsame_key:
    inc  26
    brne .Lmix
    inc  27                 ; behind s lie i and j
    st   X+, 1
    st   X, 1
    pop  29
    pop  28
    ret
    .size rc4_avr_init, . - rc4_avr_init

    .section .text.rc4_avr_crypt, "ax", @progbits
    .global rc4_avr_crypt
    .type   rc4_avr_crypt, @function

/* r25:r24 the state, r23:r22 the buffer, r21:r20 its length. */
rc4_avr_crypt:
    push 28
    push 29
    movw 28, 22
    movw 26, 24
    mov  31, PAGE
    inc  27
    ld   A, X+
    ld   J, X
    mov  26, A
    inc  26                 ; X: s[i]
    rjmp .Lmore

.Lrun:
    ; RUN = the smaller of what is left of the page and what is left of the buffer
    mov  27, PAGE
    mov  RUN, 26
    neg  RUN                ; carry unless the whole page is left
    ldi  DATA, 1
    sbci DATA, 0            ; the high byte of what is left of the page
    cp   20, RUN
    cpc  21, DATA
    brsh .Lto_page
    mov  RUN, 20
    clr  DATA
.Lto_page:
    sub  20, RUN
    sbc  21, DATA
.Lbyte:
    ld   A, X
    add  J, A
    mov  30, J
    ld   B, Z
    st   Z, A
    st   X+, B
    add  A, B
    mov  30, A
    ld   B, Z
    ld   DATA, Y
    eor  DATA, B
    st   Y+, DATA
    dec  RUN
    brne .Lbyte
.Lmore:
    mov  A, 20
    or   A, 21
    brne .Lrun

    mov  A, 26
    dec  A                  ; i is the index that was used last
    clr  26
    mov  27, PAGE
    inc  27
    st   X+, A
    st   X, J
    pop  29
    pop  28
    ret
    .size rc4_avr_crypt, . - rc4_avr_crypt
