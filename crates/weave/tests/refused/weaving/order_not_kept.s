; Not woven: order not kept.
        .global f
f:
        ;@weave arguments
        lds r24, flag
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
        ;@weave arguments 1
        ;@weave shared flag guest-first
1:
        ;@weave event beat at=0
        sts flag, r24
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
