; Not woven: two servers share `flag`, in an order that nobody keeps.
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
        ;@weave arguments 1
1:
        ;@weave event beat at=0
        sbi 0x18, 0
        dec r24
        brne 1b
        ;@weave over beat
        ret
        .size g, .-g
        .global s
s:
        ;@weave server s within=2000
        sts flag, r1
        ret
        .size s, .-s
        .global t
t:
        ;@weave server t within=2000
        ;@weave shared flag guest-first
        sts flag, r1
        ret
        .size t, .-t
