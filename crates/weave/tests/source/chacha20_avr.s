; avr-gcc -mmcu=atmega128 -E -P chacha20_avr.S
.macro load word, index
    .irp i, 0, 1, 2, 3
    ldd \word+\i, Y+4*\index+\i
    .endr
.endm
.macro store index, w0, w1, w2, w3
    std Y+4*\index+0, \w0
    std Y+4*\index+1, \w1
    std Y+4*\index+2, \w2
    std Y+4*\index+3, \w3
.endm
.macro add4 to, f0, f1, f2, f3
    add \to+0, \f0
    adc \to+1, \f1
    adc \to+2, \f2
    adc \to+3, \f3
.endm
.macro xor4 t0, t1, t2, t3, from
    eor \t0, \from+0
    eor \t1, \from+1
    eor \t2, \from+2
    eor \t3, \from+3
.endm
.macro quarter_round a, b, c, d
    load 2, \a
    load 6, \b
    load 10, \c
    load 14, \d
    add4 2, 6 +0, 6 +1, 6 +2, 6 +3
    xor4 14 +0, 14 +1, 14 +2, 14 +3, 2
    ; d <<< 16: from here on its low byte is in 14 + 2
    add4 10, 14 +2, 14 +3, 14 +0, 14 +1
    xor4 6 +0, 6 +1, 6 +2, 6 +3, 10
    ; b <<< 12: by 4 into 18, by 8 through the names: its low byte is in 18 + 3
    mul 6 +0, 22
    movw 18 +0, 0
    mul 6 +2, 22
    movw 18 +2, 0
    mul 6 +1, 22
    eor 18 +1, 0
    eor 18 +2, 1
    mul 6 +3, 22
    eor 18 +3, 0
    eor 18 +0, 1
    add4 2, 18 +3, 18 +0, 18 +1, 18 +2
    xor4 14 +2, 14 +3, 14 +0, 14 +1, 2
    ; d <<< 8: its low byte is in 14 + 1
    add4 10, 14 +1, 14 +2, 14 +3, 14 +0
    xor4 18 +3, 18 +0, 18 +1, 18 +2, 10
    ; b <<< 7: by 8 through the names, so that its low byte is in 18 + 2, and back by 1
    mov 0, 18 +2
    lsr 0
    ror 18 +1
    ror 18 +0
    ror 18 +3
    ror 18 +2
    store \a, 2 +0, 2 +1, 2 +2, 2 +3
    store \b, 18 +2, 18 +3, 18 +0, 18 +1
    store \c, 10 +0, 10 +1, 10 +2, 10 +3
    store \d, 14 +1, 14 +2, 14 +3, 14 +0
.endm
.macro encrypt_byte add
    ld 2, Y+
    ld 6, X+
    \add 2, 6
    ld 6, Z
    eor 2, 6
    st Z+, 2
.endm
.macro sum_byte add
    ld 2, Y
    ld 6, X+
    \add 2, 6
    st Y+, 2
.endm
.macro count_block
    sbiw 26, 64 - 48
    clr 1
    sec
    .rept 4
    ld 2, X
    adc 2, 1
    st X+, 2
    .endr
    sbiw 26, 48 + 4
.endm
    .section .text.chacha20_avr_init, "ax", @progbits
    .global chacha20_avr_init
    .type chacha20_avr_init, @function
.macro store_constant byte
    ldi 25, \byte
    st X+, 25
.endm
.macro copy_bytes from
.Lcopy\@:
    ld 25, \from
    st X+, 25
    dec 24
    brne .Lcopy\@
.endm
chacha20_avr_init:
    movw 26, 24
    ; "expand 32-byte k"
    .irp byte, 0x65, 0x78, 0x70, 0x61, 0x6e, 0x64, 0x20, 0x33, 0x32, 0x2d, 0x62, 0x79, 0x74, 0x65, 0x20, 0x6b
    store_constant \byte
    .endr
    movw 30, 22
    ldi 24, 32
    copy_bytes Z+
    st X+, 16
    st X+, 17
    st X+, 18
    st X+, 19
    movw 30, 20
    ldi 24, 12
    copy_bytes Z+
    ret
    .size chacha20_avr_init, . - chacha20_avr_init
    .section .text.chacha20_avr_crypt, "ax", @progbits
    .global chacha20_avr_crypt
    .type chacha20_avr_crypt, @function
chacha20_avr_crypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    in 28, 0x3d ; SPL
    in 29, 0x3e ; SPH
    sbiw 28, 64 / 2
    sbiw 28, 64 / 2
    in 0, 0x3f ; SREG
    cli
    out 0x3e, 29
    out 0x3f, 0 ; takes effect after the next instruction
    out 0x3d, 28
    adiw 28, 1 ; the stack pointer is below what is used
    movw 26, 24 ; X: the context
    movw 30, 22 ; Z: the buffer
    movw 24, 20
    ldi 22, 1 << 4
    sbiw 24, 0
    brne .Lblock
    rjmp .Lend
.Lblock:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .irp k, 0, 1, 2, 3
    ld 0, X+
    std Y+4*\i+\k, 0
    .endr
    .endr
    subi 26, 64
    sbci 27, 0
    ldi 23, 10
.Ldouble_round:
    quarter_round 0, 4, 8, 12
    quarter_round 1, 5, 9, 13
    quarter_round 2, 6, 10, 14
    quarter_round 3, 7, 11, 15
    quarter_round 0, 5, 10, 15
    quarter_round 1, 6, 11, 12
    quarter_round 2, 7, 8, 13
    quarter_round 3, 4, 9, 14
    dec 23
    breq .Lrounds_done
    rjmp .Ldouble_round
.Lrounds_done:
    ; the key stream is the sum of both states, which Y and X run over
    ldi 23, 64 / 4
    tst 24 +1
    brne .Lword
    cpi 24, 64
    brlo .Ltail
.Lword:
    encrypt_byte add
    encrypt_byte adc
    encrypt_byte adc
    encrypt_byte adc
    dec 23
    brne .Lword
    subi 28, 64
    sbci 29, 0
    count_block
    subi 24, 64
    sbci 24 +1, 0
    breq .Lwipe
    rjmp .Lblock
.Ltail:
    ; less than a block: first the sum, in place, then as much of it as is wanted
    sum_byte add
    sum_byte adc
    sum_byte adc
    sum_byte adc
    dec 23
    brne .Ltail
    subi 28, 64
    sbci 29, 0
    mov 23, 24
.Ltail_byte:
    ld 2, Y+
    ld 6, Z
    eor 2, 6
    st Z+, 2
    dec 23
    brne .Ltail_byte
    sub 28, 24
    sbci 29, 0
    count_block
.Lwipe:
    clr 1 ; the compiler's zero
    movw 26, 28
    ldi 23, 64
.Lwipe_byte:
    st X+, 1
    dec 23
    brne .Lwipe_byte
.Lend:
    adiw 28, 64 - 1
    in 0, 0x3f
    cli
    out 0x3e, 29
    out 0x3f, 0
    out 0x3d, 28
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    ret
    .size chacha20_avr_crypt, . - chacha20_avr_crypt
