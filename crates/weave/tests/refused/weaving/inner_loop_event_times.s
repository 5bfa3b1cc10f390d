; Not woven: an event that comes less often than the loop around it runs.
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
        ;@weave arguments 1
1:
        ldi r19, 4
2:
        ;@weave event beat at=0 every=4 times=3
        out 0x18, r24
        dec r19
        brne 2b
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
