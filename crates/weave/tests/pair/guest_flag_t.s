; Moves bits by T, within a round.
flag_t:
        ;@weave clock beat period=PERIOD
        ;@weave arguments 2 1
        movw r30, r24
        in r20, 0x18
1:
        ld r18, Z+
        bst r18, 3
        bld r20, 0
        ;@weave event even at=0
        out 0x18, r20
        bst r18, 5
        bld r20, 0
        ;@weave event odd at=15
        out 0x18, r20
        dec r22
        brne 1b
        ;@weave over beat
        ret
        .size flag_t, .-flag_t
