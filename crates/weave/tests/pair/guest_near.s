; Two events with a flag changed between them, where nearly no time is left, and a conditional.
near:
        ;@weave clock beat period=PERIOD
        ;@weave arguments 2 1
        movw r30, r24
1:
        ld r18, Z+
        ;@weave event one at=0
        out 0x18, r18
        com r18
        ;@weave event other at=4
        out 0x15, r18
        cpi r18, 77
        brlo 2f
        swap r18
        subi r18, 3
2:
        ;@weave event third at=18
        out 0x18, r18
        dec r22
        brne 1b
        ;@weave over beat
        ret
        .size near, .-near
