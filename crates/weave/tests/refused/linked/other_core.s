; atmega128: a chip with another core.
        .global f
        .type f, @function
f:      ret
        .pushsection .weave,"",@progbits
        .long f
        .asciz "chip atmega2560"
        .popsection
        .size f, .-f
