; atxmega32a4: its architecture has several cores.
        .global f
        .type f, @function
f:      ret
        .size f, .-f
