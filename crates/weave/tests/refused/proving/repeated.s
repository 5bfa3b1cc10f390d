; Not proved: an event happens twice in one round.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
;@weave event mid at=3 jitter=2
 nop
;@weave event mid at=3 jitter=2
 nop
 nop
 nop
 nop
 nop
 dec r24
 brne 1b
;@weave over tx
 ret
