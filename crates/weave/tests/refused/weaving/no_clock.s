; Not woven: no clock.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
1:
        ld r24, Z+
        tst r24
        brne 1b
        ret
        .size f, .-f

        .global g
g:
        ret
        .size g, .-g
