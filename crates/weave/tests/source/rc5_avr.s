; avr-gcc -mmcu=atmega128 -E -P rc5_avr.S
.macro add4 to, from
    add \to+0, \from+0
    adc \to+1, \from+1
    adc \to+2, \from+2
    adc \to+3, \from+3
.endm
.macro xor4 to, from
    eor \to+0, \from+0
    eor \to+1, \from+1
    eor \to+2, \from+2
    eor \to+3, \from+3
.endm
.macro move4 to, from
    movw \to+0, \from+0
    movw \to+2, \from+2
.endm
.macro multiply to, word, factor
    mul \word+0, \factor
    movw \to+0, 0
    mul \word+2, \factor
    movw \to+2, 0
    mul \word+1, \factor
    eor \to+1, 0
    eor \to+2, 1
    mul \word+3, \factor
    eor \to+3, 0
    eor \to+0, 1
.endm
.macro rotate word, amount, scratch, factor
    ldi \factor, 1
    sbrc \amount, 1
    ldi \factor, 4
    sbrc \amount, 0
    lsl \factor
    sbrc \amount, 2
    swap \factor
    multiply \scratch, \word, \factor
    move4 \word, \scratch
    sbrc \amount, 4
    movw \word+0, \scratch+2
    sbrc \amount, 4
    movw \word+2, \scratch+0
    mov 0, \word+3
    sbrc \amount, 3
    mov \word+3, \word+2
    sbrc \amount, 3
    mov \word+2, \word+1
    sbrc \amount, 3
    mov \word+1, \word+0
    sbrc \amount, 3
    mov \word+0, 0
.endm
.macro save
    .irp i, 2, 3, 4, 5, 6, 7, 16, 17, 28, 29
    push \i
    .endr
.endm
.macro restore
    .irp i, 29, 28, 17, 16, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    clr 1 ; the compiler's zero
.endm
.macro load_block
    .irp i, 0, 1, 2, 3
    ldd 18 +\i, Y+\i
    .endr
    .irp i, 0, 1, 2, 3
    ldd 22 +\i, Y+4+\i
    .endr
.endm
.macro store_block
    .irp i, 0, 1, 2, 3
    st Y+, 18 +\i
    .endr
    .irp i, 0, 1, 2, 3
    st Y+, 22 +\i
    .endr
.endm
    .section .text.rc5_avr_encrypt, "ax", @progbits
    .global rc5_avr_encrypt
    .type rc5_avr_encrypt, @function
.macro add_next to
    ld 17, X+
    add \to+0, 17
    ld 17, X+
    adc \to+1, 17
    ld 17, X+
    adc \to+2, 17
    ld 17, X+
    adc \to+3, 17
.endm
.macro encrypt_half to, from
    xor4 \to, \from
    rotate \to, \from, 2, 16
    add_next \to
.endm
rc5_avr_encrypt:
    save
    movw 6, 24
    movw 28, 22
    mov 31, 20
    tst 31
    brne .Lencrypt_block
    rjmp .Lencrypted
.Lencrypt_block:
    movw 26, 6
    load_block
    add_next 18
    add_next 22
    ldi 30, 12
.Lencrypt_round:
    encrypt_half 18, 22
    encrypt_half 22, 18
    dec 30
    breq .Lencrypt_store
    rjmp .Lencrypt_round
.Lencrypt_store:
    store_block
    dec 31
    breq .Lencrypted
    rjmp .Lencrypt_block
.Lencrypted:
    restore
    ret
    .size rc5_avr_encrypt, . - rc5_avr_encrypt
    .section .text.rc5_avr_decrypt, "ax", @progbits
    .global rc5_avr_decrypt
    .type rc5_avr_decrypt, @function
.macro subtract_word from, at
    ldd 17, Z+\at+0
    sub \from+0, 17
    ldd 17, Z+\at+1
    sbc \from+1, 17
    ldd 17, Z+\at+2
    sbc \from+2, 17
    ldd 17, Z+\at+3
    sbc \from+3, 17
.endm
.macro decrypt_half to, from, at
    subtract_word \to, \at
    mov 17, \from
    neg 17
    rotate \to, 17, 2, 16
    xor4 \to, \from
.endm
rc5_avr_decrypt:
    save
    movw 30, 24
    movw 28, 22
    mov 27, 20
    tst 27
    brne .Ldecrypt_block
    rjmp .Ldecrypted
.Ldecrypt_block:
    subi 30, lo8(-8 * 12)
    sbci 31, hi8(-8 * 12)
    load_block
    ldi 26, 12
.Ldecrypt_round:
    decrypt_half 22, 18, 4
    decrypt_half 18, 22, 0
    sbiw 30, 8
    dec 26
    breq .Ldecrypt_store
    rjmp .Ldecrypt_round
.Ldecrypt_store:
    subtract_word 18, 0
    subtract_word 22, 4
    store_block
    dec 27
    breq .Ldecrypted
    rjmp .Ldecrypt_block
.Ldecrypted:
    restore
    ret
    .size rc5_avr_decrypt, . - rc5_avr_decrypt
    .section .text.rc5_avr_init, "ax", @progbits
    .global rc5_avr_init
    .type rc5_avr_init, @function
.macro mix at, key
    add4 2, 6
    ldd 28, Z+\at+0
    add 2 +0, 28
    ldd 28, Z+\at+1
    adc 2 +1, 28
    ldd 28, Z+\at+2
    adc 2 +2, 28
    ldd 28, Z+\at+3
    adc 2 +3, 28
    ldi 22, 1 << 3
    multiply 18, 2, 22
    move4 2, 18
    std Z+\at+0, 2 +0
    std Z+\at+1, 2 +1
    std Z+\at+2, 2 +2
    std Z+\at+3, 2 +3
    add4 6, 2
    mov 23, 6
    add4 6, \key
    rotate 6, 23, 18, 22
    move4 \key, 6
.endm
rc5_avr_init:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28
    push \i
    .endr
    movw 30, 24
    movw 26, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    ld 10 +\i, X+
    .endr
    ; the schedule begins as P32, P32 + Q32, ..
    ldi 18 +0, 0x63
    ldi 18 +1, 0x51
    ldi 18 +2, 0xe1
    ldi 18 +3, 0xb7
    ldi 24, 26
.Lfill:
    st Z+, 18 +0
    st Z+, 18 +1
    st Z+, 18 +2
    st Z+, 18 +3
    subi 18 +0, lo8(-0x9e3779b9)
    sbci 18 +1, hi8(-0x9e3779b9)
    sbci 18 +2, hlo8(-0x9e3779b9)
    sbci 18 +3, hhi8(-0x9e3779b9)
    dec 24
    brne .Lfill
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    clr 2 +\i
    .endr
    ldi 25, 3
.Lpass:
    subi 30, 4 * 26
    sbci 31, 0
    ldi 24, 26 / 2
.Lpair:
    mix 0, 10
    mix 4, 14
    adiw 30, 8
    dec 24
    breq .Lpassed
    rjmp .Lpair
.Lpassed:
    dec 25
    breq .Lmixed
    rjmp .Lpass
.Lmixed:
    .irp i, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    clr 1 ; the compiler's zero
    ret
    .size rc5_avr_init, . - rc5_avr_init
