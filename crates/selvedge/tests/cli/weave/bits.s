# A guest that sends as many bits of a byte as r20 says: how many is not known.
	.type bits, @function
bits:
	;@weave clock tx period=200
	;@weave arguments 2 1 1
	movw r30, r24
1:
	ld r18, Z+
	mov r19, r20
2:
	;@weave event bit at=0 every=20 times=8
	out 0x18, r18
	lsr r18
	dec r19
	brne 2b
	dec r22
	brne 1b
	;@weave over tx
	ret
	.size bits, .-bits
