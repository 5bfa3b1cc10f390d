; Shows a color so many times, its bytes where they arrive: one counts down.
color:
        ;@weave clock beat period=PERIOD
        ;@weave arguments 2 1
1:
        ;@weave event low at=0
        out 0x18, r24
        subi r24, 3
        ;@weave event high at=15
        out 0x15, r25
        dec r22
        brne 1b
        ;@weave over beat
        ret
        .size color, .-color
