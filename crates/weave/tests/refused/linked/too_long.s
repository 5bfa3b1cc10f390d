; atmega2560: more instructions than are read.
        .global f
        .type f, @function
f:
        .rept 262145
        nop
        .endr
        ret
        .size f, .-f
