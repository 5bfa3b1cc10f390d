; Not proved: one arm is without the event.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 sbrc r18, 0
 rjmp 2f
;@weave event mid at=3
 nop
 nop
 rjmp 3f
2:
 nop
 nop
 nop
3:
 dec r24
 brne 1b
;@weave over tx
 ret
