; Sums what it sends, with the compiler's zero for the carry.
zero:
        ;@weave clock beat period=PERIOD
        ;@weave arguments 2 1
        movw r30, r24
        mov r18, r1
        mov r19, r1
1:
        ld r20, Z+
        add r18, r20
        adc r19, r1
        ;@weave event low at=0
        out 0x18, r18
        ;@weave event high at=20
        out 0x15, r19
        dec r22
        brne 1b
        ;@weave over beat
        ret
        .size zero, .-zero
