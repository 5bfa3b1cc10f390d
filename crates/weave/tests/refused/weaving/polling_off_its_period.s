; Not woven: it polls every four cycles, and its clock says five.
f:
	ldi r20, 100
1:
	add r24, r20
	dec r20
	brne 1b
	ret
	.size f, .-f
g:
;@weave clock poll period=5
;@weave clock rx period=66
;@weave arguments 2 1
	movw r30, r24
1:
;@weave event ask at=0 clock=poll
	in r18, 0x0e
	sbrs r18, 7
	rjmp 1b
2:
;@weave event first at=33 clock=poll last
;@weave event byte at=0 clock=rx
	in r18, 0x0f
	st Z+, r18
	dec r22
	brne 2b
;@weave over rx
	ret
	.size g, .-g
