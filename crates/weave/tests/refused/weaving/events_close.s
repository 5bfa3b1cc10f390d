; Not woven: the host's flags live throughout its loop, and there is no time to save them between two events.
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
        ;@weave event other at=3
        out 0x18, r25
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
