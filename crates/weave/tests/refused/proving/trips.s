; Not proved: a loop runs more often than is said.
f:
;@weave clock tx period=13
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 ldi r20, 3
2:
;@weave trip 2
 dec r20
 brne 2b
 dec r24
 brne 1b
;@weave over tx
 ret
