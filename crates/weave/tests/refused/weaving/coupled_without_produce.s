; Not woven: coupled, but the host says not which store produces.
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
        ;@weave clock tx period=18
        ;@weave arguments 2 1
        movw r30, r24
        ;@weave consume
        ld r18, Z+
1:
        ;@weave event tx at=0
        out 0x0f, r18
        dec r22
        breq 2f
        ;@weave consume
        ld r18, Z+
        rjmp 1b
2:
        ;@weave over tx
        ret
        .size g, .-g
