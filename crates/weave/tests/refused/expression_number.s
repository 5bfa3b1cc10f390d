; Something that begins like a number.
f:	ldi r24, 0x3g
	ret
