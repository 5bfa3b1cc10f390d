; atmega128: a chip that is not known.
        .global f
        .type f, @function
f:      ret
        .pushsection .weave,"",@progbits
        .long f
        .asciz "chip atmega103"
        .popsection
        .size f, .-f
