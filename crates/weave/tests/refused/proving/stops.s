; Not proved: it stops.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 sbrc r18, 0
 break
 nop
 nop
 nop
 nop
 dec r24
 brne 1b
;@weave over tx
 ret
