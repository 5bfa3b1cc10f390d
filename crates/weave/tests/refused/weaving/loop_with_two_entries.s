; Not woven: loop with two entries.
        .global f
f:
        ;@weave arguments 2
        sbrc r24, 0
        rjmp 2f
1:
        dec r24
2:
        dec r25
        brne 1b
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
