; atmega128: a jump behind the program.
        .global f
        .type f, @function
f:      jmp 0x1f000
        .size f, .-f
