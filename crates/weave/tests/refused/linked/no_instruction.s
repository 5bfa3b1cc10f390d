; atmega128: a word that is no instruction.
        .global f
        .type f, @function
f:      nop
        .word 0xffff
        ret
        .size f, .-f
