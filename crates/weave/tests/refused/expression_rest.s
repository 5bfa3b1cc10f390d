; Something behind an expression.
f:	ldi r24, lo8(table) 3
	ret
