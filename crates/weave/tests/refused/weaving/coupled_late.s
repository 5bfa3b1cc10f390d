; Not woven: coupled, but the host takes longer than a period for a byte.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
        ldi r24, 8
1:
        ldi r25, 10
2:
        dec r25
        brne 2b
        ;@weave produce
        st Z+, r24
        dec r24
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
