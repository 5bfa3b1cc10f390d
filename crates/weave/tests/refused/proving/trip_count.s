; Not proved: a loop has two counts.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 ldi r20, 3
2:
;@weave trip 3
 dec r20
;@weave trip 4
 brne 2b
 dec r24
 brne 1b
;@weave over tx
 ret
