; Refused: alignment in flow.
f:	nop
	.p2align 3
 ret
