; avr-gcc -mmcu=atmega128 -E -P aes128_ctr_avr.S
.macro begin_rounds
    ldi 31, hi8(aes128_avr_sbox)
    ldi 20, 0x1b
.endm
.macro substitute to, from
    mov 30, \from
    lpm \to, Z
.endm
.macro double byte
    lsl \byte
    sbc 19, 19
    and 19, 20
    eor \byte, 19
.endm
.macro substitute_and_shift
    substitute 16, 0
    substitute 0, 1
    substitute 1, 4
    substitute 4, 5
    substitute 5, 8
    substitute 8, 9
    substitute 9, 12
    substitute 12, 13
    mov 13, 16
    substitute 16, 2
    substitute 2, 11
    substitute 11, 6
    substitute 6, 15
    substitute 15, 10
    substitute 10, 3
    substitute 3, 14
    substitute 14, 7
    mov 7, 16
.endm
.macro mix_column a, b, c, d
    movw 16, \a
    eor 16, \b
    eor 17, \c
    mov 18, \c
    eor 18, \d
    eor \b, 18
    eor \a, 18
    eor \d, 16
    eor \c, 16
    double 16
    double 17
    double 18
    eor \b, 16
    eor \a, 17
    eor \d, 18
    eor \c, 16
    eor \c, 17
    eor \c, 18
.endm
.macro mix_columns
    mix_column 0, 1, 2, 3
    mix_column 4, 5, 6, 7
    mix_column 8, 9, 10, 11
    mix_column 12, 13, 14, 15
.endm
.macro add_round_key_crossed
    .irp i, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
    ld 16, X+
    eor \i, 16
    .endr
.endm
.macro add_round_key_natural
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld 16, X+
    eor \i, 16
    .endr
.endm
.macro finish_rounds count
    ldi 21, \count
.Lround:
    substitute_and_shift
    mix_columns
    add_round_key_crossed
    dec 21
    breq .Llast
    rjmp .Lround
.Llast:
    substitute_and_shift
    add_round_key_natural
.endm
.macro load_pointer low, at
    ldd \low, Y+\at
    ldd \low+1, Y+\at+1
.endm
.macro store_pointer at, low
    std Y+\at, \low
    std Y+\at+1, \low+1
.endm
.macro multiples
    lpm 16, Z
    mov 17, 16
    double 17
    mov 18, 17
    eor 18, 16
.endm
.macro join_column column, at, s0, s1, s2, s3
    ldd \column+1, Y+\at+0
    eor \column+1, \s0
    ldd \column+0, Y+\at+1
    eor \column+0, \s1
    ldd \column+3, Y+\at+2
    eor \column+3, \s2
    ldd \column+2, Y+\at+3
    eor \column+2, \s3
.endm
    .section .text.aes128_ctr_avr_crypt, "ax", @progbits
    .global aes128_ctr_avr_crypt
    .type aes128_ctr_avr_crypt, @function
aes128_ctr_avr_crypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    in 28, 0x3d ; SPL
    in 29, 0x3e ; SPH
    sbiw 28, 30
    in 0, 0x3f ; SREG
    cli
    out 0x3e, 29
    out 0x3f, 0 ; takes effect after the next instruction
    out 0x3d, 28
    store_pointer 28, 24
    store_pointer 26, 22
    store_pointer 24, 20
    adiw 24, 48
    store_pointer 22, 24
    movw 30, 22
    ldd 22, Z+15
    movw 24, 18
    mov 16, 18
    andi 16, 15
    std Y+30, 16
    .rept 4
    lsr 24 +1
    ror 24
    .endr
    mov 23, 16
    or 23, 24
    or 23, 24 +1
    brne .Lrun
    rjmp .Lend
.Lrun:
    rcall prepare_run
    ; 23 = the smaller of 256 - 22 and 24
    mov 23, 22
    neg 23 ; carry unless it is 256
    ldi 16, 1
    sbci 16, 0 ; the high byte of 256 - 22
    cp 24, 23
    cpc 24 +1, 16
    brsh .Lrun_to_the_end
    mov 23, 24
    clr 16
    tst 23
    brne .Lrun_to_the_end
    rjmp .Ltail ; no whole block left
.Lrun_to_the_end:
    sub 24, 23
    sbc 24 +1, 16
.Lblock:
    rcall make_stream
    load_pointer 26, 24
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld 16, X
    eor 16, \i
    st X+, 16
    .endr
    store_pointer 24, 26
    inc 22
    dec 23
    brne .Lblock
    tst 22
    brne .Ltail ; the run ended with the whole blocks
    rcall carry
    ldd 16, Y+30
    or 16, 24
    or 16, 24 +1
    breq .Lend
    rjmp .Lrun
.Ltail:
    ldd 23, Y+30
    tst 23
    breq .Lend
    rcall make_stream
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std Y+5 +\i, \i
    .endr
    load_pointer 26, 24
    movw 30, 28
    adiw 30, 5
.Ltail_byte:
    ld 16, X
    ld 17, Z+
    eor 16, 17
    st X+, 16
    dec 23
    brne .Ltail_byte
    inc 22
    brne .Lend
    rcall carry
.Lend:
    load_pointer 30, 26
    std Z+15, 22
    clr 1 ; the compiler's zero
    movw 30, 28
    adiw 30, 1
    ldi 23, 21
.Lwipe:
    st Z+, 1
    dec 23
    brne .Lwipe
    adiw 28, 30
    in 0, 0x3f
    cli
    out 0x3e, 29
    out 0x3f, 0
    out 0x3d, 28
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    ret
carry:
    load_pointer 30, 26
    adiw 30, 15
    clr 0
    ldi 17, 15
    sec
.Lcarry:
    ld 16, -Z
    adc 16, 0
    st Z, 16
    dec 17
    brne .Lcarry
    ret
prepare_run:
    load_pointer 26, 28
    load_pointer 30, 26
    ldd 0, Z+1
    ldd 1, Z+0
    ldd 2, Z+3
    ldd 3, Z+2
    ldd 4, Z+5
    ldd 5, Z+4
    ldd 6, Z+7
    ldd 7, Z+6
    ldd 8, Z+9
    ldd 9, Z+8
    ldd 10, Z+11
    ldd 11, Z+10
    ldd 12, Z+13
    ldd 13, Z+12
    ldd 15, Z+14
    clr 14 ; whatever it is, it goes away below
    add_round_key_crossed
    std Y+21, 16
    begin_rounds
    substitute_and_shift
    clr 3 ; where the last counter byte went
    rcall mix_and_add_key
    std Y+1 +0, 1
    std Y+1 +1, 0
    std Y+1 +2, 3
    std Y+1 +3, 2
    substitute_and_shift
    clr 0 ; where the four bytes of the first column went
    clr 13
    clr 10
    clr 7
    rcall mix_and_add_key
    .irp i, 0, 4, 8, 12
    std Y+5 +\i+0, \i+1
    std Y+5 +\i+1, \i+0
    std Y+5 +\i+2, \i+3
    std Y+5 +\i+3, \i+2
    .endr
    ret
mix_and_add_key:
    mix_columns
    add_round_key_crossed
    ret
make_stream:
    begin_rounds
    ldd 30, Y+21
    eor 30, 22
    multiples
    join_column 12, 1, 16, 16, 18, 17 ; the first column after the first round; its rows are 13 12 15 14
    mov 30, 13
    multiples
    join_column 0, 5 +0, 17, 16, 16, 18
    mov 30, 14
    multiples
    join_column 4, 5 +4, 16, 16, 18, 17
    mov 30, 15
    multiples
    join_column 8, 5 +8, 16, 18, 17, 16
    mov 30, 12
    multiples
    join_column 12, 5 +12, 18, 17, 16, 16
    load_pointer 26, 22
    finish_rounds 7
    ret
    .size aes128_ctr_avr_crypt, . - aes128_ctr_avr_crypt
