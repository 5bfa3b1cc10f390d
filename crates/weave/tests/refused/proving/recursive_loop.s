; Not proved: a loop with a count is entered again by recursion.
f:
;@weave clock tx period=10
 cli
 rcall g
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
g:
 ldi r20, 3
2:
;@weave trip 3
 rcall g
 dec r20
 brne 2b
 ret
