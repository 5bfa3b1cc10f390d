; Not proved: a round has more events than are followed.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0 every=1 times=1000
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
