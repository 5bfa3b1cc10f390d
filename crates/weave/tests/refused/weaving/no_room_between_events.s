; Not woven: no room, and a longer round would have none either: its events are near to each other.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
        st Z, r1
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=12
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        out 0x18, r25
        com r25
        ;@weave event one at=3
        out 0x18, r25
        com r25
        ;@weave event two at=6
        out 0x18, r25
        com r25
        ;@weave event three at=9
        out 0x18, r25
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
