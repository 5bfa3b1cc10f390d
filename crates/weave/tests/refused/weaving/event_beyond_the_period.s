; Not woven: an event is not in its round.
        .global f
f:
        ;@weave arguments 1
        sec
1:
        ror r18
        ror r19
        dec r24
        brne 1b
        adc r19, r18
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
        ;@weave arguments 1
1:
        ;@weave event one at=0
        out 0x18, r25
        com r25
        ;@weave event other at=50
        out 0x18, r25
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
