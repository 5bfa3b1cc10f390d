; Not woven: every register that takes constants takes some.
        .global f
f:
        ;@weave arguments 2
        subi r16, 1
        subi r17, 1
        subi r18, 1
        subi r19, 1
        subi r20, 1
        subi r21, 1
        subi r22, 1
        subi r23, 1
        subi r24, 1
        subi r25, 1
        subi r26, 1
        subi r27, 1
        subi r28, 1
        subi r29, 1
        subi r30, 1
        subi r31, 1
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
