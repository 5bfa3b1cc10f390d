; avr-gcc -mmcu=atmega128 -E -P aes128_avr.S
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
    .section .progmem.data.aes128_avr, "a", @progbits
    .global aes128_avr_sbox
    .type aes128_avr_sbox, @object
    .balign 256
aes128_avr_sbox:
    .byte 0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5, 0x30, 0x01, 0x67, 0x2b, 0xfe, 0xd7, 0xab, 0x76, 0xca, 0x82, 0xc9, 0x7d, 0xfa, 0x59, 0x47, 0xf0, 0xad, 0xd4, 0xa2, 0xaf, 0x9c, 0xa4, 0x72, 0xc0, 0xb7, 0xfd, 0x93, 0x26, 0x36, 0x3f, 0xf7, 0xcc, 0x34, 0xa5, 0xe5, 0xf1, 0x71, 0xd8, 0x31, 0x15, 0x04, 0xc7, 0x23, 0xc3, 0x18, 0x96, 0x05, 0x9a, 0x07, 0x12, 0x80, 0xe2, 0xeb, 0x27, 0xb2, 0x75, 0x09, 0x83, 0x2c, 0x1a, 0x1b, 0x6e, 0x5a, 0xa0, 0x52, 0x3b, 0xd6, 0xb3, 0x29, 0xe3, 0x2f, 0x84, 0x53, 0xd1, 0x00, 0xed, 0x20, 0xfc, 0xb1, 0x5b, 0x6a, 0xcb, 0xbe, 0x39, 0x4a, 0x4c, 0x58, 0xcf, 0xd0, 0xef, 0xaa, 0xfb, 0x43, 0x4d, 0x33, 0x85, 0x45, 0xf9, 0x02, 0x7f, 0x50, 0x3c, 0x9f, 0xa8, 0x51, 0xa3, 0x40, 0x8f, 0x92, 0x9d, 0x38, 0xf5, 0xbc, 0xb6, 0xda, 0x21, 0x10, 0xff, 0xf3, 0xd2, 0xcd, 0x0c, 0x13, 0xec, 0x5f, 0x97, 0x44, 0x17, 0xc4, 0xa7, 0x7e, 0x3d, 0x64, 0x5d, 0x19, 0x73, 0x60, 0x81, 0x4f, 0xdc, 0x22, 0x2a, 0x90, 0x88, 0x46, 0xee, 0xb8, 0x14, 0xde, 0x5e, 0x0b, 0xdb, 0xe0, 0x32, 0x3a, 0x0a, 0x49, 0x06, 0x24, 0x5c, 0xc2, 0xd3, 0xac, 0x62, 0x91, 0x95, 0xe4, 0x79, 0xe7, 0xc8, 0x37, 0x6d, 0x8d, 0xd5, 0x4e, 0xa9, 0x6c, 0x56, 0xf4, 0xea, 0x65, 0x7a, 0xae, 0x08, 0xba, 0x78, 0x25, 0x2e, 0x1c, 0xa6, 0xb4, 0xc6, 0xe8, 0xdd, 0x74, 0x1f, 0x4b, 0xbd, 0x8b, 0x8a, 0x70, 0x3e, 0xb5, 0x66, 0x48, 0x03, 0xf6, 0x0e, 0x61, 0x35, 0x57, 0xb9, 0x86, 0xc1, 0x1d, 0x9e, 0xe1, 0xf8, 0x98, 0x11, 0x69, 0xd9, 0x8e, 0x94, 0x9b, 0x1e, 0x87, 0xe9, 0xce, 0x55, 0x28, 0xdf, 0x8c, 0xa1, 0x89, 0x0d, 0xbf, 0xe6, 0x42, 0x68, 0x41, 0x99, 0x2d, 0x0f, 0xb0, 0x54, 0xbb, 0x16
    .size aes128_avr_sbox, . - aes128_avr_sbox
    .section .text.aes128_avr_init, "ax", @progbits
    .global aes128_avr_init
    .type aes128_avr_init, @function
aes128_avr_init:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
    push \i
    .endr
    movw 26, 24
    movw 30, 22
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ld \i, Z+
    st X+, \i
    .endr
    begin_rounds
    ldi 18, 1
    ldi 21, 10
.Lround_key:
    substitute 16, 13
    eor 0, 16
    eor 0, 18
    substitute 16, 14
    eor 1, 16
    substitute 16, 15
    eor 2, 16
    substitute 16, 12
    eor 3, 16
    .irp i, 0, 1, 2, 3
    eor 4+\i, \i
    eor 8+\i, 4+\i
    eor 12+\i, 8+\i
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    st X+, \i
    .endr
    double 18
    dec 21
    brne .Lround_key
    .irp i, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    clr 1 ; the compiler's zero
    ret
    .size aes128_avr_init, . - aes128_avr_init
    .section .text.aes128_avr_encrypt, "ax", @progbits
    .global aes128_avr_encrypt
    .type aes128_avr_encrypt, @function
aes128_avr_encrypt:
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29
    push \i
    .endr
    movw 26, 24
    movw 28, 22
    ; crossed
    ldd 0, Y+1
    ldd 1, Y+0
    ldd 2, Y+3
    ldd 3, Y+2
    ldd 4, Y+5
    ldd 5, Y+4
    ldd 6, Y+7
    ldd 7, Y+6
    ldd 8, Y+9
    ldd 9, Y+8
    ldd 10, Y+11
    ldd 11, Y+10
    ldd 12, Y+13
    ldd 13, Y+12
    ldd 14, Y+15
    ldd 15, Y+14
    begin_rounds
    add_round_key_crossed
    finish_rounds 9
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    std Y+\i, \i
    .endr
    .irp i, 29, 28, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2
    pop \i
    .endr
    clr 1 ; the compiler's zero
    ret
    .size aes128_avr_encrypt, . - aes128_avr_encrypt
