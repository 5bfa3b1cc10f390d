; Not proved: it is out of step before the rounds are over.
f:
;@weave clock rx period=40
;@weave clock lock period=4
;@weave drift rx ppm=100 rounds=5000
 cli
 ldi r24, 3
2:
;@weave event poll at=0 clock=lock
 in r18, 0x0e
 sbrs r18, 7
 rjmp 2b
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
1:
;@weave event byte at=0 clock=rx
;@weave event first at=20 clock=lock last jitter=0
 in r19, 0x0f
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 nop
 dec r24
 brne 1b
;@weave over rx
 ret
