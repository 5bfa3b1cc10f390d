; avr-gcc -mmcu=atmega128 -E -P ascon_p_avr.S
.macro substitute i, q
    ldd 8 +0, Z+0 +\i
    ldd 8 +1, Z+24 +\i
    mov 8 +2, 18 +\i
    com 8 +2
    or 8 +2, 8 +1 ; ~x4 | x3
    mov 8 +3, 8 +0
    eor 8 +3, 18 +\i ; x0 ^ x4
    eor 18 +\i, 8 +1 ; x3 ^ x4
    eor 8 +1, 0 +\i ; x3 ^ x2
    or 8 +0, 18 +\i ; x0 | (x3 ^ x4)
    mov 8 +4, 8 +3
    or 8 +4, \q ; (x0 ^ x4) | x1
    eor \q, 0 +\i ; x1 ^ x2
    eor 8 +0, \q ; y3
    and 0 +\i, \q ; x2 & (x1 ^ x2)
    eor 18 +\i, 8 +4 ; ((x0 ^ x4) | x1) ^ x3 ^ x4
    eor 8 +2, \q ; y2
    or \q, 8 +1 ; (x3 ^ x2) | (x1 ^ x2)
    eor \q, 8 +3 ; y1
    eor 0 +\i, 18 +\i ; y0
    eor 18 +\i, 8 +3 ; y4
    std Z+24 +\i, 8 +0
    std Z+16 +\i, 8 +2
.endm
.macro substitute_x1_in_memory i
    ldd 8 +5, Z+8 +\i
    substitute \i, 8 +5
    std Z+8 +\i, 8 +5
.endm
.macro rotate_right word, bits, again=0
    .if \again == 0
    mov 16, \word+0
    .endif
    .rept \bits
    lsr 16
    ror \word+7
    ror \word+6
    ror \word+5
    ror \word+4
    ror \word+3
    ror \word+2
    ror \word+1
    ror \word+0
    .endr
.endm
.macro rotate_left word, bits, again=0
    .if \again == 0
    mov 16, \word+7
    .endif
    .rept \bits
    lsl 16
    rol \word+0
    rol \word+1
    rol \word+2
    rol \word+3
    rol \word+4
    rol \word+5
    rol \word+6
    rol \word+7
    .endr
.endm
.macro xor_bytes to, from, bytes
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    eor \to+\i, \from+((\i+\bytes)&7)
    .endr
.endm
.macro copy to, from
    .irp i, 0, 2, 4, 6
    movw \to+\i, \from+\i
    .endr
.endm
.macro load word, offset
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    ldd \word+\i, Z+\offset+\i
    .endr
.endm
.macro store word, offset
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    std Z+\offset+\i, \word+\i
    .endr
.endm
    .section .text.ascon_p_avr, "ax", @progbits
    .global ascon_p_avr
    .type ascon_p_avr, @function
ascon_p_avr:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 30, 24
    mov 16, 22
    load 18, 32
    ldd 26, Z+8 +0
    ldd 27, Z+8 +1
    ldd 28, Z+8 +2
    ldd 29, Z+8 +3
    ldd 17, Z+8 +4
    load 0, 16
.Lround:
    eor 0 +0, 16 ; the round's constant, into x2
    subi 16, 0x0f
    push 16 ; kept on the stack: a register is worth more
    substitute 0, 26
    substitute 1, 27
    substitute 2, 28
    substitute 3, 29
    substitute 4, 17
    substitute_x1_in_memory 5
    substitute_x1_in_memory 6
    substitute_x1_in_memory 7
    ; x0 ^= x0 >>> 19 ^ x0 >>> 28, which is still in 0
    copy 8, 0
    rotate_right 8, 3
    xor_bytes 0, 8, 2
    rotate_right 8, 1, again=1
    xor_bytes 0, 8, 3
    store 0, 0
    ; x4 ^= x4 >>> 7 ^ x4 >>> 41; 0 is free, so each direction has its own copy
    copy 8, 18
    copy 0, 18
    rotate_left 8, 1
    rotate_right 0, 1
    xor_bytes 18, 8, 1
    xor_bytes 18, 0, 5
    ; x1 ^= x1 >>> 61 ^ x1 >>> 39, its high bytes for the while in 0 +5..7
    ldd 0 +5, Z+8 +5
    ldd 0 +6, Z+8 +6
    ldd 0 +7, Z+8 +7
    movw 8 +0, 26
    movw 8 +2, 28
    mov 8 +4, 17
    mov 8 +5, 0 +5
    movw 8 +6, 0 +6
    rotate_left 8, 1
    eor 26, 8 +5
    eor 27, 8 +6
    eor 28, 8 +7
    eor 29, 8 +0
    eor 17, 8 +1
    eor 0 +5, 8 +2
    eor 0 +6, 8 +3
    eor 0 +7, 8 +4
    rotate_left 8, 2, again=1
    eor 26, 8 +0
    eor 27, 8 +1
    eor 28, 8 +2
    eor 29, 8 +3
    eor 17, 8 +4
    eor 0 +5, 8 +5
    eor 0 +6, 8 +6
    eor 0 +7, 8 +7
    std Z+8 +5, 0 +5
    std Z+8 +6, 0 +6
    std Z+8 +7, 0 +7
    ; x3 ^= x3 >>> 10 ^ x3 >>> 17
    load 0, 24
    copy 8, 0
    rotate_right 8, 1
    xor_bytes 0, 8, 2
    rotate_right 8, 1, again=1
    xor_bytes 0, 8, 1
    store 0, 24
    ; x2 ^= x2 >>> 1 ^ x2 >>> 6, and stays in 0 for the next S-box
    load 0, 16
    copy 8, 0
    rotate_right 8, 1
    xor_bytes 0, 8, 0
    rotate_left 8, 3
    xor_bytes 0, 8, 1
    pop 16
    cpi 16, 0x4b - 0x0f
    breq .Ldone
    rjmp .Lround
.Ldone:
    store 0, 16
    store 18, 32
    std Z+8 +0, 26
    std Z+8 +1, 27
    std Z+8 +2, 28
    std Z+8 +3, 29
    std Z+8 +4, 17
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    clr 1 ; the compiler's zero
    ret
    .size ascon_p_avr, . - ascon_p_avr
