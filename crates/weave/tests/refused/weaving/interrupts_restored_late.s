; Not woven: interrupts restored late.
        .global f
f:
        ;@weave arguments 2
        in r18, 0x3f
        movw r30, r24
        cli
        ldd r24, Z+0
        ldd r25, Z+1
        std Z+0, r1
        std Z+1, r1
        std Z+2, r24
        std Z+3, r25
        std Z+4, r1
        out 0x3f, r18
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
