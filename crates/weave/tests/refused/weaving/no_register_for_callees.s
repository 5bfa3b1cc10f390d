; Not woven: no register for callees.
        .global f
f:
        ;@weave arguments
        push r0
        pop r0
        push r1
        pop r1
        push r2
        pop r2
        push r3
        pop r3
        push r4
        pop r4
        push r5
        pop r5
        push r6
        pop r6
        push r7
        pop r7
        push r8
        pop r8
        push r9
        pop r9
        push r10
        pop r10
        push r11
        pop r11
        push r12
        pop r12
        push r13
        pop r13
        push r14
        pop r14
        push r15
        pop r15
        push r16
        pop r16
        push r17
        pop r17
        push r18
        pop r18
        push r19
        pop r19
        push r20
        pop r20
        push r21
        pop r21
        push r22
        pop r22
        push r23
        pop r23
        push r24
        pop r24
        push r25
        pop r25
        push r26
        pop r26
        push r27
        pop r27
        push r28
        pop r28
        push r29
        pop r29
        push r30
        pop r30
        push r31
        pop r31
        rcall 3f
        bst r24, 0
        ret
3:
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
