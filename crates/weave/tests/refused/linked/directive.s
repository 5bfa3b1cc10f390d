; atmega128: a record that is no directive.
        .global f
        .type f, @function
f:      ret
        .pushsection .weave,"",@progbits
        .long f
        .asciz "evnt tx at=0"
        .popsection
        .size f, .-f
