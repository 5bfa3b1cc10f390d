; atmega128: a record where nothing comes.
        .global f
        .type f, @function
f:      ret
1:      nop
        .pushsection .weave,"",@progbits
        .long 1b
        .asciz "trip 3"
        .popsection
        .size f, .-f
