; Not woven: pointer to a symbol.
        .global f
f:
        ;@weave arguments
        lds r30, list
        lds r31, list+1
        st Z, r1
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        lds r25, flag
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
