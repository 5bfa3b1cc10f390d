; Not woven: what happens before the rounds takes longer than its clock allows.
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
        ;@weave clock frame period=40
        ;@weave clock beat period=40
        ;@weave event begin at=0 clock=frame
        out 0x18, r24
        swap r24
        swap r24
1:
        ;@weave event first at=2 clock=frame last
        ;@weave event beat at=0 clock=beat
        out 0x18, r24
        dec r24
        brne 1b
        ret
        .size g, .-g
