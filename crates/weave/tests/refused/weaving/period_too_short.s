; Not woven: period too short.
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
        ;@weave clock beat period=2
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        out 0x18, r24
        dec r24
        brne 1b
        ret
        .size g, .-g
