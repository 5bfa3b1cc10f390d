; atmega128: a record that ends in its address.
        .global f
        .type f, @function
f:      ret
        .pushsection .weave,"",@progbits
        .byte 1, 2, 3
        .popsection
        .size f, .-f
