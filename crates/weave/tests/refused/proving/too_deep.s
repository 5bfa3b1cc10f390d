; Not proved: it calls itself.
f:
;@weave clock tx period=10
 rcall f
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 nop
 nop
 nop
 nop
 nop
 nop
 dec r24
 brne 1b
;@weave over tx
 ret
