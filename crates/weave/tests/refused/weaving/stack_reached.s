; Not woven: it reads its return address.
        .global f
f:
        ;@weave arguments 2
        in r30, 0x3d
        in r31, 0x3e
        ldd r24, Z+1
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
