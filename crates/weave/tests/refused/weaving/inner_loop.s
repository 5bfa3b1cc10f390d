; Not woven: a loop inside a round that nobody can count.
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
        ;@weave clock beat period=40
1:
        mov r19, r20
2:
        ;@weave event beat at=0 every=4 times=3
        out 0x18, r24
        dec r19
        brne 2b
        dec r24
        brne 1b
        ret
        .size g, .-g
