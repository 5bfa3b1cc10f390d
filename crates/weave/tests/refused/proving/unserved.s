; Not proved: a server runs too seldom.
f:
;@weave clock tx period=10
;@weave server s within=9
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 nop
;@weave ran s
 nop
 nop
 nop
 nop
 nop
 dec r24
 brne 1b
;@weave over tx
 ret
