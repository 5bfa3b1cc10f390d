; Not woven: Z is set before the first event of a round and read behind it, and the host runs in between.
f:
	ldi r20, 100
1:
	add r24, r20
	dec r20
	brne 1b
	ret
	.size f, .-f
g:
;@weave clock tx period=66
;@weave arguments 2 1
	movw r30, r24
1:
	ld r18, Z+
	dec r22
;@weave event tx at=0
	out 0x18, r18
	brne 1b
;@weave over tx
	ret
	.size g, .-g
