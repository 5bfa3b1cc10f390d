; atmega128: another function.
        .global g
        .type g, @function
g:      ret
        .size g, .-g
