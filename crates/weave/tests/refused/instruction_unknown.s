; Refused: instruction unknown.
f:	nop
	ldx r1, 2
 ret
