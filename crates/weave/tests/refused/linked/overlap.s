; atmega128: a branch into an instruction of two words.
        .global f
        .type f, @function
f:      sbrc r24, 0
        rjmp 1f + 2
1:      jmp f
        ret
        .size f, .-f
