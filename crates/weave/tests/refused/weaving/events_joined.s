; Not woven: two events that a status bit joins and that have no time for what is between.
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
        ;@weave event beat at=0
        out 0x18, r24
        tst r23
        ;@weave event one at=10
        out 0x18, r24
        nop
        swap r24
        ;@weave event two at=11
        out 0x18, r24
        breq 2f
        swap r24
2:
        dec r24
        brne 1b
        ret
        .size g, .-g
