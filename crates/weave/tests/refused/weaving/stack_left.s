; Not woven: it returns to what it has pushed.
        .global f
f:
        ;@weave arguments 2
        push r24
        push r25
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        out 0x18, r25
        com r25
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
