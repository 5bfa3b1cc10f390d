; A division by zero.
f:	ldi r24, 3/0
	ret
