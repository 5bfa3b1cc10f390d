; More than 64 bits.
f:	ldi r24, 0x7fffffffffffffff+1
	ret
