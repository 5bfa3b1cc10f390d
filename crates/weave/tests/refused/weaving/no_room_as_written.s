; Not woven: no room for a branch, which is named as it is written.
        .global f
f:
        ;@weave arguments 2
1:
        subi r24, 3
        BRLO 2f
        sbci r25, 1
        brne 1b
2:
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=7
        ;@weave arguments 2 1
        movw r30, r24
        ld r18, Z+
1:
        ;@weave event beat at=0
        out 0x0f, r18
        dec r22
        breq 2f
        ld r18, Z+
        rjmp 1b
2:
        ;@weave over beat
        ret
        .size g, .-g
