; Not woven: it pops its return address.
        .global f
f:
        ;@weave arguments 2
        pop r18
        pop r19
        push r19
        push r18
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
