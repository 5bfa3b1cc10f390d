; Not woven: what is coupled is sent where the host produces it.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
        ld r18, Z
        inc r18
        st Z, r18
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=100
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
