; Not woven: a loop inside a round that is too long when it is written out.
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
        ;@weave clock beat period=9000
        ;@weave arguments 1
1:
        ldi r19, 250
2:
        ;@weave event beat at=0 every=30 times=250
        out 0x18, r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        com r24
        dec r19
        brne 2b
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
