; Not proved: code is called that nothing names.
f:
;@weave clock tx period=10
 cli
 ldi r24, 8
1:
;@weave event tx at=0
 out 0x0f, r18
 icall
 dec r24
 brne 1b
;@weave over tx
 ret
