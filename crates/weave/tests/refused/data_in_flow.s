; Refused: data in flow.
f:	nop
	.word 0x1234
 ret
