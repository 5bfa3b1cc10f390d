; Uses a pair before its parameter gets there, and the compiler's zero for something else meanwhile.
own:
        ;@weave clock beat period=PERIOD
        ;@weave arguments 2 1
        ldi r30, 0x5a
        mov r19, r30
        movw r30, r24
        mov r18, r1
1:
        ld r20, Z+
        add r18, r20
        adc r18, r1
        ;@weave event even at=0
        out 0x18, r18
        mov r1, r18
        eor r1, r19
        ;@weave event odd at=18
        out 0x18, r1
        eor r1, r1
        dec r22
        brne 1b
        ;@weave over beat
        ret
        .size own, .-own
