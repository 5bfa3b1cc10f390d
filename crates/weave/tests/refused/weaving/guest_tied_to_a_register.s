; Not woven: guest tied to a register.
        .global f
f:
        ;@weave arguments 2
        movw r30, r24
1:
        ld r24, Z+
        tst r24
        brne 1b
        ret
        .size f, .-f

        .global g
g:
        ;@weave clock beat period=40
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        mul r24, r25
        dec r24
        brne 1b
        ret
        .size g, .-g
