; Not woven: nobody proves a stack of every depth.
        .global f
f:
        ;@weave arguments 1
        dec r24
        breq 1f
        rcall f
1:
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
