; Not woven: a loop inside a round that does not always run equally often.
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
        ;@weave event beat at=0
        out 0x18, r24
        mov r19, r20
2:
        dec r19
        ;@weave trip 2..3
        brne 2b
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
