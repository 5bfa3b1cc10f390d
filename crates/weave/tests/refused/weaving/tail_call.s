; A jump into a function that may look for its arguments on the stack: a call would put an address between.
        .type f, @function
f:      ;@weave arguments 2
        rcall middle
        ret
        .size f, .-f
        .type middle, @function
middle:
        rjmp last
        .size middle, .-middle
        .type last, @function
last:
        in r30, 0x3d
        in r31, 0x3e
        ldd r24, Z+5
        ret
        .size last, .-last
        .type g, @function
g:      ;@weave clock tx period=16
        ;@weave arguments 1
1:      ;@weave event tx at=0
        out 0x0f, r24
        dec r24
        brne 1b
        ;@weave over tx
        ret
        .size g, .-g
